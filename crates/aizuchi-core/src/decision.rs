//! The ledger: what was considered for a conversation, by which gate or verdict it was settled,
//! and how it ended. Silence has a reason as speech has.

pub mod gate;
pub mod verdict;

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::{ConversationId, MessageId};
use crate::context::StateHash;
use crate::context::state::ConversationState;
use crate::decision::gate::Gate;
use crate::memory::Lineage;
use crate::rules::Mode;

/// A ledger row's number, rising in the order decisions were opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DecisionId(pub i64);

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The judge's answer (seed 002-1, 002-5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgment {
    pub should_respond: bool,
    pub reason: String,
    /// 0.0 to 1.0.
    pub confidence: f64,
    /// 0: now; more: that many seconds from now; `None`: when a person would.
    pub delay_seconds: Option<u32>,
    /// The line that would be answered.
    pub about: Option<MessageId>,
    /// Named in the same call, where the judge is asked for it.
    #[serde(default)]
    pub conversation_state: Option<ConversationState>,
    /// An emoji for that line, where it would say nothing.
    #[serde(default)]
    pub reaction: Option<String>,
    /// Of a facilitator: whether people still talk about what they talked about at its last
    /// intervention, and if they do, whether things stand differently.
    #[serde(default)]
    pub same_conversation: Option<bool>,
    #[serde(default)]
    pub situation_changed: Option<bool>,
    /// When the persona means to speak, where the judge has left that to it and it takes its time.
    #[serde(rename = "moment", default, skip_serializing_if = "Option::is_none")]
    pub post_at: Option<Timestamp>,
}

/// What was weighed before a model was asked, or instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    pub mode: Mode,
    /// The gates that let it pass, in their order.
    pub passed_gates: Vec<Gate>,
    pub conversation_state: Option<ConversationState>,
}

/// How a decision ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionResult {
    Spoke,
    /// It said nothing, and put an emoji on a line.
    Reacted,
    ChoseSilence,
    /// There was something to say or to judge, and it was no longer wanted.
    Dropped,
    /// People have silenced it, so even a mention is not answered, now or later.
    Muted,
    /// What it may use up is used up.
    OverBudget,
    /// It could not think or speak. Never recorded as a choice (invariant 7).
    Failed,
}

impl DecisionResult {
    pub fn name(self) -> &'static str {
        match self {
            DecisionResult::Spoke => "spoke",
            DecisionResult::Reacted => "reacted",
            DecisionResult::ChoseSilence => "chose_silence",
            DecisionResult::Dropped => "dropped",
            DecisionResult::Muted => "muted",
            DecisionResult::OverBudget => "over_budget",
            DecisionResult::Failed => "failed",
        }
    }
}

/// What a model call did to its decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    Kept,
    /// People moved on: the result was discarded, its tokens are booked.
    Superseded,
    Failed,
}

impl AttemptResult {
    pub fn name(self) -> &'static str {
        match self {
            AttemptResult::Kept => "kept",
            AttemptResult::Superseded => "superseded",
            AttemptResult::Failed => "failed",
        }
    }
}

/// What a model call used, in tokens. Estimated where a call was cut short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    /// The part of the input that the provider had in its prefix cache.
    pub cached_tokens: u64,
    pub output_tokens: u64,
}

/// One model call made for a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// `judge`, `reply` or `remember`.
    pub verb: Arc<str>,
    pub at: Timestamp,
    pub model: Arc<str>,
    /// The first 16 hex digits of the prompt's SHA-256.
    pub prompt_hash: Arc<str>,
    pub prompt_bytes: u64,
    pub usage: Usage,
    /// What it cost, where the model's price is known.
    pub price: Option<Price>,
    pub latency: SignedDuration,
    pub result: AttemptResult,
    pub judgment: Option<Judgment>,
    /// Why it failed, for the operator. Never holds chat text.
    pub error: Option<String>,
    /// What did not fit into the prompt.
    pub omissions: Vec<PromptOmission>,
    /// The words themselves, on their way into the store. They are kept apart from the ledger, and
    /// not for ever, so a row that was read back has none.
    pub exchange: Option<Arc<ModelExchange>>,
}

/// What a prompt was too short for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptOmission {
    /// The section of the prompt.
    pub section: Arc<str>,
    /// Lines, memories, entries or memos.
    pub count: usize,
    /// As estimated.
    pub tokens: u64,
}

/// Money, in millionths of whatever currency the operator's price table is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Price {
    pub micros: u64,
}

/// What a model was asked, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelExchange {
    pub prompt: Arc<str>,
    /// `None` if it did not answer, or nobody waited for the answer.
    pub answer: Option<Arc<str>>,
    /// What the prompt holds. When a line of it is edited or deleted, the exchange goes.
    pub lineage: Lineage,
    /// The store's revision that the prompt was made from: what has changed since then must not be
    /// kept in an old shape. Only on the way into the store.
    pub seen_revision: u64,
}

impl Attempt {
    /// The same without what the model was asked and wrote: a line that it saw has changed, and it may
    /// repeat that.
    pub fn without_text(self) -> Self {
        let blank = |judgment: Judgment| Judgment { reason: String::new(), ..judgment };
        Self { exchange: None, judgment: self.judgment.map(blank), ..self }
    }

    /// The attempt as the ledger keeps it: discarded if people had moved on.
    pub fn superseded_unless(self, is_current: bool) -> Self {
        let end = match (is_current, self.result) {
            (false, AttemptResult::Kept) => AttemptResult::Superseded,
            (true, end) | (false, end @ (AttemptResult::Superseded | AttemptResult::Failed)) => end,
        };
        Self { result: end, ..self }
    }
}

/// What happened after a decision had closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionFollowUp {
    /// The first human line there by somebody who had not written the newest line it covers.
    pub first_reply: Option<FirstReply>,
    /// People's reactions to what was said.
    pub reactions: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstReply {
    pub message: MessageId,
    /// Since the newest line that the decision covers was said.
    pub delay: SignedDuration,
}

/// A row of the ledger. It covers its conversation's human lines since the last closed one.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub id: DecisionId,
    pub conversation: ConversationId,
    pub opened: Timestamp,
    pub closed: Option<Timestamp>,
    /// The human lines it covers, oldest first.
    pub messages: Vec<MessageId>,
    /// Somebody is owed an answer.
    pub is_addressed: bool,
    /// What was weighed last, once something was.
    pub evaluation: Option<Evaluation>,
    pub gate: Option<Gate>,
    /// The verdict that counted, if a judge was asked.
    pub judgment: Option<Judgment>,
    /// What was judged; see [`Context::state`].
    pub state_hash: Option<StateHash>,
    pub ended: Option<DecisionResult>,
    /// One sentence for people, in the persona's language.
    pub why: Option<String>,
    /// The lines that came of it.
    pub posted_messages: Vec<MessageId>,
    /// The line that it has reacted to, and the emoji.
    pub reaction: Option<(MessageId, Arc<str>)>,
    /// What happened next, once something has.
    pub follow_up: DecisionFollowUp,
    pub attempts: Vec<Attempt>,
    pub revision: u64,
}
