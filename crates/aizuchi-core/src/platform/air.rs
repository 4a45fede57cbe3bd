//! Whether a platform can be heard now, and since when without a gap.

use jiff::Timestamp;
use tokio::sync::watch;

pub struct Air(watch::Sender<State>);

/// How it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Connections that are open.
    pub open: usize,
    /// Since when there has always been one.
    pub since: Option<Timestamp>,
}

impl Default for Air {
    fn default() -> Self {
        Self(watch::Sender::new(State::default()))
    }
}

impl Air {
    /// The platform calls us, so there is nothing to lose.
    pub fn always(now: Timestamp) -> Self {
        Self(watch::Sender::new(State { open: 1, since: Some(now) }))
    }

    pub fn state(&self) -> State {
        *self.0.borrow()
    }

    /// Moves on whenever a connection opens or closes.
    pub fn changes(&self) -> watch::Receiver<State> {
        self.0.subscribe()
    }

    pub fn put(&self, now: State) {
        self.0.send_if_modified(|state| {
            let is_new = *state != now;
            *state = now;
            is_new
        });
    }

    pub fn opened(&self, now: Timestamp) {
        self.0.send_modify(|state| {
            state.open += 1;
            state.since = state.since.or(Some(now));
        });
    }

    pub fn closed(&self) {
        self.0.send_modify(|state| {
            state.open = state.open.saturating_sub(1);
            if state.open == 0 {
                state.since = None;
            }
        });
    }
}
