//! One gateway connection: its events go into a queue, and it is dropped when no data arrives any more. It is read
//! independently of the store, so that heartbeats never wait for it.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use twilight_model::gateway::OpCode;

use crate::gateway::disconnect::Disconnect;
use crate::gateway::queue::{EventSender, GatewayEvent, GatewayInput, QueueClosed};
use crate::gateway::socket::{GatewaySocket, ShardLogin, heartbeat_interval};
use crate::identity::DiscordConnectError;

/// How late the acknowledgement of a heartbeat may be.
const HEARTBEAT_GRACE: Duration = Duration::from_secs(15);

/// Queues events until the connection is lost. Fails only if reconnecting would not help.
pub(super) async fn read_events(
    login: ShardLogin<'_>,
    events: EventSender,
    open_timeout: Duration,
) -> Result<Disconnect, DiscordConnectError> {
    let (identify_queue, is_resume) = (login.identify_queue, login.session.is_some());
    let mut socket = match GatewaySocket::open(login, open_timeout).await {
        Ok(socket) => socket,
        Err(disconnect) => return Ok(disconnect),
    };
    let mut silence = open_timeout;
    let mut has_started = false;
    let overdue = || async {
        identify_queue.wait_for_permit().await;
        sleep(open_timeout).await;
    };
    let mut is_overdue = pin!(overdue());
    loop {
        let frame = tokio::select! {
            biased;
            frame = timeout(silence, socket.receive()) => frame,
            // Heartbeats may be acknowledged even if the session does not start.
            () = &mut is_overdue, if !has_started => return Ok(Disconnect::session_timed_out()),
        };
        let frame = match frame {
            Ok(Ok(frame)) => frame,
            Ok(Err(ended)) => return ended,
            Err(_) => return Ok(Disconnect::from_reason("nothing arrives any more")),
        };
        let is_closed = Disconnect::from_reason("the event queue is closed");
        let Some(frame) = frame else {
            match socket.beat_until(events.send(GatewayInput::Unreadable, 0)).await {
                Ok(Ok(())) => continue,
                Ok(Err(QueueClosed)) => return Ok(is_closed),
                Err(ended) => return ended,
            }
        };
        match OpCode::from(frame.op) {
            Some(OpCode::Dispatch) => {
                let (Some(name), Some(sequence)) = (frame.t, frame.s) else { continue };
                has_started |= matches!(name.as_str(), "READY" | "RESUMED");
                if !has_started {
                    // Discord replays missed events before RESUMED, so the timeout is restarted.
                    identify_queue.skip();
                    is_overdue.set(overdue());
                }
                let event = GatewayEvent { name, data: frame.d, sequence };
                let sending = events.send(GatewayInput::Event(event), frame.size_bytes);
                match socket.beat_until(sending).await {
                    Ok(Ok(())) => {}
                    Ok(Err(QueueClosed)) => return Ok(is_closed),
                    Err(ended) => return ended,
                }
            }
            Some(OpCode::Hello) => {
                silence = heartbeat_interval(&frame.d).unwrap_or(silence) + HEARTBEAT_GRACE;
                if is_resume {
                    identify_queue.skip();
                }
            }
            Some(OpCode::Reconnect) => {
                socket.close().await;
                return Ok(Disconnect::from_reason("Discord requested a reconnect"));
            }
            Some(OpCode::InvalidSession) => {
                socket.close().await;
                return Ok(Disconnect::invalid_session(frame.d == true));
            }
            _ => {}
        }
    }
}
