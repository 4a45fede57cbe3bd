//! One shard's WebSocket: it identifies or resumes and sends the heartbeats.
//!
//! It does not negotiate compression, and a message above the size limit ends the connection, so a message never takes
//! more memory than it had bytes on the wire, whatever the server sends.

use std::pin::pin;
use std::time::Duration;

use aizuchi_http::body::MAX_PLATFORM_BODY_BYTES;
use aizuchi_http::json::parse_json;
use futures_util::{SinkExt as _, StreamExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, protocol::WebSocketConfig};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};
use twilight_model::gateway::payload::outgoing::identify::{IdentifyInfo, IdentifyProperties};
use twilight_model::gateway::payload::outgoing::{Heartbeat, Identify, Resume};
use twilight_model::gateway::{Capabilities, OpCode, ShardId};

use crate::gateway::INTENTS;
use crate::gateway::disconnect::Disconnect;
use crate::identify::IdentifyQueue;
use crate::identity::DiscordConnectError;
use crate::session::GatewaySession;

const SEND_TIMEOUT: Duration = Duration::from_secs(5);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// A close code that keeps the session, which 1000 and 1001 would end.
const RESUMABLE_CLOSE_CODE: u16 = 4000;
/// The smallest value that Discord accepts. Discord leaves out the offline members of larger servers, and members are
/// not read anyway.
const LARGE_THRESHOLD: u64 = 50;
/// Longer heartbeat intervals are capped at this; Discord's are about 41 s.
const MAX_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(600);

/// How a connection opens its session.
pub(super) struct ShardLogin<'a> {
    pub shard: ShardId,
    pub url: &'a str,
    pub token: &'a SecretString,
    /// The session to resume.
    pub session: Option<&'a GatewaySession>,
    /// When the first heartbeat is due, as a fraction of the interval.
    pub heartbeat_jitter: f64,
    pub identify_queue: &'a IdentifyQueue,
}

impl ShardLogin<'_> {
    pub fn expose_token(&self) -> &str {
        self.token.expose_secret()
    }
}

/// A message from the gateway.
#[derive(Deserialize)]
pub(super) struct GatewayFrame {
    pub op: u8,
    #[serde(default)]
    pub d: Value,
    pub s: Option<u64>,
    pub t: Option<String>,
    /// The size as received.
    #[serde(skip)]
    pub size_bytes: usize,
}

impl GatewayFrame {
    fn parse(text: &str) -> Option<Self> {
        let mut frame: Self = serde_json::from_value(parse_json(text.as_bytes()).ok()?).ok()?;
        frame.size_bytes = text.len();
        let is_readable = match OpCode::from(frame.op) {
            Some(OpCode::Dispatch) => frame.t.is_some() && frame.s.is_some(),
            Some(OpCode::Hello) => heartbeat_interval(&frame.d).is_some(),
            _ => true,
        };
        is_readable.then_some(frame)
    }
}

pub(super) struct GatewaySocket<'a> {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    login: ShardLogin<'a>,
    /// The sequence number of the last received event.
    sequence: Option<u64>,
    heartbeats: Option<Interval>,
    /// Whether any frame arrived since the last heartbeat.
    is_alive: bool,
    /// The pending permit to identify.
    permit: Option<oneshot::Receiver<()>>,
}

/// How a connection ends: after a disconnect, another one is opened.
pub(super) type ConnectionEnd = Result<Disconnect, DiscordConnectError>;

impl<'a> GatewaySocket<'a> {
    /// Opens the connection within `limit`.
    pub async fn open(login: ShardLogin<'a>, limit: Duration) -> Result<Self, Disconnect> {
        let url = format!("{}/?v=10&encoding=json", login.url);
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_PLATFORM_BODY_BYTES))
            .max_frame_size(Some(MAX_PLATFORM_BODY_BYTES));
        let connecting = connect_async_with_config(url, Some(config), false);
        match timeout(limit, connecting).await {
            Ok(Ok((socket, _))) => Ok(Self {
                socket,
                sequence: login.session.map(|session| session.sequence),
                login,
                heartbeats: None,
                is_alive: true,
                permit: None,
            }),
            _ => Err(Disconnect::connect_failed()),
        }
    }

    /// Receives the next message, or `None` if it cannot be read. Sends due heartbeats and the Identify in the
    /// meantime.
    pub async fn receive(&mut self) -> Result<Option<GatewayFrame>, ConnectionEnd> {
        loop {
            let beat = async {
                match &mut self.heartbeats {
                    Some(heartbeats) => heartbeats.tick().await,
                    None => std::future::pending().await,
                }
            };
            let permitted = async {
                match &mut self.permit {
                    // The wait fails only if no shard may identify any more, which ends the adapter.
                    Some(permit) => permit.await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // Heartbeats come first: a flood of events must not delay them until Discord drops the connection.
                biased;
                _ = beat => self.send_due_heartbeat().await?,
                is_permitted = permitted => {
                    self.permit = None;
                    if is_permitted {
                        self.identify().await?;
                    }
                }
                message = self.socket.next() => match self.read(message)? {
                    Some(Message::Text(text)) => {
                        let frame = GatewayFrame::parse(&text);
                        if let Some(frame) = &frame {
                            self.respond_to(frame).await?;
                        }
                        return Ok(frame);
                    }
                    // Compression is disabled, so a binary message has no meaning.
                    Some(Message::Binary(_)) => return Ok(None),
                    _ => {}
                },
            }
        }
    }

    /// Waits for `ready`, and sends the heartbeats that are due in the meantime. Does not read from the socket, so it
    /// cannot see whether they are acknowledged.
    pub async fn beat_until<T>(
        &mut self,
        ready: impl Future<Output = T>,
    ) -> Result<T, ConnectionEnd> {
        let mut ready = pin!(ready);
        loop {
            let beat = async {
                match &mut self.heartbeats {
                    Some(heartbeats) => heartbeats.tick().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                value = &mut ready => return Ok(value),
                _ = beat => self.send_heartbeat().await?,
            }
        }
    }

    fn read(
        &mut self,
        message: Option<Result<Message, Error>>,
    ) -> Result<Option<Message>, ConnectionEnd> {
        self.is_alive = true;
        match message {
            Some(Ok(Message::Close(frame))) => {
                Err(Disconnect::from_close_code(frame.map(|frame| frame.code.into())))
            }
            Some(Ok(message)) => Ok(Some(message)),
            Some(Err(Error::Capacity(_))) => Err(Ok(Disconnect::message_too_large())),
            Some(Err(_)) => Err(Ok(Disconnect::from_reason("the connection broke"))),
            None => Err(Ok(Disconnect::from_reason("the connection ended"))),
        }
    }

    async fn respond_to(&mut self, frame: &GatewayFrame) -> Result<(), ConnectionEnd> {
        match OpCode::from(frame.op) {
            Some(OpCode::Dispatch) => self.sequence = frame.s,
            Some(OpCode::Heartbeat) => self.send_heartbeat().await?,
            Some(OpCode::Hello) => {
                let Some(period) = heartbeat_interval(&frame.d) else { return Ok(()) };
                // Discord requires a random delay before the first heartbeat.
                let first = Instant::now() + period.mul_f64(self.login.heartbeat_jitter);
                let mut heartbeats = interval_at(first, period);
                // By default, all heartbeats missed during a stall would be sent at once, against Discord's limit.
                heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
                self.heartbeats = Some(heartbeats);
                match self.login.session {
                    Some(session) => {
                        let token = self.login.expose_token();
                        self.send(&Resume::new(session.sequence, &session.id, token)).await?;
                    }
                    None => self.permit = Some(self.login.identify_queue.enqueue()),
                }
            }
            _ => {}
        }
        Ok(())
    }

    async fn send_due_heartbeat(&mut self) -> Result<(), ConnectionEnd> {
        if !self.is_alive {
            return Err(Ok(Disconnect::from_reason("heartbeats are not acknowledged")));
        }
        self.send_heartbeat().await?;
        self.is_alive = false;
        Ok(())
    }

    async fn send_heartbeat(&mut self) -> Result<(), ConnectionEnd> {
        self.send(&Heartbeat::new(self.sequence)).await
    }

    async fn identify(&mut self) -> Result<(), ConnectionEnd> {
        let name = env!("CARGO_PKG_NAME");
        let identify = Identify::new(IdentifyInfo {
            capabilities: Capabilities::empty(),
            compress: false,
            intents: INTENTS,
            large_threshold: LARGE_THRESHOLD,
            presence: None,
            properties: IdentifyProperties::new(name, name, std::env::consts::OS),
            shard: Some(self.login.shard),
            token: self.login.expose_token().to_owned(),
        });
        self.send(&identify).await
    }

    async fn send(&mut self, command: &impl Serialize) -> Result<(), ConnectionEnd> {
        let broken = || Err(Ok(Disconnect::from_reason("a command could not be sent")));
        let Ok(text) = serde_json::to_string(command) else { return broken() };
        match timeout(SEND_TIMEOUT, self.socket.send(Message::text(text))).await {
            Ok(Ok(())) => Ok(()),
            _ => broken(),
        }
    }

    /// Closes the connection so that the session can be resumed.
    pub async fn close(mut self) {
        let code = CloseCode::from(RESUMABLE_CLOSE_CODE);
        let frame = CloseFrame { code, reason: Default::default() };
        // The connection is over whether or not this succeeds.
        let _ = timeout(CLOSE_TIMEOUT, self.socket.close(Some(frame))).await;
    }
}

/// Returns the heartbeat interval that a hello specifies.
pub(super) fn heartbeat_interval(hello: &Value) -> Option<Duration> {
    let milliseconds = hello["heartbeat_interval"].as_u64().filter(|interval| *interval > 0)?;
    Some(Duration::from_millis(milliseconds).min(MAX_HEARTBEAT_INTERVAL))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use serde_json::json;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;
    use tokio_tungstenite::accept_hdr_async;
    use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    struct Server {
        listener: TcpListener,
        url: String,
    }

    impl Server {
        async fn start() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("ws://{}", listener.local_addr().unwrap());
            Self { listener, url }
        }

        /// Accepts a client. Returns the requested URL and extensions as well.
        async fn accept(&self) -> (WebSocketStream<TcpStream>, String) {
            let mut asked = String::new();
            let stream = self.listener.accept().await.unwrap().0;
            #[expect(
                clippy::result_large_err,
                reason = "the library prescribes the type of the error"
            )]
            let note = |request: &Request, response: Response| {
                let extensions = request.headers().get("sec-websocket-extensions");
                asked = format!("{} {extensions:?}", request.uri());
                Ok(response)
            };
            let socket = accept_hdr_async(stream, note).await.unwrap();
            (socket, asked)
        }
    }

    fn login<'a>(
        url: &'a str,
        token: &'a SecretString,
        queue: &'a IdentifyQueue,
    ) -> ShardLogin<'a> {
        let shard = ShardId::new(0, 1);
        ShardLogin {
            shard,
            url,
            token,
            session: None,
            heartbeat_jitter: 0.5,
            identify_queue: queue,
        }
    }

    fn hello() -> Message {
        Message::text(json!({"op": 10, "d": {"heartbeat_interval": 45_000}}).to_string())
    }

    /// Returns what ends the connection after `send` has written to the client's TCP stream, and how much was written.
    async fn receive_from(
        send: impl AsyncFnOnce(&mut TcpStream) -> usize + Send + 'static,
    ) -> (Disconnect, usize) {
        let server = Server::start().await;
        let (token, queue) =
            (SecretString::from("t"), IdentifyQueue::new(mpsc::unbounded_channel().0));
        let client = async {
            let mut socket =
                GatewaySocket::open(login(&server.url, &token, &queue), LIMIT).await.unwrap();
            loop {
                if let Err(ended) = socket.receive().await {
                    return ended.unwrap();
                }
            }
        };
        let sending = async {
            let (mut socket, _) = server.accept().await;
            send(socket.get_mut()).await
        };
        tokio::join!(client, sending)
    }

    /// Returns the header of a server's frame that announces this length.
    fn head(opcode: u8, length: u64) -> Vec<u8> {
        [&[opcode, 127][..], &length.to_be_bytes()].concat()
    }

    #[tokio::test]
    async fn a_frame_that_announces_a_terabyte_is_not_read() {
        let (ended, sent) = receive_from(async |stream: &mut TcpStream| {
            stream.write_all(&head(0x81, 1 << 40)).await.unwrap();
            write_until_closed(stream, &vec![b' '; 64 * 1024]).await
        })
        .await;
        assert_eq!(ended, Disconnect::message_too_large());
        assert!(sent < MAX_PLATFORM_BODY_BYTES, "{sent}");
    }

    #[tokio::test]
    async fn a_message_of_endless_frames_is_given_up() {
        let (ended, sent) = receive_from(async |stream: &mut TcpStream| {
            let part = vec![b' '; 64 * 1024];
            stream.write_all(&[head(0x01, 65_536), part.clone()].concat()).await.unwrap();
            write_until_closed(stream, &[head(0x00, 65_536), part].concat()).await
        })
        .await;
        assert_eq!(ended, Disconnect::message_too_large());
        // The sockets' buffers may contain some more.
        assert!(sent < 2 * MAX_PLATFORM_BODY_BYTES, "{sent}");
    }

    async fn write_until_closed(stream: &mut TcpStream, part: &[u8]) -> usize {
        let mut sent = 0;
        while stream.write_all(part).await.is_ok() {
            sent += part.len();
        }
        sent
    }

    /// Compression is not negotiated, and a message that arrives compressed anyway is not inflated.
    #[tokio::test]
    async fn a_compressed_message_stays_as_it_came() {
        let server = Server::start().await;
        let (token, queue) =
            (SecretString::from("t"), IdentifyQueue::new(mpsc::unbounded_channel().0));
        let client = async {
            let mut socket =
                GatewaySocket::open(login(&server.url, &token, &queue), LIMIT).await.unwrap();
            let first = socket.receive().await.unwrap();
            let second = socket.receive().await.unwrap().unwrap();
            (first.is_none(), second.op)
        };
        let sending = async {
            let (mut socket, asked) = server.accept().await;
            let mut bomb = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            for _ in 0..64 {
                bomb.write_all(&vec![b' '; 1024 * 1024]).unwrap();
            }
            bomb.flush().unwrap();
            socket.send(Message::binary(bomb.get_ref().clone())).await.unwrap();
            socket.send(hello()).await.unwrap();
            (socket, asked)
        };
        let ((is_unreadable, op), (_socket, asked)) = tokio::join!(client, sending);
        assert!(is_unreadable);
        assert_eq!(op, OpCode::Hello as u8);
        assert_eq!(asked, "/?v=10&encoding=json None");
    }

    /// Heartbeats do not wait for the store.
    #[tokio::test]
    async fn heartbeats_go_on_while_nothing_is_read() {
        let server = Server::start().await;
        let (token, queue) =
            (SecretString::from("t"), IdentifyQueue::new(mpsc::unbounded_channel().0));
        let (stored, is_stored) = oneshot::channel();
        let client = async {
            let mut socket =
                GatewaySocket::open(login(&server.url, &token, &queue), LIMIT).await.unwrap();
            assert_eq!(socket.receive().await.unwrap().unwrap().op, OpCode::Hello as u8);
            socket.beat_until(is_stored).await.unwrap().unwrap();
            socket.receive().await.unwrap().unwrap().op
        };
        let serving = async {
            let (mut socket, _) = server.accept().await;
            // If this test is interrupted for that long twice in a row, the acknowledgment comes too late.
            let hello = json!({"op": 10, "d": {"heartbeat_interval": 200}});
            socket.send(Message::text(hello.to_string())).await.unwrap();
            for _ in 0..3 {
                let beat = socket.next().await.unwrap().unwrap().into_text().unwrap();
                assert!(beat.contains(r#""op":1"#), "{beat}");
            }
            socket.send(Message::text(json!({"op": 11}).to_string())).await.unwrap();
            stored.send(()).unwrap();
            socket
        };
        let both = async { tokio::join!(client, serving) };
        let (op, _socket) = timeout(LIMIT, both).await.unwrap();
        assert_eq!(op, OpCode::HeartbeatAck as u8);
    }

    #[test]
    fn frames_without_what_their_kind_needs_are_unreadable() {
        for frame in [
            "",
            "[]",
            r#"{"d":{}}"#,
            r#"{"op":0,"s":1,"d":{}}"#,
            r#"{"op":0,"t":"X","d":{}}"#,
            r#"{"op":10,"d":{"heartbeat_interval":0}}"#,
            r#"{"op":10,"d":{"heartbeat_interval":"1"}}"#,
            r#"{"op":10}"#,
        ] {
            assert!(GatewayFrame::parse(frame).is_none(), "{frame}");
        }
        assert!(GatewayFrame::parse(r#"{"op":11}"#).is_some());
        let forever = json!({"heartbeat_interval": u64::MAX});
        assert_eq!(heartbeat_interval(&forever), Some(MAX_HEARTBEAT_INTERVAL));
    }
}
