//! How the app is told: letters on their way, each brought to one of the open sockets, and brought
//! again if nobody acknowledges it.

use std::time::Instant;

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::slack::workspace::{Workspace, unique_id};

/// What is told once or several times.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    pub kind: PayloadKind,
    pub payload: Value,
    /// How often it has been tried before.
    pub retry_attempt: u32,
    /// Why it is tried again; empty at first.
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
    /// It was tried as often as Slack tries.
    Dropped,
}

/// One try to bring a letter.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub envelope_id: String,
    pub envelope_index: usize,
    pub retry_attempt: u32,
    /// Which connection it went to; none, if to an address.
    pub connection: Option<u64>,
    pub payload: Value,
    pub ack_status: AckStatus,
    sent_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AckStatus {
    Pending,
    /// After so long.
    Acked(std::time::Duration),
    /// Nothing came in time.
    TimedOut,
    /// It came, but too late to count.
    Late(std::time::Duration),
}

/// What a connection's task is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum SocketCommand {
    Send(String),
    /// A close frame, as a server that says goodbye.
    Close,
    /// Breaks the connection without a word.
    Reset,
    /// From here on neither reads nor writes.
    Stall,
}

/// An open socket.
pub struct FakeConnection {
    pub id: u64,
    pub commands: mpsc::UnboundedSender<SocketCommand>,
    pub is_ready: bool,
    pub is_stalled: bool,
}

/// How a new socket is received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectBehavior {
    #[default]
    Hello,
    /// The socket opens, and nothing ever comes.
    Silence,
}

#[derive(Default)]
pub struct Dispatcher {
    pub connections: Vec<FakeConnection>,
    pub tickets: Vec<String>,
    pub envelopes: Vec<Envelope>,
    pub deliveries: Vec<Delivery>,
    pub connect_behavior: ConnectBehavior,
    /// The smallest number of open connections since a mark.
    pub min_open: usize,
    /// Before an app has connected for the first time, it is told nothing.
    pub has_connected: bool,
    last_connection: u64,
    next_connection: usize,
}

/// What comes of a try.
#[derive(Clone, Debug, PartialEq)]
pub enum DeliveryAttempt {
    /// It is on its way, under this number.
    Sent(usize),
    NoConnection,
}

impl Dispatcher {
    pub fn connect(&mut self) -> (u64, mpsc::UnboundedReceiver<SocketCommand>) {
        let (frames, receiver) = mpsc::unbounded_channel();
        self.last_connection += 1;
        let id = self.last_connection;
        self.connections.push(FakeConnection {
            id,
            commands: frames,
            is_ready: false,
            is_stalled: false,
        });
        self.has_connected = true;
        (id, receiver)
    }

    pub fn disconnect(&mut self, id: u64) {
        self.connections.retain(|connection| connection.id != id);
        self.min_open = self.min_open.min(self.open_connections());
    }

    /// Connections that work as far as a client can tell.
    pub fn open_connections(&self) -> usize {
        self.connections.iter().filter(|connection| !connection.is_stalled).count()
    }

    /// Sends a connection its `hello`, if that is how it is received.
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

    /// Brings a letter to one of the open sockets, each in its turn.
    pub fn deliver(&mut self, number: usize) -> DeliveryAttempt {
        let letter = &self.envelopes[number];
        let there: Vec<&FakeConnection> =
            self.connections.iter().filter(|connection| connection.is_ready).collect();
        if there.is_empty() {
            return DeliveryAttempt::NoConnection;
        }
        let connection = there[self.next_connection % there.len()];
        self.next_connection += 1;
        let envelope_id = Uuid::now_v7().to_string();
        send(connection, envelope_json(&envelope_id, letter).to_string());
        self.deliveries.push(Delivery {
            envelope_id,
            envelope_index: number,
            retry_attempt: letter.retry_attempt,
            connection: Some(connection.id),
            payload: letter.payload.clone(),
            ack_status: AckStatus::Pending,
            sent_at: Instant::now(),
        });
        DeliveryAttempt::Sent(self.deliveries.len() - 1)
    }

    /// Takes note that a letter is brought to an address.
    pub fn record_push(&mut self, number: usize) -> usize {
        let letter = &self.envelopes[number];
        self.deliveries.push(Delivery {
            envelope_id: Uuid::now_v7().to_string(),
            envelope_index: number,
            retry_attempt: letter.retry_attempt,
            connection: None,
            payload: letter.payload.clone(),
            ack_status: AckStatus::Pending,
            sent_at: Instant::now(),
        });
        self.deliveries.len() - 1
    }

    /// The slash command that an envelope brought, as long as it may be answered.
    pub fn pending_command(&self, envelope_id: &str) -> Option<&Value> {
        let is_it = |delivery: &&Delivery| delivery.envelope_id == envelope_id;
        let delivery = self.deliveries.iter().rev().find(is_it)?;
        let is_command = self.envelopes[delivery.envelope_index].kind == PayloadKind::SlashCommand;
        (is_command && delivery.ack_status == AckStatus::Pending).then_some(&delivery.payload)
    }

    pub fn ack(&mut self, envelope_id: &str) {
        let is_it = |delivery: &&mut Delivery| delivery.envelope_id == envelope_id;
        let Some(delivery) = self.deliveries.iter_mut().rev().find(is_it) else {
            return;
        };
        let latency = delivery.sent_at.elapsed();
        match delivery.ack_status {
            AckStatus::Pending => {
                delivery.ack_status = AckStatus::Acked(latency);
                self.envelopes[delivery.envelope_index].status = EnvelopeStatus::Acked;
            }
            AckStatus::TimedOut => delivery.ack_status = AckStatus::Late(latency),
            AckStatus::Acked(_) | AckStatus::Late(_) => {}
        }
    }

    /// A delivery's time is up. Whether it was still waited for.
    pub fn time_out(&mut self, delivery: usize) -> bool {
        let delivery = &mut self.deliveries[delivery];
        let is_awaited = delivery.ack_status == AckStatus::Pending;
        if is_awaited {
            delivery.ack_status = AckStatus::TimedOut;
        }
        is_awaited
    }

    /// A try has failed: how long to wait for the next, if there is to be one.
    pub fn next_retry(
        &mut self,
        number: usize,
        waits: &[SignedDuration],
        reason: &'static str,
    ) -> Option<SignedDuration> {
        let letter = &mut self.envelopes[number];
        letter.retry_reason = reason;
        let wait = match letter.kind {
            PayloadKind::Event => waits.get(letter.retry_attempt as usize).copied(),
            // Slack does these once.
            PayloadKind::SlashCommand | PayloadKind::Interaction => None,
        };
        match wait {
            Some(_) => letter.retry_attempt += 1,
            None => letter.status = EnvelopeStatus::Dropped,
        }
        wait
    }
}

fn send(connection: &FakeConnection, text: String) {
    // A connection that is just ending loses what is sent to it, as on a wire.
    let _ = connection.commands.send(SocketCommand::Send(text));
}

fn envelope_json(id: &str, letter: &Envelope) -> Value {
    let mut envelope = json!({ "envelope_id": id, "payload": letter.payload });
    match letter.kind {
        PayloadKind::Event => {
            envelope["type"] = json!("events_api");
            envelope["accepts_response_payload"] = json!(false);
            envelope["retry_attempt"] = json!(letter.retry_attempt);
            envelope["retry_reason"] = json!(letter.retry_reason);
        }
        PayloadKind::SlashCommand => {
            envelope["type"] = json!("slash_commands");
            envelope["accepts_response_payload"] = json!(true);
        }
        PayloadKind::Interaction => {
            envelope["type"] = json!("interactive");
            envelope["accepts_response_payload"] = json!(false);
        }
    }
    envelope
}

/// An event as the app gets it.
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

/// Too much has happened; it has no inner event.
pub fn app_rate_limited(workspace: &Workspace) -> Value {
    json!({
        "token": "dev-verification",
        "type": "app_rate_limited",
        "team_id": workspace.id,
        "minute_rate_limited": workspace.unix_seconds() / 60 * 60,
        "api_app_id": workspace.bot.app_id,
    })
}
