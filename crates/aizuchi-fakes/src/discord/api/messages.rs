//! What the app says, changes and takes back.

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::channel::message::{AllowedMentions, Embed, MentionType, MessageFlags};
use twilight_model::guild::Permissions;

use crate::discord::Settings;
use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::api::history::told;
use crate::discord::channel::Channel;
use crate::discord::id::{ChannelId, MessageId, made_at};
use crate::discord::journal::Post;
use crate::discord::mention::everything;
use crate::discord::message::{Author, Kind, Message, Reference, Telling};
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::state::State;
use crate::discord::talk::Place;
use crate::discord::world::World;

/// A message that the app writes.
#[derive(Deserialize)]
pub struct Written {
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    embeds: Option<Vec<Embed>>,
    #[serde(default)]
    components: Option<Vec<Value>>,
    #[serde(default)]
    sticker_ids: Option<Vec<Value>>,
    #[serde(default)]
    attachments: Option<Vec<Value>>,
    #[serde(default)]
    poll: Option<Value>,
    #[serde(default)]
    pub allowed_mentions: Option<AllowedMentions>,
    #[serde(default)]
    message_reference: Option<Target>,
    #[serde(default)]
    nonce: Option<Value>,
    #[serde(default)]
    enforce_nonce: bool,
    #[serde(default)]
    flags: Option<u64>,
}

/// The message that it answers.
#[derive(Deserialize)]
struct Target {
    message_id: MessageId,
    #[serde(default)]
    channel_id: Option<ChannelId>,
    #[serde(default = "yes")]
    fail_if_not_exists: bool,
}

fn yes() -> bool {
    true
}

impl Written {
    /// Refuses what no message may be.
    pub fn check(&self) -> Result<(), Refusal> {
        if let Some(content) = &self.content {
            twilight_validate::message::content(content).map_err(|_| {
                let message = "Must be 2000 or fewer in length.";
                Refusal::of_field("content", "BASE_TYPE_MAX_LENGTH", message)
            })?;
        }
        let embeds = self.embeds.as_deref().unwrap_or_default();
        twilight_validate::message::embeds(embeds).map_err(|error| {
            Refusal::of_field("embeds", "BASE_TYPE_BAD_LENGTH", &error.to_string())
        })?;
        self.allowed_mentions.as_ref().map_or(Ok(()), check_mentions)?;
        match &self.nonce {
            Some(Value::String(nonce)) if nonce.chars().count() > 25 => {
                let message = "Must be 25 or fewer in length.";
                Err(Refusal::of_field("nonce", "BASE_TYPE_MAX_LENGTH", message))
            }
            None | Some(Value::String(_) | Value::Number(_) | Value::Null) => Ok(()),
            Some(_) => Err(Refusal::of_field("nonce", "NONCE_TYPE", "Invalid nonce.")),
        }
    }

    /// Nothing at all would be seen.
    pub fn is_empty(&self) -> bool {
        let is_there = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|one| !one.is_empty());
        let is_said = self.content.as_ref().is_some_and(|content| !content.trim().is_empty());
        let is_embedded = self.embeds.as_ref().is_some_and(|embeds| !embeds.is_empty());
        let is_attached = [&self.components, &self.sticker_ids, &self.attachments];
        let is_attached = is_attached.into_iter().any(is_there) || self.poll.is_some();
        !is_said && !is_embedded && !is_attached
    }

    pub fn allowed(&self) -> AllowedMentions {
        self.allowed_mentions.clone().unwrap_or_else(everything)
    }

    pub fn compose(&self, world: &World, channel: ChannelId, id: MessageId) -> Message {
        let text = self.content.as_deref().unwrap_or_default();
        let mut message = Message::new(id, Author::User(world.me), text);
        let embeds = self.embeds.iter().flatten().map(|embed| json!(embed));
        message.embeds = embeds.collect();
        message.components = self.components.clone().unwrap_or_default();
        message.nonce = self.nonce.clone().filter(|nonce| !nonce.is_null());
        message.flags = MessageFlags::from_bits_truncate(self.flags.unwrap_or(0));
        if let Some(target) = &self.message_reference {
            let known = world.message(channel, target.message_id).is_ok();
            if known {
                message.kind = Kind::Reply;
                message.reference = Some(Reference { channel, message: Some(target.message_id) });
            }
        }
        world.name_mentions(channel, &mut message, &self.allowed());
        message
    }

    fn check_target(&self, world: &World, channel: &Channel) -> Result<(), Refusal> {
        let Some(target) = &self.message_reference else {
            return Ok(());
        };
        if !world.may(world.me, channel, Permissions::READ_MESSAGE_HISTORY) {
            return Err(Reason::ReplyWithoutHistory.into());
        }
        let refused =
            |code: &str, message: &str| Err(Refusal::of_field("message_reference", code, message));
        let elsewhere = target.channel_id.is_some_and(|other| other != channel.id);
        match channel.messages.get(&target.message_id) {
            Some(message) if message.kind.is_system() => refused(
                "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
                "Cannot reply to a system message",
            ),
            Some(_) if !elsewhere => Ok(()),
            _ if target.fail_if_not_exists => refused("REPLIES_UNKNOWN_MESSAGE", "Unknown message"),
            _ => Ok(()),
        }
    }
}

/// One may name people or allow all of them, not both.
fn check_mentions(allowed: &AllowedMentions) -> Result<(), Refusal> {
    let both = |sort, is_empty: bool| allowed.parse.contains(&sort) && !is_empty;
    for (name, is_both) in [
        ("users", both(MentionType::Users, allowed.users.is_empty())),
        ("roles", both(MentionType::Roles, allowed.roles.is_empty())),
    ] {
        if is_both {
            let message =
                format!("parse:[\"{name}\"] and {name}: [ids...] are mutually exclusive.");
            return Err(Refusal::of_field(
                "allowed_mentions",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                &message,
            ));
        }
    }
    Ok(())
}

/// Refuses where the app may not speak.
pub fn check_place(world: &World, id: ChannelId) -> Result<&Channel, Refusal> {
    let channel = world.require(world.me, id, Permissions::VIEW_CHANNEL)?;
    if !channel.is_text() {
        return Err(Reason::NotATextChannel.into());
    }
    let needed = match &channel.thread {
        Some(thread) if thread.is_locked => return Err(Reason::ThreadLocked.into()),
        Some(_) => Permissions::SEND_MESSAGES_IN_THREADS,
        None => Permissions::SEND_MESSAGES,
    };
    let recipient = channel.recipient.and_then(|user| world.users.get(&user));
    if recipient.is_some_and(|user| user.is_closed) {
        return Err(Reason::CannotSendToUser.into());
    }
    world.require(world.me, id, needed)
}

pub fn create(state: &mut State, settings: &Settings, asked: &Asked) -> Result<Answer, Refusal> {
    let world = &mut state.world;
    let id: ChannelId = asked.id("channel")?;
    let written: Written = asked.read()?;
    let channel = check_place(world, id)?;
    written.check()?;
    if written.is_empty() {
        return Err(Reason::EmptyMessage.into());
    }
    written.check_target(world, channel)?;
    let nonce = written.nonce.as_ref().filter(|nonce| !nonce.is_null());
    if let Some(nonce) = nonce.filter(|_| written.enforce_nonce)
        && let Some(known) = world.nonces.of(nonce, world.now(), settings.nonce_life)
    {
        // Said already. If it is gone meanwhile, so is the answer.
        return known_message(world, known, nonce);
    }
    let new: MessageId = world.new_id();
    let message = written.compose(world, id, new);
    if let Some(nonce) = nonce {
        let place = Place { channel: id, message: new };
        let now = world.now();
        world.nonces.keep(nonce, place, now);
    }
    let (text, at) = (message.content.clone(), world.now());
    world.put(id, message, Telling::Told)?;
    let body = asked.body.clone();
    state.journal.posts.push(Post { channel: id, id: new, text, body, at });
    known_message(&state.world, Place { channel: id, message: new }, nonce.unwrap_or(&Value::Null))
}

fn known_message(world: &World, place: Place, nonce: &Value) -> Result<Answer, Refusal> {
    let channel = world.channel(place.channel)?;
    let message = world.message(place.channel, place.message)?;
    let mut shape = told(world, channel, message);
    if !nonce.is_null() {
        shape["nonce"] = nonce.clone();
    }
    Ok(Answer::of(shape))
}

/// The place of a request, if the app sees it.
pub fn asked_place(world: &World, asked: &Asked) -> Result<Place, Refusal> {
    let place = Place { channel: asked.id("channel")?, message: asked.id("message")? };
    world.require(world.me, place.channel, Permissions::VIEW_CHANNEL)?;
    world.message(place.channel, place.message)?;
    Ok(place)
}

pub fn change(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = asked_place(world, asked)?;
    let written: Written = asked.read()?;
    written.check()?;
    let channel = world.channel(place.channel)?;
    if channel.is_archived() {
        return Err(Reason::ThreadArchived.into());
    }
    let message = world.message(place.channel, place.message)?;
    if !message.is_by(world.me) {
        return Err(Reason::NotTheAuthor.into());
    }
    let text = written.content.clone().unwrap_or_else(|| message.content.clone());
    if text.trim().is_empty() && message.embeds.is_empty() && written.is_empty() {
        return Err(Reason::EmptyMessage.into());
    }
    world.edit(place, &text, &written.allowed())?;
    let channel = world.channel(place.channel)?;
    Ok(Answer::of(told(world, channel, world.message(place.channel, place.message)?)))
}

pub fn delete(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = asked_place(world, asked)?;
    let is_own = world.message(place.channel, place.message)?.is_by(world.me);
    if !is_own {
        world.require(world.me, place.channel, Permissions::MANAGE_MESSAGES)?;
    }
    if world.channel(place.channel)?.is_archived() {
        return Err(Reason::ThreadArchived.into());
    }
    world.delete(place)?;
    Ok(Answer::nothing())
}

pub fn delete_bulk(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    #[derive(Deserialize)]
    struct Chosen {
        messages: Vec<MessageId>,
    }
    /// How old they may be.
    const OLDEST: SignedDuration = SignedDuration::from_hours(14 * 24);
    let id: ChannelId = asked.id("channel")?;
    let chosen: Chosen = asked.read()?;
    let channel = world.require(world.me, id, Permissions::MANAGE_MESSAGES)?;
    if channel.kind == ChannelType::Private {
        return Err(Reason::WrongChannelType.into());
    }
    if !(2..=100).contains(&chosen.messages.len()) {
        return Err(Reason::TooFewOrTooMany.into());
    }
    let now = world.now();
    if chosen.messages.iter().any(|one| now.duration_since(made_at(*one)) > OLDEST) {
        return Err(Reason::TooOldToDelete.into());
    }
    world.delete_bulk(id, &chosen.messages)?;
    Ok(Answer::nothing())
}
