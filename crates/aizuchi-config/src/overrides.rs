//! The settings that a workspace, a channel or a thread may override. A workspace may override all of them. Channels
//! and threads have config sections of their own with their own keys; here all three share one type, so that a setting
//! means the same in each of them.

use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::rules::{ChannelRules, Mode, TimingRules};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::channel_overrides::{ChannelPersona, ChannelTools, MemorySetting};
use crate::language::LanguageSetting;
use crate::own_models::OwnModels;
use crate::schema;
use crate::values::{EmojiName, QuietHoursSetting, Ratio, Seconds, TimingSetting, emoji_names};

/// The settings of a workspace. An omitted setting is taken from `response`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
// This type is also the section of a workspace, and the schema describes it as such. `None` inherits from the outer
// rules.
#[schemars(rename = "WorkspaceConfig")]
pub struct PlaceOverrides {
    /// What Aizuchi does there, in channels without a mode of their own.
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
    /// The language there: `en`, `ja`, or `auto`, the language that people write.
    pub language: Option<LanguageSetting>,
    /// A text that is added to the persona's prompt there, or a section with a `system_prompt` that replaces it.
    pub persona: Option<ChannelPersona>,
    /// The model that is used there, as in `models.workspaces`, over which it takes precedence.
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
    /// Whether Aizuchi says, once in each channel that it joins, what it hears and stores.
    pub announce: Option<bool>,
}

/// The kind of place that a section of the config applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    Workspace,
    Channel,
    Thread,
}

impl SectionKind {
    /// The name for use in sentences.
    pub fn name(self) -> &'static str {
        match self {
            SectionKind::Workspace => "workspace",
            SectionKind::Channel => "channel",
            SectionKind::Thread => "thread",
        }
    }
}

/// A section of the config, with the path of keys that leads to it.
pub struct OverridingSection<'a> {
    pub kind: SectionKind,
    pub path: Vec<&'a str>,
    pub overrides: PlaceOverrides,
}

impl PlaceOverrides {
    /// Applies these overrides to the outer rules.
    pub fn apply_to(&self, around: &ChannelRules) -> ChannelRules {
        let cooldown = |wait: Seconds| duration_from_seconds(wait.0);
        ChannelRules {
            mode: self.mode.unwrap_or(around.mode),
            quiet_hours: self.quiet_hours.map_or(around.quiet_hours, |hours| hours.0),
            min_confidence: self.min_confidence.map_or(around.min_confidence, |ratio| ratio.0),
            tolerance: self.tolerance.map(|share| share.0).or(around.tolerance),
            reactions: self
                .reactions
                .as_deref()
                .map_or_else(|| around.reactions.clone(), emoji_names),
            cooldown: self.cooldown_seconds.map_or(around.cooldown, cooldown),
            max_share: self.max_share.map_or(around.max_share, |ratio| ratio.0),
            language: self.language.map_or(around.language, LanguageSetting::rule),
            persona: self
                .persona
                .as_ref()
                .map_or_else(|| around.persona.clone(), |persona| Some(persona.rule())),
            tools: self.tools.as_ref().map_or_else(|| around.tools.clone(), ChannelTools::rule),
            memory: self.memory.map_or(around.memory, MemorySetting::rule),
            timing: self.timing_rules(&around.timing),
            announces: self.announce.or(around.announces),
            models: self
                .model
                .as_ref()
                .map(OwnModels::rules)
                .unwrap_or_default()
                .or(&around.models),
            ..around.clone()
        }
    }

    fn timing_rules(&self, around: &TimingRules) -> TimingRules {
        let own = |wait: Option<Seconds>| wait.map(|wait| wait.0);
        TimingRules {
            min_wait_floor_seconds: own(self.min_wait_floor_seconds)
                .or(around.min_wait_floor_seconds),
            min_wait_seconds: own(self.min_wait_seconds).or(around.min_wait_seconds),
            max_wait_seconds: own(self.max_wait_seconds).or(around.max_wait_seconds),
            post_timing: self.timing.map(TimingSetting::rule).or(around.post_timing),
        }
    }
}
