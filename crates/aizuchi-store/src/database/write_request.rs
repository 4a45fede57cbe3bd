//! The requests to the writer, and where their results go.

use std::collections::BTreeMap;

use aizuchi_model::chat::{Cursor, Heard};
use aizuchi_model::flow::memory_job::{MemoryJob, MemoryJobOutcome};
use aizuchi_model::flow::planned_call::{PlannedCall, ReservationResult, UnclaimedCall};
use aizuchi_model::flow::web_call::{WebCall, WebLimit};
use aizuchi_model::flow::{Claim, Outcome};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::oneshot;

use crate::database::forget::write::ForgetWrite;
use crate::database::hear::IncomingMessage;
use crate::database::recall::index::MergeStep;
use crate::database::redaction::RedactionProgress;
use crate::expiry::{Expiry, ExpiryProgress};
use crate::order::Order;
use crate::uploads::UploadChange;
use crate::{CompletionReceipt, HearReceipt, InboxEntry, StoreError};

/// A write, and where its result goes. Each kind has its own result type.
pub enum WriteRequest {
    Hear {
        entry: Box<InboxEntry>,
        reply: WriteReply<HearReceipt>,
    },
    Claim {
        now: Timestamp,
        lease: SignedDuration,
        limit: usize,
        reply: WriteReply<Vec<Claim>>,
    },
    Reserve {
        call: Box<PlannedCall>,
        now: Timestamp,
        reply: WriteReply<ReservationResult>,
    },
    Book {
        call: Box<UnclaimedCall>,
        reply: WriteReply<()>,
    },
    CountWebCall {
        call: Box<WebCall>,
        now: Timestamp,
        reply: WriteReply<Option<WebLimit>>,
    },
    Complete {
        claim: Box<Claim>,
        outcome: Box<Outcome>,
        now: Timestamp,
        reply: WriteReply<CompletionReceipt>,
    },
    ClaimMemoryJobs {
        now: Timestamp,
        lease: SignedDuration,
        limit: usize,
        reply: WriteReply<Vec<MemoryJob>>,
    },
    CompleteMemoryJob {
        job: Box<MemoryJob>,
        outcome: Box<MemoryJobOutcome>,
        now: Timestamp,
        reply: WriteReply<()>,
    },
    DropExchanges {
        before: Timestamp,
        max_bytes: u64,
        reply: WriteReply<()>,
    },
    DropJournals {
        now: Timestamp,
        reply: WriteReply<()>,
    },
    /// One step of a forgetting.
    Forget {
        write: Box<ForgetWrite>,
        now: Timestamp,
        reply: WriteReply<()>,
    },
    /// Takes one step of merging the full-text index.
    MergeIndex {
        step: MergeStep,
        reply: WriteReply<bool>,
    },
    /// Truncates the write-ahead log and, on success, records that nothing of forgotten users is left.
    TruncateLog {
        reply: WriteReply<bool>,
    },
    /// Rewrites the database, which blocks all other writes.
    Rewrite {
        reply: WriteReply<()>,
    },
    /// Erases the next page of messages past their retention.
    Expire {
        expiry: Expiry,
        reply: WriteReply<ExpiryProgress>,
    },
    /// Withholds the next page of messages that users have ordered to withhold.
    Redact {
        now: Timestamp,
        reply: WriteReply<RedactionProgress>,
    },
    Order {
        order: Order,
        now: Timestamp,
        reply: WriteReply<()>,
    },
    PutCursor {
        cursor: Cursor,
        reply: WriteReply<()>,
    },
    /// Changes the files that users send in the local room.
    ChangeUploads {
        change: UploadChange,
        reply: WriteReply<bool>,
    },
    /// Checks that the database is writable.
    Probe {
        /// How many bytes are written and removed where messages are stored.
        filler: usize,
        reply: WriteReply<()>,
    },
}

/// The destination of one write's result. It is set when the write is applied, and sent after the commit.
pub struct WriteReply<T> {
    result: Option<T>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<T> WriteReply<T> {
    pub fn channel() -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (caller, receiver) = oneshot::channel();
        (Self { result: None, caller }, receiver)
    }

    pub fn set(&mut self, result: T) {
        self.result = Some(result);
    }

    fn send(self, committed: Result<(), StoreError>) {
        let not_applied =
            || StoreError::Broken("a write was committed without a result".to_owned());
        let result = committed.and_then(|()| self.result.ok_or_else(not_applied));
        // The caller may have been cancelled.
        let _ = self.caller.send(result);
    }
}

impl WriteRequest {
    /// Sends the caller the result, or the error if nothing was written.
    pub fn respond(self, committed: Result<(), StoreError>) {
        match self {
            WriteRequest::Hear { reply, .. } => reply.send(committed),
            WriteRequest::Claim { reply, .. } => reply.send(committed),
            WriteRequest::Reserve { reply, .. } => reply.send(committed),
            WriteRequest::Book { reply, .. } => reply.send(committed),
            WriteRequest::CountWebCall { reply, .. } => reply.send(committed),
            WriteRequest::Complete { reply, .. } => reply.send(committed),
            WriteRequest::ClaimMemoryJobs { reply, .. } => reply.send(committed),
            WriteRequest::Expire { reply, .. } => reply.send(committed),
            WriteRequest::Redact { reply, .. } => reply.send(committed),
            WriteRequest::MergeIndex { reply, .. }
            | WriteRequest::ChangeUploads { reply, .. }
            | WriteRequest::TruncateLog { reply } => {
                reply.send(committed);
            }
            WriteRequest::CompleteMemoryJob { reply, .. }
            | WriteRequest::Forget { reply, .. }
            | WriteRequest::Rewrite { reply }
            | WriteRequest::DropExchanges { reply, .. }
            | WriteRequest::DropJournals { reply, .. }
            | WriteRequest::Order { reply, .. }
            | WriteRequest::PutCursor { reply, .. }
            | WriteRequest::Probe { reply, .. } => reply.send(committed),
        }
    }

    /// Whether it is one of many erased pages, after which the index is scrubbed.
    pub fn is_erasure_page(&self) -> bool {
        matches!(self, WriteRequest::Forget { .. } | WriteRequest::Expire { .. })
    }

    /// Whether it may write or remove much, or more than the others need.
    pub fn is_large(&self) -> bool {
        matches!(self, WriteRequest::ChangeUploads { .. } | WriteRequest::Probe { filler: 1.., .. })
    }

    /// What it may do to what is stored already.
    pub fn effects(&self) -> WriteEffects {
        let nothing = WriteEffects::default();
        match self {
            // Hearing counts its erasures itself.
            WriteRequest::Hear { entry, .. } => {
                let changes_indexed_messages =
                    matches!(entry.heard, Heard::Edit(_) | Heard::Deletion(_));
                WriteEffects { changes_indexed_messages, ..nothing }
            }
            WriteRequest::Order { order, .. } => {
                WriteEffects { may_erase: order.effects().may_erase, ..nothing }
            }
            WriteRequest::Forget { write, .. } => WriteEffects {
                changes_indexed_messages: write.erases_messages(),
                may_erase: true,
                leaves_text_in_log: write.next.is_none(),
            },
            WriteRequest::Expire { .. } => {
                WriteEffects { changes_indexed_messages: true, may_erase: true, ..nothing }
            }
            WriteRequest::Redact { .. } => WriteEffects { may_erase: true, ..nothing },
            // Prompts, journals and files are not cached.
            WriteRequest::DropExchanges { .. } | WriteRequest::DropJournals { .. } => {
                WriteEffects { leaves_text_in_log: true, ..nothing }
            }
            // Other files are soon overwritten by new ones, or truncated within an hour.
            WriteRequest::ChangeUploads { change, .. } => {
                let leaves_text_in_log = matches!(change, UploadChange::DropBefore(_));
                WriteEffects { leaves_text_in_log, ..nothing }
            }
            WriteRequest::Claim { .. }
            | WriteRequest::Reserve { .. }
            | WriteRequest::Book { .. }
            | WriteRequest::CountWebCall { .. }
            | WriteRequest::Complete { .. }
            | WriteRequest::ClaimMemoryJobs { .. }
            | WriteRequest::CompleteMemoryJob { .. }
            | WriteRequest::PutCursor { .. }
            | WriteRequest::MergeIndex { .. }
            | WriteRequest::TruncateLog { .. }
            | WriteRequest::Rewrite { .. }
            | WriteRequest::Probe { .. } => nothing,
        }
    }

    /// An incoming message and the reply for its receipt, if this is one.
    pub fn as_incoming_message(
        &mut self,
    ) -> Option<(IncomingMessage<'_>, &mut WriteReply<HearReceipt>)> {
        let WriteRequest::Hear { entry, reply } = self else { return None };
        let Heard::Message(message, _) = &entry.heard else { return None };
        Some((IncomingMessage::from_entry(message, entry), reply))
    }

    /// The cursor that is stored with it.
    fn cursor(&self) -> Option<&Cursor> {
        if let WriteRequest::PutCursor { cursor, .. } = self {
            return Some(cursor);
        }
        let WriteRequest::Hear { entry, .. } = self else { return None };
        entry.cursor.as_ref()
    }
}

/// What a write may do to what is stored already.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteEffects {
    /// Whether it can change or remove an indexed message.
    pub changes_indexed_messages: bool,
    /// Whether it may take back or hide anything that was readable before.
    pub may_erase: bool,
    /// Whether the deleted data should not stay in the write-ahead log.
    pub leaves_text_in_log: bool,
}

/// The newest cursor of each stream.
pub fn newest_cursors(batch: &[WriteRequest]) -> impl Iterator<Item = &Cursor> {
    let cursors = batch.iter().filter_map(WriteRequest::cursor);
    let newest: BTreeMap<_, _> =
        cursors.map(|cursor| ((cursor.workspace.as_str(), &cursor.stream), cursor)).collect();
    newest.into_values()
}
