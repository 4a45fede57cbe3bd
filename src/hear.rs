//! A message comes in: what follows from it is decided by plain functions and stored together with
//! it, and the store's new revision wakes the runner. A platform acknowledges after [`Ears::hear`]
//! has returned.

pub mod under_way;

use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{Arrival, AuthorKind, ConversationId, Heard, Message};
use crate::clock::{Clock, chance, seconds};
use crate::decision::Gate;
use crate::event::Follows;
use crate::hear::under_way::UnderWay;
use crate::metrics::Metrics;
use crate::store::{Hearing, Receipt, Store, StoreError};

/// How long the talk must rest before it is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// The middle of the wait, in seconds.
    pub min_wait_seconds: f64,
    /// The wait is spread evenly by this share to both sides (seed 002-12).
    pub jitter_ratio: f64,
    /// A mention that is caught up on is answered only if it is younger than this.
    pub max_message_age_seconds: f64,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { min_wait_seconds: 300.0, jitter_ratio: 0.3, max_message_age_seconds: 43_200.0 }
    }
}

/// Where platforms deliver.
pub struct Ears {
    pub store: Arc<dyn Store>,
    pub under_way: Arc<UnderWay>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    pub waiting: Waiting,
    /// How long after it was heard a line is remembered, if it is.
    pub remembers_after: Option<SignedDuration>,
    /// Makes this installation's chance its own.
    pub seed: u64,
}

impl Ears {
    /// Returns when what was heard and what follows from it are safe.
    pub async fn hear(&self, heard: Heard) -> Result<Receipt, StoreError> {
        let follows = self.what_follows(&heard);
        let conversation = conversation(&heard).cloned();
        let line = line(&heard);
        let began = Instant::now();
        let now = self.clock.now();
        let remember = self.remembers_after.map(|interval| now + interval);
        let receipt = self.store.hear(Hearing { heard, follows, remember, now }).await?;
        if let Some((author, arrival)) = line.filter(|_| receipt.is_new) {
            self.metrics.heard(author, arrival);
            self.metrics.hearing_took(began);
        }
        if let Some(conversation) = conversation.filter(|_| receipt.has_overtaken) {
            self.under_way.overtake(&conversation);
        }
        Ok(receipt)
    }

    fn what_follows(&self, heard: &Heard) -> Follows {
        let now = self.clock.now();
        match heard {
            Heard::Message(message, arrival) => {
                let draw = || chance(self.seed, &[message.id.as_str(), "wait"]);
                what_follows(message, *arrival, &self.waiting, now, draw)
            }
            Heard::Edit(edit) => {
                let draw = chance(self.seed, &[edit.message.as_str(), "wait after an edit"]);
                Follows::Judge { due: now + wait(&self.waiting, draw) }
            }
            Heard::Deletion(deletion) => {
                let draw = chance(self.seed, &[deletion.message.as_str(), "wait after a deletion"]);
                Follows::Judge { due: now + wait(&self.waiting, draw) }
            }
            Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) => {
                Follows::Nothing(Gate::CaughtUp)
            }
        }
    }
}

/// Addressed: answer now. Other human lines: judge when the talk has rested. The persona's own
/// lines, bots' lines and old lines are settled by their gate.
pub fn what_follows(
    message: &Message,
    arrival: Arrival,
    waiting: &Waiting,
    now: Timestamp,
    draw: impl FnOnce() -> f64,
) -> Follows {
    match message.author.kind {
        AuthorKind::Persona => return Follows::Nothing(Gate::OwnLine),
        AuthorKind::Bot => return Follows::Nothing(Gate::OtherBot),
        AuthorKind::Human => {}
    }
    let is_young = now.duration_since(message.at) < seconds(waiting.max_message_age_seconds);
    match arrival {
        Arrival::Live | Arrival::CaughtUp if message.is_addressed() && is_young => {
            Follows::Owe { due: now }
        }
        Arrival::CaughtUp => Follows::Nothing(Gate::CaughtUp),
        Arrival::Live => Follows::Judge { due: now + wait(waiting, draw()) },
    }
}

/// `min_wait_seconds` ± `jitter_ratio`, evenly spread (seed 002-12); `draw` is in `[0, 1)`.
pub fn wait(waiting: &Waiting, draw: f64) -> SignedDuration {
    let spread = waiting.jitter_ratio * (2.0 * draw - 1.0);
    seconds(waiting.min_wait_seconds * (1.0 + spread))
}

fn line(heard: &Heard) -> Option<(AuthorKind, Arrival)> {
    match heard {
        Heard::Message(message, arrival) => Some((message.author.kind, *arrival)),
        Heard::Edit(_)
        | Heard::Deletion(_)
        | Heard::Channel(_)
        | Heard::User(_)
        | Heard::Reaction(_) => None,
    }
}

fn conversation(heard: &Heard) -> Option<&ConversationId> {
    match heard {
        Heard::Message(message, _) => Some(&message.conversation),
        Heard::Edit(edit) => Some(&edit.conversation),
        Heard::Deletion(deletion) => Some(&deletion.conversation),
        Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, Mention, MessageId, UserId, WorkspaceId};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn line(kind: AuthorKind, mentions: Vec<Mention>) -> Message {
        Message {
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: None,
            },
            id: MessageId::new("1"),
            at: at(1000),
            author: Author { id: UserId::new("u"), kind },
            text: "hello".into(),
            mentions,
            edits: 0,
        }
    }

    #[test]
    fn what_follows_from_a_line() {
        use crate::chat::Arrival::{CaughtUp, Live};
        use crate::chat::AuthorKind::{Bot, Human, Persona};
        let waiting = Waiting::default();
        let judge = Follows::Judge { due: at(1010) + SignedDuration::from_secs(300) };
        let owe = Follows::Owe { due: at(1010) };
        let own = Follows::Nothing(Gate::OwnLine);
        let bot = Follows::Nothing(Gate::OtherBot);
        let caught_up = Follows::Nothing(Gate::CaughtUp);
        let somebody = || vec![Mention::User(UserId::new("v"))];
        let persona = || vec![Mention::Persona];
        for (kind, mentions, arrival, expected) in [
            (Human, vec![], Live, judge),
            (Human, somebody(), Live, judge),
            (Human, persona(), Live, owe),
            (Bot, persona(), Live, bot),
            (Persona, persona(), Live, own),
            (Persona, vec![], CaughtUp, own),
            (Human, vec![], CaughtUp, caught_up),
            (Human, persona(), CaughtUp, owe),
        ] {
            let line = line(kind, mentions);
            assert_eq!(
                what_follows(&line, arrival, &waiting, at(1010), || 0.5),
                expected,
                "{line:?}"
            );
        }
        let old = what_follows(&line(Human, persona()), CaughtUp, &waiting, at(50_000), || 0.5);
        assert_eq!(old, caught_up);
    }

    #[test]
    fn the_wait_is_spread_evenly_around_its_middle() {
        let waiting = Waiting::default();
        assert_eq!(wait(&waiting, 0.0), SignedDuration::from_secs(210));
        assert_eq!(wait(&waiting, 0.5), SignedDuration::from_secs(300));
        assert_eq!(wait(&waiting, 0.999_999_9), SignedDuration::from_secs(390));
        let at_once = Waiting { min_wait_seconds: 0.0, ..waiting };
        assert_eq!(wait(&at_once, 0.9), SignedDuration::ZERO);
    }
}
