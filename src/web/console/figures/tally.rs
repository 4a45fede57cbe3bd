//! Figures added up: by day, channel and model.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::SignedDuration;

use aizuchi_core::chat::ChannelId;
use aizuchi_core::decision::{DecisionResult, Usage};
use aizuchi_core::store::figures::{CallSum, Day, MessageCount, OutcomeCount};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub heard: u64,
    pub decisions: u64,
    pub spoke: u64,
    pub calls: u64,
    pub usage: Usage,
    pub micros: u64,
}

#[derive(Debug, Default)]
pub struct Tally {
    pub all: Sums,
    pub channels: BTreeMap<ChannelId, Sums>,
    /// What was heard and decided has no model.
    pub models: BTreeMap<Arc<str>, Sums>,
    days: HashMap<Day, Sums>,
    ended: HashMap<(Day, &'static str), u64>,
}

impl Tally {
    pub fn new(
        messages: Vec<MessageCount>,
        outcomes: Vec<OutcomeCount>,
        calls: Vec<CallSum>,
    ) -> Self {
        let mut tally = Self::default();
        for count in messages.into_iter().filter(|count| !count.is_own) {
            for sums in tally.of(count.day, count.channel) {
                sums.heard += count.count;
            }
        }
        for count in outcomes {
            let spoke = if count.ended == Some(DecisionResult::Spoke) { count.count } else { 0 };
            *tally.ended.entry((count.day, name(count.ended))).or_default() += count.count;
            for sums in tally.of(count.day, count.channel) {
                sums.decisions += count.count;
                sums.spoke += spoke;
            }
        }
        for sum in calls {
            let model = tally.models.entry(sum.model.clone()).or_default();
            model.add(&sum);
            for sums in tally.of(sum.day, sum.channel.clone()) {
                sums.add(&sum);
            }
        }
        // A model's price is held against everything that was heard.
        for model in tally.models.values_mut() {
            model.heard = tally.all.heard;
        }
        tally
    }

    pub fn is_empty(&self) -> bool {
        self.all == Sums::default()
    }

    pub fn day(&self, day: Day) -> Sums {
        self.days.get(&day).cloned().unwrap_or_default()
    }

    pub fn ended(&self, day: Day, ended: Option<DecisionResult>) -> u64 {
        self.ended.get(&(day, name(ended))).copied().unwrap_or_default()
    }

    /// The sums that something of this day and channel belongs to.
    fn of(&mut self, day: Day, channel: ChannelId) -> [&mut Sums; 3] {
        [
            &mut self.all,
            self.days.entry(day).or_default(),
            self.channels.entry(channel).or_default(),
        ]
    }
}

impl Sums {
    pub fn has_price(&self) -> bool {
        self.micros > 0 || self.usage.input_tokens + self.usage.output_tokens == 0
    }

    fn add(&mut self, sum: &CallSum) {
        self.calls += sum.calls;
        self.usage = self.usage.plus(sum.usage);
        self.micros += sum.price.micros;
    }
}

fn name(ended: Option<DecisionResult>) -> &'static str {
    ended.map_or("open", DecisionResult::name)
}

/// The middle one, the later of two.
pub fn median(mut delays: Vec<SignedDuration>) -> Option<SignedDuration> {
    delays.sort();
    delays.get(delays.len() / 2).copied()
}

/// A whole number that can be read: 1234567 is `1 234 567`, with narrow spaces.
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
}
