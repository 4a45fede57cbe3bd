//! What can happen, and what it leaves: the closed list of events, a conversation's pending step,
//! and the outcome of handling one. Handlers return an [`Outcome`]; only the store writes it.

pub mod memory_job;
pub mod completion;
pub mod step;

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::{
    Author, AuthorKind, ChannelId, ConversationId, JOINED_MESSAGE_ID, Message, MessageId, Reaction,
    ReactionChange, UserId,
};
use crate::context::StateHash;
use crate::decision::gate::Gate;
use crate::decision::{Attempt, DecisionId, DecisionResult, Evaluation, Judgment};
use crate::memo::MemoChange;
use crate::memory::{Lineage, MessageRef};
use crate::rhythm::WaitStrategy;
use crate::rules::Mode;

/// Everything the runner does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Decide whether to join in.
    Judge(ConversationId),
    /// Think of what to say.
    Reply(ConversationId),
    /// Say it: the only act on the world.
    Post(OutboxItem),
}

impl Event {
    pub fn conversation(&self) -> &ConversationId {
        match self {
            Event::Judge(conversation) | Event::Reply(conversation) => conversation,
            Event::Post(piece) => &piece.conversation,
        }
    }

    /// The revision of the store that the words to be posted were made from.
    pub fn seen_revision(&self) -> Option<u64> {
        match self {
            Event::Judge(_) | Event::Reply(_) => None,
            Event::Post(piece) => Some(piece.metadata.seen_revision),
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

/// The number of an outbox row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutboxItemId(pub i64);

impl fmt::Display for OutboxItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One row of the outbox: a draft, or one part of a draft that was too long for one post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxItem {
    pub id: OutboxItemId,
    /// The first piece of the same draft.
    pub first_in_draft: OutboxItemId,
    pub conversation: ConversationId,
    /// Travels with the post, so that the platform's history can be asked for it (invariant 6).
    pub key: Arc<str>,
    pub text: Arc<str>,
    /// The line that this is a reaction to; the text is its emoji then.
    pub reaction_to: Option<MessageId>,
    pub metadata: Arc<DraftMetadata>,
    /// Set when a call to the platform may have been made and its end is not known.
    pub dispatched_at: Option<Timestamp>,
}

impl OutboxItem {
    /// Once dispatched, only the platform knows what became of it.
    pub fn is_sending(&self) -> bool {
        self.dispatched_at.is_some()
    }

    /// People may have seen it, or a piece before it.
    pub fn is_published(&self) -> bool {
        self.is_sending() || self.id != self.first_in_draft
    }

    /// The reaction that this became, if it is one.
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

    /// What settles the line that this becomes.
    pub fn message_gate(&self) -> Gate {
        if self.metadata.only_for.is_some() { Gate::Command } else { Gate::OwnLine }
    }

    /// The persona's own line that this became, if it is not a reaction.
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
            edits: 0,
        }
    }
}

/// What is to be said, and what it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub content: DraftContent,
    pub metadata: DraftMetadata,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftContent {
    /// In posting order; never empty.
    Text(Vec<String>),
    /// An emoji on a line: a nod instead of words.
    Reaction { emoji: String, on: MessageId },
}

/// What a finished post needs to know of its draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftMetadata {
    /// The owed lines that it answers.
    pub owed: Vec<MessageId>,
    /// The line it is about, if it answers one.
    pub about: Option<MessageId>,
    /// What its words were made from.
    #[serde(rename = "made_from", default)]
    pub lineage: Lineage,
    /// The store's revision that its context held.
    #[serde(rename = "considered")]
    pub seen_revision: u64,
    /// How the decision ends once this is said: an apology ends as failed.
    pub ends: DecisionResult,
    /// Why it speaks, for people.
    pub why: String,
    /// It answers this person's command: no gate stops it, and where the platform can, nobody else sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_for: Option<UserId>,
}

impl DraftMetadata {
    /// The newest line that it answers, if it is one that people see.
    pub fn newest_owed(&self) -> Option<&MessageId> {
        self.owed.last().filter(|line| line.as_str() != JOINED_MESSAGE_ID)
    }

    /// The lines of its channel that it answers.
    pub fn answered_message_refs(&self, channel: &ChannelId) -> Vec<MessageRef> {
        let answered = self.owed.iter().chain(&self.about);
        answered.map(|id| MessageRef(channel.clone(), id.clone())).collect()
    }
}

/// What something heard calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is no line: nothing was said that could be settled, judged or answered.
    NotAMessage,
    /// It is kept, and settled at once by a gate.
    Settled(Gate),
    /// Judge the conversation when the talk has rested.
    Judge(Debounce),
    /// A human addressed the persona: an answer is owed, due then.
    Owe { due: Timestamp },
    /// It is a command, and so no part of the talk: it is carried out, and an answer is owed.
    Command { due: Timestamp },
}

impl Disposition {
    /// The line is not to be listened to: it is in no prompt and no memory.
    pub fn is_redacted(self) -> bool {
        self.gate().is_some_and(Gate::is_redacting)
    }

    /// The gate that settles the line when it is heard, if one does.
    pub fn gate(self) -> Option<Gate> {
        match self {
            Disposition::Settled(gate) => Some(gate),
            Disposition::Command { .. } => Some(Gate::Command),
            Disposition::NotAMessage | Disposition::Judge(_) | Disposition::Owe { .. } => None,
        }
    }
}

/// How long talk rests before it is judged, and what a line does to work that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    /// When the talk has rested, if nobody says more.
    pub due: Timestamp,
    /// However much is said, it is judged so long after the first line that was not judged yet.
    pub max_wait: SignedDuration,
    pub on_new_message: OnNewMessage,
}

/// What a new line does to unsolicited work that has begun (invariant 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNewMessage {
    /// It is thrown away, and the wait begins anew (seed 002-13).
    Restart,
    /// It goes on as long as the line that it is about is open.
    Continue,
}

impl OnNewMessage {
    pub fn new(mode: Mode, wait: WaitStrategy) -> Self {
        match (mode, wait) {
            (Mode::Facilitator, _) | (_, WaitStrategy::Adaptive) => OnNewMessage::Continue,
            (
                Mode::Companion | Mode::MentionOnly | Mode::Observe | Mode::Off,
                WaitStrategy::Fixed,
            ) => OnNewMessage::Restart,
        }
    }
}

/// A due step, taken by one runner until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub event: Event,
    pub due: Timestamp,
    pub decision: DecisionId,
    /// An answer is owed: it must not end in silence without a word.
    pub is_owed: bool,
    pub generation: u64,
    /// Names this claim and no other, so that a claim that lost its lease can tell.
    pub token: i64,
    /// 1 for the first.
    pub attempt: u32,
    /// How often an owed answer was begun anew.
    pub redrafts: u32,
}

/// What handling a step came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The model calls made on the way, whatever came of them.
    pub attempts: Vec<Attempt>,
    /// What was weighed before a model was asked, where something was.
    pub evaluation: Option<Evaluation>,
    /// The revision of the store that this was decided from; lines that came later are unseen.
    pub seen_revision: Option<u64>,
    /// What the thought changed about memos. They are written if its words are kept, and else dropped
    /// with them, so that a thought that is repeated changes nothing twice.
    pub memo_changes: Vec<MemoChange>,
    pub result: StepResult,
}

impl Outcome {
    /// Nothing but an end.
    pub fn new(end: StepResult) -> Self {
        Self {
            attempts: Vec::new(),
            evaluation: None,
            seen_revision: None,
            memo_changes: Vec::new(),
            result: end,
        }
    }

    /// What its words were made from, as of which revision of the store, if there are any.
    pub fn lineage<'a>(&'a self, claim: &'a Claim) -> Option<(u64, &'a Lineage)> {
        if let Event::Post(piece) = &claim.event {
            return Some((piece.metadata.seen_revision, &piece.metadata.lineage));
        }
        let exchange = self.attempts.iter().rev().find_map(|attempt| attempt.exchange.as_ref());
        if let (None, StepResult::Drafted { draft, .. }) = (exchange, &self.result) {
            return Some((draft.metadata.seen_revision, &draft.metadata.lineage));
        }
        exchange.map(|exchange| (exchange.seen_revision, &exchange.lineage))
    }

    /// The same without what models were asked and wrote, memos included: a line that they saw has
    /// changed, and they may repeat it.
    pub fn without_text(self) -> Self {
        let blank = |judgment: Judgment| Judgment { reason: String::new(), ..judgment };
        let attempts = self.attempts.into_iter().map(Attempt::without_text);
        let end = match self.result {
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
                let notes = DraftMetadata { why: String::new(), ..draft.metadata };
                StepResult::React {
                    judgment: blank(judgment),
                    state,
                    draft: Draft { metadata: notes, ..draft },
                }
            }
            end @ (StepResult::Silent(_)
            | StepResult::Redraft { .. }
            | StepResult::Drafted { .. }
            | StepResult::Posted(_)
            | StepResult::Withdrawn { .. }
            | StepResult::Retry { .. }
            | StepResult::Deferred { .. }
            | StepResult::NotSent { .. }
            | StepResult::Failed { .. }
            | StepResult::Superseded) => end,
        };
        Self { attempts: attempts.collect(), memo_changes: Vec::new(), result: end, ..self }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum StepResult {
    /// Nothing will be said, and the decision closes.
    Silent(DecisionClosing),
    /// The judge wants to join in; think of the words at `due`.
    Join { judgment: Judgment, state: StateHash, due: Timestamp },
    /// The judge does not want to speak, and nods.
    React { judgment: Judgment, state: StateHash, draft: Draft },
    /// The words are found; say them at `due`.
    Drafted { draft: Draft, due: Timestamp },
    /// The platform has it.
    Posted(PostedMessage),
    /// Nobody is owed an answer any more.
    Withdrawn { why: String },
    /// People went on, and what it is about is still open: find words that know it.
    Redraft { due: Timestamp },
    /// Something stood in the way; the same again at `due`. A dispatched piece stays dispatched.
    Retry { due: Timestamp },
    /// It is not known yet what people have said lately, or others are said first, so nothing was tried; the
    /// same again at `due`.
    Deferred { due: Timestamp },
    /// The platform surely did not take the piece; it is a draft again, due at `due`.
    NotSent { due: Timestamp },
    /// It will not succeed; a person should look (dead letter).
    Failed { error: String, why: String },
    /// People moved on while this was worked at: the result is discarded.
    Superseded,
}

/// How a decision closes.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionClosing {
    pub ended: DecisionResult,
    pub gate: Option<Gate>,
    pub judgment: Option<Judgment>,
    pub state_hash: Option<StateHash>,
    /// Owed lines that this settles, without an answer.
    pub settled_messages: Vec<MessageId>,
    /// One sentence for people.
    pub why: String,
}

impl DecisionClosing {
    pub fn new(ended: DecisionResult, why: impl Into<String>) -> Self {
        let (gate, judgment, state, settles) = (None, None, None, Vec::new());
        Self {
            ended,
            gate,
            judgment,
            state_hash: state,
            settled_messages: settles,
            why: why.into(),
        }
    }
}

/// A line as the platform has accepted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedMessage {
    pub id: MessageId,
    /// The thread that it stands in; a platform may open one for an answer.
    pub thread: Option<MessageId>,
    pub at: Timestamp,
    /// The persona's own user there.
    pub author: UserId,
}

/// Something that was given up and waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    pub conversation: ConversationId,
    pub verb: Arc<str>,
    pub at: Timestamp,
    pub attempts: u32,
    pub error: String,
    /// The words that were not said, if there were any.
    pub text: Option<Arc<str>>,
}
