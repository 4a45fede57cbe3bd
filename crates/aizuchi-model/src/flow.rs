//! The work of a conversation: its pending step, how a step is claimed, and the outcome of handling one. Handlers return
//! an [`Outcome`]; only the store writes it.

pub mod outbox;
pub mod memory_job;
pub mod completion;
pub mod step;
pub mod dead_letter;
pub mod approval;
pub mod planned_call;
pub mod web_call;
pub mod quiet_order;
pub mod found_posts;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::ConversationId;
use crate::chat::attachment::ReadAttachment;
use crate::chat::owed::Owed;
use crate::context::StateHash;
use crate::context::seen_revision::SeenRevision;
use crate::decision::consent::NewConsent;
use crate::decision::gate::Gate;
use crate::decision::{Attempt, DecisionId, DecisionResult, Evaluation, Judgment};
use crate::flow::outbox::{Draft, DraftMetadata, OutboxItem, PostedMessage, ProposedDraft};
use crate::flow::quiet_order::QuietOrder;
use crate::memo::MemoChange;
use crate::memory::Lineage;
use crate::plan::Plan;
use crate::rhythm::WaitStrategy;
use crate::rules::Mode;

/// Everything the runner does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Decide whether to join in.
    Judge(ConversationId),
    /// Draft an answer.
    Reply(ConversationId),
    /// Post a draft: the only effect on the outside world.
    Post(OutboxItem),
}

impl Work {
    pub fn conversation(&self) -> &ConversationId {
        match self {
            Work::Judge(conversation) | Work::Reply(conversation) => conversation,
            Work::Post(item) => &item.conversation,
        }
    }

    /// Returns the store revision that the text to be posted was made from.
    pub fn seen_revision(&self) -> Option<u64> {
        match self {
            Work::Judge(_) | Work::Reply(_) => None,
            Work::Post(item) => Some(item.metadata.seen_revision.number()),
        }
    }

    pub fn verb(&self) -> &'static str {
        match self {
            Work::Judge(_) => "judge",
            Work::Reply(_) => "reply",
            Work::Post(_) => "post",
        }
    }
}

/// What something heard leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is not a message, so there is nothing to settle, judge or answer.
    NotAMessage,
    /// It is stored and settled at once by a gate.
    Settled(Gate),
    /// Judge the conversation when it is at rest.
    Judge(Debounce),
    /// A human addressed the persona: an answer is owed at that time.
    Owe { due: Timestamp },
    /// It is a command, and so not part of the conversation. It is carried out, and an answer is owed.
    Command { due: Timestamp },
}

impl Disposition {
    /// Whether the message is ignored: it appears in no prompt and no memory.
    pub fn is_redacted(self) -> bool {
        self.gate().is_some_and(Gate::is_redacting)
    }

    /// Returns the gate that settles the message when it is heard, if any.
    pub fn gate(self) -> Option<Gate> {
        match self {
            Disposition::Settled(gate) => Some(gate),
            Disposition::Command { .. } => Some(Gate::Command),
            Disposition::NotAMessage | Disposition::Judge(_) | Disposition::Owe { .. } => None,
        }
    }
}

/// How long a conversation rests before it is judged, and what a message does to work that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    /// When the conversation is at rest, if no message follows.
    pub due: Timestamp,
    /// The maximum wait after the first unjudged message, however many follow.
    pub max_wait: SignedDuration,
    pub on_new_message: OnNewMessage,
}

/// What a new message does to unsolicited work that has begun (invariant 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNewMessage {
    /// The work is discarded, and the wait starts again.
    Restart,
    /// The work goes on as long as the message that it is about is open.
    Continue,
}

impl OnNewMessage {
    pub fn new(mode: Mode, wait: WaitStrategy) -> Self {
        match (mode, wait) {
            // A proposal waits long for approval, and users write in the meantime.
            (Mode::Facilitator | Mode::Propose, _) | (_, WaitStrategy::Adaptive) => {
                OnNewMessage::Continue
            }
            (
                Mode::Companion | Mode::MentionOnly | Mode::Observe | Mode::Off,
                WaitStrategy::Fixed,
            ) => OnNewMessage::Restart,
        }
    }
}

/// A due step, claimed by one runner until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub work: Work,
    pub due: Timestamp,
    pub decision: DecisionId,
    /// Whether an answer is owed, so that the step must not end in silence.
    pub is_owed: bool,
    pub generation: u64,
    /// Identifies this claim, so that a claim that lost its lease can tell.
    pub token: i64,
    /// Starts at 1.
    pub attempt: u32,
    /// How often an owed answer was started again.
    pub redrafts: u32,
    /// How often its decision was judged again.
    pub second_looks: u32,
    /// The plan whose step this is. Without one, it is the conversation's.
    pub plan: Option<Arc<Plan>>,
}

/// The result of handling a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// All model calls that were made.
    pub attempts: Vec<Attempt>,
    /// What was evaluated before a model was asked, if anything.
    pub evaluation: Option<Evaluation>,
    /// The store revision that this was decided from. Later messages are unseen.
    pub seen_revision: Option<u64>,
    /// Changes of memos. They are written if the text is kept, and dropped with it otherwise, so that a repeated model
    /// call does not apply them twice.
    pub memo_changes: Vec<MemoChange>,
    /// What the text says that the persona will do later. It is planned when the text is drafted.
    pub plans: Vec<Plan>,
    /// The calls that a user has to allow. They are kept with the draft that announces them, and dropped with it
    /// otherwise.
    pub wanted_calls: Vec<NewConsent>,
    /// The contents that were read from files. They are kept even if the text is not.
    pub read_attachments: Vec<ReadAttachment>,
    /// What the user ordered to whom the text answers. It is dropped with the text.
    pub quiet_order: Option<QuietOrder>,
    pub result: StepResult,
}

impl Outcome {
    /// Returns an outcome with only a result.
    pub fn new(result: StepResult) -> Self {
        Self {
            attempts: Vec::new(),
            evaluation: None,
            seen_revision: None,
            memo_changes: Vec::new(),
            plans: Vec::new(),
            wanted_calls: Vec::new(),
            read_attachments: Vec::new(),
            quiet_order: None,
            result,
        }
    }

    /// Returns the lineage of its text and the store revision that it refers to, if there is any text.
    pub fn lineage<'a>(&'a self, claim: &'a Claim) -> Option<(SeenRevision, &'a Lineage)> {
        if let Work::Post(item) = &claim.work {
            return Some((item.metadata.seen_revision, &item.metadata.lineage));
        }
        let exchange = self.attempts.iter().rev().find_map(|attempt| attempt.exchange.as_ref());
        if let (
            None,
            StepResult::Drafted { draft, .. } | StepResult::Proposed(ProposedDraft { draft, .. }),
        ) = (exchange, &self.result)
        {
            return Some((draft.metadata.seen_revision, &draft.metadata.lineage));
        }
        exchange.map(|exchange| exchange.sources())
    }

    /// Returns the outcome without prompts, answers and memo changes. Used when a source message has changed, since
    /// these may repeat it.
    pub fn without_text(self) -> Self {
        let blank = |judgment: Judgment| Judgment { reason: String::new(), ..judgment };
        let attempts = self.attempts.into_iter().map(Attempt::without_text);
        let result = match self.result {
            StepResult::Silent(closing) if closing.judgment.is_some() => {
                StepResult::Silent(DecisionClosing {
                    judgment: closing.judgment.map(blank),
                    why: String::new(),
                    ..closing
                })
            }
            StepResult::Join { judgment, state, due } => {
                StepResult::Join { judgment: blank(judgment), state, due }
            }
            StepResult::React { judgment, state, draft } => {
                let metadata = DraftMetadata { why: String::new(), ..draft.metadata };
                StepResult::React {
                    judgment: blank(judgment),
                    state,
                    draft: Draft { metadata, ..draft },
                }
            }
            StepResult::Proposed(proposed) => StepResult::Proposed(proposed.without_text()),
            result @ (StepResult::Silent(_)
            | StepResult::Redraft { .. }
            | StepResult::Drafted { .. }
            | StepResult::Posted(_)
            | StepResult::Withdrawn { .. }
            | StepResult::LookAgain { .. }
            | StepResult::Retry { .. }
            | StepResult::Deferred { .. }
            | StepResult::RetryUnsent { .. }
            | StepResult::Failed { .. }
            | StepResult::Superseded) => result,
        };
        Self {
            attempts: attempts.collect(),
            memo_changes: Vec::new(),
            plans: Vec::new(),
            wanted_calls: Vec::new(),
            quiet_order: None,
            result,
            ..self
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum StepResult {
    /// Nothing will be posted, and the decision closes.
    Silent(DecisionClosing),
    /// The judge wants to join in; draft an answer at `due`.
    Join { judgment: Judgment, state: StateHash, due: Timestamp },
    /// The judge does not want to speak, but to react.
    React { judgment: Judgment, state: StateHash, draft: Draft },
    /// The draft is ready; post it at `due`.
    Drafted { draft: Draft, due: Timestamp },
    /// The draft is ready, but a user has to approve it.
    Proposed(ProposedDraft),
    /// The platform has accepted it.
    Posted(PostedMessage),
    /// An answer is no longer owed.
    Withdrawn { why: String },
    /// It is unclear whether a text of the persona is wanted: judge once more at `due`. The verdict and the draft so
    /// far no longer count.
    LookAgain { due: Timestamp },
    /// Messages followed, and the message that the draft is about is still open: draft again with them.
    Redraft { due: Timestamp },
    /// A retryable failure: run the same step again at `due`. A dispatched item stays dispatched.
    Retry { due: Timestamp },
    /// Nothing was tried, because a backfill is not finished or other posts come first: run the same step again at
    /// `due`.
    Deferred { due: Timestamp },
    /// The platform certainly did not take the item; it is a draft again, due at `due`.
    RetryUnsent { due: Timestamp },
    /// It will not succeed; an operator should look (dead letter).
    Failed { error: String, why: String },
    /// Newer messages superseded the work: the result is discarded.
    Superseded,
}

/// How a decision closes.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionClosing {
    pub ended: DecisionResult,
    pub gate: Option<Gate>,
    pub judgment: Option<Judgment>,
    pub state_hash: Option<StateHash>,
    /// What was owed an answer and is settled by this without one.
    pub settled: Vec<Owed>,
    /// One sentence for users.
    pub why: String,
}

impl DecisionClosing {
    pub fn new(ended: DecisionResult, why: impl Into<String>) -> Self {
        Self {
            ended,
            gate: None,
            judgment: None,
            state_hash: None,
            settled: Vec::new(),
            why: why.into(),
        }
    }
}

/// Names a dead letter within its store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadLetterId(pub i64);

/// A step that was given up and needs an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Assigned by the store, and never reused.
    pub id: DeadLetterId,
    /// The decision that failed. Letters from before this was recorded may name none.
    pub decision: Option<DecisionId>,
    pub conversation: ConversationId,
    pub verb: Arc<str>,
    pub at: Timestamp,
    pub attempts: u32,
    pub error: String,
    /// The text that was not posted, if any.
    pub text: Option<Arc<str>>,
}
