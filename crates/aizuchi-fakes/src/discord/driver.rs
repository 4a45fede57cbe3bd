//! The test driver: acts as the users, who send, edit and react, start threads and use commands. The submodules set up
//! guilds, inject faults and inspect the app's actions.

pub mod setup;
mod inspect;
mod faults;

use serde_json::Value;
use twilight_model::gateway::Intents;

use crate::discord::FakeDiscord;
use crate::discord::api_error::ApiResult;
use crate::discord::command::NewInteraction;
use crate::discord::id::{ChannelId, InteractionId, MessageId, UserId};
use crate::discord::mention::allow_all_mentions;
use crate::discord::message::{FakeAuthor, FakeEmoji, FakeMessage, NewFakeMessage};
use crate::discord::thread::NewThread;
use crate::discord::world::{FakeEvent, World};

impl FakeDiscord {
    delegate! { world:
        fn send_message_with(message: NewFakeMessage) -> ApiResult<MessageId>;
        /// Adds a link preview to a message, whose text does not change.
        fn unfurl(channel: ChannelId, message: MessageId) -> ApiResult;
        fn delete_message(channel: ChannelId, message: MessageId) -> ApiResult;
        fn bulk_delete_messages(channel: ChannelId, messages: &[MessageId]) -> ApiResult;
        fn start_typing(channel: ChannelId, user: UserId) -> ApiResult;
        /// Starts a thread of any kind as a user.
        fn start_thread(new: NewThread) -> ApiResult<ChannelId>;
        fn join_thread(thread: ChannelId, user: UserId) -> ApiResult;
        fn leave_thread(thread: ChannelId, user: UserId) -> ApiResult;
        /// Interacts with the app in any way, as a user.
        fn interact(interaction: NewInteraction) -> ApiResult<InteractionId>;
        /// Clicks the button with this label below a message, as a user.
        fn click(channel: ChannelId, message: MessageId, user: UserId, label: &str)
            -> ApiResult<InteractionId>;
        /// Submits the form that a user got for a click, with this text in its field.
        fn submit_form(clicked: InteractionId, text: &str) -> ApiResult<InteractionId>;
    }

    pub fn send_message(
        &self,
        channel: ChannelId,
        user: UserId,
        text: &str,
    ) -> ApiResult<MessageId> {
        self.send_message_with(NewFakeMessage::new(channel, user, text))
    }

    /// Replies to a message as a user, which pings the message's author.
    pub fn send_reply(
        &self,
        channel: ChannelId,
        user: UserId,
        to: MessageId,
        text: &str,
    ) -> ApiResult<MessageId> {
        let message = NewFakeMessage::new(channel, user, text);
        self.send_message_with(NewFakeMessage { reply_to: Some(to), ..message })
    }

    /// Edits a message as its author.
    pub fn edit_message(&self, channel: ChannelId, message: MessageId, text: &str) -> ApiResult {
        self.with_world(|world| world.edit_message(channel, message, text, &allow_all_mentions()))
    }

    /// Adds a reaction as a user. `emoji` has the form used in Discord's URLs: `🎉`, or `name:id`.
    pub fn add_reaction(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: &str,
    ) -> ApiResult {
        let emoji = FakeEmoji::parse(emoji);
        self.with_world(|world| world.add_reaction(channel, message, user, &emoji))
    }

    pub fn remove_reaction(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: &str,
    ) -> ApiResult {
        let emoji = FakeEmoji::parse(emoji);
        self.with_world(|world| world.remove_reaction(channel, message, user, &emoji))
    }

    /// Starts a thread from a message as a user.
    pub fn start_thread_from_message(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        name: &str,
    ) -> ApiResult<ChannelId> {
        let new = NewThread::new(channel, user, name);
        self.with_world(|world| world.start_thread_from_message(message, new))
    }

    /// Posts in a forum as a user. The post's first message has the id of its thread.
    pub fn create_forum_post(
        &self,
        forum: ChannelId,
        user: UserId,
        title: &str,
        text: &str,
    ) -> ApiResult<ChannelId> {
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

    pub fn archive_thread(&self, thread: ChannelId) -> ApiResult {
        self.with_world(|world| world.set_archived(thread, true))
    }

    /// Locks a thread, so that no messages can be sent to it.
    pub fn lock_thread(&self, thread: ChannelId) -> ApiResult {
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
    ) -> ApiResult<InteractionId> {
        self.interact(NewInteraction {
            channel,
            user,
            kind: 2,
            name: name.to_owned(),
            options,
            at: None,
        })
    }

    /// Returns the form that a user got for a click, if any.
    pub fn form(&self, clicked: InteractionId) -> Option<Value> {
        self.read(|state| state.world.commands.interactions.get(&clicked)?.form.clone())
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
