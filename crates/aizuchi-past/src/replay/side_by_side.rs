//! Replays several channels in parallel. Each channel has its own clock, store and workspace, and the results are taken
//! in the order of the channels, so they are the same as those of a sequential replay.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use anyhow::Context as _;
use parking_lot::{Condvar, Mutex};
use tempfile::SpooledTempFile;

use crate::replay::history::{ChannelSource, RecordedChannel};
use crate::replay::record::Record;
use crate::replay::{ChannelVisitor, EventOutput, Replay, Stopwatch};

/// The maximum memory for the events of a channel that waits for its turn.
const BUFFERED_BYTES: usize = 1 << 20;
/// The number of channels per thread that may be finished and wait for earlier ones.
const MAX_AHEAD: usize = 4;

type ChannelResult = anyhow::Result<(RecordedChannel, Record, EventBuffer)>;

/// The index of the next channel, and the number of channels that are taken.
struct ChannelQueue {
    next: AtomicUsize,
    is_stopped: AtomicBool,
    taken: Mutex<usize>,
    changed: Condvar,
}

pub fn run(
    replay: &Replay<'_>,
    threads: usize,
    channels: &dyn ChannelSource,
    mut events: Option<EventOutput>,
    take: ChannelVisitor<'_>,
) -> anyhow::Result<Option<EventOutput>> {
    let queue = ChannelQueue {
        next: AtomicUsize::new(0),
        is_stopped: AtomicBool::new(false),
        taken: Mutex::new(0),
        changed: Condvar::new(),
    };
    let has_events = events.is_some();
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..threads {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move || work(replay, threads, channels, has_events, queue, &sender));
        }
        drop(sender);
        // Releases the threads that wait for a turn, however this ends.
        let _stop = StopGuard(&queue);
        let mut waiting: BTreeMap<usize, ChannelResult> = BTreeMap::new();
        let mut stopwatch = Stopwatch::start();
        for index in 0..channels.channel_count() {
            let result = loop {
                match waiting.remove(&index) {
                    Some(result) => break result,
                    None => {
                        let (index, result) = receiver.recv().context("a thread has ended")?;
                        waiting.insert(index, result);
                    }
                }
            };
            let (channel, mut record, buffer) = result?;
            if let Some(events) = &mut events {
                buffer.copy_to(events).context("cannot write the events")?;
            }
            record.output = events.take();
            record.elapsed_seconds = stopwatch.lap();
            take(index, &channel, &mut record)?;
            events = record.output;
            queue.advance(index + 1);
        }
        Ok(events)
    })
}

fn work(
    replay: &Replay<'_>,
    threads: usize,
    channels: &dyn ChannelSource,
    has_events: bool,
    queue: &ChannelQueue,
    sender: &Sender<(usize, ChannelResult)>,
) {
    loop {
        let index = queue.next.fetch_add(1, Ordering::Relaxed);
        if index >= channels.channel_count() || !queue.wait(index, threads * MAX_AHEAD) {
            return;
        }
        let buffer = EventBuffer::default();
        let output = has_events.then(|| Box::new(buffer.clone()) as EventOutput);
        let replay_channel = || {
            let channel = channels.channel(index)?;
            let mut record = replay.channel(&channel, output)?;
            record.output = None;
            Ok((channel.into_owned(), record, buffer))
        };
        // After an uncaught panic, the other threads would wait forever for the turn of this channel.
        let result = catch_unwind(AssertUnwindSafe(replay_channel));
        let result = result.unwrap_or_else(|_| Err(anyhow::anyhow!("a defect in the program")));
        if sender.send((index, result)).is_err() {
            return;
        }
    }
}

impl ChannelQueue {
    /// Waits until nearly all earlier channels are taken. Returns false if the replay has stopped.
    fn wait(&self, index: usize, ahead: usize) -> bool {
        let mut taken = self.taken.lock();
        while index >= *taken + ahead && !self.is_stopped.load(Ordering::Relaxed) {
            self.changed.wait(&mut taken);
        }
        !self.is_stopped.load(Ordering::Relaxed)
    }

    fn advance(&self, taken: usize) {
        *self.taken.lock() = taken;
        self.changed.notify_all();
    }
}

struct StopGuard<'a>(&'a ChannelQueue);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        let _taken = self.0.taken.lock();
        self.0.is_stopped.store(true, Ordering::Relaxed);
        self.0.changed.notify_all();
    }
}

/// Buffers the events of one channel until its turn comes.
#[derive(Clone)]
struct EventBuffer(Arc<Mutex<SpooledTempFile>>);

impl Default for EventBuffer {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(SpooledTempFile::new(BUFFERED_BYTES))))
    }
}

impl EventBuffer {
    fn copy_to(&self, output: &mut dyn Write) -> std::io::Result<()> {
        let mut file = self.0.lock();
        file.seek(SeekFrom::Start(0))?;
        let mut piece = vec![0; 64 << 10];
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(()),
                length => output.write_all(&piece[..length])?,
            }
        }
    }
}

impl Write for EventBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
