//! Delivery to the app: each envelope goes to one of the open sockets and is redelivered until the app acknowledges it.

use std::time::Instant;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::slack::workspace::{Workspace, unique_id};
use crate::wire::to_wire;

/// A payload for the app, delivered at least once.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    pub kind: PayloadKind,
    pub payload: Value,
    /// The number of previous failed deliveries.
    pub retry_attempt: u32,
    /// The reason for the redelivery; empty on the first attempt.
    pub retry_reason: &'static str,
    pub status: EnvelopeStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    Event,
    SlashCommand,
    Interaction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvelopeStatus {
    InFlight,
    Acked,
    /// All attempts have failed.
    Dropped,
}

/// One attempt to deliver an envelope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnvelopeDelivery {
    pub envelope_id: String,
    #[serde(skip)]
    pub envelope_index: usize,
    #[serde(rename = "attempt")]
    pub retry_attempt: u32,
    /// The connection that it was sent over, or `None` if it went to the request URL.
    pub connection: Option<u64>,
    pub payload: Value,
    #[serde(rename = "receipt")]
    pub ack_status: AckStatus,
    #[serde(skip)]
    pub sent_at: Instant,
    /// How long the acknowledgement took, if it came.
    pub milliseconds: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AckStatus {
    #[serde(rename = "awaited")]
    Pending,
    Acked,
    /// Not acknowledged in time.
    #[serde(rename = "missed")]
    TimedOut,
    /// Acknowledged too late to count.
    Late,
}

/// A command to the task of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum SocketCommand {
    Send(String),
    /// Sends a close frame.
    Close,
    /// Resets the TCP connection without a close frame.
    Reset,
    /// Stops reading and writing, but keeps the connection.
    Stall,
}

pub struct FakeConnection {
    pub id: u64,
    pub commands: mpsc::UnboundedSender<SocketCommand>,
    pub is_ready: bool,
    pub is_stalled: bool,
}

/// How Slack treats a new connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectBehavior {
    #[default]
    Hello,
    /// The connection opens, but nothing is ever sent.
    Silence,
}

#[derive(Default)]
pub struct Dispatcher {
    pub connections: Vec<FakeConnection>,
    pub tickets: Vec<String>,
    pub envelopes: Vec<Envelope>,
    pub deliveries: Vec<EnvelopeDelivery>,
    pub connect_behavior: ConnectBehavior,
    /// The smallest number of open connections since it was last reset.
    pub min_open: usize,
    /// Whether the app has ever connected. Before that, no events are delivered.
    pub has_connected: bool,
    last_connection: u64,
    next_connection: usize,
}

impl Dispatcher {
    pub fn connect(&mut self) -> (u64, mpsc::UnboundedReceiver<SocketCommand>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        self.last_connection += 1;
        let id = self.last_connection;
        self.connections.push(FakeConnection { id, commands, is_ready: false, is_stalled: false });
        self.has_connected = true;
        (id, receiver)
    }

    pub fn disconnect(&mut self, id: u64) {
        self.connections.retain(|connection| connection.id != id);
        self.min_open = self.min_open.min(self.open_connections());
    }

    /// Returns the number of connections that are not stalled.
    pub fn open_connections(&self) -> usize {
        self.connections.iter().filter(|connection| !connection.is_stalled).count()
    }

    /// Sends a connection its `hello`, unless new connections get silence.
    pub fn send_hello(&mut self, id: u64, app: &str) {
        let count = self.connections.len();
        if self.connect_behavior == ConnectBehavior::Silence {
            return;
        }
        let Some(connection) = self.connections.iter_mut().find(|one| one.id == id) else {
            return;
        };
        connection.is_ready = true;
        let hello = json!({
            "type": "hello",
            "num_connections": count,
            "debug_info": {
                "host": "applink-dev",
                "build_number": 1,
                "approximate_connection_time": 18060,
            },
            "connection_info": { "app_id": app },
        });
        send(connection, hello.to_string());
    }

    pub fn enqueue(&mut self, kind: PayloadKind, payload: Value) -> usize {
        self.envelopes.push(Envelope {
            kind,
            payload,
            retry_attempt: 0,
            retry_reason: "",
            status: EnvelopeStatus::InFlight,
        });
        self.envelopes.len() - 1
    }

    /// Sends an envelope to one of the ready connections, round robin. Returns the index of the delivery.
    pub fn deliver(&mut self, envelope_index: usize) -> Option<usize> {
        let ready: Vec<usize> =
            (0..self.connections.len()).filter(|index| self.connections[*index].is_ready).collect();
        let place = self.next_connection.checked_rem(ready.len())?;
        self.next_connection += 1;
        let connection = ready[place];
        let delivery = self.record(envelope_index, Some(self.connections[connection].id));
        let envelope_id = &self.deliveries[delivery].envelope_id;
        let frame = to_wire(&envelope_json(envelope_id, &self.envelopes[envelope_index]));
        send(&self.connections[connection], frame);
        Some(delivery)
    }

    /// Records that an envelope is sent over a connection, or to the request URL. Returns the index of the delivery.
    pub fn record(&mut self, envelope_index: usize, connection: Option<u64>) -> usize {
        let envelope = &self.envelopes[envelope_index];
        self.deliveries.push(EnvelopeDelivery {
            envelope_id: Uuid::now_v7().to_string(),
            envelope_index,
            retry_attempt: envelope.retry_attempt,
            connection,
            payload: envelope.payload.clone(),
            ack_status: AckStatus::Pending,
            sent_at: Instant::now(),
            milliseconds: None,
        });
        self.deliveries.len() - 1
    }

    /// Sends any frame, not necessarily an envelope, over the first connection that is ready.
    pub fn send_frame(&self, text: &str) {
        if let Some(connection) = self.connections.iter().find(|connection| connection.is_ready) {
            send(connection, text.to_owned());
        }
    }

    /// Returns the payload of a delivery, while a response to it is still accepted.
    pub fn pending_payload(&self, envelope_id: &str) -> Option<&Value> {
        let matches = |delivery: &&EnvelopeDelivery| {
            delivery.envelope_id == envelope_id && delivery.ack_status == AckStatus::Pending
        };
        self.deliveries.iter().rev().find(matches).map(|delivery| &delivery.payload)
    }

    pub fn ack(&mut self, envelope_id: &str) {
        let matches = |delivery: &&mut EnvelopeDelivery| delivery.envelope_id == envelope_id;
        let Some(delivery) = self.deliveries.iter_mut().rev().find(matches) else {
            return;
        };
        let took = delivery.sent_at.elapsed().as_secs_f64() * 1000.0;
        delivery.milliseconds.get_or_insert(took);
        match delivery.ack_status {
            AckStatus::Pending => {
                delivery.ack_status = AckStatus::Acked;
                self.envelopes[delivery.envelope_index].status = EnvelopeStatus::Acked;
            }
            AckStatus::TimedOut => delivery.ack_status = AckStatus::Late,
            AckStatus::Acked | AckStatus::Late => {}
        }
    }

    /// Marks a delivery as timed out. Returns false if it had already ended.
    pub fn time_out(&mut self, delivery: usize) -> bool {
        let delivery = &mut self.deliveries[delivery];
        let was_pending = delivery.ack_status == AckStatus::Pending;
        if was_pending {
            delivery.ack_status = AckStatus::TimedOut;
        }
        was_pending
    }

    /// Records a failed attempt and returns the delay before the next one, or drops the envelope.
    pub fn next_retry(
        &mut self,
        envelope_index: usize,
        delays: &[SignedDuration],
        reason: &'static str,
    ) -> Option<SignedDuration> {
        let envelope = &mut self.envelopes[envelope_index];
        envelope.retry_reason = reason;
        let delay = match envelope.kind {
            PayloadKind::Event => delays.get(envelope.retry_attempt as usize).copied(),
            // Slack does not retry these.
            PayloadKind::SlashCommand | PayloadKind::Interaction => None,
        };
        match delay {
            Some(_) => envelope.retry_attempt += 1,
            None => envelope.status = EnvelopeStatus::Dropped,
        }
        delay
    }
}

fn send(connection: &FakeConnection, text: String) {
    // A connection that is just closing loses what is sent to it, as on a real network.
    let _ = connection.commands.send(SocketCommand::Send(text));
}

fn envelope_json(id: &str, envelope: &Envelope) -> Value {
    let mut object = json!({ "envelope_id": id, "payload": envelope.payload });
    match envelope.kind {
        PayloadKind::Event => {
            object["type"] = json!("events_api");
            object["accepts_response_payload"] = json!(false);
            object["retry_attempt"] = json!(envelope.retry_attempt);
            object["retry_reason"] = json!(envelope.retry_reason);
        }
        PayloadKind::SlashCommand => {
            object["type"] = json!("slash_commands");
            object["accepts_response_payload"] = json!(true);
        }
        PayloadKind::Interaction => {
            object["type"] = json!("interactive");
            object["accepts_response_payload"] = json!(is_form(&envelope.payload));
        }
    }
    object
}

/// Whether a payload is a submitted form.
pub fn is_form(payload: &Value) -> bool {
    payload["type"] == "view_submission"
}

/// Wraps an event in its `event_callback` payload.
pub fn event_callback(workspace: &Workspace, event: Value) -> Value {
    let authorization = json!({
        "enterprise_id": null,
        "team_id": workspace.id,
        "user_id": workspace.bot_user,
        "is_bot": true,
        "is_enterprise_install": false,
    });
    json!({
        "token": "dev-verification",
        "team_id": workspace.id,
        "context_team_id": workspace.id,
        "context_enterprise_id": null,
        "api_app_id": workspace.bot.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": unique_id("Ev"),
        "event_time": workspace.unix_seconds(),
        "authorizations": [authorization],
        "is_ext_shared_channel": false,
        "event_context": unique_id("4-"),
    })
}

/// Returns the payload that notifies the app of its event rate limit. It has no inner event.
pub fn app_rate_limited(workspace: &Workspace) -> Value {
    json!({
        "token": "dev-verification",
        "type": "app_rate_limited",
        "team_id": workspace.id,
        "minute_rate_limited": workspace.unix_seconds() / 60 * 60,
        "api_app_id": workspace.bot.app_id,
    })
}
