//! Socket Mode: one task for each connection, which sends what it is told to and hears acknowledgments.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::slack::delivery::SocketCommand;
use crate::slack::driver::{DisconnectReason, disconnect_frame};
use crate::slack::{FakeSlack, ServerContext};
use crate::tcp::ResetHandle;

#[derive(Deserialize)]
pub struct ConnectQuery {
    #[serde(default)]
    ticket: String,
}

pub async fn connect(
    State(served): State<ServerContext>,
    ConnectInfo(cutter): ConnectInfo<ResetHandle>,
    Query(query): Query<ConnectQuery>,
    upgrade: WebSocketUpgrade,
) -> Response {
    // A ticket opens one socket.
    let is_valid = served.fake.change(|state| {
        let place = state.dispatcher.tickets.iter().position(|ticket| *ticket == query.ticket);
        place.map(|place| state.dispatcher.tickets.remove(place)).is_some()
    });
    if !is_valid {
        return StatusCode::FORBIDDEN.into_response();
    }
    upgrade.on_upgrade(move |socket| serve_connection(socket, served, cutter))
}

/// A place among the open connections, given up when its task ends in any way.
struct ConnectionGuard {
    fake: Arc<FakeSlack>,
    id: u64,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.fake.change(|state| state.dispatcher.disconnect(self.id));
    }
}

async fn serve_connection(mut socket: WebSocket, served: ServerContext, cutter: ResetHandle) {
    let fake = served.fake.clone();
    let most = fake.settings.max_connections;
    let place = fake.change(|state| {
        (state.dispatcher.connections.len() < most).then(|| state.dispatcher.connect())
    });
    let Some((id, mut frames)) = place else {
        let full = disconnect_frame(DisconnectReason::TooManyWebsockets);
        // Whoever has gone meanwhile need not be told.
        let _ = socket.send(Message::text(full.to_string())).await;
        let _ = socket.send(close_frame()).await;
        return;
    };
    let seat = ConnectionGuard { fake: fake.clone(), id };
    fake.change(|state| {
        let app = state.workspace.bot.app_id.clone();
        state.dispatcher.send_hello(id, &app);
    });
    tokio::select! {
        () = run_connection(&mut socket, &fake, &mut frames, &cutter) => {}
        () = served.shutdown.cancelled() => cutter.reset(),
    }
    drop(seat);
}

/// Goes on until one of both sides ends it.
async fn run_connection(
    socket: &mut WebSocket,
    fake: &FakeSlack,
    frames: &mut UnboundedReceiver<SocketCommand>,
    cutter: &ResetHandle,
) {
    let clock = &fake.settings.clock;
    loop {
        let next_ping = clock.now() + fake.settings.ping_interval;
        tokio::select! {
            frame = frames.recv() => {
                let Some(frame) = frame else { return };
                let goes_on = match frame {
                    SocketCommand::Send(text) => socket.send(Message::text(text)).await.is_ok(),
                    SocketCommand::Close => {
                        let _ = socket.send(close_frame()).await;
                        false
                    }
                    SocketCommand::Reset => {
                        cutter.reset();
                        false
                    }
                    SocketCommand::Stall => {
                        stall(frames).await;
                        cutter.reset();
                        false
                    }
                };
                if !goes_on {
                    return;
                }
            }
            message = socket.recv() => {
                let Some(Ok(message)) = message else { return };
                receive(fake, &message);
            }
            () = clock.sleep_until(next_ping) => {
                let ping = Message::Ping("Ping from applink-dev".into());
                if socket.send(ping).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Keeps the connection, and neither reads nor writes until it is cut.
async fn stall(frames: &mut UnboundedReceiver<SocketCommand>) {
    while let Some(frame) = frames.recv().await {
        match frame {
            SocketCommand::Reset => return,
            SocketCommand::Send(_) | SocketCommand::Close | SocketCommand::Stall => {}
        }
    }
}

fn receive(fake: &FakeSlack, message: &Message) {
    let Message::Text(text) = message else { return };
    let said: Option<Value> = serde_json::from_str(text.as_str()).ok();
    let envelope = said.as_ref().and_then(|said| said["envelope_id"].as_str());
    if let (Some(said), Some(envelope)) = (&said, envelope) {
        fake.change(|state| {
            state.respond_to_command(envelope, &said["payload"]);
            state.dispatcher.ack(envelope);
        });
    }
}

fn close_frame() -> Message {
    Message::Close(Some(CloseFrame { code: 1000, reason: "".into() }))
}
