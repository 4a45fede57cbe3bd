//! Methods that say something, or change what was said.

use serde_json::{Value, json};

use crate::slack::api_error::{ApiError, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::journal::RecordedPost;
use crate::slack::message::{EditInfo, FakeMessage, rich_text_blocks};
use crate::slack::state::FakeSlackState;
use crate::slack::ts::Ts;
use crate::slack::user::merge_fields;
use crate::slack::workspace::{EphemeralMessage, MessageKey, Workspace};

/// Longer texts are cut.
const MAX_TEXT_CHARS: usize = 40_000;

pub fn post(state: &mut FakeSlackState, arguments: &Arguments) -> Result<Value, ApiError> {
    let team = &mut state.workspace;
    let channel = resolve_channel(team, arguments)?;
    let mut message = compose_message(team, arguments)?;
    message.ts = team.new_ts();
    let is_cut = message.text.chars().count() > MAX_TEXT_CHARS;
    message.text = message.text.chars().take(MAX_TEXT_CHARS).collect();
    if message.blocks.is_none() && !message.text.is_empty() {
        message.blocks = Some(rich_text_blocks(&message.text));
    }
    let ts = team.insert_message(&channel, message, true)?;
    let message = team.message(&channel, ts)?;
    state.journal.posts.push(RecordedPost {
        channel: channel.clone(),
        ts,
        thread: message.thread,
        text: message.text.clone(),
        arguments: Value::Object(arguments.0.clone()),
        at: team.now(),
    });
    let shape = team.message_json(team.channel(&channel)?, message);
    let mut answer = json!({ "ok": true, "channel": channel, "ts": ts, "message": shape });
    if is_cut {
        let warning = "message_truncated";
        let sentence = format!("[WARN] A message must be less than {MAX_TEXT_CHARS} characters");
        let metadata = json!({ "warnings": [warning], "messages": [sentence] });
        merge_fields(&mut answer, json!({ "warning": warning, "response_metadata": metadata }));
    }
    Ok(answer)
}

/// The channel that is meant: by its id or name, or a person's direct message.
fn resolve_channel(team: &mut Workspace, arguments: &Arguments) -> Result<String, ApiError> {
    let named = arguments.required("channel", "channel_not_found")?;
    if team.users.contains_key(named) {
        return Ok(team.open_direct_message(named)?.0);
    }
    let name = named.strip_prefix('#').unwrap_or(named);
    let by_name = team.channels.values().find(|channel| channel.name == name && !name.is_empty());
    let id = by_name.map_or(named, |channel| &channel.id).to_owned();
    let channel = team.joined_channel(&id)?;
    if channel.is_archived {
        return Err(api_error("is_archived"));
    }
    Ok(id)
}

/// What the bot wants to say.
fn compose_message(team: &Workspace, arguments: &Arguments) -> Result<FakeMessage, ApiError> {
    let blocks = arguments.json("blocks", "invalid_blocks_format")?;
    let attachments = arguments.json("attachments", "invalid_attachments")?;
    let text = arguments.text("text").unwrap_or_default();
    if text.is_empty() && blocks.is_none() && attachments.is_none() {
        return Err(api_error("no_text"));
    }
    let thread = arguments.ts("thread_ts", "invalid_thread_ts")?;
    let is_broadcast = thread.is_some() && arguments.is_true("reply_broadcast");
    Ok(FakeMessage {
        user: Some(team.bot_user.clone()),
        bot_id: Some(team.bot.id.clone()),
        app_id: Some(team.bot.app_id.clone()),
        text: text.to_owned(),
        thread,
        subtype: is_broadcast.then(|| "thread_broadcast".to_owned()),
        client_msg_id: arguments.text("client_msg_id").map(str::to_owned),
        blocks,
        attachments: attachments.and_then(|list| list.as_array().cloned()).unwrap_or_default(),
        metadata: parse_metadata(arguments)?,
        ..FakeMessage::default()
    })
}

fn parse_metadata(arguments: &Arguments) -> Result<Option<Value>, ApiError> {
    let metadata = arguments.json("metadata", "invalid_metadata_format")?;
    let is_valid = |metadata: &Value| {
        metadata["event_type"].is_string() && metadata["event_payload"].is_object()
    };
    match metadata {
        Some(metadata) if !is_valid(&metadata) => Err(api_error("invalid_metadata_schema")),
        metadata => Ok(metadata),
    }
}

/// A message of the bot's own.
fn own_message(
    team: &Workspace,
    arguments: &Arguments,
    error: &str,
) -> Result<MessageKey, ApiError> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let ts = arguments.required_ts("ts", "message_not_found")?;
    team.visible_channel(channel)?;
    let author = team.message(channel, ts)?.user.as_ref();
    if author != Some(&team.bot_user) {
        return Err(api_error(error));
    }
    Ok(MessageKey { channel: channel.to_owned(), ts })
}

pub fn update(team: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let place = own_message(team, arguments, "cant_update_message")?;
    if team.channel(&place.channel)?.is_archived {
        return Err(api_error("is_archived"));
    }
    let new = compose_message(team, arguments)?;
    if new.text.chars().count() > MAX_TEXT_CHARS {
        return Err(api_error("msg_too_long"));
    }
    let edited = EditInfo { user: team.bot_user.clone(), ts: team.new_ts() };
    team.update_message(&place, |message| {
        message.blocks = new.blocks.or_else(|| Some(rich_text_blocks(&new.text)));
        message.text = new.text;
        message.attachments = new.attachments;
        message.metadata = new.metadata.or(message.metadata.take());
        message.edited = Some(edited);
    })?;
    let changed = team.message(&place.channel, place.ts)?;
    let message = team.message_json(team.channel(&place.channel)?, changed);
    let text = message["text"].clone();
    let channel = place.channel;
    Ok(json!({ "ok": true, "channel": channel, "ts": place.ts, "text": text, "message": message }))
}

pub fn delete(team: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let place = own_message(team, arguments, "cant_delete_message")?;
    team.delete_message(&place)?;
    Ok(json!({ "ok": true, "channel": place.channel, "ts": place.ts }))
}

pub fn post_ephemeral(team: &mut Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let place = team.joined_channel(channel)?;
    if place.is_archived {
        return Err(api_error("is_archived"));
    }
    let user = arguments.required("user", "no_user_specified")?;
    if !place.members.contains(user) {
        return Err(api_error("user_not_in_channel"));
    }
    let message = compose_message(team, arguments)?;
    let ts = team.new_ts();
    team.ephemeral.push(EphemeralMessage {
        channel: channel.to_owned(),
        user: user.to_owned(),
        thread: message.thread,
        ts,
        text: message.text,
    });
    Ok(json!({ "ok": true, "message_ts": ts }))
}

pub fn permalink(team: &Workspace, arguments: &Arguments) -> Result<Value, ApiError> {
    let channel = arguments.required("channel", "channel_not_found")?;
    team.visible_channel(channel)?;
    let ts = arguments.required_ts("message_ts", "message_not_found")?;
    let thread = team.message(channel, ts)?.thread.filter(|thread| *thread != ts);
    let permalink = message_link(team, channel, ts, thread);
    Ok(json!({ "ok": true, "channel": channel, "permalink": permalink }))
}

/// A message's address.
pub fn message_link(team: &Workspace, channel: &str, ts: Ts, thread: Option<Ts>) -> String {
    let address = format!(
        "https://{}.slack.com/archives/{channel}/p{}",
        team.domain,
        ts.to_string().replace('.', "")
    );
    thread.map_or(address.clone(), |thread| format!("{address}?thread_ts={thread}&cid={channel}"))
}
