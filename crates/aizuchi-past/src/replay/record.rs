//! The record of a replay: the event file, with one JSON object per line, and the figures that the score is made from.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use aizuchi_import::rows::IdHash;
use aizuchi_model::chat::{ConversationId, MessageId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::flow::{Claim, Outcome};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use tempfile::SpooledTempFile;
use tokio_util::sync::CancellationToken;

use crate::replay::moments::Moments;

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
    /// The judge's answer is unknown.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayEvent {
    /// The recording's own epoch seconds.
    pub t: f64,
    pub kind: ReplayEventKind,
    #[serde(rename = "room")]
    pub channel: Arc<str>,
    pub thread: Option<MessageId>,
    /// The newest message that was considered.
    pub message: Option<MessageId>,
    pub about: Option<MessageId>,
    pub decision: Option<DecisionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_bytes: Option<usize>,
    /// The length of the prefix that the prompt shares with the previous one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_bytes: Option<usize>,
    pub policy: Arc<str>,
}

/// One judge call, for the score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeCall {
    pub at: Timestamp,
    /// The thread, or the top level.
    pub thread: IdHash,
    /// The number of rows of the channel that had been heard.
    pub heard_rows: usize,
    /// Whether a newer message superseded the call while it ran, so that its judgment was discarded.
    pub is_superseded: bool,
    /// Whether the decision had been judged before, and that verdict was not final.
    pub is_second_look: bool,
    pub prompt_bytes: usize,
    pub prefix_bytes: usize,
}

/// One post, for the score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostRecord {
    pub at: Timestamp,
    /// The thread, or the top level.
    pub thread: IdHash,
    /// The number of rows of the channel that had been heard.
    pub heard_rows: usize,
    /// The message that it answers, if it is the first part of a post that nobody asked for.
    pub about: Option<IdHash>,
}

/// What is known of a conversation from its latest step.
#[derive(Clone, Debug, Default)]
pub struct ConversationNotes {
    /// The newest message of the latest context that was read.
    pub considered: Option<MessageId>,
    pub decision: Option<DecisionId>,
    /// Whether the step belongs to a second look.
    pub is_second_look: bool,
}

/// The notes of the recently active conversations. There may be very many, so those of the oldest are dropped.
#[derive(Default)]
struct RecentNotes {
    newer: HashMap<IdHash, ConversationNotes>,
    /// The notes before those.
    older: HashMap<IdHash, ConversationNotes>,
}

/// The minimum number of conversations whose notes are kept. They are read within the same step, or before a decided
/// post is made: within a few hours, in which a channel has far fewer conversations.
const MIN_KNOWN: usize = 1 << 15;

/// The maximum number of calls that a channel makes between a call and its result.
const MAX_CALLS_SINCE: usize = 1 << 16;

/// The record of a channel while it is replayed.
pub type Recorder = Mutex<Record>;

#[derive(Default)]
pub struct Record {
    pub policy: Arc<str>,
    pub channel: Arc<str>,
    pub now: Timestamp,
    /// The number of rows of the channel that have been heard.
    pub heard_rows: usize,
    pub calls: Vec<JudgeCall>,
    pub gated: usize,
    pub posts: Vec<PostRecord>,
    /// Decisions that ended as failed.
    pub failed: usize,
    pub last_prompt: String,
    notes: RecentNotes,
    /// The decisions and their reasons, if a report is made.
    pub moments: Option<Moments>,
    /// The events, if they are written.
    pub events: Option<SpooledTempFile>,
    /// Wall-clock seconds that the replay of the channel took.
    pub elapsed_seconds: f64,
    /// Cancelled once the result is not wanted any more.
    pub stop: CancellationToken,
    /// The first error. It ends the replay.
    pub first_error: Option<anyhow::Error>,
}

impl Record {
    pub fn notes(&mut self, conversation: &ConversationId) -> &mut ConversationNotes {
        let key = IdHash::from_thread(conversation.thread.as_ref().map(MessageId::as_str));
        let RecentNotes { newer, older } = &mut self.notes;
        if newer.len() >= MIN_KNOWN && !newer.contains_key(&key) {
            *older = std::mem::take(newer);
        }
        newer.entry(key).or_insert_with(|| older.remove(&key).unwrap_or_default())
    }

    /// Returns the newest judge call of a thread, or of the top level.
    pub fn newest_call(&mut self, thread: IdHash) -> Option<&mut JudgeCall> {
        // The result of a call comes soon after the call.
        self.calls.iter_mut().rev().take(MAX_CALLS_SINCE).find(|call| call.thread == thread)
    }

    /// Creates an event at the current time. The caller fills in the optional fields.
    pub fn event(&mut self, kind: ReplayEventKind, conversation: &ConversationId) -> ReplayEvent {
        let ConversationNotes { considered, decision, .. } = self.notes(conversation).clone();
        ReplayEvent {
            t: self.now.as_millisecond() as f64 / 1000.0,
            kind,
            channel: self.channel.clone(),
            thread: conversation.thread.clone(),
            message: considered,
            about: None,
            decision,
            gate: None,
            prompt_bytes: None,
            prefix_bytes: None,
            policy: self.policy.clone(),
        }
    }

    /// Records the decision of a step, for a report.
    pub fn add_moment(&mut self, claim: &Claim, outcome: &Outcome) {
        let newest = self.notes(claim.work.conversation()).considered.clone();
        if let Some(moments) = &mut self.moments {
            moments.add_outcome(claim, outcome, self.now, newest);
        }
    }

    pub fn write(&mut self, event: &ReplayEvent) {
        let Some(events) = &mut self.events else { return };
        let written = serde_json::to_writer(&mut *events, event).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|()| events.write_all(b"\n")) {
            self.first_error
                .get_or_insert(anyhow::Error::new(error).context("cannot write the events"));
        }
    }
}
