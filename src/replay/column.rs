//! Long lists of small records, which are spilled to a temporary file, so that their memory use does not grow with
//! their length.

pub mod fixed;
mod paged_file;
mod sorted;

use std::fmt::{self, Debug, Formatter};
use std::io;

use tracing::warn;

use crate::replay::column::fixed::Fixed;
use crate::replay::column::paged_file::{Failure, PagedFile};

/// The maximum number of records in memory before they are written to the file.
pub const MAX_KEPT: usize = 1 << 16;
/// The approximate size of a page of the file.
const PAGE_BYTES: usize = 4 << 10;
/// The number of records that a sequential read takes from the file at once.
const BLOCK: usize = 512;

/// A list of records, indexed from 0.
pub struct Column<T> {
    /// The first records, if any have been written to a file.
    stored: Option<Stored>,
    /// The records after those, in memory.
    kept: Vec<T>,
    /// Whether a write has failed, so that all further records stay in memory.
    is_full: bool,
    /// The first I/O error of this column, or of one that it is derived from or that is derived from it.
    failure: Failure,
}

/// The records in a file, in whole pages.
struct Stored {
    file: PagedFile,
    count: usize,
}

impl<T> Column<T> {
    /// Returns the number of records in the file.
    fn stored_count(&self) -> usize {
        self.stored.as_ref().map_or(0, |stored| stored.count)
    }

    pub fn len(&self) -> usize {
        self.stored_count() + self.kept.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of records in memory, without the cached pages of the file.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Fails if a record could not be read or written so far, and was replaced with another value. Columns that are
    /// derived from each other fail together, so it suffices to check one of them.
    pub fn check(&self) -> anyhow::Result<()> {
        self.failure.check()
    }
}

impl<T: Fixed> Column<T> {
    const PAGE_RECORDS: usize = PAGE_BYTES / T::BYTES;

    /// Creates a column of records derived from this one. Both fail together.
    pub fn derive<U: Fixed>(&self, records: impl IntoIterator<Item = U>) -> Column<U> {
        let mut derived = Column { failure: self.failure.clone(), ..Column::default() };
        derived.extend(records);
        derived
    }

    pub fn push(&mut self, record: T) {
        self.kept.push(record);
        if self.kept.len() >= MAX_KEPT && !self.is_full {
            self.store();
        }
    }

    fn store(&mut self) {
        if let Err(error) = self.try_store() {
            // The records stay in memory, which may be enough.
            warn!(%error, "cannot write to a temporary file");
            self.is_full = true;
        }
    }

    fn try_store(&mut self) -> io::Result<()> {
        if self.stored.is_none() {
            let file = PagedFile::new(Self::PAGE_RECORDS * T::BYTES, self.failure.clone())?;
            self.stored = Some(Stored { file, count: 0 });
        }
        let Some(stored) = &mut self.stored else { return Ok(()) };
        let count = self.kept.len() / Self::PAGE_RECORDS * Self::PAGE_RECORDS;
        let mut bytes = vec![0; count * T::BYTES];
        for (record, bytes) in self.kept.iter().zip(bytes.chunks_exact_mut(T::BYTES)) {
            record.write(bytes);
        }
        stored.file.append((stored.count * T::BYTES) as u64, &bytes)?;
        stored.count += count;
        self.kept.drain(..count);
        Ok(())
    }

    pub fn get(&self, index: usize) -> Option<T> {
        (index < self.len()).then(|| self.at(index))
    }

    /// Returns the record at an index, which must be in bounds.
    fn at(&self, index: usize) -> T {
        match &self.stored {
            Some(stored) if index < stored.count => stored.file.read((index * T::BYTES) as u64),
            Some(stored) => self.kept[index - stored.count],
            None => self.kept[index],
        }
    }

    /// Replaces the record at an index, if there is one.
    pub fn set(&mut self, index: usize, record: T) {
        let count = self.stored_count();
        match &self.stored {
            Some(stored) if index < count => stored.file.write((index * T::BYTES) as u64, record),
            _ => {
                if let Some(kept) = self.kept.get_mut(index - count) {
                    *kept = record;
                }
            }
        }
    }

    pub fn iter(&self) -> ColumnIter<'_, T> {
        self.all().records()
    }

    pub fn all(&self) -> ColumnPart<'_, T> {
        ColumnPart { column: self, from: 0, to: self.len() }
    }

    /// Returns the records from index `from` up to, but not including, index `to`, as far as they exist.
    pub fn part(&self, from: usize, to: usize) -> ColumnPart<'_, T> {
        self.all().part(from, to)
    }

    pub fn partition_point(&self, holds: impl Fn(&T) -> bool) -> usize {
        self.all().partition_point(holds)
    }

    /// Reads some records from index `from` on, and none at or after index `to`.
    fn block(&self, from: usize, to: usize) -> Vec<T> {
        let count = self.stored_count();
        let to = to.min(from + BLOCK);
        match &self.stored {
            Some(stored) if from < count => {
                let length = (to.min(count) - from) * T::BYTES;
                let bytes = stored.file.bytes((from * T::BYTES) as u64, length);
                bytes.chunks_exact(T::BYTES).map(T::read).collect()
            }
            _ => self.kept.get(from - count..to - count).unwrap_or_default().to_vec(),
        }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { stored: None, kept: Vec::new(), is_full: false, failure: Failure::default() }
    }
}

/// A clone has its own file.
impl<T: Fixed> Clone for Column<T> {
    fn clone(&self) -> Self {
        self.derive(self.iter())
    }
}

impl<T> Debug for Column<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Column").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<T: Fixed> Extend<T> for Column<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, records: I) {
        records.into_iter().for_each(|record| self.push(record));
    }
}

/// Only for tests: elsewhere, [`Column::derive`] tracks what the records are derived from.
#[cfg(test)]
impl<T: Fixed> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(records: I) -> Self {
        let mut column = Self::default();
        column.extend(records);
        column
    }
}

#[cfg(test)]
impl<T: Fixed> Column<T> {
    /// Simulates that all its records were in a file that was lost.
    pub fn lost(self) -> io::Result<Self> {
        let file = PagedFile::lost(Self::PAGE_RECORDS * T::BYTES, self.failure.clone())?;
        let stored = Some(Stored { file, count: self.len() });
        Ok(Self { stored, kept: Vec::new(), ..self })
    }
}

/// Consecutive records of a column. Their indexes count from 0.
pub struct ColumnPart<'a, T> {
    column: &'a Column<T>,
    from: usize,
    to: usize,
}

impl<T> Clone for ColumnPart<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ColumnPart<'_, T> {}

impl<'a, T: Fixed> ColumnPart<'a, T> {
    pub fn len(self) -> usize {
        self.to - self.from
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub fn get(self, index: usize) -> Option<T> {
        (index < self.len()).then(|| self.column.at(self.from + index))
    }

    /// Reads one record at a time, for callers that need few records, or the last ones first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        (self.from..self.to).map(move |index| self.column.at(index))
    }

    /// Reads records in blocks, for callers that need all of them.
    pub fn records(self) -> ColumnIter<'a, T> {
        ColumnIter { part: self, block: Vec::new().into_iter() }
    }

    /// Returns the records from index `from` up to, but not including, index `to`, as far as they exist.
    pub fn part(self, from: usize, to: usize) -> Self {
        let from = self.to.min(self.from + from);
        Self { from, to: self.to.min(self.from + to).max(from), ..self }
    }

    /// Returns the number of leading records for which `holds` is true.
    pub fn partition_point(self, holds: impl Fn(&T) -> bool) -> usize {
        if self.column.stored.is_none() {
            let kept = self.column.kept.get(self.from..self.to).unwrap_or_default();
            return kept.partition_point(holds);
        }
        let (mut from, mut to) = (self.from, self.to);
        while from < to {
            let middle = from + (to - from) / 2;
            match holds(&self.column.at(middle)) {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from - self.from
    }
}

/// Iterates over records, reading them in blocks.
pub struct ColumnIter<'a, T> {
    /// The records that are still to be read.
    part: ColumnPart<'a, T>,
    block: std::vec::IntoIter<T>,
}

impl<T: Fixed> Iterator for ColumnIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if let Some(record) = self.block.next() {
            return Some(record);
        }
        let ColumnPart { column, from, to } = self.part;
        let block = column.block(from, to);
        self.part.from += block.len();
        self.block = block.into_iter();
        self.block.next()
    }
}

#[cfg(test)]
mod tests;
