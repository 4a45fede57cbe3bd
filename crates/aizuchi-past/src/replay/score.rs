//! Scores a policy's timing against what the users of the recording did. Messages by bots do not count.
//!
//! The measures are taken for each conversation: how often the judge is asked, how many unanswered questions it gets
//! to see in time, and how often the persona would have spoken into an active exchange.

use std::collections::{BTreeMap, HashSet};

use aizuchi_import::history::RecordedChannel;
use aizuchi_import::rows::{IdHash, MessageRow, RowList};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::replay::Policy;
use crate::replay::record::{JudgeCall, PostRecord, Record};

/// A question counts as reached if it is judged, or answered, within this time …
const REACH_WINDOW: SignedDuration = SignedDuration::from_secs(600);
/// … and is still among this number of newest human messages.
const REACH_MESSAGES: usize = 20;
/// The assumed time from a judge call to the post.
const ASSUMED_POST_DELAY: SignedDuration = SignedDuration::from_secs(10);
/// An exchange is active if two users wrote within this time before the call …
const EXCHANGE_BEFORE: SignedDuration = SignedDuration::from_secs(120);
/// … and a user goes on within this time after the persona would have spoken.
const EXCHANGE_AFTER: SignedDuration = SignedDuration::from_secs(60);
const DAY_SECONDS: i64 = 24 * 3_600;
/// Longer waits count as this long, so that their number is bounded.
const MAX_WAIT_SECONDS: f64 = 7200.0;

/// Sums over all channels.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReplayScore {
    pub policy: String,
    pub messages: usize,
    pub human_messages: usize,
    pub judge_calls: usize,
    #[serde(rename = "overtaken_calls")]
    pub superseded_calls: usize,
    /// Judge calls about a decision that had been judged before.
    pub second_looks: usize,
    /// Decisions that a gate settled without a call.
    pub gated: usize,
    /// Whether the recording says which messages answer which. If not, the three figures about questions mean nothing.
    #[serde(rename = "answers_annotated")]
    pub is_annotated: bool,
    /// Questions that open a conversation and that no other user ever answered.
    pub open_questions: usize,
    /// Open questions that were judged in time.
    pub reached_questions: usize,
    /// Open questions that were followed by a post in time.
    pub answered_questions: usize,
    /// Judge calls whose answer would have landed in an active exchange.
    pub calls_in_exchange: usize,
    pub spoken_posts: usize,
    /// How many posts that nobody asked for came how many seconds after the message that they answer.
    #[serde(skip)]
    waits: BTreeMap<u32, usize>,
    /// Posts that landed in an active exchange.
    pub posts_in_exchange: usize,
    /// Decisions that failed, because the judge's answer is unknown.
    pub failed: usize,
    pub prompt_bytes: u64,
    /// The bytes that prompts share with the previous prompt of their channel.
    pub prefix_bytes: u64,
    /// Both sums without the first prompt of each channel and day (UTC), because no cache lasts overnight.
    pub same_day_prompt_bytes: u64,
    pub same_day_prefix_bytes: u64,
    /// Wall-clock seconds that the replay took.
    pub elapsed_seconds: f64,
}

/// The times from a message to the post that answers it, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Waits {
    pub median: u32,
    pub p90: u32,
    pub worst: u32,
}

impl ReplayScore {
    /// Creates the score before any channel.
    pub fn new(policy: &Policy) -> Self {
        Self { policy: policy.name.clone(), ..Self::default() }
    }

    pub fn add(&mut self, channel: &RecordedChannel, record: &Record) {
        self.elapsed_seconds += record.elapsed_seconds;
        self.messages += channel.rows.len();
        self.human_messages += channel.rows.human_messages().count();
        self.judge_calls += record.calls.len();
        let mut last_day = None;
        for call in record.calls.iter() {
            let (prompt_bytes, prefix_bytes) = (call.prompt_bytes as u64, call.prefix_bytes as u64);
            self.superseded_calls += usize::from(call.is_superseded);
            self.second_looks += usize::from(call.is_second_look);
            self.prompt_bytes += prompt_bytes;
            self.prefix_bytes += prefix_bytes;
            // The first call of a channel on a day (UTC) is left out.
            let day = call.at.as_second().div_euclid(DAY_SECONDS);
            if last_day.replace(day) == Some(day) {
                self.same_day_prompt_bytes += prompt_bytes;
                self.same_day_prefix_bytes += prefix_bytes;
            }
        }
        self.gated += record.gated;
        self.spoken_posts += record.posts.len();
        for post in &record.posts {
            if let Some(about) = post.about.and_then(|about| channel.rows.find(about)) {
                let wait = post.at.duration_since(about.at()).as_secs_f64();
                let wait = wait.clamp(0.0, MAX_WAIT_SECONDS).round() as u32;
                *self.waits.entry(wait).or_default() += 1;
            }
        }
        self.failed += record.failed;
        // Replies alone, as Discord has them, do not say which messages nobody answered.
        self.is_annotated |= channel.is_annotated;
        let open = open_questions(channel);
        let calls = by_thread(&record.calls, |call| call.thread);
        let posts = by_thread(&record.posts, |post| post.thread);
        for thread in channel.rows.threads() {
            let id = channel.rows.thread_id(thread);
            let calls = in_thread(&calls, id, |call| call.thread);
            let posts = in_thread(&posts, id, |post| post.thread);
            self.add_conversation(channel.rows.human_messages_in(thread), &open, calls, posts);
        }
    }

    /// Adds a thread, or the top level: the messages by people, the judge calls and the posts, each in chronological
    /// order.
    fn add_conversation(
        &mut self,
        humans: RowList<'_>,
        open: &HashSet<IdHash>,
        calls: &[JudgeCall],
        posts: &[PostRecord],
    ) {
        if humans.is_empty() {
            return;
        }
        for call in calls {
            let spoken = call.at + ASSUMED_POST_DELAY;
            let heard = humans.among_first(call.heard_rows);
            let is_in = lands_in_exchange(call.at, heard, spoken, humans);
            self.calls_in_exchange += usize::from(is_in);
        }
        for post in posts {
            let heard = humans.among_first(post.heard_rows);
            let is_in = lands_in_exchange(post.at, heard, post.at, humans);
            self.posts_in_exchange += usize::from(is_in);
        }
        for (index, question) in humans.iter().enumerate() {
            if !open.contains(&question.id) {
                continue;
            }
            let asked = question.at();
            self.open_questions += 1;
            let is_judged = |call: &JudgeCall| {
                let heard = humans.among_first(call.heard_rows);
                !call.is_superseded && reaches(call.at, heard, index, asked)
            };
            let judged = within(calls, asked, REACH_WINDOW, |call| call.at);
            self.reached_questions += usize::from(judged.iter().any(is_judged));
            let is_answered = |post: &PostRecord| {
                let heard = humans.among_first(post.heard_rows);
                reaches(post.at, heard, index, asked)
            };
            let answered = within(posts, asked, REACH_WINDOW, |post| post.at);
            self.answered_questions += usize::from(answered.iter().any(is_answered));
        }
    }

    // An unknown figure is `None`, so that it is not taken for zero.

    pub fn calls_per_1000(&self) -> Option<f64> {
        share(self.judge_calls, self.human_messages).map(|calls| calls * 1000.0)
    }

    /// Returns the share of open questions that were judged in time.
    pub fn coverage(&self) -> Option<f64> {
        share(self.reached_questions, self.open_questions)
    }

    /// Returns the share of open questions that were answered in time.
    pub fn spoken_coverage(&self) -> Option<f64> {
        share(self.answered_questions, self.open_questions)
    }

    pub fn share_in_exchange(&self) -> Option<f64> {
        share(self.calls_in_exchange, self.judge_calls)
    }

    pub fn share_of_posts_in_exchange(&self) -> Option<f64> {
        share(self.posts_in_exchange, self.spoken_posts)
    }

    /// Returns the share of the prompts' bytes that are a prefix of the previous prompt of the same channel and day.
    pub fn prefix_share(&self) -> Option<f64> {
        let (shared, whole) = (self.same_day_prefix_bytes, self.same_day_prompt_bytes);
        (whole > 0).then(|| shared as f64 / whole as f64)
    }

    /// Returns `None` if no post answers a known message.
    pub fn waits(&self) -> Option<Waits> {
        let all = self.waits.values().sum::<usize>() as f64;
        let at_share = |share: f64| {
            let mut seen = 0;
            let found = self.waits.iter().find(|(_, count)| {
                seen += **count;
                seen as f64 >= share * all
            });
            found.map(|(seconds, _)| *seconds)
        };
        Some(Waits { median: at_share(0.5)?, p90: at_share(0.9)?, worst: at_share(1.0)? })
    }
    pub fn messages_per_second(&self) -> f64 {
        if self.elapsed_seconds > 0.0 { self.messages as f64 / self.elapsed_seconds } else { 0.0 }
    }
}

/// Questions that open a conversation, that no other user ever answered, and after which the recording goes on long
/// enough to tell.
pub fn open_questions(channel: &RecordedChannel) -> HashSet<IdHash> {
    let rows = &channel.rows;
    // Without annotations, it is unknown which messages open a conversation.
    if !channel.is_annotated {
        return HashSet::new();
    }
    let Some(end) = rows.last().map(|row| row.at()) else { return HashSet::new() };
    let is_answered = |asked: &MessageRow| {
        let is_by_another = |answer: MessageRow| !answer.is_bot() && answer.author != asked.author;
        rows.answers_to(asked).any(is_by_another)
    };
    let is_open = |row: &MessageRow| {
        row.is_opener()
            && row.has_question_mark()
            && end.duration_since(row.at()) >= REACH_WINDOW
            && !is_answered(row)
    };
    rows.human_messages().filter(is_open).map(|row| row.id).collect()
}

/// Sorts records by thread, and those of a thread by time. The top level counts as a thread.
pub fn by_thread<T: Clone>(happened: &[T], thread: impl Fn(&T) -> IdHash) -> Vec<T> {
    let mut sorted = happened.to_vec();
    sorted.sort_by_key(thread);
    sorted
}

/// Returns the records of a thread, or of the top level.
pub fn in_thread<T>(by_thread: &[T], id: IdHash, thread: impl Fn(&T) -> IdHash) -> &[T] {
    let first = by_thread.partition_point(|one| thread(one) < id);
    let end = by_thread.partition_point(|one| thread(one) <= id);
    &by_thread[first..end]
}

/// Returns the records from a time on, until `window` after it.
pub fn within<T>(
    happened: &[T],
    from: Timestamp,
    window: SignedDuration,
    at: impl Fn(&T) -> Timestamp,
) -> &[T] {
    let later = &happened[happened.partition_point(|one| at(one) < from)..];
    &later[..later.partition_point(|one| at(one) <= from + window)]
}

/// Whether a question is reached at a time. `index` is its position among the human messages of its conversation.
fn reaches(at: Timestamp, heard: usize, index: usize, asked: Timestamp) -> bool {
    let is_in_time = at >= asked && at.duration_since(asked) <= REACH_WINDOW;
    heard > index && is_in_time && heard - index <= REACH_MESSAGES
}

/// Whether at least two users wrote shortly before `at`, and a user wrote shortly after `spoken`.
pub fn lands_in_exchange(
    at: Timestamp,
    heard: usize,
    spoken: Timestamp,
    humans: RowList<'_>,
) -> bool {
    let heard = humans.until(heard).iter().rev();
    let recent = heard.take_while(|row| at.duration_since(row.at()) <= EXCHANGE_BEFORE);
    let authors: HashSet<u32> = recent.map(|row| row.author).collect();
    let next = humans.partition_point(|row| row.at() <= spoken);
    let next = humans.get(next).map(|next| next.at().duration_since(spoken));
    authors.len() >= 2 && next.is_some_and(|gap| gap <= EXCHANGE_AFTER)
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
