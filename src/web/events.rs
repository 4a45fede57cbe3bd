//! What changes, as it changes: a stream of server-sent events whose ids are revisions, so that a
//! page that was away asks for what came after the last one it saw.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::platform::local::workspace;
use crate::store::{Archive, StoreError};
use crate::web::{Problem, Web, shapes};

/// How much is read at a time. Far more than can change with one revision.
const BATCH: usize = 200;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
pub struct EventsQuery {
    after: Option<u64>,
}

pub async fn events(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
    query: Query<EventsQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let mut revisions = web.revisions.clone();
    let newest = *revisions.borrow_and_update();
    revisions.mark_changed();
    let tail = Tail {
        seen: resumed.or(query.after).unwrap_or(newest).min(newest),
        archive: web.archive.clone(),
        clock: web.clock.clone(),
        revisions,
        status: None,
        waiting: VecDeque::new(),
    };
    let events = stream::unfold(tail, |mut tail| async {
        let event = tail.next().await?;
        Some((Ok(event), tail))
    });
    let events = events.take_until(web.shutdown.clone().cancelled_owned());
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// One page's place in the stream of changes.
struct Tail {
    archive: Arc<dyn Archive>,
    clock: crate::clock::Clock,
    revisions: watch::Receiver<u64>,
    seen: u64,
    /// The pending steps as they were sent last.
    status: Option<Vec<Value>>,
    waiting: VecDeque<Event>,
}

impl Tail {
    /// `None` ends the stream; the page connects again.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            self.revisions.changed().await.ok()?;
            let newest = *self.revisions.borrow_and_update();
            if let Err(error) = self.read(newest).await {
                tracing::warn!("an event stream ends early: {error}");
                return None;
            }
        }
    }

    async fn read(&mut self, newest: u64) -> Result<(), StoreError> {
        let lines = self.archive.lines_since(&workspace(), self.seen, BATCH).await?;
        let decisions = self.archive.decisions_since(&workspace(), self.seen, BATCH).await?;
        // What was committed meanwhile may be in one of the reads and not in the other; and where
        // a read was cut short, nothing behind the cut may overtake it.
        // Changes of one revision stay together.
        let lines_end = lines.get(BATCH - 1).map_or(newest, |line| line.revision - 1);
        let decisions_end = decisions.get(BATCH - 1).map_or(newest, |row| row.revision - 1);
        let end = newest.min(lines_end).min(decisions_end);
        let lines = lines.iter().map(|line| (line.revision, "message", shapes::message(line)));
        let decisions =
            decisions.iter().map(|row| (row.revision, "decision", shapes::decision(row)));
        let mut changes: Vec<(u64, &str, Value)> = lines.chain(decisions).collect();
        changes.retain(|(revision, _, _)| *revision <= end);
        changes.sort_by_key(|(revision, _, _)| *revision);
        let mut changes = changes.into_iter().peekable();
        while let Some((revision, kind, value)) = changes.next() {
            let event = Event::default().event(kind).data(value.to_string());
            // Only the last change of a revision stands for the whole of it.
            let is_last = changes.peek().is_none_or(|(next, _, _)| *next != revision);
            self.waiting.push_back(if is_last { event.id(revision.to_string()) } else { event });
        }
        self.seen = self.seen.max(end);
        if end < newest {
            self.revisions.mark_changed();
        }
        self.read_status().await
    }

    async fn read_status(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let steps = self.archive.steps(&workspace()).await?;
        let steps: Vec<Value> = steps.iter().map(|step| shapes::step(step, now)).collect();
        if self.status.as_ref() != Some(&steps) {
            let status = json!({ "now": shapes::seconds(now), "steps": steps });
            self.waiting.push_back(Event::default().event("status").data(status.to_string()));
            self.status = Some(steps);
        }
        Ok(())
    }
}
