//! The gateway's sockets: one task for each, which says what it is told to, packed if the app wants it so.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::{Compress, Compression, FlushCompress};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::discord::api::request_host;
use crate::discord::session::{ConnectBehavior, SocketCommand};
use crate::discord::{FakeDiscord, ServerContext};
use crate::tcp::ResetHandle;

#[derive(Deserialize)]
pub struct ConnectQuery {
    #[serde(default)]
    v: String,
    #[serde(default)]
    encoding: String,
    #[serde(default)]
    compress: String,
}

pub async fn connect(
    State(served): State<ServerContext>,
    ConnectInfo(cutter): ConnectInfo<ResetHandle>,
    Query(wishes): Query<ConnectQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if served.fake.read(|state| state.gateway.connect_behavior == ConnectBehavior::Refusal) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let base = gateway_url(&request_host(&headers));
    upgrade.on_upgrade(move |socket| serve_connection(socket, served, wishes, cutter, base))
}

/// Where the gateway is for whoever has come to this host.
pub fn gateway_url(host: &str) -> String {
    format!("ws://{host}/gateway")
}

/// A connection's place, given up when its task ends in any way.
struct ConnectionGuard {
    fake: Arc<FakeDiscord>,
    id: u64,
    /// What the app has closed it with.
    code: Option<u16>,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let now = self.fake.settings.clock.now();
        self.fake.change(|state| {
            state.journal.close_codes.push(self.code);
            state.gateway.disconnect(self.id, self.code, now);
        });
    }
}

async fn serve_connection(
    mut socket: WebSocket,
    served: ServerContext,
    wishes: ConnectQuery,
    cutter: ResetHandle,
    base: String,
) {
    let fake = served.fake.clone();
    let Some(mut packing) = FrameCompression::from_query(&wishes) else {
        let reason = "Invalid API version.".into();
        let _ = socket.send(Message::Close(Some(CloseFrame { code: 4012, reason }))).await;
        return;
    };
    let interval = fake.settings.heartbeat_interval;
    let (id, mut frames) = fake.change(|state| state.gateway.connect(interval));
    let mut seat = ConnectionGuard { fake: fake.clone(), id, code: None };
    tokio::select! {
        code = run_connection(&mut socket, &fake, id, &mut frames, &mut packing, &cutter, &base) => {
            seat.code = code;
        }
        () = served.shutdown.cancelled() => cutter.reset(),
    }
}

/// Goes on until one of both sides ends it, and says with what the app did.
async fn run_connection(
    socket: &mut WebSocket,
    fake: &FakeDiscord,
    id: u64,
    frames: &mut UnboundedReceiver<SocketCommand>,
    packing: &mut FrameCompression,
    cutter: &ResetHandle,
    base: &str,
) -> Option<u16> {
    let clock = &fake.settings.clock;
    // Whoever misses two beats is gone.
    let patience = fake.settings.heartbeat_interval * 2;
    let mut heard_at = clock.now();
    loop {
        tokio::select! {
            frame = frames.recv() => match frame? {
                SocketCommand::Send(value) => socket.send(packing.encode(value.to_string())?).await.ok()?,
                SocketCommand::Close(code, words) => {
                    let close = CloseFrame { code, reason: words.into() };
                    let _ = socket.send(Message::Close(Some(close))).await;
                    return None;
                }
                SocketCommand::Reset => {
                    cutter.reset();
                    return None;
                }
                SocketCommand::Stall => {
                    stall(frames).await;
                    cutter.reset();
                    return None;
                }
            },
            message = socket.recv() => match message?.ok()? {
                Message::Text(text) => {
                    heard_at = clock.now();
                    fake.change(|state| state.receive(id, text.as_str(), &fake.settings, base));
                }
                Message::Close(close) => return close.map(|close| close.code),
                Message::Binary(_) => {
                    fake.change(|state| state.gateway.close(id, 4002, "Error while decoding payload."));
                }
                Message::Ping(_) | Message::Pong(_) => {}
            },
            () = clock.sleep_until(heard_at + patience) => {
                fake.change(|state| state.gateway.close(id, 4009, "Session timed out."));
                heard_at = clock.now();
            }
        }
    }
}

/// Keeps the connection, and neither reads nor writes until it is cut.
async fn stall(frames: &mut UnboundedReceiver<SocketCommand>) {
    while let Some(frame) = frames.recv().await {
        match frame {
            SocketCommand::Reset => return,
            SocketCommand::Send(_) | SocketCommand::Close(..) | SocketCommand::Stall => {}
        }
    }
}

/// How words are put into frames.
enum FrameCompression {
    Disabled,
    /// One stream for the whole connection.
    Zlib(Box<Compress>),
}

impl FrameCompression {
    /// What the app asked for, if that can be had.
    fn from_query(wishes: &ConnectQuery) -> Option<Self> {
        if wishes.v != "10" || !matches!(wishes.encoding.as_str(), "" | "json") {
            return None;
        }
        match wishes.compress.as_str() {
            "" => Some(Self::Disabled),
            "zlib-stream" => {
                Some(Self::Zlib(Box::new(Compress::new(Compression::default(), true))))
            }
            _ => None,
        }
    }

    fn encode(&mut self, text: String) -> Option<Message> {
        match self {
            Self::Disabled => Some(Message::text(text)),
            Self::Zlib(stream) => Some(Message::binary(compress(stream, text.as_bytes())?)),
        }
    }
}

fn compress(stream: &mut Compress, bytes: &[u8]) -> Option<Vec<u8>> {
    let before = stream.total_in();
    let mut packed = Vec::new();
    loop {
        let read = usize::try_from(stream.total_in() - before).ok()?;
        packed.reserve(bytes.len() / 2 + 64);
        stream.compress_vec(&bytes[read..], &mut packed, FlushCompress::Sync).ok()?;
        let is_read = stream.total_in() - before == bytes.len() as u64;
        if is_read && packed.len() < packed.capacity() {
            return Some(packed);
        }
    }
}
