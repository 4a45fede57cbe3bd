//! Warnings about policies that turn off default limits or rules.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::ledger::list_separator;
use aizuchi_model::texts::policies as texts;

use crate::report::figures::{PolicyFigures, Report};
use crate::report::setting_labels::NO_LIMIT_SECONDS;
use crate::report::settings::{PolicySetting, SettingKey, SettingValue};

/// Returns a sentence for each policy that turns off default limits, and one for each that asks its judge about
/// everything.
pub fn cautions(report: &Report, language: Language) -> Vec<String> {
    report.policies.iter().flat_map(|policy| policy_cautions(report, policy, language)).collect()
}

fn policy_cautions(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<String> {
    let (l, name) = (language, &policy.name);
    let limited = report.with_default_limits(policy).map(|limited| &limited.name);
    let settings = policy.settings.as_deref().unwrap_or_default();
    let unlimited = settings.iter().filter(|setting| is_turned_off(setting));
    let unlimited = unlimited.filter_map(|setting| setting.key.limit_name(language));
    let unlimited: Vec<&str> = unlimited.collect();
    let limits = (!unlimited.is_empty()).then(|| {
        let parts = unlimited.join(list_separator(l));
        match limited {
            Some(limited) => texts::no_limits_but(l, name, &parts, limited),
            None => texts::no_limits(l, name, &parts),
        }
    });
    let offered = limited.filter(|_| unlimited.is_empty());
    let offered = offered.map(|limited| texts::offered_with_limits(l, name, limited));
    let gates = settings.iter().any(|setting| {
        setting.key == SettingKey::Gates && has_no_gates(setting) && !setting.is_default()
    });
    let gates = gates.then(|| texts::no_gates(language, &policy.name));
    limits.into_iter().chain(gates).chain(offered).collect()
}

/// Whether a setting turns off a limit of the defaults.
fn is_turned_off(setting: &PolicySetting) -> bool {
    let is_off = |value: &SettingValue| match value {
        SettingValue::Off => true,
        SettingValue::Seconds(seconds) => *seconds >= NO_LIMIT_SECONDS,
        SettingValue::Share(_)
        | SettingValue::Count(_)
        | SettingValue::Mode(_)
        | SettingValue::Wait(_)
        | SettingValue::Timing(_)
        | SettingValue::Gates(_)
        | SettingValue::Hours(_)
        | SettingValue::Parts(_) => false,
    };
    setting.value.as_ref().is_some_and(is_off) && !is_off(&setting.default)
}

fn has_no_gates(setting: &PolicySetting) -> bool {
    matches!(&setting.value, Some(SettingValue::Gates(gates)) if gates.is_empty())
}
