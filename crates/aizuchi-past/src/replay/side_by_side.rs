//! Replays several channels in parallel, each on one thread. The results are taken in the order of the channels, so they
//! are the same on any number of threads.

use std::collections::BTreeMap;
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Instant;

use aizuchi_import::history::RecordedChannel;
use anyhow::Context as _;
use parking_lot::Mutex;
use tempfile::SpooledTempFile;

use crate::replay::record::Record;
use crate::replay::{ChannelVisitor, Replay};

/// The maximum memory for the events of a channel that waits for its turn.
const BUFFERED_BYTES: usize = 1 << 20;
/// The number of channels per thread that may be finished and wait for earlier ones.
const MAX_AHEAD: usize = 4;

pub fn run(
    replay: &Replay<'_>,
    threads: usize,
    channels: &[RecordedChannel],
    mut events: Option<&mut dyn Write>,
    take: ChannelVisitor<'_>,
) -> anyhow::Result<()> {
    let threads = threads.max(1);
    let (jobs, queue) = channel();
    let queue = Mutex::new(queue);
    let has_events = events.is_some();
    std::thread::scope(|scope| {
        // The threads end once this is dropped, however this ends.
        let jobs = jobs;
        let (sender, results) = channel();
        for _ in 0..threads.min(channels.len()) {
            let (sender, queue) = (sender.clone(), &queue);
            let next = move || queue.lock().recv();
            scope.spawn(move || {
                while let Ok(index) = next() {
                    let mut record = Record::default();
                    record.events = has_events.then(|| SpooledTempFile::new(BUFFERED_BYTES));
                    // After an uncaught panic, the result of this channel would be awaited forever.
                    let replayed = AssertUnwindSafe(|| replay.channel(&channels[index], record));
                    let replayed = catch_unwind(replayed);
                    let record = replayed
                        .unwrap_or_else(|_| Err(anyhow::anyhow!("a defect in the program")));
                    if sender.send((index, record)).is_err() {
                        return;
                    }
                }
            });
        }
        let mut indexes = 0..channels.len();
        indexes.by_ref().take(threads * MAX_AHEAD).try_for_each(|index| jobs.send(index))?;
        let mut waiting = BTreeMap::new();
        let mut lap = Instant::now();
        for (index, channel) in channels.iter().enumerate() {
            while !waiting.contains_key(&index) {
                let (index, record) = results.recv().context("a thread has ended")?;
                waiting.insert(index, record);
            }
            let mut record: Record = waiting.remove(&index).context("it was awaited")??;
            if let (Some(events), Some(written)) = (&mut events, &mut record.events) {
                written.rewind()?;
                std::io::copy(written, events).context("cannot write the events")?;
            }
            // The laps add up to the duration of the replay.
            record.elapsed_seconds = lap.elapsed().as_secs_f64();
            lap = Instant::now();
            take(channel, &mut record)?;
            indexes.next().map_or(Ok(()), |next| jobs.send(next))?;
        }
        Ok(())
    })
}
