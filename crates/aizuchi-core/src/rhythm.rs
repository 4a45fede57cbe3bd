//! The rhythm of talk: when people write, when the persona would ([`delays`], [`sight`], [`typing`]), and when
//! talk is judged: [`due`] is the whole rule, a pure function of the channel's tempo and of what
//! was said since the conversation was judged last.

pub mod reply_delays;
pub mod question;
pub mod visibility_window;
pub mod tempo;
pub mod typing;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::chat::{MessageId, UserId};
use crate::rhythm::tempo::Tempo;

/// So many usual gaps without a line are a rest.
const REST_GAPS: f64 = 12.0;
/// While a question is open, so long a pause is a rest.
const QUESTION_REST: SignedDuration = SignedDuration::from_secs(90);
/// However people talk on, an open question is judged when it is so old …
const MAX_QUESTION_AGE: SignedDuration = SignedDuration::from_secs(300);
/// … or when so many lines stand below it.
const MAX_MESSAGES_BELOW_QUESTION: usize = 16;

/// How the wait before a judgment is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitStrategy {
    /// The same in every room, spread by chance (seed 002).
    Fixed,
    /// It follows the room's own tempo.
    #[default]
    Adaptive,
}

/// What people have set the wait to be between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitBounds {
    /// No rest is shorter.
    pub min_rest: SignedDuration,
    /// No rest is longer.
    pub max_rest: SignedDuration,
    /// So long after the first line that was not judged, it is judged even if people still talk.
    pub max_wait: SignedDuration,
}

/// A question to the room that nobody has taken up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    pub message: MessageId,
    pub asker: UserId,
    pub at: Timestamp,
    /// How many lines stand below it.
    pub messages_since: usize,
}

/// What was said in a conversation since it was judged last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeTimer {
    /// When the first line of it was heard.
    since: Option<Timestamp>,
    /// The open questions, oldest first.
    open_questions: Vec<OpenQuestion>,
    /// When it is judged, if nobody says more.
    due: Option<Timestamp>,
}

/// A line as the rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    pub message: &'a MessageId,
    pub author: &'a UserId,
    /// It asks, and names nobody.
    pub is_open_question: bool,
}

/// When a conversation is judged in which the newest line was said at `now`.
///
/// 1. It is judged when the talk has *rested*: for twelve of the channel's usual gaps
///    ([`Tempo`]), but no shorter than the floor and no longer than the longest rest.
/// 2. While a *question to the room* is open, a rest is no longer than 90 seconds, and the oldest
///    such question has a timer of its own that no line restarts: it is judged when it is five minutes
///    old, or when sixteen lines stand below it, since a reader's eye, and the judge's, has
///    twenty. Whatever else is open is seen by the same judgment.
/// 3. Whatever people do, it is judged when the first line that was not judged is as old as the
///    ceiling.
///
/// Where that comes from, all from recorded talk (`docs/replay.md` has the tables): on busy IRC (a line
/// every 6 seconds) a rest of 300 seconds sees 2 % of the questions that nobody answers; four
/// gaps see 79 % of them and cost 92 calls for a thousand lines, eight gaps 28 % for 21, so
/// the tempo alone is not it. A timer of 60 seconds from each question sees 95 % for 73 calls, and most
/// of those are asked about questions that somebody is answering: nine of ten first replies come within 92
/// seconds, and 97.6 % of replies within 300. So a question has until just before it scrolls
/// away, which gathers several in one call. Twelve gaps are as good as sixteen there (the questions pay for
/// nearly all calls), and on slow Gitter (a line every 71 seconds) both are the longest rest.
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
        Some(asked) => (now + rest.min(QUESTION_REST)).min(asked.judge_deadline(now)),
    };
    let latest = since.checked_add(bounds.max_wait).unwrap_or(rested);
    rested.min(latest).max(now)
}

/// How long a pause is a rest.
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
    /// A line was said at `now`. Returns when the talk is judged, if nobody says more.
    pub fn record_message(
        &mut self,
        line: NewMessage<'_>,
        names: impl Fn(&UserId) -> bool,
        now: Timestamp,
        tempo: &Tempo,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.reset_if_judged(now);
        self.open_questions.retain(|asked| asked.asker == *line.author || !names(&asked.asker));
        for asked in &mut self.open_questions {
            asked.messages_since += 1;
        }
        let is_known = self.open_questions.iter().any(|asked| asked.message == *line.message);
        if line.is_open_question && !is_known {
            let (message, asker) = (line.message.clone(), line.author.clone());
            self.open_questions.push(OpenQuestion { message, asker, at: now, messages_since: 0 });
        }
        self.update_due(now, tempo, bounds)
    }

    /// A line was edited or deleted at `now`, and what it asked is asked no longer.
    pub fn record_change(
        &mut self,
        line: &MessageId,
        now: Timestamp,
        tempo: &Tempo,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.reset_if_judged(now);
        self.open_questions.retain(|asked| asked.message != *line);
        self.update_due(now, tempo, bounds)
    }

    /// Somebody answers a question in its thread.
    pub fn record_thread_reply(&mut self, question: &MessageId, author: &UserId) {
        self.open_questions.retain(|asked| asked.message != *question || asked.asker == *author);
    }

    /// It was judged by then, so nothing of it is new.
    pub fn is_judged(&self, now: Timestamp) -> bool {
        self.due.is_none_or(|due| due < now)
    }

    fn update_due(&mut self, now: Timestamp, tempo: &Tempo, bounds: &WaitBounds) -> Timestamp {
        let since = *self.since.get_or_insert(now);
        let due = judge_due(now, tempo, self.open_questions.first(), since, bounds);
        self.due = Some(due);
        due
    }

    /// A judgment saw every open question: none is a reason for another one (one verdict for one state).
    fn reset_if_judged(&mut self, now: Timestamp) {
        if self.is_judged(now) {
            *self = Self::default();
        }
    }
}
