//! What was said: a channel's top level, and one thread.

use serde_json::{Value, json};

use crate::slack::api::pagination::{decode_cursor, encode_cursor, page_limit, response_metadata};
use crate::slack::api_error::{ApiError, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::channel::FakeChannel;
use crate::slack::message::FakeMessage;
use crate::slack::state::FakeSlackState;
use crate::slack::ts::Ts;
use crate::slack::user::merge_fields;
use crate::slack::workspace::Workspace;

/// From when to when, and whether that includes both ends.
struct TsRange {
    oldest: Option<Ts>,
    latest: Option<Ts>,
    is_inclusive: bool,
}

impl TsRange {
    fn from_arguments(arguments: &Arguments) -> Result<Self, ApiError> {
        Ok(Self {
            oldest: arguments.ts("oldest", "invalid_ts_oldest")?,
            latest: arguments.ts("latest", "invalid_ts_latest")?,
            is_inclusive: arguments.is_true("inclusive"),
        })
    }

    fn contains(&self, ts: Ts) -> bool {
        let is_end = self.is_inclusive && (self.oldest == Some(ts) || self.latest == Some(ts));
        let is_inside = self.oldest.is_none_or(|oldest| oldest < ts)
            && self.latest.is_none_or(|latest| ts < latest);
        is_end || is_inside
    }
}

/// The top level, newest first.
pub fn history(state: &mut FakeSlackState, arguments: &Arguments) -> Result<Value, ApiError> {
    let now = state.workspace.now();
    let cap = state.history_caps.max_objects("conversations.history", now)?;
    let team = &state.workspace;
    let channel = team.joined_channel(arguments.required("channel", "channel_not_found")?)?;
    let (span, limit) = (TsRange::from_arguments(arguments)?, page_limit(arguments, 100).min(cap));
    let from = parse_cursor_ts(arguments)?;
    let is_wanted = |message: &&FakeMessage| {
        message.is_top_level()
            && span.contains(message.ts)
            && from.is_none_or(|from| message.ts <= from)
    };
    let mut rest = channel.messages.values().rev().filter(is_wanted);
    let messages: Vec<&FakeMessage> = rest.by_ref().take(limit).collect();
    let next = rest.next().map(|message| message.ts);
    let mut answer = messages_response(team, channel, arguments, &messages, next);
    let more = json!({
        "pin_count": 0,
        "channel_actions_ts": null,
        "channel_actions_count": 0,
    });
    merge_fields(&mut answer, more);
    for name in ["oldest", "latest"] {
        if let Some(end) = arguments.text(name) {
            answer[name] = json!(end);
        }
    }
    Ok(answer)
}

/// A thread: its parent, and then the replies, oldest first. The parent comes with each page.
pub fn replies(state: &mut FakeSlackState, arguments: &Arguments) -> Result<Value, ApiError> {
    let now = state.workspace.now();
    let cap = state.history_caps.max_objects("conversations.replies", now)?;
    let team = &state.workspace;
    let channel = team.joined_channel(arguments.required("channel", "channel_not_found")?)?;
    let ts = arguments.required_ts("ts", "invalid_arguments")?;
    let named = channel.messages.get(&ts).ok_or_else(|| api_error("thread_not_found"))?;
    let parent = named.thread.unwrap_or(ts);
    let (span, limit) = (TsRange::from_arguments(arguments)?, page_limit(arguments, 1000).min(cap));
    let from = parse_cursor_ts(arguments)?;
    let is_wanted = |message: &&FakeMessage| {
        span.contains(message.ts) && from.is_none_or(|from| from <= message.ts)
    };
    let mut rest = channel.replies(parent).filter(is_wanted);
    // A first page may hold the parent alone; a later one must get further.
    let least = usize::from(from.is_some());
    let messages = rest.by_ref().take((limit - 1).max(least));
    let messages: Vec<&FakeMessage> =
        channel.messages.get(&parent).into_iter().chain(messages).collect();
    let next = rest.next().map(|message| message.ts);
    Ok(messages_response(team, channel, arguments, &messages, next))
}

fn parse_cursor_ts(arguments: &Arguments) -> Result<Option<Ts>, ApiError> {
    let cursor = decode_cursor(arguments, "next_ts")?;
    cursor.map(|ts| ts.parse().map_err(|_| api_error("invalid_cursor"))).transpose()
}

fn messages_response(
    team: &Workspace,
    channel: &FakeChannel,
    arguments: &Arguments,
    messages: &[&FakeMessage],
    next: Option<Ts>,
) -> Value {
    let is_full = arguments.is_true("include_all_metadata");
    let shape = |message: &&FakeMessage| {
        let mut shape = team.message_json(channel, message);
        let metadata = shape.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| !is_full) {
            metadata.remove("event_payload");
        }
        shape
    };
    let shapes: Vec<Value> = messages.iter().map(shape).collect();
    let mut answer = json!({ "ok": true, "messages": shapes, "has_more": next.is_some() });
    if let Some(next) = next {
        answer["response_metadata"] =
            response_metadata(&encode_cursor("next_ts", &next.to_string()));
    }
    answer
}
