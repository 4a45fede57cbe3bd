//! One Socket Mode connection, from its hello to its end.
//!
//! An envelope is acknowledged only after its event is stored; Slack redelivers it otherwise. Many envelopes are in
//! flight at once, so that one commit can store many events.

use std::time::Duration;

use aizuchi_agent::metrics::labels::MalformedInput;
use aizuchi_http::json::parse_json;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream, StreamExt};
use futures_util::{FutureExt, Sink, SinkExt};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use crate::SlackPlatform;
use crate::from_slack::non_empty_str;
use crate::identity::SlackConnectError;
use crate::socket::{ConnectionSignal, SlackDisconnect};

const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a replaced connection still receives events that were already in transit.
const CLOSE_GRACE: Duration = Duration::from_millis(500);
/// How long the envelopes in flight may take to finish when the connection ends.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// A connection that has lasted this long resets the backoff.
const STABLE_AFTER: Duration = Duration::from_secs(60);
const MAX_IN_FLIGHT: usize = 256;
/// The delay before reconnecting if the app has too many connections.
const TOO_MANY_CONNECTIONS_DELAY: SignedDuration = SignedDuration::from_secs(30);

pub type SlackSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub struct SocketConnection<'a> {
    slack: &'a SlackPlatform,
    number: u64,
    signals: mpsc::UnboundedSender<ConnectionSignal>,
    /// Cancelled when another connection has replaced this one.
    replaced: CancellationToken,
    writer: SplitSink<SlackSocket, Message>,
    reader: SplitStream<SlackSocket>,
    /// Envelopes being ingested; each returns its acknowledgement if its event was stored.
    in_flight: FuturesUnordered<BoxFuture<'a, Option<Value>>>,
    began: Instant,
    last_received: Instant,
    is_open: bool,
    is_stable: bool,
}

enum SocketFrame {
    Hello,
    Disconnecting,
    TooManyConnections,
    SocketModeDisabled,
    Envelope {
        id: String,
        kind: EnvelopeKind,
        payload: Value,
    },
    Ignored,
    /// A frame that is not JSON, or lacks a required value of its type.
    Malformed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EnvelopeKind {
    Event,
    Command,
    Interaction,
}

impl<'a> SocketConnection<'a> {
    pub(super) fn new(
        slack: &'a SlackPlatform,
        socket: SlackSocket,
        number: u64,
        signals: mpsc::UnboundedSender<ConnectionSignal>,
        replaced: CancellationToken,
    ) -> Self {
        let (writer, reader) = socket.split();
        let now = Instant::now();
        Self {
            slack,
            number,
            signals,
            replaced,
            writer,
            reader,
            in_flight: FuturesUnordered::new(),
            began: now,
            last_received: now,
            is_open: false,
            is_stable: false,
        }
    }

    /// Listens until the connection ends or is replaced. Drains the envelopes in flight before returning.
    pub(super) async fn run(mut self) -> Result<(), SlackDisconnect> {
        let ended = self.listen().await;
        if self.is_open {
            self.slack.connection.record_closed();
        }
        let drained = drain(&mut self.writer, &mut self.in_flight);
        // An unacknowledged event is redelivered, or the backfill finds it.
        if timeout(DRAIN_TIMEOUT, drained).await.is_err() {
            self.slack.backfill_all_later();
        }
        ended
    }

    async fn listen(&mut self) -> Result<(), SlackDisconnect> {
        let mut pings = interval(self.slack.settings.timeouts.ping_interval);
        // By default, all pings missed during a stall would be sent at once.
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut close_at = None;
        loop {
            let closing = async {
                match close_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = closing => return Ok(()),
                () = self.replaced.cancelled(), if close_at.is_none() => {
                    close_at = Some(Instant::now() + CLOSE_GRACE);
                }
                Some(ack) = self.in_flight.next(), if !self.in_flight.is_empty() => {
                    acknowledge(&mut self.writer, ack).await?;
                }
                // While too many envelopes wait for their commit, nothing is read, so memory stays bounded.
                frame = self.reader.next(), if self.in_flight.len() < MAX_IN_FLIGHT => {
                    // Its replacement is open already, so this end is not a failure.
                    if close_at.is_some() && is_end_of_stream(&frame) {
                        return Ok(());
                    }
                    self.receive(frame)?;
                }
                _ = pings.tick() => self.check_alive().await?,
            }
        }
    }

    fn receive(&mut self, frame: Option<Result<Message, Error>>) -> Result<(), SlackDisconnect> {
        self.last_received = Instant::now();
        let text = match frame {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(_))) | None => {
                return Err(SlackDisconnect::retryable("Slack closed it"));
            }
            Some(Ok(_)) => return Ok(()),
            Some(Err(_)) => return Err(SlackDisconnect::retryable("it broke")),
        };
        match parse_frame(&text) {
            SocketFrame::Malformed => {
                self.slack.incidents.record_malformed(MalformedInput::Frame, "a frame");
                // The frame may have contained an event.
                self.slack.backfill_all_later();
            }
            SocketFrame::Hello if !self.is_open => {
                self.is_open = true;
                self.slack.connection.record_opened(self.slack.now());
                self.signal(ConnectionSignal::Hello(self.number));
                debug!(
                    platform = "slack",
                    connection = self.number,
                    "a connection to Slack is open"
                );
            }
            SocketFrame::Hello | SocketFrame::Ignored => {}
            SocketFrame::Disconnecting => {
                info!(
                    platform = "slack",
                    workspace = %self.slack.identity.workspace,
                    connection = self.number,
                    "Slack is about to close a connection"
                );
                self.signal(ConnectionSignal::Closing(self.number));
            }
            SocketFrame::TooManyConnections => {
                let reason = "there are too many connections".to_owned();
                return Err(SlackDisconnect::Retryable {
                    reason,
                    wait: TOO_MANY_CONNECTIONS_DELAY,
                });
            }
            SocketFrame::SocketModeDisabled => {
                return Err(SlackDisconnect::Permanent(SlackConnectError::SocketModeDisabled));
            }
            SocketFrame::Envelope { id, kind, payload } => {
                self.in_flight.push(process_envelope(self.slack, id, kind, payload).boxed());
            }
        }
        Ok(())
    }

    /// Drops the connection if it has received no hello, or no frame for too long; otherwise sends a ping.
    async fn check_alive(&mut self) -> Result<(), SlackDisconnect> {
        let timeouts = self.slack.settings.timeouts;
        if !self.is_open && self.began.elapsed() > timeouts.open {
            return Err(SlackDisconnect::retryable("Slack said no hello"));
        }
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            // Reading is paused, so the connection is not idle.
            self.last_received = Instant::now();
        }
        if self.last_received.elapsed() > timeouts.idle {
            return Err(SlackDisconnect::retryable("it was idle for too long"));
        }
        if !self.is_stable && self.began.elapsed() > STABLE_AFTER {
            self.is_stable = true;
            self.signal(ConnectionSignal::Stable(self.number));
        }
        send(&mut self.writer, Message::Ping(Vec::new().into())).await
    }

    fn signal(&self, signal: ConnectionSignal) {
        // The receiver outlives the connection.
        let _ = self.signals.send(signal);
    }
}

/// Processes an envelope and returns its acknowledgement, or `None` if Slack should redeliver it.
async fn process_envelope(
    slack: &SlackPlatform,
    id: String,
    kind: EnvelopeKind,
    payload: Value,
) -> Option<Value> {
    match kind {
        EnvelopeKind::Command => {
            let answer = slack.answer_command(payload).await;
            Some(json!({ "envelope_id": id, "payload": answer }))
        }
        EnvelopeKind::Event => slack.ingest(&payload).await.then(|| json!({ "envelope_id": id })),
        EnvelopeKind::Interaction => Some(match slack.take_interaction(payload).await {
            Some(answer) => json!({ "envelope_id": id, "payload": answer }),
            None => json!({ "envelope_id": id }),
        }),
    }
}

fn is_end_of_stream(frame: &Option<Result<Message, Error>>) -> bool {
    matches!(frame, None | Some(Err(_)) | Some(Ok(Message::Close(_))))
}

/// Finishes the envelopes in flight and closes the socket. Slack repeats neither commands nor clicks, so those are
/// carried out even if the socket broke and can take no acknowledgement.
async fn drain<W: Sink<Message> + Unpin>(
    writer: &mut W,
    in_flight: &mut FuturesUnordered<BoxFuture<'_, Option<Value>>>,
) {
    let mut is_writable = true;
    while let Some(ack) = in_flight.next().await {
        is_writable = is_writable && acknowledge(writer, ack).await.is_ok();
    }
    if is_writable {
        // The connection has ended either way.
        let _ = writer.close().await;
    }
}

async fn acknowledge<W: Sink<Message> + Unpin>(
    writer: &mut W,
    ack: Option<Value>,
) -> Result<(), SlackDisconnect> {
    match ack {
        Some(ack) => send(writer, Message::Text(ack.to_string().into())).await,
        None => Ok(()),
    }
}

async fn send<W: Sink<Message> + Unpin>(
    writer: &mut W,
    message: Message,
) -> Result<(), SlackDisconnect> {
    match timeout(SEND_TIMEOUT, writer.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(SlackDisconnect::retryable("it broke")),
        Err(_) => Err(SlackDisconnect::retryable("a frame could not be sent in time")),
    }
}

/// Parses a frame. Only known kinds of envelopes are acknowledged; otherwise a server that echoes its input would cause
/// an endless loop.
fn parse_frame(frame: &str) -> SocketFrame {
    let Ok(mut frame) = parse_json(frame.as_bytes()) else {
        return SocketFrame::Malformed;
    };
    let Some(kind) = non_empty_str(&frame["type"]) else { return SocketFrame::Malformed };
    let kind = match kind {
        "hello" => return SocketFrame::Hello,
        "disconnect" => {
            return match non_empty_str(&frame["reason"]).unwrap_or_default() {
                "link_disabled" => SocketFrame::SocketModeDisabled,
                "too_many_websockets" => SocketFrame::TooManyConnections,
                // `warning` and `refresh_requested` come some seconds before Slack closes the connection.
                _ => SocketFrame::Disconnecting,
            };
        }
        "events_api" => EnvelopeKind::Event,
        "slash_commands" => EnvelopeKind::Command,
        "interactive" => EnvelopeKind::Interaction,
        _ => return SocketFrame::Ignored,
    };
    match non_empty_str(&frame["envelope_id"]).map(str::to_owned) {
        Some(id) => SocketFrame::Envelope { id, kind, payload: frame["payload"].take() },
        None => SocketFrame::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::sink;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn envelopes_in_flight_finish_though_the_socket_broke() {
        let broken = |(), _: Message| async { Err::<(), ()>(()) };
        let mut writer = Box::pin(sink::unfold((), broken));
        let is_finished = AtomicBool::new(false);
        let mut in_flight = FuturesUnordered::new();
        in_flight.push(async { Some(json!({ "envelope_id": "e" })) }.boxed());
        let click = async {
            yield_now().await;
            is_finished.store(true, Ordering::Relaxed);
            Some(json!({ "envelope_id": "f" }))
        };
        in_flight.push(click.boxed());
        drain(&mut writer, &mut in_flight).await;
        assert!(is_finished.load(Ordering::Relaxed));
    }

    #[test]
    fn only_envelopes_of_known_kinds_are_acknowledged() {
        let is_envelope = |frame: &str| matches!(parse_frame(frame), SocketFrame::Envelope { .. });
        assert!(is_envelope(r#"{"type":"events_api","envelope_id":"e","payload":{}}"#));
        for frame in [
            r#"{"envelope_id":"e"}"#,
            r#"{"type":"events_api","payload":{}}"#,
            r#"{"type":"echo","envelope_id":"e"}"#,
            r#"{"type":"hello","envelope_id":"e"}"#,
            "[]",
            "{",
            "",
        ] {
            assert!(!is_envelope(frame), "{frame}");
        }
    }
}
