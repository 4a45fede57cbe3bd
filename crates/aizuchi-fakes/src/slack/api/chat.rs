//! Methods that say something, or change what was said.

use serde_json::{Value, json};

use crate::slack::arguments::Arguments;
use crate::slack::journal::Post;
use crate::slack::message::{Edited, Message, rich_text};
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::state::State;
use crate::slack::ts::Ts;
use crate::slack::user::extend;
use crate::slack::workspace::{Ephemeral, Place, Workspace};

/// Longer texts are cut.
const LONGEST: usize = 40_000;

pub fn post(state: &mut State, arguments: &Arguments) -> Result<Value, Refusal> {
    let team = &mut state.workspace;
    let channel = addressee(team, arguments)?;
    let mut message = composed(team, arguments)?;
    message.ts = team.new_ts();
    let is_cut = message.text.chars().count() > LONGEST;
    message.text = message.text.chars().take(LONGEST).collect();
    if message.blocks.is_none() && !message.text.is_empty() {
        message.blocks = Some(rich_text(&message.text));
    }
    let ts = team.put(&channel, message, true)?;
    let message = team.message(&channel, ts)?;
    state.journal.posts.push(Post {
        channel: channel.clone(),
        ts,
        thread: message.thread,
        text: message.text.clone(),
        arguments: Value::Object(arguments.0.clone()),
        at: team.now(),
    });
    let shape = team.message_shape(team.channel(&channel)?, message);
    let mut answer = json!({ "ok": true, "channel": channel, "ts": ts, "message": shape });
    if is_cut {
        let warning = "message_truncated";
        let sentence = format!("[WARN] A message must be less than {LONGEST} characters");
        let metadata = json!({ "warnings": [warning], "messages": [sentence] });
        extend(&mut answer, json!({ "warning": warning, "response_metadata": metadata }));
    }
    Ok(answer)
}

/// The channel that is meant: by its id or name, or a person's direct message.
fn addressee(team: &mut Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let named = arguments.required("channel", "channel_not_found")?;
    if team.users.contains_key(named) {
        return Ok(team.open_direct(named)?.0);
    }
    let name = named.strip_prefix('#').unwrap_or(named);
    let by_name = team.channels.values().find(|channel| channel.name == name && !name.is_empty());
    let id = by_name.map_or(named, |channel| &channel.id).to_owned();
    let channel = team.joined_channel(&id)?;
    if channel.is_archived {
        return Err(refuse("is_archived"));
    }
    Ok(id)
}

/// What the bot wants to say.
fn composed(team: &Workspace, arguments: &Arguments) -> Result<Message, Refusal> {
    let blocks = arguments.json("blocks", "invalid_blocks_format")?;
    let attachments = arguments.json("attachments", "invalid_attachments")?;
    let text = arguments.text("text").unwrap_or_default();
    if text.is_empty() && blocks.is_none() && attachments.is_none() {
        return Err(refuse("no_text"));
    }
    let thread = arguments.ts("thread_ts", "invalid_thread_ts")?;
    let is_broadcast = thread.is_some() && arguments.is_set("reply_broadcast");
    Ok(Message {
        user: Some(team.bot_user.clone()),
        bot_id: Some(team.bot.id.clone()),
        app_id: Some(team.bot.app_id.clone()),
        text: text.to_owned(),
        thread,
        subtype: is_broadcast.then(|| "thread_broadcast".to_owned()),
        client_msg_id: arguments.text("client_msg_id").map(str::to_owned),
        blocks,
        attachments: attachments.and_then(|list| list.as_array().cloned()).unwrap_or_default(),
        metadata: metadata(arguments)?,
        ..Message::default()
    })
}

fn metadata(arguments: &Arguments) -> Result<Option<Value>, Refusal> {
    let metadata = arguments.json("metadata", "invalid_metadata_format")?;
    let is_valid = |metadata: &Value| {
        metadata["event_type"].is_string() && metadata["event_payload"].is_object()
    };
    match metadata {
        Some(metadata) if !is_valid(&metadata) => Err(refuse("invalid_metadata_schema")),
        metadata => Ok(metadata),
    }
}

/// A message of the bot's own.
fn own(team: &Workspace, arguments: &Arguments, error: &str) -> Result<Place, Refusal> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let ts = arguments.required_ts("ts", "message_not_found")?;
    team.visible_channel(channel)?;
    let author = team.message(channel, ts)?.user.as_ref();
    if author != Some(&team.bot_user) {
        return Err(refuse(error));
    }
    Ok(Place { channel: channel.to_owned(), ts })
}

pub fn update(team: &mut Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let place = own(team, arguments, "cant_update_message")?;
    if team.channel(&place.channel)?.is_archived {
        return Err(refuse("is_archived"));
    }
    let new = composed(team, arguments)?;
    if new.text.chars().count() > LONGEST {
        return Err(refuse("msg_too_long"));
    }
    let edited = Edited { user: team.bot_user.clone(), ts: team.new_ts() };
    team.amend(&place, |message| {
        message.blocks = new.blocks.or_else(|| Some(rich_text(&new.text)));
        message.text = new.text;
        message.attachments = new.attachments;
        message.metadata = new.metadata.or(message.metadata.take());
        message.edited = Some(edited);
    })?;
    let changed = team.message(&place.channel, place.ts)?;
    let message = team.message_shape(team.channel(&place.channel)?, changed);
    let text = message["text"].clone();
    let channel = place.channel;
    Ok(json!({ "ok": true, "channel": channel, "ts": place.ts, "text": text, "message": message }))
}

pub fn delete(team: &mut Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let place = own(team, arguments, "cant_delete_message")?;
    team.delete(&place)?;
    Ok(json!({ "ok": true, "channel": place.channel, "ts": place.ts }))
}

pub fn post_ephemeral(team: &mut Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let channel = arguments.required("channel", "channel_not_found")?;
    let place = team.joined_channel(channel)?;
    if place.is_archived {
        return Err(refuse("is_archived"));
    }
    let user = arguments.required("user", "no_user_specified")?;
    if !place.members.contains(user) {
        return Err(refuse("user_not_in_channel"));
    }
    let message = composed(team, arguments)?;
    let ts = team.new_ts();
    team.ephemeral.push(Ephemeral {
        channel: channel.to_owned(),
        user: user.to_owned(),
        thread: message.thread,
        ts,
        text: message.text,
    });
    Ok(json!({ "ok": true, "message_ts": ts }))
}

pub fn permalink(team: &Workspace, arguments: &Arguments) -> Result<Value, Refusal> {
    let channel = arguments.required("channel", "channel_not_found")?;
    team.visible_channel(channel)?;
    let ts = arguments.required_ts("message_ts", "message_not_found")?;
    let thread = team.message(channel, ts)?.thread.filter(|thread| *thread != ts);
    let permalink = link(team, channel, ts, thread);
    Ok(json!({ "ok": true, "channel": channel, "permalink": permalink }))
}

/// A message's address.
pub fn link(team: &Workspace, channel: &str, ts: Ts, thread: Option<Ts>) -> String {
    let address = format!(
        "https://{}.slack.com/archives/{channel}/p{}",
        team.domain,
        ts.to_string().replace('.', "")
    );
    thread.map_or(address.clone(), |thread| format!("{address}?thread_ts={thread}&cid={channel}"))
}
