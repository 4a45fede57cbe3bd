//! What happens to channels and to who is in them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::slack::channel::{Channel, Kind, NewChannel};
use crate::slack::message::Message;
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::workspace::Workspace;

impl Workspace {
    pub fn add_channel(&mut self, new: NewChannel) -> Result<String, Refusal> {
        for member in &new.members {
            self.user(member)?;
        }
        let id = self.new_id(if new.kind == Kind::Direct { 'D' } else { 'C' });
        let name = match new.kind {
            Kind::Direct => String::new(),
            Kind::Group => self.group_name(&new.members),
            Kind::Public | Kind::Private => new.name,
        };
        let channel = Channel {
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
    pub fn open_direct(&mut self, user: &str) -> Result<(String, Newness), Refusal> {
        self.user(user)?;
        let members = BTreeSet::from([user.to_owned(), self.bot_user.clone()]);
        let known = self
            .channels
            .values()
            .find(|channel| channel.kind == Kind::Direct && channel.members == members);
        if let Some(channel) = known {
            return Ok((channel.id.clone(), Newness::Known));
        }
        let members = vec![user.to_owned(), self.bot_user.clone()];
        let new = NewChannel { kind: Kind::Direct, members, ..NewChannel::default() };
        let id = self.add_channel(new)?;
        let shape = self.channel_shape(self.channel(&id)?);
        self.tell(json!({ "type": "im_created", "user": user, "channel": shape }));
        Ok((id, Newness::New))
    }

    pub fn join(&mut self, channel: &str, user: &str) -> Result<(), Refusal> {
        self.user(user)?;
        let place = self.channel_mut(channel)?;
        if place.is_archived {
            return Err(refuse("is_archived"));
        }
        if !place.members.insert(user.to_owned()) {
            return Err(refuse("already_in_channel"));
        }
        let letter = if place.kind == Kind::Public { "C" } else { "G" };
        let event = json!({
            "type": "member_joined_channel",
            "user": user,
            "channel": channel,
            "channel_type": letter,
            "team": self.id,
        });
        self.tell_of(channel, event);
        self.note(channel, user, "channel_join", format!("<@{user}> has joined the channel"), &[])
    }

    pub fn leave(&mut self, channel: &str, user: &str) -> Result<(), Refusal> {
        let place = self.channel_mut(channel)?;
        if !place.members.remove(user) {
            return Err(refuse("not_in_channel"));
        }
        let (kind, prefix) = (place.kind, place.kind.event_prefix());
        if user == self.bot_user {
            let event = json!({
                "type": format!("{prefix}_left"),
                "channel": channel,
                "actor_id": user,
            });
            self.tell(event);
        }
        let event = json!({
            "type": "member_left_channel",
            "user": user,
            "channel": channel,
            "channel_type": if kind == Kind::Public { "C" } else { "G" },
            "team": self.id,
        });
        self.tell_of(channel, event);
        self.note(channel, user, "channel_leave", format!("<@{user}> has left the channel"), &[])
    }

    pub fn rename_channel(&mut self, channel: &str, user: &str, name: &str) -> Result<(), Refusal> {
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
                "is_channel": kind == Kind::Public,
                "is_mpim": kind == Kind::Group,
            },
        });
        self.tell_of(channel, event);
        let text = format!("has renamed the channel from \"{old}\" to \"{name}\"");
        let more = [("old_name", json!(old)), ("name", json!(name))];
        self.note(channel, user, "channel_name", text, &more)
    }

    pub fn archive(&mut self, channel: &str, user: &str) -> Result<(), Refusal> {
        let place = self.channel_mut(channel)?;
        if std::mem::replace(&mut place.is_archived, true) {
            return Err(refuse("already_archived"));
        }
        let kind = format!("{}_archive", place.kind.event_prefix());
        let event = json!({ "type": kind, "channel": channel, "user": user, "is_moved": 0 });
        self.tell_of(channel, event);
        self.note(channel, user, "channel_archive", "archived the channel".to_owned(), &[])
    }

    pub fn unarchive(&mut self, channel: &str, user: &str) -> Result<(), Refusal> {
        let place = self.channel_mut(channel)?;
        if !std::mem::replace(&mut place.is_archived, false) {
            return Err(refuse("not_archived"));
        }
        let kind = format!("{}_unarchive", place.kind.event_prefix());
        self.tell_of(channel, json!({ "type": kind, "channel": channel, "user": user }));
        self.note(channel, user, "channel_unarchive", "unarchived the channel".to_owned(), &[])
    }

    /// Slack tells of it by a message only.
    pub fn make_private(&mut self, channel: &str, user: &str) -> Result<(), Refusal> {
        let place = self.channel_mut(channel)?;
        if place.kind != Kind::Public {
            return Err(refuse("method_not_supported_for_channel_type"));
        }
        place.kind = Kind::Private;
        let text = "made this channel *private*.".to_owned();
        self.note(channel, user, "channel_convert_to_private", text, &[])
    }

    pub fn delete_channel(&mut self, channel: &str, user: &str) -> Result<(), Refusal> {
        let kind = format!("{}_deleted", self.channel(channel)?.kind.event_prefix());
        self.tell_of(channel, json!({ "type": kind, "channel": channel, "actor_id": user }));
        self.channels.remove(channel);
        Ok(())
    }

    /// A line that Slack writes about a channel.
    fn note(
        &mut self,
        channel: &str,
        user: &str,
        subtype: &str,
        text: String,
        more: &[(&str, Value)],
    ) -> Result<(), Refusal> {
        if self.channel(channel)?.kind == Kind::Direct {
            return Ok(());
        }
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let message = Message {
            ts: self.new_ts(),
            user: Some(user.to_owned()),
            subtype: Some(subtype.to_owned()),
            text,
            more: Map::from_iter(more),
            ..Message::default()
        };
        self.put(channel, message, true).map(|_| ())
    }
}

/// Whether something was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newness {
    New,
    Known,
}
