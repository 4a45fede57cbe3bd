//! Faults of Discord that a test injects: lost connections, refused sessions and failed requests.

use serde_json::{Value, json};

use crate::discord::FakeDiscord;
use crate::discord::session::{ConnectBehavior, HeartbeatBehavior, SessionRefusal, SocketCommand};
use crate::discord::state::TokenStatus;

impl FakeDiscord {
    /// Asks all connections to reconnect (op 7).
    pub fn request_reconnect(&self) {
        let command = json!({ "op": 7, "d": null, "s": null, "t": null });
        self.send_to_all(|| SocketCommand::Send(command.clone()));
    }

    /// Sends any frame over all connections.
    pub fn send_frame(&self, frame: &Value) {
        self.send_to_all(|| SocketCommand::Send(frame.clone()));
    }

    /// Tells all connections that their sessions are invalid, or can be resumed (op 9).
    pub fn invalidate_sessions(&self, refusal: SessionRefusal) {
        self.change(|state| {
            let connections: Vec<u64> =
                state.gateway.connections.iter().map(|connection| connection.id).collect();
            connections.into_iter().for_each(|connection| state.invalidate(connection, refusal));
        });
    }

    /// Refuses the next IDENTIFY or RESUME. Several refusals form a queue.
    pub fn refuse_next_session(&self, refusal: SessionRefusal) {
        self.change(|state| state.gateway.refusals.push_back(refusal));
    }

    /// Closes all connections with this code.
    pub fn close_connections(&self, code: u16) {
        self.change(|state| {
            let connections: Vec<u64> =
                state.gateway.connections.iter().map(|connection| connection.id).collect();
            connections
                .into_iter()
                .for_each(|connection| state.gateway.close(connection, code, ""));
        });
    }

    /// Resets all connections.
    pub fn reset_connections(&self) {
        self.send_to_all(|| SocketCommand::Reset);
    }

    /// Keeps all connections open, but neither reads from them nor writes to them anymore.
    pub fn stall_connections(&self) {
        self.change(|state| {
            for connection in &mut state.gateway.connections {
                connection.is_stalled = true;
                let _ = connection.commands.send(SocketCommand::Stall);
            }
        });
    }

    /// Sets how the gateway treats heartbeats from now on.
    pub fn set_heartbeat_behavior(&self, behavior: HeartbeatBehavior) {
        self.change(|state| state.gateway.heartbeat_behavior = behavior);
    }

    fn send_to_all(&self, command: impl Fn() -> SocketCommand) {
        self.change(|state| {
            for connection in &state.gateway.connections {
                // The receiver is gone if the connection is just closing.
                let _ = connection.commands.send(command());
            }
        });
    }

    /// Sets how the gateway treats new connections.
    pub fn set_connect_behavior(&self, behavior: ConnectBehavior) {
        self.change(|state| state.gateway.connect_behavior = behavior);
    }

    /// Expires all disconnected sessions, so that none can be resumed.
    pub fn expire_sessions(&self) {
        self.change(|state| {
            let disconnected =
                state.gateway.sessions.iter_mut().filter(|session| session.connection.is_none());
            disconnected.for_each(|session| session.is_expired = true);
        });
    }

    /// Sets how many more sessions may be started.
    pub fn set_remaining_session_starts(&self, remaining: u32) {
        self.change(|state| state.gateway.session_start_quota.remaining = remaining);
    }

    pub fn set_token_status(&self, status: TokenStatus) {
        self.change(|state| state.token_status = status);
    }

    /// Gives the bot a new token. The old one is invalid from now on.
    pub fn replace_token(&self, token: &str) {
        self.change(|state| {
            (state.token_status, state.token) = (TokenStatus::Valid, token.to_owned());
        });
    }
}
