//! What people do on Discord: they speak, edit, react, begin threads and use commands. A test's hands;
//! below are what is arranged for it, what goes wrong, and its eyes.

pub mod arrange;
mod seen;
mod trouble;

use serde_json::Value;
use twilight_model::gateway::Intents;

use crate::discord::FakeDiscord;
use crate::discord::command::Use;
use crate::discord::id::{ChannelId, InteractionId, MessageId, UserId};
use crate::discord::mention::everything;
use crate::discord::message::{Author, Emoji, Message, Saying};
use crate::discord::refusal::Refusal;
use crate::discord::talk::Place;
use crate::discord::thread::NewThread;
use crate::discord::world::{Event, World};

impl FakeDiscord {
    pub fn say(&self, channel: ChannelId, user: UserId, text: &str) -> Result<MessageId, Refusal> {
        self.say_with(Saying::new(channel, user, text))
    }

    /// Somebody answers a line with Discord's reply, which pings its author.
    pub fn reply(
        &self,
        channel: ChannelId,
        user: UserId,
        to: MessageId,
        text: &str,
    ) -> Result<MessageId, Refusal> {
        self.say_with(Saying { reply_to: Some(to), ..Saying::new(channel, user, text) })
    }

    pub fn say_with(&self, saying: Saying) -> Result<MessageId, Refusal> {
        self.in_world(|world| world.say(saying))
    }

    /// The author changes what a line says.
    pub fn edit(&self, channel: ChannelId, message: MessageId, text: &str) -> Result<(), Refusal> {
        self.in_world(|world| world.edit(Place { channel, message }, text, &everything()))
    }

    /// A preview appears under a line, whose text stays the same.
    pub fn embed(&self, channel: ChannelId, message: MessageId) -> Result<(), Refusal> {
        self.in_world(|world| world.embed(Place { channel, message }, "https://example.com/"))
    }

    pub fn delete(&self, channel: ChannelId, message: MessageId) -> Result<(), Refusal> {
        self.in_world(|world| world.delete(Place { channel, message }))
    }

    pub fn delete_bulk(&self, channel: ChannelId, messages: &[MessageId]) -> Result<(), Refusal> {
        self.in_world(|world| world.delete_bulk(channel, messages))
    }

    /// `emoji` as in Discord's addresses: `🎉`, or `name:id`.
    pub fn react(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: &str,
    ) -> Result<(), Refusal> {
        let place = Place { channel, message };
        self.in_world(|world| world.react(place, user, &Emoji::read(emoji)))
    }

    pub fn unreact(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: &str,
    ) -> Result<(), Refusal> {
        let place = Place { channel, message };
        self.in_world(|world| world.unreact(place, user, &Emoji::read(emoji)))
    }

    pub fn type_in(&self, channel: ChannelId, user: UserId) -> Result<(), Refusal> {
        self.in_world(|world| world.type_in(channel, user))
    }

    /// Somebody makes a thread of a line.
    pub fn start_thread_from(
        &self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        name: &str,
    ) -> Result<ChannelId, Refusal> {
        self.in_world(|world| world.start_thread_from(message, NewThread::new(channel, user, name)))
    }

    /// Somebody begins a thread, of any kind.
    pub fn start_thread(&self, new: NewThread) -> Result<ChannelId, Refusal> {
        self.in_world(|world| world.start_thread(new))
    }

    /// Somebody posts in a forum. The post's first message has the number of its thread.
    pub fn post_in_forum(
        &self,
        forum: ChannelId,
        user: UserId,
        title: &str,
        text: &str,
    ) -> Result<ChannelId, Refusal> {
        self.in_world(|world| {
            let mut top = Message::new(MessageId::new(1), Author::User(user), text);
            world.name_mentions(forum, &mut top, &everything());
            world.post_in_forum(NewThread::new(forum, user, title), |id| Message { id, ..top })
        })
    }

    pub fn join_thread(&self, thread: ChannelId, user: UserId) -> Result<(), Refusal> {
        self.in_world(|world| world.join_thread(thread, user))
    }

    pub fn leave_thread(&self, thread: ChannelId, user: UserId) -> Result<(), Refusal> {
        self.in_world(|world| world.leave_thread(thread, user))
    }

    pub fn archive(&self, thread: ChannelId) -> Result<(), Refusal> {
        self.in_world(|world| world.set_archived(thread, true))
    }

    pub fn unarchive(&self, thread: ChannelId) -> Result<(), Refusal> {
        self.in_world(|world| world.set_archived(thread, false))
    }

    /// Nobody can speak in a thread any more.
    pub fn lock(&self, thread: ChannelId) -> Result<(), Refusal> {
        self.in_world(|world| {
            world.change_thread(thread, |channel| {
                if let Some(thread) = &mut channel.thread {
                    thread.is_locked = true;
                }
            })
        })
    }

    /// Somebody uses a slash command, which the app must have registered.
    pub fn command(
        &self,
        channel: ChannelId,
        user: UserId,
        name: &str,
        options: Value,
    ) -> Result<InteractionId, Refusal> {
        self.use_app(Use { channel, user, kind: 2, name: name.to_owned(), options, at: None })
    }

    /// Somebody uses the app in any way.
    pub fn use_app(&self, using: Use) -> Result<InteractionId, Refusal> {
        self.in_world(|world| world.use_app(using))
    }

    /// An event of any shape, to all sessions.
    pub fn tell(&self, name: &'static str, data: Value) {
        self.in_world(|world| {
            world.outbox.push(Event { name, data, needs: Intents::empty() });
        });
    }

    fn in_world<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        self.change(|state| work(&mut state.world))
    }
}
