//! Rooms as the persona knows them: a server's channels, direct messages, and threads that only some may
//! read. Who may read a room decides what becomes of its lines, so it is known before anything is heard.

use std::sync::Arc;

use serde_json::Value;
use tracing::info;
use twilight_gateway::ShardId;
use twilight_model::channel::ChannelType;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::DiscordPlatform;
use crate::cache::{CachedChannel, Membership};
use crate::from_discord::guild::{self, Guild, GuildThread};
use crate::from_discord::message::{ChannelRef, DiscordMessage};
use crate::identity::{direct_workspace, guild_workspace};
use crate::ingest::{IngestError, Location};
use crate::json::non_empty_str;
use crate::permissions::POST_PERMISSIONS;
use crate::visibility::{channel_visibility, own_permissions};
use aizuchi_core::chat::{
    Channel, ChannelId, ConversationId, Heard, MessageId, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::store::StoreError;

impl Location {
    /// A thread that everybody of its channel may read is a conversation there. One that only some may
    /// read is a room of its own: its channel's readers must not know what is said in it.
    pub(super) fn from_thread(
        thread: &GuildThread,
        us: &UserId,
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
            is_opened_by_persona: thread.owner.as_ref() == Some(us),
            forum_post_title: is_forum.then(|| thread.name.clone()),
        }
    }
}

impl DiscordPlatform {
    /// Where something is said. What Discord has not told of is asked for.
    pub(super) async fn locate(
        &self,
        place: &ChannelRef,
        line: Option<&DiscordMessage>,
    ) -> Result<Location, IngestError> {
        let Some(guild) = place.guild else {
            self.ensure_direct_channel(&place.channel, line).await?;
            return Ok(Location::direct(&place.channel));
        };
        if let Some(ground) = self.known_location(&place.channel) {
            self.mark_joined(&ground, line).await?;
            return Ok(ground);
        }
        // Many things may be told of a new place at once; one of them asks.
        let _asking = self.location_lock.lock().await;
        if let Some(ground) = self.known_location(&place.channel) {
            return Ok(ground);
        }
        let told: Value = self.read_with_retries(&format!("/channels/{}", place.channel)).await?;
        if let Some(thread) = guild::parse_thread(&told, Some(guild)) {
            if self.cache.channel(&thread.parent).is_none() {
                let parent: Value =
                    self.read_with_retries(&format!("/channels/{}", thread.parent)).await?;
                self.hear_unlisted_channel(&parent, guild).await?;
            }
            self.hear_thread(thread).await?;
        } else {
            self.hear_unlisted_channel(&told, guild).await?;
        }
        let unknown = || ConversationId {
            workspace: guild_workspace(guild),
            channel: place.channel.clone(),
            thread: None,
        };
        Ok(self.known_location(&place.channel).unwrap_or_else(|| Location {
            conversation: unknown(),
            is_opened_by_persona: false,
            forum_post_title: None,
        }))
    }

    /// Whoever hears a line is there.
    async fn mark_joined(
        &self,
        ground: &Location,
        line: Option<&DiscordMessage>,
    ) -> Result<(), StoreError> {
        let room = self.cache.channel(&ground.conversation.channel);
        match room.filter(|room| line.is_some() && room.membership == Membership::NotMember) {
            Some(room) => {
                self.hear_channel(CachedChannel { membership: Membership::Member, ..room }).await
            }
            None => Ok(()),
        }
    }

    fn known_location(&self, place: &ChannelId) -> Option<Location> {
        if let Some(thread) = self.cache.thread(place) {
            let parent = self.cache.channel(&thread.parent)?;
            return Some(Location::from_thread(&thread, &self.identity.user, parent.kind));
        }
        let Channel { workspace, id, .. } = self.cache.channel(place)?.channel;
        let conversation = ConversationId { workspace, channel: id, thread: None };
        Some(Location { conversation, is_opened_by_persona: false, forum_post_title: None })
    }

    /// A channel that no list of its server has named. Where the server is not known either, it counts as
    /// private.
    async fn hear_unlisted_channel(
        &self,
        told: &Value,
        guild: Id<GuildMarker>,
    ) -> Result<(), StoreError> {
        let Some(room) = guild::parse_channel(told, Some(guild)) else { return Ok(()) };
        if self.cache.guild(guild).is_some() {
            return self.hear_channel_update(room).await;
        }
        let channel = Channel {
            workspace: guild_workspace(guild),
            id: room.id,
            name: room.name,
            visibility: Visibility::Private,
        };
        let kind = Some(room.kind);
        self.hear_channel(CachedChannel {
            channel,
            membership: Membership::Member,
            kind,
            can_read_history: true,
        })
        .await
    }

    /// A server can be heard. Where it could be before, it was away meanwhile.
    pub(super) async fn hear_guild_available(&self, guild: Guild) -> Result<(), StoreError> {
        if self.cache.guild(guild.id).is_some() {
            let rooms = self.cache.possibly_joined(&guild_workspace(guild.id));
            rooms.iter().for_each(|room| self.backfill.enqueue(room));
        }
        self.hear_guild(guild).await
    }

    /// All of a server.
    pub(super) async fn hear_guild(&self, mut guild: Guild) -> Result<(), StoreError> {
        let workspace = guild_workspace(guild.id);
        let is_new = self.cache.possibly_joined(&workspace).is_empty();
        if self.cache.guild(guild.id).is_none() {
            self.register_workspace(workspace.clone()).await?;
            let orders = self.inbox.store.orders(&workspace).await?;
            self.inbox.channel_cache.replace_orders(&workspace, &orders);
        }
        let threads = std::mem::take(&mut guild.threads);
        let members = std::mem::take(&mut guild.members);
        for member in &members {
            self.hear_user(&workspace, &member.user).await?;
        }
        // A list may leave us out.
        let before = self.cache.guild(guild.id).map(|before| before.members).unwrap_or_default();
        let mut us = members.into_iter().filter(|member| member.user.id == self.identity.user);
        guild.members = us.next().map_or(before, |us| vec![us]);
        self.cache.put_guild(guild.clone());
        self.hear_channels(&guild).await?;
        for thread in threads {
            self.hear_thread(thread).await?;
        }
        if is_new { self.join_guild(&guild).await } else { Ok(()) }
    }

    /// A server has many channels; one of them is told for all: its lobby, or the first that it may speak in.
    async fn join_guild(&self, guild: &Guild) -> Result<(), StoreError> {
        let workspace = guild_workspace(guild.id);
        let may_speak = |room: &&guild::GuildChannel| {
            room.kind == ChannelType::GuildText
                && own_permissions(guild, room, &self.identity.user).contains(POST_PERMISSIONS)
                && !self.inbox.channel_cache.mode(&workspace, &room.id).is_silent()
        };
        let lobby =
            guild.channels.iter().filter(|room| guild.system_channel.as_ref() == Some(&room.id));
        let Some(room) = lobby.chain(&guild.channels).find(may_speak) else { return Ok(()) };
        let (channel, thread) = (room.id.clone(), None);
        let room = ConversationId { workspace, channel, thread };
        self.inbox.announce_join(room, self.identity.user.clone()).await
    }

    async fn hear_channels(&self, guild: &Guild) -> Result<(), StoreError> {
        for room in &guild.channels {
            self.hear_channel(self.to_cached_channel(guild, room)).await?;
        }
        let is_listed = |room: &ChannelId| guild.channels.iter().any(|listed| listed.id == *room);
        let is_thread = |room: &ChannelId| self.cache.thread(room).is_some();
        let known = self.cache.possibly_joined(&guild_workspace(guild.id));
        let gone = known.iter().filter(|room| !is_listed(room) && !is_thread(room));
        gone.for_each(|room| self.leave_channel(room));
        Ok(())
    }

    fn to_cached_channel(&self, guild: &Guild, room: &guild::GuildChannel) -> CachedChannel {
        let reach = channel_visibility(guild, room, &self.identity.user);
        let channel = Channel {
            workspace: guild_workspace(guild.id),
            id: room.id.clone(),
            name: room.name.clone(),
            visibility: reach.visibility,
        };
        let standing = if reach.is_visible { Membership::Member } else { Membership::NotMember };
        CachedChannel {
            channel,
            membership: standing,
            kind: Some(room.kind),
            can_read_history: reach.can_read_history,
        }
    }

    /// A server's own settings have changed; its roles are told, and its channels are not.
    pub(super) async fn hear_guild_update(&self, told: Guild) -> Result<(), StoreError> {
        let Guild { id, name, owner, roles, emojis, .. } = told;
        self.update_guild(id, |guild| {
            (guild.name, guild.owner) = (name, owner.or(guild.owner.take()));
            if !roles.is_empty() {
                (guild.roles, guild.emojis) = (roles, emojis);
            }
        })
        .await
    }

    pub(super) async fn hear_channel_update(
        &self,
        room: guild::GuildChannel,
    ) -> Result<(), StoreError> {
        self.update_guild(room.guild, |guild| {
            guild.channels.retain(|known| known.id != room.id);
            guild.channels.push(room);
        })
        .await
    }

    /// Something that decides who may read what has changed.
    pub(super) async fn update_guild(
        &self,
        id: Id<GuildMarker>,
        change: impl FnOnce(&mut Guild),
    ) -> Result<(), StoreError> {
        match self.cache.update_guild(id, change) {
            Some(guild) => self.hear_channels(&guild).await,
            // All of it is on its way.
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
            };
            let standing =
                if thread.is_archived { Membership::NotMember } else { Membership::Member };
            let kind = Some(ChannelType::PrivateThread);
            self.hear_channel(CachedChannel {
                channel,
                membership: standing,
                kind,
                can_read_history: true,
            })
            .await?;
        }
        self.cache.put_thread(thread);
        Ok(())
    }

    /// A room as it is now.
    pub(super) async fn hear_channel(&self, room: CachedChannel) -> Result<(), StoreError> {
        let before = self.cache.channel(&room.channel.id);
        let is_known = before.as_ref().is_some_and(|before| before.channel == room.channel);
        // What we may not see is nothing to us; but who may read what we have heard counts.
        if !is_known && (before.is_some() || room.membership == Membership::Member) {
            self.inbox.hear(Heard::Channel(room.channel.clone())).await?;
        }
        if before.is_none() && room.membership != Membership::Member {
            return Ok(());
        }
        let (id, standing) = (room.channel.id.clone(), room.membership);
        // Not before it is kept: what is known is not kept again.
        self.cache.put_channel(room);
        match (before.map(|before| before.membership), standing) {
            (Some(Membership::Member), Membership::Member) => {}
            // It was in it when it stopped.
            (Some(Membership::Unknown), Membership::Member) => self.request_backfill(&id),
            (Some(Membership::NotMember) | None, Membership::Member) => {
                self.backfill.join_channel(&id, self.now())
            }
            (_, Membership::NotMember | Membership::Unknown) => self.backfill.leave_channel(&id),
        }
        Ok(())
    }

    /// Somebody writes to us alone. Such a room is called like them.
    async fn ensure_direct_channel(
        &self,
        channel: &ChannelId,
        line: Option<&DiscordMessage>,
    ) -> Result<(), StoreError> {
        let author = line.filter(|line| !self.is_own(line)).map(|line| &line.author.name);
        let known = self.cache.channel(channel);
        let is_named = known.as_ref().is_some_and(|room| room.membership == Membership::Member);
        let name: Option<Arc<str>> = author.cloned();
        let name = name.or(known.map(|room| room.channel.name));
        if is_named && author.is_none() {
            return Ok(());
        }
        let name = name.unwrap_or_else(|| channel.as_str().into());
        let (workspace, id, visibility) = (direct_workspace(), channel.clone(), Visibility::Direct);
        let channel = Channel { workspace, id, name, visibility };
        let room = CachedChannel {
            channel,
            membership: Membership::Member,
            kind: None,
            can_read_history: true,
        };
        self.hear_channel(room).await
    }

    /// Direct messages are in no list: those that are known are there.
    pub(super) async fn restore_direct_channels(&self) -> Result<(), StoreError> {
        for room in self.cache.possibly_joined(&direct_workspace()) {
            self.ensure_direct_channel(&room, None).await?;
        }
        Ok(())
    }

    /// A session begins with the servers that we are on; we may have been thrown out of others.
    pub(super) async fn leave_other_guilds(&self, shard: ShardId, told: &Value) {
        let Some(told) = told.as_array() else { return };
        let listed: Vec<WorkspaceId> = told
            .iter()
            .filter_map(|guild| non_empty_str(&guild["id"])?.parse().ok())
            .map(guild_workspace)
            .collect();
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
            info!("it is on the server {} no more", known.name);
        }
        self.cache
            .possibly_joined(&guild_workspace(guild))
            .iter()
            .for_each(|room| self.leave_channel(room));
        self.cache.remove_guild(guild);
    }

    pub(super) fn leave_channel(&self, channel: &ChannelId) {
        self.cache.leave_channel(channel);
        self.backfill.leave_channel(channel);
    }

    /// The name of a room that others may not see stays there.
    pub(super) fn visible_channel_name(
        &self,
        id: &ChannelId,
        from: &ChannelId,
    ) -> Option<Arc<str>> {
        let thread = self.cache.thread(id);
        let room = match &thread {
            Some(thread) if !thread.is_private => self.cache.channel(&thread.parent)?,
            Some(_) | None => self.cache.channel(id)?,
        };
        let is_shown = room.channel.visibility == Visibility::Public || room.channel.id == *from;
        let name = thread.map_or(room.channel.name, |thread| thread.name);
        is_shown.then_some(name)
    }
}
