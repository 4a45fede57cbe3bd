//! What Discord does to its apps: it closes, refuses, forgets and fails.

use serde_json::json;

use crate::discord::FakeDiscord;
use crate::discord::fault::Fault;
use crate::discord::method::Method;
use crate::discord::session::{Frame, Greeting, Pulse, Refused};
use crate::discord::state::Token;

impl FakeDiscord {
    /// Asks all connections to come again (op 7).
    pub fn reconnect(&self) {
        let frame = json!({ "op": 7, "d": null, "s": null, "t": null });
        self.to_all(|| Frame::Say(frame.clone()));
    }

    /// Tells all connections that their sessions are gone, or only interrupted (op 9).
    pub fn invalidate(&self, refused: Refused) {
        self.change(|state| {
            let all: Vec<u64> = state.gateway.connections.iter().map(|one| one.id).collect();
            all.into_iter().for_each(|connection| state.invalidate(connection, refused));
        });
    }

    /// The next session that is begun or resumed meets this; several form a queue.
    pub fn refuse_session(&self, refused: Refused) {
        self.change(|state| state.gateway.refusals.push_back(refused));
    }

    /// Closes all connections with this code.
    pub fn close(&self, code: u16) {
        self.change(|state| {
            let all: Vec<u64> = state.gateway.connections.iter().map(|one| one.id).collect();
            all.into_iter().for_each(|connection| state.gateway.close(connection, code, ""));
        });
    }

    /// Resets all connections.
    pub fn cut(&self) {
        self.to_all(|| Frame::Cut);
    }

    /// All connections stay, and nothing goes through them any more.
    pub fn half_dead(&self) {
        self.change(|state| {
            for connection in &mut state.gateway.connections {
                connection.is_dead = true;
                let _ = connection.frames.send(Frame::PlayDead);
            }
        });
    }

    /// What becomes of heartbeats from now on.
    pub fn set_pulse(&self, pulse: Pulse) {
        self.change(|state| state.gateway.pulse = pulse);
    }

    fn to_all(&self, frame: impl Fn() -> Frame) {
        self.change(|state| {
            for connection in &state.gateway.connections {
                // One that is just ending needs no more.
                let _ = connection.frames.send(frame());
            }
        });
    }

    /// How connections are received from now on.
    pub fn greet_with(&self, greeting: Greeting) {
        self.change(|state| state.gateway.greeting = greeting);
    }

    /// No session can be resumed any more, as after a few minutes away.
    pub fn expire_sessions(&self) {
        self.change(|state| {
            let left = state.gateway.sessions.iter_mut().filter(|one| one.connection.is_none());
            left.for_each(|session| session.is_over = true);
        });
    }

    /// So many sessions may begin yet.
    pub fn set_budget(&self, remaining: u32) {
        self.change(|state| state.gateway.budget.remaining = remaining);
    }

    pub fn set_token(&self, token: Token) {
        self.change(|state| state.token = token);
    }

    /// The next request of a kind meets this; several form a queue.
    pub fn fault(&self, method: Method, fault: Fault) {
        self.change(|state| state.faults.add(method, fault));
    }

    pub fn fault_times(&self, method: Method, fault: &Fault, times: usize) {
        for _ in 0..times {
            self.fault(method, fault.clone());
        }
    }

    /// Forgets the faults that have not been met, and lets go of requests that hang.
    pub fn clear_faults(&self) {
        self.change(|state| state.faults.clear());
    }

    /// Lets go of requests that hang.
    pub fn release(&self) {
        self.change(|state| state.faults.releases += 1);
    }
}
