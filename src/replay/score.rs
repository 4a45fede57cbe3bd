//! What a policy's timing is worth, measured against what people did. Bots' lines do not count.
//!
//! The measures are those of the project's replay benchmark (B1), conversation by conversation: how often a judge is asked, how
//! many of the questions that nobody ever answered it gets to see in time, and how often it would
//! have spoken into a lively exchange.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::replay::history::{Recorded, Room};
use crate::replay::record::{Call, Record};
use crate::replay::timing::Timing;

/// A question counts as reached when it is judged within this time …
const IN_TIME: SignedDuration = SignedDuration::from_secs(600);
/// … and is still among this many newest human messages.
const IN_SIGHT: usize = 20;
/// It is thought to speak this long after the judge is asked.
const SPEAKS_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// An exchange is active if two people spoke within this time before the call …
const EXCHANGE_BEFORE: SignedDuration = SignedDuration::from_secs(120);
/// … and somebody goes on within this time after the persona would have spoken.
const EXCHANGE_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// Sums over rooms.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Score {
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
    /// Calls after which it would have spoken into an active exchange.
    pub calls_in_exchange: usize,
    pub spoken_posts: usize,
    /// How its delays are like people's.
    pub timing: Timing,
    /// Decisions that ended badly; with a recorded room there should be none.
    pub failed: usize,
    pub prompt_bytes: u64,
    /// What prompts share with the one before them in their room.
    pub prefix_bytes: u64,
    /// Wall-clock seconds that the replay took.
    pub elapsed_seconds: f64,
}

impl Score {
    pub fn add(&mut self, room: &Room, record: &Record) {
        let mut conversations: BTreeMap<Option<&str>, Vec<&Recorded>> = BTreeMap::new();
        for message in room.messages.iter().filter(|message| !message.bot) {
            conversations.entry(message.thread.as_deref()).or_default().push(message);
        }
        self.messages += room.messages.len();
        self.human_messages += conversations.values().map(Vec::len).sum::<usize>();
        self.judge_calls += record.calls.len();
        self.overtaken_calls += record.calls.iter().filter(|call| call.is_overtaken).count();
        self.gated += record.gated;
        self.spoken_posts += record.spoken;
        self.timing.add(room, &record.posts);
        self.failed += record.failed;
        self.prompt_bytes += record.calls.iter().map(|call| call.prompt_bytes as u64).sum::<u64>();
        self.prefix_bytes += record.calls.iter().map(|call| call.prefix_bytes as u64).sum::<u64>();
        let open = open_questions(room);
        for (thread, humans) in conversations {
            let calls = record
                .calls
                .iter()
                .filter(|call| call.thread.as_ref().map(|id| id.as_str()) == thread);
            let calls: Vec<&Call> = calls.collect();
            let times: Vec<Timestamp> = humans.iter().map(|message| message.at()).collect();
            let in_exchange = |call: &&&Call| lands_in_exchange(call, &humans, &times);
            self.calls_in_exchange += calls.iter().filter(in_exchange).count();
            for (place, question) in humans.iter().enumerate() {
                if !open.contains(&*question.id) {
                    continue;
                }
                self.open_questions += 1;
                let is_reached = calls.iter().any(|call| reaches(call, place, question.at()));
                self.reached_questions += usize::from(is_reached);
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

    pub fn share_in_exchange(&self) -> f64 {
        share(self.calls_in_exchange, self.judge_calls)
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
fn open_questions(room: &Room) -> HashSet<&str> {
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
    let Some(end) = room.messages.last().map(Recorded::at) else { return HashSet::new() };
    let is_open = |message: &&Recorded| {
        message.opener
            && !message.bot
            && message.text.contains(['?', '？'])
            && !answered.contains(&*message.id)
            && end.duration_since(message.at()) >= IN_TIME
    };
    room.messages.iter().filter(is_open).map(|message| &*message.id).collect()
}

/// `place` counts the conversation's human messages.
fn reaches(call: &Call, place: usize, asked: Timestamp) -> bool {
    let is_heard = call.heard > place && !call.is_overtaken;
    let is_in_time = call.at >= asked && call.at.duration_since(asked) <= IN_TIME;
    is_heard && is_in_time && call.heard - place <= IN_SIGHT
}

fn lands_in_exchange(call: &Call, humans: &[&Recorded], times: &[Timestamp]) -> bool {
    let heard = &humans[..call.heard];
    let recent = heard
        .iter()
        .rev()
        .take_while(|message| call.at.duration_since(message.at()) <= EXCHANGE_BEFORE);
    let people: HashSet<&str> = recent.map(|message| &*message.author).collect();
    let spoken = call.at + SPEAKS_AFTER;
    let next = times.partition_point(|time| *time <= spoken);
    let goes_on = times.get(next).is_some_and(|next| next.duration_since(spoken) <= EXCHANGE_AFTER);
    people.len() >= 2 && goes_on
}

pub fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, ts: f64, author: &str, text: &str, reply_to: &[&str]) -> Recorded {
        Recorded {
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
        let room = Room {
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
        let call = |second, heard| Call {
            at: at(second),
            thread: None,
            heard,
            is_overtaken: false,
            prompt_bytes: 0,
            prefix_bytes: 0,
        };
        assert!(reaches(&call(100, 5), 4, at(100)));
        assert!(!reaches(&call(100, 4), 4, at(100)), "not heard yet");
        let overtaken = Call { is_overtaken: true, ..call(100, 5) };
        assert!(!reaches(&overtaken, 4, at(100)), "it judged nothing");
        assert!(reaches(&call(700, 24), 4, at(100)));
        assert!(!reaches(&call(701, 24), 4, at(100)), "too late");
        assert!(!reaches(&call(700, 25), 4, at(100)), "scrolled away");
    }
}
