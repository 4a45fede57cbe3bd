//! The JSON of the API. Times are epoch seconds.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::web::markdown;
use aizuchi_core::chat::{AuthorKind, Channel, ChannelId};
use aizuchi_core::decision::gate::BudgetStatus;
use aizuchi_core::decision::mark::DecisionMark;
use aizuchi_core::decision::{Attempt, Decision, DecisionFollowUp};
use aizuchi_core::event::step::Step;
use aizuchi_core::event::{DeadLetter, Event};
use aizuchi_core::platform::local::controls::{ChannelControls, RoomControls};
use aizuchi_core::rules::{BudgetLimits, Rulebook};
use aizuchi_core::store::{ReactionGroup, Spending, StoredMessage};

pub fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

pub fn channel(channel: &Channel) -> Value {
    json!({ "id": channel.id, "name": channel.name })
}

/// The mode and mute of each channel, and the end of a mute of the whole room.
pub fn participation(controls: &RoomControls) -> (Vec<Value>, Option<f64>) {
    let channel = |channel: &ChannelControls| {
        json!({
            "id": channel.channel.id,
            "name": channel.channel.name,
            "mode": channel.mode,
            "ordered": channel.is_overridden,
            "muted_until": channel.muted_until.map(seconds),
        })
    };
    (controls.channels.iter().map(channel).collect(), controls.muted_until.map(seconds))
}

/// The spending and its limits, for the workspace and for each channel. A price that is not known is `null`.
pub fn spending(
    spendings: &[Spending],
    channels: &[Channel],
    book: &Rulebook,
    currency: &str,
) -> Value {
    let budget = |channel: Option<&ChannelId>, limits: &BudgetLimits| {
        let found = spendings.iter().find(|spending| spending.channel.as_ref() == channel);
        let spent = found.map(|found| found.spent).unwrap_or_default();
        let money = |micros: u64| micros as f64 / 1e6;
        // Tokens that cost nothing are those of a model without a price.
        let price = |micros: u64, tokens: u64| (micros > 0 || tokens == 0).then(|| money(micros));
        let tokens_in_month = found.map_or(0, |found| found.tokens_in_month);
        json!({
            "tokens_in_day": spent.tokens_in_day,
            "tokens_in_month": tokens_in_month,
            "price_in_day": price(spent.micros_in_day, spent.tokens_in_day),
            "price_in_month": price(spent.micros_in_month, tokens_in_month),
            "limits": {
                "tokens_per_day": limits.tokens_per_day,
                "price_per_day": limits.micros_per_day.map(money),
                "price_per_month": limits.micros_per_month.map(money),
            },
            "reached": BudgetStatus::new(&spent, limits, book.soft_share),
        })
    };
    let channel_budget = |channel: &Channel| {
        let mut spending = budget(
            Some(&channel.id),
            &book.channel_rules(&channel.id, &channel.name).budget_limits,
        );
        spending["id"] = json!(channel.id);
        spending
    };
    json!({
        "currency": currency,
        "workspace": budget(None, &book.workspace_limits),
        "channels": channels.iter().map(channel_budget).collect::<Vec<_>>(),
    })
}

pub fn users(names: &[Arc<str>]) -> Vec<Value> {
    names.iter().map(|name| json!({ "name": name })).collect()
}

pub fn message(stored: &StoredMessage) -> Value {
    let message = &stored.message;
    let kind = message.author.kind;
    json!({
        "id": message.id,
        "channel": message.conversation.channel,
        "thread": message.conversation.thread,
        "ts": seconds(message.at),
        "user": stored.author_name,
        "bot": kind != AuthorKind::Human,
        "persona": kind == AuthorKind::Persona,
        "text": message.text,
        // Messages of users are shown as they were written.
        "html": (kind == AuthorKind::Persona).then(|| markdown::html(&message.text)),
        "edited": message.edits > 0,
        "deleted": stored.is_deleted,
        "gate": stored.gate,
        "reactions": stored.reactions.iter().map(reaction_group).collect::<Vec<_>>(),
        "revision": stored.revision,
    })
}

/// The same without what was said, and by whom.
pub fn message_without_text(stored: &StoredMessage) -> Value {
    let message = &stored.message;
    let kind = message.author.kind;
    json!({
        "id": message.id,
        "channel": message.conversation.channel,
        "thread": message.conversation.thread,
        "ts": seconds(message.at),
        "user": null,
        "bot": kind != AuthorKind::Human,
        "persona": kind == AuthorKind::Persona,
        "text": null,
        "html": null,
        "edited": message.edits > 0,
        "deleted": stored.is_deleted,
        "gate": stored.gate,
        "reactions": [],
        "revision": stored.revision,
    })
}

fn reaction_group(reaction: &ReactionGroup) -> Value {
    let users: Vec<&str> = reaction.users.iter().map(|user| &*user.name).collect();
    let is_own = reaction.users.iter().any(|user| user.kind == AuthorKind::Persona);
    json!({ "emoji": reaction.emoji, "users": users, "own": is_own })
}

pub fn decision(decision: &Decision) -> Value {
    let evaluation = decision.evaluation.as_ref();
    json!({
        "id": decision.id,
        "channel": decision.conversation.channel,
        "thread": decision.conversation.thread,
        "opened": seconds(decision.opened),
        "closed": decision.closed.map(seconds),
        "messages": decision.messages,
        "addressed": decision.is_addressed,
        "about": decision.judgment.as_ref().and_then(|judgment| judgment.about.as_ref()),
        "mode": evaluation.map(|evaluation| evaluation.mode),
        "passed": evaluation.map(|evaluation| &evaluation.passed_gates),
        "gate": decision.gate,
        "conversation_state": evaluation.and_then(|evaluation| evaluation.conversation_state),
        "verdict": decision.judgment,
        "state": decision.state_hash.map(|state| state.to_string()),
        "ended": decision.ended,
        "why": decision.why,
        "said": decision.posted_messages.first(),
        "all_said": decision.posted_messages,
        "reacted": decision.reaction.as_ref().map(|(message, emoji)| json!({ "message": message, "emoji": emoji })),
        "next": next(&decision.follow_up),
        "attempts": decision.attempts.iter().map(attempt).collect::<Vec<_>>(),
        "revision": decision.revision,
    })
}

/// A decision with what it was marked as, or null. `with_name` as in [`mark`].
pub fn marked_decision(
    decision: &Decision,
    marked: Option<&DecisionMark>,
    with_name: bool,
) -> Value {
    let mut view = self::decision(decision);
    view["mark"] = json!(marked.map(|marked| mark(marked, with_name)));
    view
}

/// What a decision was marked as. `by` is for those who mark decisions themselves.
pub fn mark(mark: &DecisionMark, with_name: bool) -> Value {
    let by = Some(&mark.by).filter(|by| with_name && !by.is_empty());
    json!({ "mark": mark.mark, "by": by, "ts": seconds(mark.at) })
}

/// What happened after the decision was closed.
fn next(next: &DecisionFollowUp) -> Value {
    let answered = next
        .first_reply
        .as_ref()
        .map(|reply| json!({ "message": reply.message, "seconds": reply.delay.as_secs_f64() }));
    json!({ "answered": answered, "reactions": next.reactions })
}

pub fn step(step: &Step, now: Timestamp) -> Value {
    let doing = match (&step.event, step.lease) {
        (Event::Judge(_), None) => "considering",
        (Event::Judge(_), Some(_)) => "judging",
        (Event::Reply(_), None) if step.due > now => "waiting_to_reply",
        (Event::Reply(_), _) => "thinking",
        (Event::Post(_), _) => "typing",
    };
    let conversation = step.event.conversation();
    json!({
        "channel": conversation.channel,
        "thread": conversation.thread,
        "doing": doing,
        "due": seconds(step.due),
    })
}

pub fn dead_letter(letter: &DeadLetter) -> Value {
    let mut view = dead_letter_without_text(letter);
    view["text"] = json!(letter.text);
    view
}

pub fn dead_letter_without_text(letter: &DeadLetter) -> Value {
    json!({
        "id": letter.id.0,
        "workspace": letter.conversation.workspace,
        "channel": letter.conversation.channel,
        "thread": letter.conversation.thread,
        "verb": letter.verb,
        "ts": seconds(letter.at),
        "attempts": letter.attempts,
        "error": letter.error,
        "text": null,
    })
}

fn attempt(attempt: &Attempt) -> Value {
    json!({
        "verb": attempt.verb,
        "ts": seconds(attempt.at),
        "model": attempt.model,
        "prompt_hash": attempt.prompt_hash,
        "prompt_bytes": attempt.prompt_bytes,
        "usage": attempt.usage,
        "price": attempt.price.map(|price| price.micros as f64 / 1e6),
        "latency_ms": attempt.latency.as_millis() as i64,
        "end": attempt.result,
        "verdict": attempt.judgment,
        "error": attempt.error,
        "left_out": attempt.omissions,
    })
}
