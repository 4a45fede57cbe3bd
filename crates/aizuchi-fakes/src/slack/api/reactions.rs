//! Methods about reactions.

use serde_json::{Value, json};

use crate::slack::api::chat::message_link;
use crate::slack::api_error::{ApiError, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::workspace::{MessageKey, Workspace};

pub fn add(team: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let (place, bot) = (target_message(team, arguments)?, team.bot_user.clone());
    if team.channel(&place.channel)?.is_archived {
        return Err(api_error("is_archived"));
    }
    team.add_reaction(&place, &bot, reaction_name(arguments)?)?;
    Ok(json!({ "ok": true }))
}

pub fn remove(team: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let (place, bot) = (target_message(team, arguments)?, team.bot_user.clone());
    team.remove_reaction(&place, &bot, reaction_name(arguments)?)?;
    Ok(json!({ "ok": true }))
}

pub fn list(team: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let place = target_message(team, arguments)?;
    let thread = team.message(&place.channel, place.ts)?.thread;
    let mut message = team.message_json_at(&place)?;
    message["permalink"] = json!(message_link(
        team,
        &place.channel,
        place.ts,
        thread.filter(|thread| *thread != place.ts)
    ));
    let channel = place.channel;
    Ok(json!({ "ok": true, "type": "message", "channel": channel, "message": message }))
}

fn target_message(team: &Workspace, arguments: &Arguments) -> Result<MessageKey, ApiError> {
    let channel = arguments.required("channel", "no_item_specified")?;
    team.joined_channel(channel)?;
    let ts = arguments.required_ts("timestamp", "bad_timestamp")?;
    team.message(channel, ts)?;
    Ok(MessageKey { channel: channel.to_owned(), ts })
}

/// Small letters, digits and a few signs, and maybe a skin tone.
fn reaction_name(arguments: &Arguments) -> Result<&str, ApiError> {
    let name = arguments.required("name", "invalid_name")?.trim_matches(':');
    let is_letter = |letter: char| {
        letter.is_alphanumeric() && !letter.is_uppercase()
            || matches!(letter, '_' | '-' | '+' | ':' | '\'')
    };
    if name.is_empty() || !name.chars().all(is_letter) {
        return Err(api_error("invalid_name"));
    }
    Ok(name)
}
