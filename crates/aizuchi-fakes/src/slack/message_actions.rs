//! What is done to messages, by people and by apps alike, and the events that follow.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::slack::api_error::{ApiError, api_error};
use crate::slack::channel::ChannelKind;
use crate::slack::message::{
    EditInfo, FakeMessage, FakeReaction, NewFakeMessage, rich_text_blocks,
};
use crate::slack::ts::Ts;
use crate::slack::user::merge_fields;
use crate::slack::workspace::{MessageKey, Workspace};

impl Workspace {
    /// Somebody says a line.
    pub fn send_message(&mut self, saying: NewFakeMessage) -> Result<Ts, ApiError> {
        let message = self.build_message(&saying)?;
        self.insert_message(&saying.channel, message, saying.is_delivered)
    }

    /// Keeps a message where it belongs and, unless it is not to be delivered, tells of it.
    pub fn insert_message(
        &mut self,
        channel: &str,
        mut message: FakeMessage,
        is_delivered: bool,
    ) -> Result<Ts, ApiError> {
        let place = self.channel(channel)?;
        if place.messages.contains_key(&message.ts) {
            return Err(api_error("duplicate_ts"));
        }
        if let Some(thread) = message.thread {
            let parent =
                place.messages.get(&thread).ok_or_else(|| api_error("thread_not_found"))?;
            // A reply to a reply belongs to the same thread.
            message.thread = Some(parent.thread.unwrap_or(thread));
        }
        let ts = message.ts;
        self.channel_mut(channel)?.messages.insert(ts, message);
        if is_delivered {
            self.emit_message(channel, ts)?;
        }
        Ok(ts)
    }

    fn build_message(&mut self, saying: &NewFakeMessage) -> Result<FakeMessage, ApiError> {
        let channel = self.channel(&saying.channel)?;
        if channel.is_archived {
            return Err(api_error("is_archived"));
        }
        let mut message = FakeMessage {
            text: saying.text.clone(),
            thread: saying.thread,
            subtype: saying.subtype.clone(),
            client_msg_id: saying.client_msg_id.clone(),
            files: saying.files.clone(),
            blocks: saying.blocks.clone(),
            ..FakeMessage::default()
        };
        if saying.is_broadcast {
            message.subtype = Some("thread_broadcast".to_owned());
        }
        if !message.files.is_empty() && message.subtype.is_none() {
            message.subtype = Some("file_share".to_owned());
        }
        match &saying.bot {
            Some(bot) => {
                message.bot_id = Some(bot.clone());
                message.extra_fields.insert("username".to_owned(), json!("integration"));
            }
            None => self.set_author(&mut message, &saying.channel, &saying.user)?,
        }
        message.ts = saying.ts.unwrap_or_else(|| self.new_ts());
        Ok(message)
    }

    /// Names the author, who must be in the channel.
    fn set_author(
        &self,
        message: &mut FakeMessage,
        channel: &str,
        user: &str,
    ) -> Result<(), ApiError> {
        let author = self.user(user)?;
        if !self.channel(channel)?.members.contains(user) {
            return Err(api_error("not_in_channel"));
        }
        message.user = Some(author.id.clone());
        match &author.bot {
            Some(bot) => {
                message.bot_id = Some(bot.id.clone());
                message.app_id = Some(bot.app_id.clone());
            }
            None if message.client_msg_id.is_none() && message.subtype.is_none() => {
                message.client_msg_id = Some(Uuid::now_v7().to_string());
            }
            None => {}
        }
        if message.blocks.is_none() && !message.text.is_empty() {
            message.blocks = Some(rich_text_blocks(&message.text));
        }
        Ok(())
    }

    fn emit_message(&mut self, channel: &str, ts: Ts) -> Result<(), ApiError> {
        let place = self.channel(channel)?;
        let message = self.message(channel, ts)?;
        let mut shape = self.message_json(place, message);
        merge_fields(&mut shape, json!({ "channel": channel, "event_ts": ts }));
        let is_own = message.user.as_ref() == Some(&self.bot_user);
        let is_mention = message.text.contains(&format!("<@{}>", self.bot_user))
            || message.text.contains(&format!("<@{}|", self.bot_user));
        let is_plain = matches!(message.subtype.as_deref(), None | Some("file_share"));
        let mention = is_mention && is_plain && !is_own && place.kind != ChannelKind::Direct;
        let mut heard = shape.clone();
        heard["channel_type"] = json!(place.kind.channel_type());
        self.emit_in_channel(channel, heard);
        if mention {
            shape["type"] = json!("app_mention");
            self.emit_in_channel(channel, shape);
        }
        Ok(())
    }

    /// A member changes what a line says.
    pub fn edit_message(
        &mut self,
        place: &MessageKey,
        user: &str,
        text: &str,
    ) -> Result<(), ApiError> {
        let ts = self.new_ts();
        let edited = EditInfo { user: user.to_owned(), ts };
        self.update_message(place, |message| {
            message.text = text.to_owned();
            message.blocks = Some(rich_text_blocks(text));
            message.edited = Some(edited);
        })
    }

    /// Slack shows what is behind a link: a change that leaves the text as it is.
    pub fn unfurl(&mut self, place: &MessageKey, url: &str) -> Result<(), ApiError> {
        let preview = json!({
            "id": 1,
            "from_url": url,
            "original_url": url,
            "fallback": "A page",
            "title": "A page",
            "title_link": url,
        });
        self.update_message(place, |message| message.attachments.push(preview))
    }

    /// Changes a message and tells of it.
    pub fn update_message(
        &mut self,
        place: &MessageKey,
        change: impl FnOnce(&mut FakeMessage),
    ) -> Result<(), ApiError> {
        let previous = self.message_json_at(place)?;
        change(self.message_mut(&place.channel, place.ts)?);
        let message = self.message_json_at(place)?;
        let ts = self.new_ts();
        let event = json!({ "subtype": "message_changed", "message": message });
        self.emit_message_update(place, ts, previous, event)
    }

    /// Takes a line away. A parent with replies stays, as a stone without words.
    pub fn delete_message(&mut self, place: &MessageKey) -> Result<(), ApiError> {
        let has_replies = self.channel(&place.channel)?.replies(place.ts).next().is_some();
        if has_replies {
            return self.update_message(place, make_tombstone);
        }
        let previous = self.message_json_at(place)?;
        self.channel_mut(&place.channel)?.messages.remove(&place.ts);
        let ts = self.new_ts();
        let event = json!({ "subtype": "message_deleted", "deleted_ts": place.ts });
        self.emit_message_update(place, ts, previous, event)
    }

    fn emit_message_update(
        &mut self,
        place: &MessageKey,
        ts: Ts,
        previous: Value,
        mut event: Value,
    ) -> Result<(), ApiError> {
        let kind = self.channel(&place.channel)?.kind;
        let more = json!({
            "type": "message",
            "previous_message": previous,
            "channel": place.channel,
            "hidden": true,
            "ts": ts,
            "event_ts": ts,
            "channel_type": kind.channel_type(),
        });
        merge_fields(&mut event, more);
        self.emit_in_channel(&place.channel, event);
        Ok(())
    }

    pub fn message_json_at(&self, place: &MessageKey) -> Result<Value, ApiError> {
        let message = self.message(&place.channel, place.ts)?;
        let mut shape = self.message_json(self.channel(&place.channel)?, message);
        if let Some(shape) = shape.as_object_mut() {
            shape.remove("metadata");
        }
        Ok(shape)
    }

    pub fn add_reaction(
        &mut self,
        place: &MessageKey,
        user: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        let reactions = &mut self.message_mut(&place.channel, place.ts)?.reactions;
        let reaction = reactions.iter_mut().find(|reaction| reaction.name == name);
        match reaction {
            Some(reaction) if reaction.users.iter().any(|known| known == user) => {
                return Err(api_error("already_reacted"));
            }
            Some(reaction) => reaction.users.push(user.to_owned()),
            None => {
                reactions.push(FakeReaction { name: name.to_owned(), users: vec![user.to_owned()] })
            }
        }
        self.emit_reaction("reaction_added", place, user, name)
    }

    pub fn remove_reaction(
        &mut self,
        place: &MessageKey,
        user: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        let reactions = &mut self.message_mut(&place.channel, place.ts)?.reactions;
        let is_there = |reaction: &&mut FakeReaction| {
            reaction.name == name && reaction.users.iter().any(|known| known == user)
        };
        let reaction =
            reactions.iter_mut().find(is_there).ok_or_else(|| api_error("no_reaction"))?;
        reaction.users.retain(|known| known != user);
        reactions.retain(|reaction| !reaction.users.is_empty());
        self.emit_reaction("reaction_removed", place, user, name)
    }

    fn emit_reaction(
        &mut self,
        kind: &str,
        place: &MessageKey,
        user: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        let message = self.message(&place.channel, place.ts)?;
        let mut event = json!({
            "type": kind,
            "user": user,
            "reaction": name,
            "item": { "type": "message", "channel": place.channel, "ts": place.ts },
        });
        if let Some(author) = &message.user {
            event["item_user"] = json!(author);
        }
        self.emit_in_channel(&place.channel, event);
        Ok(())
    }
}

fn make_tombstone(message: &mut FakeMessage) {
    *message = FakeMessage {
        ts: message.ts,
        thread: message.thread,
        user: Some("USLACKBOT".to_owned()),
        subtype: Some("tombstone".to_owned()),
        text: "This message was deleted.".to_owned(),
        extra_fields: Map::from_iter([("hidden".to_owned(), json!(true))]),
        ..FakeMessage::default()
    };
}
