//! The world around the process: the contents of the platform, which of them were acknowledged, and what else the
//! test knows. It survives every crash of the process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aizuchi_agent::inbox::Delivery;
use aizuchi_harness::fixtures::{START, at, workspace};
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{
    Arrival, AuthorKind, ChannelId, ConversationId, Deletion, Edit, Heard, Mention, Message,
    MessageId, Reaction, ReactionChange, UserId,
};
use aizuchi_model::clock::Clock;
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use jiff::{SignedDuration, Timestamp};

use crate::simulation::promises::Inspector;

/// A violated invariant, and how it showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub promise: &'static str,
    pub how: String,
}

/// A message as the platform shows it.
#[derive(Clone, Debug)]
pub struct PlatformMessage {
    /// The message before any edit.
    pub written: Message,
    pub message: Message,
    pub is_deleted: bool,
    /// The key of the post, if it is one.
    pub key: Option<Arc<str>>,
    pub is_heard: bool,
}

/// An event of a message, by its number in `messages`.
#[derive(Clone, Debug)]
pub enum EventKind {
    Message(usize),
    /// The same client sent it again, under another id.
    Resent(usize, MessageId),
    Edit {
        number: usize,
        text: String,
        mentions: Vec<Mention>,
    },
    Deletion(usize),
    Reaction(usize, UserId),
}

impl EventKind {
    pub fn message_number(&self) -> usize {
        match self {
            EventKind::Message(number)
            | EventKind::Resent(number, _)
            | EventKind::Edit { number, .. }
            | EventKind::Deletion(number)
            | EventKind::Reaction(number, _) => *number,
        }
    }
}

/// An event that the platform sends until it is acknowledged.
#[derive(Clone, Debug)]
pub struct PlatformEvent {
    pub kind: EventKind,
    pub at: Timestamp,
    pub is_acknowledged: bool,
}

/// A word that users wrote, including one that was edited away.
#[derive(Clone, Debug)]
pub struct Word {
    pub author: UserId,
    pub channel: &'static str,
    pub is_heard: bool,
    /// Whether its author was forgotten after it was heard.
    pub is_forgotten: bool,
}

/// A text or a reaction that reached the platform.
pub struct Posted {
    pub item: OutboxItem,
    pub posted: PostedMessage,
}

/// A model call.
#[derive(Clone, Copy, Debug)]
pub struct BookedCall {
    /// The time by the machine's clock.
    pub at: Timestamp,
    pub tokens: u64,
}

pub struct World {
    pub clock: Clock,
    /// Whether the transcript is printed as it is written, so that a day without an end shows where it is stuck.
    is_shown: bool,
    state: Mutex<WorldState>,
}

#[derive(Default)]
pub struct WorldState {
    /// The error of the machine's clock.
    pub skew: SignedDuration,
    /// The number of times the machine slept.
    pub suspensions: usize,
    pub is_behind: bool,
    /// Whether faults have ended.
    pub is_over: bool,
    pub messages: Vec<PlatformMessage>,
    pub events: Vec<PlatformEvent>,
    pub words: HashMap<String, Word>,
    /// When users last asked to be forgotten.
    pub forgotten: BTreeMap<UserId, Timestamp>,
    pub posted: Vec<Posted>,
    /// Posts in transit, with their arrival times.
    pub late: Vec<(Timestamp, OutboxItem)>,
    /// The revision at the last read of each conversation.
    pub seen: HashMap<ConversationId, u64>,
    pub booked: Vec<BookedCall>,
    pub most_tokens: u64,
    pub calls: usize,
    /// The messages that asked, with their conversations.
    pub asked: BTreeMap<MessageId, ConversationId>,
    /// How often an edit made an answered message ask again.
    pub anew: BTreeMap<MessageId, usize>,
    pub answers: BTreeMap<(ChannelId, MessageId), usize>,
    /// The ids under which messages were sent again.
    pub resent: BTreeSet<MessageId>,
    /// The number of posts that landed soon after a message that they could not have considered.
    pub collisions: usize,
    pub unsolicited: usize,
    pub crashes: usize,
    /// Reads the currently open store.
    pub inspector: Option<Inspector>,
    pub transcript: Vec<String>,
    pub broken: Option<Broken>,
}

pub const PERSONA: &str = "u-persona";
/// An unsolicited post collides with a message that it could not have considered if it follows this soon.
const COLLISION: SignedDuration = SignedDuration::from_secs(5);

impl World {
    pub fn new(is_shown: bool) -> Self {
        Self { clock: Clock::manual(at(0)), is_shown, state: Mutex::default() }
    }

    pub fn lock(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The platform's own time.
    pub fn now(&self) -> Timestamp {
        self.clock.now() - self.lock().skew
    }

    /// Waits while time passes, whatever the machine's clock shows.
    pub async fn pass(&self, milliseconds: i64) {
        let limit = SignedDuration::from_millis(milliseconds);
        let _ = self.clock.timeout(limit, std::future::pending::<()>()).await;
    }

    pub fn log(&self, what: impl AsRef<str>) {
        let at = self.clock.now().as_millisecond() - START * 1000;
        let line = format!("{at:>9} {}", what.as_ref());
        if self.is_shown {
            println!("{line}");
        }
        self.lock().transcript.push(line);
    }

    /// Records a violated invariant. Only the first one counts.
    pub fn breaks(&self, promise: &'static str, how: impl Into<String>) {
        let how = how.into();
        self.log(format!("BROKEN: {promise}: {how}"));
        self.lock().broken.get_or_insert(Broken { promise, how });
    }

    /// Writes a message to the platform. Returns its event.
    pub fn write(&self, message: Message, key: Option<Arc<str>>) -> usize {
        let at = message.at;
        let mut state = self.lock();
        let written = message.clone();
        state.messages.push(PlatformMessage {
            written,
            message,
            is_deleted: false,
            key,
            is_heard: false,
        });
        let number = state.messages.len() - 1;
        state.emit(EventKind::Message(number), at)
    }

    /// Adds a post to the platform, possibly after its sender has stopped waiting.
    pub fn land(&self, item: &OutboxItem) -> PostedMessage {
        let now = self.now();
        let number = self.lock().posted.len();
        let id = item.reaction_to.clone().unwrap_or(MessageId::new(format!("p{number:03}")));
        let posted = PostedMessage {
            id,
            thread: item.conversation.thread.clone(),
            at: now,
            author: UserId::new(PERSONA),
        };
        self.log(format!("posted {} [{}] {:?}", posted.id, item.conversation.channel, item.text));
        self.check_landing(item);
        self.count_collision(item);
        let item = item.clone();
        let message =
            item.reaction_to.is_none().then(|| (item.to_message(&posted), item.key.clone()));
        self.lock().posted.push(Posted { item, posted: posted.clone() });
        if let Some((message, key)) = message {
            self.write(message, Some(key));
        }
        posted
    }

    /// Counts unsolicited posts that land soon after a message that the last check cannot have considered, since the
    /// platform had not delivered it by then.
    fn count_collision(&self, item: &OutboxItem) {
        let is_first = item.id == item.first_in_draft && item.reaction_to.is_none();
        if !is_first || item.metadata.only_for.is_some() || !item.metadata.owed.is_empty() {
            return;
        }
        let now = self.now();
        let mut state = self.lock();
        let is_unseen = state.events.iter().rev().any(|event| {
            let EventKind::Message(number) = event.kind else { return false };
            let message = &state.messages[number].message;
            !event.is_acknowledged
                && message.is_human()
                && message.conversation == item.conversation
                && now.duration_since(message.at) <= COLLISION
        });
        state.unsolicited += 1;
        state.collisions += usize::from(is_unseen);
    }

    /// Looks for a post by its key.
    pub fn find(&self, item: &OutboxItem) -> Option<PostedMessage> {
        let state = self.lock();
        let posted = state.posted.iter().find(|posted| posted.item.key == item.key);
        posted.map(|posted| posted.posted.clone())
    }

    /// Adds the posts that arrive late.
    pub fn land_late(&self) {
        let now = self.now();
        let due: Vec<OutboxItem> = {
            let mut state = self.lock();
            let (due, later) = state.late.drain(..).partition(|(at, _)| *at <= now);
            state.late = later;
            Vec::into_iter(due).map(|(_, item)| item).collect()
        };
        due.iter().for_each(|item| drop(self.land(item)));
    }

    fn check_landing(&self, item: &OutboxItem) {
        let is_reaction = item.reaction_to.is_some();
        let mut doubled = Vec::new();
        {
            let state = self.lock();
            // Reacting twice changes nothing.
            if !is_reaction
                && state.messages.iter().any(|shown| shown.key.as_ref() == Some(&item.key))
            {
                doubled.push(format!("{} was posted before: {:?}", item.id, item.text));
            }
            if item.id == item.first_in_draft {
                for message in item.metadata.owed.iter().filter_map(Owed::message) {
                    let key = (item.conversation.channel.clone(), message.clone());
                    let answers = state.answers.get(&key).copied().unwrap_or(0) + 1;
                    let most = 1 + state.anew.get(message).copied().unwrap_or(0);
                    if answers > most {
                        doubled.push(format!("{message} is answered for the {answers}th time"));
                    }
                }
            }
        }
        for how in doubled {
            self.breaks("nothing is posted twice", how);
        }
        let mut state = self.lock();
        if item.id == item.first_in_draft {
            for message in item.metadata.owed.iter().filter_map(Owed::message) {
                let key = (item.conversation.channel.clone(), message.clone());
                *state.answers.entry(key).or_default() += 1;
            }
        }
    }

    /// The number of one of users' newest messages in a channel.
    pub fn recent(&self, channel: &str, back: usize, only_top_level: bool) -> Option<usize> {
        let state = self.lock();
        let in_channel = state.messages.iter().enumerate().rev().filter(|(_, shown)| {
            let ConversationId { channel: of, thread, .. } = &shown.message.conversation;
            of.as_str() == channel
                && !shown.is_deleted
                && shown.message.author.id.as_str() != PERSONA
                && (!only_top_level || thread.is_none())
        });
        in_channel.map(|(number, _)| number).nth(back)
    }

    /// The delivery of an event, unless it is acknowledged or nothing is left to deliver.
    pub fn delivery(&self, event: usize, backfilled: bool) -> Option<Delivery> {
        let mut state = self.lock();
        let kind = state.events[event].kind.clone();
        let shown = state.messages[kind.message_number()].clone();
        let is_gone = shown.is_deleted && !shown.is_heard;
        if state.events[event].is_acknowledged || (backfilled && is_gone) {
            state.events[event].is_acknowledged = true;
            return None;
        }
        let ConversationId { channel, .. } = shown.message.conversation.clone();
        let (conversation, message) =
            (shown.message.conversation.clone(), shown.message.id.clone());
        let at = state.events[event].at;
        let is_own = shown.message.author.id.as_str() == PERSONA;
        let client_message_id = (!is_own).then(|| format!("client-{}", shown.message.id).into());
        let heard = match kind {
            // The history shows a message in its current version.
            EventKind::Message(number) if backfilled => {
                let answered = state.is_answered_since(number);
                let arrival =
                    if answered { Arrival::BackfilledAnswered } else { Arrival::Backfilled };
                Heard::Message(shown.message, arrival)
            }
            EventKind::Message(_) => Heard::Message(shown.written, Arrival::Live),
            EventKind::Resent(_, id) => {
                Heard::Message(Message { id, ..shown.written }, Arrival::Live)
            }
            EventKind::Edit { text, mentions, .. } => {
                let (text, attachments) = (text.into(), None);
                let made_at = at;
                let edit = Edit { conversation, message, at, made_at, text, mentions, attachments };
                Heard::Edit(edit)
            }
            EventKind::Deletion(_) => Heard::Deletion(Deletion { conversation, message, at }),
            EventKind::Reaction(_, user) => Heard::Reaction(Reaction {
                workspace: workspace(),
                channel,
                message,
                user,
                kind: AuthorKind::Human,
                emoji: "👍".into(),
                at,
                change: ReactionChange::Added,
            }),
        };
        Some(Delivery { client_message_id, ..heard.into() })
    }

    /// Whether an earlier event of the same message must come first.
    pub fn must_wait(&self, event: usize) -> bool {
        let state = self.lock();
        let number = state.events[event].kind.message_number();
        let mut earlier = state.events[..event].iter();
        earlier.any(|earlier| !earlier.is_acknowledged && earlier.kind.message_number() == number)
    }
}

impl WorldState {
    pub fn emit(&mut self, kind: EventKind, at: Timestamp) -> usize {
        self.events.push(PlatformEvent { kind, at, is_acknowledged: false });
        self.events.len() - 1
    }

    fn is_answered_since(&self, number: usize) -> bool {
        let conversation = &self.messages[number].message.conversation;
        let later = self.messages[number + 1..].iter();
        later
            .filter(|shown| shown.message.author.id.as_str() == PERSONA && !shown.is_deleted)
            .any(|shown| shown.message.conversation == *conversation)
    }
}

pub fn conversation(channel: &str, thread: Option<MessageId>) -> ConversationId {
    let channel = ChannelId::new(channel);
    ConversationId { workspace: workspace(), channel, thread }
}
