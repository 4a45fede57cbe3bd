//! What was said: a channel's top level, and one thread.

use serde_json::{Value, json};

use crate::slack::api::pages::{cursor, limit, metadata, read_cursor};
use crate::slack::arguments::Arguments;
use crate::slack::channel::Channel;
use crate::slack::message::Message;
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::state::State;
use crate::slack::ts::Ts;
use crate::slack::user::extend;
use crate::slack::workspace::Workspace;

/// From when to when, and whether that includes both ends.
struct Span {
    oldest: Option<Ts>,
    latest: Option<Ts>,
    is_inclusive: bool,
}

impl Span {
    fn read(arguments: &Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            oldest: arguments.ts("oldest", "invalid_ts_oldest")?,
            latest: arguments.ts("latest", "invalid_ts_latest")?,
            is_inclusive: arguments.is_set("inclusive"),
        })
    }

    fn holds(&self, ts: Ts) -> bool {
        let is_end = self.is_inclusive && (self.oldest == Some(ts) || self.latest == Some(ts));
        let is_inside = self.oldest.is_none_or(|oldest| oldest < ts)
            && self.latest.is_none_or(|latest| ts < latest);
        is_end || is_inside
    }
}

/// The top level, newest first.
pub fn history(state: &mut State, arguments: &Arguments) -> Result<Value, Refusal> {
    let now = state.workspace.now();
    let cap = state.caps.history_limit("conversations.history", now)?;
    let team = &state.workspace;
    let channel = team.joined_channel(arguments.required("channel", "channel_not_found")?)?;
    let (span, limit) = (Span::read(arguments)?, limit(arguments, 100).min(cap));
    let from = read_ts(arguments)?;
    let is_wanted = |message: &&Message| {
        message.is_at_top() && span.holds(message.ts) && from.is_none_or(|from| message.ts <= from)
    };
    let mut rest = channel.messages.values().rev().filter(is_wanted);
    let messages: Vec<&Message> = rest.by_ref().take(limit).collect();
    let next = rest.next().map(|message| message.ts);
    let mut answer = told(team, channel, arguments, &messages, next);
    let more = json!({
        "pin_count": 0,
        "channel_actions_ts": null,
        "channel_actions_count": 0,
    });
    extend(&mut answer, more);
    for name in ["oldest", "latest"] {
        if let Some(end) = arguments.text(name) {
            answer[name] = json!(end);
        }
    }
    Ok(answer)
}

/// A thread: its parent, and then the replies, oldest first. The parent comes with each page.
pub fn replies(state: &mut State, arguments: &Arguments) -> Result<Value, Refusal> {
    let now = state.workspace.now();
    let cap = state.caps.history_limit("conversations.replies", now)?;
    let team = &state.workspace;
    let channel = team.joined_channel(arguments.required("channel", "channel_not_found")?)?;
    let ts = arguments.required_ts("ts", "invalid_arguments")?;
    let named = channel.messages.get(&ts).ok_or_else(|| refuse("thread_not_found"))?;
    let parent = named.thread.unwrap_or(ts);
    let (span, limit) = (Span::read(arguments)?, limit(arguments, 1000).min(cap));
    let from = read_ts(arguments)?;
    let is_wanted =
        |message: &&Message| span.holds(message.ts) && from.is_none_or(|from| from <= message.ts);
    let mut rest = channel.replies(parent).filter(is_wanted);
    // A first page may hold the parent alone; a later one must get further.
    let least = usize::from(from.is_some());
    let messages = rest.by_ref().take((limit - 1).max(least));
    let messages: Vec<&Message> =
        channel.messages.get(&parent).into_iter().chain(messages).collect();
    let next = rest.next().map(|message| message.ts);
    Ok(told(team, channel, arguments, &messages, next))
}

fn read_ts(arguments: &Arguments) -> Result<Option<Ts>, Refusal> {
    let cursor = read_cursor(arguments, "next_ts")?;
    cursor.map(|ts| ts.parse().map_err(|_| refuse("invalid_cursor"))).transpose()
}

fn told(
    team: &Workspace,
    channel: &Channel,
    arguments: &Arguments,
    messages: &[&Message],
    next: Option<Ts>,
) -> Value {
    let is_full = arguments.is_set("include_all_metadata");
    let shape = |message: &&Message| {
        let mut shape = team.message_shape(channel, message);
        let metadata = shape.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| !is_full) {
            metadata.remove("event_payload");
        }
        shape
    };
    let shapes: Vec<Value> = messages.iter().map(shape).collect();
    let mut answer = json!({ "ok": true, "messages": shapes, "has_more": next.is_some() });
    if let Some(next) = next {
        answer["response_metadata"] = metadata(&cursor("next_ts", &next.to_string()));
    }
    answer
}
