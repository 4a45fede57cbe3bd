//! Sorts any number of records by a key with little memory: sorted runs are written to disk and merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};

use anyhow::Context as _;

/// The limits of what is held in memory at once.
#[derive(Clone, Copy, Debug)]
pub struct SorterLimits {
    pub records: usize,
    pub bytes: usize,
    /// How many runs are merged at once. Each is an open file.
    pub runs: usize,
}

impl Default for SorterLimits {
    fn default() -> Self {
        Self { records: 20_000, bytes: 16 << 20, runs: 64 }
    }
}

/// A record and its sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedRecord {
    pub key: Vec<u8>,
    pub record: Vec<u8>,
}

/// Collects records. The sort is stable: records with equal keys keep their order.
#[derive(Default)]
pub struct RecordSorter {
    limits: SorterLimits,
    waiting: Vec<KeyedRecord>,
    waiting_bytes: usize,
    /// The sorted runs, in the order in which their records were added.
    runs: Vec<File>,
    /// The maximum number of records held at once so far.
    pub most_held: usize,
}

/// The next record of a run: its key, the number of the run, and the record.
type NextRecord = (Vec<u8>, usize, Vec<u8>);

/// The records in sorted order.
pub struct SortedRecords {
    readers: Vec<BufReader<File>>,
    /// The next record of each run.
    heads: BinaryHeap<Reverse<NextRecord>>,
}

impl RecordSorter {
    pub fn new(limits: SorterLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    pub fn push(&mut self, key: Vec<u8>, record: Vec<u8>) -> anyhow::Result<()> {
        self.waiting_bytes += key.len() + record.len();
        self.waiting.push(KeyedRecord { key, record });
        self.most_held = self.most_held.max(self.waiting.len());
        let is_full = self.waiting.len() >= self.limits.records;
        if is_full || self.waiting_bytes >= self.limits.bytes {
            self.write_waiting()?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> anyhow::Result<SortedRecords> {
        self.write_waiting()?;
        SortedRecords::merge(self.runs)
    }

    fn write_waiting(&mut self) -> anyhow::Result<()> {
        let mut records = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        records.sort_by(|one, other| one.key.cmp(&other.key));
        self.runs.push(write_run(records.into_iter().map(Ok))?);
        if self.runs.len() >= self.limits.runs {
            let runs = std::mem::take(&mut self.runs);
            self.runs.push(write_run(SortedRecords::merge(runs)?)?);
        }
        Ok(())
    }
}

impl SortedRecords {
    fn merge(runs: Vec<File>) -> anyhow::Result<Self> {
        let readers = runs.into_iter().map(BufReader::new).collect();
        let mut sorted = Self { readers, heads: BinaryHeap::new() };
        for run in 0..sorted.readers.len() {
            sorted.read_head(run)?;
        }
        Ok(sorted)
    }

    fn read_head(&mut self, run: usize) -> anyhow::Result<()> {
        let reader = &mut self.readers[run];
        if let Some(key) = read_part(reader)? {
            let record = read_part(reader)?.context("a temporary file is cut off")?;
            self.heads.push(Reverse((key, run, record)));
        }
        Ok(())
    }
}

impl Iterator for SortedRecords {
    type Item = anyhow::Result<KeyedRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((key, run, record)) = self.heads.pop()?;
        Some(self.read_head(run).map(|()| KeyedRecord { key, record }))
    }
}

fn write_run(records: impl Iterator<Item = anyhow::Result<KeyedRecord>>) -> anyhow::Result<File> {
    const FAILURE: &str = "cannot write a temporary file";
    // The file has no name, so it is removed when the program ends, however it ends.
    let file = tempfile::tempfile().context("cannot make a temporary file")?;
    let mut writer = BufWriter::new(file);
    for record in records {
        let KeyedRecord { key, record } = record?;
        write_part(&mut writer, &key).context(FAILURE)?;
        write_part(&mut writer, &record).context(FAILURE)?;
    }
    let mut file = writer.into_inner().map_err(io::IntoInnerError::into_error).context(FAILURE)?;
    file.rewind().context(FAILURE)?;
    Ok(file)
}

fn write_part(writer: &mut BufWriter<File>, part: &[u8]) -> io::Result<()> {
    writer.write_all(&(part.len() as u64).to_le_bytes())?;
    writer.write_all(part)
}

/// Reads a part. `None` at the end of the file.
fn read_part(reader: &mut BufReader<File>) -> anyhow::Result<Option<Vec<u8>>> {
    const FAILURE: &str = "cannot read a temporary file";
    let mut length = [0; 8];
    match reader.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error).context(FAILURE),
    }
    let mut part = vec![0; u64::from_le_bytes(length) as usize];
    reader.read_exact(&mut part).context(FAILURE)?;
    Ok(Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair = (Vec<u8>, Vec<u8>);

    /// The maximum number of records held, and the sorted records with their keys.
    fn sorted(limits: SorterLimits, count: usize) -> (usize, Vec<Pair>) {
        let mut sorter = RecordSorter::new(limits);
        for number in 0..count {
            // Each key occurs several times.
            let key = (number * 7919 % 101).to_string().into_bytes();
            sorter.push(key, number.to_be_bytes().to_vec()).unwrap();
        }
        let most_held = sorter.most_held;
        let records = sorter.finish().unwrap().map(|record| {
            let KeyedRecord { key, record } = record.unwrap();
            (key, record)
        });
        (most_held, records.collect())
    }

    #[test]
    fn however_many_there_are_few_are_held_and_all_come_in_order() {
        let few = SorterLimits { records: 10, bytes: usize::MAX, runs: 3 };
        for count in [0, 1, 9, 10, 11, 1000] {
            let (most_held, records) = sorted(few, count);
            assert!(most_held <= 10, "{most_held}");
            assert_eq!(records.len(), count);
            // Records with the same key are sorted by number.
            assert!(records.is_sorted(), "{count}");
            assert_eq!(records, sorted(SorterLimits::default(), count).1);
        }
    }

    #[test]
    fn large_records_do_not_wait_for_others() {
        let mut sorter = RecordSorter::new(SorterLimits { bytes: 1000, ..SorterLimits::default() });
        for number in 0..50_u8 {
            sorter.push(vec![50 - number], vec![number; 400]).unwrap();
        }
        assert_eq!(sorter.most_held, 3);
        let keys = sorter.finish().unwrap().map(|record| record.unwrap().key[0]);
        assert_eq!(keys.collect::<Vec<_>>(), (1..=50).collect::<Vec<_>>());
    }
}
