//! Rooms as the persona knows them: a server's channels, direct messages, and threads that only some may
//! read. Who may read a room decides what becomes of its lines, so it is known before anything is heard.

use std::sync::Arc;

use serde_json::Value;
use tracing::info;
use twilight_gateway::ShardId;
use twilight_model::channel::ChannelType;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::guild::{self, Guild, Thread};
use crate::from_discord::line::Line;
use crate::from_discord::{Place, text};
use crate::permissions::SPEAKING;
use crate::reach::{ours, reach};
use crate::roster::{Room, Standing};
use crate::take::{Ground, TakeError};
use crate::{Discord, direct, workspace};
use aizuchi_core::chat::{
    Channel, ChannelId, ConversationId, Heard, MessageId, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::store::StoreError;

impl Ground {
    /// A thread that everybody of its channel may read is a conversation there. One that only some may
    /// read is a room of its own: its channel's readers must not know what is said in it.
    pub(super) fn of_thread(thread: &Thread, us: &UserId, parent: Option<ChannelType>) -> Self {
        let workspace = workspace(thread.guild);
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
            is_opened: thread.owner.as_ref() == Some(us),
            title: is_forum.then(|| thread.name.clone()),
        }
    }
}

impl Discord {
    /// Where something is said. What Discord has not told of is asked for.
    pub(super) async fn ground(
        &self,
        place: &Place,
        line: Option<&Line>,
    ) -> Result<Ground, TakeError> {
        let Some(guild) = place.guild else {
            self.meet_direct(&place.channel, line).await?;
            return Ok(Ground::direct(&place.channel));
        };
        if let Some(ground) = self.known_ground(&place.channel) {
            self.hear_presence(&ground, line).await?;
            return Ok(ground);
        }
        // Many things may be told of a new place at once; one of them asks.
        let _asking = self.meeting.lock().await;
        if let Some(ground) = self.known_ground(&place.channel) {
            return Ok(ground);
        }
        let told: Value = self.read(&format!("/channels/{}", place.channel)).await?;
        if let Some(thread) = guild::thread(&told, Some(guild)) {
            if self.roster.room(&thread.parent).is_none() {
                let parent: Value = self.read(&format!("/channels/{}", thread.parent)).await?;
                self.hear_unlisted(&parent, guild).await?;
            }
            self.hear_thread(thread).await?;
        } else {
            self.hear_unlisted(&told, guild).await?;
        }
        let unknown = || ConversationId {
            workspace: workspace(guild),
            channel: place.channel.clone(),
            thread: None,
        };
        Ok(self.known_ground(&place.channel).unwrap_or_else(|| Ground {
            conversation: unknown(),
            is_opened: false,
            title: None,
        }))
    }

    /// Whoever hears a line is there.
    async fn hear_presence(&self, ground: &Ground, line: Option<&Line>) -> Result<(), StoreError> {
        let room = self.roster.room(&ground.conversation.channel);
        match room.filter(|room| line.is_some() && room.standing == Standing::Out) {
            Some(room) => self.hear_room(Room { standing: Standing::Member, ..room }).await,
            None => Ok(()),
        }
    }

    fn known_ground(&self, place: &ChannelId) -> Option<Ground> {
        if let Some(thread) = self.roster.thread(place) {
            let parent = self.roster.room(&thread.parent)?;
            return Some(Ground::of_thread(&thread, &self.who.user, parent.kind));
        }
        let Channel { workspace, id, .. } = self.roster.room(place)?.channel;
        let conversation = ConversationId { workspace, channel: id, thread: None };
        Some(Ground { conversation, is_opened: false, title: None })
    }

    /// A channel that no list of its server has named. Where the server is not known either, it counts as
    /// private.
    async fn hear_unlisted(&self, told: &Value, guild: Id<GuildMarker>) -> Result<(), StoreError> {
        let Some(room) = guild::room(told, Some(guild)) else { return Ok(()) };
        if self.roster.guild(guild).is_some() {
            return self.hear_room_change(room).await;
        }
        let channel = Channel {
            workspace: workspace(guild),
            id: room.id,
            name: room.name,
            visibility: Visibility::Private,
        };
        let kind = Some(room.kind);
        self.hear_room(Room { channel, standing: Standing::Member, kind, has_history: true }).await
    }

    /// A server can be heard. Where it could be before, it was away meanwhile.
    pub(super) async fn hear_whole_guild(&self, guild: Guild) -> Result<(), StoreError> {
        if self.roster.guild(guild.id).is_some() {
            let rooms = self.roster.not_left(&workspace(guild.id));
            rooms.iter().for_each(|room| self.wanted.add(room));
        }
        self.hear_guild(guild).await
    }

    /// All of a server.
    pub(super) async fn hear_guild(&self, mut guild: Guild) -> Result<(), StoreError> {
        let workspace = workspace(guild.id);
        let is_new = self.roster.not_left(&workspace).is_empty();
        if self.roster.guild(guild.id).is_none() {
            self.enter(workspace.clone()).await?;
            let orders = self.ears.store.orders(&workspace).await?;
            self.ears.rooms.obey(&workspace, &orders);
        }
        let threads = std::mem::take(&mut guild.threads);
        let members = std::mem::take(&mut guild.members);
        for member in &members {
            self.hear_person(&workspace, &member.person).await?;
        }
        // A list may leave us out.
        let before = self.roster.guild(guild.id).map(|before| before.members).unwrap_or_default();
        let mut us = members.into_iter().filter(|member| member.person.id == self.who.user);
        guild.members = us.next().map_or(before, |us| vec![us]);
        self.roster.learn_guild(guild.clone());
        self.hear_rooms(&guild).await?;
        for thread in threads {
            self.hear_thread(thread).await?;
        }
        if is_new { self.introduce(&guild).await } else { Ok(()) }
    }

    /// A server has many channels; one of them is told for all: its lobby, or the first that it may speak in.
    async fn introduce(&self, guild: &Guild) -> Result<(), StoreError> {
        let workspace = workspace(guild.id);
        let may_speak = |room: &&guild::Room| {
            room.kind == ChannelType::GuildText
                && ours(guild, room, &self.who.user).contains(SPEAKING)
                && !self.ears.rooms.mode(&workspace, &room.id).is_silent()
        };
        let lobby = guild.rooms.iter().filter(|room| guild.lobby.as_ref() == Some(&room.id));
        let Some(room) = lobby.chain(&guild.rooms).find(may_speak) else { return Ok(()) };
        let (channel, thread) = (room.id.clone(), None);
        let room = ConversationId { workspace, channel, thread };
        self.ears.join(room, self.who.user.clone()).await
    }

    async fn hear_rooms(&self, guild: &Guild) -> Result<(), StoreError> {
        for room in &guild.rooms {
            self.hear_room(self.described(guild, room)).await?;
        }
        let is_listed = |room: &ChannelId| guild.rooms.iter().any(|listed| listed.id == *room);
        let is_thread = |room: &ChannelId| self.roster.thread(room).is_some();
        let known = self.roster.not_left(&workspace(guild.id));
        let gone = known.iter().filter(|room| !is_listed(room) && !is_thread(room));
        gone.for_each(|room| self.leave(room));
        Ok(())
    }

    fn described(&self, guild: &Guild, room: &guild::Room) -> Room {
        let reach = reach(guild, room, &self.who.user);
        let channel = Channel {
            workspace: workspace(guild.id),
            id: room.id.clone(),
            name: room.name.clone(),
            visibility: reach.visibility,
        };
        let standing = if reach.is_seen { Standing::Member } else { Standing::Out };
        Room { channel, standing, kind: Some(room.kind), has_history: reach.has_history }
    }

    /// A server's own settings have changed; its roles are told, and its channels are not.
    pub(super) async fn hear_guild_change(&self, told: Guild) -> Result<(), StoreError> {
        let Guild { id, name, owner, roles, emojis, .. } = told;
        self.look_again(id, |guild| {
            (guild.name, guild.owner) = (name, owner.or(guild.owner.take()));
            if !roles.is_empty() {
                (guild.roles, guild.emojis) = (roles, emojis);
            }
        })
        .await
    }

    pub(super) async fn hear_room_change(&self, room: guild::Room) -> Result<(), StoreError> {
        self.look_again(room.guild, |guild| {
            guild.rooms.retain(|known| known.id != room.id);
            guild.rooms.push(room);
        })
        .await
    }

    /// Something that decides who may read what has changed.
    pub(super) async fn look_again(
        &self,
        id: Id<GuildMarker>,
        change: impl FnOnce(&mut Guild),
    ) -> Result<(), StoreError> {
        match self.roster.change_guild(id, change) {
            Some(guild) => self.hear_rooms(&guild).await,
            // All of it is on its way.
            None => Ok(()),
        }
    }

    pub(super) async fn hear_thread(&self, thread: Thread) -> Result<(), StoreError> {
        if thread.is_private {
            let channel = Channel {
                workspace: workspace(thread.guild),
                id: thread.id.clone(),
                name: thread.name.clone(),
                visibility: Visibility::Private,
            };
            let standing = if thread.is_archived { Standing::Out } else { Standing::Member };
            let kind = Some(ChannelType::PrivateThread);
            self.hear_room(Room { channel, standing, kind, has_history: true }).await?;
        }
        self.roster.learn_thread(thread);
        Ok(())
    }

    /// A room as it is now.
    pub(super) async fn hear_room(&self, room: Room) -> Result<(), StoreError> {
        let before = self.roster.room(&room.channel.id);
        let is_known = before.as_ref().is_some_and(|before| before.channel == room.channel);
        // What we may not see is nothing to us; but who may read what we have heard counts.
        if !is_known && (before.is_some() || room.standing == Standing::Member) {
            self.ears.hear(Heard::Channel(room.channel.clone())).await?;
        }
        if before.is_none() && room.standing != Standing::Member {
            return Ok(());
        }
        let (id, standing) = (room.channel.id.clone(), room.standing);
        // Not before it is kept: what is known is not kept again.
        self.roster.learn_room(room);
        match (before.map(|before| before.standing), standing) {
            (Some(Standing::Member), Standing::Member) => {}
            // It was in it when it stopped.
            (Some(Standing::Unknown), Standing::Member) => self.want(&id),
            (Some(Standing::Out) | None, Standing::Member) => self.wanted.meet(&id, self.now()),
            (_, Standing::Out | Standing::Unknown) => self.wanted.leave(&id),
        }
        Ok(())
    }

    /// Somebody writes to us alone. Such a room is called like them.
    async fn meet_direct(
        &self,
        channel: &ChannelId,
        line: Option<&Line>,
    ) -> Result<(), StoreError> {
        let author = line.filter(|line| !self.is_own(line)).map(|line| &line.author.name);
        let known = self.roster.room(channel);
        let is_named = known.as_ref().is_some_and(|room| room.standing == Standing::Member);
        let name: Option<Arc<str>> = author.cloned();
        let name = name.or(known.map(|room| room.channel.name));
        if is_named && author.is_none() {
            return Ok(());
        }
        let name = name.unwrap_or_else(|| channel.as_str().into());
        let (workspace, id, visibility) = (direct(), channel.clone(), Visibility::Direct);
        let channel = Channel { workspace, id, name, visibility };
        let room = Room { channel, standing: Standing::Member, kind: None, has_history: true };
        self.hear_room(room).await
    }

    /// Direct messages are in no list: those that are known are there.
    pub(super) async fn open_directs(&self) -> Result<(), StoreError> {
        for room in self.roster.not_left(&direct()) {
            self.meet_direct(&room, None).await?;
        }
        Ok(())
    }

    /// A session begins with the servers that we are on; we may have been thrown out of others.
    pub(super) async fn leave_other_guilds(&self, shard: ShardId, told: &Value) {
        let Some(told) = told.as_array() else { return };
        let listed: Vec<WorkspaceId> = told
            .iter()
            .filter_map(|guild| text(&guild["id"])?.parse().ok())
            .map(workspace)
            .collect();
        let is_ours = |guild: Id<GuildMarker>| {
            (guild.get() >> 22) % u64::from(shard.total()) == u64::from(shard.number())
        };
        for guild in self.roster.guilds() {
            if is_ours(guild) && !listed.contains(&workspace(guild)) {
                self.leave_guild(guild);
            }
        }
    }

    pub(super) fn leave_guild(&self, guild: Id<GuildMarker>) {
        if let Some(known) = self.roster.guild(guild) {
            info!("it is on the server {} no more", known.name);
        }
        self.roster.not_left(&workspace(guild)).iter().for_each(|room| self.leave(room));
        self.roster.forget_guild(guild);
    }

    pub(super) fn leave(&self, channel: &ChannelId) {
        self.roster.leave(channel);
        self.wanted.leave(channel);
    }

    /// The name of a room that others may not see stays there.
    pub(super) fn name_shown(&self, id: &ChannelId, from: &ChannelId) -> Option<Arc<str>> {
        let thread = self.roster.thread(id);
        let room = match &thread {
            Some(thread) if !thread.is_private => self.roster.room(&thread.parent)?,
            Some(_) | None => self.roster.room(id)?,
        };
        let is_shown = room.channel.visibility == Visibility::Public || room.channel.id == *from;
        let name = thread.map_or(room.channel.name, |thread| thread.name);
        is_shown.then_some(name)
    }
}
