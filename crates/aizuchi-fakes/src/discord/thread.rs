//! Threads: grown from a message, begun beside the talk, or posted in a forum.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;

use crate::discord::channel::{Channel, Thread};
use crate::discord::id::{ChannelId, MessageId, UserId};
use crate::discord::message::{Author, Kind, Message, Reference, Telling};
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::talk::Place;
use crate::discord::world::{Topic, World};

/// A thread that is to be begun.
#[derive(Clone, Debug)]
pub struct NewThread {
    pub parent: ChannelId,
    pub owner: UserId,
    pub name: String,
    pub kind: ChannelType,
    pub minutes: u64,
    pub tags: Vec<Value>,
}

impl NewThread {
    pub fn new(parent: ChannelId, owner: UserId, name: &str) -> Self {
        Self {
            parent,
            owner,
            name: name.to_owned(),
            kind: ChannelType::PublicThread,
            minutes: 4320,
            tags: Vec::new(),
        }
    }
}

impl World {
    /// A thread grows from a message, and has its number.
    pub fn start_thread_from(
        &mut self,
        message: MessageId,
        new: NewThread,
    ) -> Result<ChannelId, Refusal> {
        let parent = new.parent;
        self.message(parent, message)?;
        let id: ChannelId = message.cast();
        if self.channels.contains_key(&id) {
            return Err(Reason::AlreadyAThread.into());
        }
        let owner = new.owner;
        self.begin_thread(id, new)?;
        self.tell_of_message("MESSAGE_UPDATE", Place { channel: parent, message })?;
        let starter = self.new_id();
        let mut starter = Message::new(starter, Author::User(owner), "");
        starter.kind = Kind::ThreadStarter;
        starter.reference = Some(Reference { channel: parent, message: Some(message) });
        self.put(id, starter, Telling::Told)?;
        Ok(id)
    }

    /// A thread is begun beside the talk; the parent says so.
    pub fn start_thread(&mut self, new: NewThread) -> Result<ChannelId, Refusal> {
        let id: ChannelId = self.new_id();
        let NewThread { parent, owner, name, kind, .. } = new.clone();
        self.begin_thread(id, new)?;
        if kind == ChannelType::PublicThread {
            let note = self.new_id();
            let mut note = Message::new(note, Author::User(owner), &name);
            note.kind = Kind::ThreadCreated;
            note.reference = Some(Reference { channel: id, message: None });
            self.put(parent, note, Telling::Told)?;
        }
        Ok(id)
    }

    /// A post in a forum: a thread whose first message has its number.
    pub fn post_in_forum(
        &mut self,
        new: NewThread,
        compose: impl FnOnce(MessageId) -> Message,
    ) -> Result<ChannelId, Refusal> {
        let id: ChannelId = self.new_id();
        let parent = new.parent;
        self.begin_thread(id, new)?;
        self.channel_mut(parent)?.last_message = Some(id.cast());
        self.put(id, compose(id.cast()), Telling::Told)?;
        Ok(id)
    }

    fn begin_thread(&mut self, id: ChannelId, new: NewThread) -> Result<(), Refusal> {
        let now = self.now();
        let mut channel = Channel::new(id, new.kind, &new.name);
        channel.guild = self.channel(new.parent)?.guild;
        channel.parent = Some(new.parent);
        channel.thread = Some(Thread {
            owner: new.owner,
            created_at: now,
            members: BTreeMap::from([(new.owner, now)]),
            is_archived: false,
            is_locked: false,
            archived_at: now,
            minutes: new.minutes,
            tags: new.tags,
            said: 0,
        });
        let mut shape = self.channel_shape(&channel);
        self.channels.insert(id, channel);
        shape["newly_created"] = json!(true);
        self.tell_in(id, Topic::Rooms, "THREAD_CREATE", shape);
        Ok(())
    }

    /// Somebody joins, as who speaks in it does, and the app hears of it.
    pub fn join_thread(&mut self, id: ChannelId, user: UserId) -> Result<(), Refusal> {
        if self.channel(id)?.thread.is_none() {
            return Err(Reason::WrongChannelType.into());
        }
        self.join_thread_quietly(id, user)
    }

    /// Like [`Self::join_thread`], and nothing happens where there is no thread.
    pub fn join_thread_quietly(&mut self, id: ChannelId, user: UserId) -> Result<(), Refusal> {
        let now = self.now();
        let saw_it = self.sees(self.me, self.channel(id)?);
        let Some(thread) = &mut self.channel_mut(id)?.thread else {
            return Ok(());
        };
        if thread.members.contains_key(&user) {
            return Ok(());
        }
        thread.members.insert(user, now);
        if user == self.me && !saw_it {
            let shape = self.channel_shape(self.channel(id)?);
            self.tell_in(id, Topic::Rooms, "THREAD_CREATE", shape);
        }
        let added =
            self.channel(id)?.thread.as_ref().and_then(|thread| thread.member_shape(id, user));
        self.tell_of_thread_members(id, user, json!(added.as_slice()), json!([]))
    }

    pub fn leave_thread(&mut self, id: ChannelId, user: UserId) -> Result<(), Refusal> {
        let Some(thread) = &mut self.channel_mut(id)?.thread else {
            return Err(Reason::WrongChannelType.into());
        };
        thread.members.remove(&user).ok_or(Reason::UnknownMember)?;
        self.tell_of_thread_members(id, user, json!([]), json!([user]))
    }

    fn tell_of_thread_members(
        &mut self,
        id: ChannelId,
        user: UserId,
        mut added: Value,
        removed: Value,
    ) -> Result<(), Refusal> {
        let channel = self.channel(id)?;
        let count = channel.thread.as_ref().map_or(0, |thread| thread.members.len());
        let guild = channel.guild;
        for member in added.as_array_mut().into_iter().flatten() {
            let whole = guild.and_then(|guild| self.member_shape(guild, user).ok());
            member["member"] = whole.unwrap_or_default();
            member["presence"] = Value::Null;
        }
        let data = json!({
            "id": id,
            "guild_id": guild,
            "member_count": count.min(50),
            "added_members": added,
            "removed_member_ids": removed,
        });
        // Everybody hears of oneself.
        let needs = if user == self.me { Intents::GUILDS } else { Intents::GUILD_MEMBERS };
        self.tell("THREAD_MEMBERS_UPDATE", needs, data);
        Ok(())
    }

    pub fn change_thread(
        &mut self,
        id: ChannelId,
        change: impl FnOnce(&mut Channel),
    ) -> Result<(), Refusal> {
        let now = self.now();
        let channel = self.channel_mut(id)?;
        let was_archived = channel.is_archived();
        change(channel);
        let Some(thread) = &mut channel.thread else {
            return Err(Reason::WrongChannelType.into());
        };
        if thread.is_archived != was_archived {
            thread.archived_at = now;
        }
        let shape = self.channel_shape(self.channel(id)?);
        self.tell_in(id, Topic::Rooms, "THREAD_UPDATE", shape);
        Ok(())
    }

    pub fn set_archived(&mut self, id: ChannelId, is_archived: bool) -> Result<(), Refusal> {
        self.change_thread(id, |channel| {
            if let Some(thread) = &mut channel.thread {
                thread.is_archived = is_archived;
            }
        })
    }

    /// A line in an archived thread opens it again.
    pub fn unarchive_for_a_line(&mut self, id: ChannelId) -> Result<(), Refusal> {
        if self.channel(id)?.is_archived() {
            self.set_archived(id, false)?;
        }
        Ok(())
    }

    /// The app has come to see a channel, and hears which threads it has.
    pub fn tell_of_threads(&mut self, parent: ChannelId) -> Result<(), Refusal> {
        let guild = self.channel(parent)?.guild;
        let threads = self.active_threads(|channel| channel.parent == Some(parent));
        let data = json!({
            "guild_id": guild,
            "channel_ids": [parent],
            "members": self.my_memberships(&threads),
            "threads": threads.iter().map(|one| self.channel_shape(one)).collect::<Vec<_>>(),
        });
        self.tell("THREAD_LIST_SYNC", Intents::GUILDS, data);
        Ok(())
    }

    /// In which of these threads the app is.
    pub fn my_memberships(&self, threads: &[&Channel]) -> Vec<Value> {
        let mine = |channel: &&Channel| {
            channel.thread.as_ref().and_then(|one| one.member_shape(channel.id, self.me))
        };
        threads.iter().filter_map(mine).collect()
    }

    /// The threads of a guild that are not archived and that the app can see, newest first.
    pub fn active_threads(&self, is_wanted: impl Fn(&Channel) -> bool) -> Vec<&Channel> {
        let threads = self.channels.values().rev();
        threads
            .filter(|channel| channel.thread.is_some() && !channel.is_archived())
            .filter(|channel| is_wanted(channel) && self.sees(self.me, channel))
            .collect()
    }
}
