//! What is done to messages, by people and by apps alike, and the events that follow.

use serde_json::json;
use twilight_model::channel::message::AllowedMentions;
use twilight_model::guild::Permissions;

use crate::discord::id::{ChannelId, MessageId, UserId};
use crate::discord::mention::{Named, everything, named};
use crate::discord::message::{
    Author, Emoji, Kind, Message, Ping, Reaction, Reference, Saying, Telling,
};
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::shape::Way;
use crate::discord::world::{Topic, World};

/// A line was said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub channel: ChannelId,
    pub message: MessageId,
}

impl World {
    /// Somebody says a line.
    pub fn say(&mut self, saying: Saying) -> Result<MessageId, Refusal> {
        let author = self.author_of(&saying)?;
        let id = self.id_of(saying.at);
        let mut message = Message::new(id, author, &saying.text);
        message.attachments = saying.attachments;
        message.embeds = saying.embeds;
        message.stickers = saying.stickers;
        if let Some(target) = saying.reply_to {
            self.message(saying.channel, target)?;
            message.kind = Kind::Reply;
            message.reference = Some(Reference { channel: saying.channel, message: Some(target) });
        }
        let replied_user = saying.ping == Ping::Author;
        let allowed = AllowedMentions { replied_user, ..everything() };
        self.name_mentions(saying.channel, &mut message, &allowed);
        self.put(saying.channel, message, saying.telling)?;
        Ok(id)
    }

    fn author_of(&mut self, saying: &Saying) -> Result<Author, Refusal> {
        if let Some(name) = &saying.webhook {
            return Ok(Author::Webhook { id: self.new_id(), name: name.clone() });
        }
        let channel = self.channel(saying.channel)?;
        if !channel.is_text() {
            return Err(Reason::NotATextChannel.into());
        }
        let needed = match channel.thread {
            Some(_) => Permissions::SEND_MESSAGES_IN_THREADS,
            None => Permissions::SEND_MESSAGES,
        };
        let can_speak = !channel.thread.as_ref().is_some_and(|thread| thread.is_locked);
        if !can_speak {
            return Err(Reason::ThreadLocked.into());
        }
        self.require(saying.user, saying.channel, needed)?;
        Ok(Author::User(saying.user))
    }

    /// Notes whom a message pings, as far as its author lets it and may.
    pub fn name_mentions(
        &self,
        channel: ChannelId,
        message: &mut Message,
        allowed: &AllowedMentions,
    ) {
        let Named { mut users, roles, everyone } = named(&message.content).allowed(allowed);
        let replied = message.reference.filter(|_| message.kind == Kind::Reply);
        let replied = replied
            .and_then(|to| self.message(to.channel, to.message?).ok()?.author.user())
            .filter(|user| allowed.replied_user && !users.contains(user));
        users.extend(replied);
        let author = message.author.user();
        let may_ping_all =
            self.channels.get(&channel).zip(author).is_some_and(|(channel, user)| {
                self.may(user, channel, Permissions::MENTION_EVERYONE)
            });
        message.mentions = users;
        message.mention_roles = roles;
        message.mention_everyone = everyone && may_ping_all;
    }

    /// Keeps a message where it belongs and, unless it is to be lost, tells of it.
    pub fn put(
        &mut self,
        channel: ChannelId,
        message: Message,
        telling: Telling,
    ) -> Result<(), Refusal> {
        let id = message.id;
        let author = message.author.user();
        let mut newcomers: Vec<UserId> = author.into_iter().collect();
        newcomers.extend(&message.mentions);
        let is_top = message.kind == Kind::ThreadStarter || id.cast() == channel;
        let place = self.channel_mut(channel)?;
        place.last_message = place.last_message.max(Some(id));
        place.messages.insert(id, message);
        if let Some(thread) = &mut place.thread
            && !is_top
        {
            thread.said += 1;
        }
        self.unarchive_for_a_line(channel)?;
        for user in newcomers {
            self.join_thread_quietly(channel, user)?;
        }
        if telling == Telling::Told {
            self.tell_of_message("MESSAGE_CREATE", Place { channel, message: id })?;
        }
        Ok(())
    }

    pub fn tell_of_message(&mut self, name: &'static str, place: Place) -> Result<(), Refusal> {
        let channel = self.channel(place.channel)?;
        let message = self.message(place.channel, place.message)?;
        let mut shape = self.message_shape(channel, message, Way::Gateway);
        if let (Some(nonce), "MESSAGE_CREATE") = (&message.nonce, name) {
            shape["nonce"] = nonce.clone();
        }
        self.tell_in(place.channel, Topic::Messages, name, shape);
        Ok(())
    }

    /// The author changes what a line says.
    pub fn edit(
        &mut self,
        place: Place,
        text: &str,
        allowed: &AllowedMentions,
    ) -> Result<(), Refusal> {
        let now = self.now();
        let mut message = self.message(place.channel, place.message)?.clone();
        text.clone_into(&mut message.content);
        message.edited = Some(now);
        self.name_mentions(place.channel, &mut message, allowed);
        *self.message_mut(place.channel, place.message)? = message;
        self.tell_of_message("MESSAGE_UPDATE", place)
    }

    /// A preview appears under a line, whose text stays the same.
    pub fn embed(&mut self, place: Place, url: &str) -> Result<(), Refusal> {
        let message = self.message_mut(place.channel, place.message)?;
        message.embeds.push(json!({ "type": "link", "url": url, "title": "A page" }));
        self.tell_of_message("MESSAGE_UPDATE", place)
    }

    pub fn delete(&mut self, place: Place) -> Result<(), Refusal> {
        self.take_away(place)?;
        let data = json!({ "id": place.message, "channel_id": place.channel });
        self.tell_in(place.channel, Topic::Messages, "MESSAGE_DELETE", data);
        Ok(())
    }

    pub fn delete_bulk(
        &mut self,
        channel: ChannelId,
        messages: &[MessageId],
    ) -> Result<(), Refusal> {
        let mut gone = Vec::new();
        for message in messages {
            // Those that are gone already are passed over.
            if self.take_away(Place { channel, message: *message }).is_ok() {
                gone.push(*message);
            }
        }
        let data = json!({ "ids": gone, "channel_id": channel });
        self.tell_in(channel, Topic::Messages, "MESSAGE_DELETE_BULK", data);
        Ok(())
    }

    fn take_away(&mut self, place: Place) -> Result<(), Refusal> {
        let messages = &mut self.channel_mut(place.channel)?.messages;
        messages.remove(&place.message).map(|_| ()).ok_or(Reason::UnknownMessage.into())
    }

    pub fn react(&mut self, place: Place, user: UserId, emoji: &Emoji) -> Result<(), Refusal> {
        let reactions = &mut self.message_mut(place.channel, place.message)?.reactions;
        match reactions.iter_mut().find(|reaction| reaction.emoji == *emoji) {
            // Twice is once.
            Some(reaction) if reaction.users.contains(&user) => return Ok(()),
            Some(reaction) => reaction.users.push(user),
            None => reactions.push(Reaction { emoji: emoji.clone(), users: vec![user] }),
        }
        self.tell_of_reaction("MESSAGE_REACTION_ADD", place, user, emoji)
    }

    pub fn unreact(&mut self, place: Place, user: UserId, emoji: &Emoji) -> Result<(), Refusal> {
        let reactions = &mut self.message_mut(place.channel, place.message)?.reactions;
        let reaction = reactions.iter_mut().find(|reaction| reaction.emoji == *emoji);
        let reaction = reaction.ok_or(Reason::UnknownEmoji)?;
        reaction.users.retain(|one| *one != user);
        reactions.retain(|reaction| !reaction.users.is_empty());
        self.tell_of_reaction("MESSAGE_REACTION_REMOVE", place, user, emoji)
    }

    fn tell_of_reaction(
        &mut self,
        name: &'static str,
        place: Place,
        user: UserId,
        emoji: &Emoji,
    ) -> Result<(), Refusal> {
        let author = self.message(place.channel, place.message)?.author.user();
        let guild = self.channel(place.channel)?.guild;
        let mut data = json!({
            "channel_id": place.channel,
            "message_id": place.message,
            "user_id": user,
            "emoji": emoji.shape(),
            "burst": false,
            "type": 0,
        });
        if name == "MESSAGE_REACTION_ADD" {
            data["message_author_id"] = json!(author);
            if let Some(member) = guild.and_then(|guild| self.member_shape(guild, user).ok()) {
                data["member"] = member;
            }
        }
        self.tell_in(place.channel, Topic::Reactions, name, data);
        Ok(())
    }

    pub fn clear_reactions(&mut self, place: Place) -> Result<(), Refusal> {
        self.message_mut(place.channel, place.message)?.reactions.clear();
        let data = json!({ "channel_id": place.channel, "message_id": place.message });
        self.tell_in(place.channel, Topic::Reactions, "MESSAGE_REACTION_REMOVE_ALL", data);
        Ok(())
    }

    pub fn type_in(&mut self, channel: ChannelId, user: UserId) -> Result<(), Refusal> {
        let guild = self.channel(channel)?.guild;
        let mut data = json!({
            "channel_id": channel,
            "user_id": user,
            "timestamp": self.now().as_second(),
        });
        if let Some(member) = guild.and_then(|guild| self.member_shape(guild, user).ok()) {
            data["member"] = member;
        }
        self.tell_in(channel, Topic::Typing, "TYPING_START", data);
        Ok(())
    }
}
