//! `chat.*`: posts, edits and deletions.

use serde_json::{Value, json};

use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::journal::RecordedPost;
use crate::slack::message::{EditInfo, FakeMessage, rich_text_blocks};
use crate::slack::state::FakeSlackState;
use crate::slack::ts::Ts;
use crate::slack::user::merge_fields;
use crate::slack::workspace::{EphemeralMessage, Workspace};

/// Slack's limit for a text. Longer texts are truncated.
const MAX_TEXT_CHARS: usize = 40_000;
/// The limits of blocks: their number, and the characters of a section's text.
const MAX_BLOCKS: usize = 50;
const MAX_SECTION_CHARS: usize = 3_000;

pub fn post(state: &mut FakeSlackState, arguments: &Arguments) -> ApiResult<Value> {
    let workspace = &mut state.workspace;
    let channel = resolve_channel(workspace, arguments)?;
    let mut message = compose_message(workspace, arguments)?;
    message.ts = workspace.new_ts();
    let is_truncated = message.text.chars().count() > MAX_TEXT_CHARS;
    message.text = message.text.chars().take(MAX_TEXT_CHARS).collect();
    if message.blocks.is_none() && !message.text.is_empty() {
        message.blocks = Some(rich_text_blocks(&message.text));
    }
    let ts = workspace.insert_message(&channel, message, true)?;
    let message = workspace.message(&channel, ts)?;
    state.journal.posts.push(RecordedPost {
        channel: channel.clone(),
        ts,
        thread: message.thread,
        text: message.text.clone(),
        arguments: Value::Object(arguments.0.clone()),
        at: workspace.now(),
    });
    let object = workspace.message_json(workspace.channel(&channel)?, message);
    let mut response = json!({ "ok": true, "channel": channel, "ts": ts, "message": object });
    if is_truncated {
        let warning = "message_truncated";
        let text = format!("[WARN] A message must be less than {MAX_TEXT_CHARS} characters");
        let metadata = json!({ "warnings": [warning], "messages": [text] });
        merge_fields(&mut response, json!({ "warning": warning, "response_metadata": metadata }));
    }
    Ok(response)
}

/// Resolves a channel by id or name, or a user id to the direct message with that user.
fn resolve_channel(workspace: &mut Workspace, arguments: &Arguments) -> ApiResult<String> {
    let name_or_id = arguments.required("channel", "channel_not_found")?;
    if workspace.users.contains_key(name_or_id) {
        return Ok(workspace.open_direct_message(name_or_id)?.0);
    }
    let name = name_or_id.strip_prefix('#').unwrap_or(name_or_id);
    let by_name =
        workspace.channels.values().find(|channel| channel.name == name && !name.is_empty());
    let id = by_name.map_or(name_or_id, |channel| &channel.id).to_owned();
    let channel = workspace.joined_channel(&id)?;
    if channel.is_archived {
        return Err(api_error("is_archived"));
    }
    Ok(id)
}

/// Builds the bot's message from the arguments.
fn compose_message(workspace: &Workspace, arguments: &Arguments) -> ApiResult<FakeMessage> {
    let blocks = arguments.json("blocks", "invalid_blocks_format")?;
    if blocks.as_ref().is_some_and(|blocks| !are_valid(blocks)) {
        return Err(api_error("invalid_blocks"));
    }
    let attachments = arguments.json("attachments", "invalid_attachments")?;
    let text = arguments.text("text").unwrap_or_default();
    if text.is_empty() && blocks.is_none() && attachments.is_none() {
        return Err(api_error("no_text"));
    }
    let thread = arguments.ts("thread_ts", "invalid_thread_ts")?;
    let is_broadcast = thread.is_some() && arguments.is_true("reply_broadcast");
    Ok(FakeMessage {
        user: Some(workspace.bot_user.clone()),
        bot_id: Some(workspace.bot.id.clone()),
        app_id: Some(workspace.bot.app_id.clone()),
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

fn are_valid(blocks: &Value) -> bool {
    let is_section_valid = |block: &Value| {
        let chars = block["text"]["text"].as_str().map_or(0, |text| text.chars().count());
        block["type"] != "section" || (1..=MAX_SECTION_CHARS).contains(&chars)
    };
    let Some(blocks) = blocks.as_array() else { return false };
    blocks.len() <= MAX_BLOCKS && blocks.iter().all(is_section_valid)
}

fn parse_metadata(arguments: &Arguments) -> ApiResult<Option<Value>> {
    let metadata = arguments.json("metadata", "invalid_metadata_format")?;
    let is_valid = |metadata: &Value| {
        metadata["event_type"].is_string() && metadata["event_payload"].is_object()
    };
    match metadata {
        Some(metadata) if !is_valid(&metadata) => Err(api_error("invalid_metadata_schema")),
        metadata => Ok(metadata),
    }
}

/// Resolves a message that the bot itself has posted.
fn own_message<'a>(
    workspace: &Workspace,
    arguments: &'a Arguments,
    error: &str,
) -> ApiResult<(&'a str, Ts)> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let ts = arguments.required_ts("ts", "message_not_found")?;
    workspace.visible_channel(channel)?;
    let author = workspace.message(channel, ts)?.user.as_ref();
    if author != Some(&workspace.bot_user) {
        return Err(api_error(error));
    }
    Ok((channel, ts))
}

pub fn update(workspace: &mut Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let (channel, ts) = own_message(workspace, arguments, "cant_update_message")?;
    if workspace.channel(channel)?.is_archived {
        return Err(api_error("is_archived"));
    }
    let new = compose_message(workspace, arguments)?;
    if new.text.chars().count() > MAX_TEXT_CHARS {
        return Err(api_error("msg_too_long"));
    }
    let edited = EditInfo { user: workspace.bot_user.clone(), ts: workspace.new_ts() };
    workspace.update_message(channel, ts, |message| {
        message.blocks = new.blocks.or_else(|| Some(rich_text_blocks(&new.text)));
        message.text = new.text;
        message.attachments = new.attachments;
        message.metadata = new.metadata.or(message.metadata.take());
        message.edited = Some(edited);
    })?;
    let updated = workspace.message(channel, ts)?;
    let message = workspace.message_json(workspace.channel(channel)?, updated);
    let text = message["text"].clone();
    Ok(json!({ "ok": true, "channel": channel, "ts": ts, "text": text, "message": message }))
}

pub fn delete(workspace: &mut Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let (channel, ts) = own_message(workspace, arguments, "cant_delete_message")?;
    workspace.delete_message(channel, ts)?;
    Ok(json!({ "ok": true, "channel": channel, "ts": ts }))
}

pub fn post_ephemeral(workspace: &mut Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let target = workspace.joined_channel(channel)?;
    if target.is_archived {
        return Err(api_error("is_archived"));
    }
    let user = arguments.required("user", "no_user_specified")?;
    if !target.members.contains(user) {
        return Err(api_error("user_not_in_channel"));
    }
    let message = compose_message(workspace, arguments)?;
    let ts = workspace.new_ts();
    workspace.ephemeral.push(EphemeralMessage {
        channel: channel.to_owned(),
        user: user.to_owned(),
        thread: message.thread,
        ts,
        text: message.text,
    });
    Ok(json!({ "ok": true, "message_ts": ts }))
}

pub fn permalink(workspace: &Workspace, arguments: &Arguments) -> ApiResult<Value> {
    let channel = arguments.required("channel", "channel_not_found")?;
    workspace.visible_channel(channel)?;
    let ts = arguments.required_ts("message_ts", "message_not_found")?;
    let thread = workspace.message(channel, ts)?.thread.filter(|thread| *thread != ts);
    let permalink = message_link(workspace, channel, ts, thread);
    Ok(json!({ "ok": true, "channel": channel, "permalink": permalink }))
}

/// Returns the permalink of a message.
pub fn message_link(workspace: &Workspace, channel: &str, ts: Ts, thread: Option<Ts>) -> String {
    let url = format!(
        "https://{}.slack.com/archives/{channel}/p{}",
        workspace.domain,
        ts.to_string().replace('.', "")
    );
    thread.map_or(url.clone(), |thread| format!("{url}?thread_ts={thread}&cid={channel}"))
}
