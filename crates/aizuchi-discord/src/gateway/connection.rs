//! One gateway connection: its events go into a queue, and it is given up when nothing arrives any more. It is
//! read independently of the store, so that heartbeats never wait for it.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use twilight_gateway::error::ReceiveMessageErrorType;
use twilight_gateway::{Message, Shard};

use crate::gateway::disconnect::Disconnect;
use crate::identify::IdentifyQueue;
use crate::identity::DiscordConnectError;
use aizuchi_core::platform::json::parse_json;

/// Discord acknowledges each heartbeat; an acknowledgement may be late by this much.
const HEARTBEAT_GRACE: Duration = Duration::from_secs(15);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// What a connection delivers.
pub(super) enum GatewayInput {
    Event(GatewayEvent),
    /// A frame that cannot be read. It may have held an event.
    Unreadable,
}

/// A dispatched event.
pub(super) struct GatewayEvent {
    pub name: String,
    pub data: Value,
    pub sequence: u64,
}

#[derive(Deserialize)]
struct GatewayFrame {
    op: u8,
    #[serde(default)]
    d: Value,
    s: Option<u64>,
    t: Option<String>,
}

impl GatewayFrame {
    fn parse(text: &str) -> Option<Self> {
        serde_json::from_value(parse_json(text.as_bytes()).ok()?).ok()
    }
}

/// How a connection opens its session.
#[derive(Clone, Copy)]
pub(super) struct ConnectOptions {
    /// How long the session may take to start once the shard may identify.
    pub timeout: Duration,
    /// Resumes an existing session.
    pub is_resume: bool,
}

/// Queues events until the connection is lost. Fails only if reconnecting would not help.
pub(super) async fn read_events(
    shard: &mut Shard<IdentifyQueue>,
    events: mpsc::Sender<GatewayInput>,
    options: ConnectOptions,
    identify_queue: &IdentifyQueue,
) -> Result<Disconnect, DiscordConnectError> {
    let mut silence = options.timeout;
    let mut has_started = false;
    let overdue = || async {
        identify_queue.wait_for_permit().await;
        sleep(options.timeout).await;
    };
    let mut is_overdue = pin!(overdue());
    loop {
        let frame = tokio::select! {
            biased;
            frame = timeout(silence, shard.next()) => frame,
            // Heartbeats may be acknowledged although the session does not start.
            () = &mut is_overdue, if !has_started => return Ok(Disconnect::session_timed_out()),
        };
        let Ok(frame) = frame else {
            return Ok(Disconnect::from_reason("nothing arrives any more"));
        };
        let frame = match frame {
            Some(Ok(Message::Text(text))) => GatewayFrame::parse(&text),
            Some(Ok(Message::Close(frame))) => {
                return Disconnect::from_close_code(frame.map(|frame| frame.code));
            }
            Some(Err(error)) => match error.kind() {
                ReceiveMessageErrorType::Reconnect => return Ok(Disconnect::connect_failed()),
                // The error holds the event, which must not be logged.
                ReceiveMessageErrorType::Deserializing { .. } => None,
                ReceiveMessageErrorType::Compression | _ => {
                    return Ok(Disconnect::from_reason("a frame could not be decompressed"));
                }
            },
            None => return Ok(Disconnect::from_reason("the connection ended")),
        };
        let is_closed = Disconnect::from_reason("the event queue is closed");
        let Some(frame) = frame else {
            match events.send(GatewayInput::Unreadable).await {
                Ok(()) => continue,
                Err(_) => return Ok(is_closed),
            }
        };
        match frame.op {
            DISPATCH => {
                let (Some(name), Some(sequence)) = (frame.t, frame.s) else { continue };
                has_started |= matches!(name.as_str(), "READY" | "RESUMED");
                if !has_started {
                    // Discord replays missed events before RESUMED, so the timeout starts again.
                    identify_queue.skip();
                    is_overdue.set(overdue());
                }
                let event = GatewayEvent { name, data: frame.d, sequence };
                if events.send(GatewayInput::Event(event)).await.is_err() {
                    return Ok(is_closed);
                }
            }
            HELLO => {
                let interval = frame.d["heartbeat_interval"].as_u64().unwrap_or(45_000);
                silence = Duration::from_millis(interval) + HEARTBEAT_GRACE;
                if options.is_resume {
                    identify_queue.skip();
                }
            }
            RECONNECT => {
                close(shard).await;
                return Ok(Disconnect::from_reason("Discord requested a reconnect"));
            }
            INVALID_SESSION => {
                close(shard).await;
                return Ok(Disconnect::invalid_session(frame.d == true));
            }
            _ => {}
        }
    }
}

const DISPATCH: u8 = 0;
const RECONNECT: u8 = 7;
const INVALID_SESSION: u8 = 9;
const HELLO: u8 = 10;

/// Lets the shard send its close frame, which keeps the session resumable.
async fn close(shard: &mut Shard<IdentifyQueue>) {
    // The connection is over whether or not this succeeds.
    let _ = timeout(CLOSE_TIMEOUT, shard.next()).await;
}
