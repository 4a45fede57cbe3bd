//! The records of a spool, as they are on disk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::replay::history::RecordedMessage;
use crate::replay::rows::IdHash;

/// Identifies a record of the input by the number of its file, and its own number in that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordNumber(pub u32, pub u64);

/// The header of each record on disk. With it, duplicate ids are found without parsing the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub kind: RecordKind,
    /// The hash of the message's id.
    pub hash: u64,
    /// The length of the record.
    pub length: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    Message,
    Edit,
    Delete,
}

impl RecordHeader {
    pub const BYTES: usize = 13;

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = match self.kind {
            RecordKind::Message => b'm',
            RecordKind::Edit => b'e',
            RecordKind::Delete => b'd',
        };
        bytes[1..9].copy_from_slice(&self.hash.to_le_bytes());
        bytes[9..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Splits off the header that the bytes begin with, and the record after it. The rest is returned last.
    pub fn split(bytes: &[u8]) -> Option<(Self, &[u8], &[u8])> {
        let (kind, rest) = bytes.split_first()?;
        let kind = match kind {
            b'm' => RecordKind::Message,
            b'e' => RecordKind::Edit,
            b'd' => RecordKind::Delete,
            _ => return None,
        };
        let (hash, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (hash, length) = (u64::from_le_bytes(*hash), u32::from_le_bytes(*length));
        let (record, rest) = rest.split_at_checked(length as usize)?;
        Some((Self { kind, hash, length }, record, rest))
    }
}

/// The content of one record. The time is stored as bits, because a decimal number would not round-trip exactly.
#[derive(Serialize, Deserialize)]
pub(super) enum SpooledRecord<'a> {
    Message {
        #[serde(borrow)]
        thread: Option<Cow<'a, str>>,
        #[serde(borrow)]
        id: Cow<'a, str>,
        ts_bits: u64,
        #[serde(borrow)]
        author: Cow<'a, str>,
        #[serde(borrow)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow)]
        text: Cow<'a, str>,
        reply_to: Vec<String>,
        bot: bool,
        opener: bool,
    },
    /// A message's text was replaced.
    Edit {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    Delete {
        #[serde(borrow)]
        id: Cow<'a, str>,
    },
}

impl SpooledRecord<'_> {
    /// Returns the header, without the length.
    pub fn header(&self) -> RecordHeader {
        let (kind, id) = match self {
            SpooledRecord::Message { id, .. } => (RecordKind::Message, id),
            SpooledRecord::Edit { id, .. } => (RecordKind::Edit, id),
            SpooledRecord::Delete { id } => (RecordKind::Delete, id),
        };
        RecordHeader { kind, hash: IdHash::new(id).0, length: 0 }
    }

    /// Returns the message, or `None` if the record is an edit or a deletion.
    pub fn into_message(self, channel: &str) -> Option<RecordedMessage> {
        let SpooledRecord::Message {
            thread,
            id,
            ts_bits,
            author,
            name,
            text,
            reply_to,
            bot,
            opener,
        } = self
        else {
            return None;
        };
        Some(RecordedMessage {
            channel: channel.to_owned(),
            thread: thread.map(Cow::into_owned),
            id: id.into_owned(),
            ts: f64::from_bits(ts_bits),
            author: author.into_owned(),
            name: name.map(Cow::into_owned),
            text: text.into_owned(),
            reply_to,
            bot,
            opener,
        })
    }
}
