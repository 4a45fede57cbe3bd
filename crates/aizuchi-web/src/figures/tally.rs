//! The sums of figures by channel, model and kind of call.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::ChannelId;
use aizuchi_model::decision::welcome::RatedChoice;
use aizuchi_model::decision::{DecisionResult, Usage};
use aizuchi_store::figures::{
    AnswerDelay, CallKind, CallSum, MessageCount, OutcomeCount, ReactionCount, UnansweredQuestion,
};
use aizuchi_store::open_questions;
use jiff::SignedDuration;

/// The name of a decision that has not ended.
pub const OPEN: &str = "open";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub heard: u64,
    pub decisions: u64,
    pub spoke: u64,
    /// How often the persona reacted in place of a reply.
    pub reacted: u64,
    /// How often users reacted to the persona's posts.
    pub reactions: u64,
    /// The questions of users to everybody that nobody else answered.
    pub questions: u64,
    /// The questions that the persona took up.
    pub taken_up: u64,
    pub calls: u64,
    pub usage: Usage,
    pub micros: u64,
    pub unpriced_tokens: u64,
}

/// The figures of one day, or of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub all: Sums,
    /// `None` for the whole workspace.
    pub channels: BTreeMap<Option<ChannelId>, Sums>,
    /// Only calls have a model and a kind; other figures have neither.
    pub models: BTreeMap<Arc<str>, Sums>,
    pub kinds: BTreeMap<CallKind, Sums>,
    /// The number of decisions with each outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// How soon the persona spoke in a channel, and whether it was addressed.
    pub delays: BTreeMap<(ChannelId, bool), Vec<SignedDuration>>,
    /// What the persona chose unasked, and how welcome that was, oldest first.
    pub choices: Vec<RatedChoice>,
}

impl Figures {
    pub fn is_empty(&self) -> bool {
        self.all == Sums::default()
    }

    /// Adds everything but the choices, which are many.
    pub fn add(&mut self, other: &Self) {
        self.add_sums(other);
        for (channel, sums) in &other.channels {
            self.channels.entry(channel.clone()).or_default().add(sums);
        }
        for (key, delays) in &other.delays {
            self.delays.entry(key.clone()).or_default().extend(delays);
        }
    }

    /// Adds what is not told by channel.
    pub fn add_sums(&mut self, other: &Self) {
        self.all.add(&other.all);
        for (model, sums) in &other.models {
            self.models.entry(model.clone()).or_default().add(sums);
        }
        for (kind, sums) in &other.kinds {
            self.kinds.entry(*kind).or_default().add(sums);
        }
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(*outcome).or_default() += count;
        }
    }

    pub fn add_messages(&mut self, messages: MessageCount) {
        if messages.is_own {
            return;
        }
        for sums in self.of(Some(messages.channel)) {
            sums.heard += messages.count;
        }
    }

    pub fn add_outcomes(&mut self, outcomes: OutcomeCount) {
        let OutcomeCount { channel, ended, count, .. } = outcomes;
        *self.outcomes.entry(ended.map_or(OPEN, DecisionResult::name)).or_default() += count;
        for sums in self.of(Some(channel)) {
            sums.decisions += count;
            sums.spoke += if ended == Some(DecisionResult::Spoke) { count } else { 0 };
            sums.reacted += if ended == Some(DecisionResult::Reacted) { count } else { 0 };
        }
    }

    pub fn add_calls(&mut self, calls: &CallSum) {
        let CallSum { channel, kind, model, .. } = calls;
        let parts = [
            &mut self.all,
            self.channels.entry(channel.clone()).or_default(),
            self.models.entry(model.clone()).or_default(),
            self.kinds.entry(*kind).or_default(),
        ];
        for sums in parts {
            sums.calls += calls.calls;
            sums.usage = sums.usage.plus(calls.usage);
            sums.micros += calls.price.micros;
            sums.unpriced_tokens += calls.unpriced_tokens;
        }
    }

    pub fn add_delay(&mut self, delay: AnswerDelay) {
        let key = (delay.channel, delay.is_addressed);
        self.delays.entry(key).or_default().push(delay.delay);
    }

    pub fn add_reactions(&mut self, reactions: ReactionCount) {
        for sums in self.of(Some(reactions.channel)) {
            sums.reactions += reactions.count;
        }
    }

    /// Adds a day's questions, which must be sorted by channel and time. Only those count that really are questions,
    /// are asked of everybody, and do not merely repeat what their author has just asked, as in a report.
    pub fn add_questions(&mut self, questions: &[UnansweredQuestion]) {
        for question in open_questions::of_everybody(questions) {
            for sums in self.of(Some(question.channel.clone())) {
                sums.questions += 1;
                sums.taken_up += u64::from(question.is_taken_up);
            }
        }
    }

    /// Returns the sums that something in this channel adds to.
    fn of(&mut self, channel: Option<ChannelId>) -> [&mut Sums; 2] {
        [&mut self.all, self.channels.entry(channel).or_default()]
    }
}

impl Sums {
    pub fn tokens(&self) -> u64 {
        self.usage.input_tokens + self.usage.output_tokens
    }

    fn add(&mut self, other: &Self) {
        self.heard += other.heard;
        self.decisions += other.decisions;
        self.spoke += other.spoke;
        self.reacted += other.reacted;
        self.reactions += other.reactions;
        self.questions += other.questions;
        self.taken_up += other.taken_up;
        self.calls += other.calls;
        self.usage = self.usage.plus(other.usage);
        self.micros += other.micros;
        self.unpriced_tokens += other.unpriced_tokens;
    }
}

/// Returns the entries by what they cost, the most expensive first. Without known prices, their tokens count.
pub fn by_cost<K>(sums: &BTreeMap<K, Sums>) -> Vec<(&K, &Sums)> {
    let mut entries: Vec<_> = sums.iter().collect();
    entries.sort_by_key(|(_, sums)| Reverse((sums.micros, sums.tokens())));
    entries
}

/// Returns the median, which is the later of two middle values.
pub fn median(mut delays: Vec<SignedDuration>) -> Option<SignedDuration> {
    delays.sort();
    delays.get(delays.len() / 2).copied()
}

/// Formats a whole number for reading: 1234567 is `1 234 567`, with narrow spaces.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut told = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            told.push('\u{202f}');
        }
        told.push(digit);
    }
    told
}

pub fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".to_owned(),
        whole => format!("{:.0} %", part as f64 * 100.0 / whole as f64),
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{MessageId, UserId};
    use aizuchi_model::decision::Price;
    use aizuchi_store::figures::Day;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn numbers_and_shares_can_be_read() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1\u{202f}000")] {
            assert_eq!(thousands(number), expected);
        }
        assert_eq!(thousands(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!((percent(1, 4).as_str(), percent(0, 0).as_str()), ("25 %", "–"));
        let seconds = |all: &[i64]| all.iter().copied().map(SignedDuration::from_secs).collect();
        assert_eq!(median(seconds(&[9, 1, 5])), Some(SignedDuration::from_secs(5)));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn the_parts_add_up_to_the_whole() {
        let call = |channel: Option<&str>, kind, model: &str, tokens, price: Option<u64>| CallSum {
            day: Day(1),
            channel: channel.map(ChannelId::new),
            kind,
            model: model.into(),
            calls: 1,
            usage: Usage { input_tokens: tokens, ..Usage::default() },
            price: price.map_or(Price::default(), |micros| Price { micros }),
            unpriced_tokens: if price.is_none() { tokens } else { 0 },
        };
        let mut figures = Figures::default();
        figures.add_calls(&call(Some("a"), CallKind::Judge, "small", 10, Some(1)));
        figures.add_calls(&call(Some("a"), CallKind::Reply, "large", 20, Some(8)));
        figures.add_calls(&call(None, CallKind::Remember, "large", 40, Some(16)));
        figures.add_calls(&call(Some("b"), CallKind::Trial, "tried", 80, None));
        figures.add_calls(&call(None, CallKind::Unfinished, "", 160, None));
        let mut twice = figures.clone();
        twice.add(&figures);
        for (figures, factor) in [(&figures, 1), (&twice, 2)] {
            assert_eq!((figures.all.tokens(), figures.all.micros), (310 * factor, 25 * factor));
            assert_eq!(
                (figures.all.calls, figures.all.unpriced_tokens),
                (5 * factor, 240 * factor)
            );
            let channels = figures.channels.values().collect::<Vec<_>>();
            let models = figures.models.values().collect::<Vec<_>>();
            let kinds = figures.kinds.values().collect::<Vec<_>>();
            for parts in [channels, models, kinds] {
                let mut sum = Sums::default();
                parts.into_iter().for_each(|part| sum.add(part));
                assert_eq!(sum, figures.all);
            }
        }
    }

    #[test]
    fn what_is_asked_of_somebody_or_asked_again_is_not_counted() {
        let question = |second: i64, author: &str, text: &str, is_taken_up| UnansweredQuestion {
            day: Day(1),
            channel: ChannelId::new("garden"),
            message: MessageId::new(second.to_string()),
            at: Timestamp::from_second(second).unwrap(),
            author: UserId::new(author),
            text: text.into(),
            is_taken_up,
        };
        let mut figures = Figures::default();
        figures.add_questions(&[
            question(0, "ann", "who has the key?", true),
            question(60, "ann", "nobody?", false),
            question(5000, "ben", "@cat is it you?", false),
            question(9000, "ben", "see https://a.example/?q", false),
            question(13_000, "ben", "how deep do they go?", false),
        ]);
        assert_eq!((figures.all.questions, figures.all.taken_up), (2, 1));
        assert_eq!(figures.channels[&Some(ChannelId::new("garden"))], figures.all);
    }
}
