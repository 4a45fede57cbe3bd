//! The test driver: acts as the users, who send, edit and react, start threads and use commands. The submodules set up
//! guilds, inject faults and inspect the app's actions.

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
use crate::discord::message::{FakeAuthor, FakeEmoji, FakeMessage, MessageKey, NewFakeMessage};
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

    /// Replies to a message as a user, which pings the message's author.
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

    pub fn send_message_with(&self, message: NewFakeMessage) -> Result<MessageId, ApiError> {
        self.with_world(|world| world.send_message(message))
    }

    /// Edits a message as its author.
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

    /// Adds a link preview to a message, whose text does not change.
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

    /// Adds a reaction as a user. `emoji` has the form used in Discord's URLs: `🎉`, or `name:id`.
    pub fn add_reaction(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: &str,
    ) -> Result<(), ApiError> {
        let key = MessageKey { channel, message };
        self.with_world(|world| world.add_reaction(key, user, &FakeEmoji::parse(emoji)))
    }

    pub fn remove_reaction(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: &str,
    ) -> Result<(), ApiError> {
        let key = MessageKey { channel, message };
        self.with_world(|world| world.remove_reaction(key, user, &FakeEmoji::parse(emoji)))
    }

    pub fn start_typing(&self, channel: ChannelId, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| world.start_typing(channel, user))
    }

    /// Starts a thread from a message as a user.
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

    /// Starts a thread of any kind as a user.
    pub fn start_thread(&self, new: NewThread) -> Result<ChannelId, ApiError> {
        self.with_world(|world| world.start_thread(new))
    }

    /// Posts in a forum as a user. The post's first message has the id of its thread.
    pub fn create_forum_post(
        &self,
        forum: ChannelId,
        user: UserId,
        title: &str,
        text: &str,
    ) -> Result<ChannelId, ApiError> {
        self.with_world(|world| {
            let mut first_message =
                FakeMessage::new(MessageId::new(1), FakeAuthor::User(user), text);
            world.set_mentions(forum, &mut first_message, &allow_all_mentions());
            world.create_forum_post(NewThread::new(forum, user, title), |id| FakeMessage {
                id,
                ..first_message
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

    /// Locks a thread, so that no messages can be sent to it.
    pub fn lock_thread(&self, thread: ChannelId) -> Result<(), ApiError> {
        self.with_world(|world| {
            world.update_thread(thread, |channel| {
                if let Some(thread) = &mut channel.thread {
                    thread.is_locked = true;
                }
            })
        })
    }

    /// Runs a slash command, which the app must have registered, as a user.
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

    /// Clicks the button with this label below a message, as a user.
    pub fn click(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        label: &str,
    ) -> Result<InteractionId, ApiError> {
        self.with_world(|world| world.click(MessageKey { channel, message }, user, label))
    }

    /// Returns the form that a user got for a click, if any.
    pub fn form(&self, clicked: InteractionId) -> Option<Value> {
        self.read(|state| state.world.commands.interactions.get(&clicked)?.form.clone())
    }

    /// Submits that form, with this text in its field.
    pub fn submit_form(
        &self,
        clicked: InteractionId,
        text: &str,
    ) -> Result<InteractionId, ApiError> {
        self.with_world(|world| world.submit_form(clicked, text))
    }

    /// Interacts with the app in any way, as a user.
    pub fn interact(&self, interaction: NewInteraction) -> Result<InteractionId, ApiError> {
        self.with_world(|world| world.interact(interaction))
    }

    /// Sends an arbitrary event to all sessions.
    pub fn emit_event(&self, name: &'static str, data: Value) {
        self.with_world(|world| {
            world.pending_events.push(FakeEvent { name, data, required_intents: Intents::empty() });
        });
    }

    fn with_world<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.change(|state| change(&mut state.world))
    }
}
