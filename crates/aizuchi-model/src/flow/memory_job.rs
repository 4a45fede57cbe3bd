//! Remembering: work that no conversation waits for. Each memory job has its own key, so that a failing job does not
//! block others, and is claimed like a step.

use jiff::Timestamp;

use crate::decision::Attempt;
use crate::memory::{MemoryKey, MemoryScope, MemoryTerm, NewMemory};

/// A due memory job, claimed by one runner until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryJob {
    /// The memory to update.
    pub key: MemoryKey,
    pub due: Timestamp,
    /// Identifies this claim.
    pub token: i64,
    /// Starts at 1.
    pub attempt: u32,
}

/// The result of handling a memory job.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryJobOutcome {
    /// All model calls that were made.
    pub attempts: Vec<Attempt>,
    pub result: MemoryJobResult,
    /// When to run again, for messages that arrived in the meantime or could not be remembered now.
    pub next_due: Timestamp,
    /// How many versions of a memory to keep.
    pub versions_kept: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MemoryJobResult {
    /// A new version of the memory.
    Remembered(NewMemory),
    /// There was nothing new.
    NothingNew,
    /// A retryable failure. The existing memory stays.
    Retry(RetryTiming),
}

/// When a job is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryTiming {
    /// Soon; the attempts so far count.
    Soon,
    /// At its next regular time.
    NextInterval,
}

/// How long a memory that lost an entry waits before it is rewritten. Authors often change a message several times.
pub const REWRITE_DELAY: jiff::SignedDuration = jiff::SignedDuration::from_mins(2);
/// How long the workspace's memories wait for the running jobs of other channels.
const WORKSPACE_DELAY: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// Returns the jobs that follow a new memory, and when they are due: a channel's short-term memory is followed by its
/// long-term memory, and both by the workspace's.
pub fn follow_up_jobs(
    key: &MemoryKey,
    entries_are_public: bool,
    now: Timestamp,
) -> Vec<(MemoryKey, Timestamp)> {
    let memory_key = |scope: MemoryScope, term: MemoryTerm| MemoryKey {
        workspace: key.workspace.clone(),
        scope,
        term,
    };
    let mut jobs = Vec::new();
    if let (MemoryScope::Channel(_), MemoryTerm::ShortTerm) = (&key.scope, key.term) {
        jobs.push((memory_key(key.scope.clone(), MemoryTerm::LongTerm), now));
    }
    if matches!(key.scope, MemoryScope::Channel(_)) && entries_are_public {
        jobs.push((memory_key(MemoryScope::Workspace, key.term), now + WORKSPACE_DELAY));
    }
    jobs
}

/// Returns when a memory job is due. The workspace's job runs once per interval, however many channels have new
/// messages.
pub fn job_due(
    created: Option<Timestamp>,
    due: Timestamp,
    interval: jiff::SignedDuration,
    key: &MemoryKey,
) -> Timestamp {
    match (&key.scope, created) {
        (MemoryScope::Workspace, Some(created)) => due.max(created + interval),
        (MemoryScope::Workspace | MemoryScope::Channel(_) | MemoryScope::Thread(..), _) => due,
    }
}
