//! A stream of server-sent events with every change. Event ids are revisions, so a page that reconnects gets
//! everything after the last event it saw.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use aizuchi_platform::demo::DemoStatus;
use aizuchi_store::StoreError;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::access::Visitor;
use crate::event_streams::{self, StreamSlot};
use crate::peer::Client;
use crate::refusal::Refusal;
use crate::room::demo;
use crate::room::feed::{FeedPosition, RoomFeed};
use crate::{ApiProblem, Web, models};

/// A comment is sent after this time without a change, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

#[derive(Deserialize)]
pub struct EventsQuery {
    after: Option<u64>,
}

pub async fn events(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Result<Response, ApiProblem> {
    let after = query.map_err(|_| Refusal::RevisionNeeded)?;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let mut revisions = web.revisions.clone();
    // Nothing may fall between this revision and the subscription, so both come from one receiver.
    let newest = *revisions.borrow_and_update();
    // Mark everything as changed, so that a new page gets the current state.
    revisions.mark_changed();
    let mut room_changes = web.room.subscribe();
    room_changes.mark_changed();
    let mut model_changes = web.models.subscribe();
    model_changes.mark_changed();
    let mut demo = web.demo.subscribe();
    demo.mark_changed();
    let slot = web.event_streams.open(client.peer).ok_or_else(|| {
        tracing::debug!(client = %client.peer, "refusing an event stream: there are too many");
        Refusal::TooManyStreams
    })?;
    let stream_state = EventStream {
        // A page may know a newer revision, if its database was since replaced by a backup.
        position: FeedPosition::at(resumed.or(after.after).unwrap_or(newest).min(newest)),
        revisions,
        room_changes,
        demo,
        has_room: false,
        model_changes,
        models: None,
        queue: VecDeque::new(),
        web: web.clone(),
        _slot: slot,
    };
    let events = stream::unfold(stream_state, |mut stream_state| async {
        let event = stream_state.next().await?;
        Some((Ok::<_, Infallible>(event), stream_state))
    });
    Ok(event_streams::respond(events, &web, visitor))
}

/// The stream of one page.
struct EventStream {
    web: Arc<Web>,
    position: FeedPosition,
    revisions: watch::Receiver<u64>,
    room_changes: watch::Receiver<u64>,
    demo: watch::Receiver<DemoStatus>,
    /// Whether the page has received a snapshot of the room.
    has_room: bool,
    model_changes: watch::Receiver<u64>,
    /// The state of the models that was last sent to the page.
    models: Option<Value>,
    queue: VecDeque<Bytes>,
    _slot: StreamSlot,
}

impl EventStream {
    /// Returns the next event. `None` ends the stream, and the page reconnects.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            let read = tokio::select! {
                biased;
                changed = self.room_changes.changed() => {
                    changed.ok()?;
                    self.read_room().await
                }
                changed = self.demo.changed() => {
                    changed.ok()?;
                    let event = demo::status_event(&self.demo.borrow_and_update());
                    self.queue.push_back(event);
                    Ok(())
                }
                changed = self.revisions.changed() => {
                    changed.ok()?;
                    self.read_changes().await
                }
                changed = self.model_changes.changed() => {
                    changed.ok()?;
                    Ok(())
                }
                () = sleep(KEEP_ALIVE) => {
                    self.queue.push_back(COMMENT);
                    Ok(())
                }
            };
            // The failure or success of a call comes with a change of its step.
            self.read_models();
            if let Err(error) = read {
                tracing::warn!(%error, "the store failed; closing an event stream");
                return None;
            }
        }
    }

    fn read_models(&mut self) {
        let summary = models::summary(&self.web.models);
        if self.models.as_ref() != Some(&summary) {
            self.queue.push_back(RoomFeed::models_event(&summary));
            self.models = Some(summary);
        }
    }

    async fn read_changes(&mut self) -> Result<(), StoreError> {
        let newest = *self.revisions.borrow_and_update();
        let (events, position) = self.web.room_feed.next_events(self.position, newest).await?;
        self.queue.extend(events);
        self.position = position;
        if position.revision < newest {
            self.revisions.mark_changed();
        }
        Ok(())
    }

    async fn read_room(&mut self) -> Result<(), StoreError> {
        let change = *self.room_changes.borrow_and_update();
        let feed = &self.web.room_feed;
        let event = match self.has_room {
            true => feed.room_event_after(change).await?,
            // The cached event may be outdated: a mute ends without a change.
            false => feed.room_event().await?,
        };
        self.has_room = true;
        self.queue.push_back(event);
        Ok(())
    }
}
