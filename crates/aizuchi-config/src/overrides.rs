//! The settings that a workspace, a channel or a thread may override, each declared once. A workspace may override all
//! of them. Channels and threads have sections of their own with fewer or more keys; a setting means the same in each.

use std::collections::BTreeMap;

use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::rules::{ChannelRules, Mode};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::budget::ChannelBudget;
use crate::channel_overrides::{
    ChannelPersona, ChannelTools, FollowUpSetting, MemorySetting, SpeaksFirst,
};
use crate::facilitator::FacilitatorConfig;
use crate::language::LanguageSetting;
use crate::models::place_models::OwnModels;
use crate::platforms::ThreadsSetting;
use crate::schema;
use crate::values::{
    ConfiguredUserId, EmojiName, QuietHoursSetting, Ratio, Seconds, TimingSetting, emoji_names,
};

/// Declares the sections of workspaces, channels and threads. A row has the sections that have the key, and how its
/// value changes the outer rules. A key whose description differs has a row for each; `own` is for keys that only
/// channels have.
macro_rules! sections {
    (@ {$($fields:tt)*} {$($rules:tt)*} $channel:tt $of_channels:tt $thread:tt $of_threads:tt
        $(#[$meta:meta])* [workspace $($level:ident)*] $key:ident: $type:ty = $apply:expr; $($rest:tt)*) => {
        sections! { @ {$($fields)* $(#[$meta])* pub $key: Option<$type>,} {$($rules)* $key: $type = $apply;}
            $channel $of_channels $thread $of_threads $(#[$meta])* [$($level)*] $key: $type; $($rest)* }
    };
    (@ $workspace:tt $rules:tt {$($fields:tt)*} {$($keys:tt)*} $thread:tt $of_threads:tt
        $(#[$meta:meta])* [channel $($level:ident)*] $key:ident: $type:ty; $($rest:tt)*) => {
        sections! { @ $workspace $rules {$($fields)* $(#[$meta])* pub $key: Option<$type>,} {$($keys)* $key}
            $thread $of_threads $(#[$meta])* [$($level)*] $key: $type; $($rest)* }
    };
    (@ $workspace:tt $rules:tt $channel:tt $of_channels:tt {$($fields:tt)*} {$($keys:tt)*}
        $(#[$meta:meta])* [thread] $key:ident: $type:ty; $($rest:tt)*) => {
        sections! { @ $workspace $rules $channel $of_channels
            {$($fields)* $(#[$meta])* pub $key: Option<$type>,} {$($keys)* $key} $($rest)* }
    };
    (@ $workspace:tt $rules:tt {$($fields:tt)*} $of_channels:tt $thread:tt $of_threads:tt
        $(#[$meta:meta])* [own] $key:ident: $type:ty; $($rest:tt)*) => {
        sections! { @ $workspace $rules {$($fields)* $(#[$meta])* pub $key: $type,} $of_channels
            $thread $of_threads $($rest)* }
    };
    (@ $workspace:tt $rules:tt $channel:tt $of_channels:tt $thread:tt $of_threads:tt
        $(#[$meta:meta])* [] $key:ident: $type:ty; $($rest:tt)*) => {
        sections! { @ $workspace $rules $channel $of_channels $thread $of_threads $($rest)* }
    };
    (@ {$($workspace:tt)*} {$($key:ident: $type:ty = $apply:expr;)*} {$($channel:tt)*} {$($of_channels:ident)*}
        {$($thread:tt)*} {$($of_threads:ident)*}) => {
        /// The settings of a workspace. An omitted setting is taken from `response`.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        // `None` inherits from the outer rules.
        #[schemars(rename = "WorkspaceConfig")]
        pub struct PlaceOverrides {
            $($workspace)*
        }

        /// The settings of one channel. An omitted setting is taken from its workspace, else from `response`, `facilitator` or
        /// `budget`.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct ChannelConfig {
            $($channel)*
        }

        /// The settings of a thread. An omitted setting is taken from its channel.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct ThreadConfig {
            $($thread)*
        }

        impl PlaceOverrides {
            /// Applies these overrides to the outer rules.
            pub fn apply_to(&self, around: &ChannelRules) -> ChannelRules {
                let mut rules = around.clone();
                $(if let Some(own) = &self.$key {
                    let apply: fn(&mut ChannelRules, &$type) = $apply;
                    apply(&mut rules, own);
                })*
                rules
            }
        }

        impl From<&ChannelConfig> for PlaceOverrides {
            fn from(channel: &ChannelConfig) -> Self {
                let channel = channel.clone();
                Self { $($of_channels: channel.$of_channels,)* }
            }
        }

        impl From<&ThreadConfig> for PlaceOverrides {
            fn from(thread: &ThreadConfig) -> Self {
                let thread = thread.clone();
                Self { $($of_threads: thread.$of_threads,)* ..Self::default() }
            }
        }
    };
    ($($rows:tt)*) => { sections! { @ {} {} {} {} {} {} $($rows)* } };
}

sections! {
    /// What Aizuchi does there, in channels without a mode of their own.
    #[schemars(with = "Option<schema::ModeSchema>")]
    [workspace] mode: Mode = |rules, own| rules.mode = *own;
    /// What Aizuchi does there.
    #[schemars(with = "Option<schema::ModeSchema>")]
    [channel] mode: Mode;
    /// The hours in which Aizuchi says nothing unasked, such as `22:00-07:00`. `none`: no such hours.
    [workspace channel] quiet_hours: QuietHoursSetting = |rules, own| rules.quiet_hours = own.0;
    /// If the judge is less sure than this, Aizuchi stays silent.
    [workspace channel thread] min_confidence: Ratio = |rules, own| rules.min_confidence = own.0;
    /// At most this share of Aizuchi's unasked posts may be unwelcome.
    [workspace channel] tolerance: Ratio = |rules, own| rules.tolerance = Some(own.0);
    /// Aizuchi posts nothing unasked while more than this share of the recent messages is its own.
    [workspace channel] max_share: Ratio = |rules, own| rules.max_share = own.0;
    /// The emoji that Aizuchi may react with.
    [workspace channel] reactions: Vec<EmojiName> = |rules, own| rules.reactions = emoji_names(own);
    /// How long Aizuchi waits after an unasked post before the next one in the same channel.
    [workspace channel] cooldown_seconds: Seconds = |rules, own| rules.cooldown = duration_from_seconds(own.0);
    /// How Aizuchi takes part there, if the channel's mode is `facilitator`.
    [own] facilitator: FacilitatorConfig;
    /// On Discord, whether a mention there opens a thread.
    [own] threads: Option<ThreadsSetting>;
    /// Settings for individual threads of the channel, by the id of the thread's first message.
    [own] thread_settings: BTreeMap<String, ThreadConfig>;
    /// The language there: `en`, `ja`, or `auto`, the language that people write.
    [workspace channel thread] language: LanguageSetting = |rules, own| rules.language = own.rule();
    /// With `mode: propose`, the id of the person who is asked in a direct message before Aizuchi says something
    /// unasked there. This person sees what Aizuchi would say, even in a private channel.
    [own] keeper: Option<ConfiguredUserId>;
    /// The limits there: a section, or the most that models may cost within 30 days. The section takes `tokens_per_day`,
    /// `money_per_day`, `money_per_month` (each without a limit if omitted) and `posts_per_hour` (if omitted:
    /// `budget.posts_per_channel_per_hour`).
    [own] budget: Option<ChannelBudget>;
    /// A text that is added to the persona's prompt there, or a section with a `system_prompt` that replaces it.
    [workspace channel thread] persona: ChannelPersona = |rules, own| rules.persona = Some(own.rule());
    /// The model that is used there, as in `models.workspaces`, over which it takes precedence.
    [workspace] model: OwnModels = |rules, own| rules.models = own.rules().or(&rules.models);
    /// The model that is used there: a name in `models.named`, or a section with a name for `response`, `judgment`,
    /// `memory` or `state`. If omitted: the usual model. A thread without a model of its own uses its channel's. What
    /// is said in public there may be recalled in other channels, whose models then read it, unless `memory` is `off`.
    [channel] model: OwnModels;
    /// The model that is used there: a name in `models.named`, or a section with a name for `response`, `judgment`,
    /// `memory` or `state`. What is said there also becomes part of the channel's memory, which the channel's own model
    /// makes, unless `memory` is `off`.
    [thread] model: OwnModels;
    /// Whether replies may use tools there, or a list of the tools that they may use.
    [workspace channel thread] tools: ChannelTools = |rules, own| rules.tools = own.rule();
    /// Whether what is said there is remembered. With `off`, prompts there contain no memories either.
    [workspace channel] memory: MemorySetting = |rules, own| rules.memory = own.rule();
    /// Whether what is said there is remembered, in the thread's memory and in the channel's. With `off`, prompts there
    /// contain no memories either. The thread's first message counts as said in the channel.
    [thread] memory: MemorySetting;
    /// When Aizuchi posts unasked, if the judge names no moment.
    [workspace channel thread] timing: TimingSetting = |rules, own| rules.timing.post_timing = Some(own.rule());
    /// An adaptive wait is no shorter than this.
    [workspace channel] min_wait_floor_seconds: Seconds = |rules, own| rules.timing.min_wait_floor_seconds = Some(own.0);
    /// How long a conversation must rest before it is judged; the longest adaptive wait.
    [workspace channel] min_wait_seconds: Seconds = |rules, own| rules.timing.min_wait_seconds = Some(own.0);
    /// The longest that new messages wait to be judged, even while people keep talking.
    [workspace channel] max_wait_seconds: Seconds = |rules, own| rules.timing.max_wait_seconds = Some(own.0);
    /// Whether Aizuchi says, once in each channel that it joins, what it hears and stores.
    [workspace] announce: bool = |rules, own| rules.announces = Some(*own);
    /// Whether Aizuchi says once, when it joins the channel, what it hears and stores.
    [channel] announce: bool;
    /// The questions that Aizuchi comes back to there, once, if nobody has answered them.
    [workspace channel] follow_up: FollowUpSetting = |rules, own| rules.follow_up = own.rule();
    /// How long after a question Aizuchi comes back to it.
    [workspace channel] follow_up_after_seconds: Seconds = |rules, own| rules.follow_up_after = duration_from_seconds(own.0);
    /// When Aizuchi may begin a conversation there, at most once a day and if the judge agrees. If omitted: never.
    [own] speaks_first: Option<SpeaksFirst>;
    /// The ids of other bots that speak unasked there.
    [own] companions: Option<Vec<ConfiguredUserId>>;
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
