//! What Discord does to its apps: it closes, refuses, forgets and fails.

use serde_json::json;

use crate::discord::FakeDiscord;
use crate::discord::fault::Fault;
use crate::discord::method::Method;
use crate::discord::session::{ConnectBehavior, HeartbeatBehavior, SessionRefusal, SocketCommand};
use crate::discord::state::TokenStatus;

impl FakeDiscord {
    /// Asks all connections to come again (op 7).
    pub fn request_reconnect(&self) {
        let frame = json!({ "op": 7, "d": null, "s": null, "t": null });
        self.send_to_all(|| SocketCommand::Send(frame.clone()));
    }

    /// Tells all connections that their sessions are gone, or only interrupted (op 9).
    pub fn invalidate_sessions(&self, refused: SessionRefusal) {
        self.change(|state| {
            let all: Vec<u64> = state.gateway.connections.iter().map(|one| one.id).collect();
            all.into_iter().for_each(|connection| state.invalidate(connection, refused));
        });
    }

    /// The next session that is begun or resumed meets this; several form a queue.
    pub fn refuse_next_session(&self, refused: SessionRefusal) {
        self.change(|state| state.gateway.refusals.push_back(refused));
    }

    /// Closes all connections with this code.
    pub fn close_connections(&self, code: u16) {
        self.change(|state| {
            let all: Vec<u64> = state.gateway.connections.iter().map(|one| one.id).collect();
            all.into_iter().for_each(|connection| state.gateway.close(connection, code, ""));
        });
    }

    /// Resets all connections.
    pub fn reset_connections(&self) {
        self.send_to_all(|| SocketCommand::Reset);
    }

    /// All connections stay, and nothing goes through them any more.
    pub fn stall_connections(&self) {
        self.change(|state| {
            for connection in &mut state.gateway.connections {
                connection.is_stalled = true;
                let _ = connection.commands.send(SocketCommand::Stall);
            }
        });
    }

    /// What becomes of heartbeats from now on.
    pub fn set_heartbeat_behavior(&self, pulse: HeartbeatBehavior) {
        self.change(|state| state.gateway.heartbeat_behavior = pulse);
    }

    fn send_to_all(&self, frame: impl Fn() -> SocketCommand) {
        self.change(|state| {
            for connection in &state.gateway.connections {
                // One that is just ending needs no more.
                let _ = connection.commands.send(frame());
            }
        });
    }

    /// How connections are received from now on.
    pub fn set_connect_behavior(&self, greeting: ConnectBehavior) {
        self.change(|state| state.gateway.connect_behavior = greeting);
    }

    /// No session can be resumed any more, as after a few minutes away.
    pub fn expire_sessions(&self) {
        self.change(|state| {
            let left = state.gateway.sessions.iter_mut().filter(|one| one.connection.is_none());
            left.for_each(|session| session.is_expired = true);
        });
    }

    /// So many sessions may begin yet.
    pub fn set_remaining_session_starts(&self, remaining: u32) {
        self.change(|state| state.gateway.session_start_quota.remaining = remaining);
    }

    pub fn set_token_status(&self, token: TokenStatus) {
        self.change(|state| state.token_status = token);
    }

    /// The next request of a kind meets this; several form a queue.
    pub fn inject_fault(&self, method: Method, fault: Fault) {
        self.change(|state| state.faults.push(method, fault));
    }

    pub fn inject_fault_times(&self, method: Method, fault: &Fault, times: usize) {
        for _ in 0..times {
            self.inject_fault(method, fault.clone());
        }
    }

    /// Forgets the faults that have not been met, and lets go of requests that hang.
    pub fn clear_faults(&self) {
        self.change(|state| state.faults.clear_and_release());
    }

    /// Lets go of requests that hang.
    pub fn release_hanging(&self) {
        self.change(|state| state.faults.releases += 1);
    }
}
