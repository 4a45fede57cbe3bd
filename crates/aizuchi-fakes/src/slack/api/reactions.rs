//! `reactions.*`.

use serde_json::{Value, json};

use crate::slack::api::chat::message_link;
use crate::slack::api_error::{ApiError, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::workspace::{MessageKey, Workspace};

pub fn add(workspace: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let (key, bot) = (target_message(workspace, arguments)?, workspace.bot_user.clone());
    if workspace.channel(&key.channel)?.is_archived {
        return Err(api_error("is_archived"));
    }
    workspace.add_reaction(&key, &bot, reaction_name(arguments)?)?;
    Ok(json!({ "ok": true }))
}

pub fn remove(workspace: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let (key, bot) = (target_message(workspace, arguments)?, workspace.bot_user.clone());
    workspace.remove_reaction(&key, &bot, reaction_name(arguments)?)?;
    Ok(json!({ "ok": true }))
}

pub fn list(workspace: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let key = target_message(workspace, arguments)?;
    let thread = workspace.message(&key.channel, key.ts)?.thread;
    let mut message = workspace.message_json_at(&key)?;
    message["permalink"] = json!(message_link(
        workspace,
        &key.channel,
        key.ts,
        thread.filter(|thread| *thread != key.ts)
    ));
    let channel = key.channel;
    Ok(json!({ "ok": true, "type": "message", "channel": channel, "message": message }))
}

fn target_message(workspace: &Workspace, arguments: &Arguments) -> Result<MessageKey, ApiError> {
    let channel = arguments.required("channel", "no_item_specified")?;
    workspace.joined_channel(channel)?;
    let ts = arguments.required_ts("timestamp", "bad_timestamp")?;
    workspace.message(channel, ts)?;
    Ok(MessageKey { channel: channel.to_owned(), ts })
}

/// Validates an emoji name: lower-case letters, digits and some symbols, with an optional skin tone.
fn reaction_name(arguments: &Arguments) -> Result<&str, ApiError> {
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
