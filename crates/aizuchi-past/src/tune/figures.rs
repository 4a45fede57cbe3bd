//! The figures of a replay for each day that a setting can change.

use std::collections::{BTreeMap, HashSet};

use aizuchi_import::history::RecordedChannel;
use aizuchi_import::rows::IdHash;
use jiff::Timestamp;
use serde::Serialize;

use crate::people_around::{ANSWER_WINDOW, PeopleAround};
use crate::replay::record::{PostRecord, Record};
use crate::replay::score::{by_thread, in_thread, lands_in_exchange, within};

/// A day of the calendar in UTC, counted from the epoch.
pub type UtcDay = i64;

/// A question is reached by a post while nobody may have taken it up, and it is among this number of newest messages.
const REACHED_MESSAGES: usize = 20;

/// Sums over days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TuneFigures {
    pub days: u64,
    pub messages: u64,
    pub calls: u64,
    pub posts: u64,
    /// Posts into an active exchange.
    pub posts_in_exchange: u64,
    /// Questions that nobody took up within an hour.
    pub questions: u64,
    /// Of these, the ones that a post reached.
    pub reached_questions: u64,
}

impl TuneFigures {
    pub fn plus(self, other: Self) -> Self {
        Self {
            days: self.days + other.days,
            messages: self.messages + other.messages,
            calls: self.calls + other.calls,
            posts: self.posts + other.posts,
            posts_in_exchange: self.posts_in_exchange + other.posts_in_exchange,
            questions: self.questions + other.questions,
            reached_questions: self.reached_questions + other.reached_questions,
        }
    }

    pub fn sum<'a>(figures: impl IntoIterator<Item = &'a Self>) -> Self {
        figures.into_iter().fold(Self::default(), |sum, next| sum.plus(*next))
    }

    // An unknown figure is `None`.

    pub fn calls_per_1000(&self) -> Option<f64> {
        share(self.calls, self.messages).map(|calls| calls * 1000.0)
    }

    pub fn posts_a_day(&self) -> Option<f64> {
        share(self.posts, self.days)
    }

    pub fn reached_share(&self) -> Option<f64> {
        share(self.reached_questions, self.questions)
    }

    pub fn exchange_share(&self) -> Option<f64> {
        share(self.posts_in_exchange, self.posts)
    }
}

pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

pub fn day_of(at: Timestamp) -> UtcDay {
    at.as_second().div_euclid(86_400)
}

/// Adds the events of a channel to the days on which they happened.
pub fn add(days: &mut BTreeMap<UtcDay, TuneFigures>, channel: &RecordedChannel, record: &Record) {
    let rows = &channel.rows;
    let questions = PeopleAround::new(channel, None).open_questions();
    let questions: HashSet<IdHash> = questions.iter().map(|question| question.id).collect();
    let posts = by_thread(&record.posts, |post| post.thread);
    for call in record.calls.iter() {
        on_day(days, call.at).calls += 1;
    }
    for thread in rows.threads() {
        let messages = rows.human_messages_in(thread);
        if messages.is_empty() {
            continue;
        }
        let here = in_thread(&posts, rows.thread_id(thread), |post| post.thread);
        for post in here {
            let figures = on_day(days, post.at);
            figures.posts += 1;
            let heard = messages.among_first(post.heard_rows);
            let is_in = lands_in_exchange(post.at, heard, post.at, messages);
            figures.posts_in_exchange += u64::from(is_in);
        }
        for (index, message) in messages.iter().enumerate() {
            let figures = on_day(days, message.at());
            figures.messages += 1;
            if questions.contains(&message.id) {
                let below = in_thread(&posts, message.id, |post| post.thread);
                let (asked, window) = (message.at(), ANSWER_WINDOW);
                let below = within(below, asked, window, |post| post.at);
                let beside = within(here, asked, window, |post| post.at);
                let is_in_sight = |post: &PostRecord| {
                    let heard = messages.among_first(post.heard_rows);
                    heard > index && heard - index <= REACHED_MESSAGES
                };
                let is_reached = !below.is_empty() || beside.iter().any(is_in_sight);
                figures.questions += 1;
                figures.reached_questions += u64::from(is_reached);
            }
        }
    }
}

fn on_day(days: &mut BTreeMap<UtcDay, TuneFigures>, at: Timestamp) -> &mut TuneFigures {
    let figures = days.entry(day_of(at)).or_default();
    figures.days = 1;
    figures
}
