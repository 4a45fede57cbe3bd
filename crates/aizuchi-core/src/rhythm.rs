//! The rhythm of a channel: when users write ([`tempo`]), when a conversation is judged, and how long a person
//! would take to answer ([`answer_pace`]). [`judge_due`] is the whole rule for that, a pure function of the
//! channel's tempo and of the messages since the last judgment.

pub mod answer_pace;
pub mod tempo;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::chat::{MessageId, UserId};
use crate::rhythm::tempo::Tempo;

/// A conversation is at rest after this many typical gaps without a message.
const REST_GAPS: f64 = 12.0;
/// While a question is open, a pause of this length counts as rest.
const QUESTION_REST: SignedDuration = SignedDuration::from_secs(90);
/// An open question is judged at this age even while users keep talking …
const MAX_QUESTION_AGE: SignedDuration = SignedDuration::from_secs(300);
/// … or when this many messages are below it.
const MAX_MESSAGES_BELOW_QUESTION: usize = 16;

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

/// A question to the channel that no user has taken up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    pub message: MessageId,
    pub asker: UserId,
    pub at: Timestamp,
    /// The number of messages below it.
    pub messages_since: usize,
}

/// The messages of a conversation since its last judgment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeTimer {
    /// When its first message was heard.
    since: Option<Timestamp>,
    /// The open questions, oldest first.
    open_questions: Vec<OpenQuestion>,
    /// When it is judged, if no message follows.
    due: Option<Timestamp>,
}

/// The properties of a message that the rule depends on.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    pub message: &'a MessageId,
    pub author: &'a UserId,
    /// Whether it asks the channel something.
    pub is_open_question: bool,
}

/// When to judge a conversation whose newest message arrived at `now`.
///
/// 1. It is judged when it is at *rest*: after twelve of the channel's typical gaps ([`Tempo`]), within
///    `min_rest` and `max_rest`.
/// 2. While a *question to the channel* is open, a rest is at most 90 seconds. The oldest such question has a
///    separate timer that no message restarts: it is judged at an age of five minutes, or when sixteen
///    messages are below it, because readers and the judge see about twenty. The same judgment covers all
///    other open questions.
/// 3. In any case it is judged when the first unjudged message is as old as `max_wait`.
///
/// The numbers come from recorded conversations (`docs/internals/replay.md` has the tables). On busy IRC (a message
/// every 6 seconds) a rest of 300 seconds sees 2 % of the questions that stay unanswered. Four gaps see 79 % of them
/// at 92 calls for a thousand messages, eight gaps 28 % at 21 calls, so the tempo alone is not enough. A timer
/// of 60 seconds from each question sees 95 % at 73 calls, but most of those calls concern questions that a
/// user is about to answer: nine of ten first replies come within 92 seconds, and 97.6 % within 300. So a
/// question waits until just before it scrolls away, which gathers several in one call. Twelve gaps are as good
/// as sixteen there, because the questions cause nearly all calls, and on slow Gitter (a message every 71
/// seconds) both hit the longest rest.
pub fn judge_due(
    now: Timestamp,
    tempo: &Tempo,
    oldest: Option<&OpenQuestion>,
    since: Timestamp,
    bounds: &WaitBounds,
) -> Timestamp {
    let rest = rest_duration(tempo, bounds);
    let rested = match oldest {
        None => now + rest,
        Some(question) => (now + rest.min(QUESTION_REST)).min(question.judge_deadline(now)),
    };
    let latest = since.checked_add(bounds.max_wait).unwrap_or(rested);
    rested.min(latest).max(now)
}

/// Returns how long a pause counts as rest.
pub fn rest_duration(tempo: &Tempo, bounds: &WaitBounds) -> SignedDuration {
    let milliseconds = (REST_GAPS * tempo.typical_gap() * 1000.0).round() as i64;
    let floor = bounds.min_rest.min(bounds.max_rest);
    SignedDuration::from_millis(milliseconds).clamp(floor, bounds.max_rest)
}

impl OpenQuestion {
    fn judge_deadline(&self, now: Timestamp) -> Timestamp {
        if self.messages_since >= MAX_MESSAGES_BELOW_QUESTION {
            now
        } else {
            self.at + MAX_QUESTION_AGE
        }
    }
}

impl JudgeTimer {
    /// Records a message that arrived at `now`. `is_open` tells whether an earlier question is still open after it.
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
        self.open_questions.retain(|question| is_open(&question.message));
        for question in &mut self.open_questions {
            question.messages_since += 1;
        }
        let is_known =
            self.open_questions.iter().any(|question| question.message == *message.message);
        if message.is_open_question && !is_known {
            let (message, asker) = (message.message.clone(), message.author.clone());
            self.open_questions.push(OpenQuestion { message, asker, at: now, messages_since: 0 });
        }
        self.update_due(now, tempo, bounds)
    }

    /// Records an edit or deletion at `now`: a question in that message is no longer open.
    pub fn record_change(
        &mut self,
        message: &MessageId,
        now: Timestamp,
        tempo: &Tempo,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.reset_if_judged(now);
        self.open_questions.retain(|question| question.message != *message);
        self.update_due(now, tempo, bounds)
    }

    /// Records a message in the thread of a question, which is judged there from now on.
    pub fn record_thread_reply(&mut self, question: &MessageId) {
        self.open_questions.retain(|open| open.message != *question);
    }

    /// Whether the conversation was judged by `now`, so that nothing recorded here is new.
    pub fn is_judged(&self, now: Timestamp) -> bool {
        self.due.is_none_or(|due| due < now)
    }

    fn update_due(&mut self, now: Timestamp, tempo: &Tempo, bounds: &WaitBounds) -> Timestamp {
        let since = *self.since.get_or_insert(now);
        let due = judge_due(now, tempo, self.open_questions.first(), since, bounds);
        self.due = Some(due);
        due
    }

    /// Resets the timer after a judgment. It has seen every open question, so none of them may cause another judgment
    /// of the same state.
    fn reset_if_judged(&mut self, now: Timestamp) {
        if self.is_judged(now) {
            *self = Self::default();
        }
    }
}
