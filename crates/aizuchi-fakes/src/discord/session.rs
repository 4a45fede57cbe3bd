//! The gateway's state: its connections, their sessions with all sent events, and the quota of session starts.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use twilight_model::gateway::Intents;

use crate::discord::id::UserId;
use crate::discord::serialize::redact_content;
use crate::discord::world::FakeEvent;

/// A command to the task of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum SocketCommand {
    Send(Value),
    /// Closes the connection with this code and reason.
    Close(u16, &'static str),
    /// Resets the TCP connection.
    Reset,
    /// Stops reading and writing, but keeps the connection.
    Stall,
}

/// How the gateway treats a new connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectBehavior {
    #[default]
    Hello,
    /// The connection opens, but nothing is ever sent.
    Silence,
    /// The upgrade is refused with the status 503.
    Refusal,
}

/// How the gateway treats heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeartbeatBehavior {
    #[default]
    Acknowledged,
    /// Heartbeats get no acknowledgment, so a client must treat the connection as dead.
    Ignored,
}

pub struct FakeConnection {
    pub id: u64,
    pub commands: UnboundedSender<SocketCommand>,
    /// The index of its session.
    pub session: Option<usize>,
    pub is_stalled: bool,
    /// When payloads were received within the last minute.
    pub received_at: VecDeque<Timestamp>,
}

pub struct FakeSession {
    pub id: String,
    pub intents: Intents,
    pub shard: [u64; 2],
    pub seq: u64,
    /// All events sent, with their sequence numbers.
    pub sent_events: Vec<(u64, Value)>,
    pub connection: Option<u64>,
    /// The time since which the session has had no connection.
    pub disconnected_at: Option<Timestamp>,
    /// Whether the session can no longer be resumed.
    pub is_expired: bool,
}

impl FakeSession {
    /// Returns the event's data as this session may see it, or `None` if its intents or its shard exclude it.
    fn visible_data(&self, event: &FakeEvent, bot_user: UserId) -> Option<Value> {
        let matches_intents =
            event.required_intents.is_empty() || self.intents.intersects(event.required_intents);
        if !matches_intents || event.shard(self.shard[1]) != self.shard[0] {
            return None;
        }
        let mut data = event.data.clone();
        if !self.intents.contains(Intents::MESSAGE_CONTENT) && event.name.starts_with("MESSAGE_") {
            let is_direct = data["guild_id"].is_null();
            redact_content(&mut data, bot_user, is_direct);
        }
        Some(data)
    }
}

/// How many more sessions may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStartQuota {
    pub total: u32,
    pub remaining: u32,
    pub resets_at: Timestamp,
}

const SESSION_STARTS_PER_DAY: u32 = 1000;
const SESSION_START_QUOTA_PERIOD: SignedDuration = SignedDuration::from_hours(24);

impl SessionStartQuota {
    pub fn new(now: Timestamp) -> Self {
        let (total, remaining) = (SESSION_STARTS_PER_DAY, SESSION_STARTS_PER_DAY);
        Self { total, remaining, resets_at: now + SESSION_START_QUOTA_PERIOD }
    }

    pub fn reset_if_due(&mut self, now: Timestamp) {
        if self.resets_at <= now {
            *self = Self::new(now);
        }
    }
}

pub struct FakeGateway {
    pub connections: Vec<FakeConnection>,
    pub sessions: Vec<FakeSession>,
    pub connect_behavior: ConnectBehavior,
    pub heartbeat_behavior: HeartbeatBehavior,
    pub session_start_quota: SessionStartQuota,
    /// When each rate limit key last started a session.
    pub identified_at: Vec<(u64, Timestamp)>,
    /// The refusals of the next IDENTIFYs and RESUMEs, one each.
    pub refusals: VecDeque<SessionRefusal>,
    last_connection: u64,
}

/// How an IDENTIFY or a RESUME is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionRefusal {
    /// With op 9; the session can still be resumed.
    Resumable,
    /// With op 9, which ends the session.
    Invalid,
    /// With this close code.
    Close(u16),
    /// Without any reply.
    #[serde(rename = "nothing")]
    NoReply,
}

impl FakeGateway {
    pub fn new(now: Timestamp) -> Self {
        Self {
            connections: Vec::new(),
            sessions: Vec::new(),
            connect_behavior: ConnectBehavior::default(),
            heartbeat_behavior: HeartbeatBehavior::default(),
            session_start_quota: SessionStartQuota::new(now),
            identified_at: Vec::new(),
            refusals: VecDeque::new(),
            last_connection: 0,
        }
    }

    pub fn connect(
        &mut self,
        heartbeat_interval: SignedDuration,
    ) -> (u64, UnboundedReceiver<SocketCommand>) {
        let (commands, receiver) = unbounded_channel();
        self.last_connection += 1;
        let id = self.last_connection;
        self.connections.push(FakeConnection {
            id,
            commands,
            session: None,
            is_stalled: false,
            received_at: VecDeque::new(),
        });
        if self.connect_behavior == ConnectBehavior::Hello {
            let milliseconds = u64::try_from(heartbeat_interval.as_millis()).unwrap_or(0);
            let data = json!({ "heartbeat_interval": milliseconds, "_trace": ["[\"dev\"]"] });
            self.send_payload(id, json!({ "op": 10, "d": data, "s": null, "t": null }));
        }
        (id, receiver)
    }

    /// Removes a connection that has ended. The app's close codes 1000 and 1001 end its session, too.
    pub fn disconnect(&mut self, id: u64, code: Option<u16>, now: Timestamp) {
        if let Some(session) = self.session_for(id) {
            session.is_expired |= matches!(code, Some(1000 | 1001));
        }
        self.detach_session(id, now);
        self.connections.retain(|connection| connection.id != id);
    }

    /// Separates a connection from its session.
    pub fn detach_session(&mut self, id: u64, now: Timestamp) {
        if let Some(session) = self.session_for(id) {
            session.connection = None;
            session.disconnected_at = Some(now);
        }
        if let Some(connection) = self.connection(id) {
            connection.session = None;
        }
    }

    pub fn connection(&mut self, id: u64) -> Option<&mut FakeConnection> {
        self.connections.iter_mut().find(|connection| connection.id == id)
    }

    pub fn session_for(&mut self, connection: u64) -> Option<&mut FakeSession> {
        let session = self.connection(connection)?.session?;
        self.sessions.get_mut(session)
    }

    pub fn send_payload(&mut self, connection: u64, payload: Value) {
        self.send(connection, SocketCommand::Send(payload));
    }

    pub fn send(&mut self, connection: u64, command: SocketCommand) {
        if let Some(connection) = self.connection(connection) {
            // The receiver is gone if the connection is just closing.
            let _ = connection.commands.send(command);
        }
    }

    /// Closes a connection. Some codes end its session, too.
    pub fn close(&mut self, connection: u64, code: u16, reason: &'static str) {
        if let Some(session) = self.session_for(connection) {
            session.is_expired |= matches!(code, 4004 | 4007 | 4009..=4014);
        }
        self.send(connection, SocketCommand::Close(code, reason));
    }

    /// Starts a session on a connection and returns its index.
    pub fn start_session(&mut self, connection: u64, intents: Intents, shard: [u64; 2]) -> usize {
        let index = self.sessions.len();
        self.sessions.push(FakeSession {
            id: format!("{:032x}", uuid::Uuid::now_v7().as_u128()),
            intents,
            shard,
            seq: 0,
            sent_events: Vec::new(),
            connection: Some(connection),
            disconnected_at: None,
            is_expired: false,
        });
        if let Some(connection) = self.connection(connection) {
            connection.session = Some(index);
        }
        index
    }

    /// Sends an event to a session, or stores it until the session is resumed.
    pub fn dispatch(&mut self, index: usize, name: &str, data: Value) {
        let Some(session) = self.sessions.get_mut(index).filter(|session| !session.is_expired)
        else {
            return;
        };
        session.seq += 1;
        let payload = json!({ "op": 0, "t": name, "s": session.seq, "d": data });
        session.sent_events.push((session.seq, payload.clone()));
        if let Some(connection) = session.connection {
            self.send_payload(connection, payload);
        }
    }

    /// Sends an event to all sessions that may see it.
    pub fn broadcast(&mut self, event: &FakeEvent, bot_user: UserId) {
        for index in 0..self.sessions.len() {
            if let Some(data) = self.sessions[index].visible_data(event, bot_user) {
                self.dispatch(index, event.name, data);
            }
        }
    }

    /// Resumes a session on another connection: sends the missed events in order, and then RESUMED.
    pub fn resume(&mut self, connection: u64, index: usize, seq: u64) {
        let Some(session) = self.sessions.get_mut(index) else {
            return;
        };
        let previous = session.connection.replace(connection);
        session.disconnected_at = None;
        let missed: Vec<Value> =
            (session.sent_events.iter().filter(|(event_seq, _)| *event_seq > seq))
                .map(|(_, payload)| payload.clone())
                .collect();
        if let Some(previous) = previous.and_then(|previous| self.connection(previous)) {
            previous.session = None;
            let _ =
                previous.commands.send(SocketCommand::Close(4000, "Session resumed elsewhere."));
        }
        if let Some(connection) = self.connection(connection) {
            connection.session = Some(index);
        }
        for payload in missed {
            self.send_payload(connection, payload);
        }
        self.dispatch(index, "RESUMED", json!({ "_trace": [] }));
        if let Some(session) = self.sessions.get_mut(index) {
            // RESUMED is not replayed: each RESUME sends a new one.
            session.sent_events.pop();
        }
    }

    /// Returns the number of connections that are not stalled.
    pub fn open_connections(&self) -> usize {
        self.connections.iter().filter(|connection| !connection.is_stalled).count()
    }
}
