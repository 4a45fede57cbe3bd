//! Channels and threads as such.

use serde::Deserialize;
use serde_json::Value;
use twilight_model::guild::Permissions;

use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::id::ChannelId;
use crate::discord::permission::Whom;
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::world::World;

pub fn channel(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let channel = world.require(world.me, asked.id("channel")?, Permissions::VIEW_CHANNEL)?;
    Ok(Answer::of(world.channel_shape(channel)))
}

/// Names, topics, and whether a thread is archived or locked.
pub fn change(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    let channel = world.require(world.me, id, Permissions::VIEW_CHANNEL)?;
    let is_own_thread = channel.thread.as_ref().is_some_and(|one| one.owner == world.me);
    let needed = match (&channel.thread, is_own_thread) {
        (Some(_), true) => Permissions::SEND_MESSAGES_IN_THREADS,
        (Some(_), false) => Permissions::MANAGE_THREADS,
        (None, _) => Permissions::MANAGE_CHANNELS,
    };
    world.require(world.me, id, needed)?;
    if let Some(name) = asked.body["name"].as_str() {
        twilight_validate::channel::name(name).map_err(|error| {
            Refusal::of_field("name", "BASE_TYPE_BAD_LENGTH", &error.to_string())
        })?;
    }
    let body = asked.body.clone();
    world.change_channel(id, |channel| {
        if let Some(name) = body["name"].as_str() {
            name.clone_into(&mut channel.name);
        }
        if let Some(topic) = body.get("topic") {
            channel.topic = topic.as_str().map(str::to_owned);
        }
        if let Some(thread) = &mut channel.thread {
            let set = |value: &Value, field: &mut bool| {
                *field = value.as_bool().unwrap_or(*field);
            };
            set(&body["archived"], &mut thread.is_archived);
            set(&body["locked"], &mut thread.is_locked);
        }
    })?;
    Ok(Answer::of(world.channel_shape(world.channel(id)?)))
}

pub fn delete(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    let channel = world.require(world.me, id, Permissions::VIEW_CHANNEL)?;
    let shape = world.channel_shape(channel);
    let needed = match channel.thread {
        Some(_) => Permissions::MANAGE_THREADS,
        None => Permissions::MANAGE_CHANNELS,
    };
    world.require(world.me, id, needed)?;
    world.delete_channel(id)?;
    Ok(Answer::of(shape))
}

pub fn start_typing(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    let channel = world.require(world.me, id, Permissions::VIEW_CHANNEL)?;
    let needed = match channel.thread {
        Some(_) => Permissions::SEND_MESSAGES_IN_THREADS,
        None => Permissions::SEND_MESSAGES,
    };
    world.require(world.me, id, needed)?;
    world.type_in(id, world.me)?;
    Ok(Answer::nothing())
}

/// What a channel's rule says of a role or a member.
#[derive(Deserialize)]
struct Ruled {
    #[serde(default = "Permissions::empty")]
    allow: Permissions,
    #[serde(default = "Permissions::empty")]
    deny: Permissions,
    /// 0 is a role, 1 a member.
    #[serde(rename = "type")]
    kind: u8,
}

pub fn rule(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    let Ruled { allow, deny, kind } = asked.read()?;
    let mine = world.permissions(world.me, world.require(world.me, id, Permissions::MANAGE_ROLES)?);
    // Nobody gives what they have not.
    if !mine.contains(allow | deny) {
        return Err(Reason::MissingPermissions.into());
    }
    let whom = match kind {
        0 => Whom::Role(asked.id("overwrite")?),
        1 => Whom::Member(asked.id("overwrite")?),
        _ => {
            let message = "Value must be one of {0, 1}.";
            return Err(Refusal::of_field("type", "BASE_TYPE_CHOICES", message));
        }
    };
    world.overwrite(id, whom, allow, deny)?;
    Ok(Answer::nothing())
}

pub fn forget_rule(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let id: ChannelId = asked.id("channel")?;
    world.require(world.me, id, Permissions::MANAGE_ROLES)?;
    let nothing = Permissions::empty();
    // Roles and members share their numbers' space.
    world.overwrite(id, Whom::Role(asked.id("overwrite")?), nothing, nothing)?;
    Ok(Answer::nothing())
}
