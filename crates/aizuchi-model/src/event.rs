//! What can happen and what it leads to: the closed list of events, a conversation's pending step, and the outcome of
//! handling one. Handlers return an [`Outcome`]; only the store writes it.

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
use serde::{Deserialize, Serialize};

use crate::chat::attachment::ReadAttachment;
use crate::chat::owed::Owed;
use crate::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, Reaction, ReactionChange,
    UserId,
};
use crate::context::StateHash;
use crate::context::seen_revision::SeenRevision;
use crate::decision::consent::NewConsent;
use crate::decision::gate::Gate;
use crate::decision::{Attempt, DecisionId, DecisionResult, Evaluation, Judgment};
use crate::event::quiet_order::QuietOrder;
use crate::memo::MemoChange;
use crate::memory::{Lineage, MessageRef};
use crate::rhythm::WaitStrategy;
use crate::rules::Mode;

/// Everything the runner does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Decide whether to join in.
    Judge(ConversationId),
    /// Draft an answer.
    Reply(ConversationId),
    /// Post a draft: the only effect on the outside world.
    Post(OutboxItem),
}

impl Event {
    pub fn conversation(&self) -> &ConversationId {
        match self {
            Event::Judge(conversation) | Event::Reply(conversation) => conversation,
            Event::Post(item) => &item.conversation,
        }
    }

    /// Returns the store revision that the text to be posted was made from.
    pub fn seen_revision(&self) -> Option<u64> {
        match self {
            Event::Judge(_) | Event::Reply(_) => None,
            Event::Post(item) => Some(item.metadata.seen_revision.number()),
        }
    }

    pub fn verb(&self) -> &'static str {
        match self {
            Event::Judge(_) => "judge",
            Event::Reply(_) => "reply",
            Event::Post(_) => "post",
        }
    }
}

number_id!(
    /// The number of an outbox row.
    OutboxItemId
);

/// One row of the outbox: a draft, or one part of a draft that is too long for one post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxItem {
    pub id: OutboxItemId,
    /// The first item of the same draft.
    pub first_in_draft: OutboxItemId,
    pub conversation: ConversationId,
    /// Sent with the post, so that it can be found in the platform's history (invariant 6).
    pub key: Arc<str>,
    pub text: Arc<str>,
    /// The message that this is a reaction to. If set, the text is the emoji.
    pub reaction_to: Option<MessageId>,
    pub metadata: Arc<DraftMetadata>,
    /// Set when a call to the platform may have been made and its outcome is unknown.
    pub dispatched_at: Option<Timestamp>,
}

impl OutboxItem {
    /// Whether the item was dispatched. From then on only the platform knows its state.
    pub fn is_sending(&self) -> bool {
        self.dispatched_at.is_some()
    }

    /// Whether users may have seen it, or an earlier item of the same draft.
    pub fn is_published(&self) -> bool {
        self.is_sending() || self.id != self.first_in_draft
    }

    /// Returns the stored form of a posted reaction, if this item is one.
    pub fn to_reaction(&self, posted: &PostedMessage) -> Option<Reaction> {
        Some(Reaction {
            workspace: self.conversation.workspace.clone(),
            channel: self.conversation.channel.clone(),
            message: self.reaction_to.clone()?,
            user: posted.author.clone(),
            kind: AuthorKind::Persona,
            emoji: self.text.clone(),
            at: posted.at,
            change: ReactionChange::Added,
        })
    }

    /// Returns the gate that settles the resulting message. Replies to commands and the notice on joining are not part
    /// of the conversation.
    pub fn message_gate(&self) -> Gate {
        let is_notice = self.metadata.owed.contains(&Owed::Join);
        match self.metadata.only_for.is_some() || is_notice {
            true => Gate::Command,
            false => Gate::OwnMessage,
        }
    }

    /// Returns the stored form of a posted message of the persona.
    pub fn to_message(&self, posted: &PostedMessage) -> Message {
        Message {
            conversation: ConversationId {
                thread: posted.thread.clone(),
                ..self.conversation.clone()
            },
            id: posted.id.clone(),
            at: posted.at,
            author: Author { id: posted.author.clone(), kind: AuthorKind::Persona },
            text: self.text.clone(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        }
    }
}

/// The content of a post, and its sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub content: DraftContent,
    pub metadata: DraftMetadata,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftContent {
    /// In posting order; never empty.
    Text(Vec<String>),
    /// An emoji on a message, without text.
    Reaction { emoji: String, on: MessageId },
}

/// What a finished post needs to know about its draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftMetadata {
    /// The owed messages that it settles without an answer, then those that it answers, and the persona's own join.
    pub owed: Vec<Owed>,
    /// The other messages that belong to what was owed an answer, so that it answers them as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_answers: Vec<MessageId>,
    /// The message that it is about, if it answers one.
    pub about: Option<MessageId>,
    /// The messages that were judged with that one and still call for a word: the next decision judges them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_open: Vec<MessageId>,
    /// The sources of its text.
    #[serde(rename = "made_from", default)]
    pub lineage: Lineage,
    /// The store's revision of the context that it was made from.
    #[serde(rename = "considered")]
    pub seen_revision: SeenRevision,
    /// How the decision ends once this is posted. An apology ends it as failed.
    pub ends: DecisionResult,
    /// Why the persona speaks, for users.
    pub why: String,
    /// Set if this answers a command of this user. Then no gate stops it, and only this user sees it if the platform
    /// supports that, unless it is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_for: Option<UserId>,
    /// Whether it answers a command that everyone in the channel has to know about, such as a mute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_public: bool,
    /// Whether a user has approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_approved: bool,
    /// How many of the first owed messages it only settles.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub only_settled: usize,
}

impl DraftMetadata {
    /// Returns the metadata of a draft that is made from nothing and answers nothing.
    pub fn new(ends: DecisionResult, why: impl Into<String>) -> Self {
        Self {
            owed: Vec::new(),
            also_answers: Vec::new(),
            about: None,
            leaves_open: Vec::new(),
            lineage: Lineage::default(),
            seen_revision: SeenRevision::Nothing,
            ends,
            why: why.into(),
            only_for: None,
            is_public: false,
            is_approved: false,
            only_settled: 0,
        }
    }

    /// Returns the only user who should see it, if there is one.
    pub fn only_reader(&self) -> Option<&UserId> {
        self.only_for.as_ref().filter(|_| !self.is_public)
    }

    /// Returns the newest message that it answers, unless that is the persona's own join.
    pub fn newest_owed(&self) -> Option<&MessageId> {
        self.owed.last().and_then(Owed::message)
    }

    /// Returns the stored messages of its channel that it answers, with the one that stands for a join.
    pub fn answered_message_refs(&self, channel: &ChannelId) -> Vec<MessageRef> {
        let answered = self.owed.iter().skip(self.only_settled).map(Owed::stored_id);
        let answered = answered.chain(self.about.clone());
        answered.map(|id| MessageRef(channel.clone(), id)).collect()
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What a heard event leads to.
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
    pub event: Event,
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
            wanted_calls: Vec::new(),
            read_attachments: Vec::new(),
            quiet_order: None,
            result,
        }
    }

    /// Returns the lineage of its text and the store revision that it refers to, if there is any text.
    pub fn lineage<'a>(&'a self, claim: &'a Claim) -> Option<(SeenRevision, &'a Lineage)> {
        if let Event::Post(item) = &claim.event {
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

/// A draft that a user has to approve before it is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedDraft {
    pub draft: Draft,
    /// When it can no longer be approved.
    pub expires: Timestamp,
}

impl ProposedDraft {
    /// Returns the same without its text. It cannot be approved.
    fn without_text(self) -> Self {
        let Draft { content, metadata } = self.draft;
        let content = match content {
            DraftContent::Text(posts) => DraftContent::Text(vec![String::new(); posts.len()]),
            reaction @ DraftContent::Reaction { .. } => reaction,
        };
        let metadata = DraftMetadata { why: String::new(), ..metadata };
        Self { draft: Draft { content, metadata }, ..self }
    }
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

/// A message as the platform has accepted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedMessage {
    pub id: MessageId,
    /// Its thread. A platform may open one for an answer.
    pub thread: Option<MessageId>,
    pub at: Timestamp,
    /// The persona's user on that platform.
    pub author: UserId,
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
