//! Methods about reactions.

use serde_json::{Value, json};

use crate::slack::api::chat::link;
use crate::slack::arguments::Arguments;
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::workspace::{Place, Workspace};

pub fn add(team: &mut Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let (place, bot) = (place(team, arguments)?, team.bot_user.clone());
    if team.channel(&place.channel)?.is_archived {
        return Err(refuse("is_archived"));
    }
    team.react(&place, &bot, name(arguments)?)?;
    Ok(json!({ "ok": true }))
}

pub fn remove(team: &mut Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let (place, bot) = (place(team, arguments)?, team.bot_user.clone());
    team.unreact(&place, &bot, name(arguments)?)?;
    Ok(json!({ "ok": true }))
}

pub fn list(team: &Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let place = place(team, arguments)?;
    let thread = team.message(&place.channel, place.ts)?.thread;
    let mut message = team.shape_of(&place)?;
    message["permalink"] =
        json!(link(team, &place.channel, place.ts, thread.filter(|thread| *thread != place.ts)));
    let channel = place.channel;
    Ok(json!({ "ok": true, "type": "message", "channel": channel, "message": message }))
}

fn place(team: &Workspace, arguments: &Arguments) -> Result<Place, Refusal> {
    let channel = arguments.required("channel", "no_item_specified")?;
    team.joined_channel(channel)?;
    let ts = arguments.required_ts("timestamp", "bad_timestamp")?;
    team.message(channel, ts)?;
    Ok(Place { channel: channel.to_owned(), ts })
}

/// Small letters, digits and a few signs, and maybe a skin tone.
fn name(arguments: &Arguments) -> Result<&str, Refusal> {
    let name = arguments.required("name", "invalid_name")?.trim_matches(':');
    let is_letter = |letter: char| {
        letter.is_alphanumeric() && !letter.is_uppercase()
            || matches!(letter, '_' | '-' | '+' | ':' | '\'')
    };
    if name.is_empty() || !name.chars().all(is_letter) {
        return Err(refuse("invalid_name"));
    }
    Ok(name)
}
