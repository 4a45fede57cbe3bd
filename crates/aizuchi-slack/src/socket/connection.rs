//! One connection, from its hello to its end.
//!
//! An envelope is acknowledged when what it tells is kept, and not else: Slack sends it again. Many are
//! worked at side by side, so that one commit may keep many.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream, StreamExt};
use futures_util::{FutureExt, SinkExt};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::from_slack::text;
use crate::socket::{Lost, Sign};
use crate::{JoinError, Slack};

/// How long a frame may take to be sent.
const SENDING: Duration = Duration::from_secs(5);
/// A connection that is not needed any more takes for so long what was on its way to it.
const LEAVING: Duration = Duration::from_millis(500);
/// How long it may finish what it has taken.
const DRAINING: Duration = Duration::from_secs(3);
/// A connection that has lasted so long is a good one.
const STEADY: Duration = Duration::from_secs(60);
/// How many envelopes are worked at side by side.
const MOST_AT_ONCE: usize = 256;
/// There are too many connections already, so the next one is not tried soon.
const CROWDED: SignedDuration = SignedDuration::from_secs(30);

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub struct Connection<'a> {
    slack: &'a Slack,
    number: u64,
    signs: mpsc::UnboundedSender<Sign>,
    /// Nobody needs it any more.
    replaced: CancellationToken,
    writer: SplitSink<Socket, Message>,
    reader: SplitStream<Socket>,
    /// Envelopes that are being taken, each with its acknowledgement if it was kept.
    working: FuturesUnordered<BoxFuture<'a, Option<Value>>>,
    began: Instant,
    /// When anything came last.
    last: Instant,
    is_open: bool,
    is_steady: bool,
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
        kind: Kind,
        payload: Value,
    },
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Event,
    Command,
    Interaction,
}

impl<'a> Connection<'a> {
    pub(super) fn new(
        slack: &'a Slack,
        socket: Socket,
        number: u64,
        signs: mpsc::UnboundedSender<Sign>,
        replaced: CancellationToken,
    ) -> Self {
        let (writer, reader) = socket.split();
        let now = Instant::now();
        Self {
            slack,
            number,
            signs,
            replaced,
            writer,
            reader,
            working: FuturesUnordered::new(),
            began: now,
            last: now,
            is_open: false,
            is_steady: false,
        }
    }

    /// Listens until the connection ends or is replaced. What was taken is finished before.
    pub(super) async fn keep(mut self) -> Result<(), Lost> {
        let ended = self.listen().await;
        if self.is_open {
            self.slack.air.closed();
        }
        let finished = async {
            while let Some(ack) = self.working.next().await {
                acknowledge(&mut self.writer, ack).await?;
            }
            self.writer.close().await.map_err(|_| Lost::because("it could not be closed"))
        };
        // Whatever is not acknowledged comes again, or is read.
        if timeout(DRAINING, finished).await.is_err() {
            let rooms = self.slack.roster.joined();
            rooms.iter().for_each(|room| self.slack.wanted.add_later(room));
        }
        ended
    }

    async fn listen(&mut self) -> Result<(), Lost> {
        let mut pings = interval(self.slack.settings.patience.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut leaves_at = None;
        loop {
            let leaving = async {
                match leaves_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = leaving => return Ok(()),
                () = self.replaced.cancelled(), if leaves_at.is_none() => {
                    leaves_at = Some(Instant::now() + LEAVING);
                }
                Some(ack) = self.working.next(), if !self.working.is_empty() => {
                    acknowledge(&mut self.writer, ack).await?;
                }
                frame = self.reader.next(), if self.working.len() < MOST_AT_ONCE => {
                    if leaves_at.is_some() && is_end(&frame) {
                        return Ok(());
                    }
                    self.take(frame)?;
                }
                _ = pings.tick() => self.look().await?,
            }
        }
    }

    fn take(&mut self, frame: Option<Result<Message, Error>>) -> Result<(), Lost> {
        self.last = Instant::now();
        let text = match frame {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(_))) | None => return Err(Lost::because("Slack closed it")),
            Some(Ok(_)) => return Ok(()),
            Some(Err(_)) => return Err(Lost::because("it broke")),
        };
        match frame_of(&text) {
            Frame::Hello if !self.is_open => {
                self.is_open = true;
                self.slack.air.opened(self.slack.now());
                self.say(Sign::Hello(self.number));
                debug!("a connection to Slack is open");
            }
            Frame::Hello | Frame::Other => {}
            Frame::Leaving => {
                info!("Slack is about to close a connection");
                self.say(Sign::Leaving(self.number));
            }
            Frame::Crowded => {
                let why = "there are too many connections".to_owned();
                return Err(Lost::For { why, wait: CROWDED });
            }
            Frame::SwitchedOff => return Err(Lost::ForGood(JoinError::SwitchedOff)),
            Frame::Envelope { id, kind, payload } => {
                self.working.push(open(self.slack, id, kind, payload).boxed());
            }
        }
        Ok(())
    }

    /// Is the other side there, and does it say what it should?
    async fn look(&mut self) -> Result<(), Lost> {
        let patience = self.slack.settings.patience;
        if !self.is_open && self.began.elapsed() > patience.opening {
            return Err(Lost::because("Slack said no hello"));
        }
        if self.working.len() >= MOST_AT_ONCE {
            // Nothing was read, so nothing is known of its silence.
            self.last = Instant::now();
        }
        if self.last.elapsed() > patience.silence {
            return Err(Lost::because("it fell silent"));
        }
        if !self.is_steady && self.began.elapsed() > STEADY {
            self.is_steady = true;
            self.say(Sign::Steady(self.number));
        }
        send(&mut self.writer, Message::Ping(Vec::new().into())).await
    }

    fn say(&self, sign: Sign) {
        // Whoever keeps this connection is there as long as it is.
        let _ = self.signs.send(sign);
    }
}

/// Takes what an envelope holds, and returns its acknowledgement if it is kept.
async fn open(slack: &Slack, id: String, kind: Kind, payload: Value) -> Option<Value> {
    match kind {
        Kind::Command => {
            let answer = slack.command(payload).await;
            Some(json!({ "envelope_id": id, "payload": answer }))
        }
        Kind::Event => slack.takes(&payload).await.then(|| json!({ "envelope_id": id })),
        Kind::Interaction => Some(json!({ "envelope_id": id })),
    }
}

/// No more will come.
fn is_end(frame: &Option<Result<Message, Error>>) -> bool {
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
fn frame_of(frame: &str) -> Frame {
    let Ok(mut frame) = serde_json::from_str::<Value>(frame) else {
        warn!("Slack sent a frame that is no JSON");
        return Frame::Other;
    };
    let kind = match text(&frame["type"]).unwrap_or_default() {
        "hello" => return Frame::Hello,
        "disconnect" => {
            return match text(&frame["reason"]).unwrap_or_default() {
                "link_disabled" => Frame::SwitchedOff,
                "too_many_websockets" => Frame::Crowded,
                _ => Frame::Leaving,
            };
        }
        "events_api" => Kind::Event,
        "slash_commands" => Kind::Command,
        "interactive" => Kind::Interaction,
        _ => return Frame::Other,
    };
    match text(&frame["envelope_id"]).map(str::to_owned) {
        Some(id) => Frame::Envelope { id, kind, payload: frame["payload"].take() },
        None => Frame::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
