//! Plans: what somebody asked to be told at a time, once or again and again. A plan has a step of its own, so that it
//! neither waits for the conversation in which it was asked for, nor delays it.

pub mod promise;
pub mod recurrence;
mod token;
mod grammar;
pub mod time_expression;
pub mod request;

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::chat::{ConversationId, MessageId, UserId};
use crate::plan::recurrence::Recurrence;

number_id!(
    /// Names a plan within its store.
    PlanId
);

named_enum! {
    #[derive(Default, strum::EnumString)]
    pub enum PlanKind {
        /// Remind somebody of something.
        #[default]
        Reminder,
        /// Post something to the channel.
        Post,
        /// Come back to what was talked about.
        CheckBack,
        /// Ask somebody again, unless they have answered.
        FollowUp,
        /// Tell the asker what they missed.
        CatchUp,
        /// Do what the persona said that it would.
        Promise,
        /// Come back, unasked, to a question that nobody answered.
        Unanswered,
        /// Begin a conversation in a channel.
        FirstWord,
    }
}

impl PlanKind {
    /// Whether nobody asked for it, so that it is judged like any other unsolicited post.
    pub fn is_unasked(self) -> bool {
        matches!(self, PlanKind::Unanswered | PlanKind::FirstWord)
    }
}

/// Whom a plan is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// Who asked for it.
    Asker,
    /// Everybody in the conversation.
    Channel,
    /// Somebody else, as they were named: without `@` and honorific. It may be nobody's name.
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Assigned by the store.
    pub id: PlanId,
    /// By which people name it. Assigned by the store, and unique among the pending plans of a workspace.
    pub number: i64,
    /// Where it was asked for. It is said nowhere else.
    pub conversation: ConversationId,
    /// Who asked for it, or who waits for an answer. A first word has an empty id.
    pub asker: UserId,
    /// The message that asked for it, or that nobody answered. A slash command and a first word have none.
    pub message: Option<MessageId>,
    pub whom: Whom,
    pub kind: PlanKind,
    /// What to say, in the asker's words.
    pub what: Arc<str>,
    pub recurrence: Option<Recurrence>,
    /// The asker's time zone.
    pub zone: TimeZone,
    pub made: Timestamp,
    /// When it is to be said next.
    pub due: Timestamp,
}

/// The maximum length of what is to be said, in characters.
pub const MAX_LENGTH: usize = 500;
/// The maximum number of pending plans of a user, and in a channel.
pub const MAX_PER_USER: i64 = 50;
pub const MAX_PER_CHANNEL: i64 = 200;
/// A plan that is said later than this says why.
pub const LATE: SignedDuration = SignedDuration::from_mins(10);

impl Plan {
    /// When it is due, on the asker's clock.
    pub fn due_in_zone(&self) -> Zoned {
        self.due.to_zoned(self.zone.clone())
    }

    /// When it is due for the first time after both its last time and `now`, if it recurs.
    pub fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let last = self.due.max(now).to_zoned(self.zone.clone());
        Some(self.recurrence.as_ref()?.next_after(&last)?.timestamp())
    }

    /// When it was due for the last time at the earliest, if it recurs: as long ago as its longest span in the next
    /// week is.
    pub fn earliest_before(&self) -> Option<Timestamp> {
        let mut times = vec![self.due];
        for _ in 0..7 {
            times.push(self.next_due(*times.last()?)?);
        }
        let spans = times.windows(2).map(|pair| pair[1].duration_since(pair[0]));
        Some(self.due - spans.max()?)
    }

    /// Whether its moment is gone: it recurs, and its next time is nearer than the one that was missed.
    pub fn is_outdated(&self, now: Timestamp) -> bool {
        let late = now.duration_since(self.due);
        let next = self.next_due(now);
        late > LATE && next.is_some_and(|next| next.duration_since(now) < late)
    }
}
