//! Settings of single channels.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::budget::ChannelBudget;
use crate::config::channel_overrides::{ChannelPersona, ChannelTools};
use crate::config::facilitator::FacilitatorConfig;
use crate::config::language::LanguageSetting;
use crate::config::own_models::OwnModels;
use crate::config::platforms::ThreadsSetting;
use crate::config::schema;
use crate::config::threads::ThreadConfig;
use crate::config::values::{
    ConfiguredUserId, EmojiName, QuietHoursSetting, Ratio, Seconds, TimingSetting, user_ids,
};
use crate::config::weekly_note::WeeklyNoteSetting;
use aizuchi_core::clock::duration_from_seconds;
use aizuchi_core::rules::{ChannelRules, MemoryRule, Mode, TimingRules};

/// The settings of one channel. What is omitted is as in its workspace, or else in `response`, `facilitator` and
/// `budget`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelConfig {
    /// What it does there.
    #[schemars(with = "Option<schema::ModeSchema>")]
    pub mode: Option<Mode>,
    /// `22:00-07:00`: within these hours it says nothing unasked. `none`: it has no such hours.
    pub quiet_hours: Option<QuietHoursSetting>,
    /// If the judge is less sure than this, Aizuchi stays silent.
    pub min_confidence: Option<Ratio>,
    /// Of the words that it says unasked, at most this share may be unwelcome.
    pub tolerance: Option<Ratio>,
    /// It posts nothing unasked while more than this share of the recent messages is its own.
    pub max_share: Option<Ratio>,
    /// The emoji that it may react with.
    pub reactions: Option<Vec<EmojiName>>,
    /// After an unasked post, how long it waits before the next one in the same channel.
    pub cooldown_seconds: Option<Seconds>,
    /// How it takes part there, if its mode is `facilitator`.
    pub facilitator: FacilitatorConfig,
    /// Whether a mention there opens a thread, on Discord.
    pub threads: Option<ThreadsSetting>,
    /// Settings for single threads of it, by the id of the thread's first message.
    pub thread_settings: BTreeMap<String, ThreadConfig>,
    /// The language there: `en`, `ja`, or `auto`, which is what people write.
    pub language: Option<LanguageSetting>,
    /// The id of whoever is asked in a private chat before it says something unasked there, with `mode: propose`. They see
    /// what it would say there, also in a private channel.
    pub keeper: Option<ConfiguredUserId>,
    /// When its keeper is told of the week, as in `monday 09:00`. `off`: never.
    pub weekly_note: Option<WeeklyNoteSetting>,
    /// The limits there: a section of them, or the most money in 30 days.
    pub budget: Option<ChannelBudget>,
    /// Added to the persona's prompt there; or a section with the `system_prompt` that takes its place.
    pub persona: Option<ChannelPersona>,
    /// The model that thinks there, by its name in `models.named`; or a section with one for `response`, `judgment`, `memory` or
    /// `state`. If omitted: as everywhere. Threads without one have that of their channel. What is said in public there may
    /// be recalled in other channels, whose models read it then, unless `memory` is `off`.
    pub model: Option<OwnModels>,
    /// Whether replies may use tools there, or a list of those that they may use.
    pub tools: Option<ChannelTools>,
    /// Whether what is said there is remembered. With `off`, nothing that is remembered is in prompts there either.
    pub memory: Option<MemorySetting>,
    /// When it posts unasked, if the judge names no moment.
    pub timing: Option<TimingSetting>,
    /// An adaptive wait is no shorter than this.
    pub min_wait_floor_seconds: Option<Seconds>,
    /// How long a conversation must rest before it is judged; the longest adaptive wait.
    pub min_wait_seconds: Option<Seconds>,
    /// The longest that new messages wait to be judged, even while people keep talking.
    pub max_wait_seconds: Option<Seconds>,
    /// Whether it says once there that it joins what it hears and stores.
    pub announce: Option<bool>,
    /// The ids of other bots that speak unasked there.
    pub companions: Option<Vec<ConfiguredUserId>>,
}

/// Whether a channel is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum MemorySetting {
    /// Kept, and shown.
    On,
    /// Neither kept nor shown.
    Off,
}

impl MemorySetting {
    fn rule(self) -> MemoryRule {
        match self {
            MemorySetting::On => MemoryRule::On,
            MemorySetting::Off => MemoryRule::Off,
        }
    }
}

/// A channel's id, or `#` and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ChannelKey(pub String);

impl ChannelConfig {
    /// The rules of the channel: these settings on top of the defaults.
    pub fn apply_to(&self, defaults: &ChannelRules) -> ChannelRules {
        let cooldown = |wait: Seconds| duration_from_seconds(wait.0);
        ChannelRules {
            mode: self.mode.unwrap_or(defaults.mode),
            quiet_hours: self.quiet_hours.map_or(defaults.quiet_hours, |hours| hours.0),
            min_confidence: self.min_confidence.map_or(defaults.min_confidence, |ratio| ratio.0),
            tolerance: self.tolerance.map(|share| share.0).or(defaults.tolerance),
            reactions: self
                .reactions
                .as_deref()
                .map_or_else(|| defaults.reactions.clone(), emoji_names),
            facilitation: self.facilitator.apply_to(&defaults.facilitation),
            cooldown: self.cooldown_seconds.map_or(defaults.cooldown, cooldown),
            language: self.language.map_or(defaults.language, |language| Some(language.rule())),
            keeper: self
                .keeper
                .as_ref()
                .map_or_else(|| defaults.keeper.clone(), |keeper| Some(keeper.user())),
            weekly_note: self.weekly_note.map_or(defaults.weekly_note, |setting| setting.0),
            max_share: self.max_share.map_or(defaults.max_share, |ratio| ratio.0),
            budget_limits: self
                .budget
                .as_ref()
                .map_or(defaults.budget_limits, |budget| budget.limits(&defaults.budget_limits)),
            persona: self
                .persona
                .as_ref()
                .map_or_else(|| defaults.persona.clone(), |persona| Some(persona.rule())),
            tools: self.tools.as_ref().map_or_else(|| defaults.tools.clone(), ChannelTools::rule),
            memory: self.memory.map_or(defaults.memory, MemorySetting::rule),
            timing: self.timing_rules(&defaults.timing),
            announces: self.announce.or(defaults.announces),
            companions: self
                .companions
                .as_deref()
                .map(user_ids)
                .or_else(|| defaults.companions.clone()),
            companion_window: defaults.companion_window,
            models: self
                .model
                .as_ref()
                .map(OwnModels::rules)
                .unwrap_or_default()
                .or(&defaults.models),
        }
    }

    fn timing_rules(&self, defaults: &TimingRules) -> TimingRules {
        let own = |wait: Option<Seconds>| wait.map(|wait| wait.0);
        TimingRules {
            min_wait_floor_seconds: own(self.min_wait_floor_seconds)
                .or(defaults.min_wait_floor_seconds),
            min_wait_seconds: own(self.min_wait_seconds).or(defaults.min_wait_seconds),
            max_wait_seconds: own(self.max_wait_seconds).or(defaults.max_wait_seconds),
            post_timing: self.timing.map(TimingSetting::rule).or(defaults.post_timing),
        }
    }
}

/// The emoji names as plain strings.
pub fn emoji_names(reactions: &[EmojiName]) -> Vec<String> {
    reactions.iter().map(|reaction| reaction.0.clone()).collect()
}

impl TryFrom<String> for ChannelKey {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        let name = value.strip_prefix('#').unwrap_or(&value);
        let is_valid = !name.is_empty() && !name.contains(char::is_whitespace);
        is_valid.then_some(Self(value)).ok_or("it must be \"#\" and a channel's name, or its id")
    }
}
