//! The gateway's sockets: one task for each connection, which executes its commands and compresses on request.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::{Compress, Compression, FlushCompress};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::discord::request::request_host;
use crate::discord::session::{ConnectBehavior, SocketCommand};
use crate::discord::{FakeDiscord, ServerContext};
use crate::tcp::ResetHandle;
use crate::wire::to_wire;

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
    State(server): State<ServerContext>,
    ConnectInfo(reset_handle): ConnectInfo<ResetHandle>,
    Query(query): Query<ConnectQuery>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if server.fake.read(|state| state.gateway.connect_behavior == ConnectBehavior::Refusal) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let resume_url = gateway_url(&request_host(&headers));
    upgrade
        .on_upgrade(move |socket| serve_connection(socket, server, query, reset_handle, resume_url))
}

/// Returns the URL of the gateway for an app that reached the fake at this host.
pub fn gateway_url(host: &str) -> String {
    format!("ws://{host}/gateway")
}

/// Removes a connection however its task ends.
struct ConnectionGuard {
    fake: Arc<FakeDiscord>,
    id: u64,
    /// The code with which the app closed the connection.
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
    server: ServerContext,
    query: ConnectQuery,
    reset_handle: ResetHandle,
    resume_url: String,
) {
    let fake = server.fake.clone();
    let Some(mut compression) = FrameCompression::from_query(&query) else {
        let reason = "Invalid API version.".into();
        let _ = socket.send(Message::Close(Some(CloseFrame { code: 4012, reason }))).await;
        return;
    };
    let heartbeat_interval = fake.settings.heartbeat_interval;
    let (id, mut commands) = fake.change(|state| state.gateway.connect(heartbeat_interval));
    let mut guard = ConnectionGuard { fake: fake.clone(), id, code: None };
    let connection = run_connection(
        &mut socket, &fake, id, &mut commands, &mut compression, &reset_handle, &resume_url,
    );
    tokio::select! {
        code = connection => guard.code = code,
        () = server.shutdown.cancelled() => reset_handle.reset(),
    }
}

/// Runs until either side ends the connection. Returns the app's close code if the app closed it.
async fn run_connection(
    socket: &mut WebSocket,
    fake: &FakeDiscord,
    id: u64,
    commands: &mut UnboundedReceiver<SocketCommand>,
    compression: &mut FrameCompression,
    reset_handle: &ResetHandle,
    resume_url: &str,
) -> Option<u16> {
    let clock = &fake.settings.clock;
    // An app that misses two heartbeats is disconnected.
    let timeout = fake.settings.heartbeat_interval * 2;
    let mut last_received_at = clock.now();
    loop {
        tokio::select! {
            command = commands.recv() => match command? {
                SocketCommand::Send(payload) => {
                    let frame = compression.encode(to_wire(&payload))?;
                    socket.send(frame).await.ok()?;
                }
                SocketCommand::Close(code, reason) => {
                    let close = CloseFrame { code, reason: reason.into() };
                    let _ = socket.send(Message::Close(Some(close))).await;
                    return None;
                }
                SocketCommand::Reset => {
                    reset_handle.reset();
                    return None;
                }
                SocketCommand::Stall => {
                    stall(commands).await;
                    reset_handle.reset();
                    return None;
                }
            },
            message = socket.recv() => match message?.ok()? {
                Message::Text(text) => {
                    last_received_at = clock.now();
                    fake.change(|state| {
                        state.receive(id, text.as_str(), &fake.settings, resume_url);
                    });
                }
                Message::Close(close) => return close.map(|close| close.code),
                Message::Binary(_) => {
                    fake.change(|state| {
                        state.gateway.close(id, 4002, "Error while decoding payload.");
                    });
                }
                Message::Ping(_) | Message::Pong(_) => {}
            },
            () = clock.sleep_until(last_received_at + timeout) => {
                fake.change(|state| state.gateway.close(id, 4009, "Session timed out."));
                last_received_at = clock.now();
            }
        }
    }
}

/// Keeps the connection without reading or writing, until it is reset.
async fn stall(commands: &mut UnboundedReceiver<SocketCommand>) {
    while let Some(command) = commands.recv().await {
        match command {
            SocketCommand::Reset => return,
            SocketCommand::Send(_) | SocketCommand::Close(..) | SocketCommand::Stall => {}
        }
    }
}

/// The compression of frames.
enum FrameCompression {
    Disabled,
    /// One zlib stream for the whole connection.
    Zlib(Box<Compress>),
}

impl FrameCompression {
    /// Parses the compression that the app requests. Returns `None` if the query is not supported.
    fn from_query(query: &ConnectQuery) -> Option<Self> {
        if query.v != "10" || !matches!(query.encoding.as_str(), "" | "json") {
            return None;
        }
        match query.compress.as_str() {
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
    let total_before = stream.total_in();
    let mut compressed = Vec::new();
    loop {
        let read_count = usize::try_from(stream.total_in() - total_before).ok()?;
        compressed.reserve(bytes.len() / 2 + 64);
        stream.compress_vec(&bytes[read_count..], &mut compressed, FlushCompress::Sync).ok()?;
        let is_consumed = stream.total_in() - total_before == bytes.len() as u64;
        if is_consumed && compressed.len() < compressed.capacity() {
            return Some(compressed);
        }
    }
}
