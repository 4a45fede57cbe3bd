//! The app's slash commands.

use serde_json::{Value, json};
use twilight_model::application::command::Command;

use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::id::GuildId;
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::world::World;

/// For which guild a request is, if for one.
fn place(world: &World, asked: &Asked) -> Result<Option<GuildId>, Refusal> {
    if asked.part("application") != world.application().to_string() {
        return Err(Reason::MissingAccess.into());
    }
    match asked.parts.contains_key("guild") {
        true => Ok(Some(world.guild(asked.id("guild")?)?.id)),
        false => Ok(None),
    }
}

pub fn list(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = place(world, asked)?;
    Ok(Answer::of(json!(world.commands.registered.get(&place).cloned().unwrap_or_default())))
}

pub fn create(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = place(world, asked)?;
    check(&asked.body)?;
    Ok(Answer::of(world.register(place, &asked.body)))
}

/// All commands at once; those that are not among them go.
pub fn set(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = place(world, asked)?;
    let wanted: Vec<Value> = asked.read()?;
    wanted.iter().try_for_each(check)?;
    let is_wanted = |old: &Value| wanted.iter().any(|new| new["name"] == old["name"]);
    world.commands.registered.entry(place).or_default().retain(is_wanted);
    let registered = wanted.iter().map(|command| world.register(place, command));
    Ok(Answer::of(registered.collect()))
}

pub fn delete(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = place(world, asked)?;
    let list = world.commands.registered.entry(place).or_default();
    let found = list.iter().position(|one| one["id"] == asked.part("command"));
    list.remove(found.ok_or(Reason::UnknownCommand)?);
    Ok(Answer::nothing())
}

/// Refuses commands that Discord would not take.
fn check(body: &Value) -> Result<(), Refusal> {
    let mut whole = json!({ "type": 1, "description": "", "version": "1" });
    for (name, value) in body.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    let wrong = |message: &str| Refusal::of_field("name", "APPLICATION_COMMAND_INVALID", message);
    let command: Command =
        serde_json::from_value(whole).map_err(|error| wrong(&error.to_string()))?;
    twilight_validate::command::command(&command).map_err(|error| wrong(&error.to_string()))
}
