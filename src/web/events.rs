//! A stream of server-sent events with every change. Event ids are revisions, so a page that reconnects gets
//! everything after the last event it saw.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::web::auth::Visitor;
use crate::web::event_streams::StreamSlot;
use crate::web::peer::Client;
use crate::web::{ApiProblem, Web, views};
use aizuchi_core::decision::Decision;
use aizuchi_core::platform::local::{LocalRoom, workspace_id};
use aizuchi_core::store::{Archive, StoreError, StoredMessage};

/// The number of changes that are read at a time. It is small, because a slow client keeps them in memory, but far
/// more than can change with one revision.
const BATCH: usize = 50;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

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
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiProblem> {
    let after = query
        .map_err(|_| ApiProblem::new(StatusCode::BAD_REQUEST, "after is a revision, a number"))?;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let mut revisions = web.revisions.clone();
    let newest = *revisions.borrow_and_update();
    revisions.mark_changed();
    let mut room_changes = web.room.subscribe();
    room_changes.mark_changed();
    let slot = web.event_streams.open(client.peer).ok_or_else(|| {
        tracing::debug!(client = %client.peer, "refusing an event stream: there are too many");
        let sentence = "there are too many event streams; close one, or try again later";
        ApiProblem::new(StatusCode::TOO_MANY_REQUESTS, sentence)
    })?;
    let stream_state = EventStream {
        last_revision: resumed.or(after.after).unwrap_or(newest).min(newest),
        archive: web.archive.clone(),
        clock: web.clock.clone(),
        revisions,
        room: web.room.clone(),
        room_changes,
        status: None,
        snapshots: VecDeque::new(),
        queued_changes: VecDeque::new(),
        _slot: slot,
    };
    let events = stream::unfold(stream_state, |mut stream_state| async {
        let event = stream_state.next().await?;
        Some((Ok(event), stream_state))
    });
    let signed_out = async move {
        match visitor.session {
            Some(session) => session.ended.cancelled_owned().await,
            None => std::future::pending().await,
        }
    };
    let events = events.take_until(web.shutdown.clone().cancelled_owned()).take_until(signed_out);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// The position of one page in the stream of changes.
struct EventStream {
    archive: Arc<dyn Archive>,
    clock: aizuchi_core::clock::Clock,
    revisions: watch::Receiver<u64>,
    room: Arc<LocalRoom>,
    room_changes: watch::Receiver<u64>,
    last_revision: u64,
    /// The pending steps, as last sent.
    status: Option<Vec<Value>>,
    /// Events without an id, because they belong to no revision.
    snapshots: VecDeque<Event>,
    queued_changes: VecDeque<(u64, RoomChange)>,
    _slot: StreamSlot,
}

enum RoomChange {
    Message(Box<StoredMessage>),
    Decision(Box<Decision>),
}

impl RoomChange {
    fn to_event(&self) -> Event {
        let (kind, value) = match self {
            RoomChange::Message(message) => ("message", views::message(message)),
            RoomChange::Decision(decision) => ("decision", views::decision(decision)),
        };
        Event::default().event(kind).data(value.to_string())
    }
}

impl EventStream {
    /// The next event. `None` ends the stream, and the page reconnects.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((revision, change)) = self.queued_changes.pop_front() {
                // Only the last change of a revision carries its id: a page that reconnects after an earlier one
                // must get the rest of the revision.
                let is_last = self.queued_changes.front().is_none_or(|(next, _)| *next != revision);
                let event = change.to_event();
                return Some(if is_last { event.id(revision.to_string()) } else { event });
            }
            if let Some(snapshot) = self.snapshots.pop_front() {
                return Some(snapshot);
            }
            let read = tokio::select! {
                biased;
                changed = self.room_changes.changed() => {
                    changed.ok()?;
                    self.read_room().await
                }
                changed = self.revisions.changed() => {
                    changed.ok()?;
                    let newest = *self.revisions.borrow_and_update();
                    self.read(newest).await
                }
            };
            if let Err(error) = read {
                tracing::warn!(%error, "the store failed; closing an event stream");
                return None;
            }
        }
    }

    async fn read(&mut self, newest: u64) -> Result<(), StoreError> {
        let messages =
            self.archive.messages_since(&workspace_id(), self.last_revision, BATCH).await?;
        let decisions =
            self.archive.decisions_since(&workspace_id(), self.last_revision, BATCH).await?;
        // A change that was committed between the two reads may be in only one of them, and a full batch may lack
        // the rest of its last revision. Send only revisions that both reads cover as a whole.
        let messages_end = messages.get(BATCH - 1).map_or(newest, |message| message.revision - 1);
        let decisions_end =
            decisions.get(BATCH - 1).map_or(newest, |decision| decision.revision - 1);
        let end = newest.min(messages_end).min(decisions_end);
        let messages = messages
            .into_iter()
            .map(|message| (message.revision, RoomChange::Message(Box::new(message))));
        let decisions = decisions
            .into_iter()
            .map(|decision| (decision.revision, RoomChange::Decision(Box::new(decision))));
        let mut changes: Vec<(u64, RoomChange)> = messages.chain(decisions).collect();
        changes.retain(|(revision, _)| *revision <= end);
        changes.sort_by_key(|(revision, _)| *revision);
        self.queued_changes.extend(changes);
        self.last_revision = self.last_revision.max(end);
        if end < newest {
            self.revisions.mark_changed();
        }
        self.read_status().await
    }

    /// Queues a snapshot of the room: its channels, its users, and the persona's mode and mutes.
    async fn read_room(&mut self) -> Result<(), StoreError> {
        let (channels, muted_until) = views::participation(&self.room.controls().await?);
        let people = views::users(&self.room.user_names());
        let room = json!({ "channels": channels, "muted_until": muted_until, "people": people });
        self.snapshots.push_back(Event::default().event("room").data(room.to_string()));
        Ok(())
    }

    async fn read_status(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let steps = self.archive.pending_steps(&workspace_id()).await?;
        let steps: Vec<Value> = steps.iter().map(|step| views::step(step, now)).collect();
        if self.status.as_ref() != Some(&steps) {
            let store = self.archive.installation();
            let status = json!({ "store": store, "now": views::seconds(now), "steps": steps });
            self.snapshots.push_back(Event::default().event("status").data(status.to_string()));
            self.status = Some(steps);
        }
        Ok(())
    }
}
