//! Channels as the core models them: a server's channels, direct messages, and private threads. The readers of a
//! channel decide the visibility of its messages, so they are determined before any message is heard.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{
    Channel, ChannelId, ConversationId, Heard, MessageId, UserId, Visibility, WorkspaceId,
};
use aizuchi_platform::register_persona;
use aizuchi_store::StoreError;
use jiff::SignedDuration;
use serde_json::Value;
use tokio::sync::MutexGuard;
use tracing::info;
use twilight_model::channel::ChannelType;
use twilight_model::gateway::ShardId;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::cache::{CachedChannel, Membership};
use crate::from_discord::guild::{self, Guild, GuildThread};
use crate::from_discord::message::{ChannelRef, DiscordMessage};
use crate::identity::{direct_workspace, guild_workspace};
use crate::ingest::{IngestError, Location};
use crate::json::non_empty_str;
use crate::permissions::POST_PERMISSIONS;
use crate::text::read::parse_topic;
use crate::visibility::{channel_visibility, own_permissions};

/// How long an event waits for Discord to describe its channel. All other events wait with it.
const LOOKUP_TIMEOUT: SignedDuration = SignedDuration::from_secs(3);
/// The interval between lookups after a failure.
const LOOKUP_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

impl Location {
    /// A public thread is a conversation of its channel. A private thread is a channel of its own, because the
    /// channel's readers must not learn its content.
    pub(super) fn from_thread(
        thread: &GuildThread,
        bot: &UserId,
        parent: Option<ChannelType>,
    ) -> Self {
        let workspace = guild_workspace(thread.guild);
        let conversation = match thread.is_private {
            true => ConversationId { workspace, channel: thread.id.clone(), thread: None },
            false => ConversationId {
                workspace,
                channel: thread.parent.clone(),
                thread: Some(MessageId::new(thread.id.as_str())),
            },
        };
        let is_forum = matches!(parent, Some(ChannelType::GuildForum | ChannelType::GuildMedia));
        Self {
            conversation,
            is_opened_by_persona: thread.owner.as_ref() == Some(bot),
            forum_post_title: is_forum.then(|| thread.name.clone()),
        }
    }
}

impl DiscordPlatform {
    /// Returns the conversation of a channel or thread. Looks up an unknown one.
    pub(super) async fn locate(
        &self,
        channel_ref: &ChannelRef,
        message: Option<&DiscordMessage>,
    ) -> Result<Location, IngestError> {
        // An event without a server does not turn a server's channel into a direct message, and an event that was
        // attributed to another server does not move a channel there.
        let is_in_guild = |location: &Location| {
            let workspace = &location.conversation.workspace;
            match channel_ref.guild {
                Some(guild) => *workspace == guild_workspace(guild),
                None => *workspace != direct_workspace(),
            }
        };
        let known = self.known_location(&channel_ref.channel);
        if let Some(location) = known.filter(is_in_guild) {
            self.mark_joined(&location, message).await?;
            return Ok(location);
        }
        let Some(guild) = channel_ref.guild else {
            self.ensure_direct_channel(&channel_ref.channel, message).await?;
            return Ok(Location::direct(&channel_ref.channel));
        };
        // Several events may name a new channel at once; only one of them looks it up.
        let mut failed = self.failed_lookups.lock().await;
        if let Some(location) = self.known_location(&channel_ref.channel).filter(is_in_guild) {
            return Ok(location);
        }
        failed.retain(|_, at| self.now().duration_since(*at) < LOOKUP_INTERVAL);
        // Events are ingested one by one, so each lookup that times out would delay all others again.
        if failed.contains_key(&channel_ref.channel) {
            let reason = "it was asked in vain just now".to_owned();
            return Err(DiscordApiError::Unreachable(reason).into());
        }
        let looked_up = self.clock.timeout(LOOKUP_TIMEOUT, self.look_up(channel_ref, guild)).await;
        let looked_up = looked_up.unwrap_or_else(|_| {
            Err(DiscordApiError::OutcomeUnknown("it does not answer".to_owned()).into())
        });
        match looked_up {
            Err(IngestError::Api(DiscordApiError::Refused(_))) | Ok(()) => {}
            Err(IngestError::Api(_)) => {
                failed.insert(channel_ref.channel.clone(), self.now());
            }
            Err(IngestError::Store(_) | IngestError::Backfill(_)) => {}
        }
        looked_up?;
        let unknown = || ConversationId {
            workspace: guild_workspace(guild),
            channel: channel_ref.channel.clone(),
            thread: None,
        };
        Ok(self.known_location(&channel_ref.channel).unwrap_or_else(|| Location {
            conversation: unknown(),
            is_opened_by_persona: false,
            forum_post_title: None,
        }))
    }

    /// Looks up a channel or thread of a server, and hears it.
    async fn look_up(
        &self,
        channel_ref: &ChannelRef,
        guild: Id<GuildMarker>,
    ) -> Result<(), IngestError> {
        let call = ApiRequest::get(format!("/channels/{}", channel_ref.channel));
        let json = self.call(&call).await?;
        let Some(thread) = guild::parse_thread(&json, Some(guild)) else {
            let is_known = self.hear_unlisted_channel(&json, guild).await?;
            return if is_known { Ok(()) } else { Err(self.unreadable(&call).into()) };
        };
        if self.cache.channel(&thread.parent).is_none() {
            let call = ApiRequest::get(format!("/channels/{}", thread.parent));
            let parent = self.call(&call).await?;
            if !self.hear_unlisted_channel(&parent, guild).await? {
                return Err(self.unreadable(&call).into());
            }
        }
        Ok(self.hear_thread(thread).await?)
    }

    fn unreadable(&self, call: &ApiRequest) -> DiscordApiError {
        self.record_malformed_response(call);
        DiscordApiError::Malformed("it describes no channel")
    }

    /// Marks the bot as a member: a message from a channel proves that the bot can read it.
    async fn mark_joined(
        &self,
        location: &Location,
        message: Option<&DiscordMessage>,
    ) -> Result<(), StoreError> {
        let cached = self.cache.channel(&location.conversation.channel);
        match cached
            .filter(|cached| message.is_some() && cached.membership == Membership::NotMember)
        {
            Some(cached) => {
                self.hear_channel(CachedChannel { membership: Membership::Member, ..cached }).await
            }
            None => Ok(()),
        }
    }

    pub(super) fn known_location(&self, channel: &ChannelId) -> Option<Location> {
        if let Some(thread) = self.cache.thread(channel) {
            let parent = self.cache.channel(&thread.parent)?;
            return Some(Location::from_thread(&thread, &self.identity.user, parent.kind));
        }
        let Channel { workspace, id, .. } = self.cache.channel(channel)?.channel;
        let conversation = ConversationId { workspace, channel: id, thread: None };
        Some(Location { conversation, is_opened_by_persona: false, forum_post_title: None })
    }

    /// Hears a channel that its server has not listed. It counts as private if the server is unknown, too. Returns
    /// whether the description could be parsed.
    async fn hear_unlisted_channel(
        &self,
        json: &Value,
        guild: Id<GuildMarker>,
    ) -> Result<bool, StoreError> {
        let Some(parsed) = guild::parse_channel(json, Some(guild)) else { return Ok(false) };
        if self.cache.guild(guild).is_some() {
            return self.hear_channel_update(parsed).await.map(|()| true);
        }
        let channel = Channel {
            workspace: guild_workspace(guild),
            id: parsed.id,
            name: parsed.name,
            visibility: Visibility::Private,
            // Its server, once known, tells what its topic names.
            topic: None,
        };
        let kind = Some(parsed.kind);
        self.hear_channel(CachedChannel {
            channel,
            membership: Membership::Member,
            kind,
            can_read_history: true,
        })
        .await?;
        Ok(true)
    }

    /// Records that an event changes a server. The change is applied before the returned guard is dropped.
    pub(super) async fn begin_guild_change(
        &self,
        guild: Id<GuildMarker>,
    ) -> MutexGuard<'_, HashMap<Id<GuildMarker>, u64>> {
        let mut changes = self.guild_changes.lock().await;
        *changes.entry(guild).or_default() += 1;
        changes
    }

    /// Hears a server that became available. If it is known already, it was unavailable before, so its channels are
    /// backfilled.
    pub(super) async fn hear_guild_available(&self, guild: Guild) -> Result<(), StoreError> {
        let _change = self.begin_guild_change(guild.id).await;
        if self.cache.guild(guild.id).is_some() {
            let channels = self.cache.possibly_joined(&guild_workspace(guild.id));
            channels.iter().for_each(|channel| self.backfill.enqueue(channel));
        }
        self.hear_guild(guild).await
    }

    /// Hears a server with all its channels, threads and members. The caller has locked `guild_changes`.
    pub(super) async fn hear_guild(&self, mut guild: Guild) -> Result<(), StoreError> {
        let workspace = guild_workspace(guild.id);
        // Checked before the channels are heard, which makes them known.
        let is_new = self.cache.possibly_joined(&workspace).is_empty();
        if self.cache.guild(guild.id).is_none() {
            register_persona(&self.inbox, &self.persona, &workspace, &self.identity.user).await?;
            let orders = self.inbox.store.orders(&workspace).await?;
            self.inbox.channel_cache.replace_orders(&workspace, &orders);
        }
        let threads = std::mem::take(&mut guild.threads);
        let members = std::mem::take(&mut guild.members);
        for member in &members {
            self.hear_user(&workspace, &member.user).await?;
        }
        // The list of members may omit the bot.
        let before = self.cache.guild(guild.id).map(|before| before.members).unwrap_or_default();
        let mut bot = members.into_iter().filter(|member| member.user.id == self.identity.user);
        guild.members = bot.next().map_or(before, |bot| vec![bot]);
        self.cache.put_guild(guild.clone());
        // Before the channels: the backfill of a channel that is heard begins at once, and reads its active threads.
        let (private, public): (Vec<_>, Vec<_>) =
            threads.into_iter().partition(|thread| thread.is_private);
        public.into_iter().for_each(|thread| self.cache.put_thread(thread));
        self.hear_channels(&guild).await?;
        for thread in private {
            self.hear_thread(thread).await?;
        }
        if is_new { self.join_guild(&guild).await } else { Ok(()) }
    }

    /// Announces that the bot joined a server, in one channel: the system channel, or the first one in which it may
    /// post.
    async fn join_guild(&self, guild: &Guild) -> Result<(), StoreError> {
        let workspace = guild_workspace(guild.id);
        let may_post = |target: &&guild::GuildChannel| {
            target.kind == ChannelType::GuildText
                && own_permissions(guild, target, &self.identity.user).contains(POST_PERMISSIONS)
                && !self.inbox.channel_cache.mode(&workspace, &target.id).is_silent()
        };
        let system_channel = guild
            .channels
            .iter()
            .filter(|target| guild.system_channel.as_ref() == Some(&target.id));
        let Some(target) = system_channel.chain(&guild.channels).find(may_post) else {
            return Ok(());
        };
        let (channel, thread) = (target.id.clone(), None);
        let target = ConversationId { workspace, channel, thread };
        self.inbox.announce_join(target, self.identity.user.clone()).await
    }

    async fn hear_channels(&self, guild: &Guild) -> Result<(), StoreError> {
        for channel in &guild.channels {
            self.hear_channel(self.to_cached_channel(guild, channel)).await?;
        }
        let is_listed =
            |channel: &ChannelId| guild.channels.iter().any(|listed| listed.id == *channel);
        let is_thread = |channel: &ChannelId| self.cache.thread(channel).is_some();
        let known = self.cache.possibly_joined(&guild_workspace(guild.id));
        let gone = known.iter().filter(|channel| !is_listed(channel) && !is_thread(channel));
        gone.for_each(|channel| self.leave_channel(channel));
        Ok(())
    }

    fn to_cached_channel(
        &self,
        guild: &Guild,
        guild_channel: &guild::GuildChannel,
    ) -> CachedChannel {
        let visibility = channel_visibility(guild, guild_channel, &self.identity.user);
        let channel = Channel {
            workspace: guild_workspace(guild.id),
            id: guild_channel.id.clone(),
            name: guild_channel.name.clone(),
            visibility: visibility.visibility,
            topic: visibility.is_visible.then(|| self.read_topic(guild, guild_channel)),
        };
        let membership =
            if visibility.is_visible { Membership::Member } else { Membership::NotMember };
        CachedChannel {
            channel,
            membership,
            kind: Some(guild_channel.kind),
            can_read_history: visibility.can_read_history,
        }
    }

    /// Reads the topic of a channel, with the names of channels that everybody in the server may read.
    fn read_topic(&self, guild: &Guild, guild_channel: &guild::GuildChannel) -> Arc<str> {
        let channel = |id: &ChannelId| {
            let named = guild.channels.iter().find(|channel| channel.id == *id)?;
            let visibility = channel_visibility(guild, named, &self.identity.user).visibility;
            (visibility == Visibility::Public || *id == guild_channel.id)
                .then(|| named.name.clone())
        };
        parse_topic(&guild_channel.topic, &channel, &self.settings.time_zone)
    }

    /// Hears a change of a server's own settings. The event contains its roles, but not its channels.
    pub(super) async fn hear_guild_update(&self, update: Guild) -> Result<(), StoreError> {
        let Guild { id, name, owner, roles, emojis, .. } = update;
        self.update_guild(id, |guild| {
            (guild.name, guild.owner) = (name, owner.or(guild.owner.take()));
            // Every server has the role @everyone, so an empty list means that the event lacked the roles.
            if !roles.is_empty() {
                (guild.roles, guild.emojis) = (roles, emojis);
            }
        })
        .await
    }

    pub(super) async fn hear_channel_update(
        &self,
        channel: guild::GuildChannel,
    ) -> Result<(), StoreError> {
        self.update_guild(channel.guild, |guild| {
            guild.channels.retain(|known| known.id != channel.id);
            guild.channels.push(channel);
        })
        .await
    }

    /// Applies a change that may affect who can read which channel.
    pub(super) async fn update_guild(
        &self,
        id: Id<GuildMarker>,
        change: impl FnOnce(&mut Guild),
    ) -> Result<(), StoreError> {
        // Also for a server that is not known yet: the sync that describes it may have begun before the change.
        let _change = self.begin_guild_change(id).await;
        match self.cache.update_guild(id, change) {
            Some(guild) => self.hear_channels(&guild).await,
            // The event with the whole server is yet to arrive.
            None => Ok(()),
        }
    }

    pub(super) async fn hear_thread(&self, thread: GuildThread) -> Result<(), StoreError> {
        if thread.is_private {
            let channel = Channel {
                workspace: guild_workspace(thread.guild),
                id: thread.id.clone(),
                name: thread.name.clone(),
                visibility: Visibility::Private,
                topic: None,
            };
            let membership =
                if thread.is_archived { Membership::NotMember } else { Membership::Member };
            let kind = Some(ChannelType::PrivateThread);
            self.hear_channel(CachedChannel { channel, membership, kind, can_read_history: true })
                .await?;
        }
        self.cache.put_thread(thread);
        Ok(())
    }

    /// Hears a channel in its current state.
    pub(super) async fn hear_channel(&self, cached: CachedChannel) -> Result<(), StoreError> {
        let before = self.cache.channel(&cached.channel.id);
        let is_known = before.as_ref().is_some_and(|before| before.channel == cached.channel);
        // A channel that the bot cannot see is irrelevant, unless messages of it were stored before.
        if !is_known && (before.is_some() || cached.membership == Membership::Member) {
            self.inbox.hear(Heard::Channel(cached.channel.clone())).await?;
        }
        if before.is_none() && cached.membership != Membership::Member {
            return Ok(());
        }
        let (id, membership) = (cached.channel.id.clone(), cached.membership);
        // After the store, because a cached channel is not stored again.
        self.cache.put_channel(cached);
        match (before.map(|before| before.membership), membership) {
            (Some(Membership::Member), Membership::Member) => {}
            // The bot was a member when the program stopped.
            (Some(Membership::Unknown), Membership::Member) => self.request_backfill(&id),
            (Some(Membership::NotMember) | None, Membership::Member) => {
                self.backfill.join_channel(&id, self.now())
            }
            (_, Membership::NotMember | Membership::Unknown) => self.backfill.leave_channel(&id),
        }
        Ok(())
    }

    /// Hears a direct message unless it is known. It is named after the user.
    async fn ensure_direct_channel(
        &self,
        channel: &ChannelId,
        message: Option<&DiscordMessage>,
    ) -> Result<(), StoreError> {
        let author =
            message.filter(|message| !self.is_own(message)).map(|message| &message.author.name);
        let known = self.cache.channel(channel);
        let is_named = known.as_ref().is_some_and(|cached| cached.membership == Membership::Member);
        let name: Option<Arc<str>> = author.cloned();
        let name = name.or(known.map(|cached| cached.channel.name));
        if is_named && author.is_none() {
            return Ok(());
        }
        let name = name.unwrap_or_else(|| channel.as_str().into());
        let (workspace, id, visibility) = (direct_workspace(), channel.clone(), Visibility::Direct);
        let channel = Channel { workspace, id, name, visibility, topic: None };
        let cached = CachedChannel {
            channel,
            membership: Membership::Member,
            kind: None,
            can_read_history: true,
        };
        self.hear_channel(cached).await
    }

    /// Restores direct messages from the store, because Discord does not list them.
    pub(super) async fn restore_direct_channels(&self) -> Result<(), StoreError> {
        for channel in self.cache.possibly_joined(&direct_workspace()) {
            self.ensure_direct_channel(&channel, None).await?;
        }
        Ok(())
    }

    /// Leaves the servers that are missing from the list at the start of a session: the bot has been removed from them.
    pub(super) async fn leave_other_guilds(&self, shard: ShardId, listed_json: &Value) {
        let Some(listed_json) = listed_json.as_array() else { return };
        let listed: Vec<WorkspaceId> = listed_json
            .iter()
            .filter_map(|guild| non_empty_str(&guild["id"])?.parse().ok())
            .map(guild_workspace)
            .collect();
        // READY lists only its own shard's servers. Discord assigns servers to shards by this formula.
        let is_ours = |guild: Id<GuildMarker>| {
            (guild.get() >> 22) % u64::from(shard.total()) == u64::from(shard.number())
        };
        for guild in self.cache.guilds() {
            if is_ours(guild) && !listed.contains(&guild_workspace(guild)) {
                self.leave_guild(guild);
            }
        }
    }

    pub(super) fn leave_guild(&self, guild: Id<GuildMarker>) {
        if let Some(known) = self.cache.guild(guild) {
            info!(
                platform = "discord",
                server = %guild,
                name = %known.name,
                "the bot is no longer on a server"
            );
        }
        self.cache
            .possibly_joined(&guild_workspace(guild))
            .iter()
            .for_each(|channel| self.leave_channel(channel));
        self.cache.remove_guild(guild);
    }

    pub(super) fn leave_channel(&self, channel: &ChannelId) {
        self.cache.leave_channel(channel);
        self.backfill.leave_channel(channel);
    }

    /// Returns the name of a channel that is mentioned in a conversation, unless it is another server's, or private and
    /// mentioned in another channel.
    pub(super) fn visible_channel_name(
        &self,
        id: &ChannelId,
        from: &ConversationId,
    ) -> Option<Arc<str>> {
        let thread = self.cache.thread(id);
        let cached = match &thread {
            Some(thread) if !thread.is_private => self.cache.channel(&thread.parent)?,
            Some(_) | None => self.cache.channel(id)?,
        };
        let is_here = cached.channel.workspace == from.workspace;
        let is_shown = is_here
            && (cached.channel.visibility == Visibility::Public
                || cached.channel.id == from.channel);
        let name = thread.map_or(cached.channel.name, |thread| thread.name);
        is_shown.then_some(name)
    }
}
