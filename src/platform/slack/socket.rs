//! Socket Mode. Each connection is watched: one that falls silent is given up, and one that is to be closed
//! is replaced before it is, so that there is no moment without a connection (make before break).
//!
//! An envelope is acknowledged when what it tells is kept, and not else: Slack sends it again.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream, StreamExt};
use futures_util::{FutureExt, SinkExt};
use jiff::SignedDuration;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::clock::{chance, seconds};
use crate::platform::slack::api::ApiError;
use crate::platform::slack::from_slack::text;
use crate::platform::slack::{JoinError, Slack};

/// How long a frame may take to be sent.
const SENDING: Duration = Duration::from_secs(5);
/// How long a connection that is not needed any more may finish what it has taken.
const DRAINING: Duration = Duration::from_secs(3);
/// A connection that has lasted so long is a good one.
const STEADY: Duration = Duration::from_secs(60);
/// How many envelopes of a connection are worked at side by side.
const MOST_AT_ONCE: usize = 256;
/// There are too many connections already, so the next one is not tried soon.
const CROWDED: SignedDuration = SignedDuration::from_secs(30);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What a connection says to whoever keeps it.
enum Sign {
    /// It can be heard.
    Hello(u64),
    /// It has been heard for a while.
    Steady(u64),
    /// It will be closed soon.
    Leaving(u64),
}

/// How a connection ended, where it was not asked to.
enum Lost {
    /// Another one may do better, after so long.
    For { why: String, wait: SignedDuration },
    /// No other one will.
    ForGood(JoinError),
}

impl Lost {
    fn because(why: impl Into<String>) -> Self {
        Self::For { why: why.into(), wait: SignedDuration::ZERO }
    }
}

/// A connection that is open or being opened.
struct Connection<'a> {
    number: u64,
    signs: &'a mpsc::UnboundedSender<Sign>,
    /// Nobody needs it any more.
    replaced: CancellationToken,
}

/// What a frame calls for.
enum Frame {
    Hello,
    Leaving,
    Crowded,
    SwitchedOff,
    /// Something to hear, and to acknowledge by this id.
    Envelope {
        id: String,
        kind: String,
        payload: Value,
    },
    Other,
}

impl Slack {
    /// Keeps one connection up until `shutdown`.
    pub(super) async fn stay_connected(
        &self,
        app_token: &SecretString,
        shutdown: &CancellationToken,
    ) -> Result<(), JoinError> {
        let (signs, mut told) = mpsc::unbounded_channel();
        let mut connections: FuturesUnordered<BoxFuture<'_, (u64, Result<(), Lost>)>> =
            FuturesUnordered::new();
        let mut kept: BTreeMap<u64, CancellationToken> = BTreeMap::new();
        let (mut newest, mut tried) = (0, 0);
        let mut wait = Some(SignedDuration::ZERO);
        loop {
            if let Some(wait) = wait.take() {
                newest += 1;
                let replaced = shutdown.child_token();
                kept.insert(newest, replaced.clone());
                let connection = Connection { number: newest, signs: &signs, replaced };
                connections.push(
                    async move {
                        let number = connection.number;
                        (number, self.connect_after(wait, app_token, connection).await)
                    }
                    .boxed(),
                );
            }
            tokio::select! {
                biased;
                Some(sign) = told.recv() => match sign {
                    Sign::Steady(number) if number == newest => tried = 0,
                    Sign::Steady(_) => {}
                    Sign::Hello(number) => {
                        let older = kept.range(..number);
                        older.for_each(|(_, replaced)| replaced.cancel());
                    }
                    Sign::Leaving(number) if number == newest => {
                        tried += 1;
                        wait = Some(self.backoff(tried, number));
                    }
                    Sign::Leaving(_) => {}
                },
                Some((number, ended)) = connections.next() => {
                    kept.remove(&number);
                    if shutdown.is_cancelled() {
                        if connections.is_empty() { return Ok(()) }
                        continue;
                    }
                    match ended {
                        Err(Lost::ForGood(error)) => return Err(error),
                        Err(Lost::For { why, wait: least }) if number == newest => {
                            tried += 1;
                            let next = least.max(self.backoff(tried, number));
                            warn!("a connection to Slack is lost ({why}); the next try is in {next:#}");
                            wait = Some(next);
                        }
                        Ok(()) if number == newest => wait = Some(SignedDuration::ZERO),
                        Ok(()) | Err(Lost::For { .. }) => {}
                    }
                }
            }
        }
    }

    fn backoff(&self, tried: u32, number: u64) -> SignedDuration {
        let draw = chance(self.ears.seed, &["reconnect", &number.to_string()]);
        backoff(tried, draw)
    }

    async fn connect_after(
        &self,
        wait: SignedDuration,
        app_token: &SecretString,
        connection: Connection<'_>,
    ) -> Result<(), Lost> {
        let opened = async {
            self.clock.sleep_until(self.clock.now() + wait).await;
            self.connect(app_token).await
        };
        let socket = tokio::select! {
            opened = opened => opened?,
            () = connection.replaced.cancelled() => return Ok(()),
        };
        self.keep(socket, &connection).await
    }

    /// Asks for an address, and opens a socket there.
    async fn connect(&self, app_token: &SecretString) -> Result<Socket, Lost> {
        let opened = self.api.call(app_token, "apps.connections.open", &[]).await;
        let answer = opened.map_err(|error| match error {
            ApiError::Refused(code)
                if code == "socket_mode_not_enabled" || code == "link_disabled" =>
            {
                Lost::ForGood(JoinError::SwitchedOff)
            }
            error if error.is_about_the_token() => {
                Lost::ForGood(JoinError::AppToken(error.to_string()))
            }
            ApiError::Limited(wait) => Lost::For { why: "too many tries".to_owned(), wait },
            error => Lost::because(error.to_string()),
        })?;
        // The address is a secret for as long as it can be used: it is in no log and no error.
        let address = text(&answer["url"]).ok_or_else(|| Lost::because("no address was given"))?;
        match timeout(self.settings.patience.opening, connect_async(address)).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(_)) => Err(Lost::because("the socket could not be opened")),
            Err(_) => Err(Lost::because("the socket was not opened in time")),
        }
    }

    /// Listens until the connection ends or is replaced. What was taken is finished before.
    async fn keep(&self, socket: Socket, connection: &Connection<'_>) -> Result<(), Lost> {
        let (mut writer, mut reader) = socket.split();
        let mut working = FuturesUnordered::new();
        let mut is_open = false;
        let ended =
            self.listen_to(connection, &mut writer, &mut reader, &mut working, &mut is_open);
        let ended = ended.await;
        if is_open {
            self.air.closed();
        }
        let finished = async {
            while let Some(ack) = working.next().await {
                acknowledge(&mut writer, ack).await?;
            }
            writer.close().await.map_err(|_| Lost::because("it could not be closed"))
        };
        let _ = timeout(DRAINING, finished).await;
        ended
    }

    async fn listen_to<'a>(
        &'a self,
        connection: &Connection<'_>,
        writer: &mut SplitSink<Socket, Message>,
        reader: &mut SplitStream<Socket>,
        working: &mut FuturesUnordered<BoxFuture<'a, Option<Value>>>,
        is_open: &mut bool,
    ) -> Result<(), Lost> {
        let patience = self.settings.patience;
        let mut pings = interval(patience.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let began = Instant::now();
        let (mut last, mut is_steady, mut is_closing) = (began, false, false);
        loop {
            tokio::select! {
                () = connection.replaced.cancelled(), if !is_closing => {
                    // What is on its way here is taken yet, until the other side closes, too.
                    is_closing = true;
                    send(writer, Message::Close(None)).await?;
                }
                Some(ack) = working.next(), if !working.is_empty() => acknowledge(writer, ack).await?,
                frame = reader.next(), if working.len() < MOST_AT_ONCE => {
                    last = Instant::now();
                    let text = match frame {
                        Some(Ok(Message::Text(text))) => text,
                        _ if is_closing && is_end(&frame) => return Ok(()),
                        Some(Ok(Message::Close(_))) | None => {
                            return Err(Lost::because("Slack closed it"));
                        }
                        Some(Ok(_)) => continue,
                        Some(Err(_)) => return Err(Lost::because("it broke")),
                    };
                    match frame_of(&text) {
                        Frame::Hello if !*is_open => {
                            *is_open = true;
                            self.air.opened(self.clock.now());
                            // Whoever keeps this connection is there as long as it is.
                            let _ = connection.signs.send(Sign::Hello(connection.number));
                            debug!("a connection to Slack is open");
                        }
                        Frame::Hello | Frame::Other => {}
                        Frame::Leaving => {
                            let _ = connection.signs.send(Sign::Leaving(connection.number));
                        }
                        Frame::Crowded => {
                            let why = "there are too many connections".to_owned();
                            return Err(Lost::For { why, wait: CROWDED });
                        }
                        Frame::SwitchedOff => return Err(Lost::ForGood(JoinError::SwitchedOff)),
                        Frame::Envelope { id, kind, payload } => {
                            working.push(self.open_envelope(id, kind, payload).boxed());
                        }
                    }
                }
                _ = pings.tick() => {
                    if !*is_open && began.elapsed() > patience.opening {
                        return Err(Lost::because("Slack said no hello"));
                    }
                    if is_closing && last.elapsed() > DRAINING {
                        return Ok(());
                    }
                    if began.elapsed() > STEADY && !is_steady {
                        is_steady = true;
                        let _ = connection.signs.send(Sign::Steady(connection.number));
                    }
                    if last.elapsed() > patience.silence {
                        return Err(Lost::because("it fell silent"));
                    }
                    send(writer, Message::Ping(Vec::new().into())).await?;
                }
            }
        }
    }

    /// Hears what an envelope holds, and returns its acknowledgement if it is safe.
    async fn open_envelope(&self, id: String, kind: String, payload: Value) -> Option<Value> {
        let told = match kind.as_str() {
            "slash_commands" => Some(self.command(&payload)),
            _ => None,
        };
        if let Some(answer) = told {
            return Some(json!({ "envelope_id": id, "payload": answer }));
        }
        self.takes(&payload).await.then(|| json!({ "envelope_id": id }))
    }
}

/// No more will come.
fn is_end<E>(frame: &Option<Result<Message, E>>) -> bool {
    matches!(frame, None | Some(Err(_)) | Some(Ok(Message::Close(_))))
}

async fn acknowledge(
    writer: &mut SplitSink<Socket, Message>,
    ack: Option<Value>,
) -> Result<(), Lost> {
    match ack {
        Some(ack) => send(writer, Message::Text(ack.to_string().into())).await,
        None => Ok(()),
    }
}

async fn send(writer: &mut SplitSink<Socket, Message>, message: Message) -> Result<(), Lost> {
    match timeout(SENDING, writer.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Lost::because("it broke")),
        Err(_) => Err(Lost::because("it takes nothing any more")),
    }
}

/// Only kinds of envelopes that are known are acknowledged: against a server that sends back what it gets,
/// anything else would go on for ever.
fn frame_of(text_of_frame: &str) -> Frame {
    let Ok(mut frame) = serde_json::from_str::<Value>(text_of_frame) else {
        warn!("Slack sent a frame that is no JSON");
        return Frame::Other;
    };
    match text(&frame["type"]).unwrap_or_default() {
        "hello" => Frame::Hello,
        "disconnect" => match text(&frame["reason"]).unwrap_or_default() {
            "link_disabled" => Frame::SwitchedOff,
            "too_many_websockets" => Frame::Crowded,
            reason => {
                info!("Slack is about to close a connection ({reason})");
                Frame::Leaving
            }
        },
        kind @ ("events_api" | "slash_commands" | "interactive") => {
            let Some(id) = text(&frame["envelope_id"]).map(str::to_owned) else {
                return Frame::Other;
            };
            let kind = kind.to_owned();
            Frame::Envelope { id, kind, payload: frame["payload"].take() }
        }
        _ => Frame::Other,
    }
}

/// Nothing to half a second, then up to 1, 2, 4 … 30 seconds, spread so that many do not return together.
fn backoff(tried: u32, draw: f64) -> SignedDuration {
    let longest =
        0.5 * 2_f64.powi(i32::try_from(tried.saturating_sub(1)).unwrap_or(i32::MAX).min(6));
    seconds(longest.min(30.0) * draw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_spread_and_get_rarer() {
        for (tried, longest) in [(1, 0.5), (2, 1.0), (5, 8.0), (7, 30.0), (1000, 30.0)] {
            assert_eq!(backoff(tried, 0.0), SignedDuration::ZERO);
            assert_eq!(backoff(tried, 0.5), seconds(longest / 2.0), "{tried}");
        }
    }

    #[test]
    fn only_envelopes_of_known_kinds_are_acknowledged() {
        let is_envelope = |frame: &str| matches!(frame_of(frame), Frame::Envelope { .. });
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
