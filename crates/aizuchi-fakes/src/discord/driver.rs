//! What people do on Discord: they speak, edit, react, begin threads and use commands. A test's hands;
//! below are what is arranged for it, what goes wrong, and its eyes.

pub mod setup;
mod inspect;
mod faults;

use serde_json::Value;
use twilight_model::gateway::Intents;

use crate::discord::FakeDiscord;
use crate::discord::api_error::ApiError;
use crate::discord::command::NewInteraction;
use crate::discord::id::{ChannelId, InteractionId, MessageId, UserId};
use crate::discord::mention::allow_all_mentions;
use crate::discord::message::{FakeAuthor, FakeEmoji, FakeMessage, NewFakeMessage};
use crate::discord::message_actions::MessageKey;
use crate::discord::thread::NewThread;
use crate::discord::world::{FakeEvent, World};

impl FakeDiscord {
    pub fn send_message(
        &self,
        channel: ChannelId,
        user: UserId,
        text: &str,
    ) -> Result<MessageId, ApiError> {
        self.send_message_with(NewFakeMessage::new(channel, user, text))
    }

    /// Somebody answers a line with Discord's reply, which pings its author.
    pub fn send_reply(
        &self,
        channel: ChannelId,
        user: UserId,
        to: MessageId,
        text: &str,
    ) -> Result<MessageId, ApiError> {
        self.send_message_with(NewFakeMessage {
            reply_to: Some(to),
            ..NewFakeMessage::new(channel, user, text)
        })
    }

    pub fn send_message_with(&self, saying: NewFakeMessage) -> Result<MessageId, ApiError> {
        self.with_world(|world| world.send_message(saying))
    }

    /// The author changes what a line says.
    pub fn edit_message(
        &self,
        channel: ChannelId,
        message: MessageId,
        text: &str,
    ) -> Result<(), ApiError> {
        self.with_world(|world| {
            world.edit_message(MessageKey { channel, message }, text, &allow_all_mentions())
        })
    }

    /// A preview appears under a line, whose text stays the same.
    pub fn unfurl(&self, channel: ChannelId, message: MessageId) -> Result<(), ApiError> {
        self.with_world(|world| {
            world.unfurl(MessageKey { channel, message }, "https://example.com/")
        })
    }

    pub fn delete_message(&self, channel: ChannelId, message: MessageId) -> Result<(), ApiError> {
        self.with_world(|world| world.delete_message(MessageKey { channel, message }))
    }

    pub fn bulk_delete_messages(
        &self,
        channel: ChannelId,
        messages: &[MessageId],
    ) -> Result<(), ApiError> {
        self.with_world(|world| world.bulk_delete_messages(channel, messages))
    }

    /// `emoji` as in Discord's addresses: `🎉`, or `name:id`.
    pub fn add_reaction(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: &str,
    ) -> Result<(), ApiError> {
        let place = MessageKey { channel, message };
        self.with_world(|world| world.add_reaction(place, user, &FakeEmoji::parse(emoji)))
    }

    pub fn remove_reaction(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: &str,
    ) -> Result<(), ApiError> {
        let place = MessageKey { channel, message };
        self.with_world(|world| world.remove_reaction(place, user, &FakeEmoji::parse(emoji)))
    }

    pub fn start_typing(&self, channel: ChannelId, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| world.start_typing(channel, user))
    }

    /// Somebody makes a thread of a line.
    pub fn start_thread_from_message(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        name: &str,
    ) -> Result<ChannelId, ApiError> {
        self.with_world(|world| {
            world.start_thread_from_message(message, NewThread::new(channel, user, name))
        })
    }

    /// Somebody begins a thread, of any kind.
    pub fn start_thread(&self, new: NewThread) -> Result<ChannelId, ApiError> {
        self.with_world(|world| world.start_thread(new))
    }

    /// Somebody posts in a forum. The post's first message has the number of its thread.
    pub fn create_forum_post(
        &self,
        forum: ChannelId,
        user: UserId,
        title: &str,
        text: &str,
    ) -> Result<ChannelId, ApiError> {
        self.with_world(|world| {
            let mut top = FakeMessage::new(MessageId::new(1), FakeAuthor::User(user), text);
            world.set_mentions(forum, &mut top, &allow_all_mentions());
            world.create_forum_post(NewThread::new(forum, user, title), |id| FakeMessage {
                id,
                ..top
            })
        })
    }

    pub fn join_thread(&self, thread: ChannelId, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| world.join_thread(thread, user))
    }

    pub fn leave_thread(&self, thread: ChannelId, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| world.leave_thread(thread, user))
    }

    pub fn archive_thread(&self, thread: ChannelId) -> Result<(), ApiError> {
        self.with_world(|world| world.set_archived(thread, true))
    }

    pub fn unarchive_thread(&self, thread: ChannelId) -> Result<(), ApiError> {
        self.with_world(|world| world.set_archived(thread, false))
    }

    /// Nobody can speak in a thread any more.
    pub fn lock_thread(&self, thread: ChannelId) -> Result<(), ApiError> {
        self.with_world(|world| {
            world.update_thread(thread, |channel| {
                if let Some(thread) = &mut channel.thread {
                    thread.is_locked = true;
                }
            })
        })
    }

    /// Somebody uses a slash command, which the app must have registered.
    pub fn run_command(
        &self,
        channel: ChannelId,
        user: UserId,
        name: &str,
        options: Value,
    ) -> Result<InteractionId, ApiError> {
        self.interact(NewInteraction {
            channel,
            user,
            kind: 2,
            name: name.to_owned(),
            options,
            at: None,
        })
    }

    /// Somebody uses the app in any way.
    pub fn interact(&self, using: NewInteraction) -> Result<InteractionId, ApiError> {
        self.with_world(|world| world.interact(using))
    }

    /// An event of any shape, to all sessions.
    pub fn emit_event(&self, name: &'static str, data: Value) {
        self.with_world(|world| {
            world.pending_events.push(FakeEvent { name, data, required_intents: Intents::empty() });
        });
    }

    fn with_world<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        self.change(|state| work(&mut state.world))
    }
}
