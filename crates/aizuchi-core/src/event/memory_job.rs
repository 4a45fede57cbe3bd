//! Work that no conversation waits for: remembering. A chore has a key of its own, so that one that
//! fails stops no other, and is claimed like a step.

use jiff::Timestamp;

use crate::decision::Attempt;
use crate::memory::{MemoryKey, MemoryScope, MemoryTerm, NewMemory};

/// A due chore, taken by one runner until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryJob {
    /// What is to be remembered.
    pub key: MemoryKey,
    pub due: Timestamp,
    /// Names this claim and no other.
    pub token: i64,
    /// 1 for the first.
    pub attempt: u32,
}

/// What working at a chore came to.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryJobOutcome {
    /// The model calls made on the way, whatever came of them.
    pub attempts: Vec<Attempt>,
    pub result: MemoryJobResult,
    /// When to look again at what was heard meanwhile, or could not be remembered now.
    pub next_due: Timestamp,
    /// How many versions of a memory are kept.
    pub versions_kept: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MemoryJobResult {
    /// It remembers this now.
    Remembered(NewMemory),
    /// There was nothing new.
    NothingNew,
    /// Something stood in the way; what was remembered before stays. Again at `next`.
    Retry(RetryTiming),
}

/// When something is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryTiming {
    /// Soon; the tries so far count.
    Soon,
    /// When it would be its turn anyway.
    NextInterval,
}

/// How long a memory that has lost an entry waits until it is made anew: whoever changes a line changes it
/// more than once.
pub const REWRITE_DELAY: jiff::SignedDuration = jiff::SignedDuration::from_mins(2);
/// How long the workspace's memories wait for other channels that are being remembered.
const WORKSPACE_DELAY: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// The chores that a new memory calls for, and when (seeds: channel short term, then its long term, then
/// the workspace's).
pub fn follow_up_jobs(
    key: &MemoryKey,
    entries_are_public: bool,
    now: Timestamp,
) -> Vec<(MemoryKey, Timestamp)> {
    let of = |scope: MemoryScope, term: MemoryTerm| MemoryKey {
        workspace: key.workspace.clone(),
        scope,
        term,
    };
    let gathered = now + WORKSPACE_DELAY;
    let mut follow = Vec::new();
    if let (MemoryScope::Channel(_), MemoryTerm::ShortTerm) = (&key.scope, key.term) {
        follow.push((of(key.scope.clone(), MemoryTerm::LongTerm), now));
    }
    if matches!(key.scope, MemoryScope::Channel(_)) && entries_are_public {
        follow.push((of(MemoryScope::Workspace, key.term), gathered));
    }
    follow
}

/// When it is a memory's turn: the workspace's is made once in an interval, however many channels have
/// something new.
pub fn job_due(
    made: Option<Timestamp>,
    due: Timestamp,
    interval: jiff::SignedDuration,
    key: &MemoryKey,
) -> Timestamp {
    match (&key.scope, made) {
        (MemoryScope::Workspace, Some(made)) => due.max(made + interval),
        (MemoryScope::Workspace | MemoryScope::Channel(_) | MemoryScope::Thread(..), _) => due,
    }
}
