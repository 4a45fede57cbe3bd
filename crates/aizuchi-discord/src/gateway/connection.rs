//! One connection: what comes over it is handed on, and it is given up where nothing comes any more. It is
//! read while events wait to be kept, so that heartbeats never wait for the store.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::debug;
use twilight_gateway::error::ReceiveMessageErrorType;
use twilight_gateway::{Message, Shard};

use crate::gateway::disconnect::Disconnect;
use crate::identify::IdentifyQueue;
use crate::identity::DiscordConnectError;

/// Discord answers each heartbeat; it may be late by so much.
const HEARTBEAT_GRACE: Duration = Duration::from_secs(15);
/// Closing may take so long.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Something that Discord tells.
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

/// How a session is to begin.
#[derive(Clone, Copy)]
pub(super) struct ConnectOptions {
    /// How long it may take once it is our turn.
    pub timeout: Duration,
    /// It goes on with one that there is.
    pub is_resume: bool,
}

/// Hands on what comes, until nothing does. Ends with an error only where no other connection would do better.
pub(super) async fn read_events(
    shard: &mut Shard<IdentifyQueue>,
    events: mpsc::Sender<GatewayEvent>,
    opening: ConnectOptions,
    turnstile: &IdentifyQueue,
) -> Result<Disconnect, DiscordConnectError> {
    let mut silence = opening.timeout;
    let mut has_begun = false;
    let overdue = || async {
        turnstile.wait_for_permit().await;
        sleep(opening.timeout).await;
    };
    let mut is_overdue = pin!(overdue());
    loop {
        let frame = tokio::select! {
            biased;
            frame = timeout(silence, shard.next()) => frame,
            // Heartbeats are answered, which is no session.
            () = &mut is_overdue, if !has_begun => return Ok(Disconnect::session_timed_out()),
        };
        let Ok(frame) = frame else { return Ok(Disconnect::from_reason("nothing comes any more")) };
        let frame = match frame {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(frame))) => {
                return Disconnect::from_close_code(frame.map(|frame| frame.code));
            }
            Some(Err(error)) => match error.kind() {
                ReceiveMessageErrorType::Reconnect => return Ok(Disconnect::connect_failed()),
                // The event itself is in the error; it is in no log.
                ReceiveMessageErrorType::Deserializing { .. } => {
                    debug!("something came over the gateway that is no event");
                    continue;
                }
                ReceiveMessageErrorType::Compression | _ => {
                    return Ok(Disconnect::from_reason("what came is not readable"));
                }
            },
            None => return Ok(Disconnect::from_reason("it has ended")),
        };
        let Ok(frame) = serde_json::from_str::<GatewayFrame>(&frame) else { continue };
        match frame.op {
            DISPATCH => {
                let (Some(name), Some(sequence)) = (frame.t, frame.s) else { continue };
                has_begun |= matches!(name.as_str(), "READY" | "RESUMED");
                if !has_begun {
                    // What was missed is told first.
                    turnstile.skip();
                    is_overdue.set(overdue());
                }
                if events.send(GatewayEvent { name, data: frame.d, sequence }).await.is_err() {
                    return Ok(Disconnect::from_reason("nobody listens"));
                }
            }
            HELLO => {
                let interval = frame.d["heartbeat_interval"].as_u64().unwrap_or(45_000);
                silence = Duration::from_millis(interval) + HEARTBEAT_GRACE;
                if opening.is_resume {
                    turnstile.skip();
                }
            }
            RECONNECT => {
                close(shard).await;
                return Ok(Disconnect::from_reason("Discord wants another one"));
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

/// Lets the shard say why it closes, which leaves the session as it is.
async fn close(shard: &mut Shard<IdentifyQueue>) {
    // Whatever comes of it, this connection is over.
    let _ = timeout(CLOSE_TIMEOUT, shard.next()).await;
}
