//! `conversations.history` and `conversations.replies`.

use serde_json::{Value, json};

use crate::slack::api::pagination::{decode_cursor, encode_cursor, page_limit, response_metadata};
use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::channel::FakeChannel;
use crate::slack::message::FakeMessage;
use crate::slack::state::FakeSlackState;
use crate::slack::ts::Ts;
use crate::slack::user::merge_fields;
use crate::slack::workspace::Workspace;

/// The range of timestamps that a call requests.
struct TsRange {
    oldest: Option<Ts>,
    latest: Option<Ts>,
    is_inclusive: bool,
}

impl TsRange {
    fn from_arguments(arguments: &Arguments) -> ApiResult<Self> {
        Ok(Self {
            oldest: arguments.ts("oldest", "invalid_ts_oldest")?,
            latest: arguments.ts("latest", "invalid_ts_latest")?,
            is_inclusive: arguments.is_true("inclusive"),
        })
    }

    fn contains(&self, ts: Ts) -> bool {
        let is_boundary = self.is_inclusive && (self.oldest == Some(ts) || self.latest == Some(ts));
        let is_inside = self.oldest.is_none_or(|oldest| oldest < ts)
            && self.latest.is_none_or(|latest| ts < latest);
        is_boundary || is_inside
    }
}

/// Returns a page of a channel's top level, newest first. The first page has the newest messages, unless the call gives
/// `oldest` and not `latest`: then Slack pages forward from `oldest`.
pub fn history(state: &mut FakeSlackState, arguments: &Arguments) -> ApiResult<Value> {
    let now = state.workspace.now();
    let cap = state.history_caps.max_objects("conversations.history", now)?;
    let workspace = &state.workspace;
    let channel = workspace.joined_channel(arguments.required("channel", "channel_not_found")?)?;
    let (range, limit) = (TsRange::from_arguments(arguments)?, page_limit(arguments, 100).min(cap));
    let from = parse_cursor_ts(arguments)?;
    let is_forward = range.oldest.is_some() && range.latest.is_none();
    let is_ahead = |ts: Ts, from: Ts| if is_forward { from <= ts } else { ts <= from };
    let matches = |message: &&FakeMessage| {
        message.is_top_level()
            && range.contains(message.ts)
            && from.is_none_or(|from| is_ahead(message.ts, from))
    };
    let mut messages: Vec<&FakeMessage> = channel.messages.values().filter(matches).collect();
    if !is_forward {
        messages.reverse();
    }
    let next = messages.get(limit).map(|message| message.ts);
    messages.truncate(limit);
    if is_forward {
        messages.reverse();
    }
    let mut response = messages_response(workspace, channel, arguments, &messages, next);
    let extra_fields = json!({
        "pin_count": 0,
        "channel_actions_ts": null,
        "channel_actions_count": 0,
    });
    merge_fields(&mut response, extra_fields);
    for name in ["oldest", "latest"] {
        if let Some(end) = arguments.text(name) {
            response[name] = json!(end);
        }
    }
    Ok(response)
}

/// Returns a thread's parent and its replies, oldest first. Every page repeats the parent.
pub fn replies(state: &mut FakeSlackState, arguments: &Arguments) -> ApiResult<Value> {
    let now = state.workspace.now();
    let cap = state.history_caps.max_objects("conversations.replies", now)?;
    let workspace = &state.workspace;
    let channel = workspace.joined_channel(arguments.required("channel", "channel_not_found")?)?;
    let ts = arguments.required_ts("ts", "invalid_arguments")?;
    let target = channel.messages.get(&ts).ok_or_else(|| api_error("thread_not_found"))?;
    let parent = target.thread.unwrap_or(ts);
    let (range, limit) =
        (TsRange::from_arguments(arguments)?, page_limit(arguments, 1000).min(cap));
    let from = parse_cursor_ts(arguments)?;
    let matches = |message: &&FakeMessage| {
        range.contains(message.ts) && from.is_none_or(|from| from <= message.ts)
    };
    let mut rest = channel.replies(parent).filter(matches);
    // A first page may contain the parent alone. A later one must make progress.
    let min_replies = usize::from(from.is_some());
    let messages = rest.by_ref().take((limit - 1).max(min_replies));
    let messages: Vec<&FakeMessage> =
        channel.messages.get(&parent).into_iter().chain(messages).collect();
    let next = rest.next().map(|message| message.ts);
    Ok(messages_response(workspace, channel, arguments, &messages, next))
}

fn parse_cursor_ts(arguments: &Arguments) -> ApiResult<Option<Ts>> {
    let cursor = decode_cursor(arguments, "next_ts")?;
    cursor.map(|ts| ts.parse().map_err(|_| api_error("invalid_cursor"))).transpose()
}

fn messages_response(
    workspace: &Workspace,
    channel: &FakeChannel,
    arguments: &Arguments,
    messages: &[&FakeMessage],
    next: Option<Ts>,
) -> Value {
    let include_payload = arguments.is_true("include_all_metadata");
    let to_json = |message: &&FakeMessage| {
        let mut object = workspace.message_json(channel, message);
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| !include_payload) {
            metadata.remove("event_payload");
        }
        object
    };
    let objects: Vec<Value> = messages.iter().map(to_json).collect();
    let mut response = json!({ "ok": true, "messages": objects, "has_more": next.is_some() });
    if let Some(next) = next {
        response["response_metadata"] =
            response_metadata(&encode_cursor("next_ts", &next.to_string()));
    }
    response
}
