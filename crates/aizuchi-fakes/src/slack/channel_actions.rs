//! Changes to channels and their members, and the resulting events.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::channel::{ChannelKind, FakeChannel, NewChannel};
use crate::slack::message::FakeMessage;
use crate::slack::workspace::Workspace;

impl Workspace {
    pub fn add_channel(&mut self, new: NewChannel) -> ApiResult<String> {
        for member in &new.members {
            self.user(member)?;
        }
        let id = self.new_id(if new.kind == ChannelKind::Direct { 'D' } else { 'C' });
        let name = match new.kind {
            ChannelKind::Direct => String::new(),
            ChannelKind::Group => self.group_name(&new.members),
            ChannelKind::Public | ChannelKind::Private => new.name,
        };
        let channel = FakeChannel {
            id: id.clone(),
            name,
            kind: new.kind,
            creator: new.members.first().unwrap_or(&self.bot_user).clone(),
            members: new.members.into_iter().collect(),
            is_archived: false,
            topic: new.topic,
            purpose: new.purpose,
            previous_names: Vec::new(),
            created: self.unix_seconds(),
            messages: Default::default(),
        };
        self.channels.insert(id.clone(), channel);
        Ok(id)
    }

    fn group_name(&self, members: &[String]) -> String {
        let names = members.iter().filter_map(|member| self.users.get(member));
        let names: Vec<&str> = names.map(|user| user.name.as_str()).collect();
        format!("mpdm-{}-1", names.join("--"))
    }

    /// Opens the direct message between the bot and a user, or returns the existing one.
    pub fn open_direct_message(&mut self, user: &str) -> ApiResult<(String, OpenOutcome)> {
        self.user(user)?;
        let members = BTreeSet::from([user.to_owned(), self.bot_user.clone()]);
        let existing = self
            .channels
            .values()
            .find(|channel| channel.kind == ChannelKind::Direct && channel.members == members);
        if let Some(channel) = existing {
            return Ok((channel.id.clone(), OpenOutcome::Existing));
        }
        let members = vec![user.to_owned(), self.bot_user.clone()];
        let new = NewChannel { kind: ChannelKind::Direct, members, ..NewChannel::default() };
        let id = self.add_channel(new)?;
        let object = self.channel_json(self.channel(&id)?);
        self.emit_event(json!({ "type": "im_created", "user": user, "channel": object }));
        Ok((id, OpenOutcome::Created))
    }

    pub fn join_channel(&mut self, channel_id: &str, user: &str) -> ApiResult {
        self.user(user)?;
        let channel = self.channel_mut(channel_id)?;
        if channel.is_archived {
            return Err(api_error("is_archived"));
        }
        if !channel.members.insert(user.to_owned()) {
            return Err(api_error("already_in_channel"));
        }
        let channel_type = if channel.kind == ChannelKind::Public { "C" } else { "G" };
        let event = json!({
            "type": "member_joined_channel",
            "user": user,
            "channel": channel_id,
            "channel_type": channel_type,
            "team": self.id,
        });
        self.emit_in_channel(channel_id, event);
        self.post_notice(
            channel_id,
            user,
            "channel_join",
            &format!("<@{user}> has joined the channel"),
            &[],
        )
    }

    pub fn leave_channel(&mut self, channel_id: &str, user: &str) -> ApiResult {
        let channel = self.channel_mut(channel_id)?;
        if !channel.members.remove(user) {
            return Err(api_error("not_in_channel"));
        }
        let (kind, prefix) = (channel.kind, channel.kind.event_prefix());
        if user == self.bot_user {
            let event = json!({
                "type": format!("{prefix}_left"),
                "channel": channel_id,
                "actor_id": user,
            });
            self.emit_event(event);
        }
        let event = json!({
            "type": "member_left_channel",
            "user": user,
            "channel": channel_id,
            "channel_type": if kind == ChannelKind::Public { "C" } else { "G" },
            "team": self.id,
        });
        self.emit_in_channel(channel_id, event);
        self.post_notice(
            channel_id,
            user,
            "channel_leave",
            &format!("<@{user}> has left the channel"),
            &[],
        )
    }

    pub fn rename_channel(&mut self, channel_id: &str, user: &str, name: &str) -> ApiResult {
        let channel = self.channel_mut(channel_id)?;
        let old_name = std::mem::replace(&mut channel.name, name.to_owned());
        channel.previous_names.insert(0, old_name.clone());
        let (created, kind) = (channel.created, channel.kind);
        let event = json!({
            "type": format!("{}_rename", kind.event_prefix()),
            "channel": {
                "id": channel_id,
                "name": name,
                "name_normalized": name,
                "created": created,
                "is_channel": kind == ChannelKind::Public,
                "is_mpim": kind == ChannelKind::Group,
            },
        });
        self.emit_in_channel(channel_id, event);
        let text = format!("has renamed the channel from \"{old_name}\" to \"{name}\"");
        let extra_fields = [("old_name", json!(old_name)), ("name", json!(name))];
        self.post_notice(channel_id, user, "channel_name", &text, &extra_fields)
    }

    pub fn archive_channel(&mut self, channel_id: &str, user: &str) -> ApiResult {
        let channel = self.channel_mut(channel_id)?;
        if std::mem::replace(&mut channel.is_archived, true) {
            return Err(api_error("already_archived"));
        }
        let kind = format!("{}_archive", channel.kind.event_prefix());
        let event = json!({ "type": kind, "channel": channel_id, "user": user, "is_moved": 0 });
        self.emit_in_channel(channel_id, event);
        self.post_notice(channel_id, user, "channel_archive", "archived the channel", &[])
    }

    pub fn unarchive_channel(&mut self, channel_id: &str, user: &str) -> ApiResult {
        let channel = self.channel_mut(channel_id)?;
        if !std::mem::replace(&mut channel.is_archived, false) {
            return Err(api_error("not_archived"));
        }
        let kind = format!("{}_unarchive", channel.kind.event_prefix());
        self.emit_in_channel(
            channel_id,
            json!({ "type": kind, "channel": channel_id, "user": user }),
        );
        self.post_notice(channel_id, user, "channel_unarchive", "unarchived the channel", &[])
    }

    /// Makes a channel private. Slack reports this only with a system message, not with an event of its own.
    pub fn make_private(&mut self, channel_id: &str, user: &str) -> ApiResult {
        let channel = self.channel_mut(channel_id)?;
        if channel.kind != ChannelKind::Public {
            return Err(api_error("method_not_supported_for_channel_type"));
        }
        channel.kind = ChannelKind::Private;
        let text = "made this channel *private*.";
        self.post_notice(channel_id, user, "channel_convert_to_private", text, &[])
    }

    /// Sets the topic, which only a system message tells.
    pub fn set_topic(&mut self, id: &str, user: &str, topic: &str) -> ApiResult {
        topic.clone_into(&mut self.channel_mut(id)?.topic);
        let text = format!("set the channel topic: {topic}");
        self.post_notice(id, user, "channel_topic", &text, &[("topic", json!(topic))])
    }

    pub fn delete_channel(&mut self, channel_id: &str, user: &str) -> ApiResult {
        let kind = format!("{}_deleted", self.channel(channel_id)?.kind.event_prefix());
        self.emit_in_channel(
            channel_id,
            json!({ "type": kind, "channel": channel_id, "actor_id": user }),
        );
        self.channels.remove(channel_id);
        Ok(())
    }

    /// Posts a system message about a channel. Direct messages have none.
    fn post_notice(
        &mut self,
        channel_id: &str,
        user: &str,
        subtype: &str,
        text: &str,
        extra_fields: &[(&str, Value)],
    ) -> ApiResult {
        if self.channel(channel_id)?.kind == ChannelKind::Direct {
            return Ok(());
        }
        let extra_fields =
            extra_fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let message = FakeMessage {
            ts: self.new_ts(),
            user: Some(user.to_owned()),
            subtype: Some(subtype.to_owned()),
            text: text.to_owned(),
            extra_fields: Map::from_iter(extra_fields),
            ..FakeMessage::default()
        };
        self.insert_message(channel_id, message, true).map(|_| ())
    }
}

/// Whether a direct message existed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenOutcome {
    Created,
    Existing,
}
