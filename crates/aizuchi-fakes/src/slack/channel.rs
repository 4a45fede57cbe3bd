//! Channels, group messages and direct messages, each with its messages.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::slack::message::FakeMessage;
use crate::slack::ts::Ts;
use crate::slack::user::merge_fields;

#[derive(Clone, Debug, PartialEq)]
pub struct FakeChannel {
    pub id: String,
    /// Empty for a direct message.
    pub name: String,
    pub kind: ChannelKind,
    pub creator: String,
    pub members: BTreeSet<String>,
    pub is_archived: bool,
    pub topic: String,
    pub purpose: String,
    pub previous_names: Vec<String>,
    /// The creation time in Unix seconds.
    pub created: u64,
    pub messages: BTreeMap<Ts, FakeMessage>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    #[default]
    Public,
    Private,
    /// A direct message of two users.
    Direct,
    /// A direct message of several users.
    Group,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewChannel {
    pub name: String,
    pub kind: ChannelKind,
    /// The first member is the creator. The bot is a member only if it is listed.
    pub members: Vec<String>,
    pub topic: String,
    pub purpose: String,
}

impl ChannelKind {
    /// Returns the kind's name in the `types` of `conversations.list`.
    pub fn conversation_type(self) -> &'static str {
        match self {
            ChannelKind::Public => "public_channel",
            ChannelKind::Private => "private_channel",
            ChannelKind::Direct => "im",
            ChannelKind::Group => "mpim",
        }
    }

    /// Returns the kind's name in the `channel_type` of message events.
    pub fn channel_type(self) -> &'static str {
        match self {
            ChannelKind::Public => "channel",
            ChannelKind::Private => "group",
            ChannelKind::Direct => "im",
            ChannelKind::Group => "mpim",
        }
    }

    /// Returns the kind's name in OAuth scopes.
    pub fn scope_prefix(self) -> &'static str {
        match self {
            ChannelKind::Public => "channels",
            ChannelKind::Private => "groups",
            ChannelKind::Direct => "im",
            ChannelKind::Group => "mpim",
        }
    }

    /// Returns the prefix of the types of events about the channel itself.
    pub fn event_prefix(self) -> &'static str {
        match self {
            ChannelKind::Public => "channel",
            ChannelKind::Private | ChannelKind::Group => "group",
            ChannelKind::Direct => "im",
        }
    }
}

impl FakeChannel {
    /// A thread's replies, oldest first.
    pub fn replies(&self, parent: Ts) -> impl DoubleEndedIterator<Item = &FakeMessage> {
        let is_reply =
            move |message: &&FakeMessage| message.thread == Some(parent) && message.ts != parent;
        self.messages.values().filter(is_reply)
    }

    /// Returns the other member of a direct message.
    pub fn other_member(&self, user: &str) -> Option<&String> {
        self.members.iter().find(|member| *member != user).or_else(|| self.members.first())
    }

    pub fn to_json(&self, team_id: &str, viewer: &str) -> Value {
        if self.kind == ChannelKind::Direct {
            return self.direct_message_json(team_id, viewer);
        }
        let is_group = matches!(self.kind, ChannelKind::Private);
        json!({
            "id": self.id,
            "name": self.name,
            "is_channel": self.kind == ChannelKind::Public,
            "is_group": is_group,
            "is_im": false,
            "is_mpim": self.kind == ChannelKind::Group,
            "is_private": self.kind != ChannelKind::Public,
            "created": self.created,
            "is_archived": self.is_archived,
            "is_general": self.name == "general",
            "unlinked": 0,
            "name_normalized": self.name,
            "is_shared": false,
            "is_org_shared": false,
            "is_pending_ext_shared": false,
            "pending_shared": [],
            "context_team_id": team_id,
            "updated": self.created * 1000,
            "parent_conversation": null,
            "creator": self.creator,
            "is_ext_shared": false,
            "shared_team_ids": [team_id],
            "pending_connected_team_ids": [],
            "is_member": self.members.contains(viewer),
            "topic": { "value": self.topic, "creator": "", "last_set": 0 },
            "purpose": { "value": self.purpose, "creator": "", "last_set": 0 },
            "previous_names": self.previous_names,
        })
    }

    fn direct_message_json(&self, team_id: &str, viewer: &str) -> Value {
        json!({
            "id": self.id,
            "created": self.created,
            "is_archived": self.is_archived,
            "is_im": true,
            "is_org_shared": false,
            "context_team_id": team_id,
            "updated": self.created * 1000,
            "user": self.other_member(viewer),
            "is_user_deleted": false,
            "priority": 0,
        })
    }

    /// Like `to_json`, with `num_members`, which only some methods return.
    pub fn to_json_with_member_count(&self, team_id: &str, viewer: &str) -> Value {
        let mut object = self.to_json(team_id, viewer);
        if self.kind != ChannelKind::Direct {
            merge_fields(&mut object, json!({ "num_members": self.members.len() }));
        }
        object
    }

    /// Returns the fields that a thread adds to its parent, or `None` without replies.
    pub fn thread_json(&self, parent: Ts) -> Option<Value> {
        let latest = self.replies(parent).next_back()?.ts;
        let mut users: Vec<&str> = Vec::new();
        for reply in self.replies(parent) {
            let author = reply.user.as_deref().or(reply.bot_id.as_deref());
            users.extend(author.filter(|author| !users.contains(author)));
        }
        Some(json!({
            "thread_ts": parent,
            "reply_count": self.replies(parent).count(),
            "reply_users_count": users.len(),
            "latest_reply": latest,
            "reply_users": users,
            "is_locked": false,
            "subscribed": false,
        }))
    }
}
