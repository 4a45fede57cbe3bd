//! What is done to messages, by people and by apps alike, and the events that follow.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::slack::channel::Kind;
use crate::slack::message::{Edited, Message, Reaction, Saying, rich_text};
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::ts::Ts;
use crate::slack::user::extend;
use crate::slack::workspace::{Place, Workspace};

impl Workspace {
    /// Somebody says a line.
    pub fn say(&mut self, saying: Saying) -> Result<Ts, Refusal> {
        let message = self.said(&saying)?;
        self.put(&saying.channel, message, saying.is_delivered)
    }

    /// Keeps a message where it belongs and, unless it is not to be delivered, tells of it.
    pub fn put(
        &mut self,
        channel: &str,
        mut message: Message,
        is_delivered: bool,
    ) -> Result<Ts, Refusal> {
        let place = self.channel(channel)?;
        if place.messages.contains_key(&message.ts) {
            return Err(refuse("duplicate_ts"));
        }
        if let Some(thread) = message.thread {
            let parent = place.messages.get(&thread).ok_or_else(|| refuse("thread_not_found"))?;
            // A reply to a reply belongs to the same thread.
            message.thread = Some(parent.thread.unwrap_or(thread));
        }
        let ts = message.ts;
        self.channel_mut(channel)?.messages.insert(ts, message);
        if is_delivered {
            self.tell_of_message(channel, ts)?;
        }
        Ok(ts)
    }

    fn said(&mut self, saying: &Saying) -> Result<Message, Refusal> {
        let channel = self.channel(&saying.channel)?;
        if channel.is_archived {
            return Err(refuse("is_archived"));
        }
        let mut message = Message {
            text: saying.text.clone(),
            thread: saying.thread,
            subtype: saying.subtype.clone(),
            client_msg_id: saying.client_msg_id.clone(),
            files: saying.files.clone(),
            blocks: saying.blocks.clone(),
            ..Message::default()
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
                message.more.insert("username".to_owned(), json!("integration"));
            }
            None => self.sign(&mut message, &saying.channel, &saying.user)?,
        }
        message.ts = saying.ts.unwrap_or_else(|| self.new_ts());
        Ok(message)
    }

    /// Names the author, who must be in the channel.
    fn sign(&self, message: &mut Message, channel: &str, user: &str) -> Result<(), Refusal> {
        let author = self.user(user)?;
        if !self.channel(channel)?.members.contains(user) {
            return Err(refuse("not_in_channel"));
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
            message.blocks = Some(rich_text(&message.text));
        }
        Ok(())
    }

    fn tell_of_message(&mut self, channel: &str, ts: Ts) -> Result<(), Refusal> {
        let place = self.channel(channel)?;
        let message = self.message(channel, ts)?;
        let mut shape = self.message_shape(place, message);
        extend(&mut shape, json!({ "channel": channel, "event_ts": ts }));
        let is_own = message.user.as_ref() == Some(&self.bot_user);
        let is_mention = message.text.contains(&format!("<@{}>", self.bot_user))
            || message.text.contains(&format!("<@{}|", self.bot_user));
        let is_plain = matches!(message.subtype.as_deref(), None | Some("file_share"));
        let mention = is_mention && is_plain && !is_own && place.kind != Kind::Direct;
        let mut heard = shape.clone();
        heard["channel_type"] = json!(place.kind.channel_type());
        self.tell_of(channel, heard);
        if mention {
            shape["type"] = json!("app_mention");
            self.tell_of(channel, shape);
        }
        Ok(())
    }

    /// A member changes what a line says.
    pub fn edit(&mut self, place: &Place, user: &str, text: &str) -> Result<(), Refusal> {
        let ts = self.new_ts();
        let edited = Edited { user: user.to_owned(), ts };
        self.amend(place, |message| {
            message.text = text.to_owned();
            message.blocks = Some(rich_text(text));
            message.edited = Some(edited);
        })
    }

    /// Slack shows what is behind a link: a change that leaves the text as it is.
    pub fn unfurl(&mut self, place: &Place, url: &str) -> Result<(), Refusal> {
        let preview = json!({
            "id": 1,
            "from_url": url,
            "original_url": url,
            "fallback": "A page",
            "title": "A page",
            "title_link": url,
        });
        self.amend(place, |message| message.attachments.push(preview))
    }

    /// Changes a message and tells of it.
    pub fn amend(
        &mut self,
        place: &Place,
        change: impl FnOnce(&mut Message),
    ) -> Result<(), Refusal> {
        let previous = self.shape_of(place)?;
        change(self.message_mut(&place.channel, place.ts)?);
        let message = self.shape_of(place)?;
        let ts = self.new_ts();
        let event = json!({ "subtype": "message_changed", "message": message });
        self.tell_of_change(place, ts, previous, event)
    }

    /// Takes a line away. A parent with replies stays, as a stone without words.
    pub fn delete(&mut self, place: &Place) -> Result<(), Refusal> {
        let has_replies = self.channel(&place.channel)?.replies(place.ts).next().is_some();
        if has_replies {
            return self.amend(place, entomb);
        }
        let previous = self.shape_of(place)?;
        self.channel_mut(&place.channel)?.messages.remove(&place.ts);
        let ts = self.new_ts();
        let event = json!({ "subtype": "message_deleted", "deleted_ts": place.ts });
        self.tell_of_change(place, ts, previous, event)
    }

    fn tell_of_change(
        &mut self,
        place: &Place,
        ts: Ts,
        previous: Value,
        mut event: Value,
    ) -> Result<(), Refusal> {
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
        extend(&mut event, more);
        self.tell_of(&place.channel, event);
        Ok(())
    }

    pub fn shape_of(&self, place: &Place) -> Result<Value, Refusal> {
        let message = self.message(&place.channel, place.ts)?;
        let mut shape = self.message_shape(self.channel(&place.channel)?, message);
        if let Some(shape) = shape.as_object_mut() {
            shape.remove("metadata");
        }
        Ok(shape)
    }

    pub fn react(&mut self, place: &Place, user: &str, name: &str) -> Result<(), Refusal> {
        let reactions = &mut self.message_mut(&place.channel, place.ts)?.reactions;
        let reaction = reactions.iter_mut().find(|reaction| reaction.name == name);
        match reaction {
            Some(reaction) if reaction.users.iter().any(|known| known == user) => {
                return Err(refuse("already_reacted"));
            }
            Some(reaction) => reaction.users.push(user.to_owned()),
            None => {
                reactions.push(Reaction { name: name.to_owned(), users: vec![user.to_owned()] })
            }
        }
        self.tell_of_reaction("reaction_added", place, user, name)
    }

    pub fn unreact(&mut self, place: &Place, user: &str, name: &str) -> Result<(), Refusal> {
        let reactions = &mut self.message_mut(&place.channel, place.ts)?.reactions;
        let is_there = |reaction: &&mut Reaction| {
            reaction.name == name && reaction.users.iter().any(|known| known == user)
        };
        let reaction = reactions.iter_mut().find(is_there).ok_or_else(|| refuse("no_reaction"))?;
        reaction.users.retain(|known| known != user);
        reactions.retain(|reaction| !reaction.users.is_empty());
        self.tell_of_reaction("reaction_removed", place, user, name)
    }

    fn tell_of_reaction(
        &mut self,
        kind: &str,
        place: &Place,
        user: &str,
        name: &str,
    ) -> Result<(), Refusal> {
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
        self.tell_of(&place.channel, event);
        Ok(())
    }
}

fn entomb(message: &mut Message) {
    *message = Message {
        ts: message.ts,
        thread: message.thread,
        user: Some("USLACKBOT".to_owned()),
        subtype: Some("tombstone".to_owned()),
        text: "This message was deleted.".to_owned(),
        more: Map::from_iter([("hidden".to_owned(), json!(true))]),
        ..Message::default()
    };
}
