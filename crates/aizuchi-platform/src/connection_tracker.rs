//! Whether a platform is connected, and since when without interruption.

use jiff::Timestamp;
use tokio::sync::watch;

/// Tracks the connections of a platform, and notifies subscribers of changes.
pub struct ConnectionTracker(watch::Sender<ConnectionState>);

/// The state of the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionState {
    /// The number of open connections.
    pub open_connections: usize,
    /// When the current period with an open connection began.
    pub connected_since: Option<Timestamp>,
}

impl Default for ConnectionTracker {
    fn default() -> Self {
        Self(watch::Sender::new(ConnectionState::default()))
    }
}

impl ConnectionTracker {
    /// Creates a tracker for a platform that calls us, so that there is no connection to lose.
    pub fn always_connected(now: Timestamp) -> Self {
        Self(watch::Sender::new(ConnectionState {
            open_connections: 1,
            connected_since: Some(now),
        }))
    }

    pub fn state(&self) -> ConnectionState {
        *self.0.borrow()
    }

    /// Notifies whenever a connection opens or closes.
    pub fn subscribe(&self) -> watch::Receiver<ConnectionState> {
        self.0.subscribe()
    }

    pub fn set(&self, now: ConnectionState) {
        self.0.send_if_modified(|state| {
            let is_new = *state != now;
            *state = now;
            is_new
        });
    }

    pub fn record_opened(&self, now: Timestamp) {
        self.0.send_modify(|state| {
            state.open_connections += 1;
            state.connected_since = state.connected_since.or(Some(now));
        });
    }

    pub fn record_closed(&self) {
        self.0.send_modify(|state| {
            state.open_connections = state.open_connections.saturating_sub(1);
            if state.open_connections == 0 {
                state.connected_since = None;
            }
        });
    }
}
