//! The queue between a connection and the store. It is bounded in events and in bytes, so that a connection that
//! delivers faster than the store commits does not exhaust the memory.

use std::sync::Arc;

use aizuchi_http::body::MAX_PLATFORM_BODY_BYTES;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// The maximum number of received events that wait to be stored.
const MAX_QUEUED_EVENTS: usize = 10_000;
/// The maximum size of these events in bytes, as received. The largest message fits.
const MAX_QUEUED_BYTES: usize = MAX_PLATFORM_BODY_BYTES;

/// An input from a connection.
pub(super) enum GatewayInput {
    Event(GatewayEvent),
    /// A frame that cannot be read. It may have contained an event.
    Unreadable,
}

/// A dispatched event.
pub(super) struct GatewayEvent {
    pub name: String,
    pub data: Value,
    pub sequence: u64,
}

pub(super) struct EventSender {
    inputs: mpsc::Sender<QueuedInput>,
    capacity: Arc<Semaphore>,
}

pub(super) struct EventReceiver(mpsc::Receiver<QueuedInput>);

/// A received input. It counts against the queue's capacity until it is dropped.
pub(super) struct QueuedInput {
    pub input: GatewayInput,
    _capacity: OwnedSemaphorePermit,
}

/// The receiver of the events was dropped.
#[derive(Debug)]
pub(super) struct QueueClosed;

pub(super) fn event_queue() -> (EventSender, EventReceiver) {
    let (inputs, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    let capacity = Arc::new(Semaphore::new(MAX_QUEUED_BYTES));
    (EventSender { inputs, capacity }, EventReceiver(receiver))
}

impl EventSender {
    /// Waits until the queue has capacity for an input of this size, then sends it.
    pub async fn send(&self, input: GatewayInput, size_bytes: usize) -> Result<(), QueueClosed> {
        let size = u32::try_from(size_bytes.min(MAX_QUEUED_BYTES)).unwrap_or(u32::MAX);
        let capacity =
            self.capacity.clone().acquire_many_owned(size).await.map_err(|_| QueueClosed)?;
        self.inputs.send(QueuedInput { input, _capacity: capacity }).await.map_err(|_| QueueClosed)
    }
}

impl EventReceiver {
    /// Returns the next input, or `None` after the connection is lost and the queue is empty.
    pub async fn recv(&mut self) -> Option<QueuedInput> {
        self.0.recv().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn what_waits_to_be_stored_is_bounded_in_bytes() {
        let (events, mut receiver) = event_queue();
        let half = MAX_QUEUED_BYTES / 2;
        for size_bytes in [0, half, half] {
            events.send(GatewayInput::Unreadable, size_bytes).await.unwrap();
        }
        let mut sending = Box::pin(events.send(GatewayInput::Unreadable, 1));
        assert!(poll!(&mut sending).is_pending());
        drop(receiver.recv().await.unwrap());
        assert!(poll!(&mut sending).is_pending(), "the first took no room");
        let stored_now = receiver.recv().await.unwrap();
        assert!(poll!(&mut sending).is_pending(), "it is in memory until it is stored");
        drop(stored_now);
        sending.await.unwrap();
        // An input that is larger than the queue takes all of its capacity, and passes.
        let mut sending = Box::pin(events.send(GatewayInput::Unreadable, 10 * MAX_QUEUED_BYTES));
        assert!(poll!(&mut sending).is_pending());
        for _ in 0..2 {
            drop(receiver.recv().await.unwrap());
        }
        sending.await.unwrap();
        drop(receiver);
    }
}
