//! Channels and threads as such.

use serde_json::Value;
use twilight_model::guild::Permissions;

use crate::dev::discord::api::Asked;
use crate::dev::discord::api::body::Answer;
use crate::dev::discord::id::ChannelId;
use crate::dev::discord::refusal::Refusal;
use crate::dev::discord::world::World;

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
