//! The rules of workspaces, channels and threads, each on top of the outer rules.

use std::collections::BTreeMap;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::rules::place::WorkspaceRules;
use aizuchi_model::rules::{ChannelRules, Mode};

use crate::Config;
use crate::overrides::{OverridingSection, PlaceOverrides, SectionKind, ThreadConfig};

/// The workspace that a key of `workspaces` names, or the name of a platform. The ids of Slack's teams have no prefix, but
/// may be written with one, like those of Discord's servers.
pub(super) fn workspace_id(key: &str) -> WorkspaceId {
    WorkspaceId::new(key.strip_prefix("slack:").unwrap_or(key))
}

impl Config {
    /// The rules of all channels on top of these defaults. `mode` applies to channels that set none.
    pub(super) fn channel_and_thread_rules(
        &self,
        defaults: &ChannelRules,
        mode: Option<Mode>,
    ) -> WorkspaceRules {
        let (mut channels, mut threads) = (BTreeMap::new(), BTreeMap::new());
        for (key, channel) in &self.channels {
            let usual = mode.unwrap_or(self.default_mode_of(channel.model.as_ref()));
            let rules = channel.apply_to(&ChannelRules { mode: usual, ..defaults.clone() });
            let has_mode = channel.mode.or(mode).is_some();
            let of_thread = |(id, thread): (&String, &ThreadConfig)| {
                let mut rules = PlaceOverrides::from(thread).apply_to(&rules);
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
        WorkspaceRules { default_rules: defaults.clone(), channels, threads }
    }

    /// Whether the built-in rules judge a thread: they speak unasked only where a mode says so.
    fn has_builtin_judge(&self, thread: &ThreadConfig) -> bool {
        let own = thread.model.as_ref();
        let has_judge = own.is_some_and(|own| own.rules().judgment.is_some());
        has_judge && self.default_mode_of(own) == Mode::MentionOnly
    }

    /// The rules of each workspace with settings. Those of a platform apply to all of its workspaces.
    pub(super) fn workspace_rules(
        &self,
        defaults: &ChannelRules,
    ) -> BTreeMap<String, WorkspaceRules> {
        let rules = |(key, workspace): (&String, &PlaceOverrides)| {
            let id = workspace_id(key);
            let name = Some(id.platform()).filter(|name| *name != id.as_str());
            let platform = name.and_then(|name| self.workspaces.get(name));
            let around = platform.map(|it| it.apply_to(defaults));
            let own = workspace.apply_to(around.as_ref().unwrap_or(defaults));
            let of_platform = platform.and_then(|platform| platform.mode);
            let mode = workspace.mode.or(of_platform).or(self.response.mode);
            (id.to_string(), self.channel_and_thread_rules(&own, mode))
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
            overrides: workspace.clone(),
        });
        of_channels.chain(of_workspaces).collect()
    }
}
