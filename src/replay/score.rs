//! What a policy's timing is worth, measured against what people did. Bots' lines do not count.
//!
//! The measures are those of the project's replay benchmark (B1), conversation by conversation: how often a judge is asked, how
//! many of the questions that nobody ever answered it gets to see in time, and how often it would
//! have spoken into a lively exchange.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::replay::history::{RecordedChannel, RecordedMessage};
use crate::replay::record::{JudgeCall, PostRecord, Record};
use crate::replay::timing::TimingScore;

/// A question counts as reached when it is judged, or spoken to, within this time …
const REACH_WINDOW: SignedDuration = SignedDuration::from_secs(600);
/// … and is still among this many newest human messages.
const REACH_MESSAGES: usize = 20;
/// It is thought to speak this long after the judge is asked.
const ASSUMED_POST_DELAY: SignedDuration = SignedDuration::from_secs(10);
/// An exchange is active if two people spoke within this time before the call …
const EXCHANGE_BEFORE: SignedDuration = SignedDuration::from_secs(120);
/// … and somebody goes on within this time after the persona would have spoken.
const EXCHANGE_AFTER: SignedDuration = SignedDuration::from_secs(60);
/// Whoever writes within this time after another line was writing already: the two collide.
const COLLISION_WINDOW: SignedDuration = SignedDuration::from_secs(5);

/// Sums over rooms.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReplayScore {
    pub policy: String,
    pub messages: usize,
    pub human_messages: usize,
    pub judge_calls: usize,
    pub overtaken_calls: usize,
    /// Decisions that a gate settled without a call.
    pub gated: usize,
    /// Opener questions that no other person ever answered.
    pub open_questions: usize,
    /// Those of them that were judged in time.
    pub reached_questions: usize,
    /// Those of them that it spoke to in time.
    pub answered_questions: usize,
    /// Calls after which it would have spoken into an active exchange.
    pub calls_in_exchange: usize,
    /// Calls that somebody writes on within the time that a model takes.
    pub calls_followed: usize,
    pub spoken_posts: usize,
    /// How its delays are like people's.
    pub timing: TimingScore,
    /// Posts that stand in an active exchange.
    pub posts_in_exchange: usize,
    /// Posts that came before somebody who was writing.
    pub posts_colliding: usize,
    /// Lines of people that came before somebody else who was writing.
    pub lines_colliding: usize,
    /// Decisions that ended badly; with a recorded room there should be none.
    pub failed: usize,
    pub prompt_bytes: u64,
    /// What prompts share with the one before them in their room.
    pub prefix_bytes: u64,
    /// Wall-clock seconds that the replay took.
    pub elapsed_seconds: f64,
}

impl ReplayScore {
    pub fn add(&mut self, room: &RecordedChannel, record: &Record) {
        let mut conversations: BTreeMap<Option<&str>, Vec<&RecordedMessage>> = BTreeMap::new();
        for message in room.messages.iter().filter(|message| !message.bot) {
            conversations.entry(message.thread.as_deref()).or_default().push(message);
        }
        self.messages += room.messages.len();
        self.human_messages += conversations.values().map(Vec::len).sum::<usize>();
        self.judge_calls += record.calls.len();
        self.overtaken_calls += record.calls.iter().filter(|call| call.is_superseded).count();
        self.gated += record.gated;
        self.spoken_posts += record.all_posts.len();
        self.timing.add(room, &record.unsolicited_posts);
        self.failed += record.failed;
        self.prompt_bytes += record.calls.iter().map(|call| call.prompt_bytes as u64).sum::<u64>();
        self.prefix_bytes += record.calls.iter().map(|call| call.prefix_bytes as u64).sum::<u64>();
        let open = open_questions(room);
        for (thread, humans) in conversations {
            let calls = record
                .calls
                .iter()
                .filter(|call| call.thread.as_ref().map(|id| id.as_str()) == thread);
            let calls: Vec<&JudgeCall> = calls.collect();
            let times: Vec<Timestamp> = humans.iter().map(|message| message.at()).collect();
            let posts = record
                .all_posts
                .iter()
                .filter(|post| post.thread.as_ref().map(|id| id.as_str()) == thread);
            let posts: Vec<&PostRecord> = posts.collect();
            let in_exchange = |at, heard, spoken| lands_in_exchange(at, heard, spoken, &humans);
            let is_in =
                |call: &&&JudgeCall| in_exchange(call.at, call.heard, call.at + ASSUMED_POST_DELAY);
            self.calls_in_exchange += calls.iter().filter(is_in).count();
            let is_followed = |call: &&&JudgeCall| is_followed(&times, call.at);
            self.calls_followed += calls.iter().filter(is_followed).count();
            let is_in = |post: &&&PostRecord| in_exchange(post.at, post.heard, post.at);
            self.posts_in_exchange += posts.iter().filter(is_in).count();
            self.posts_colliding +=
                posts.iter().filter(|post| self::is_followed(&times, post.at)).count();
            self.lines_colliding += count_collisions(&humans);
            for (place, question) in humans.iter().enumerate() {
                if !open.contains(&*question.id) {
                    continue;
                }
                self.open_questions += 1;
                let reaches = |at, heard| reaches(at, heard, place, question.at());
                let is_judged =
                    |call: &&JudgeCall| !call.is_superseded && reaches(call.at, call.heard);
                self.reached_questions += usize::from(calls.iter().any(is_judged));
                let is_answered = posts.iter().any(|post| reaches(post.at, post.heard));
                self.answered_questions += usize::from(is_answered);
            }
        }
    }

    pub fn calls_per_1000(&self) -> f64 {
        share(self.judge_calls, self.human_messages) * 1000.0
    }

    /// `None` where nobody has noted who answers whom.
    pub fn coverage(&self) -> Option<f64> {
        (self.open_questions > 0).then(|| share(self.reached_questions, self.open_questions))
    }

    /// The same for what it spoke to.
    pub fn spoken_coverage(&self) -> Option<f64> {
        (self.open_questions > 0).then(|| share(self.answered_questions, self.open_questions))
    }

    pub fn share_in_exchange(&self) -> f64 {
        share(self.calls_in_exchange, self.judge_calls)
    }

    pub fn share_followed(&self) -> f64 {
        share(self.calls_followed, self.judge_calls)
    }

    pub fn share_of_posts_in_exchange(&self) -> f64 {
        share(self.posts_in_exchange, self.spoken_posts)
    }

    pub fn share_of_posts_colliding(&self) -> f64 {
        share(self.posts_colliding, self.spoken_posts)
    }

    /// How often people collide among themselves.
    pub fn share_of_lines_colliding(&self) -> f64 {
        share(self.lines_colliding, self.human_messages)
    }

    pub fn prefix_share(&self) -> f64 {
        if self.prompt_bytes == 0 {
            0.0
        } else {
            self.prefix_bytes as f64 / self.prompt_bytes as f64
        }
    }

    pub fn messages_per_second(&self) -> f64 {
        if self.elapsed_seconds > 0.0 { self.messages as f64 / self.elapsed_seconds } else { 0.0 }
    }
}

/// Questions that begin a conversation, that no other person ever answered, and after which the
/// recording goes on long enough to tell.
fn open_questions(room: &RecordedChannel) -> HashSet<&str> {
    let authors: HashMap<&str, &str> =
        room.messages.iter().map(|message| (&*message.id, &*message.author)).collect();
    let answered: HashSet<&str> = room
        .messages
        .iter()
        .filter(|message| !message.bot)
        .flat_map(|answer| answer.reply_to.iter().map(move |asked| (answer, &**asked)))
        .filter(|(answer, asked)| authors.get(asked).is_some_and(|author| *author != answer.author))
        .map(|(_, asked)| asked)
        .collect();
    let Some(end) = room.messages.last().map(RecordedMessage::at) else { return HashSet::new() };
    let is_open = |message: &&RecordedMessage| {
        message.opener
            && !message.bot
            && message.text.contains(['?', '？'])
            && !answered.contains(&*message.id)
            && end.duration_since(message.at()) >= REACH_WINDOW
    };
    room.messages.iter().filter(is_open).map(|message| &*message.id).collect()
}

/// `place` counts the conversation's human messages.
fn reaches(at: Timestamp, heard: usize, place: usize, asked: Timestamp) -> bool {
    let is_in_time = at >= asked && at.duration_since(asked) <= REACH_WINDOW;
    heard > place && is_in_time && heard - place <= REACH_MESSAGES
}

/// People talked to each other before `at`, and go on after `spoken`.
fn lands_in_exchange(
    at: Timestamp,
    heard: usize,
    spoken: Timestamp,
    humans: &[&RecordedMessage],
) -> bool {
    let recent = humans[..heard]
        .iter()
        .rev()
        .take_while(|message| at.duration_since(message.at()) <= EXCHANGE_BEFORE);
    let people: HashSet<&str> = recent.map(|message| &*message.author).collect();
    let next = humans.partition_point(|message| message.at() <= spoken);
    let next = humans.get(next).map(|next| next.at().duration_since(spoken));
    people.len() >= 2 && next.is_some_and(|gap| gap <= EXCHANGE_AFTER)
}

fn is_followed(times: &[Timestamp], at: Timestamp) -> bool {
    let next = times.partition_point(|time| *time <= at);
    times.get(next).is_some_and(|next| next.duration_since(at) <= COLLISION_WINDOW)
}

/// How many lines somebody else follows at once.
fn count_collisions(humans: &[&RecordedMessage]) -> usize {
    let is_followed = |pair: &&[&RecordedMessage]| {
        let [one, next] = pair else { return false };
        one.author != next.author && next.at().duration_since(one.at()) <= COLLISION_WINDOW
    };
    humans.windows(2).filter(is_followed).count()
}

pub fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, ts: f64, author: &str, text: &str, reply_to: &[&str]) -> RecordedMessage {
        RecordedMessage {
            room: "r".to_owned(),
            thread: None,
            id: id.to_owned(),
            ts,
            author: author.to_owned(),
            name: None,
            text: text.to_owned(),
            reply_to: reply_to.iter().map(|id| (*id).to_owned()).collect(),
            bot: author == "bot",
            opener: reply_to.is_empty(),
        }
    }

    #[test]
    fn only_questions_that_nobody_else_answered_are_open() {
        let room = RecordedChannel {
            name: "r".to_owned(),
            messages: vec![
                line("1", 0.0, "ann", "open?", &[]),
                line("2", 1.0, "bob", "answered?", &[]),
                line("3", 2.0, "ann", "yes", &["2"]),
                line("4", 3.0, "cid", "answered by a bot?", &[]),
                line("5", 4.0, "bot", "42", &["4"]),
                line("6", 5.0, "dan", "continued by himself？", &[]),
                line("7", 6.0, "dan", "I mean it", &["6"]),
                line("8", 7.0, "eve", "a statement", &[]),
                line("9", 700.0, "fay", "too late to tell?", &[]),
                line("10", 800.0, "gus", "the end", &[]),
            ],
        };
        assert_eq!(open_questions(&room), HashSet::from(["1", "4", "6"]));
    }

    #[test]
    fn a_question_is_reached_in_time_and_in_sight() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let reaches = |second, heard| reaches(at(second), heard, 4, at(100));
        assert!(reaches(100, 5));
        assert!(!reaches(100, 4), "not heard yet");
        assert!(reaches(700, 24));
        assert!(!reaches(701, 24), "too late");
        assert!(!reaches(700, 25), "scrolled away");
    }
}
