//! What holds in a channel: how it takes part there, how long it listens first, when it keeps quiet,
//! and what it may cost. Plain data; settings and orders make it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use jiff::civil::Time;
use serde::{Deserialize, Serialize};

use crate::chat::{ChannelId, UserId};

/// What it does in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Takes part as a member: waits until the talk has rested, then decides.
    #[default]
    Companion,
    /// Listens while people talk, and helps a discussion along (seed 004).
    Facilitator,
    /// Answers when it is addressed, and only then.
    MentionOnly,
    /// Listens and remembers, decides for the ledger alone, and says nothing.
    Observe,
    /// Does nothing there: not even what was said is kept.
    Off,
}

impl Mode {
    pub const ALL: [Self; 5] =
        [Mode::Companion, Mode::Facilitator, Mode::MentionOnly, Mode::Observe, Mode::Off];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Companion => "companion",
            Mode::Facilitator => "facilitator",
            Mode::MentionOnly => "mention_only",
            Mode::Observe => "observe",
            Mode::Off => "off",
        }
    }

    /// It says nothing there, whoever asks.
    pub fn is_silent(self) -> bool {
        matches!(self, Mode::Observe | Mode::Off)
    }
}

/// From one time of the day to another, over midnight if the second is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    pub from: Time,
    pub to: Time,
}

impl QuietHours {
    /// `to` itself is not quiet any more.
    pub fn contains(&self, time: Time) -> bool {
        if self.from <= self.to {
            self.from <= time && time < self.to
        } else {
            self.from <= time || time < self.to
        }
    }
}

/// How a facilitator listens (kotonoha's defaults, seed 004).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FacilitationRules {
    /// It judges when the talk has rested for so long,
    pub rest_seconds: f64,
    /// but so long after the first line that was not judged yet at the latest.
    pub max_rest_seconds: f64,
    /// Of fewer lines nothing can be said.
    pub min_messages: usize,
    /// It looks at so many of the newest lines.
    pub buffer_size: usize,
    /// After it has spoken unasked it keeps out of the talk for so long.
    pub cooldown: SignedDuration,
    /// So many lines before its last intervention are compared with the talk of now.
    pub compare_window: usize,
}

impl Default for FacilitationRules {
    fn default() -> Self {
        Self {
            rest_seconds: 5.0,
            max_rest_seconds: 30.0,
            min_messages: 3,
            buffer_size: 20,
            cooldown: SignedDuration::from_mins(10),
            compare_window: 5,
        }
    }
}

/// What may be used up. A limit that is not set is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetLimits {
    /// Tokens that models read and write, within 24 hours.
    pub tokens_per_day: Option<u64>,
    /// In millionths of the price table's currency, within 24 hours.
    pub micros_per_day: Option<u64>,
    /// The same within 30 days.
    pub micros_per_month: Option<u64>,
    /// What is said unasked, within an hour.
    pub posts_per_hour: Option<u64>,
}

/// What holds in one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelRules {
    pub mode: Mode,
    pub quiet_hours: Option<QuietHours>,
    /// A verdict of a lower confidence is silence. By the scale of the prompt, 0.7 and more is a question or
    /// a plea that is plainly open; less is trouble that is only told, what may have been answered, and what
    /// was asked a moment ago while people are talking.
    pub min_confidence: f64,
    /// What it may react with; with none it does not.
    pub reactions: Vec<String>,
    pub facilitation: FacilitationRules,
    /// After it has spoken unasked, a companion keeps out of the talk for so long.
    pub cooldown: SignedDuration,
    /// Of the newest lines it may have said this share, else it keeps out of the talk.
    pub max_share: f64,
    pub budget_limits: BudgetLimits,
}

impl Default for ChannelRules {
    fn default() -> Self {
        Self {
            mode: Mode::Companion,
            quiet_hours: None,
            min_confidence: 0.7,
            reactions: ["👍", "👀", "🎉", "❤️", "😄", "🙏"].map(str::to_owned).to_vec(),
            facilitation: FacilitationRules::default(),
            cooldown: SignedDuration::ZERO,
            max_share: 0.5,
            budget_limits: BudgetLimits::default(),
        }
    }
}

impl ChannelRules {
    /// How long it keeps out of the talk after it has spoken unasked, in this mode.
    pub fn cooldown_for(&self, mode: Mode) -> SignedDuration {
        match mode {
            Mode::Facilitator => self.facilitation.cooldown,
            Mode::Companion | Mode::MentionOnly | Mode::Observe | Mode::Off => self.cooldown,
        }
    }
}

/// The rules of every channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Rulebook {
    /// Where nothing else is said.
    pub default_rules: ChannelRules,
    /// By `#name` or by id. What a channel's id says outranks its name.
    pub channels: BTreeMap<String, ChannelRules>,
    /// What the whole workspace may use up.
    pub workspace_limits: BudgetLimits,
    /// So many answers one person gets within an hour.
    pub answers_per_hour: Option<u64>,
    /// From this share of a limit on, nothing is said unasked.
    pub soft_share: f64,
    /// People whose lines are not looked at, by id.
    pub opted_out: Vec<UserId>,
}

impl Default for Rulebook {
    fn default() -> Self {
        Self {
            default_rules: ChannelRules::default(),
            channels: BTreeMap::new(),
            workspace_limits: BudgetLimits::default(),
            answers_per_hour: Some(30),
            soft_share: 0.8,
            opted_out: Vec::new(),
        }
    }
}

impl Rulebook {
    /// The most lines that any channel compares.
    pub fn max_compare_window(&self) -> usize {
        let rules = self.channels.values().chain([&self.default_rules]);
        rules.map(|rules| rules.facilitation.compare_window).max().unwrap_or(0)
    }

    pub fn channel_rules(&self, channel: &ChannelId, name: &str) -> &ChannelRules {
        let by_id = self.channels.get(channel.as_str());
        let named = || self.channels.get(format!("#{name}").as_str());
        by_id.or_else(named).unwrap_or(&self.default_rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_may_go_over_midnight() {
        let time = |hour, minute| Time::new(hour, minute, 0, 0).unwrap();
        let night = QuietHours { from: time(22, 0), to: time(7, 0) };
        let noon = QuietHours { from: time(12, 0), to: time(13, 0) };
        for (hours, hour, minute, quiet) in [
            (night, 21, 59, false),
            (night, 22, 0, true),
            (night, 3, 0, true),
            (night, 6, 59, true),
            (night, 7, 0, false),
            (noon, 11, 59, false),
            (noon, 12, 0, true),
            (noon, 13, 0, false),
        ] {
            assert_eq!(hours.contains(time(hour, minute)), quiet, "{hour}:{minute}");
        }
    }

    #[test]
    fn a_channels_id_outranks_its_name() {
        let of = |mode| ChannelRules { mode, ..ChannelRules::default() };
        let channels = [("#garden", Mode::Observe), ("c1", Mode::Off)];
        let channels = channels.map(|(key, mode)| (key.to_owned(), of(mode))).into();
        let book = Rulebook { channels, ..Rulebook::default() };
        for (channel, name, mode) in [
            ("c1", "garden", Mode::Off),
            ("c2", "garden", Mode::Observe),
            ("c2", "kitchen", Mode::Companion),
        ] {
            assert_eq!(book.channel_rules(&ChannelId::new(channel), name).mode, mode);
        }
    }
}
