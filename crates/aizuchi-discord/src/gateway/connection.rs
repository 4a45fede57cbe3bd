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

use crate::JoinError;
use crate::gateway::is_true;
use crate::gateway::lost::Lost;
use crate::identify::Turnstile;

/// Discord answers each heartbeat; it may be late by so much.
const LATE: Duration = Duration::from_secs(15);
/// Closing may take so long.
const FAREWELL: Duration = Duration::from_secs(2);

/// Something that Discord tells.
pub(super) struct Event {
    pub name: String,
    pub data: Value,
    pub sequence: u64,
}

#[derive(Deserialize)]
struct Frame {
    op: u8,
    #[serde(default)]
    d: Value,
    s: Option<u64>,
    t: Option<String>,
}

/// How a session is to begin.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    /// How long it may take once it is our turn.
    pub patience: Duration,
    /// It goes on with one that there is.
    pub resumes: bool,
}

/// Hands on what comes, until nothing does. Ends with an error only where no other connection would do better.
pub(super) async fn listen_to(
    shard: &mut Shard<Turnstile>,
    events: mpsc::Sender<Event>,
    opening: Opening,
    turnstile: &Turnstile,
) -> Result<Lost, JoinError> {
    let mut silence = opening.patience;
    let mut has_begun = false;
    let overdue = || async {
        turnstile.passed().await;
        sleep(opening.patience).await;
    };
    let mut is_overdue = pin!(overdue());
    loop {
        let frame = tokio::select! {
            biased;
            frame = timeout(silence, shard.next()) => frame,
            // Heartbeats are answered, which is no session.
            () = &mut is_overdue, if !has_begun => return Ok(Lost::unbegun()),
        };
        let Ok(frame) = frame else { return Ok(Lost::because("nothing comes any more")) };
        let frame = match frame {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(frame))) => return Lost::closed(frame.map(|frame| frame.code)),
            Some(Err(error)) => match error.kind() {
                ReceiveMessageErrorType::Reconnect => return Ok(Lost::unopened()),
                // The event itself is in the error; it is in no log.
                ReceiveMessageErrorType::Deserializing { .. } => {
                    debug!("something came over the gateway that is no event");
                    continue;
                }
                ReceiveMessageErrorType::Compression | _ => {
                    return Ok(Lost::because("what came is not readable"));
                }
            },
            None => return Ok(Lost::because("it has ended")),
        };
        let Ok(frame) = serde_json::from_str::<Frame>(&frame) else { continue };
        match frame.op {
            DISPATCH => {
                let (Some(name), Some(sequence)) = (frame.t, frame.s) else { continue };
                has_begun |= matches!(name.as_str(), "READY" | "RESUMED");
                if !has_begun {
                    // What was missed is told first.
                    turnstile.pass();
                    is_overdue.set(overdue());
                }
                if events.send(Event { name, data: frame.d, sequence }).await.is_err() {
                    return Ok(Lost::because("nobody listens"));
                }
            }
            HELLO => {
                let interval = frame.d["heartbeat_interval"].as_u64().unwrap_or(45_000);
                silence = Duration::from_millis(interval) + LATE;
                if opening.resumes {
                    turnstile.pass();
                }
            }
            RECONNECT => {
                close(shard).await;
                return Ok(Lost::because("Discord wants another one"));
            }
            INVALID_SESSION => {
                close(shard).await;
                return Ok(Lost::refused(is_true(&frame.d)));
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
async fn close(shard: &mut Shard<Turnstile>) {
    // Whatever comes of it, this connection is over.
    let _ = timeout(FAREWELL, shard.next()).await;
}
