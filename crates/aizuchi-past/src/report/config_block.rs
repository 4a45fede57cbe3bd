//! The config lines that set a policy.

use std::fmt::Write as _;

use aizuchi_config::channels::ChannelKey;
use aizuchi_model::persona::Language;
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::{Mode, PostTiming};
use aizuchi_model::texts::next_steps as texts;

use crate::report::settings::{PolicySetting, SettingKey, SettingValue, hours_text};

/// Returns the settings that differ from the defaults, as YAML. Empty if none do. A setting that is left out, since it
/// may contain names of channels or people, is a comment.
pub fn config_block(settings: &[PolicySetting], language: Language) -> String {
    block_of(settings, language, |setting| is_told(setting, settings))
}

/// Returns the same settings with the mode, whose default is different without a model.
pub fn block_with_mode(settings: &[PolicySetting], language: Language) -> String {
    block_of(settings, language, |setting| {
        setting.key == SettingKey::Mode || is_told(setting, settings)
    })
}

/// Returns the lines that set the mode of all channels without a mode of their own.
pub fn mode_block(mode: Mode) -> String {
    format!("response:\n  mode: {}\n", mode.name())
}

/// Returns the lines that set the mode of a channel, whose name comes from outside. `None` if the config cannot contain
/// the name.
pub fn channel_block(channel: &str, mode: Mode) -> Option<String> {
    let key = ChannelKey::try_from(channel.to_owned()).ok()?;
    // A string of JSON is one of YAML, too.
    let name = serde_json::Value::from(key.0);
    Some(format!("channels:\n  {name}: {{mode: {}}}\n", mode.name()))
}

/// Whether any of these settings takes effect only after a restart.
pub fn needs_restart(settings: &[PolicySetting]) -> bool {
    let needs_it = |setting: &PolicySetting| !setting.key.holds_after_reload();
    settings.iter().any(|setting| is_told(setting, settings) && needs_it(setting))
}

fn block_of(
    settings: &[PolicySetting],
    language: Language,
    is_told: impl Fn(&PolicySetting) -> bool,
) -> String {
    let mut block = String::new();
    let mut section = "";
    for setting in settings.iter().filter(|setting| is_told(setting)) {
        let Some(value) = &setting.value else { continue };
        let path = setting.key.path().split_once('.');
        // Writing to a string does not fail.
        let _ = match (path, yaml(setting.key, value)) {
            (Some((begin, key)), Some(value)) => {
                if begin != section {
                    let _ = writeln!(block, "{begin}:");
                    section = begin;
                }
                let comment = comment(setting, language);
                writeln!(block, "  {key}: {value}{comment}")
            }
            _ => writeln!(block, "# {}", left_out(value, language)),
        };
    }
    block
}

/// Whether a setting is written: it differs from its default, or its default depends on a setting that differs.
fn is_told(setting: &PolicySetting, all: &[PolicySetting]) -> bool {
    let is_changed = |key: SettingKey| all.iter().any(|one| one.key == key && !one.is_default());
    let goes_with = match setting.key {
        SettingKey::Timing => Some(SettingKey::Wait),
        key => key.comes_with(),
    };
    !setting.is_default() || setting.value.is_some() && goes_with.is_some_and(is_changed)
}

/// Writes a value in the syntax of the config. `None` if the value does not contain everything that is in the config.
fn yaml(key: SettingKey, value: &SettingValue) -> Option<String> {
    Some(match (key, value) {
        (SettingKey::LearnedGate, SettingValue::Share(miss)) => format!("{{miss: {miss}}}"),
        (SettingKey::FacilitatorCooldown, SettingValue::Seconds(seconds)) => {
            (seconds / 60.0).round().to_string()
        }
        (SettingKey::Channels, _) | (_, SettingValue::Parts(_)) => return None,
        (_, SettingValue::Seconds(number) | SettingValue::Share(number)) => number.to_string(),
        (_, SettingValue::Count(count)) => count.to_string(),
        (_, SettingValue::Off) => "off".to_owned(),
        (_, SettingValue::Mode(mode)) => mode.name().to_owned(),
        (_, SettingValue::Wait(WaitStrategy::Adaptive)) => "adaptive".to_owned(),
        (_, SettingValue::Wait(WaitStrategy::Fixed)) => "fixed".to_owned(),
        (_, SettingValue::Timing(PostTiming::HumanLike)) => "human".to_owned(),
        (_, SettingValue::Timing(PostTiming::Immediate)) => "plain".to_owned(),
        (_, SettingValue::Gates(gates)) => {
            let names: Vec<&str> = gates.iter().map(|gate| gate.name()).collect();
            format!("[{}]", names.join(", "))
        }
        (_, SettingValue::Hours(hours)) => hours_text(*hours),
    })
}

/// Returns a comment on a line that turns off a default limit.
fn comment(setting: &PolicySetting, language: Language) -> String {
    match &setting.value {
        Some(SettingValue::Off) => format!("  # {}", texts::unlimited(language)),
        Some(_) | None => String::new(),
    }
}

fn left_out(value: &SettingValue, language: Language) -> String {
    match value {
        SettingValue::Parts(parts) => texts::other_parts(language, &parts.join(", ")),
        SettingValue::Count(_)
        | SettingValue::Seconds(_)
        | SettingValue::Share(_)
        | SettingValue::Off
        | SettingValue::Mode(_)
        | SettingValue::Wait(_)
        | SettingValue::Timing(_)
        | SettingValue::Gates(_)
        | SettingValue::Hours(_) => texts::other_parts(language, "channels"),
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_config::Config;

    use super::*;
    use crate::replay::Policy;
    use crate::report::settings::settings_of;

    fn settings(config: &str) -> Vec<PolicySetting> {
        let config = Config::parse(config).unwrap();
        settings_of(&Policy { config, ..Policy::default_settings() })
    }

    #[test]
    fn a_block_makes_the_policy_that_it_is_of() {
        for config in [
            "",
            "response: {min_confidence: 0.8, cooldown_seconds: 900}",
            "response: {gates: [cooldown, share], max_share: 0.25, learned_gate: {miss: 0.02}}",
            "response:\n  quiet_hours: 22:00-07:00\n  wait: fixed\n  timing: human\n  jitter_ratio: 0",
            "response: {mode: facilitator}\nfacilitator: {rest_seconds: 25, cooldown_minutes: 20}",
            "budget: {tokens_per_day: 5000, posts_per_channel_per_hour: 2}",
            include_str!("../../../../policies/quiet-300.yaml"),
            include_str!("../../../../policies/facilitator.yaml"),
        ] {
            let settings_before = settings(config);
            for language in [Language::En, Language::Ja] {
                let block = config_block(&settings_before, language);
                assert_eq!(settings(&block), settings_before, "{block}");
            }
        }
        assert_eq!(config_block(&settings(""), Language::En), "");
        let block = block_with_mode(&settings("response: {cooldown_seconds: 900}"), Language::En);
        assert_eq!(block, "response:\n  mode: companion\n  cooldown_seconds: 900\n");
    }

    #[test]
    fn a_channel_keeps_its_name() {
        for (name, line) in [
            ("#garden", r##""#garden": {mode: observe}"##),
            (r#"#a"b\c"#, r##""#a\"b\\c": {mode: observe}"##),
        ] {
            let block = channel_block(name, Mode::Observe).unwrap();
            assert_eq!(block, format!("channels:\n  {line}\n"));
            let config = Config::parse(&block).unwrap();
            let names: Vec<&str> = config.channels.keys().map(|key| key.0.as_str()).collect();
            assert_eq!(names, [name], "{block}");
        }
        assert_eq!(channel_block("#Garden party", Mode::Observe), None);
    }

    #[test]
    fn what_a_running_one_takes_over_is_told_from_the_rest() {
        for (config, expected) in [
            ("", false),
            ("response: {min_confidence: 0.8, cooldown_seconds: 900}", false),
            ("budget: {tokens_per_day: off}", false),
            ("response: {wait: fixed}", true),
            ("persona: {name: Mio}", true),
        ] {
            assert_eq!(needs_restart(&settings(config)), expected, "{config}");
        }
    }

    #[test]
    fn a_block_has_what_differs_and_names_nobody() {
        let config = "persona: {name: Mio}\nchannels: {\"#secret\": {mode: observe}}\n\
                      budget: {tokens_per_day: off}\nresponse: {wait: fixed}";
        assert_eq!(
            config_block(&settings(config), Language::En),
            "response:\n  wait: fixed\n  min_wait_seconds: 300\n  timing: plain\nbudget:\n  \
             tokens_per_day: off  # no limit, where the defaults have one\n\
             # and the parts of the policy’s file: channels\n\
             # and the parts of the policy’s file: persona\n"
        );
    }
}
