//! The rhythm of a channel: when users write ([`tempo`]), when a conversation is judged, and how long a person
//! would take to answer ([`answer_pace`]). [`judge_due`] is the whole rule for that, a pure function of the
//! channel's tempo and of the messages since the last judgment.

pub mod answer_pace;
pub mod tempo;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::chat::MessageId;
use crate::rhythm::tempo::Tempo;

/// A conversation is at rest after this many typical gaps without a message.
const REST_GAPS: f64 = 12.0;
/// While a message is open, a pause of this length counts as rest.
const OPEN_REST: SignedDuration = SignedDuration::from_secs(90);
/// An open message is judged at this age even while users keep talking …
const MAX_OPEN_AGE: SignedDuration = SignedDuration::from_secs(210);
/// … or when this many messages are below it.
const MAX_MESSAGES_BELOW: usize = 16;
/// A message that names the persona waits only so long for those who write on, since it may be put to it …
const NAMED_REST: SignedDuration = SignedDuration::from_secs(8);
/// … and is judged at this age.
const MAX_NAMED_AGE: SignedDuration = SignedDuration::from_secs(24);

/// How the wait before a judgment is determined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitStrategy {
    /// The same in every channel, with random jitter.
    Fixed,
    /// Follows the channel's own tempo.
    #[default]
    Adaptive,
}

/// The configured bounds of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitBounds {
    /// The shortest rest.
    pub min_rest: SignedDuration,
    /// The longest rest.
    pub max_rest: SignedDuration,
    /// The first unjudged message is judged after this time, even if users are still talking.
    pub max_wait: SignedDuration,
}

/// A message, in whatever form, that calls for a word from anybody and that no user has taken up; a recent answer with a
/// number, which may be wrong; or one that names the persona without surely calling it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMessage {
    pub message: MessageId,
    pub at: Timestamp,
    /// The number of messages below it.
    pub messages_since: usize,
    pub names_persona: bool,
}

/// The messages of a conversation since its last judgment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeTimer {
    /// When its first message was heard.
    since: Option<Timestamp>,
    /// The open messages, oldest first.
    open_messages: Vec<OpenMessage>,
    /// When it is judged, if no message follows.
    due: Option<Timestamp>,
}

/// The properties of a message that the rule depends on.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    pub message: &'a MessageId,
    /// Whether it calls for a word from anybody, or is an answer that may be wrong.
    pub is_open: bool,
    pub names_persona: bool,
}

/// When to judge a conversation whose newest message arrived at `now`.
///
/// 1. It is judged when it is at *rest*: after twelve of the channel's typical gaps ([`Tempo`]), within
///    `min_rest` and `max_rest`.
/// 2. While a message is *open*, a rest is at most 90 seconds. Each such message has a
///    separate timer that no message restarts: it is judged at an age of three and a half minutes, or when sixteen
///    messages are below it, because readers and the judge see about twenty. The same judgment covers all
///    other open messages. One that names the persona is judged after a few seconds.
/// 3. In any case it is judged when the first unjudged message is as old as `max_wait`.
///
/// The numbers come from recorded conversations (`docs/internals/replay.md` has figures). On busy IRC (a message
/// every 6 seconds) a rest of 300 seconds sees 2 % of the questions that stay unanswered. Four gaps see 79 % of them
/// at 92 calls for a thousand messages, eight gaps 28 % at 21 calls, so the tempo alone is not enough. A timer
/// of 60 seconds from each question sees 95 % at 73 calls, but most of those calls concern questions that a
/// user is about to answer: nine of ten first replies come within 92 seconds, and 97.6 % within 300. So a
/// question that talk goes on behind waits for nearly all of these, which gathers several in one call. Twelve gaps
/// are as good as sixteen there, because the questions cause nearly all calls, and on slow Gitter (a message every 71
/// seconds) both hit the longest rest.
pub fn judge_due(
    now: Timestamp,
    tempo: &Tempo,
    open: &[OpenMessage],
    since: Timestamp,
    bounds: &WaitBounds,
) -> Timestamp {
    let rest = rest_duration(tempo, bounds);
    let rested = open.iter().map(|open| open.judge_due(now, rest)).min().unwrap_or(now + rest);
    let latest = since.checked_add(bounds.max_wait).unwrap_or(rested);
    rested.min(latest).max(now)
}

/// Returns how long a pause counts as rest.
pub fn rest_duration(tempo: &Tempo, bounds: &WaitBounds) -> SignedDuration {
    let milliseconds = (REST_GAPS * tempo.typical_gap() * 1000.0).round() as i64;
    let floor = bounds.min_rest.min(bounds.max_rest);
    SignedDuration::from_millis(milliseconds).clamp(floor, bounds.max_rest)
}

impl OpenMessage {
    fn judge_due(&self, now: Timestamp, rest: SignedDuration) -> Timestamp {
        let (pause, max_age) = match self.names_persona {
            true => (NAMED_REST, MAX_NAMED_AGE),
            false => (OPEN_REST, MAX_OPEN_AGE),
        };
        match self.messages_since {
            MAX_MESSAGES_BELOW.. => now,
            _ => (now + rest.min(pause)).min(self.at + max_age),
        }
    }
}

impl JudgeTimer {
    /// Records a message that arrived at `now`. `is_open` tells whether an earlier message is still open after it.
    /// Returns when to judge the conversation, if no message follows.
    pub fn record_message(
        &mut self,
        message: NewMessage<'_>,
        is_open: impl Fn(&MessageId) -> bool,
        now: Timestamp,
        tempo: &Tempo,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.reset_if_judged(now);
        self.open_messages.retain(|open| open.names_persona || is_open(&open.message));
        for open in &mut self.open_messages {
            open.messages_since += 1;
        }
        let is_known = self.open_messages.iter().any(|open| open.message == *message.message);
        if (message.is_open || message.names_persona) && !is_known {
            self.open_messages.push(OpenMessage {
                message: message.message.clone(),
                at: now,
                messages_since: 0,
                names_persona: message.names_persona,
            });
        }
        self.update_due(now, tempo, bounds)
    }

    /// Records an edit or deletion at `now`: that message is no longer open.
    pub fn record_change(
        &mut self,
        message: &MessageId,
        now: Timestamp,
        tempo: &Tempo,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.reset_if_judged(now);
        self.open_messages.retain(|open| open.message != *message);
        self.update_due(now, tempo, bounds)
    }

    /// Records a message in the thread of `parent`, which is judged there from now on.
    pub fn record_thread_reply(&mut self, parent: &MessageId) {
        self.open_messages.retain(|open| open.message != *parent);
    }

    /// Whether the conversation was judged by `now`, so that nothing recorded here is new.
    pub fn is_judged(&self, now: Timestamp) -> bool {
        self.due.is_none_or(|due| due < now)
    }

    fn update_due(&mut self, now: Timestamp, tempo: &Tempo, bounds: &WaitBounds) -> Timestamp {
        let since = *self.since.get_or_insert(now);
        let due = judge_due(now, tempo, &self.open_messages, since, bounds);
        self.due = Some(due);
        due
    }

    /// Resets the timer after a judgment. It has seen every open message, so none of them may cause another judgment
    /// of the same state.
    fn reset_if_judged(&mut self, now: Timestamp) {
        if self.is_judged(now) {
            *self = Self::default();
        }
    }
}
