//! Messages and reactions.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::slack::ts::Ts;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FakeMessage {
    pub ts: Ts,
    pub user: Option<String>,
    pub bot_id: Option<String>,
    pub app_id: Option<String>,
    pub text: String,
    pub thread: Option<Ts>,
    pub subtype: Option<String>,
    pub client_msg_id: Option<String>,
    pub blocks: Option<Value>,
    pub files: Vec<Value>,
    pub attachments: Vec<Value>,
    pub metadata: Option<Value>,
    pub edited: Option<EditInfo>,
    pub reactions: Vec<FakeReaction>,
    /// The fields that are specific to its subtype.
    pub extra_fields: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EditInfo {
    pub user: String,
    pub ts: Ts,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FakeReaction {
    pub name: String,
    pub users: Vec<String>,
}

/// A message to send, with any of its unusual properties.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewFakeMessage {
    pub channel: String,
    pub user: String,
    pub text: String,
    /// The parent's `ts`.
    pub thread: Option<Ts>,
    /// Whether a reply is shown in the channel as well.
    pub is_broadcast: bool,
    /// The client's id of the message, by default a generated one for a user's message.
    pub client_msg_id: Option<String>,
    pub subtype: Option<String>,
    pub files: Vec<Value>,
    pub blocks: Option<Value>,
    /// The id of a legacy integration, which has no user; used with the subtype `bot_message`.
    pub bot: Option<String>,
    /// The time of sending, by default now.
    pub ts: Option<Ts>,
    /// Whether its event is lost; only the history shows it.
    pub is_lost: bool,
}

impl NewFakeMessage {
    pub fn new(channel: &str, user: &str, text: &str) -> Self {
        Self {
            channel: channel.to_owned(),
            user: user.to_owned(),
            text: text.to_owned(),
            ..Self::default()
        }
    }
}

impl FakeMessage {
    /// Whether the message appears at the channel's top level.
    pub fn is_top_level(&self) -> bool {
        let is_reply = self.thread.is_some_and(|thread| thread != self.ts);
        !is_reply || self.subtype.as_deref() == Some("thread_broadcast")
    }

    /// Returns the fields that do not depend on its channel or workspace.
    pub fn to_json(&self) -> Value {
        let mut object = json!({ "type": "message", "ts": self.ts, "text": self.text });
        let texts = [
            ("user", &self.user),
            ("bot_id", &self.bot_id),
            ("app_id", &self.app_id),
            ("subtype", &self.subtype),
            ("client_msg_id", &self.client_msg_id),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                object[name] = json!(text);
            }
        }
        let values = [("blocks", &self.blocks), ("metadata", &self.metadata)];
        for (name, value) in values {
            if let Some(value) = value {
                object[name] = value.clone();
            }
        }
        if let Some(thread) = self.thread {
            object["thread_ts"] = json!(thread);
        }
        if let Some(edited) = &self.edited {
            // Unlike other times, Slack tells this one in whole seconds.
            object["edited"] = json!({ "user": edited.user, "ts": edited.ts.whole_second() });
        }
        if !self.files.is_empty() {
            object["files"] = json!(self.files);
            object["upload"] = json!(false);
        }
        if !self.attachments.is_empty() {
            object["attachments"] = json!(self.attachments);
        }
        if !self.reactions.is_empty() {
            object["reactions"] = self.reactions.iter().map(FakeReaction::to_json).collect();
        }
        for (name, value) in &self.extra_fields {
            object[name] = value.clone();
        }
        object
    }
}

impl FakeReaction {
    pub fn to_json(&self) -> Value {
        json!({ "name": self.name, "users": self.users, "count": self.users.len() })
    }
}

/// Returns the blocks that Slack generates for a plain text.
pub fn rich_text_blocks(text: &str) -> Value {
    let section = json!({
        "type": "rich_text_section",
        "elements": [{ "type": "text", "text": text }],
    });
    json!([{ "type": "rich_text", "block_id": "b0Dev", "elements": [section] }])
}
