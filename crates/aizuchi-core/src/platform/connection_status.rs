//! Whether a platform can be heard now, and since when without a gap.

use jiff::Timestamp;
use tokio::sync::watch;

pub struct ConnectionStatus(watch::Sender<ConnectionState>);

/// How it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionState {
    /// Connections that are open.
    pub open_connections: usize,
    /// Since when there has always been one.
    pub connected_since: Option<Timestamp>,
}

impl Default for ConnectionStatus {
    fn default() -> Self {
        Self(watch::Sender::new(ConnectionState::default()))
    }
}

impl ConnectionStatus {
    /// The platform calls us, so there is nothing to lose.
    pub fn always_connected(now: Timestamp) -> Self {
        Self(watch::Sender::new(ConnectionState {
            open_connections: 1,
            connected_since: Some(now),
        }))
    }

    pub fn state(&self) -> ConnectionState {
        *self.0.borrow()
    }

    /// Moves on whenever a connection opens or closes.
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
