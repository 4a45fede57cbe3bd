//! What happened in a replay: the event file, one JSON object a line, and the figures that the score is made from.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::replay::by_conversation::{ByConversation, ConversationSet};
use crate::replay::moments::Moments;
use crate::replay::timing::UnsolicitedPost;
use aizuchi_core::chat::{ConversationId, MessageId};
use aizuchi_core::decision::DecisionId;
use aizuchi_core::event::{Claim, Outcome};

/// The kinds of events in an event file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayEventKind {
    Heard,
    /// A judge call starts. It may still be superseded.
    JudgeCalled,
    /// A gate settles a decision without a call.
    Gate,
    /// Work in flight was superseded.
    Cancelled,
    Speak,
    /// A decision to speak was dropped before the post.
    Dropped,
    /// A reaction to a message instead of a post.
    React,
    /// Nobody knows what a judge would have said.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayEvent {
    /// The recording's own epoch seconds.
    pub t: f64,
    pub kind: ReplayEventKind,
    pub room: Arc<str>,
    pub thread: Option<MessageId>,
    /// The newest message that was considered.
    pub message: Option<MessageId>,
    pub about: Option<MessageId>,
    pub decision: Option<DecisionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_bytes: Option<usize>,
    /// The length of the prefix that the prompt shares with the one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_bytes: Option<usize>,
    pub policy: Arc<str>,
}

/// One judge call, for the score.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeCall {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    /// The number of human messages of its conversation that had been heard.
    pub heard: usize,
    /// The newest human message that it was to judge.
    pub newest: Option<MessageId>,
    /// A newer message superseded the call while it ran, so its judgment was discarded.
    pub is_superseded: bool,
    /// The decision had been judged before, and that verdict was not the last word.
    pub is_second_look: bool,
    pub prompt_bytes: usize,
    pub prefix_bytes: usize,
}

/// One post, for the score.
#[derive(Clone, Debug, PartialEq)]
pub struct PostRecord {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    /// The number of human messages of its conversation that had been heard.
    pub heard: usize,
    /// It was decided by a second look.
    pub is_second_look: bool,
}

/// Writes the events and collects the figures of one channel.
pub struct Recorder(Mutex<Record>);

pub struct Record {
    pub policy: Arc<str>,
    pub channel: Arc<str>,
    pub now: Timestamp,
    /// The number of human messages, by thread.
    pub heard_humans: HashMap<Option<MessageId>, usize>,
    pub calls: Vec<JudgeCall>,
    pub gated: usize,
    pub all_posts: Vec<PostRecord>,
    /// Posts that answered no mention or direct message.
    pub unsolicited_posts: Vec<UnsolicitedPost>,
    pub reacted: usize,
    /// Decisions that ended as failed.
    pub failed: usize,
    pub last_prompt: String,
    /// The newest message of the context that was read last, for each conversation.
    pub considered: ByConversation<Option<MessageId>>,
    pub decisions: ByConversation<DecisionId>,
    /// The conversations whose step that was claimed last belongs to a second look.
    pub second_looks: ConversationSet,
    /// The time of the last decision to speak and the newest human message it considered.
    pub join_decisions: ByConversation<(Timestamp, Option<MessageId>)>,
    /// What was decided and why, if a report is made.
    pub moments: Option<Moments>,
    pub output: Option<Box<dyn Write + Send>>,
    /// Wall-clock seconds that the replay of the channel took.
    pub elapsed_seconds: f64,
    /// Nobody wants the result any more.
    pub stop: CancellationToken,
    /// The first error. It ends the replay.
    pub first_error: Option<anyhow::Error>,
}

impl Recorder {
    pub fn new(record: Record) -> Self {
        Self(Mutex::new(record))
    }

    pub fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock()
    }

    pub fn into_inner(self) -> Record {
        self.0.into_inner()
    }
}

impl Record {
    /// An event at the current time. The caller fills in the optional fields.
    pub fn event(&self, kind: ReplayEventKind, conversation: &ConversationId) -> ReplayEvent {
        ReplayEvent {
            t: self.now.as_millisecond() as f64 / 1000.0,
            kind,
            room: self.channel.clone(),
            thread: conversation.thread.clone(),
            message: self.considered.get(conversation).cloned().flatten(),
            about: None,
            decision: self.decisions.get(conversation).copied(),
            gate: None,
            prompt_bytes: None,
            prefix_bytes: None,
            policy: self.policy.clone(),
        }
    }

    /// Takes down what a step decided, for a report.
    pub fn add_moment(&mut self, claim: &Claim, outcome: &Outcome) {
        let Some(moments) = &mut self.moments else { return };
        let newest = self.considered.get(claim.event.conversation()).cloned().flatten();
        moments.add_outcome(claim, outcome, self.now, newest);
    }

    pub fn write(&mut self, event: &ReplayEvent) {
        let Some(output) = &mut self.output else { return };
        let written = serde_json::to_writer(&mut *output, event).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|()| output.write_all(b"\n")) {
            self.first_error
                .get_or_insert(anyhow::Error::new(error).context("cannot write the events"));
        }
    }
}
