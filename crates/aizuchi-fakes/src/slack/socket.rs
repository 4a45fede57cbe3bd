//! Socket Mode: one task for each connection, which executes its commands and receives acknowledgments.

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
    State(server): State<ServerContext>,
    ConnectInfo(reset_handle): ConnectInfo<ResetHandle>,
    Query(query): Query<ConnectQuery>,
    upgrade: WebSocketUpgrade,
) -> Response {
    // A ticket is valid for one socket.
    let is_valid = server.fake.change(|state| {
        let index = state.dispatcher.tickets.iter().position(|ticket| *ticket == query.ticket);
        index.map(|index| state.dispatcher.tickets.remove(index)).is_some()
    });
    if !is_valid {
        return StatusCode::FORBIDDEN.into_response();
    }
    upgrade.on_upgrade(move |socket| serve_connection(socket, server, reset_handle))
}

/// Removes a connection however its task ends.
struct ConnectionGuard {
    fake: Arc<FakeSlack>,
    id: u64,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.fake.change(|state| state.dispatcher.disconnect(self.id));
    }
}

async fn serve_connection(mut socket: WebSocket, server: ServerContext, reset_handle: ResetHandle) {
    let fake = server.fake.clone();
    let max_connections = fake.settings.max_connections;
    // Counted and opened in one step, so that only one of two clients gets the last slot.
    let connection = fake.change(|state| {
        (state.dispatcher.connections.len() < max_connections).then(|| state.dispatcher.connect())
    });
    let Some((id, mut commands)) = connection else {
        let disconnect = disconnect_frame(DisconnectReason::TooManyWebsockets);
        // Sending fails if the client has already disconnected.
        let _ = socket.send(Message::text(disconnect.to_string())).await;
        let _ = socket.send(close_frame()).await;
        return;
    };
    let guard = ConnectionGuard { fake: fake.clone(), id };
    fake.change(|state| {
        let app = state.workspace.bot.app_id.clone();
        state.dispatcher.send_hello(id, &app);
    });
    tokio::select! {
        () = run_connection(&mut socket, &fake, &mut commands, &reset_handle) => {}
        () = server.shutdown.cancelled() => reset_handle.reset(),
    }
    drop(guard);
}

/// Runs until either side ends the connection.
async fn run_connection(
    socket: &mut WebSocket,
    fake: &FakeSlack,
    commands: &mut UnboundedReceiver<SocketCommand>,
    reset_handle: &ResetHandle,
) {
    let clock = &fake.settings.clock;
    loop {
        let next_ping = clock.now() + fake.settings.ping_interval;
        tokio::select! {
            command = commands.recv() => {
                let Some(command) = command else { return };
                let continues = match command {
                    SocketCommand::Send(text) => socket.send(Message::text(text)).await.is_ok(),
                    SocketCommand::Close => {
                        let _ = socket.send(close_frame()).await;
                        false
                    }
                    SocketCommand::Reset => {
                        reset_handle.reset();
                        false
                    }
                    SocketCommand::Stall => {
                        stall(commands).await;
                        reset_handle.reset();
                        false
                    }
                };
                if !continues {
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

/// Keeps the connection without reading or writing, until it is reset.
async fn stall(commands: &mut UnboundedReceiver<SocketCommand>) {
    while let Some(command) = commands.recv().await {
        match command {
            SocketCommand::Reset => return,
            SocketCommand::Send(_) | SocketCommand::Close | SocketCommand::Stall => {}
        }
    }
}

fn receive(fake: &FakeSlack, message: &Message) {
    let Message::Text(text) = message else { return };
    let frame: Option<Value> = serde_json::from_str(text.as_str()).ok();
    let envelope = frame.as_ref().and_then(|frame| frame["envelope_id"].as_str());
    if let (Some(frame), Some(envelope)) = (&frame, envelope) {
        fake.change(|state| state.acknowledge(envelope, &frame["payload"]));
    }
}

fn close_frame() -> Message {
    Message::Close(Some(CloseFrame { code: 1000, reason: "".into() }))
}
