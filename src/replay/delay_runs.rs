//! Weighted delays, in sorted runs. The runs of many channels are spilled to disk and merged for the comparison, so
//! that the length of a recording does not matter.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as MemoryOrdering};

use tracing::warn;

/// The maximum number of delays in memory.
const MAX_KEPT: usize = 1 << 16;
/// The approximate number of delays that are read at once, over all runs.
const MAX_READ: usize = 1 << 16;
/// The size of a delay in seconds and its weight, encoded as bits.
const BYTES: usize = 16;

/// A delay in seconds, and its weight.
pub type Weighted = (f64, f64);

#[derive(Clone, Debug, Default)]
pub struct DelayRuns {
    /// Each run is sorted. Of equal delays, the one in the earlier run comes first.
    runs: Vec<Run>,
    /// The number of delays in memory.
    kept: usize,
    disk: Option<Arc<RunFile>>,
    /// Whether a write has failed.
    is_full: bool,
}

#[derive(Clone, Debug)]
enum Run {
    Kept(Vec<Weighted>),
    Stored { file: Arc<RunFile>, begin: u64, count: usize },
}

/// A file without a name, in which each run has its own range.
#[derive(Debug)]
struct RunFile {
    file: File,
    end: AtomicU64,
}

impl Run {
    fn len(&self) -> usize {
        match self {
            Run::Kept(kept) => kept.len(),
            Run::Stored { count, .. } => *count,
        }
    }

    /// Reads up to `most` delays from index `from` on.
    fn read(&self, from: usize, most: usize) -> io::Result<Vec<Weighted>> {
        let to = self.len().min(from.saturating_add(most));
        match self {
            Run::Kept(kept) => Ok(kept.get(from..to).unwrap_or_default().to_vec()),
            Run::Stored { file, begin, .. } => {
                let mut bytes = vec![0; to.saturating_sub(from) * BYTES];
                file.file.read_exact_at(&mut bytes, begin + (from * BYTES) as u64)?;
                Ok(bytes.chunks_exact(BYTES).map(from_bytes).collect())
            }
        }
    }
}

fn to_bytes((delay, weight): &Weighted) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&delay.to_bits().to_le_bytes());
    bytes[8..].copy_from_slice(&weight.to_bits().to_le_bytes());
    bytes
}

fn from_bytes(bytes: &[u8]) -> Weighted {
    let number = |bytes: &[u8]| {
        let bits = bytes.iter().rev().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
        f64::from_bits(bits)
    };
    (number(&bytes[..8]), number(&bytes[8..]))
}

impl RunFile {
    fn new() -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, end: AtomicU64::new(0) })
    }

    fn store(&self, run: &[Weighted]) -> io::Result<u64> {
        let bytes: Vec<u8> = run.iter().flat_map(to_bytes).collect();
        let begin = self.end.fetch_add(bytes.len() as u64, MemoryOrdering::Relaxed);
        self.file.write_all_at(&bytes, begin)?;
        Ok(begin)
    }
}

impl DelayRuns {
    pub fn len(&self) -> usize {
        self.runs.iter().map(Run::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds sorted delays.
    pub fn add_sorted(&mut self, sorted: impl IntoIterator<Item = Weighted>) {
        let mut run = Vec::new();
        for weighted in sorted {
            run.push(weighted);
            if run.len() >= MAX_KEPT {
                self.add_run(std::mem::take(&mut run));
            }
        }
        if !run.is_empty() {
            self.add_run(run);
        }
    }

    /// Adds the delays of other channels, which come after these.
    pub fn merge(&mut self, other: Self) {
        for run in other.runs {
            match run {
                Run::Kept(kept) => self.add_run(kept),
                Run::Stored { .. } => self.runs.push(run),
            }
        }
    }

    fn add_run(&mut self, run: Vec<Weighted>) {
        self.kept += run.len();
        self.runs.push(Run::Kept(run));
        if self.kept < MAX_KEPT || self.is_full {
            return;
        }
        if let Err(error) = self.store() {
            // The delays stay in memory, which may be enough.
            warn!(%error, "cannot write delays to a temporary file");
            self.is_full = true;
        }
    }

    fn store(&mut self) -> io::Result<()> {
        let disk = match &self.disk {
            Some(disk) => Arc::clone(disk),
            None => Arc::clone(self.disk.insert(Arc::new(RunFile::new()?))),
        };
        for run in &mut self.runs {
            if let Run::Kept(kept) = run {
                let (begin, count) = (disk.store(kept)?, kept.len());
                self.kept -= count;
                *run = Run::Stored { file: Arc::clone(&disk), begin, count };
            }
        }
        Ok(())
    }

    /// Iterates in the order in which the delays were added, for a checkpoint.
    pub fn each(&self) -> impl Iterator<Item = io::Result<Weighted>> {
        self.runs.iter().flat_map(|run| RunReader::new(run, MAX_READ))
    }

    /// Iterates in ascending order. Equal delays come in the order in which they were added.
    pub fn sorted(&self) -> MergedRuns<'_> {
        let piece = (MAX_READ / self.runs.len().max(1)).max(16);
        MergedRuns {
            readers: self.runs.iter().map(|run| RunReader::new(run, piece)).collect(),
            next: BinaryHeap::new(),
            is_begun: false,
        }
    }
}

/// Compares the delays, however they are stored.
impl PartialEq for DelayRuns {
    fn eq(&self, other: &Self) -> bool {
        let all = |runs: &Self| runs.sorted().collect::<io::Result<Vec<Weighted>>>();
        match (all(self), all(other)) {
            (Ok(one), Ok(other)) => one == other,
            (Err(_), _) | (_, Err(_)) => false,
        }
    }
}

/// Reads a run piece by piece.
struct RunReader<'a> {
    run: &'a Run,
    /// The index at which the next piece begins.
    next: usize,
    piece: std::vec::IntoIter<Weighted>,
    size: usize,
}

impl<'a> RunReader<'a> {
    fn new(run: &'a Run, size: usize) -> Self {
        Self { run, next: 0, piece: Vec::new().into_iter(), size }
    }
}

impl Iterator for RunReader<'_> {
    type Item = io::Result<Weighted>;

    fn next(&mut self) -> Option<io::Result<Weighted>> {
        if let Some(weighted) = self.piece.next() {
            return Some(Ok(weighted));
        }
        if self.next >= self.run.len() {
            return None;
        }
        match self.run.read(self.next, self.size) {
            Ok(piece) => {
                self.next += self.size;
                self.piece = piece.into_iter();
                self.piece.next().map(Ok)
            }
            Err(error) => {
                self.next = self.run.len();
                Some(Err(error))
            }
        }
    }
}

/// The head of a run, in reverse order for a max-heap: the smallest delay is the greatest entry, and of equal delays,
/// that of the earliest run.
struct RunHead {
    weighted: Weighted,
    run: usize,
}

impl RunHead {
    fn key(&self) -> (Reverse<TotalOrder>, Reverse<usize>) {
        (Reverse(TotalOrder(self.weighted.0)), Reverse(self.run))
    }
}

/// A number with a total order.
struct TotalOrder(f64);

impl Ord for TotalOrder {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for TotalOrder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for TotalOrder {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for TotalOrder {}

impl Ord for RunHead {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for RunHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RunHead {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for RunHead {}

/// Iterates over all runs, merged.
pub struct MergedRuns<'a> {
    readers: Vec<RunReader<'a>>,
    next: BinaryHeap<RunHead>,
    is_begun: bool,
}

impl MergedRuns<'_> {
    fn advance(&mut self, run: usize) -> io::Result<()> {
        if let Some(weighted) = self.readers[run].next().transpose()? {
            self.next.push(RunHead { weighted, run });
        }
        Ok(())
    }
}

impl Iterator for MergedRuns<'_> {
    type Item = io::Result<Weighted>;

    fn next(&mut self) -> Option<io::Result<Weighted>> {
        if !self.is_begun {
            self.is_begun = true;
            let begun = (0..self.readers.len()).try_for_each(|run| self.advance(run));
            if let Err(error) = begun {
                return Some(Err(error));
            }
        }
        let RunHead { weighted, run } = self.next.pop()?;
        Some(self.advance(run).map(|()| weighted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(runs: &DelayRuns) -> Vec<Weighted> {
        runs.sorted().collect::<io::Result<_>>().expect("they can be read")
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn merging_is_sorting(
            channels in prop::collection::vec(prop::collection::vec((0..20_u8, 0..9_u8), 0..30), 0..8),
            is_stored in prop::bool::ANY,
        ) {
            let (mut runs, mut all) = (DelayRuns::default(), Vec::new());
            for channel in channels {
                let to_delay = |(delay, weight): (u8, u8)| (f64::from(delay) / 4.0, f64::from(weight));
                let mut channel: Vec<Weighted> = channel.into_iter().map(to_delay).collect();
                channel.sort_by(|one, other| one.0.total_cmp(&other.0));
                all.extend(channel.clone());
                let mut part = DelayRuns::default();
                part.add_sorted(channel);
                runs.merge(part);
                if is_stored {
                    runs.store().expect("there is room");
                }
            }
            let each: Vec<Weighted> = runs.each().collect::<io::Result<_>>().expect("they can be read");
            prop_assert_eq!(&each, &all);
            all.sort_by(|one, other| one.0.total_cmp(&other.0));
            prop_assert_eq!(sorted(&runs), all);
        }
    }

    #[test]
    fn many_wait_on_disk() {
        let mut runs = DelayRuns::default();
        for channel in 0..5 {
            let mut part = DelayRuns::default();
            part.add_sorted((0..50_000).map(|delay| (f64::from(delay * 5 + channel), 1.0)));
            runs.merge(part);
            assert!(runs.kept < MAX_KEPT, "{}", runs.kept);
        }
        assert_eq!(runs.len(), 250_000);
        let expected: Vec<Weighted> = (0..250_000).map(|delay| (f64::from(delay), 1.0)).collect();
        assert_eq!(sorted(&runs), expected);
        assert_eq!(runs.clone(), runs);
    }
}
