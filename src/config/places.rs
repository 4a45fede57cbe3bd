//! Settings of whole workspaces, and the rules of workspaces, channels and threads, each on top of what holds around it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::Config;
use crate::config::channel_overrides::{ChannelPersona, ChannelTools, MemorySetting};
use crate::config::language::LanguageSetting;
use crate::config::overrides::{OverridingSection, RoomOverrides, SectionKind};
use crate::config::own_models::OwnModels;
use crate::config::schema;
use crate::config::threads::ThreadConfig;
use crate::config::values::{EmojiName, QuietHoursSetting, Ratio, Seconds, TimingSetting};
use aizuchi_core::rules::room::RoomRules;
use aizuchi_core::rules::{ChannelRules, Mode};

/// The settings of a workspace. What is omitted is as in `response`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkspaceConfig {
    /// What it does there, in channels without a mode of their own.
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
    /// The language there: `en`, `ja`, or `auto`, which is what people write.
    pub language: Option<LanguageSetting>,
    /// Added to the persona's prompt there; or a section with the `system_prompt` that takes its place.
    pub persona: Option<ChannelPersona>,
    /// The model that thinks there, as in `models.workspaces`, before which it counts.
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
    /// Whether it says once in a channel that it joins what it hears and stores.
    pub announce: Option<bool>,
}

/// Each field is named, so that a new one is not left behind.
impl From<&WorkspaceConfig> for RoomOverrides {
    fn from(workspace: &WorkspaceConfig) -> Self {
        let WorkspaceConfig {
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
        } = workspace.clone();
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

impl Config {
    /// The rules of all channels on top of these defaults, which may name a mode for all of them.
    pub(super) fn room_rules(&self, defaults: &ChannelRules, mode: Option<Mode>) -> RoomRules {
        let (mut channels, mut threads) = (BTreeMap::new(), BTreeMap::new());
        for (key, channel) in &self.channels {
            let usual = mode.unwrap_or(self.default_mode_of(channel.model.as_ref()));
            let rules = channel.apply_to(&ChannelRules { mode: usual, ..defaults.clone() });
            let has_mode = channel.mode.or(mode).is_some();
            let of_thread = |(id, thread): (&String, &ThreadConfig)| {
                let mut rules = RoomOverrides::from(thread).apply_to(&rules);
                if !has_mode && self.has_builtin_judge(thread) {
                    rules.mode = Mode::MentionOnly;
                }
                (id.clone(), rules)
            };
            let of_threads: BTreeMap<String, ChannelRules> =
                channel.thread_settings.iter().map(of_thread).collect();
            if !of_threads.is_empty() {
                threads.insert(key.0.clone(), of_threads);
            }
            channels.insert(key.0.clone(), rules);
        }
        RoomRules { default_rules: defaults.clone(), channels, threads }
    }

    /// Whether the built-in rules judge a thread: they speak unasked only where a mode says so.
    fn has_builtin_judge(&self, thread: &ThreadConfig) -> bool {
        let own = thread.model.as_ref();
        let has_judge = own.is_some_and(|own| own.rules().judgment.is_some());
        has_judge && self.default_mode_of(own) == Mode::MentionOnly
    }

    /// The rules of each workspace that has settings. Those of a platform hold in all of its workspaces.
    pub(super) fn workspace_rules(&self, defaults: &ChannelRules) -> BTreeMap<String, RoomRules> {
        let rules = |(id, workspace): (&String, &WorkspaceConfig)| {
            let platform = id.split_once(':').and_then(|(name, _)| self.workspaces.get(name));
            let around = platform.map(|it| RoomOverrides::from(it).apply_to(defaults));
            let own = RoomOverrides::from(workspace).apply_to(around.as_ref().unwrap_or(defaults));
            let of_platform = platform.and_then(|platform| platform.mode);
            let mode = workspace.mode.or(of_platform).or(self.response.mode);
            (id.clone(), self.room_rules(&own, mode))
        };
        self.workspaces.iter().map(rules).collect()
    }

    /// The sections of channels and their threads, then those of workspaces.
    pub(super) fn overriding_sections(&self) -> Vec<OverridingSection<'_>> {
        let of_channels = self.channels.iter().flat_map(|(key, channel)| {
            let own = OverridingSection {
                kind: SectionKind::Channel,
                path: vec!["channels", key.0.as_str()],
                overrides: channel.into(),
            };
            let threads = channel.thread_settings.iter();
            let of_threads = threads.map(move |(id, thread)| OverridingSection {
                kind: SectionKind::Thread,
                path: vec!["channels", key.0.as_str(), "thread_settings", id.as_str()],
                overrides: thread.into(),
            });
            [own].into_iter().chain(of_threads)
        });
        let of_workspaces = self.workspaces.iter().map(|(id, workspace)| OverridingSection {
            kind: SectionKind::Workspace,
            path: vec!["workspaces", id.as_str()],
            overrides: workspace.into(),
        });
        of_channels.chain(of_workspaces).collect()
    }
}
