//! What a connection is doing, and for how long it may do so.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// How long a connection may wait for its client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From the first byte of a request, or from the connection's beginning, to the end of the request's head.
    pub head: Duration,
    /// Between two requests.
    pub idle: Duration,
    /// From the head of a request to the last byte of its response. Event streams are exempt.
    pub request: Duration,
    /// While a client accepts no bytes of a response.
    pub stalled: Duration,
}

/// The state of one connection, shared by its reader and its writer.
#[derive(Debug)]
pub struct Activity(watch::Sender<ActivityState>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct ActivityState {
    phase: ConnectionPhase,
    /// When the phase began; for the phases of a request, when the request began.
    since: Instant,
    /// When the client stopped accepting bytes.
    stalled_since: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ConnectionPhase {
    /// A request's head is awaited.
    Head,
    /// The next request is awaited.
    Idle,
    /// The rest of a request's body is awaited.
    Body,
    /// A request is being handled, or its response is being sent.
    Request,
    /// The response is a stream of events.
    Stream,
}

impl Activity {
    /// The activity of a new connection.
    pub fn begin() -> Self {
        let state = ActivityState {
            phase: ConnectionPhase::Head,
            since: Instant::now(),
            stalled_since: None,
        };
        Self(watch::Sender::new(state))
    }

    /// Whether the server has nothing to do for this connection until its client sends something.
    pub fn is_waiting(&self) -> bool {
        matches!(
            self.0.borrow().phase,
            ConnectionPhase::Head | ConnectionPhase::Idle | ConnectionPhase::Body
        )
    }

    pub fn receive_bytes(&self) {
        self.move_on(ConnectionPhase::Idle, ConnectionPhase::Head, Some(Instant::now()));
    }

    pub fn begin_request(&self) {
        let state = ActivityState {
            phase: ConnectionPhase::Request,
            since: Instant::now(),
            stalled_since: None,
        };
        self.0.send_replace(state);
    }

    pub fn await_body(&self) {
        self.move_on(ConnectionPhase::Request, ConnectionPhase::Body, None);
    }

    pub fn receive_body(&self) {
        self.move_on(ConnectionPhase::Body, ConnectionPhase::Request, None);
    }

    pub fn begin_stream(&self) {
        self.0.send_modify(|state| state.phase = ConnectionPhase::Stream);
    }

    pub fn end_response(&self) {
        self.0.send_modify(|state| {
            state.phase = ConnectionPhase::Idle;
            state.since = Instant::now();
        });
    }

    /// Records whether the client accepts the bytes that are written.
    pub fn write(&self, result: WriteResult) {
        self.0.send_if_modified(|state| {
            let stalled_since = match result {
                WriteResult::Taken => None,
                WriteResult::Stalled => Some(state.stalled_since.unwrap_or_else(Instant::now)),
            };
            let is_changed = stalled_since != state.stalled_since;
            state.stalled_since = stalled_since;
            is_changed
        });
    }

    /// Returns when the client has kept the connection waiting for too long.
    pub async fn expire(&self, timeouts: &Timeouts) {
        let mut changes = self.0.subscribe();
        loop {
            let deadline = changes.borrow_and_update().deadline(timeouts);
            let expired = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = changes.changed() => changed.expect("the sender is in self"),
                () = expired => return,
            }
        }
    }

    fn move_on(&self, from: ConnectionPhase, to: ConnectionPhase, since: Option<Instant>) {
        self.0.send_if_modified(|state| {
            let is_changed = state.phase == from;
            if is_changed {
                state.phase = to;
                state.since = since.unwrap_or(state.since);
            }
            is_changed
        });
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    Taken,
    Stalled,
}

impl ActivityState {
    fn deadline(&self, timeouts: &Timeouts) -> Option<Instant> {
        let timeout = match self.phase {
            ConnectionPhase::Head => Some(timeouts.head),
            ConnectionPhase::Idle => Some(timeouts.idle),
            ConnectionPhase::Body | ConnectionPhase::Request => Some(timeouts.request),
            ConnectionPhase::Stream => None,
        };
        let phase = timeout.map(|timeout| self.since + timeout);
        let stalled = self.stalled_since.map(|since| since + timeouts.stalled);
        phase.into_iter().chain(stalled).min()
    }
}
