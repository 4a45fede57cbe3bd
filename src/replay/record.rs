//! The record of a replay: the event file, with one JSON object per line, and the figures that the score is made from.

use std::io::Write;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::replay::by_conversation::{ByConversation, ConversationSet};
use crate::replay::column::Column;
use crate::replay::column::fixed::Fixed;
use crate::replay::history::RecordedChannel;
use crate::replay::moments::Moments;
use crate::replay::rows::IdHash;
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
    /// The newest human message that it was to judge.
    pub newest: Option<IdHash>,
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
    /// Whether a second look decided it.
    pub is_second_look: bool,
}

/// The maximum number of calls that a channel makes between a call and its result.
const MAX_CALLS_SINCE: usize = 1 << 16;

const SUPERSEDED: u8 = 1;
const SECOND_LOOK: u8 = 1 << 1;
const HAS_NEWEST: u8 = 1 << 2;

/// The time and the thread, and the number of heard rows and the flags.
type PostParts = ((Timestamp, IdHash), (u64, u8));
/// The parts of a post, the newest message, and the lengths of the prompt and of its shared prefix.
type CallParts = (PostParts, (IdHash, (u64, u64)));

impl Fixed for JudgeCall {
    const BYTES: usize = CallParts::BYTES;

    fn write(self, bytes: &mut [u8]) {
        let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
        let flags = flag(SUPERSEDED, self.is_superseded)
            | flag(SECOND_LOOK, self.is_second_look)
            | flag(HAS_NEWEST, self.newest.is_some());
        let when = ((self.at, self.thread), (self.heard_rows as u64, flags));
        let newest = self.newest.unwrap_or(IdHash(0));
        let prompt = (self.prompt_bytes as u64, self.prefix_bytes as u64);
        (when, (newest, prompt)).write(bytes);
    }

    fn read(bytes: &[u8]) -> Self {
        let (when, (newest, (prompt_bytes, prefix_bytes))) = CallParts::read(bytes);
        let ((at, thread), (heard_rows, flags)) = when;
        Self {
            at,
            thread,
            heard_rows: heard_rows as usize,
            newest: (flags & HAS_NEWEST != 0).then_some(newest),
            is_superseded: flags & SUPERSEDED != 0,
            is_second_look: flags & SECOND_LOOK != 0,
            prompt_bytes: prompt_bytes as usize,
            prefix_bytes: prefix_bytes as usize,
        }
    }
}

impl Fixed for PostRecord {
    const BYTES: usize = PostParts::BYTES;

    fn write(self, bytes: &mut [u8]) {
        let flags = if self.is_second_look { SECOND_LOOK } else { 0 };
        ((self.at, self.thread), (self.heard_rows as u64, flags)).write(bytes);
    }

    fn read(bytes: &[u8]) -> Self {
        let ((at, thread), (heard_rows, flags)) = PostParts::read(bytes);
        let (heard_rows, is_second_look) = (heard_rows as usize, flags & SECOND_LOOK != 0);
        Self { at, thread, heard_rows, is_second_look }
    }
}

/// Writes the events and collects the figures of one channel.
pub struct Recorder(Mutex<Record>);

pub struct Record {
    pub policy: Arc<str>,
    pub channel: Arc<str>,
    pub now: Timestamp,
    /// The number of rows of the channel that have been heard.
    pub heard_rows: usize,
    pub calls: Column<JudgeCall>,
    pub gated: usize,
    pub all_posts: Column<PostRecord>,
    /// Posts that answered no mention or direct message.
    pub unsolicited_posts: Column<UnsolicitedPost>,
    pub reacted: usize,
    /// Decisions that ended as failed.
    pub failed: usize,
    pub last_prompt: String,
    /// The newest message of the latest context that was read, for each conversation.
    pub considered: ByConversation<Option<MessageId>>,
    pub decisions: ByConversation<DecisionId>,
    /// The conversations whose latest claimed step belongs to a second look.
    pub second_looks: ConversationSet,
    /// The decisions and their reasons, if a report is made.
    pub moments: Option<Moments>,
    pub output: Option<Box<dyn Write + Send>>,
    /// Wall-clock seconds that the replay of the channel took.
    pub elapsed_seconds: f64,
    /// Cancelled once the result is not wanted any more.
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
    /// Returns the index of the newest judge call of a thread, or of the top level.
    pub fn newest_call(&self, thread: IdHash) -> Option<usize> {
        // The result of a call comes soon after the call.
        let first = self.calls.len().saturating_sub(MAX_CALLS_SINCE);
        let newest = self.calls.part(first, self.calls.len());
        newest.iter().rposition(|call| call.thread == thread).map(|place| first + place)
    }

    /// Fails if anything in the record or its channel, or in the columns derived from them for figures, could not be
    /// read back from a temporary file.
    pub fn check(&self, channel: &RecordedChannel) -> anyhow::Result<()> {
        self.calls.check()?;
        self.all_posts.check()?;
        self.unsolicited_posts.check()?;
        channel.rows.check()
    }

    /// Creates an event at the current time. The caller fills in the optional fields.
    pub fn event(&self, kind: ReplayEventKind, conversation: &ConversationId) -> ReplayEvent {
        ReplayEvent {
            t: self.now.as_millisecond() as f64 / 1000.0,
            kind,
            channel: self.channel.clone(),
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

    /// Records the decision of a step, for a report.
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
