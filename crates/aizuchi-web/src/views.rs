//! The JSON views of the API. Times are epoch seconds.

use std::sync::Arc;

use aizuchi_model::chat::attachment::{Attachment, AttachmentContent, AttachmentKind};
use aizuchi_model::chat::{
    AuthorKind, Channel, ChannelId, Message, MessageId, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::decision::gate::{BudgetStatus, Gate};
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::decision::{
    Attempt, AttemptResult, Decision, DecisionFollowUp, DecisionId, DecisionResult, Judgment,
    PromptOmission, Usage,
};
use aizuchi_model::flow::step::Step;
use aizuchi_model::flow::{DeadLetter, Work};
use aizuchi_model::memory::asker::named;
use aizuchi_model::recall::RecalledMessage;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{BudgetLimits, Mode, Rulebook};
use aizuchi_platform::local::controls::{ChannelControls, RoomControls};
use aizuchi_store::Spending;
use aizuchi_store::stored_message::{ReactionGroup, StoredMessage};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::markdown;
use crate::room::files;

pub fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

/// A channel that was added.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AddedChannelView {
    id: ChannelId,
    name: Arc<str>,
}

pub fn channel(channel: &Channel) -> AddedChannelView {
    AddedChannelView { id: channel.id.clone(), name: channel.name.clone() }
}

/// A channel with its mode and mute.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChannelView {
    pub id: ChannelId,
    /// Null for a private channel, unless an admin asks.
    pub name: Option<Arc<str>>,
    /// Absent in the local room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    pub mode: Mode,
    /// Whether the mode was ordered; otherwise it is configured.
    pub ordered: bool,
    pub muted_until: Option<f64>,
}

/// Returns the mode and mute of each channel, and the end of a mute of the whole room.
pub fn participation(controls: &RoomControls) -> (Vec<ChannelView>, Option<f64>) {
    let channel = |channel: &ChannelControls| ChannelView {
        id: channel.channel.id.clone(),
        name: Some(channel.channel.name.clone()),
        visibility: None,
        mode: channel.mode,
        ordered: channel.is_overridden,
        muted_until: channel.muted_until.map(seconds),
    };
    (controls.channels.iter().map(channel).collect(), controls.muted_until.map(seconds))
}

/// The spending on models, and its limits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SpendingView {
    currency: String,
    workspace: BudgetView,
    channels: Vec<BudgetView>,
}

/// The spending of a workspace or of one of its channels. An unknown price is null.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BudgetView {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<ChannelId>,
    tokens_in_day: u64,
    tokens_in_month: u64,
    price_in_day: Option<f64>,
    price_in_month: Option<f64>,
    unpriced_tokens_in_day: u64,
    unpriced_tokens_in_month: u64,
    limits: LimitsView,
    reached: BudgetStatus,
}

/// The limits of a budget; null means no limit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LimitsView {
    tokens_per_day: Option<u64>,
    price_per_day: Option<f64>,
    price_per_month: Option<f64>,
}

/// Returns the spending and its limits, for the workspace and for each channel.
pub fn spending(
    spendings: &[Spending],
    channels: &[Channel],
    book: &Rulebook,
    currency: &str,
) -> SpendingView {
    let budget = |channel: Option<&ChannelId>, limits: &BudgetLimits| {
        let found = spendings.iter().find(|spending| spending.channel.as_ref() == channel);
        let spent = found.map(|found| found.spent).unwrap_or_default();
        let money = |micros: u64| micros as f64 / 1e6;
        // The cost of tokens without a price is unknown, so the known cost is a lower bound.
        let price =
            |micros: u64, unpriced: u64| (micros > 0 || unpriced == 0).then(|| money(micros));
        let unpriced = found
            .map_or((0, 0), |found| (found.unpriced_tokens_in_day, found.unpriced_tokens_in_month));
        let tokens_in_month = found.map_or(0, |found| found.tokens_in_month);
        BudgetView {
            id: channel.cloned(),
            tokens_in_day: spent.tokens_in_day,
            tokens_in_month,
            price_in_day: price(spent.micros_in_day, unpriced.0),
            price_in_month: price(spent.micros_in_month, unpriced.1),
            unpriced_tokens_in_day: unpriced.0,
            unpriced_tokens_in_month: unpriced.1,
            limits: LimitsView {
                tokens_per_day: limits.tokens_per_day,
                price_per_day: limits.micros_per_day.map(money),
                price_per_month: limits.micros_per_month.map(money),
            },
            reached: BudgetStatus::new(&spent, limits, book.soft_share),
        }
    };
    let channel_budget = |channel: &Channel| {
        let rules = book.rules_in(&Place::of_channel(channel));
        budget(Some(&channel.id), &rules.budget_limits)
    };
    SpendingView {
        currency: currency.to_owned(),
        workspace: budget(None, &book.workspace_limits),
        channels: channels.iter().map(channel_budget).collect(),
    }
}

/// A user. In the local room, a person is identified by the name alone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PersonView")]
pub struct ListedUser {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bot: Option<bool>,
}

pub fn users(names: &[Arc<str>]) -> Vec<ListedUser> {
    names.iter().map(|name| ListedUser { id: None, name: name.clone(), bot: None }).collect()
}

/// A message. If the visitor may not read it, `user`, `text` and `html` are null.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MessageView {
    id: MessageId,
    channel: ChannelId,
    thread: Option<MessageId>,
    ts: f64,
    user: Option<Arc<str>>,
    bot: bool,
    persona: bool,
    text: Option<Arc<str>>,
    /// The text as HTML, for the persona's messages only.
    html: Option<String>,
    /// The files that were sent with the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileView>,
    edited: bool,
    deleted: bool,
    /// The gate that settled the message when it was heard.
    gate: Option<Gate>,
    reactions: Vec<ReactionView>,
    revision: u64,
}

/// A file, without its content.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileView {
    /// The address of the file. Only files of the local room have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Empty if the platform does not provide it.
    name: Arc<str>,
    kind: AttachmentKind,
    media_type: Arc<str>,
    size_bytes: u64,
    /// The sender's description of the file.
    alt_text: Option<Arc<str>>,
    /// A model's description of a picture, once it was needed.
    description: Option<Arc<str>>,
    /// A model's transcript of a recording, once it was needed.
    transcript: Option<Arc<str>>,
}

fn file(message: &Message, attachment: &Attachment) -> FileView {
    FileView {
        url: files::address(message, attachment),
        name: attachment.name.clone(),
        kind: attachment.kind(),
        media_type: attachment.media_type.clone(),
        size_bytes: attachment.size_bytes,
        alt_text: attachment.alt_text.clone(),
        description: match &attachment.content {
            Some(AttachmentContent::Description(text)) => Some(text.clone()),
            Some(
                AttachmentContent::Excerpt(_)
                | AttachmentContent::Transcript(_)
                | AttachmentContent::Unheard(_)
                | AttachmentContent::Unreadable,
            )
            | None => None,
        },
        transcript: match &attachment.content {
            Some(AttachmentContent::Transcript(text)) => Some(text.clone()),
            Some(
                AttachmentContent::Description(_)
                | AttachmentContent::Excerpt(_)
                | AttachmentContent::Unheard(_)
                | AttachmentContent::Unreadable,
            )
            | None => None,
        },
    }
}

/// Everyone who reacted to a message with one emoji.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReactionView {
    emoji: Arc<str>,
    users: Vec<Arc<str>>,
    /// Whether the persona is one of these users.
    own: bool,
}

pub fn message(stored: &StoredMessage) -> MessageView {
    let message = &stored.message;
    let is_own = message.author.kind == AuthorKind::Persona;
    MessageView {
        user: Some(stored.author_name.clone()),
        text: Some(message.text.clone()),
        html: is_own.then(|| markdown::html(&message.text)),
        files: message.attachments.iter().map(|it| file(message, it)).collect(),
        reactions: stored.reactions.iter().map(reaction_group).collect(),
        ..message_without_text(stored)
    }
}

/// Returns a message without its text and its author.
pub fn message_without_text(stored: &StoredMessage) -> MessageView {
    let message = &stored.message;
    let kind = message.author.kind;
    MessageView {
        id: message.id.clone(),
        channel: message.conversation.channel.clone(),
        thread: message.conversation.thread.clone(),
        ts: seconds(message.at),
        user: None,
        bot: kind != AuthorKind::Human,
        persona: kind == AuthorKind::Persona,
        text: None,
        html: None,
        files: Vec::new(),
        edited: message.edits > 0,
        deleted: stored.is_deleted,
        gate: stored.gate,
        reactions: Vec::new(),
        revision: stored.revision,
    }
}

fn reaction_group(reaction: &ReactionGroup) -> ReactionView {
    ReactionView {
        emoji: reaction.emoji.clone(),
        users: reaction.users.iter().map(|user| user.name.clone()).collect(),
        own: reaction.users.iter().any(|user| user.kind == AuthorKind::Persona),
    }
}

/// A message that a search found.
#[derive(Clone, Debug, Serialize)]
pub struct FoundMessageView {
    id: MessageId,
    workspace: WorkspaceId,
    channel: ChannelId,
    channel_name: Arc<str>,
    ts: f64,
    user: UserId,
    name: Arc<str>,
    text: Arc<str>,
    thread: Option<MessageId>,
    /// Scores are comparable only within one list.
    score: f64,
}

pub fn found_message(found: &RecalledMessage) -> FoundMessageView {
    let message = &found.message;
    FoundMessageView {
        id: message.id.clone(),
        workspace: message.conversation.workspace.clone(),
        channel: message.conversation.channel.clone(),
        channel_name: found.channel_name.clone(),
        ts: seconds(message.at),
        user: message.author.id.clone(),
        name: found.author_name.clone(),
        text: message.text.clone(),
        thread: message.conversation.thread.clone(),
        score: found.score,
    }
}

/// A row of the ledger. If the visitor may not read them, reasons are empty and reactions are null.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionView {
    id: DecisionId,
    channel: ChannelId,
    thread: Option<MessageId>,
    opened: f64,
    closed: Option<f64>,
    messages: Vec<MessageId>,
    addressed: bool,
    about: Option<MessageId>,
    mode: Option<Mode>,
    /// The gates that the decision passed, in order.
    passed: Option<Vec<Gate>>,
    /// The gate that settled the decision.
    gate: Option<Gate>,
    conversation_state: Option<ConversationState>,
    /// The confidence that the judge needed to be followed, when it was asked.
    needed_confidence: Option<f64>,
    verdict: Option<Judgment>,
    state: Option<String>,
    ended: Option<DecisionResult>,
    why: Option<String>,
    said: Option<MessageId>,
    all_said: Vec<MessageId>,
    reacted: Option<ReactedView>,
    next: NextView,
    attempts: Vec<AttemptView>,
    revision: u64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReactedView {
    message: MessageId,
    emoji: Arc<str>,
}

/// What happened after a decision was closed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NextView {
    answered: Option<AnsweredView>,
    reactions: u64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnsweredView {
    message: MessageId,
    seconds: f64,
}

/// A model call.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AttemptView {
    verb: Arc<str>,
    ts: f64,
    model: Arc<str>,
    prompt_hash: Arc<str>,
    prompt_bytes: u64,
    usage: Usage,
    price: Option<f64>,
    latency_ms: i64,
    end: AttemptResult,
    verdict: Option<Judgment>,
    error: Option<String>,
    left_out: Vec<PromptOmission>,
}

/// A decision, and its mark or null.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MarkedDecisionView {
    #[serde(flatten)]
    decision: DecisionView,
    mark: Option<MarkView>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MarkView {
    mark: Mark,
    /// Who set the mark. Null for visitors who may not mark decisions.
    by: Option<Arc<str>>,
    ts: f64,
}

pub fn decision(decision: &Decision) -> DecisionView {
    let evaluation = decision.evaluation.as_ref();
    let reacted = decision.reaction.clone();
    DecisionView {
        id: decision.id,
        channel: decision.conversation.channel.clone(),
        thread: decision.conversation.thread.clone(),
        opened: seconds(decision.opened),
        closed: decision.closed.map(seconds),
        messages: decision.messages.clone(),
        addressed: decision.is_addressed,
        about: decision.judgment.as_ref().and_then(|judgment| judgment.about.clone()),
        mode: evaluation.map(|evaluation| evaluation.mode),
        passed: evaluation.map(|evaluation| evaluation.passed_gates.clone()),
        gate: decision.gate,
        conversation_state: evaluation.and_then(|evaluation| evaluation.conversation_state),
        needed_confidence: evaluation.and_then(|evaluation| evaluation.needed_confidence),
        verdict: decision.judgment.clone(),
        state: decision.state_hash.map(|state| state.to_string()),
        ended: decision.ended,
        why: decision.why.clone(),
        said: decision.posted_messages.first().cloned(),
        all_said: decision.posted_messages.clone(),
        reacted: reacted.map(|(message, emoji)| ReactedView { message, emoji }),
        next: next(&decision.follow_up),
        attempts: decision.attempts.iter().map(attempt).collect(),
        revision: decision.revision,
    }
}

/// Returns a decision with its mark, or null. `with_name` as in [`mark`].
pub fn marked_decision(
    decision: &Decision,
    marked: Option<&DecisionMark>,
    with_name: bool,
) -> MarkedDecisionView {
    let mark = marked.map(|marked| mark(marked, with_name));
    MarkedDecisionView { decision: self::decision(decision), mark }
}

/// Returns the mark of a decision. `by` is for visitors who may mark decisions themselves.
pub fn mark(mark: &DecisionMark, with_name: bool) -> MarkView {
    let by = Some(&mark.by).filter(|by| with_name && !by.is_empty());
    MarkView { mark: mark.mark, by: by.map(|by| named(by).into()), ts: seconds(mark.at) }
}

fn next(next: &DecisionFollowUp) -> NextView {
    let answered = next.first_reply.as_ref().map(|reply| AnsweredView {
        message: reply.message.clone(),
        seconds: reply.delay.as_secs_f64(),
    });
    NextView { answered, reactions: next.reactions }
}

fn attempt(attempt: &Attempt) -> AttemptView {
    AttemptView {
        verb: attempt.verb.clone(),
        ts: seconds(attempt.at),
        model: attempt.model.clone(),
        prompt_hash: attempt.prompt_hash.clone(),
        prompt_bytes: attempt.prompt_bytes,
        usage: attempt.usage,
        price: attempt.price.map(|price| price.micros as f64 / 1e6),
        latency_ms: attempt.latency.as_millis() as i64,
        end: attempt.result,
        verdict: attempt.judgment.clone(),
        error: attempt.error.clone(),
        left_out: attempt.omissions.clone(),
    }
}

pub fn step(step: &Step, now: Timestamp) -> Value {
    let doing = match (&step.work, step.lease) {
        (Work::Judge(_), None) => "considering",
        (Work::Judge(_), Some(_)) => "judging",
        (Work::Reply(_), None) if step.due > now => "waiting_to_reply",
        (Work::Reply(_), _) => "thinking",
        (Work::Post(_), _) => "typing",
    };
    let conversation = step.work.conversation();
    json!({
        "channel": conversation.channel,
        "thread": conversation.thread,
        "doing": doing,
        "due": seconds(step.due),
    })
}

/// A post or answer that failed for good and waits for an operator.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeadLetterView {
    id: i64,
    workspace: WorkspaceId,
    channel: ChannelId,
    thread: Option<MessageId>,
    verb: String,
    ts: f64,
    attempts: u32,
    error: String,
    /// Null if the text is no longer kept, or if the visitor may not read it.
    text: Option<String>,
}

pub fn dead_letter(letter: &DeadLetter) -> DeadLetterView {
    let text = letter.text.as_ref().map(ToString::to_string);
    DeadLetterView { text, ..dead_letter_without_text(letter) }
}

pub fn dead_letter_without_text(letter: &DeadLetter) -> DeadLetterView {
    DeadLetterView {
        id: letter.id.0,
        workspace: letter.conversation.workspace.clone(),
        channel: letter.conversation.channel.clone(),
        thread: letter.conversation.thread.clone(),
        verb: letter.verb.to_string(),
        ts: seconds(letter.at),
        attempts: letter.attempts,
        error: letter.error.to_string(),
        text: None,
    }
}
