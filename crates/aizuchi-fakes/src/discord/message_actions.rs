//! What is done to messages, by people and by apps alike, and the events that follow.

use serde_json::json;
use twilight_model::channel::message::AllowedMentions;
use twilight_model::guild::Permissions;

use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::id::{ChannelId, MessageId, UserId};
use crate::discord::mention::{ParsedMentions, allow_all_mentions, parse_mentions};
use crate::discord::message::{
    EventDelivery, FakeAuthor, FakeEmoji, FakeMessage, FakeReaction, MessageKind, MessageReference,
    NewFakeMessage, ReplyPing,
};
use crate::discord::serialize::Transport;
use crate::discord::world::{EventTopic, World};

/// A line was said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageKey {
    pub channel: ChannelId,
    pub message: MessageId,
}

impl World {
    /// Somebody says a line.
    pub fn send_message(&mut self, saying: NewFakeMessage) -> Result<MessageId, ApiError> {
        let author = self.resolve_author(&saying)?;
        let id = self.id_at(saying.at);
        let mut message = FakeMessage::new(id, author, &saying.text);
        message.attachments = saying.attachments;
        message.embeds = saying.embeds;
        message.stickers = saying.stickers;
        if let Some(target) = saying.reply_to {
            self.message(saying.channel, target)?;
            message.kind = MessageKind::Reply;
            message.reference =
                Some(MessageReference { channel: saying.channel, message: Some(target) });
        }
        let replied_user = saying.ping == ReplyPing::Author;
        let allowed = AllowedMentions { replied_user, ..allow_all_mentions() };
        self.set_mentions(saying.channel, &mut message, &allowed);
        self.insert_message(saying.channel, message, saying.delivery)?;
        Ok(id)
    }

    fn resolve_author(&mut self, saying: &NewFakeMessage) -> Result<FakeAuthor, ApiError> {
        if let Some(name) = &saying.webhook {
            return Ok(FakeAuthor::Webhook { id: self.new_id(), name: name.clone() });
        }
        let channel = self.channel(saying.channel)?;
        if !channel.is_text() {
            return Err(ErrorCode::NotATextChannel.into());
        }
        let needed = match channel.thread {
            Some(_) => Permissions::SEND_MESSAGES_IN_THREADS,
            None => Permissions::SEND_MESSAGES,
        };
        let can_speak = !channel.thread.as_ref().is_some_and(|thread| thread.is_locked);
        if !can_speak {
            return Err(ErrorCode::ThreadLocked.into());
        }
        self.require_permissions(saying.user, saying.channel, needed)?;
        Ok(FakeAuthor::User(saying.user))
    }

    /// Notes whom a message pings, as far as its author lets it and may.
    pub fn set_mentions(
        &self,
        channel: ChannelId,
        message: &mut FakeMessage,
        allowed: &AllowedMentions,
    ) {
        let ParsedMentions { mut users, roles, everyone } =
            parse_mentions(&message.content).filter_allowed(allowed);
        let replied = message.reference.filter(|_| message.kind == MessageKind::Reply);
        let replied = replied
            .and_then(|to| self.message(to.channel, to.message?).ok()?.author.user())
            .filter(|user| allowed.replied_user && !users.contains(user));
        users.extend(replied);
        let author = message.author.user();
        let may_ping_all =
            self.channels.get(&channel).zip(author).is_some_and(|(channel, user)| {
                self.has_permissions(user, channel, Permissions::MENTION_EVERYONE)
            });
        message.mentions = users;
        message.mention_roles = roles;
        message.mention_everyone = everyone && may_ping_all;
    }

    /// Keeps a message where it belongs and, unless it is to be lost, tells of it.
    pub fn insert_message(
        &mut self,
        channel: ChannelId,
        message: FakeMessage,
        telling: EventDelivery,
    ) -> Result<(), ApiError> {
        let id = message.id;
        let author = message.author.user();
        let mut newcomers: Vec<UserId> = author.into_iter().collect();
        newcomers.extend(&message.mentions);
        let is_top = message.kind == MessageKind::ThreadStarter || id.cast() == channel;
        let place = self.channel_mut(channel)?;
        place.last_message = place.last_message.max(Some(id));
        place.messages.insert(id, message);
        if let Some(thread) = &mut place.thread
            && !is_top
        {
            thread.message_count += 1;
        }
        self.unarchive_for_message(channel)?;
        for user in newcomers {
            self.join_if_thread(channel, user)?;
        }
        if telling == EventDelivery::Delivered {
            self.emit_message("MESSAGE_CREATE", MessageKey { channel, message: id })?;
        }
        Ok(())
    }

    pub fn emit_message(&mut self, name: &'static str, place: MessageKey) -> Result<(), ApiError> {
        let channel = self.channel(place.channel)?;
        let message = self.message(place.channel, place.message)?;
        let mut shape = self.message_json(channel, message, Transport::Gateway);
        if let (Some(nonce), "MESSAGE_CREATE") = (&message.nonce, name) {
            shape["nonce"] = nonce.clone();
        }
        self.emit_in_channel(place.channel, EventTopic::Messages, name, shape);
        Ok(())
    }

    /// The author changes what a line says.
    pub fn edit_message(
        &mut self,
        place: MessageKey,
        text: &str,
        allowed: &AllowedMentions,
    ) -> Result<(), ApiError> {
        let now = self.now();
        let mut message = self.message(place.channel, place.message)?.clone();
        text.clone_into(&mut message.content);
        message.edited = Some(now);
        self.set_mentions(place.channel, &mut message, allowed);
        *self.message_mut(place.channel, place.message)? = message;
        self.emit_message("MESSAGE_UPDATE", place)
    }

    /// A preview appears under a line, whose text stays the same.
    pub fn unfurl(&mut self, place: MessageKey, url: &str) -> Result<(), ApiError> {
        let message = self.message_mut(place.channel, place.message)?;
        message.embeds.push(json!({ "type": "link", "url": url, "title": "A page" }));
        self.emit_message("MESSAGE_UPDATE", place)
    }

    pub fn delete_message(&mut self, place: MessageKey) -> Result<(), ApiError> {
        self.remove_message(place)?;
        let data = json!({ "id": place.message, "channel_id": place.channel });
        self.emit_in_channel(place.channel, EventTopic::Messages, "MESSAGE_DELETE", data);
        Ok(())
    }

    pub fn bulk_delete_messages(
        &mut self,
        channel: ChannelId,
        messages: &[MessageId],
    ) -> Result<(), ApiError> {
        let mut gone = Vec::new();
        for message in messages {
            // Those that are gone already are passed over.
            if self.remove_message(MessageKey { channel, message: *message }).is_ok() {
                gone.push(*message);
            }
        }
        let data = json!({ "ids": gone, "channel_id": channel });
        self.emit_in_channel(channel, EventTopic::Messages, "MESSAGE_DELETE_BULK", data);
        Ok(())
    }

    fn remove_message(&mut self, place: MessageKey) -> Result<(), ApiError> {
        let messages = &mut self.channel_mut(place.channel)?.messages;
        messages.remove(&place.message).map(|_| ()).ok_or(ErrorCode::UnknownMessage.into())
    }

    pub fn add_reaction(
        &mut self,
        place: MessageKey,
        user: UserId,
        emoji: &FakeEmoji,
    ) -> Result<(), ApiError> {
        let reactions = &mut self.message_mut(place.channel, place.message)?.reactions;
        match reactions.iter_mut().find(|reaction| reaction.emoji == *emoji) {
            // Twice is once.
            Some(reaction) if reaction.users.contains(&user) => return Ok(()),
            Some(reaction) => reaction.users.push(user),
            None => reactions.push(FakeReaction { emoji: emoji.clone(), users: vec![user] }),
        }
        self.emit_reaction("MESSAGE_REACTION_ADD", place, user, emoji)
    }

    pub fn remove_reaction(
        &mut self,
        place: MessageKey,
        user: UserId,
        emoji: &FakeEmoji,
    ) -> Result<(), ApiError> {
        let reactions = &mut self.message_mut(place.channel, place.message)?.reactions;
        let reaction = reactions.iter_mut().find(|reaction| reaction.emoji == *emoji);
        let reaction = reaction.ok_or(ErrorCode::UnknownEmoji)?;
        reaction.users.retain(|one| *one != user);
        reactions.retain(|reaction| !reaction.users.is_empty());
        self.emit_reaction("MESSAGE_REACTION_REMOVE", place, user, emoji)
    }

    fn emit_reaction(
        &mut self,
        name: &'static str,
        place: MessageKey,
        user: UserId,
        emoji: &FakeEmoji,
    ) -> Result<(), ApiError> {
        let author = self.message(place.channel, place.message)?.author.user();
        let guild = self.channel(place.channel)?.guild;
        let mut data = json!({
            "channel_id": place.channel,
            "message_id": place.message,
            "user_id": user,
            "emoji": emoji.to_json(),
            "burst": false,
            "type": 0,
        });
        if name == "MESSAGE_REACTION_ADD" {
            data["message_author_id"] = json!(author);
            if let Some(member) = guild.and_then(|guild| self.member_json(guild, user).ok()) {
                data["member"] = member;
            }
        }
        self.emit_in_channel(place.channel, EventTopic::Reactions, name, data);
        Ok(())
    }

    pub fn clear_reactions(&mut self, place: MessageKey) -> Result<(), ApiError> {
        self.message_mut(place.channel, place.message)?.reactions.clear();
        let data = json!({ "channel_id": place.channel, "message_id": place.message });
        self.emit_in_channel(
            place.channel,
            EventTopic::Reactions,
            "MESSAGE_REACTION_REMOVE_ALL",
            data,
        );
        Ok(())
    }

    pub fn start_typing(&mut self, channel: ChannelId, user: UserId) -> Result<(), ApiError> {
        let guild = self.channel(channel)?.guild;
        let mut data = json!({
            "channel_id": channel,
            "user_id": user,
            "timestamp": self.now().as_second(),
        });
        if let Some(member) = guild.and_then(|guild| self.member_json(guild, user).ok()) {
            data["member"] = member;
        }
        self.emit_in_channel(channel, EventTopic::Typing, "TYPING_START", data);
        Ok(())
    }
}
