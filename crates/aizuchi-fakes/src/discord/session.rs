//! The gateway's memory: connections, the sessions they carry, what each session was told, and how
//! many more may begin.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use twilight_model::gateway::Intents;

use crate::discord::id::UserId;
use crate::discord::serialize::redact_content;
use crate::discord::world::FakeEvent;

/// What goes to a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum SocketCommand {
    Send(Value),
    /// Ends it with this code and these words.
    Close(u16, &'static str),
    /// Resets it.
    Reset,
    /// Keeps it, and neither reads nor writes any more.
    Stall,
}

/// How connections are received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectBehavior {
    #[default]
    Hello,
    /// It opens, and nothing is ever said.
    Silence,
    /// It does not open: 503.
    Refusal,
}

/// What becomes of heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeartbeatBehavior {
    #[default]
    Acknowledged,
    /// Whoever waits for an answer holds the connection for a zombie.
    Ignored,
}

pub struct FakeConnection {
    pub id: u64,
    pub commands: UnboundedSender<SocketCommand>,
    /// Its session, by place.
    pub session: Option<usize>,
    pub is_stalled: bool,
    /// When it said something, of late.
    pub received_at: VecDeque<Timestamp>,
}

pub struct FakeSession {
    pub id: String,
    pub intents: Intents,
    pub shard: [u64; 2],
    pub seq: u64,
    /// All that it was told, with the numbers.
    pub sent_events: Vec<(u64, Value)>,
    pub connection: Option<u64>,
    /// Since when nobody listens.
    pub disconnected_at: Option<Timestamp>,
    /// It cannot be resumed any more.
    pub is_expired: bool,
}

impl FakeSession {
    /// What it is told of an event, if its intents let it hear of it.
    fn visible_data(&self, event: &FakeEvent, me: UserId) -> Option<Value> {
        let is_meant =
            event.required_intents.is_empty() || self.intents.intersects(event.required_intents);
        if !is_meant || event.shard(self.shard[1]) != self.shard[0] {
            return None;
        }
        let mut data = event.data.clone();
        if !self.intents.contains(Intents::MESSAGE_CONTENT) && event.name.starts_with("MESSAGE_") {
            let is_direct = data["guild_id"].is_null();
            redact_content(&mut data, me, is_direct);
        }
        Some(data)
    }
}

/// How many sessions may begin yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStartQuota {
    pub total: u32,
    pub remaining: u32,
    pub resets_at: Timestamp,
}

const SESSION_START_QUOTA_PERIOD: SignedDuration = SignedDuration::from_hours(24);

impl SessionStartQuota {
    pub fn new(total: u32, now: Timestamp) -> Self {
        Self { total, remaining: total, resets_at: now + SESSION_START_QUOTA_PERIOD }
    }

    pub fn reset_if_due(&mut self, now: Timestamp) {
        if self.resets_at <= now {
            *self = Self::new(self.total, now);
        }
    }
}

pub struct FakeGateway {
    pub connections: Vec<FakeConnection>,
    pub sessions: Vec<FakeSession>,
    pub connect_behavior: ConnectBehavior,
    pub heartbeat_behavior: HeartbeatBehavior,
    pub session_start_quota: SessionStartQuota,
    /// When each rate-limit key began a session last.
    pub identified_at: Vec<(u64, Timestamp)>,
    /// What the next sessions are refused with, one each.
    pub refusals: VecDeque<SessionRefusal>,
    last_connection: u64,
}

/// What an IDENTIFY or a RESUME meets instead of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionRefusal {
    /// Op 9 that lets the session be resumed.
    Resumable,
    /// Op 9 that ends the session.
    Invalid,
    /// This close code.
    Close(u16),
    /// No answer at all.
    #[serde(rename = "nothing")]
    NoReply,
}

impl FakeGateway {
    pub fn new(total: u32, now: Timestamp) -> Self {
        Self {
            connections: Vec::new(),
            sessions: Vec::new(),
            connect_behavior: ConnectBehavior::default(),
            heartbeat_behavior: HeartbeatBehavior::default(),
            session_start_quota: SessionStartQuota::new(total, now),
            identified_at: Vec::new(),
            refusals: VecDeque::new(),
            last_connection: 0,
        }
    }

    pub fn connect(&mut self, interval: SignedDuration) -> (u64, UnboundedReceiver<SocketCommand>) {
        let (frames, receiver) = unbounded_channel();
        self.last_connection += 1;
        let id = self.last_connection;
        let said_at = VecDeque::new();
        self.connections.push(FakeConnection {
            id,
            commands: frames,
            session: None,
            is_stalled: false,
            received_at: said_at,
        });
        if self.connect_behavior == ConnectBehavior::Hello {
            let milliseconds = u64::try_from(interval.as_millis()).unwrap_or(0);
            let data = json!({ "heartbeat_interval": milliseconds, "_trace": ["[\"dev\"]"] });
            self.send_payload(id, json!({ "op": 10, "d": data, "s": null, "t": null }));
        }
        (id, receiver)
    }

    /// A connection has ended; `code` is what the app closed it with. 1000 and 1001 end the session.
    pub fn disconnect(&mut self, id: u64, code: Option<u16>, now: Timestamp) {
        if let Some(session) = self.session_for(id) {
            session.is_expired |= matches!(code, Some(1000 | 1001));
        }
        self.detach_session(id, now);
        self.connections.retain(|connection| connection.id != id);
    }

    /// A connection carries its session no longer.
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

    /// The session of a connection.
    pub fn session_for(&mut self, connection: u64) -> Option<&mut FakeSession> {
        let place = self.connection(connection)?.session?;
        self.sessions.get_mut(place)
    }

    pub fn send_payload(&mut self, connection: u64, frame: Value) {
        self.send(connection, SocketCommand::Send(frame));
    }

    pub fn send(&mut self, connection: u64, frame: SocketCommand) {
        if let Some(connection) = self.connection(connection) {
            // One that is just ending needs no more.
            let _ = connection.commands.send(frame);
        }
    }

    /// Ends a connection from our side. Some codes end its session, too.
    pub fn close(&mut self, connection: u64, code: u16, words: &'static str) {
        if let Some(session) = self.session_for(connection) {
            session.is_expired |= matches!(code, 4004 | 4007 | 4009..=4014);
        }
        self.send(connection, SocketCommand::Close(code, words));
    }

    /// Begins a session on a connection, and says its place.
    pub fn start_session(&mut self, connection: u64, intents: Intents, shard: [u64; 2]) -> usize {
        let place = self.sessions.len();
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
            connection.session = Some(place);
        }
        place
    }

    /// Tells a session something, or keeps it for when it is resumed.
    pub fn dispatch(&mut self, place: usize, name: &str, data: Value) {
        let Some(session) = self.sessions.get_mut(place).filter(|session| !session.is_expired)
        else {
            return;
        };
        session.seq += 1;
        let frame = json!({ "op": 0, "t": name, "s": session.seq, "d": data });
        session.sent_events.push((session.seq, frame.clone()));
        if let Some(connection) = session.connection {
            self.send_payload(connection, frame);
        }
    }

    /// Tells all sessions that may hear of it.
    pub fn broadcast(&mut self, event: &FakeEvent, me: UserId) {
        for place in 0..self.sessions.len() {
            if let Some(data) = self.sessions[place].visible_data(event, me) {
                self.dispatch(place, event.name, data);
            }
        }
    }

    /// Goes on with a session on another connection: what was missed, in order, and then RESUMED.
    pub fn resume(&mut self, connection: u64, place: usize, seq: u64) {
        let Some(session) = self.sessions.get_mut(place) else {
            return;
        };
        let old = session.connection.replace(connection);
        session.disconnected_at = None;
        let missed: Vec<Value> = (session.sent_events.iter().filter(|(number, _)| *number > seq))
            .map(|(_, frame)| frame.clone())
            .collect();
        if let Some(old) = old.and_then(|old| self.connection(old)) {
            old.session = None;
            let _ = old.commands.send(SocketCommand::Close(4000, "Session resumed elsewhere."));
        }
        if let Some(connection) = self.connection(connection) {
            connection.session = Some(place);
        }
        for frame in missed {
            self.send_payload(connection, frame);
        }
        self.dispatch(place, "RESUMED", json!({ "_trace": [] }));
        if let Some(session) = self.sessions.get_mut(place) {
            // It is never missed: another RESUME ends with another one.
            session.sent_events.pop();
        }
    }

    /// Connections that still carry words.
    pub fn open_connections(&self) -> usize {
        self.connections.iter().filter(|connection| !connection.is_stalled).count()
    }
}
