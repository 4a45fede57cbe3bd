//! What happens to channels and to who is in them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::slack::api_error::{ApiError, api_error};
use crate::slack::channel::{ChannelKind, FakeChannel, NewChannel};
use crate::slack::message::FakeMessage;
use crate::slack::workspace::Workspace;

impl Workspace {
    pub fn add_channel(&mut self, new: NewChannel) -> Result<String, ApiError> {
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

    /// The direct message of the bot and somebody: the one there is, or a new one.
    pub fn open_direct_message(&mut self, user: &str) -> Result<(String, OpenOutcome), ApiError> {
        self.user(user)?;
        let members = BTreeSet::from([user.to_owned(), self.bot_user.clone()]);
        let known = self
            .channels
            .values()
            .find(|channel| channel.kind == ChannelKind::Direct && channel.members == members);
        if let Some(channel) = known {
            return Ok((channel.id.clone(), OpenOutcome::Existing));
        }
        let members = vec![user.to_owned(), self.bot_user.clone()];
        let new = NewChannel { kind: ChannelKind::Direct, members, ..NewChannel::default() };
        let id = self.add_channel(new)?;
        let shape = self.channel_json(self.channel(&id)?);
        self.emit(json!({ "type": "im_created", "user": user, "channel": shape }));
        Ok((id, OpenOutcome::Created))
    }

    pub fn join(&mut self, channel: &str, user: &str) -> Result<(), ApiError> {
        self.user(user)?;
        let place = self.channel_mut(channel)?;
        if place.is_archived {
            return Err(api_error("is_archived"));
        }
        if !place.members.insert(user.to_owned()) {
            return Err(api_error("already_in_channel"));
        }
        let letter = if place.kind == ChannelKind::Public { "C" } else { "G" };
        let event = json!({
            "type": "member_joined_channel",
            "user": user,
            "channel": channel,
            "channel_type": letter,
            "team": self.id,
        });
        self.emit_in_channel(channel, event);
        self.post_system_message(
            channel,
            user,
            "channel_join",
            format!("<@{user}> has joined the channel"),
            &[],
        )
    }

    pub fn leave(&mut self, channel: &str, user: &str) -> Result<(), ApiError> {
        let place = self.channel_mut(channel)?;
        if !place.members.remove(user) {
            return Err(api_error("not_in_channel"));
        }
        let (kind, prefix) = (place.kind, place.kind.event_prefix());
        if user == self.bot_user {
            let event = json!({
                "type": format!("{prefix}_left"),
                "channel": channel,
                "actor_id": user,
            });
            self.emit(event);
        }
        let event = json!({
            "type": "member_left_channel",
            "user": user,
            "channel": channel,
            "channel_type": if kind == ChannelKind::Public { "C" } else { "G" },
            "team": self.id,
        });
        self.emit_in_channel(channel, event);
        self.post_system_message(
            channel,
            user,
            "channel_leave",
            format!("<@{user}> has left the channel"),
            &[],
        )
    }

    pub fn rename_channel(
        &mut self,
        channel: &str,
        user: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        let place = self.channel_mut(channel)?;
        let old = std::mem::replace(&mut place.name, name.to_owned());
        place.previous_names.insert(0, old.clone());
        let (created, kind) = (place.created, place.kind);
        let event = json!({
            "type": format!("{}_rename", kind.event_prefix()),
            "channel": {
                "id": channel,
                "name": name,
                "name_normalized": name,
                "created": created,
                "is_channel": kind == ChannelKind::Public,
                "is_mpim": kind == ChannelKind::Group,
            },
        });
        self.emit_in_channel(channel, event);
        let text = format!("has renamed the channel from \"{old}\" to \"{name}\"");
        let more = [("old_name", json!(old)), ("name", json!(name))];
        self.post_system_message(channel, user, "channel_name", text, &more)
    }

    pub fn archive(&mut self, channel: &str, user: &str) -> Result<(), ApiError> {
        let place = self.channel_mut(channel)?;
        if std::mem::replace(&mut place.is_archived, true) {
            return Err(api_error("already_archived"));
        }
        let kind = format!("{}_archive", place.kind.event_prefix());
        let event = json!({ "type": kind, "channel": channel, "user": user, "is_moved": 0 });
        self.emit_in_channel(channel, event);
        self.post_system_message(
            channel,
            user,
            "channel_archive",
            "archived the channel".to_owned(),
            &[],
        )
    }

    pub fn unarchive(&mut self, channel: &str, user: &str) -> Result<(), ApiError> {
        let place = self.channel_mut(channel)?;
        if !std::mem::replace(&mut place.is_archived, false) {
            return Err(api_error("not_archived"));
        }
        let kind = format!("{}_unarchive", place.kind.event_prefix());
        self.emit_in_channel(channel, json!({ "type": kind, "channel": channel, "user": user }));
        self.post_system_message(
            channel,
            user,
            "channel_unarchive",
            "unarchived the channel".to_owned(),
            &[],
        )
    }

    /// Slack tells of it by a message only.
    pub fn make_private(&mut self, channel: &str, user: &str) -> Result<(), ApiError> {
        let place = self.channel_mut(channel)?;
        if place.kind != ChannelKind::Public {
            return Err(api_error("method_not_supported_for_channel_type"));
        }
        place.kind = ChannelKind::Private;
        let text = "made this channel *private*.".to_owned();
        self.post_system_message(channel, user, "channel_convert_to_private", text, &[])
    }

    pub fn delete_channel(&mut self, channel: &str, user: &str) -> Result<(), ApiError> {
        let kind = format!("{}_deleted", self.channel(channel)?.kind.event_prefix());
        self.emit_in_channel(
            channel,
            json!({ "type": kind, "channel": channel, "actor_id": user }),
        );
        self.channels.remove(channel);
        Ok(())
    }

    /// A line that Slack writes about a channel.
    fn post_system_message(
        &mut self,
        channel: &str,
        user: &str,
        subtype: &str,
        text: String,
        more: &[(&str, Value)],
    ) -> Result<(), ApiError> {
        if self.channel(channel)?.kind == ChannelKind::Direct {
            return Ok(());
        }
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let message = FakeMessage {
            ts: self.new_ts(),
            user: Some(user.to_owned()),
            subtype: Some(subtype.to_owned()),
            text,
            extra_fields: Map::from_iter(more),
            ..FakeMessage::default()
        };
        self.insert_message(channel, message, true).map(|_| ())
    }
}

/// Whether something was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenOutcome {
    Created,
    Existing,
}
