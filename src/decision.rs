//! The ledger: what was considered for a conversation, by which gate or verdict it was settled,
//! and how it ended. Silence has a reason as speech has.

pub mod state;

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::{ConversationId, MessageId};
use crate::context::{Context, StateHash};
use crate::memory::Lineage;

/// A ledger row's number, rising in the order decisions were opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DecisionId(pub i64);

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A rule that settles a line or a decision without a model. The ledger shows its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// The line is the persona's own.
    OwnLine,
    /// The line is another bot's.
    OtherBot,
    /// The line was read from history after a gap.
    CaughtUp,
    /// Everything new was said to somebody else.
    Directed,
    /// The persona had the last word and nobody has answered it.
    SpokeLast,
    /// The last verdict was silence, and nothing has changed since.
    Unchanged,
    /// It has spoken unasked not long ago.
    Cooldown,
    /// It has said much of what was said lately.
    Share,
}

impl Gate {
    pub fn name(self) -> &'static str {
        match self {
            Gate::OwnLine => "own_line",
            Gate::OtherBot => "other_bot",
            Gate::CaughtUp => "caught_up",
            Gate::Directed => "directed",
            Gate::SpokeLast => "spoke_last",
            Gate::Unchanged => "unchanged",
            Gate::Cooldown => "cooldown",
            Gate::Share => "share",
        }
    }
}

/// The gates a waiting decision passes before a model is asked, cheapest first. The gates on a
/// single line (own line, other bot, caught up) stand in `hear`.
pub const GATES: [Gate; 5] =
    [Gate::Directed, Gate::SpokeLast, Gate::Unchanged, Gate::Cooldown, Gate::Share];

/// The first of `gates` that settles the decision, if any.
pub fn gate(gates: &[Gate], context: &Context) -> Option<Gate> {
    gates.iter().copied().find(|gate| match gate {
        Gate::SpokeLast => has_spoken_last(context),
        Gate::Unchanged => is_unchanged(context),
        // Nothing tells these yet.
        Gate::Directed | Gate::Cooldown | Gate::Share => false,
        Gate::OwnLine | Gate::OtherBot | Gate::CaughtUp => false,
    })
}

fn has_spoken_last(context: &Context) -> bool {
    use crate::chat::AuthorKind::{Bot, Human, Persona};
    let last = context.target().iter().rev().find(|message| match message.author.kind {
        Human | Persona => true,
        Bot => false,
    });
    last.is_some_and(|message| message.author.kind == Persona)
}

fn is_unchanged(context: &Context) -> bool {
    context.silent_state == Some(context.state())
}

/// The judge's answer (seed 002-1, 002-5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgment {
    pub should_respond: bool,
    pub reason: String,
    /// 0.0 to 1.0.
    pub confidence: f64,
    /// 0: now; more: that many seconds from now; `None`: when a person would.
    pub delay_seconds: Option<u32>,
    /// The line that would be answered.
    pub about: Option<MessageId>,
}

/// How a decision ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Spoke,
    ChoseSilence,
    /// There was something to say or to judge, and it was no longer wanted.
    Dropped,
    /// It could not think or speak. Never recorded as a choice (invariant 7).
    Failed,
}

impl Ended {
    pub fn name(self) -> &'static str {
        match self {
            Ended::Spoke => "spoke",
            Ended::ChoseSilence => "chose_silence",
            Ended::Dropped => "dropped",
            Ended::Failed => "failed",
        }
    }
}

/// What a model call did to its decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    Kept,
    /// People moved on: the result was discarded, its tokens are booked.
    Superseded,
    Failed,
}

impl AttemptEnd {
    pub fn name(self) -> &'static str {
        match self {
            AttemptEnd::Kept => "kept",
            AttemptEnd::Superseded => "superseded",
            AttemptEnd::Failed => "failed",
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
    pub end: AttemptEnd,
    pub judgment: Option<Judgment>,
    /// Why it failed, for the operator. Never holds chat text.
    pub error: Option<String>,
    /// What did not fit into the prompt.
    pub left_out: Vec<LeftOut>,
    /// The words themselves, on their way into the store. They are kept apart from the ledger, and
    /// not for ever, so a row that was read back has none.
    pub exchange: Option<Arc<Exchange>>,
}

/// What a prompt was too short for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
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
pub struct Exchange {
    pub prompt: Arc<str>,
    /// `None` if it did not answer, or nobody waited for the answer.
    pub answer: Option<Arc<str>>,
    /// What the prompt holds. When a line of it is edited or deleted, the exchange goes.
    pub made_from: Lineage,
    /// The store's revision that the prompt was made from: what has changed since then must not be
    /// kept in an old shape. Only on the way into the store.
    pub considered: u64,
}

impl Attempt {
    /// The same without what the model was asked and wrote: a line that it saw has changed, and it may
    /// repeat that.
    pub fn without_words(self) -> Self {
        let blank = |judgment: Judgment| Judgment { reason: String::new(), ..judgment };
        Self { exchange: None, judgment: self.judgment.map(blank), ..self }
    }

    /// The attempt as the ledger keeps it: discarded if people had moved on.
    pub fn kept_if(self, is_current: bool) -> Self {
        let end = match (is_current, self.end) {
            (false, AttemptEnd::Kept) => AttemptEnd::Superseded,
            (true, end) | (false, end @ (AttemptEnd::Superseded | AttemptEnd::Failed)) => end,
        };
        Self { end, ..self }
    }
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
    pub addressed: bool,
    pub gate: Option<Gate>,
    /// The verdict that counted, if a judge was asked.
    pub judgment: Option<Judgment>,
    /// What was judged; see [`Context::state`].
    pub state: Option<StateHash>,
    pub ended: Option<Ended>,
    /// One sentence for people, in the persona's language.
    pub why: Option<String>,
    /// The lines that came of it.
    pub said: Vec<MessageId>,
    pub attempts: Vec<Attempt>,
    pub revision: u64,
}
