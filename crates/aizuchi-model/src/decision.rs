//! The ledger: what was considered for a conversation, which gate or verdict settled it, and how it ended. Silence has
//! a reason just as speech has.

pub mod limit;
pub mod gate;
pub mod calibration;
pub mod mark;
pub mod proposal;
pub mod trust;
pub mod consent;
pub mod model_problem;
pub mod verdict;
pub mod welcome;
pub mod moved_threshold;
pub mod tolerance;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::{ConversationId, MessageId};
use crate::context::StateHash;
use crate::context::seen_revision::SeenRevision;
use crate::context::state::ConversationState;
use crate::decision::gate::Gate;
use crate::memory::Lineage;
use crate::rules::Mode;

number_id!(
    /// The number of a ledger row, ascending in the order in which decisions were opened.
    DecisionId
);

/// The judge's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Judgment {
    pub should_respond: bool,
    pub reason: String,
    /// From 0.0 to 1.0.
    pub confidence: f64,
    /// How many seconds to wait before posting; 0: post at once; null: post when a person would.
    pub delay_seconds: Option<u32>,
    /// For a silent verdict: after how many seconds the judge wants to be asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_again_seconds: Option<u32>,
    /// The message to answer.
    pub about: Option<MessageId>,
    /// The conversation's state, if the judge is asked to name it in the same call.
    #[serde(default)]
    pub conversation_state: Option<ConversationState>,
    /// An emoji to react to that message with, if the persona posts nothing.
    #[serde(default)]
    pub reaction: Option<String>,
    /// For a facilitator: whether users still talk about the same thing as at its last intervention.
    #[serde(default)]
    pub same_conversation: Option<bool>,
    /// For a facilitator: whether the situation has changed since then, if they do.
    #[serde(default)]
    pub situation_changed: Option<bool>,
    /// The number of the standing order that the verdict is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<i64>,
    /// When the persona plans to post, if the judge left the timing open.
    #[serde(rename = "moment", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub post_at: Option<Timestamp>,
}

/// What was evaluated before a model was asked, or instead of asking.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub mode: Mode,
    /// The gates that were passed, in order.
    pub passed_gates: Vec<Gate>,
    pub conversation_state: Option<ConversationState>,
    /// The confidence from which on the judge is followed, at that time. `None` if no judge was asked.
    pub needed_confidence: Option<f64>,
}

impl Evaluation {
    /// Returns an evaluation from before any model was asked.
    pub fn new(mode: Mode, passed_gates: Vec<Gate>) -> Self {
        Self { mode, passed_gates, conversation_state: None, needed_confidence: None }
    }
}

named_enum! {
    /// How a decision ended.
    pub enum DecisionResult {
        Spoke,
        /// The persona reacted to a message with an emoji and posted nothing.
        Reacted,
        /// The persona asked for approval of a post. When a user approves it, the decision is opened again.
        Proposed,
        ChoseSilence,
        /// A judgment or post in progress was abandoned, because it was no longer wanted.
        Dropped,
        /// The persona is muted, so even a mention is not answered, now or later.
        Muted,
        /// The budget is used up.
        OverBudget,
        /// A model or platform failed. Never recorded as a choice (invariant 7).
        Failed,
    }
}

named_enum! {
    /// The result of a model call.
    pub enum AttemptResult {
        Kept,
        /// Superseded by new messages: the result was discarded, but its tokens are counted.
        Superseded,
        /// The judge was not confident enough, asked for it, or became doubtful, so it was asked a second time.
        LookedAgain,
        Failed,
    }
}

/// The tokens that a model call used.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Usage {
    pub input_tokens: u64,
    /// The part of the input that came from the provider's prefix cache.
    pub cached_tokens: u64,
    /// The part of the input that was written to that cache, if the provider counts it.
    #[serde(default)]
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    /// Whether any of these numbers is an estimate, because the model did not report it.
    #[serde(default)]
    pub is_estimated: bool,
}

impl Usage {
    /// Returns the sum of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens + other.input_tokens,
            cached_tokens: self.cached_tokens + other.cached_tokens,
            cache_write_tokens: self.cache_write_tokens + other.cache_write_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            is_estimated: self.is_estimated || other.is_estimated,
        }
    }
}

/// The verbs of attempts that called no model, and are recorded only if they failed.
pub const LOOK_UP: &str = "look_up";
pub const POST: &str = "post";

/// One model call for a decision, or a look-up or a post that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// `judge`, `reply` or `remember`, for example; or [`LOOK_UP`] or [`POST`].
    pub verb: Arc<str>,
    pub at: Timestamp,
    /// The model, or the tool of a look-up. Empty for a post.
    pub model: Arc<str>,
    /// The first 16 hex digits of the prompt's SHA-256.
    pub prompt_hash: Arc<str>,
    pub prompt_bytes: u64,
    pub usage: Usage,
    /// Its cost, if the model's price is known.
    pub price: Option<Price>,
    pub latency: SignedDuration,
    pub result: AttemptResult,
    pub judgment: Option<Judgment>,
    /// Why it failed, for the operator; of an answer that was used, in what it differed from the form that was asked
    /// for. Never contains chat text.
    pub error: Option<String>,
    /// What did not fit into the prompt.
    pub omissions: Vec<PromptOmission>,
    /// The exchange itself, on its way into the store. The store keeps it separately from the ledger and for a limited
    /// time, so an attempt that was read back has none.
    pub exchange: Option<Arc<ModelExchange>>,
}

/// What was left out of a section of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PromptOmission {
    /// The section of the prompt.
    pub section: Arc<str>,
    /// The number of messages, memories, entries or memos.
    pub count: usize,
    /// An estimate of the tokens that were left out.
    pub tokens: u64,
}

/// Money, in millionths of the currency of the operator's price table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Price {
    pub micros: u64,
}

/// A prompt and the model's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelExchange {
    pub prompt: Arc<str>,
    /// `None` if the model did not answer, or the call was dropped.
    pub answer: Option<Arc<str>>,
    /// The sources of the prompt. When a source message is edited or deleted, the exchange is deleted.
    pub lineage: Lineage,
    /// The store's revision that the prompt was built from. A source that has changed since must not be kept in its old
    /// form. `None` in an exchange that was read from the store.
    pub seen_revision: Option<u64>,
}

impl ModelExchange {
    /// Returns the store's revision that the exchange was made from, and its lineage. An unknown revision counts as
    /// older than any change, so that no deleted text is kept.
    pub fn sources(&self) -> (SeenRevision, &Lineage) {
        let seen_revision = self.seen_revision.map_or(SeenRevision::Nothing, SeenRevision::from);
        (seen_revision, &self.lineage)
    }
}

impl Attempt {
    /// A look-up or a post that failed. The error must not contain chat text.
    pub fn failed(verb: &str, tool: &str, at: Timestamp, error: String) -> Self {
        Self {
            verb: verb.into(),
            at,
            model: tool.into(),
            prompt_hash: "".into(),
            prompt_bytes: 0,
            usage: Usage::default(),
            price: None,
            latency: SignedDuration::ZERO,
            result: AttemptResult::Failed,
            judgment: None,
            error: Some(error),
            omissions: Vec::new(),
            exchange: None,
        }
    }

    pub fn is_model_call(&self) -> bool {
        !matches!(&*self.verb, LOOK_UP | POST)
    }

    /// Returns the attempt without prompt and answer. Used when a source message has changed, since these may repeat
    /// it.
    pub fn without_text(self) -> Self {
        let blank = |judgment: Judgment| Judgment { reason: String::new(), ..judgment };
        Self { exchange: None, judgment: self.judgment.map(blank), ..self }
    }

    /// Returns the attempt as the ledger keeps it: superseded unless still current.
    pub fn superseded_unless(self, is_current: bool) -> Self {
        let result = match (is_current, self.result) {
            (false, AttemptResult::Kept) => AttemptResult::Superseded,
            (true, result)
            | (
                false,
                result @ (AttemptResult::Superseded
                | AttemptResult::LookedAgain
                | AttemptResult::Failed),
            ) => result,
        };
        Self { result, ..self }
    }
}

/// What happened after a decision had closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionFollowUp {
    /// The first later human message by an author other than that of the newest message that the decision covers.
    pub first_reply: Option<FirstReply>,
    /// Users' reactions to the posts.
    pub reactions: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstReply {
    pub message: MessageId,
    /// Since the newest message that the decision covers.
    pub delay: SignedDuration,
}

/// A row of the ledger. It covers the human messages of its conversation since the last closed decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub id: DecisionId,
    pub conversation: ConversationId,
    pub opened: Timestamp,
    pub closed: Option<Timestamp>,
    /// The human messages that it covers, oldest first.
    pub messages: Vec<MessageId>,
    /// Whether a user is owed an answer.
    pub is_addressed: bool,
    /// The last evaluation, if any.
    pub evaluation: Option<Evaluation>,
    pub gate: Option<Gate>,
    /// The verdict that counted, if a judge was asked.
    pub judgment: Option<Judgment>,
    /// A hash of what was judged; see [`Context::state_hash`](crate::context::Context::state_hash).
    pub state_hash: Option<StateHash>,
    pub ended: Option<DecisionResult>,
    /// One sentence for users, in the persona's language.
    pub why: Option<String>,
    /// Its reasons were erased because its source messages were too old.
    pub is_expired: bool,
    /// The posts that resulted from it.
    pub posted_messages: Vec<MessageId>,
    /// The message that the persona reacted to, and the emoji.
    pub reaction: Option<(MessageId, Arc<str>)>,
    /// What happened next, if anything.
    pub follow_up: DecisionFollowUp,
    pub attempts: Vec<Attempt>,
    pub revision: u64,
}

impl Decision {
    /// Returns the message that the persona reacted to, or that the judge named. A verdict from before the persona was
    /// addressed says nothing about the answer.
    pub fn subject(&self) -> Option<&MessageId> {
        let reacted = self.reaction.as_ref().map(|(message, _)| message);
        let judgment = self.judgment.as_ref().filter(|_| !self.is_addressed);
        reacted.or_else(|| judgment?.about.as_ref())
    }

    /// Whether it counts toward the answers that the users who asked get: it was answered, or a model was called for an
    /// answer that was then not given, such as to a question that was deleted meanwhile.
    pub fn took_an_answer(&self) -> bool {
        let was_called = || self.attempts.iter().any(|it| &*it.verb == "reply");
        self.ended.is_some_and(|ended| ended == DecisionResult::Spoke || was_called())
    }

    /// Returns the decision without what a judge or a model wrote about the messages, or answered them with.
    pub fn without_texts(mut self) -> Self {
        self.why = None;
        self.reaction = None;
        let attempts = self.attempts.iter_mut().filter_map(|attempt| attempt.judgment.as_mut());
        for judgment in self.judgment.iter_mut().chain(attempts) {
            judgment.reason = String::new();
            judgment.reaction = None;
        }
        self
    }
}
