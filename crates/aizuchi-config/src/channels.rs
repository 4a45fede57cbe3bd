//! Settings of single channels.

use std::collections::BTreeMap;

use aizuchi_model::rules::{ChannelRules, Mode};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::budget::ChannelBudget;
use crate::channel_overrides::{ChannelPersona, ChannelTools, MemorySetting};
use crate::facilitator::FacilitatorConfig;
use crate::language::LanguageSetting;
use crate::overrides::PlaceOverrides;
use crate::own_models::OwnModels;
use crate::platforms::ThreadsSetting;
use crate::schema;
use crate::threads::ThreadConfig;
use crate::values::{
    ConfiguredUserId, EmojiName, QuietHoursSetting, Ratio, Seconds, TimingSetting, user_ids,
};
use crate::weekly_note::WeeklyNoteSetting;

/// The settings of one channel. An omitted setting is taken from its workspace, else from `response`, `facilitator` or
/// `budget`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelConfig {
    /// What Aizuchi does there.
    #[schemars(with = "Option<schema::ModeSchema>")]
    pub mode: Option<Mode>,
    /// The hours in which Aizuchi says nothing unasked, such as `22:00-07:00`. `none`: no such hours.
    pub quiet_hours: Option<QuietHoursSetting>,
    /// If the judge is less sure than this, Aizuchi stays silent.
    pub min_confidence: Option<Ratio>,
    /// At most this share of Aizuchi's unasked posts may be unwelcome.
    pub tolerance: Option<Ratio>,
    /// Aizuchi posts nothing unasked while more than this share of the recent messages is its own.
    pub max_share: Option<Ratio>,
    /// The emoji that Aizuchi may react with.
    pub reactions: Option<Vec<EmojiName>>,
    /// How long Aizuchi waits after an unasked post before the next one in the same channel.
    pub cooldown_seconds: Option<Seconds>,
    /// How Aizuchi takes part there, if the channel's mode is `facilitator`.
    pub facilitator: FacilitatorConfig,
    /// On Discord, whether a mention there opens a thread.
    pub threads: Option<ThreadsSetting>,
    /// Settings for individual threads of the channel, by the id of the thread's first message.
    pub thread_settings: BTreeMap<String, ThreadConfig>,
    /// The language there: `en`, `ja`, or `auto`, the language that people write.
    pub language: Option<LanguageSetting>,
    /// With `mode: propose`, the id of the person who is asked in a direct message before Aizuchi says something
    /// unasked there. This person sees what Aizuchi would say, even in a private channel.
    pub keeper: Option<ConfiguredUserId>,
    /// When the channel's keeper gets a direct message about the past week, such as `monday 09:00`. `off`: never.
    pub weekly_note: Option<WeeklyNoteSetting>,
    /// The limits there: a section, or the most that models may cost within 30 days.
    pub budget: Option<ChannelBudget>,
    /// A text that is added to the persona's prompt there, or a section with a `system_prompt` that replaces it.
    pub persona: Option<ChannelPersona>,
    /// The model that is used there: a name in `models.named`, or a section with a name for `response`, `judgment`,
    /// `memory` or `state`. If omitted: the usual model. A thread without a model of its own uses its channel's. What
    /// is said in public there may be recalled in other channels, whose models then read it, unless `memory` is `off`.
    pub model: Option<OwnModels>,
    /// Whether replies may use tools there, or a list of the tools that they may use.
    pub tools: Option<ChannelTools>,
    /// Whether what is said there is remembered. With `off`, prompts there contain no memories either.
    pub memory: Option<MemorySetting>,
    /// When Aizuchi posts unasked, if the judge names no moment.
    pub timing: Option<TimingSetting>,
    /// An adaptive wait is no shorter than this.
    pub min_wait_floor_seconds: Option<Seconds>,
    /// How long a conversation must rest before it is judged; the longest adaptive wait.
    pub min_wait_seconds: Option<Seconds>,
    /// The longest that new messages wait to be judged, even while people keep talking.
    pub max_wait_seconds: Option<Seconds>,
    /// Whether Aizuchi says once, when it joins the channel, what it hears and stores.
    pub announce: Option<bool>,
    /// The ids of other bots that speak unasked there.
    pub companions: Option<Vec<ConfiguredUserId>>,
}

/// A channel's id, or `#` and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ChannelKey(pub String);

impl ChannelConfig {
    /// The rules of the channel: these settings on top of the defaults.
    pub fn apply_to(&self, defaults: &ChannelRules) -> ChannelRules {
        let ChannelRules { facilitation, budget_limits, keeper, weekly_note, companions, .. } =
            defaults;
        ChannelRules {
            facilitation: self.facilitator.apply_to(facilitation),
            keeper: self.keeper.as_ref().map(ConfiguredUserId::user).or_else(|| keeper.clone()),
            weekly_note: self.weekly_note.map_or(*weekly_note, |setting| setting.0),
            budget_limits: match &self.budget {
                Some(budget) => budget.limits(budget_limits),
                None => *budget_limits,
            },
            companions: match &self.companions {
                Some(own) => Some(user_ids(own)),
                None => companions.clone(),
            },
            ..PlaceOverrides::from(self).apply_to(defaults)
        }
    }
}

/// Names each field, so that a new one is not forgotten.
impl From<&ChannelConfig> for PlaceOverrides {
    fn from(channel: &ChannelConfig) -> Self {
        let ChannelConfig {
            mode,
            quiet_hours,
            min_confidence,
            tolerance,
            max_share,
            reactions,
            cooldown_seconds,
            language,
            persona,
            model,
            tools,
            memory,
            timing,
            min_wait_floor_seconds,
            min_wait_seconds,
            max_wait_seconds,
            announce,
            // Only channels have these.
            facilitator: _,
            threads: _,
            thread_settings: _,
            keeper: _,
            weekly_note: _,
            budget: _,
            companions: _,
        } = channel.clone();
        Self {
            mode,
            quiet_hours,
            min_confidence,
            tolerance,
            max_share,
            reactions,
            cooldown_seconds,
            language,
            persona,
            model,
            tools,
            memory,
            timing,
            min_wait_floor_seconds,
            min_wait_seconds,
            max_wait_seconds,
            announce,
        }
    }
}

impl TryFrom<String> for ChannelKey {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        let name = value.strip_prefix('#').unwrap_or(&value);
        let is_valid = !name.is_empty() && !name.contains(char::is_whitespace);
        is_valid.then_some(Self(value)).ok_or("it must be \"#\" and a channel's name, or its id")
    }
}
