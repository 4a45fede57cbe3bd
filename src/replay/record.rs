//! What happened in a replay: one event a line, and what the score is made from.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::Serialize;

use crate::replay::timing::UnsolicitedPost;
use aizuchi_core::chat::{ConversationId, MessageId};
use aizuchi_core::decision::DecisionId;

/// What an event file holds (DESIGN §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayEventKind {
    Heard,
    /// A judge call starts, also if it is overtaken.
    JudgeCalled,
    /// A gate settles a decision without a call.
    Gate,
    /// Work under way was overtaken.
    Cancelled,
    Speak,
    /// There was something to say, and it was no longer wanted.
    Dropped,
    /// An emoji on a line instead of words.
    React,
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
    /// What a prompt shares with the one before it, from its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_bytes: Option<usize>,
    pub policy: Arc<str>,
}

/// One judge call, for the score.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeCall {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    /// How many human messages of its conversation had been heard.
    pub heard: usize,
    /// The newest line by a person that it was to judge.
    pub newest: Option<MessageId>,
    /// People moved on while it ran, so it judged nothing.
    pub is_superseded: bool,
    pub prompt_bytes: usize,
    pub prefix_bytes: usize,
}

/// One post, for the score.
#[derive(Clone, Debug, PartialEq)]
pub struct PostRecord {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    /// How many human messages of its conversation had been heard.
    pub heard: usize,
}

/// Writes events and gathers what one room's score is made from.
pub struct Recorder(Mutex<Record>);

pub struct Record {
    pub policy: Arc<str>,
    pub room: Arc<str>,
    pub now: Timestamp,
    /// Human messages, by thread.
    pub heard_humans: HashMap<Option<MessageId>, usize>,
    pub calls: Vec<JudgeCall>,
    pub gated: usize,
    pub all_posts: Vec<PostRecord>,
    /// What was said unasked.
    pub unsolicited_posts: Vec<UnsolicitedPost>,
    pub reacted: usize,
    /// Decisions that ended badly.
    pub failed: usize,
    pub last_prompt: String,
    /// The newest message in the context that each conversation was read with last.
    pub considered: HashMap<ConversationId, Option<MessageId>>,
    pub decisions: HashMap<ConversationId, DecisionId>,
    /// When it last decided to speak, and behind which line by a person.
    pub join_decisions: HashMap<ConversationId, (Timestamp, Option<MessageId>)>,
    pub output: Option<Box<dyn Write + Send>>,
    /// The first thing that went wrong; it ends the replay.
    pub first_error: Option<anyhow::Error>,
}

impl Recorder {
    pub fn new(record: Record) -> Self {
        Self(Mutex::new(record))
    }

    pub fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn into_inner(self) -> Record {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// An event of this moment; the caller fills in what it knows.
    pub fn event(&self, kind: ReplayEventKind, conversation: &ConversationId) -> ReplayEvent {
        ReplayEvent {
            t: self.now.as_millisecond() as f64 / 1000.0,
            kind,
            room: self.room.clone(),
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

    pub fn write(&mut self, event: &ReplayEvent) {
        let Some(output) = &mut self.output else { return };
        let written = serde_json::to_writer(&mut *output, event).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|()| output.write_all(b"\n")) {
            self.first_error.get_or_insert(anyhow::Error::new(error).context("writing the events"));
        }
    }
}
