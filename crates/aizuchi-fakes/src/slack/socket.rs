//! Socket Mode: one task for each connection, which sends what it is told to and hears acknowledgments.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::slack::hands::{Reason, disconnect_frame};
use crate::slack::mail::Frame;
use crate::slack::{FakeSlack, Served};
use crate::wire::Cutter;

#[derive(Deserialize)]
pub struct LinkQuery {
    #[serde(default)]
    ticket: String,
}

pub async fn link(
    State(served): State<Served>,
    ConnectInfo(cutter): ConnectInfo<Cutter>,
    Query(query): Query<LinkQuery>,
    upgrade: WebSocketUpgrade,
) -> Response {
    // A ticket opens one socket.
    let is_valid = served.fake.change(|state| {
        let place = state.mail.tickets.iter().position(|ticket| *ticket == query.ticket);
        place.map(|place| state.mail.tickets.remove(place)).is_some()
    });
    if !is_valid {
        return StatusCode::FORBIDDEN.into_response();
    }
    upgrade.on_upgrade(move |socket| attend(socket, served, cutter))
}

/// A place among the open connections, given up when its task ends in any way.
struct Seat {
    fake: Arc<FakeSlack>,
    id: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.fake.change(|state| state.mail.disconnect(self.id));
    }
}

async fn attend(mut socket: WebSocket, served: Served, cutter: Cutter) {
    let fake = served.fake.clone();
    let most = fake.settings.most_connections;
    let place =
        fake.change(|state| (state.mail.connections.len() < most).then(|| state.mail.connect()));
    let Some((id, mut frames)) = place else {
        let full = disconnect_frame(Reason::TooManyWebsockets);
        // Whoever has gone meanwhile need not be told.
        let _ = socket.send(Message::text(full.to_string())).await;
        let _ = socket.send(goodbye()).await;
        return;
    };
    let seat = Seat { fake: fake.clone(), id };
    fake.change(|state| {
        let app = state.workspace.bot.app_id.clone();
        state.mail.greet(id, &app);
    });
    tokio::select! {
        () = talk(&mut socket, &fake, &mut frames, &cutter) => {}
        () = served.shutdown.cancelled() => cutter.cut(),
    }
    drop(seat);
}

/// Goes on until one of both sides ends it.
async fn talk(
    socket: &mut WebSocket,
    fake: &FakeSlack,
    frames: &mut UnboundedReceiver<Frame>,
    cutter: &Cutter,
) {
    let clock = &fake.settings.clock;
    loop {
        let next_ping = clock.now() + fake.settings.ping_interval;
        tokio::select! {
            frame = frames.recv() => {
                let Some(frame) = frame else { return };
                let goes_on = match frame {
                    Frame::Text(text) => socket.send(Message::text(text)).await.is_ok(),
                    Frame::Close => {
                        let _ = socket.send(goodbye()).await;
                        false
                    }
                    Frame::Cut => {
                        cutter.cut();
                        false
                    }
                    Frame::PlayDead => {
                        play_dead(frames).await;
                        cutter.cut();
                        false
                    }
                };
                if !goes_on {
                    return;
                }
            }
            message = socket.recv() => {
                let Some(Ok(message)) = message else { return };
                hear(fake, &message);
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
async fn play_dead(frames: &mut UnboundedReceiver<Frame>) {
    while let Some(frame) = frames.recv().await {
        match frame {
            Frame::Cut => return,
            Frame::Text(_) | Frame::Close | Frame::PlayDead => {}
        }
    }
}

fn hear(fake: &FakeSlack, message: &Message) {
    let Message::Text(text) = message else { return };
    let said: Option<Value> = serde_json::from_str(text.as_str()).ok();
    let envelope = said.as_ref().and_then(|said| said["envelope_id"].as_str());
    if let (Some(said), Some(envelope)) = (&said, envelope) {
        fake.change(|state| {
            state.answer_command(envelope, &said["payload"]);
            state.mail.ack(envelope);
        });
    }
}

fn goodbye() -> Message {
    Message::Close(Some(CloseFrame { code: 1000, reason: "".into() }))
}
