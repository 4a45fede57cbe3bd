//! Several companions in one recorded channel. Each is a separate installation with its own bot, and hears the posts of
//! the others.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use aizuchi_core::chat::{Author, AuthorKind, Message, MessageId, UserId};
use aizuchi_core::event::{Claim, Event, OutboxItem, Outcome, PostedMessage, StepResult};
use aizuchi_core::rules::Rulebook;

/// The delay until the others hear a companion's post. Within this time, two of them may speak at once.
const DELIVERY_TIME: SignedDuration = SignedDuration::from_secs(1);

/// The companions in a recorded channel, and their acts.
pub struct Companions {
    users: Vec<UserId>,
    state: Mutex<CompanionState>,
}

#[derive(Default)]
struct CompanionState {
    /// Posts that the others have not heard yet: when they will, and the number of the companion that posted.
    posts: VecDeque<(Timestamp, usize, Message)>,
    /// In chronological order.
    acts: Vec<CompanionAct>,
}

/// A companion's wish to speak unasked, or its unasked post.
pub struct CompanionAct {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    pub about: MessageId,
    pub companion: usize,
    pub has_spoken: bool,
}

impl Companions {
    pub fn single() -> Self {
        Self { users: vec![UserId::new("persona")], state: Mutex::default() }
    }

    pub fn several(count: usize) -> Self {
        let users = (1..=count).map(|number| UserId::new(format!("companion-{number}")));
        Self { users: users.collect(), state: Mutex::default() }
    }

    fn is_one(&self) -> bool {
        self.users.len() == 1
    }

    pub fn user(&self, number: usize) -> UserId {
        self.users[number].clone()
    }

    /// Makes the companions known to each other, unless the settings name others. Recorded bots do not hear the posts,
    /// so they are not companions.
    pub fn add_to(&self, mut rulebook: Rulebook) -> Rulebook {
        let others = if self.is_one() { Vec::new() } else { self.users.clone() };
        rulebook.change_all(|rules| {
            rules.companions.get_or_insert_with(|| others.clone());
        });
        rulebook
    }

    pub fn post_id(&self, number: usize, item: &OutboxItem) -> MessageId {
        MessageId::new(match self.is_one() {
            true => format!("own-{}", item.id),
            false => format!("own-{number}-{}", item.id),
        })
    }

    /// Queues a companion's post for the others.
    pub fn post(&self, number: usize, item: &OutboxItem, posted: &PostedMessage) {
        if self.is_one() || item.reaction_to.is_some() {
            return;
        }
        let author = Author { id: posted.author.clone(), kind: AuthorKind::Bot };
        let message = Message { author, ..item.to_message(posted) };
        self.state.lock().posts.push_back((posted.at + DELIVERY_TIME, number, message));
    }

    /// Returns the time at which the others hear the next post.
    pub fn next_delivery(&self) -> Option<Timestamp> {
        self.state.lock().posts.front().map(|(at, ..)| *at)
    }

    /// Takes the posts that the others have heard by now, and the numbers of the companions that posted.
    pub fn take_delivered(&self, now: Timestamp) -> Vec<(usize, Message)> {
        let mut state = self.state.lock();
        let count = state.posts.iter().take_while(|(at, ..)| *at <= now).count();
        state.posts.drain(..count).map(|(_, number, message)| (number, message)).collect()
    }

    /// Records that a companion wants to speak unasked, or has spoken.
    pub fn record(&self, companion: usize, claim: &Claim, outcome: &Outcome, at: Timestamp) {
        if self.is_one() || claim.is_owed {
            return;
        }
        let wanted = if let StepResult::Join { judgment, .. } = &outcome.result {
            judgment.about.clone()
        } else {
            None
        };
        let said = if let (StepResult::Posted(_), Event::Post(item)) =
            (&outcome.result, &claim.event)
            && is_first_text(item)
        {
            item.metadata.about.clone()
        } else {
            None
        };
        let has_spoken = said.is_some();
        let Some(about) = said.or(wanted) else { return };
        let thread = claim.event.conversation().thread.clone();
        self.state.lock().acts.push(CompanionAct { at, thread, about, companion, has_spoken });
    }

    /// Takes the acts so far, in chronological order.
    pub fn take_acts(&self) -> Vec<CompanionAct> {
        std::mem::take(&mut self.state.lock().acts)
    }
}

fn is_first_text(item: &OutboxItem) -> bool {
    item.reaction_to.is_none() && item.id == item.first_in_draft
}
