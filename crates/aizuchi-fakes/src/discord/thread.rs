//! Threads: started from a message, started without one, or posted in a forum.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;

use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::channel::{FakeChannel, FakeThread};
use crate::discord::id::{ChannelId, MessageId, UserId};
use crate::discord::message::{
    EventDelivery, FakeAuthor, FakeMessage, MessageKind, MessageReference,
};
use crate::discord::world::{EventTopic, World};

/// A thread to start.
#[derive(Clone, Debug)]
pub struct NewThread {
    pub parent: ChannelId,
    pub owner: UserId,
    pub name: String,
    pub kind: ChannelType,
    pub auto_archive_minutes: u64,
    pub tags: Vec<Value>,
}

impl NewThread {
    pub fn new(parent: ChannelId, owner: UserId, name: &str) -> Self {
        Self {
            parent,
            owner,
            name: name.to_owned(),
            kind: ChannelType::PublicThread,
            auto_archive_minutes: 4320,
            tags: Vec::new(),
        }
    }
}

impl World {
    /// Starts a thread from a message. The thread has the message's id.
    pub fn start_thread_from_message(
        &mut self,
        message: MessageId,
        new: NewThread,
    ) -> ApiResult<ChannelId> {
        let parent = new.parent;
        self.message(parent, message)?;
        let id: ChannelId = message.cast();
        if self.channels.contains_key(&id) {
            return Err(ErrorCode::AlreadyAThread.into());
        }
        let owner = new.owner;
        self.insert_thread(id, new)?;
        self.emit_message("MESSAGE_UPDATE", parent, message)?;
        let starter = self.new_id();
        let mut starter = FakeMessage::new(starter, FakeAuthor::User(owner), "");
        starter.kind = MessageKind::ThreadStarter;
        starter.reference = Some(MessageReference { channel: parent, message: Some(message) });
        self.insert_message(id, starter, EventDelivery::Delivered)?;
        Ok(id)
    }

    /// Starts a thread without a message. A system message in the parent announces it.
    pub fn start_thread(&mut self, new: NewThread) -> ApiResult<ChannelId> {
        let id: ChannelId = self.new_id();
        let NewThread { parent, owner, name, kind, .. } = new.clone();
        self.insert_thread(id, new)?;
        if kind == ChannelType::PublicThread {
            let announcement = self.new_id();
            let mut announcement = FakeMessage::new(announcement, FakeAuthor::User(owner), &name);
            announcement.kind = MessageKind::ThreadCreated;
            announcement.reference = Some(MessageReference { channel: id, message: None });
            self.insert_message(parent, announcement, EventDelivery::Delivered)?;
        }
        Ok(id)
    }

    /// Creates a post in a forum: a thread whose first message has the thread's id.
    pub fn create_forum_post(
        &mut self,
        new: NewThread,
        compose: impl FnOnce(MessageId) -> FakeMessage,
    ) -> ApiResult<ChannelId> {
        let id: ChannelId = self.new_id();
        let parent = new.parent;
        self.insert_thread(id, new)?;
        self.channel_mut(parent)?.last_message = Some(id.cast());
        self.insert_message(id, compose(id.cast()), EventDelivery::Delivered)?;
        Ok(id)
    }

    fn insert_thread(&mut self, id: ChannelId, new: NewThread) -> ApiResult {
        let now = self.now();
        let mut channel = FakeChannel::new(id, new.kind, &new.name);
        channel.guild = self.channel(new.parent)?.guild;
        channel.parent = Some(new.parent);
        channel.thread = Some(FakeThread {
            owner: new.owner,
            created_at: now,
            members: BTreeMap::from([(new.owner, now)]),
            is_archived: false,
            is_locked: false,
            archived_at: now,
            auto_archive_minutes: new.auto_archive_minutes,
            tags: new.tags,
            message_count: 0,
        });
        let mut object = self.channel_json(&channel);
        self.channels.insert(id, channel);
        object["newly_created"] = json!(true);
        self.emit_in_channel(id, EventTopic::Channels, "THREAD_CREATE", object);
        Ok(())
    }

    /// Adds a user to a thread, as sending a message in it does.
    pub fn join_thread(&mut self, id: ChannelId, user: UserId) -> ApiResult {
        if self.channel(id)?.thread.is_none() {
            return Err(ErrorCode::WrongChannelType.into());
        }
        self.join_if_thread(id, user)
    }

    /// Like [`Self::join_thread`], but does nothing in a channel that is not a thread.
    pub fn join_if_thread(&mut self, id: ChannelId, user: UserId) -> ApiResult {
        let now = self.now();
        let was_visible = self.can_see(self.bot_user, self.channel(id)?);
        let Some(thread) = &mut self.channel_mut(id)?.thread else {
            return Ok(());
        };
        if thread.members.contains_key(&user) {
            return Ok(());
        }
        thread.members.insert(user, now);
        if user == self.bot_user && !was_visible {
            let object = self.channel_json(self.channel(id)?);
            self.emit_in_channel(id, EventTopic::Channels, "THREAD_CREATE", object);
        }
        let added =
            self.channel(id)?.thread.as_ref().and_then(|thread| thread.member_json(id, user));
        self.emit_thread_members(id, user, json!(added.as_slice()), json!([]))
    }

    pub fn leave_thread(&mut self, id: ChannelId, user: UserId) -> ApiResult {
        let Some(thread) = &mut self.channel_mut(id)?.thread else {
            return Err(ErrorCode::WrongChannelType.into());
        };
        thread.members.remove(&user).ok_or(ErrorCode::UnknownMember)?;
        self.emit_thread_members(id, user, json!([]), json!([user]))
    }

    fn emit_thread_members(
        &mut self,
        id: ChannelId,
        user: UserId,
        mut added: Value,
        removed: Value,
    ) -> ApiResult {
        let channel = self.channel(id)?;
        let count = channel.thread.as_ref().map_or(0, |thread| thread.members.len());
        let guild = channel.guild;
        for member in added.as_array_mut().into_iter().flatten() {
            let guild_member = guild.and_then(|guild| self.member_json(guild, user).ok());
            member["member"] = guild_member.unwrap_or_default();
            member["presence"] = Value::Null;
        }
        let data = json!({
            "id": id,
            "guild_id": guild,
            "member_count": count.min(50),
            "added_members": added,
            "removed_member_ids": removed,
        });
        // An app always gets the events about itself.
        let intents = if user == self.bot_user { Intents::GUILDS } else { Intents::GUILD_MEMBERS };
        self.emit("THREAD_MEMBERS_UPDATE", intents, data);
        Ok(())
    }

    pub fn update_thread(
        &mut self,
        id: ChannelId,
        change: impl FnOnce(&mut FakeChannel),
    ) -> ApiResult {
        let now = self.now();
        let channel = self.channel_mut(id)?;
        let was_archived = channel.is_archived();
        change(channel);
        let Some(thread) = &mut channel.thread else {
            return Err(ErrorCode::WrongChannelType.into());
        };
        if thread.is_archived != was_archived {
            thread.archived_at = now;
        }
        let object = self.channel_json(self.channel(id)?);
        self.emit_in_channel(id, EventTopic::Channels, "THREAD_UPDATE", object);
        Ok(())
    }

    pub fn set_archived(&mut self, id: ChannelId, is_archived: bool) -> ApiResult {
        self.update_thread(id, |channel| {
            if let Some(thread) = &mut channel.thread {
                thread.is_archived = is_archived;
            }
        })
    }

    /// Unarchives a thread, as a message in it does.
    pub fn unarchive_for_message(&mut self, id: ChannelId) -> ApiResult {
        if self.channel(id)?.is_archived() {
            self.set_archived(id, false)?;
        }
        Ok(())
    }

    /// Sends the app the list of a channel's threads that it can see now.
    pub fn emit_thread_list(&mut self, parent: ChannelId) -> ApiResult {
        let guild = self.channel(parent)?.guild;
        let threads = self.active_threads(|channel| channel.parent == Some(parent));
        let data = json!({
            "guild_id": guild,
            "channel_ids": [parent],
            "members": self.bot_memberships(&threads),
            "threads": threads.iter().map(|thread| self.channel_json(thread)).collect::<Vec<_>>(),
        });
        self.emit("THREAD_LIST_SYNC", Intents::GUILDS, data);
        Ok(())
    }

    /// Returns the app's memberships in these threads.
    pub fn bot_memberships(&self, threads: &[&FakeChannel]) -> Vec<Value> {
        let membership = |channel: &&FakeChannel| {
            channel.thread.as_ref().and_then(|thread| thread.member_json(channel.id, self.bot_user))
        };
        threads.iter().filter_map(membership).collect()
    }

    /// Returns the threads that are not archived and that the app can see, newest first.
    pub fn active_threads(&self, matches: impl Fn(&FakeChannel) -> bool) -> Vec<&FakeChannel> {
        let threads = self.channels.values().rev();
        threads
            .filter(|channel| channel.thread.is_some() && !channel.is_archived())
            .filter(|channel| matches(channel) && self.can_see(self.bot_user, channel))
            .collect()
    }
}
