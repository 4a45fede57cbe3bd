//! The app itself, other people, and the way to the gateway.

use serde_json::{Value, json};
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::discord::Settings;
use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::gateway::base;
use crate::discord::refusal::Refusal;
use crate::discord::state::State;
use crate::discord::world::World;

pub fn gateway(asked: &Asked) -> Answer {
    Answer::of(json!({ "url": base(&asked.host) }))
}

pub fn gateway_bot(state: &mut State, settings: &Settings, asked: &Asked) -> Answer {
    let now = settings.clock.now();
    state.gateway.budget.renew(now);
    let budget = state.gateway.budget;
    Answer::of(json!({
        "url": base(&asked.host),
        "shards": settings.shards,
        "session_start_limit": {
            "total": budget.total,
            "remaining": budget.remaining,
            "reset_after": budget.resets_at.duration_since(now).as_millis().max(0) as u64,
            "max_concurrency": settings.max_concurrency,
        },
    }))
}

pub fn my_guilds(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let limit = asked.limit(200, 200)?;
    let after: Option<Id<GuildMarker>> = asked.query_id("after")?;
    let mine = world.guilds.values().filter(|guild| guild.members.contains_key(&world.me));
    let mine = mine.filter(|guild| after.is_none_or(|after| guild.id > after));
    let shape = |guild: &crate::discord::guild::Guild| {
        json!({
            "id": guild.id,
            "name": guild.name,
            "icon": null,
            "owner": guild.owner == world.me,
            "permissions": world.guild_permissions(world.me, guild.id),
            "features": [],
        })
    };
    Ok(Answer::of(mine.take(limit).map(shape).collect()))
}

pub fn leave_guild(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    world.remove_member(asked.id("guild")?, world.me)?;
    Ok(Answer::nothing())
}

pub fn create_direct(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let user = asked.body["recipient_id"].clone();
    let user = serde_json::from_value(user).map_err(|_| {
        Refusal::of_field("recipient_id", "BASE_TYPE_REQUIRED", "This field is required")
    })?;
    let channel = world.open_direct(user)?;
    Ok(Answer::of(world.channel_shape(world.channel(channel)?)))
}

pub fn user(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let shape: Value = world.user(asked.id("user")?)?.shape();
    Ok(Answer::of(shape))
}
