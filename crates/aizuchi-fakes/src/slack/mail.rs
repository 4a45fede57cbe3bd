//! How the app is told: letters on their way, each brought to one of the open sockets, and brought
//! again if nobody acknowledges it.

use std::time::Instant;

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::slack::workspace::{Workspace, unique};

/// What is told once or several times.
#[derive(Clone, Debug, PartialEq)]
pub struct Letter {
    pub kind: LetterKind,
    pub payload: Value,
    /// How often it has been tried before.
    pub attempt: u32,
    /// Why it is tried again; empty at first.
    pub reason: &'static str,
    pub fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterKind {
    Event,
    SlashCommand,
    Interaction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    UnderWay,
    Acked,
    /// It was tried as often as Slack tries.
    Dropped,
}

/// One try to bring a letter.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub envelope_id: String,
    pub letter: usize,
    pub attempt: u32,
    /// Which connection it went to; none, if to an address.
    pub connection: Option<u64>,
    pub payload: Value,
    pub receipt: Receipt,
    sent: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Receipt {
    Awaited,
    /// After so long.
    Acked(std::time::Duration),
    /// Nothing came in time.
    Missed,
    /// It came, but too late to count.
    Late(std::time::Duration),
}

/// What a connection's task is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    Text(String),
    /// A close frame, as a server that says goodbye.
    Close,
    /// Breaks the connection without a word.
    Cut,
    /// From here on neither reads nor writes.
    PlayDead,
}

/// An open socket.
pub struct Connection {
    pub id: u64,
    pub frames: mpsc::UnboundedSender<Frame>,
    pub is_greeted: bool,
    pub is_dead: bool,
}

/// How a new socket is received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Greeting {
    #[default]
    Hello,
    /// The socket opens, and nothing ever comes.
    Silence,
}

#[derive(Default)]
pub struct Mail {
    pub connections: Vec<Connection>,
    pub tickets: Vec<String>,
    pub letters: Vec<Letter>,
    pub deliveries: Vec<Delivery>,
    pub greeting: Greeting,
    /// The smallest number of open connections since a mark.
    pub fewest: usize,
    /// Before an app has connected for the first time, it is told nothing.
    pub has_connected: bool,
    last_connection: u64,
    turn: usize,
}

/// What comes of a try.
#[derive(Clone, Debug, PartialEq)]
pub enum Tried {
    /// It is on its way, under this number.
    Sent(usize),
    NobodyThere,
}

impl Mail {
    pub fn connect(&mut self) -> (u64, mpsc::UnboundedReceiver<Frame>) {
        let (frames, receiver) = mpsc::unbounded_channel();
        self.last_connection += 1;
        let id = self.last_connection;
        self.connections.push(Connection { id, frames, is_greeted: false, is_dead: false });
        self.has_connected = true;
        (id, receiver)
    }

    pub fn disconnect(&mut self, id: u64) {
        self.connections.retain(|connection| connection.id != id);
        self.fewest = self.fewest.min(self.open());
    }

    /// Connections that work as far as a client can tell.
    pub fn open(&self) -> usize {
        self.connections.iter().filter(|connection| !connection.is_dead).count()
    }

    /// Sends a connection its `hello`, if that is how it is received.
    pub fn greet(&mut self, id: u64, app: &str) {
        let count = self.connections.len();
        if self.greeting == Greeting::Silence {
            return;
        }
        let Some(connection) = self.connections.iter_mut().find(|one| one.id == id) else {
            return;
        };
        connection.is_greeted = true;
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

    pub fn write(&mut self, kind: LetterKind, payload: Value) -> usize {
        self.letters.push(Letter { kind, payload, attempt: 0, reason: "", fate: Fate::UnderWay });
        self.letters.len() - 1
    }

    /// Brings a letter to one of the open sockets, each in its turn.
    pub fn bring(&mut self, number: usize) -> Tried {
        let letter = &self.letters[number];
        let there: Vec<&Connection> =
            self.connections.iter().filter(|connection| connection.is_greeted).collect();
        if there.is_empty() {
            return Tried::NobodyThere;
        }
        let connection = there[self.turn % there.len()];
        self.turn += 1;
        let envelope_id = Uuid::now_v7().to_string();
        send(connection, envelope(&envelope_id, letter).to_string());
        self.deliveries.push(Delivery {
            envelope_id,
            letter: number,
            attempt: letter.attempt,
            connection: Some(connection.id),
            payload: letter.payload.clone(),
            receipt: Receipt::Awaited,
            sent: Instant::now(),
        });
        Tried::Sent(self.deliveries.len() - 1)
    }

    /// Takes note that a letter is brought to an address.
    pub fn post(&mut self, number: usize) -> usize {
        let letter = &self.letters[number];
        self.deliveries.push(Delivery {
            envelope_id: Uuid::now_v7().to_string(),
            letter: number,
            attempt: letter.attempt,
            connection: None,
            payload: letter.payload.clone(),
            receipt: Receipt::Awaited,
            sent: Instant::now(),
        });
        self.deliveries.len() - 1
    }

    /// The slash command that an envelope brought, as long as it may be answered.
    pub fn command_of(&self, envelope_id: &str) -> Option<&Value> {
        let is_it = |delivery: &&Delivery| delivery.envelope_id == envelope_id;
        let delivery = self.deliveries.iter().rev().find(is_it)?;
        let is_command = self.letters[delivery.letter].kind == LetterKind::SlashCommand;
        (is_command && delivery.receipt == Receipt::Awaited).then_some(&delivery.payload)
    }

    pub fn ack(&mut self, envelope_id: &str) {
        let is_it = |delivery: &&mut Delivery| delivery.envelope_id == envelope_id;
        let Some(delivery) = self.deliveries.iter_mut().rev().find(is_it) else {
            return;
        };
        let latency = delivery.sent.elapsed();
        match delivery.receipt {
            Receipt::Awaited => {
                delivery.receipt = Receipt::Acked(latency);
                self.letters[delivery.letter].fate = Fate::Acked;
            }
            Receipt::Missed => delivery.receipt = Receipt::Late(latency),
            Receipt::Acked(_) | Receipt::Late(_) => {}
        }
    }

    /// A delivery's time is up. Whether it was still waited for.
    pub fn miss(&mut self, delivery: usize) -> bool {
        let delivery = &mut self.deliveries[delivery];
        let is_awaited = delivery.receipt == Receipt::Awaited;
        if is_awaited {
            delivery.receipt = Receipt::Missed;
        }
        is_awaited
    }

    /// A try has failed: how long to wait for the next, if there is to be one.
    pub fn failed(
        &mut self,
        number: usize,
        waits: &[SignedDuration],
        reason: &'static str,
    ) -> Option<SignedDuration> {
        let letter = &mut self.letters[number];
        letter.reason = reason;
        let wait = match letter.kind {
            LetterKind::Event => waits.get(letter.attempt as usize).copied(),
            // Slack does these once.
            LetterKind::SlashCommand | LetterKind::Interaction => None,
        };
        match wait {
            Some(_) => letter.attempt += 1,
            None => letter.fate = Fate::Dropped,
        }
        wait
    }
}

fn send(connection: &Connection, text: String) {
    // A connection that is just ending loses what is sent to it, as on a wire.
    let _ = connection.frames.send(Frame::Text(text));
}

fn envelope(id: &str, letter: &Letter) -> Value {
    let mut envelope = json!({ "envelope_id": id, "payload": letter.payload });
    match letter.kind {
        LetterKind::Event => {
            envelope["type"] = json!("events_api");
            envelope["accepts_response_payload"] = json!(false);
            envelope["retry_attempt"] = json!(letter.attempt);
            envelope["retry_reason"] = json!(letter.reason);
        }
        LetterKind::SlashCommand => {
            envelope["type"] = json!("slash_commands");
            envelope["accepts_response_payload"] = json!(true);
        }
        LetterKind::Interaction => {
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
        "event_id": unique("Ev"),
        "event_time": workspace.unix_seconds(),
        "authorizations": [authorization],
        "is_ext_shared_channel": false,
        "event_context": unique("4-"),
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
