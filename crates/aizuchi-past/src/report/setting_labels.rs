//! Labels and values of settings for readers, beside their paths in the config.

use aizuchi_model::persona::Language;
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::{Mode, PostTiming};
use aizuchi_model::texts::ledger as names;
use aizuchi_model::texts::policies as texts;

use crate::report::code::{TextPart, parts};
use crate::report::figures::{PolicyFigures, ReportSource};
use crate::report::format;
use crate::report::settings::{PolicySetting, SettingKey, SettingValue, hours_text};

/// A wait of at least this length counts as unlimited.
pub const NO_LIMIT_SECONDS: f64 = 31_536_000.0;

const COMPANION: SettingValue = SettingValue::Mode(Mode::Companion);

/// A setting that some policy changes, and its value in each policy.
pub struct SettingRow {
    pub label: &'static str,
    /// Its path in the config.
    pub key: Option<&'static str>,
    pub values: Vec<String>,
}

/// Returns the settings that any policy changes.
pub fn rows(policies: &[PolicyFigures], language: Language) -> Vec<SettingRow> {
    let all: Option<Vec<&[PolicySetting]>> =
        policies.iter().map(|policy| policy.settings.as_deref()).collect();
    let all = all.unwrap_or_default();
    let is_changed = |key: SettingKey| {
        let mut of_key = all.iter().copied().flatten().filter(|setting| setting.key == key);
        of_key.any(|setting| !setting.is_default())
    };
    let is_shown = |key: &SettingKey| is_changed(*key) || key.comes_with().is_some_and(is_changed);
    let row = |key: SettingKey| SettingRow {
        label: key.label(language),
        key: key.single_path(),
        values: all.iter().map(|settings| told(settings, key, language)).collect(),
    };
    let shown = SettingKey::ALL.into_iter().filter(is_shown).map(row);
    // What has a part in none of them says nothing.
    shown.filter(|row| row.values.iter().any(|value| value != format::UNKNOWN)).collect()
}

/// Describes the settings of a lone policy of a replay, compared with the defaults in operation.
pub fn describe_settings(
    settings: &[PolicySetting],
    source: ReportSource,
    language: Language,
) -> Vec<TextPart> {
    let l = language;
    let is_companion = settings.iter().any(|setting| setting.value == Some(COMPANION));
    if source == ReportSource::Builtin
        && is_companion
        && settings.iter().all(PolicySetting::is_default)
    {
        return parts(texts::settings_default_but_mode(l));
    }
    let changed = settings.iter().filter_map(|setting| {
        let default = usual(setting, source);
        let value = setting.value.as_ref().filter(|value| **value != default)?;
        let key = setting.key;
        let (own, default) = (value_text(key, value, l), value_text(key, &default, l));
        Some(match key.single_path() {
            Some(path) => texts::setting_changed(l, key.label(l), path, &own, &default),
            None => texts::others_changed(l, key.label(l), &own),
        })
    });
    let changed: Vec<String> = changed.collect();
    match changed.is_empty() {
        true => parts(texts::settings_default(l)),
        false => parts(&texts::settings_changed(l, &changed.join(texts::setting_separator(l)))),
    }
}

/// Returns the default of a setting in operation. Without a model, the default mode on Slack and Discord differs from
/// that with one.
fn usual(setting: &PolicySetting, source: ReportSource) -> SettingValue {
    match setting.key == SettingKey::Mode && source == ReportSource::Builtin {
        true => SettingValue::Mode(Mode::MentionOnly),
        false => setting.default.clone(),
    }
}

fn told(settings: &[PolicySetting], key: SettingKey, language: Language) -> String {
    let Some(setting) = settings.iter().find(|setting| setting.key == key) else {
        return format::UNKNOWN.to_owned();
    };
    let Some(value) = &setting.value else { return format::UNKNOWN.to_owned() };
    let text = value_text(key, value, language);
    let is_adaptive = settings.iter().any(|one| {
        one.key == SettingKey::Wait && one.value == Some(SettingValue::Wait(WaitStrategy::Adaptive))
    });
    let is_longest = key == SettingKey::MinWait && is_adaptive;
    let text = if is_longest { texts::at_most(language, &text) } else { text };
    if *value == setting.default { texts::with_default(language, &text) } else { text }
}

fn value_text(key: SettingKey, value: &SettingValue, language: Language) -> String {
    let l = language;
    let list = |parts: Vec<&str>| match parts.is_empty() {
        true => texts::nothing(l).to_owned(),
        false => parts.join(names::list_separator(l)),
    };
    match value {
        SettingValue::Seconds(seconds) => match *seconds {
            ..=0.0 => texts::nothing(l).to_owned(),
            NO_LIMIT_SECONDS.. => texts::no_limit(l).to_owned(),
            seconds => exact_length(seconds, l),
        },
        SettingValue::Share(share) if key == SettingKey::Jitter => {
            texts::plus_minus(l, &exact_percent(*share))
        }
        SettingValue::Share(share) => exact_percent(*share),
        SettingValue::Count(count) => format::count(usize::try_from(*count).unwrap_or(usize::MAX)),
        SettingValue::Off if key == SettingKey::LearnedGate => texts::off(l).to_owned(),
        SettingValue::Off if key == SettingKey::QuietHours => texts::nothing(l).to_owned(),
        SettingValue::Off => texts::no_limit(l).to_owned(),
        SettingValue::Mode(mode) => names::mode(l, *mode).to_owned(),
        SettingValue::Wait(WaitStrategy::Adaptive) => texts::wait_adaptive(l).to_owned(),
        SettingValue::Wait(WaitStrategy::Fixed) => texts::wait_fixed(l).to_owned(),
        SettingValue::Timing(PostTiming::HumanLike) => texts::timing_human(l).to_owned(),
        SettingValue::Timing(PostTiming::Immediate) => texts::timing_plain(l).to_owned(),
        SettingValue::Gates(gates) => {
            list(gates.iter().map(|gate| names::gate(l, *gate)).collect())
        }
        SettingValue::Hours(hours) => hours_text(*hours),
        SettingValue::Parts(parts) => list(parts.clone()),
    }
}

/// Formats a length of time with all its units, so that different lengths never read the same.
fn exact_length(seconds: f64, language: Language) -> String {
    let l = language;
    let days = (86_400.0, names::days(l));
    let (hours, minutes) = ((3600.0, names::hours(l)), (60.0, names::minutes(l)));
    let larger = match seconds {
        ..120.0 => vec![],
        ..7200.0 => vec![minutes],
        ..172_800.0 => vec![hours, minutes],
        _ => vec![days, hours, minutes],
    };
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (size, unit) in larger {
        let count = (rest / size).floor();
        rest -= count * size;
        if count > 0.0 {
            parts.push(format!("{count} {unit}"));
        }
    }
    let rest = (rest * 1000.0).round() / 1000.0;
    if rest > 0.0 || parts.is_empty() {
        parts.push(format!("{rest} {}", names::seconds(l)));
    }
    parts.join(" ")
}

/// Formats a share with all its decimals.
fn exact_percent(share: f64) -> String {
    let percent = (share * 1e8).round() / 1e6;
    format!("{percent} %")
}

#[cfg(test)]
mod tests {
    use aizuchi_config::Config;

    use super::*;
    use crate::replay::Policy;
    use crate::report::settings::settings_of;

    fn told_of(config: &str, source: ReportSource, language: Language) -> String {
        let config = Config::parse(config).unwrap();
        let policy = Policy { config, ..Policy::default_settings() };
        let parts = describe_settings(&settings_of(&policy), source, language);
        parts.iter().map(|part| &*part.text).collect()
    }

    /// In a replay, the built-in mind replaces a model, so the mode is `companion`. In operation without a model, the
    /// default mode says nothing unasked, and the report must say so.
    #[test]
    fn the_mode_of_a_replay_is_no_default_without_a_model() {
        assert_eq!(
            told_of("", ReportSource::Builtin, Language::En),
            "This replay used the default settings, except response.mode: companion. Without a model, the default on Slack \
             and Discord is mention_only: it then says nothing unasked."
        );
        let changed =
            told_of("response: {min_confidence: 0.8}", ReportSource::Builtin, Language::En);
        let mode = "(response.mode): joins in at pauses instead of only when mentioned; How sure";
        assert!(changed.contains(mode), "{changed}");
        let called = told_of("response: {mode: mention_only}", ReportSource::Builtin, Language::En);
        assert_eq!(called, "This replay used the default settings.");
    }

    #[test]
    fn a_policy_is_told_in_plain_words() {
        assert_eq!(
            told_of("", ReportSource::Model, Language::En),
            "This replay used the default settings."
        );
        let careful = "response: {min_confidence: 0.8, cooldown_seconds: 900}";
        assert_eq!(
            told_of(careful, ReportSource::Model, Language::En),
            "This replay used the default settings, except for these: How sure its judge must be \
             (response.min_confidence): 80 % instead of 70 %; How long it stays silent after it has joined in \
             (response.cooldown_seconds): 15 min instead of none."
        );
        assert_eq!(
            told_of("response: {cooldown_seconds: 900}", ReportSource::Model, Language::Ja),
            "この再生は既定の設定で行いました。ただし、次の設定は既定値と違います：自分から話した後、控える時間（response.cooldown_seconds）：15 分（既定はなし）。"
        );
    }

    #[test]
    fn settings_that_differ_never_read_the_same() {
        for (seconds, shown) in [
            (0.5, "0.5 s"),
            (90.0, "90 s"),
            (300.0, "5 min"),
            (330.0, "5 min 30 s"),
            (1830.0, "30 min 30 s"),
            (3600.25, "60 min 0.25 s"),
            (7260.0, "2 h 1 min"),
            (176_405.0, "2 days 1 h 5 s"),
        ] {
            assert_eq!(exact_length(seconds, Language::En), shown);
        }
        assert_eq!(exact_length(330.0, Language::Ja), "5 分 30 秒");
        for (share, shown) in [(0.7, "70 %"), (0.704, "70.4 %"), (0.005, "0.5 %"), (1.0, "100 %")] {
            assert_eq!(exact_percent(share), shown);
        }
    }
}
