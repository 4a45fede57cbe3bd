//! Guilds, their channels, roles and members.

use serde_json::{Value, json};
use twilight_model::gateway::Intents;

use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::guild::{Guild, Role};
use crate::discord::id::{GuildId, UserId};
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::world::World;

/// The guild of a request, if the app is in it.
fn asked_guild<'a>(world: &'a World, asked: &Asked) -> Result<&'a Guild, Refusal> {
    let guild = world.guild(asked.id("guild")?)?;
    match guild.members.contains_key(&world.me) {
        true => Ok(guild),
        false => Err(Reason::UnknownGuild.into()),
    }
}

pub fn guild(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let guild = asked_guild(world, asked)?;
    let mut shape = guild.shape();
    if asked.query("with_counts") == Some("true") {
        shape["approximate_member_count"] = json!(guild.members.len());
        shape["approximate_presence_count"] = json!(0);
    }
    Ok(Answer::of(shape))
}

/// All its channels, hidden ones too, without the threads.
pub fn channels(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let guild = asked_guild(world, asked)?.id;
    let channels = world.channels.values();
    let rooms = channels.filter(|channel| channel.guild == Some(guild) && channel.thread.is_none());
    Ok(Answer::of(rooms.map(|room| world.channel_shape(room)).collect()))
}

pub fn active_threads(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let guild = asked_guild(world, asked)?.id;
    let threads = world.active_threads(|channel| channel.guild == Some(guild));
    let members = world.my_memberships(&threads);
    let threads: Vec<Value> = threads.iter().map(|thread| world.channel_shape(thread)).collect();
    Ok(Answer::of(json!({ "threads": threads, "members": members })))
}

pub fn roles(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    Ok(Answer::of(asked_guild(world, asked)?.roles.values().map(Role::shape).collect()))
}

pub fn emojis(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    Ok(Answer::of(json!(asked_guild(world, asked)?.emojis)))
}

/// All members, if the app may know them all.
pub fn members(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let guild = asked_guild(world, asked)?;
    if !world.privileged.contains(Intents::GUILD_MEMBERS) {
        return Err(Reason::MissingAccess.into());
    }
    let after: Option<UserId> = asked.query_id("after")?;
    let ids = guild.members.keys().filter(|id| after.is_none_or(|after| **id > after));
    let shapes = ids.take(asked.limit(1, 1000)?).map(|id| world.member_shape(guild.id, *id));
    Ok(Answer::of(shapes.collect::<Result<Value, Refusal>>()?))
}

/// Members whose names begin so.
pub fn search(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let guild = asked_guild(world, asked)?;
    let query = asked.query("query").unwrap_or_default().to_lowercase();
    let is_named = |id: &&UserId| {
        let user = world.users.get(id);
        let nick = guild.members.get(id).and_then(|member| member.nick.as_deref());
        let names = [user.map(|user| user.name.as_str()), user.map(|user| user.shown()), nick];
        names.into_iter().flatten().any(|name| name.to_lowercase().starts_with(&query))
    };
    let ids = guild.members.keys().filter(is_named).take(asked.limit(1, 1000)?);
    let shapes = ids.map(|id| world.member_shape(guild.id, *id));
    Ok(Answer::of(shapes.collect::<Result<Value, Refusal>>()?))
}

pub fn member(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let guild = asked_guild(world, asked)?.id;
    let user: UserId = match asked.part("user") {
        "@me" => world.me,
        _ => asked.id("user")?,
    };
    Ok(Answer::of(world.member_shape(guild, user)?))
}

pub fn change_my_member(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let guild: GuildId = asked_guild(world, asked)?.id;
    let nick = asked.body["nick"].as_str().map(str::to_owned);
    if let Some(nick) = &nick {
        twilight_validate::request::nickname(nick).map_err(|error| {
            Refusal::of_field("nick", "BASE_TYPE_BAD_LENGTH", &error.to_string())
        })?;
    }
    let me = world.me;
    world.change_member(guild, me, |member| member.nick = nick)?;
    Ok(Answer::of(world.member_shape(guild, me)?))
}
