//! The changes of the local room as server-sent events. They are read and rendered once for all open pages: each page
//! only keeps its position.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionId};
use aizuchi_platform::local::LocalRoom;
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::stored_message::StoredMessage;
use axum::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::views;

/// The number of changes that are read at a time. It is only exceeded by a revision that has more, like one that erases
/// the reasons of many decisions.
const BATCH: usize = 50;
/// The maximum number of cached changes. A page that is further behind reads from the store.
const MAX_KEPT: usize = 500;

pub struct RoomFeed {
    archive: Arc<dyn Archive>,
    room: Arc<LocalRoom>,
    clock: Clock,
    /// Locked while the store is read, so that pages that wait for the same change find it cached.
    kept: Mutex<KeptEvents>,
}

struct KeptEvents {
    /// The changes after the revision `from` up to `until`, oldest first.
    changes: VecDeque<FeedChange>,
    from: u64,
    until: u64,
    status: PendingSteps,
    /// The event, and the number of the newest change of the room that it includes.
    room: Option<(u64, Bytes)>,
}

#[derive(Clone)]
struct FeedChange {
    revision: u64,
    subject: Subject,
    event: Bytes,
    /// Whether it is a message with a command, which may have changed the persona's mode or mutes.
    is_command: bool,
}

/// What has changed.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Subject {
    Message(ChannelId, MessageId),
    Decision(DecisionId),
}

/// The pending steps. The number increases with each change of them.
#[derive(Clone, Default)]
struct PendingSteps {
    number: u64,
    steps: Vec<Value>,
    event: Bytes,
}

/// A page's position in the feed.
#[derive(Clone, Copy, Debug)]
pub struct FeedPosition {
    pub revision: u64,
    /// The number of the status that the page has, if it has one.
    status: Option<u64>,
}

impl FeedPosition {
    /// The position of a page that has all changes up to a revision.
    pub fn at(revision: u64) -> Self {
        Self { revision, status: None }
    }
}

impl RoomFeed {
    /// `revision` is the newest one.
    pub fn new(
        archive: Arc<dyn Archive>,
        room: Arc<LocalRoom>,
        clock: Clock,
        revision: u64,
    ) -> Self {
        let kept = KeptEvents {
            changes: VecDeque::new(),
            from: revision,
            until: revision,
            status: PendingSteps::default(),
            room: None,
        };
        Self { archive, room, clock, kept: Mutex::new(kept) }
    }

    /// Returns the next events of a page, and its new position. If that is before `newest`, there are more events.
    pub async fn next_events(
        &self,
        position: FeedPosition,
        newest: u64,
    ) -> Result<(Vec<Bytes>, FeedPosition), StoreError> {
        let mut kept = self.kept.lock().await;
        // No status is read before there is a page.
        if kept.until < newest || kept.status.number == 0 {
            self.read_on(&mut kept, newest).await?;
        }
        let status = kept.status.clone();
        let (changes, revision) = if position.revision < kept.from {
            drop(kept);
            self.read_changes(position.revision, newest).await?
        } else {
            kept.changes_after(position.revision)
        };
        let mut events: Vec<Bytes> = changes.into_iter().map(|change| change.event).collect();
        match position.status {
            // Render it now: it contains the time at which the page gets it.
            None => events.push(self.status_event(&status.steps)),
            Some(number) if number != status.number => events.push(status.event),
            Some(_) => {}
        }
        let revision = revision.max(position.revision);
        Ok((events, FeedPosition { revision, status: Some(status.number) }))
    }

    /// Caches the next batch of changes, and the current status.
    async fn read_on(&self, kept: &mut KeptEvents, newest: u64) -> Result<(), StoreError> {
        let (changes, until) = self.read_changes(kept.until, newest).await?;
        // The command's order was applied before its message was stored.
        if changes.iter().any(|change| change.is_command) {
            self.room.notice_command();
        }
        let steps = self.archive.pending_steps(&workspace_id()).await?;
        let now = self.clock.now();
        let steps: Vec<Value> = steps.iter().map(|step| views::step(step, now)).collect();
        if kept.status.number == 0 || kept.status.steps != steps {
            let (number, event) = (kept.status.number + 1, self.status_event(&steps));
            kept.status = PendingSteps { number, steps, event };
        }
        kept.append(changes, until);
        Ok(())
    }

    /// Reads the changes after a revision, and returns them with the revision up to which they are complete.
    async fn read_changes(
        &self,
        after: u64,
        newest: u64,
    ) -> Result<(Vec<FeedChange>, u64), StoreError> {
        let mut batch = BATCH;
        let (messages, decisions, end) = loop {
            let messages = self.archive.messages_since(&workspace_id(), after, batch).await?;
            let decisions = self.archive.decisions_since(&workspace_id(), after, batch).await?;
            // A change that was committed between the two reads may be in only one of them, and a full batch may lack
            // the rest of its last revision. Only revisions that both reads cover completely count.
            let messages_end =
                messages.get(batch - 1).map_or(newest, |message| message.revision - 1);
            let decisions_end =
                decisions.get(batch - 1).map_or(newest, |decision| decision.revision - 1);
            let end = newest.min(messages_end).min(decisions_end);
            if end > after || newest <= after {
                break (messages, decisions, end);
            }
            // The next revision does not fit. Without all of it, the feed would never move on.
            batch *= 2;
        };
        let messages = messages.iter().map(RoomChange::Message);
        let mut changes: Vec<RoomChange<'_>> =
            messages.chain(decisions.iter().map(RoomChange::Decision)).collect();
        changes.retain(|change| change.revision() <= end);
        changes.sort_by_key(RoomChange::revision);
        Ok((rendered(&changes), end.max(after)))
    }

    /// Returns a snapshot of the room: its channels, its users, and the persona's mode and mutes.
    pub async fn room_event(&self) -> Result<Bytes, StoreError> {
        let (channels, muted_until) = views::participation(&self.room.controls().await?);
        let users = views::users(&self.room.user_names());
        let room = json!({ "channels": channels, "muted_until": muted_until, "people": users });
        Ok(event("room", &room, None))
    }

    /// Returns the snapshot after the room's own change with this number. It is the same for all pages.
    pub async fn room_event_after(&self, change: u64) -> Result<Bytes, StoreError> {
        let mut kept = self.kept.lock().await;
        if let Some((number, event)) = &kept.room
            && *number >= change
        {
            return Ok(event.clone());
        }
        let event = self.room_event().await?;
        kept.room = Some((change, event.clone()));
        Ok(event)
    }

    /// Returns the event with the models in use and their problems.
    pub fn models_event(summary: &Value) -> Bytes {
        event("models", summary, None)
    }

    fn status_event(&self, steps: &[Value]) -> Bytes {
        let (store, now) = (self.archive.installation(), views::seconds(self.clock.now()));
        event("status", &json!({ "store": store, "now": now, "steps": steps }), None)
    }
}

impl KeptEvents {
    fn append(&mut self, changes: Vec<FeedChange>, until: u64) {
        // Drop the former versions of what was edited, deleted or forgotten, so that a page that is behind never sees
        // them.
        let changed: HashSet<&Subject> = changes.iter().map(|change| &change.subject).collect();
        self.changes.retain(|kept| !changed.contains(&kept.subject));
        self.changes.extend(changes);
        self.until = until;
        while self.changes.len() > MAX_KEPT {
            let Some(oldest) = self.changes.pop_front() else { break };
            // A revision is kept as a whole or not at all.
            self.from = oldest.revision;
            while self.changes.front().is_some_and(|next| next.revision == oldest.revision) {
                self.changes.pop_front();
            }
        }
    }

    /// Returns at most a batch of the changes after a revision, and the revision up to which they are complete.
    fn changes_after(&self, revision: u64) -> (Vec<FeedChange>, u64) {
        let start = self.changes.partition_point(|change| change.revision <= revision);
        let mut end = self.changes.len().min(start + BATCH);
        while end < self.changes.len()
            && self.changes[end].revision == self.changes[end - 1].revision
        {
            end += 1;
        }
        let until = match end == self.changes.len() {
            true => self.until,
            false => self.changes[end - 1].revision,
        };
        (self.changes.range(start..end).cloned().collect(), until)
    }
}

enum RoomChange<'a> {
    Message(&'a StoredMessage),
    Decision(&'a Decision),
}

impl RoomChange<'_> {
    fn revision(&self) -> u64 {
        match self {
            RoomChange::Message(message) => message.revision,
            RoomChange::Decision(decision) => decision.revision,
        }
    }

    fn subject(&self) -> Subject {
        match self {
            RoomChange::Message(stored) => {
                let message = &stored.message;
                Subject::Message(message.conversation.channel.clone(), message.id.clone())
            }
            RoomChange::Decision(decision) => Subject::Decision(decision.id),
        }
    }

    fn is_command(&self) -> bool {
        match self {
            RoomChange::Message(message) => message.gate == Some(Gate::Command),
            RoomChange::Decision(_) => false,
        }
    }
}

/// Only the last change of a revision carries its id: a page that reconnects after an earlier one must get the rest of
/// the revision.
fn rendered(changes: &[RoomChange<'_>]) -> Vec<FeedChange> {
    let next = changes.iter().skip(1).map(|next| Some(next.revision())).chain([None]);
    let render = |(change, next): (&RoomChange<'_>, Option<u64>)| {
        let revision = change.revision();
        let id = (next != Some(revision)).then_some(revision);
        let event = match change {
            RoomChange::Message(message) => event("message", &json!(views::message(message)), id),
            RoomChange::Decision(decision) => {
                event("decision", &json!(views::decision(decision)), id)
            }
        };
        FeedChange { revision, subject: change.subject(), event, is_command: change.is_command() }
    };
    changes.iter().zip(next).map(render).collect()
}

/// Renders a server-sent event. The JSON has no line breaks.
pub(crate) fn event(kind: &str, data: &Value, id: Option<u64>) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: {kind}\ndata: {data}\n{id}\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(revision: u64, decision: i64) -> FeedChange {
        let subject = Subject::Decision(DecisionId(decision));
        FeedChange { revision, subject, event: Bytes::new(), is_command: false }
    }

    fn empty_from(from: u64) -> KeptEvents {
        let (changes, status) = Default::default();
        KeptEvents { changes, from, until: from, status, room: None }
    }

    /// Otherwise, a page that is behind would be shown deleted text.
    #[test]
    fn what_has_changed_since_is_not_kept() {
        let said = |revision, text: &str| {
            let subject = Subject::Message(ChannelId::new("c"), MessageId::new("m"));
            FeedChange { subject, event: Bytes::from(text.to_owned()), ..change(revision, 0) }
        };
        let mut kept = empty_from(0);
        kept.append(vec![said(1, "my honey"), change(2, 1)], 2);
        kept.append(vec![change(3, 2)], 3);
        kept.append(vec![said(4, "")], 4);
        let (changes, until) = kept.changes_after(0);
        let changes: Vec<(u64, usize)> =
            changes.iter().map(|change| (change.revision, change.event.len())).collect();
        assert_eq!((changes, until), (vec![(2, 0), (3, 0), (4, 0)], 4));
    }

    #[test]
    fn a_page_gets_whole_revisions_from_what_is_kept() {
        let mut kept = empty_from(3);
        let mut subjects = 0..;
        let mut change = |revision| change(revision, subjects.next().unwrap());
        // Revision 60 has three changes.
        kept.append((4..=60).chain([60, 60]).chain(61..=70).map(&mut change).collect(), 75);
        let after = |revision| {
            let (changes, until) = kept.changes_after(revision);
            (changes.len(), until)
        };
        assert_eq!(after(3), (50, 53));
        assert_eq!(after(10), (52, 60));
        assert_eq!(after(60), (10, 75));
        assert_eq!(after(75), (0, 75));
        kept.append((76..=576).map(&mut change).collect(), 576);
        assert_eq!((kept.from, kept.changes.len()), (76, MAX_KEPT));
        kept.append(vec![change(577), change(577)], 577);
        assert_eq!(kept.from, 78);
    }
}
