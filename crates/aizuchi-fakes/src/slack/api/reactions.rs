//! `reactions.*`.

use serde_json::{Value, json};

use crate::slack::api::chat::message_link;
use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::ts::Ts;
use crate::slack::workspace::Workspace;

pub fn add(workspace: &mut Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let (channel, ts) = target_message(workspace, arguments)?;
    let bot = workspace.bot_user.clone();
    if workspace.channel(channel)?.is_archived {
        return Err(api_error("is_archived"));
    }
    workspace.add_reaction(channel, ts, &bot, reaction_name(arguments)?)?;
    Ok(json!({ "ok": true }))
}

pub fn remove(workspace: &mut Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let (channel, ts) = target_message(workspace, arguments)?;
    let bot = workspace.bot_user.clone();
    workspace.remove_reaction(channel, ts, &bot, reaction_name(arguments)?)?;
    Ok(json!({ "ok": true }))
}

pub fn list(workspace: &Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let (channel, ts) = target_message(workspace, arguments)?;
    let thread = workspace.message(channel, ts)?.thread;
    let mut message = workspace.message_json_at(channel, ts)?;
    message["permalink"] =
        json!(message_link(workspace, channel, ts, thread.filter(|thread| *thread != ts)));
    Ok(json!({ "ok": true, "type": "message", "channel": channel, "message": message }))
}

fn target_message<'a>(workspace: &Workspace, arguments: &'a Arguments) -> ApiResult<(&'a str, Ts)> {
    let channel = arguments.required("channel", "no_item_specified")?;
    workspace.joined_channel(channel)?;
    let ts = arguments.required_ts("timestamp", "bad_timestamp")?;
    workspace.message(channel, ts)?;
    Ok((channel, ts))
}

/// Validates an emoji name: lower-case letters, digits and some symbols, with an optional skin tone.
fn reaction_name(arguments: &Arguments) -> ApiResult<&str> {
    let name = arguments.required("name", "invalid_name")?.trim_matches(':');
    let is_valid = |character: char| {
        character.is_alphanumeric() && !character.is_uppercase()
            || matches!(character, '_' | '-' | '+' | ':' | '\'')
    };
    if name.is_empty() || !name.chars().all(is_valid) {
        return Err(api_error("invalid_name"));
    }
    Ok(name)
}
