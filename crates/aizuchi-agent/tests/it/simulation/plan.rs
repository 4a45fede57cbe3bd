//! The plan of a day, drawn entirely from its seed before it begins: who says what and when, how the persona is
//! configured, and what goes wrong.

use std::collections::BTreeMap;

use aizuchi_agent::agent::{AgentSettings, StateCall};
use aizuchi_agent::inbox::WaitSettings;
use aizuchi_harness::random::Random;
use aizuchi_harness::test_store::StoreKind;
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::{
    BudgetLimits, ChannelRules, FacilitationRules, Mode, PostTiming, QuietHours, Rulebook,
};
use jiff::SignedDuration;
use jiff::civil::Time;

/// The length of a day, in milliseconds.
pub const DAY: i64 = 24 * 3600 * 1000;
/// Two public channels, a private one and a direct message.
pub const CHANNELS: [&str; 4] = ["garden", "kitchen", "attic", "direct"];
/// The users, the first of whom is an admin.
pub const PEOPLE: [&str; 6] = ["alice", "bob", "carol", "dave", "erin", "花子"];
const BOTS: [&str; 2] = ["buildbot", "newsbot"];
const COMMANDS: [&str; 16] = [
    "forget me, yes", "forget me, yes", "opt out", "opt in", "stop", "mute for 20 minutes", "mute",
    "unmute", "why", "status", "help", "reset", "mode mention_only", "mode facilitator",
    "mode observe", "mode companion",
];

/// The changes to the machine's clock, in seconds.
const JUMPS: [i64; 4] = [-3600, -40, 3600, 24 * 3600];

pub struct Plan {
    pub seed: u64,
    pub store: StoreKind,
    pub wait: WaitStrategy,
    pub state: StateCall,
    pub has_tools: bool,
    pub has_memory: bool,
    pub rulebook: Rulebook,
    /// How often the judge wants to speak.
    pub eagerness: f64,
    /// The shares of model calls that fail, and of those that are slow.
    pub model_trouble: f64,
    pub slowness: f64,
    /// The shares of posts and of store calls that fail.
    pub post_trouble: f64,
    pub store_trouble: f64,
    /// The maximum time for which the platform shows typing before a post, in seconds.
    pub typing: i64,
    /// The acts by milliseconds since the day began.
    pub acts: Vec<(i64, Act)>,
}

/// An event of the day.
#[derive(Clone, Debug)]
pub enum Act {
    Say(Saying),
    /// The author rewrites one of the newest messages of a channel.
    Edit {
        channel: &'static str,
        back: usize,
        kind: TextKind,
    },
    Delete {
        channel: &'static str,
        back: usize,
    },
    React {
        channel: &'static str,
        back: usize,
        who: &'static str,
    },
    /// The process is killed, and started again after this many seconds.
    Crash {
        after: i64,
    },
    /// The process is killed at one of its next port calls.
    CrashAtCall {
        calls: usize,
    },
    /// The platform is disconnected for this many seconds.
    Disconnect {
        seconds: i64,
    },
    /// The store refuses everything for this many seconds.
    StoreOutage {
        seconds: i64,
    },
    /// The machine's clock is changed, and corrected after a while.
    SetClock {
        by: SignedDuration,
        right_after: i64,
    },
    /// The machine sleeps.
    Suspend {
        seconds: i64,
    },
}

#[derive(Clone, Debug)]
pub struct Saying {
    pub channel: &'static str,
    pub who: &'static str,
    /// In the thread of one of the newest top-level messages.
    pub thread_back: Option<usize>,
    pub kind: TextKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    Plain,
    Question,
    Mention,
    MentionsOther,
    Long,
    Odd,
    Command(&'static str),
}

impl Act {
    /// The same without `forget me`, which only the databases keep.
    fn without_forgetting(mut self) -> Self {
        if let Self::Edit { kind, .. } | Self::Say(Saying { kind, .. }) = &mut self
            && matches!(kind, TextKind::Command(command) if command.starts_with("forget"))
        {
            *kind = TextKind::Plain;
        }
        self
    }
}

impl Plan {
    pub fn from_seed(seed: u64) -> Self {
        let mut random = Random::new(seed, "plan");
        let random = &mut random;
        let store = if seed % 10 == 9 { StoreKind::Sqlite } else { StoreKind::Volatile };
        let is_database = store == StoreKind::Sqlite;
        let is_calm = random.chance(0.15);
        let trouble = |random: &mut Random, most: f64| match is_calm {
            true => 0.0,
            false => *random.pick(&[0.0, 0.02, 0.1, 0.3]) * most,
        };
        let (model_trouble, slowness) = (trouble(random, 1.5), trouble(random, 1.0));
        let rulebook = rulebook(random);
        // A reservation that is made while the clock is a day ahead, and lost in a crash, counts for that day.
        let jumps: &[i64] = match rulebook.workspace_limits.tokens_per_day {
            Some(_) => &JUMPS[..3],
            None => &JUMPS,
        };
        let (post_trouble, store_trouble) = (trouble(random, 1.5), trouble(random, 0.2));
        Self {
            seed,
            store,
            wait: *random.pick(&[
                WaitStrategy::Adaptive,
                WaitStrategy::Adaptive,
                WaitStrategy::Fixed,
            ]),
            state: *random.pick(&[StateCall::Fused, StateCall::Fused, StateCall::Separate]),
            has_tools: is_database && random.chance(0.7),
            has_memory: is_database && random.chance(0.7),
            rulebook,
            eagerness: *random.pick(&[0.2, 0.7, 0.95]),
            model_trouble,
            slowness,
            post_trouble,
            store_trouble,
            typing: *random.pick(&[0, 0, 8, 30]),
            acts: acts(random, is_calm, jumps)
                .into_iter()
                .map(|(at, act)| (at, if is_database { act } else { act.without_forgetting() }))
                .collect(),
        }
    }

    pub fn wait_settings(&self) -> WaitSettings {
        match self.wait {
            WaitStrategy::Adaptive => WaitSettings::default(),
            WaitStrategy::Fixed => WaitSettings {
                wait: WaitStrategy::Fixed,
                min_wait_seconds: 60.0,
                ..WaitSettings::default()
            },
        }
    }

    pub fn agent_settings(&self) -> AgentSettings {
        AgentSettings {
            rulebook: self.rulebook.clone().into(),
            wait_settings: self.wait_settings(),
            state: self.state,
            timing: match self.wait {
                WaitStrategy::Adaptive => PostTiming::HumanLike,
                WaitStrategy::Fixed => PostTiming::Immediate,
            },
            ..AgentSettings::default()
        }
    }
}

fn rulebook(random: &mut Random) -> Rulebook {
    let modes = [
        Mode::Companion,
        Mode::Companion,
        Mode::Companion,
        Mode::Facilitator,
        Mode::Facilitator,
        Mode::MentionOnly,
        Mode::Observe,
    ];
    let tokens_per_day = random.chance(0.4).then(|| random.between(20_000, 200_000) as u64);
    let posts_per_hour = random.chance(0.5).then(|| random.between(1, 6) as u64);
    let channels = CHANNELS.map(|channel| {
        let quiet = random.chance(0.15);
        let hour = |random: &mut Random| {
            Time::new(random.below(24) as i8, 0, 0, 0).expect("it is an hour of the day")
        };
        let rules = ChannelRules {
            mode: *random.pick(&modes),
            quiet_hours: quiet.then(|| QuietHours { from: hour(random), to: hour(random) }),
            facilitation: FacilitationRules {
                cooldown: SignedDuration::from_mins(random.between(0, 10)),
                ..FacilitationRules::default()
            },
            cooldown: SignedDuration::from_mins(*random.pick(&[0, 0, 20])),
            max_share: *random.pick(&[0.5, 1.0]),
            budget_limits: BudgetLimits {
                posts_per_hour: Some(random.between(2, 20) as u64),
                ..BudgetLimits::default()
            },
            ..ChannelRules::default()
        };
        (channel.to_owned(), rules)
    });
    Rulebook {
        channels: BTreeMap::from(channels),
        workspace_limits: BudgetLimits {
            tokens_per_day,
            posts_per_hour,
            ..BudgetLimits::default()
        },
        answers_per_hour: Some(*random.pick(&[3, 30])),
        judge_calls_per_hour: Some(*random.pick(&[3, 30])),
        calls_per_decision: Some(*random.pick(&[3, 24])),
        ..Rulebook::default()
    }
}

fn acts(random: &mut Random, is_calm: bool, jumps: &[i64]) -> Vec<(i64, Act)> {
    let mut acts = Vec::new();
    for _ in 0..random.between(3, 7) {
        talk(random, &mut acts);
    }
    if random.chance(0.3) {
        storm(random, &mut acts);
    }
    if !is_calm {
        faults(random, &mut acts, jumps);
    }
    acts.sort_by_key(|(at, _)| *at);
    acts
}

/// Some users talk for a while in one channel.
fn talk(random: &mut Random, acts: &mut Vec<(i64, Act)>) {
    let channel = *random.pick(&CHANNELS);
    let mut at = random.between(0, DAY - 1);
    for _ in 0..random.between(3, 18) {
        at += random.between(800, *random.clone().pick(&[15_000, 60_000, 240_000]));
        acts.push((at, act(random, channel)));
    }
}

/// Many messages at once.
fn storm(random: &mut Random, acts: &mut Vec<(i64, Act)>) {
    let channel = *random.pick(&CHANNELS[..3]);
    let mut at = random.between(0, DAY - 1);
    for _ in 0..random.between(15, 45) {
        at += random.between(0, 1500);
        acts.push((at, act(random, channel)));
    }
}

fn act(random: &mut Random, channel: &'static str) -> Act {
    let back = random.below(6);
    match random.below(20) {
        0 | 1 => Act::Edit { channel, back, kind: text_kind(random) },
        2 => Act::Delete { channel, back },
        3 => Act::React { channel, back, who: PEOPLE[back] },
        _ => {
            let is_bot = channel != "direct" && random.chance(0.07);
            let who = if is_bot { *random.pick(&BOTS) } else { *random.pick(&PEOPLE) };
            let thread_back = random.chance(0.2).then(|| random.below(5));
            Act::Say(Saying { channel, who, thread_back, kind: text_kind(random) })
        }
    }
}

fn text_kind(random: &mut Random) -> TextKind {
    match random.below(40) {
        0..=12 => TextKind::Plain,
        13..=25 => TextKind::Question,
        26..=33 => TextKind::Mention,
        34 | 35 => TextKind::MentionsOther,
        36 => TextKind::Long,
        37 => TextKind::Odd,
        _ => TextKind::Command(COMMANDS[random.below(COMMANDS.len())]),
    }
}

fn faults(random: &mut Random, acts: &mut Vec<(i64, Act)>, jumps: &[i64]) {
    // Most faults happen while users talk.
    let busy: Vec<i64> = acts.iter().map(|(at, _)| *at).collect();
    for _ in 0..random.between(0, 6) {
        let at = *random.pick(&busy) + random.between(0, 60_000);
        let after = *random.pick(&[1, 5, 60, 900, 4 * 3600]);
        let fault = match random.below(12) {
            0..=2 => Act::Crash { after },
            3..=6 => Act::CrashAtCall { calls: random.below(60) },
            7 => Act::Disconnect { seconds: *random.pick(&[3, 60, 1800]) },
            8 => Act::StoreOutage { seconds: *random.pick(&[2, 30, 600]) },
            9 => Act::Suspend { seconds: *random.pick(&[20, 3600, 24 * 3600]) },
            _ => {
                let by = SignedDuration::from_secs(*random.pick(jumps));
                Act::SetClock { by, right_after: random.between(1, 4 * 3600) }
            }
        };
        acts.push((at, fault));
    }
}
