//! Pending memories, and why they fail.

use std::sync::Arc;

use aizuchi_model::memory::MemoryKey;
use jiff::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMemory {
    pub key: MemoryKey,
    pub due: Timestamp,
    /// Whether its job is in flight.
    pub in_progress: bool,
    /// Set if the newest call for it failed.
    pub failure: Option<MemoryFailure>,
}

/// Why a memory cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFailure {
    /// The time of the first failed call since the last success.
    pub since: Timestamp,
    pub model: Arc<str>,
    /// The error of the newest failed call.
    pub error: Option<Arc<str>>,
}
