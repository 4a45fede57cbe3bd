//! Actions of users and apps on messages, and the resulting events.

use serde_json::json;
use twilight_model::channel::message::AllowedMentions;
use twilight_model::guild::Permissions;

use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::channel::FakeChannel;
use crate::discord::id::{ChannelId, MessageId, UserId};
use crate::discord::mention::{ParsedMentions, allow_all_mentions, parse_mentions};
use crate::discord::message::{
    EventDelivery, FakeAuthor, FakeEmoji, FakeMessage, FakeReaction, MessageKind, MessageReference,
    NewFakeMessage, ReplyPing,
};
use crate::discord::serialize::Transport;
use crate::discord::world::{EventTopic, World};

impl World {
    pub fn send_message_with(&mut self, new: NewFakeMessage) -> ApiResult<MessageId> {
        let author = self.resolve_author(&new)?;
        let id = self.id_at(new.at);
        let mut message = FakeMessage::new(id, author, &new.text);
        message.attachments = new.attachments;
        message.embeds = new.embeds;
        message.stickers = new.stickers;
        if let Some(replied_to) = new.reply_to {
            self.message(new.channel, replied_to)?;
            message.kind = MessageKind::Reply;
            message.reference =
                Some(MessageReference { channel: new.channel, message: Some(replied_to) });
        }
        let replied_user = new.ping == ReplyPing::Author;
        let allowed = AllowedMentions { replied_user, ..allow_all_mentions() };
        self.set_mentions(new.channel, &mut message, &allowed);
        self.insert_message(new.channel, message, new.delivery)?;
        Ok(id)
    }

    fn resolve_author(&mut self, new: &NewFakeMessage) -> ApiResult<FakeAuthor> {
        if let Some(name) = &new.webhook {
            return Ok(FakeAuthor::Webhook { id: self.new_id(), name: name.clone() });
        }
        self.require_can_send(new.user, new.channel)?;
        Ok(FakeAuthor::User(new.user))
    }

    /// Fails with Discord's error if a user may not send messages to a channel.
    pub fn require_can_send(&self, user: UserId, id: ChannelId) -> ApiResult<&FakeChannel> {
        let channel = self.require_permissions(user, id, Permissions::VIEW_CHANNEL)?;
        if !channel.is_text() {
            return Err(ErrorCode::NotATextChannel.into());
        }
        let required = match &channel.thread {
            Some(thread) if thread.is_locked => return Err(ErrorCode::ThreadLocked.into()),
            Some(_) => Permissions::SEND_MESSAGES_IN_THREADS,
            None => Permissions::SEND_MESSAGES,
        };
        self.require_permissions(user, id, required)
    }

    /// Sets which mentions of a message ping, according to its author's `allowed_mentions` and permissions.
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

    /// Stores a message in its channel and, unless its event should be lost, emits the event.
    pub fn insert_message(
        &mut self,
        channel: ChannelId,
        message: FakeMessage,
        delivery: EventDelivery,
    ) -> ApiResult {
        let id = message.id;
        let author = message.author.user();
        let mut participants: Vec<UserId> = author.into_iter().collect();
        participants.extend(&message.mentions);
        let is_thread_start = message.kind == MessageKind::ThreadStarter || id.cast() == channel;
        let target = self.channel_mut(channel)?;
        target.last_message = target.last_message.max(Some(id));
        target.messages.insert(id, message);
        if let Some(thread) = &mut target.thread
            && !is_thread_start
        {
            thread.message_count += 1;
        }
        self.unarchive_for_message(channel)?;
        for user in participants {
            self.join_if_thread(channel, user)?;
        }
        if delivery == EventDelivery::Delivered {
            self.emit_message("MESSAGE_CREATE", channel, id)?;
        }
        Ok(())
    }

    pub fn emit_message(
        &mut self,
        name: &'static str,
        channel: ChannelId,
        id: MessageId,
    ) -> ApiResult {
        let message = self.message(channel, id)?;
        let mut object = self.message_json(self.channel(channel)?, message, Transport::Gateway);
        if let (Some(nonce), "MESSAGE_CREATE") = (&message.nonce, name) {
            object["nonce"] = nonce.clone();
        }
        self.emit_in_channel(channel, EventTopic::Messages, name, object);
        Ok(())
    }

    pub fn edit_message(
        &mut self,
        channel: ChannelId,
        id: MessageId,
        text: &str,
        allowed: &AllowedMentions,
    ) -> ApiResult {
        let now = self.now();
        let mut message = self.message(channel, id)?.clone();
        text.clone_into(&mut message.content);
        message.edited = Some(now);
        self.set_mentions(channel, &mut message, allowed);
        *self.message_mut(channel, id)? = message;
        self.emit_message("MESSAGE_UPDATE", channel, id)
    }

    /// Adds a link preview, which does not change the text.
    pub fn unfurl(&mut self, channel: ChannelId, id: MessageId) -> ApiResult {
        let message = self.message_mut(channel, id)?;
        message
            .embeds
            .push(json!({ "type": "link", "url": "https://example.com/", "title": "A page" }));
        self.emit_message("MESSAGE_UPDATE", channel, id)
    }

    pub fn delete_message(&mut self, channel: ChannelId, id: MessageId) -> ApiResult {
        self.remove_message(channel, id)?;
        let data = json!({ "id": id, "channel_id": channel });
        self.emit_in_channel(channel, EventTopic::Messages, "MESSAGE_DELETE", data);
        Ok(())
    }

    pub fn bulk_delete_messages(
        &mut self,
        channel: ChannelId,
        messages: &[MessageId],
    ) -> ApiResult {
        let mut deleted = Vec::new();
        for message in messages {
            // Messages that are already gone are skipped.
            if self.remove_message(channel, *message).is_ok() {
                deleted.push(*message);
            }
        }
        let data = json!({ "ids": deleted, "channel_id": channel });
        self.emit_in_channel(channel, EventTopic::Messages, "MESSAGE_DELETE_BULK", data);
        Ok(())
    }

    fn remove_message(&mut self, channel: ChannelId, id: MessageId) -> ApiResult {
        let messages = &mut self.channel_mut(channel)?.messages;
        messages.remove(&id).map(|_| ()).ok_or(ErrorCode::UnknownMessage.into())
    }

    pub fn add_reaction(
        &mut self,
        channel: ChannelId,
        id: MessageId,
        user: UserId,
        emoji: &FakeEmoji,
    ) -> ApiResult {
        let reactions = &mut self.message_mut(channel, id)?.reactions;
        match reactions.iter_mut().find(|reaction| reaction.emoji == *emoji) {
            // Adding a reaction is idempotent.
            Some(reaction) if reaction.users.contains(&user) => return Ok(()),
            Some(reaction) => reaction.users.push(user),
            None => reactions.push(FakeReaction { emoji: emoji.clone(), users: vec![user] }),
        }
        self.emit_reaction("MESSAGE_REACTION_ADD", channel, id, user, emoji)
    }

    pub fn remove_reaction(
        &mut self,
        channel: ChannelId,
        id: MessageId,
        user: UserId,
        emoji: &FakeEmoji,
    ) -> ApiResult {
        let reactions = &mut self.message_mut(channel, id)?.reactions;
        let reaction = reactions.iter_mut().find(|reaction| reaction.emoji == *emoji);
        let reaction = reaction.ok_or(ErrorCode::UnknownEmoji)?;
        reaction.users.retain(|other| *other != user);
        reactions.retain(|reaction| !reaction.users.is_empty());
        self.emit_reaction("MESSAGE_REACTION_REMOVE", channel, id, user, emoji)
    }

    fn emit_reaction(
        &mut self,
        name: &'static str,
        channel: ChannelId,
        id: MessageId,
        user: UserId,
        emoji: &FakeEmoji,
    ) -> ApiResult {
        let author = self.message(channel, id)?.author.user();
        let guild = self.channel(channel)?.guild;
        let mut data = json!({
            "channel_id": channel,
            "message_id": id,
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
        self.emit_in_channel(channel, EventTopic::Reactions, name, data);
        Ok(())
    }

    pub fn start_typing(&mut self, channel: ChannelId, user: UserId) -> ApiResult {
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
