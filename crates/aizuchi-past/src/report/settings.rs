//! The settings of a policy that decide whether and when the persona speaks, with their defaults.

use aizuchi_config::Config;
use aizuchi_config::budget::{BudgetConfig, ModelCosts};
use aizuchi_config::facilitator::FacilitatorConfig;
use aizuchi_config::response::{JudgeGate, ResponseConfig};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::persona::Language;
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::{ChannelRules, Mode, PostTiming, QuietHours};
use aizuchi_model::texts::policies as texts;
use serde::{Serialize, Serializer};

use crate::replay::Policy;

/// One setting of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicySetting {
    pub key: SettingKey,
    /// `None` if the policy does not use it, e.g. the length of a wait in a mode without waits.
    pub value: Option<SettingValue>,
    pub default: SettingValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    Seconds(f64),
    /// From 0 to 1.
    Share(f64),
    Count(u64),
    /// The limit or rule is turned off.
    Off,
    Mode(Mode),
    Wait(WaitStrategy),
    Timing(PostTiming),
    Gates(Vec<Gate>),
    Hours(QuietHours),
    /// Parts of the config.
    Parts(Vec<&'static str>),
}

/// Returns the settings of a policy, in the order of [`SettingKey::ALL`]. No value contains the name of a person or a
/// channel.
pub fn settings_of(policy: &Policy) -> Vec<PolicySetting> {
    let config = &policy.config;
    let defaults = Config::default();
    let setting = |key: SettingKey| PolicySetting {
        key,
        value: key.is_in_force(config).then(|| key.value(config)),
        default: key.value(&defaults),
    };
    SettingKey::ALL.into_iter().map(setting).collect()
}

impl PolicySetting {
    pub fn is_default(&self) -> bool {
        self.value.as_ref().is_none_or(|value| *value == self.default)
    }
}

/// Lists the settings: path in the config, label, what applies a change (a `reload` or a `restart`), which limit it is,
/// the setting that gives it its meaning, when it has an effect, and its value.
macro_rules! settings {
    (@reload) => { true };
    (@restart) => { false };
    (|$config:ident| $(
        $(#[$doc:meta])*
        $key:ident $path:literal $label:ident $applied_by:ident
        $(limits $limit:ident)? $(with $other:ident)? $(if $condition:expr)? => $value:expr;
    )*) => {
        /// A setting, by its path in the config.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SettingKey {
            $($(#[$doc])* $key,)*
        }

        impl SettingKey {
            pub const ALL: [SettingKey; [$($path),*].len()] = [$(SettingKey::$key),*];

            /// Returns its path in the config.
            pub fn path(self) -> &'static str {
                match self {
                    $(SettingKey::$key => $path,)*
                }
            }

            pub fn label(self, language: Language) -> &'static str {
                match self {
                    $(SettingKey::$key => texts::$label(language),)*
                }
            }

            /// Returns what it limits. `None` for a setting that is no limit.
            pub fn limit_name(self, language: Language) -> Option<&'static str> {
                match self {
                    $(SettingKey::$key => None$(.or(Some(texts::$limit(language))))?,)*
                }
            }

            /// Returns the setting that gives this one its meaning. If the other one is shown, this one is shown, too,
            /// even with its default.
            pub fn comes_with(self) -> Option<SettingKey> {
                match self {
                    $(SettingKey::$key => None$(.or(Some(SettingKey::$other)))?,)*
                }
            }

            /// Whether a reload of the config applies it, without a restart.
            pub fn holds_after_reload(self) -> bool {
                match self {
                    $(SettingKey::$key => settings!(@$applied_by),)*
                }
            }

            /// Whether it has an effect, given the other settings.
            fn is_in_force(self, $config: &Config) -> bool {
                match self {
                    $(SettingKey::$key => true$( && $condition)?,)*
                }
            }

            fn value(self, $config: &Config) -> SettingValue {
                match self {
                    $(SettingKey::$key => $value,)*
                }
            }
        }
    };
}

settings! { |config|
    Mode "response.mode" setting_mode reload => SettingValue::Mode(rules(config).mode);
    Wait "response.wait" setting_wait restart if !is_facilitator(config)
        => SettingValue::Wait(config.response.wait);
    MinWait "response.min_wait_seconds" setting_min_wait restart with Wait
        if !is_facilitator(config)
        => SettingValue::Seconds(config.wait_settings().min_wait_seconds);
    MinWaitFloor "response.min_wait_floor_seconds" setting_min_wait_floor restart
        if !is_facilitator(config) && config.response.wait == WaitStrategy::Adaptive
        => SettingValue::Seconds(config.wait_settings().min_wait_floor_seconds);
    Jitter "response.jitter_ratio" setting_jitter restart
        if !is_facilitator(config) && config.response.wait == WaitStrategy::Fixed
        => SettingValue::Share(config.wait_settings().jitter_ratio);
    MaxWait "response.max_wait_seconds" setting_max_wait restart limits limit_wait
        if !is_facilitator(config)
        => SettingValue::Seconds(config.wait_settings().max_wait_seconds);
    Timing "response.timing" setting_timing restart
        => SettingValue::Timing(config.response.timing());
    MaxDelay "response.max_delay_seconds" setting_max_delay restart
        => SettingValue::Seconds(config.response.max_delay_seconds.0);
    MinConfidence "response.min_confidence" setting_min_confidence reload
        => SettingValue::Share(config.response.min_confidence.0);
    Gates "response.gates" setting_gates restart
        => SettingValue::Gates(config.response.gates.iter().map(|gate| gate.gate()).collect());
    LearnedGate "response.learned_gate" setting_learned_gate restart
        => config.response.learned_miss().map_or(SettingValue::Off, SettingValue::Share);
    Cooldown "response.cooldown_seconds" setting_cooldown reload
        if !is_facilitator(config) && config.response.gates.contains(&JudgeGate::Cooldown)
        => SettingValue::Seconds(config.response.cooldown_seconds.0);
    MaxShare "response.max_share" setting_max_share reload
        if config.response.gates.contains(&JudgeGate::Share)
        => SettingValue::Share(config.response.max_share.0);
    QuietHours "response.quiet_hours" setting_quiet_hours reload
        => rules(config).quiet_hours.map_or(SettingValue::Off, SettingValue::Hours);
    FacilitatorRest "facilitator.rest_seconds" setting_rest reload with Mode
        if is_facilitator(config)
        => SettingValue::Seconds(rules(config).facilitation.rest_seconds);
    FacilitatorCooldown "facilitator.cooldown_minutes" setting_facilitator_cooldown reload with Mode
        if is_facilitator(config)
        => SettingValue::Seconds(rules(config).facilitation.cooldown.as_secs_f64());
    // The built-in mind has no such limit: it is that of a model.
    TokensPerDay "budget.tokens_per_day" setting_tokens reload limits limit_tokens
        => limit(config.budget.limits(ModelCosts::Tokens).tokens_per_day);
    PostsPerChannel "budget.posts_per_channel_per_hour" setting_posts reload limits limit_posts
        => limit(config.budget.posts_per_channel_per_hour.most());
    JudgeCallsPerPerson "budget.judge_calls_per_person_per_hour" setting_person_calls reload
        limits limit_person_calls
        => limit(config.budget.judge_calls_per_person_per_hour.most());
    CallsPerDecision "budget.calls_per_decision" setting_decision_calls reload
        limits limit_decision_calls
        => limit(config.budget.calls_per_decision.most());
    Channels "channels" setting_channels reload
        => SettingValue::Count(config.channels.len() as u64);
    /// Further parts of the config, by name.
    Others "others" setting_others restart => SettingValue::Parts(other_parts(config));
}

impl SettingKey {
    /// Returns its path in the config. `None` for [`SettingKey::Others`], which is not a single setting.
    pub fn single_path(self) -> Option<&'static str> {
        Some(self.path()).filter(|_| self != SettingKey::Others)
    }
}

fn is_facilitator(config: &Config) -> bool {
    rules(config).mode == Mode::Facilitator
}

fn rules(config: &Config) -> ChannelRules {
    config.rulebook_with(ModelCosts::Nothing).default_rules
}

fn limit(most: Option<u64>) -> SettingValue {
    most.map_or(SettingValue::Off, SettingValue::Count)
}

/// Returns the further parts of the config that matter in a replay and differ from the defaults.
fn other_parts(config: &Config) -> Vec<&'static str> {
    let default = Config::default();
    // The other settings of these sections, on their own.
    let response = ResponseConfig {
        reactions: config.response.reactions.clone(),
        channel_messages_limit: config.response.channel_messages_limit,
        channel_messages_step: config.response.channel_messages_step,
        ..ResponseConfig::default()
    };
    let budget = BudgetConfig {
        tokens_per_day: None,
        posts_per_channel_per_hour: default.budget.posts_per_channel_per_hour,
        judge_calls_per_person_per_hour: default.budget.judge_calls_per_person_per_hour,
        calls_per_decision: default.budget.calls_per_decision,
        ..config.budget.clone()
    };
    let facilitator = if is_facilitator(config) {
        // These two are told on their own.
        FacilitatorConfig {
            rest_seconds: None,
            cooldown_minutes: None,
            ..config.facilitator.clone()
        }
    } else if has_facilitated_channel(config) {
        config.facilitator.clone()
    } else {
        // It has no part.
        FacilitatorConfig::default()
    };
    let parts = [
        ("persona", config.persona != default.persona),
        ("agents", config.agents != default.agents),
        ("prompts_dir", config.prompts_dir.is_some()),
        ("context", config.context != default.context),
        ("decision", config.decision != default.decision),
        ("facilitator", facilitator != FacilitatorConfig::default()),
        ("response", response != default.response),
        ("budget", budget != default.budget),
        ("opted_out", !config.opted_out.is_empty()),
    ];
    parts.into_iter().filter(|(_, is_other)| *is_other).map(|(name, _)| name).collect()
}

fn has_facilitated_channel(config: &Config) -> bool {
    config.channels.values().any(|channel| channel.mode == Some(Mode::Facilitator))
}

impl Serialize for SettingKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.path())
    }
}

/// A value is serialized in the syntax of the config.
impl Serialize for SettingValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SettingValue::Seconds(number) | SettingValue::Share(number) => {
                serializer.serialize_f64(*number)
            }
            SettingValue::Count(count) => serializer.serialize_u64(*count),
            SettingValue::Off => serializer.serialize_str("off"),
            SettingValue::Mode(mode) => serializer.serialize_str(mode.name()),
            SettingValue::Wait(WaitStrategy::Adaptive) => serializer.serialize_str("adaptive"),
            SettingValue::Wait(WaitStrategy::Fixed) => serializer.serialize_str("fixed"),
            SettingValue::Timing(PostTiming::HumanLike) => serializer.serialize_str("human"),
            SettingValue::Timing(PostTiming::Immediate) => serializer.serialize_str("plain"),
            SettingValue::Gates(gates) => {
                serializer.collect_seq(gates.iter().map(|gate| gate.name()))
            }
            SettingValue::Hours(hours) => serializer.collect_str(&hours_text(*hours)),
            SettingValue::Parts(parts) => serializer.collect_seq(parts),
        }
    }
}

/// `22:00-07:00`
pub fn hours_text(hours: QuietHours) -> String {
    format!("{}-{}", hours.from.strftime("%H:%M"), hours.to.strftime("%H:%M"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(config: &str) -> Policy {
        Policy { config: Config::parse(config).unwrap(), ..Policy::default_settings() }
    }

    /// Returns the values that differ from the defaults, as in the JSON.
    fn changed(config: &str) -> Vec<(&'static str, serde_json::Value)> {
        let settings = settings_of(&policy(config));
        let changed = settings.iter().filter(|setting| !setting.is_default());
        changed.map(|setting| (setting.key.path(), json!(setting.value))).collect()
    }

    #[test]
    fn a_policy_is_what_it_has_besides_the_defaults() {
        assert!(changed("").is_empty());
        assert!(changed(include_str!("../../../../policies/adaptive.yaml")).is_empty());
        assert_eq!(
            changed("response: {min_confidence: 0.8, cooldown_seconds: 900}"),
            [("response.min_confidence", json!(0.8)), ("response.cooldown_seconds", json!(900.0))]
        );
        assert_eq!(
            changed(include_str!("../../../../policies/quiet-300.yaml")),
            [
                ("response.wait", json!("fixed")),
                ("response.max_wait_seconds", json!(31_622_400.0)),
                ("response.timing", json!("plain")),
                ("response.gates", json!([])),
                ("budget.tokens_per_day", json!("off")),
                ("budget.posts_per_channel_per_hour", json!("off")),
                ("budget.judge_calls_per_person_per_hour", json!("off")),
                ("budget.calls_per_decision", json!("off")),
            ]
        );
        assert_eq!(
            changed(include_str!("../../../../policies/facilitator.yaml")),
            [("response.mode", json!("facilitator"))]
        );
    }

    #[test]
    fn parts_are_named_without_what_stands_in_them() {
        let config = "persona: {name: Mio}\nchannels: {\"#secret\": {mode: observe}}\n\
                      budget: {posts_per_hour: 3}\nresponse: {reactions: []}\n";
        assert_eq!(
            changed(config),
            [("channels", json!(1)), ("others", json!(["persona", "response", "budget"]))]
        );
    }

    #[test]
    fn what_is_told_of_facilitation_is_told_once_and_where_it_has_a_part() {
        let facilitator = "facilitator: {rest_seconds: 9, cooldown_minutes: 20}\n";
        let with = |more: &str| format!("{facilitator}{more}");
        assert!(changed(facilitator).is_empty());
        assert_eq!(
            changed(&with("response: {mode: facilitator}")),
            [
                ("response.mode", json!("facilitator")),
                ("facilitator.rest_seconds", json!(9.0)),
                ("facilitator.cooldown_minutes", json!(1200.0)),
            ]
        );
        assert_eq!(
            changed(&with("channels: {\"#team\": {mode: facilitator}}")),
            [("channels", json!(1)), ("others", json!(["facilitator"]))]
        );
        let buffer = "response: {mode: facilitator}\nfacilitator: {buffer_size: 40}";
        assert_eq!(
            changed(buffer),
            [("response.mode", json!("facilitator")), ("others", json!(["facilitator"]))]
        );
    }
}
