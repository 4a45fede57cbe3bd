//! Actions of users and apps on messages, and the resulting events.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::channel::ChannelKind;
use crate::slack::message::{
    EditInfo, FakeMessage, FakeReaction, NewFakeMessage, rich_text_blocks,
};
use crate::slack::ts::Ts;
use crate::slack::user::merge_fields;
use crate::slack::workspace::Workspace;

impl Workspace {
    pub fn send_message_with(&mut self, new: NewFakeMessage) -> ApiResult<Ts> {
        let message = self.build_message(&new)?;
        self.insert_message(&new.channel, message, !new.is_lost)
    }

    /// Shows the app's response to a slash command to its user or, with `in_channel`, to everyone in the channel.
    pub fn post_command_response(&mut self, channel: &str, user: &str, response: &Value) {
        let Some(text) = response["text"].as_str() else { return };
        if response["response_type"] != "in_channel" {
            return self.post_ephemeral(channel, user, text);
        }
        let (channel, text) = (channel.to_owned(), text.to_owned());
        let new =
            NewFakeMessage { channel, user: self.bot_user.clone(), text, ..Default::default() };
        // Like the real Slack, it reports no error for a response that it cannot show.
        let _ = self.send_message_with(new);
    }

    /// Stores a message in its channel and, if `is_delivered`, emits its event.
    pub fn insert_message(
        &mut self,
        channel: &str,
        mut message: FakeMessage,
        is_delivered: bool,
    ) -> ApiResult<Ts> {
        let target = self.channel(channel)?;
        if target.messages.contains_key(&message.ts) {
            return Err(api_error("duplicate_ts"));
        }
        if let Some(thread) = message.thread {
            let parent =
                target.messages.get(&thread).ok_or_else(|| api_error("thread_not_found"))?;
            // Threads do not nest: a reply to a reply belongs to the same thread.
            message.thread = Some(parent.thread.unwrap_or(thread));
        }
        let ts = message.ts;
        self.channel_mut(channel)?.messages.insert(ts, message);
        if is_delivered {
            self.emit_message(channel, ts)?;
        }
        Ok(ts)
    }

    fn build_message(&mut self, new: &NewFakeMessage) -> ApiResult<FakeMessage> {
        let channel = self.channel(&new.channel)?;
        if channel.is_archived {
            return Err(api_error("is_archived"));
        }
        let mut message = FakeMessage {
            text: new.text.clone(),
            thread: new.thread,
            subtype: new.subtype.clone(),
            client_msg_id: new.client_msg_id.clone(),
            files: new.files.clone(),
            blocks: new.blocks.clone(),
            ..FakeMessage::default()
        };
        if new.is_broadcast {
            message.subtype = Some("thread_broadcast".to_owned());
        }
        if !message.files.is_empty() && message.subtype.is_none() {
            message.subtype = Some("file_share".to_owned());
        }
        match &new.bot {
            Some(bot) => {
                message.bot_id = Some(bot.clone());
                message.extra_fields.insert("username".to_owned(), json!("integration"));
            }
            None => self.set_author(&mut message, &new.channel, &new.user)?,
        }
        message.ts = new.ts.unwrap_or_else(|| self.new_ts());
        Ok(message)
    }

    /// Sets the author, who must be in the channel.
    fn set_author(&self, message: &mut FakeMessage, channel: &str, user: &str) -> ApiResult {
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

    fn emit_message(&mut self, channel: &str, ts: Ts) -> ApiResult {
        let target = self.channel(channel)?;
        let message = self.message(channel, ts)?;
        let mut object = self.message_json(target, message);
        merge_fields(&mut object, json!({ "channel": channel, "event_ts": ts }));
        let is_own = message.user.as_ref() == Some(&self.bot_user);
        let is_mention = message.text.contains(&format!("<@{}>", self.bot_user))
            || message.text.contains(&format!("<@{}|", self.bot_user));
        let is_plain = matches!(message.subtype.as_deref(), None | Some("file_share"));
        let emits_mention = is_mention && is_plain && !is_own && target.kind != ChannelKind::Direct;
        let mut message_event = object.clone();
        message_event["channel_type"] = json!(target.kind.channel_type());
        self.emit_in_channel(channel, message_event);
        if emits_mention {
            object["type"] = json!("app_mention");
            self.emit_in_channel(channel, object);
        }
        Ok(())
    }

    /// Edits a message as its author.
    pub fn edit_message(&mut self, channel: &str, ts: Ts, text: &str) -> ApiResult {
        let user = self.message(channel, ts)?.user.clone().unwrap_or_default();
        let edited = EditInfo { user, ts: self.new_ts() };
        self.update_message(channel, ts, |message| {
            message.text = text.to_owned();
            message.blocks = Some(rich_text_blocks(text));
            message.edited = Some(edited);
        })
    }

    /// Attaches a link preview, which does not change the text.
    pub fn unfurl(&mut self, channel: &str, ts: Ts) -> ApiResult {
        let url = "https://example.com/";
        let preview = json!({
            "id": 1,
            "from_url": url,
            "original_url": url,
            "fallback": "A page",
            "title": "A page",
            "title_link": url,
        });
        self.update_message(channel, ts, |message| message.attachments.push(preview))
    }

    /// Changes a message and emits `message_changed`.
    pub fn update_message(
        &mut self,
        channel: &str,
        ts: Ts,
        change: impl FnOnce(&mut FakeMessage),
    ) -> ApiResult {
        let previous = self.message_json_at(channel, ts)?;
        change(self.message_mut(channel, ts)?);
        let message = self.message_json_at(channel, ts)?;
        let event = json!({ "subtype": "message_changed", "message": message });
        self.emit_message_update(channel, previous, event)
    }

    /// Deletes a message. A parent with replies becomes a tombstone.
    pub fn delete_message(&mut self, channel: &str, ts: Ts) -> ApiResult {
        let has_replies = self.channel(channel)?.replies(ts).next().is_some();
        if has_replies {
            return self.update_message(channel, ts, make_tombstone);
        }
        let previous = self.message_json_at(channel, ts)?;
        self.channel_mut(channel)?.messages.remove(&ts);
        let event = json!({ "subtype": "message_deleted", "deleted_ts": ts });
        self.emit_message_update(channel, previous, event)
    }

    fn emit_message_update(
        &mut self,
        channel: &str,
        previous: Value,
        mut event: Value,
    ) -> ApiResult {
        let (ts, kind) = (self.new_ts(), self.channel(channel)?.kind);
        let common_fields = json!({
            "type": "message",
            "previous_message": previous,
            "channel": channel,
            "hidden": true,
            "ts": ts,
            "event_ts": ts,
            "channel_type": kind.channel_type(),
        });
        merge_fields(&mut event, common_fields);
        self.emit_in_channel(channel, event);
        Ok(())
    }

    pub fn message_json_at(&self, channel: &str, ts: Ts) -> ApiResult<Value> {
        let message = self.message(channel, ts)?;
        let mut object = self.message_json(self.channel(channel)?, message);
        if let Some(object) = object.as_object_mut() {
            object.remove("metadata");
        }
        Ok(object)
    }

    pub fn add_reaction(&mut self, channel: &str, ts: Ts, user: &str, name: &str) -> ApiResult {
        let reactions = &mut self.message_mut(channel, ts)?.reactions;
        let reaction = reactions.iter_mut().find(|reaction| reaction.name == name);
        match reaction {
            Some(reaction) if reaction.users.iter().any(|other| other == user) => {
                return Err(api_error("already_reacted"));
            }
            Some(reaction) => reaction.users.push(user.to_owned()),
            None => {
                reactions.push(FakeReaction { name: name.to_owned(), users: vec![user.to_owned()] })
            }
        }
        self.emit_reaction("reaction_added", channel, ts, user, name)
    }

    pub fn remove_reaction(&mut self, channel: &str, ts: Ts, user: &str, name: &str) -> ApiResult {
        let reactions = &mut self.message_mut(channel, ts)?.reactions;
        let matches = |reaction: &&mut FakeReaction| {
            reaction.name == name && reaction.users.iter().any(|other| other == user)
        };
        let reaction =
            reactions.iter_mut().find(matches).ok_or_else(|| api_error("no_reaction"))?;
        reaction.users.retain(|other| other != user);
        reactions.retain(|reaction| !reaction.users.is_empty());
        self.emit_reaction("reaction_removed", channel, ts, user, name)
    }

    fn emit_reaction(
        &mut self,
        kind: &str,
        channel: &str,
        ts: Ts,
        user: &str,
        name: &str,
    ) -> ApiResult {
        let message = self.message(channel, ts)?;
        let mut event = json!({
            "type": kind,
            "user": user,
            "reaction": name,
            "item": { "type": "message", "channel": channel, "ts": ts },
        });
        if let Some(author) = &message.user {
            event["item_user"] = json!(author);
        }
        self.emit_in_channel(channel, event);
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
