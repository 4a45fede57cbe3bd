//! Memories that wait to be made, and why one is not made.

use std::sync::Arc;

use jiff::Timestamp;

use crate::memory::MemoryKey;

/// A memory that waits to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMemory {
    pub key: MemoryKey,
    pub due: Timestamp,
    /// It is being made.
    pub in_progress: bool,
    /// If the newest call for it failed.
    pub failure: Option<MemoryFailure>,
}

/// Why a memory is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFailure {
    /// When the first of the calls failed that no success has followed.
    pub since: Timestamp,
    pub model: Arc<str>,
    /// Of the newest of these calls.
    pub error: Option<Arc<str>>,
}
