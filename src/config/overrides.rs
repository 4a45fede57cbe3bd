//! What a workspace, a channel and a thread may each have otherwise than what holds around it. Each has sections of its own in
//! the config, which tell their keys apart; here they are one thing, so that a setting means the same in all three.

use crate::config::channel_overrides::{ChannelPersona, ChannelTools, MemorySetting};
use crate::config::language::LanguageSetting;
use crate::config::own_models::OwnModels;
use crate::config::values::{
    EmojiName, QuietHoursSetting, Ratio, Seconds, TimingSetting, emoji_names,
};
use aizuchi_core::clock::duration_from_seconds;
use aizuchi_core::rules::{ChannelRules, Mode, TimingRules};

/// What differs from the rules around. `None`: it does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoomOverrides {
    pub mode: Option<Mode>,
    pub quiet_hours: Option<QuietHoursSetting>,
    pub min_confidence: Option<Ratio>,
    pub tolerance: Option<Ratio>,
    pub max_share: Option<Ratio>,
    pub reactions: Option<Vec<EmojiName>>,
    pub cooldown_seconds: Option<Seconds>,
    pub language: Option<LanguageSetting>,
    pub persona: Option<ChannelPersona>,
    pub model: Option<OwnModels>,
    pub tools: Option<ChannelTools>,
    pub memory: Option<MemorySetting>,
    pub timing: Option<TimingSetting>,
    pub min_wait_floor_seconds: Option<Seconds>,
    pub min_wait_seconds: Option<Seconds>,
    pub max_wait_seconds: Option<Seconds>,
    pub announce: Option<bool>,
}

/// What kind of place a section of the config is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    Workspace,
    Channel,
    Thread,
}

impl SectionKind {
    /// In sentences.
    pub fn name(self) -> &'static str {
        match self {
            SectionKind::Workspace => "workspace",
            SectionKind::Channel => "channel",
            SectionKind::Thread => "thread",
        }
    }
}

/// A section of the config, with the keys that lead there.
pub struct OverridingSection<'a> {
    pub kind: SectionKind,
    pub path: Vec<&'a str>,
    pub overrides: RoomOverrides,
}

impl RoomOverrides {
    /// The rules with what differs here.
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
            language: self.language.map_or(around.language, |language| Some(language.rule())),
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
