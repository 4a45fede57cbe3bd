//! Reads the messages of a channel from the disk.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use anyhow::Context as _;

use crate::replay::history::{MessageReads, ReadPiece, RecordedMessage};
use crate::replay::input::spool::record::{RecordHeader, RecordNumber, SpooledRecord};

/// The messages of one channel on disk. The place of a message is the place of its record in the file.
#[derive(Debug)]
pub(super) struct SpooledMessages {
    pub file: Arc<File>,
    pub channel: String,
    pub segments: Vec<(u64, usize)>,
    /// The places of the edits with the final texts, by the places of the messages.
    pub edits: HashMap<u64, u64>,
}

impl MessageReads for SpooledMessages {
    fn message(&self, place: u64, piece: &mut ReadPiece) -> anyhow::Result<RecordedMessage> {
        let record = self.record(place, piece)?;
        let mut message = record.into_message(&self.channel).context("a message is none")?;
        if let Some(edit) = self.edits.get(&place) {
            // The edit is elsewhere, so the piece with the next message is kept.
            message.text = self.edited_text(*edit, &mut ReadPiece::default())?;
        }
        Ok(message)
    }
}

impl SpooledMessages {
    pub fn edited_text(&self, place: u64, piece: &mut ReadPiece) -> anyhow::Result<String> {
        match self.record(place, piece)? {
            SpooledRecord::Edit { text, .. } => Ok(text.into_owned()),
            SpooledRecord::Message { .. } | SpooledRecord::Delete { .. } => {
                anyhow::bail!("an edit is none")
            }
        }
    }

    fn record<'p>(
        &self,
        place: u64,
        piece: &'p mut ReadPiece,
    ) -> anyhow::Result<SpooledRecord<'p>> {
        let is_there = (piece.begin..piece.begin + piece.bytes.len() as u64).contains(&place);
        if !is_there {
            let next = self.segments.partition_point(|(begin, _)| *begin <= place);
            let segment = next.checked_sub(1).and_then(|segment| self.segments.get(segment));
            let (begin, length) = *segment.context("a record is nowhere")?;
            // The piece stays empty until the read succeeds, so that a failed read leaves no stale piece.
            let mut bytes = std::mem::take(&mut piece.bytes);
            bytes.resize(length, 0);
            read_at(&self.file, &mut bytes, begin)?;
            *piece = ReadPiece { begin, bytes };
        }
        let from = piece.bytes.get((place - piece.begin) as usize..).unwrap_or_default();
        let (_, record, _) = RecordHeader::split(from).context(CANNOT_READ)?;
        let (_, record): (RecordNumber, SpooledRecord<'p>) =
            serde_json::from_slice(record).context(CANNOT_READ)?;
        Ok(record)
    }
}

pub(super) const CANNOT_READ: &str = "cannot read a record";

pub(super) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> anyhow::Result<()> {
    file.read_exact_at(bytes, offset).context("cannot read a temporary file")
}
