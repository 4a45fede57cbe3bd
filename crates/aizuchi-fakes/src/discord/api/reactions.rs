//! Reactions.

use serde_json::Value;
use twilight_model::guild::Permissions;

use crate::discord::api::Asked;
use crate::discord::api::body::Answer;
use crate::discord::api::messages::asked_place;
use crate::discord::guild::User;
use crate::discord::id::UserId;
use crate::discord::message::Emoji;
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::world::World;

/// Who reacted with an emoji.
pub fn list(world: &World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = asked_place(world, asked)?;
    let emoji = emoji(asked)?;
    let limit = asked.limit(25, 100)?;
    let after: Option<UserId> = asked.query_id("after")?;
    let reactions = &world.message(place.channel, place.message)?.reactions;
    let found = reactions.iter().find(|reaction| reaction.emoji == emoji);
    let mut users = found.map(|reaction| reaction.users.clone()).unwrap_or_default();
    users.sort();
    users.retain(|user| after.is_none_or(|after| *user > after));
    let users = users.iter().filter_map(|user| world.users.get(user));
    Ok(Answer::of(users.take(limit).map(User::shape).collect::<Vec<Value>>().into()))
}

pub fn create(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = asked_place(world, asked)?;
    let emoji = emoji(asked)?;
    let channel = world.require(world.me, place.channel, Permissions::READ_MESSAGE_HISTORY)?;
    if channel.is_archived() {
        return Err(Reason::ThreadArchived.into());
    }
    let reactions = &world.message(place.channel, place.message)?.reactions;
    if !reactions.iter().any(|reaction| reaction.emoji == emoji) {
        // To join in with others needs no permission.
        world.require(world.me, place.channel, Permissions::ADD_REACTIONS)?;
    }
    world.react(place, world.me, &emoji)?;
    Ok(Answer::nothing())
}

pub fn delete_mine(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = asked_place(world, asked)?;
    world.unreact(place, world.me, &emoji(asked)?)?;
    Ok(Answer::nothing())
}

pub fn delete(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = asked_place(world, asked)?;
    world.require(world.me, place.channel, Permissions::MANAGE_MESSAGES)?;
    world.unreact(place, asked.id("user")?, &emoji(asked)?)?;
    Ok(Answer::nothing())
}

pub fn delete_all(world: &mut World, asked: &Asked) -> Result<Answer, Refusal> {
    let place = asked_place(world, asked)?;
    world.require(world.me, place.channel, Permissions::MANAGE_MESSAGES)?;
    world.clear_reactions(place)?;
    Ok(Answer::nothing())
}

/// Discord knows its emoji; a name in letters is none.
fn emoji(asked: &Asked) -> Result<Emoji, Refusal> {
    let emoji = Emoji::read(asked.part("emoji"));
    let is_standard =
        emoji.name.chars().any(|letter| !letter.is_ascii_alphanumeric() && letter != '_');
    match emoji.id.is_some() || is_standard {
        true => Ok(emoji),
        false => Err(Reason::UnknownEmoji.into()),
    }
}
