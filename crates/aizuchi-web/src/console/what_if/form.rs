//! The form of the settings to try.

use aizuchi_config::response::JudgeGate;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::tune::tuned_setting::TunedSetting;
use aizuchi_past::what_if::settings::{SETTINGS, TriedSettings};

use crate::ApiProblem;
use crate::refusal::Refusal;
use crate::shadow::Cap;

/// The numbers of days to choose from.
const DAYS: [i64; 4] = [1, 3, 7, 14];
const USUAL_DAYS: i64 = 7;

/// The fields of the form, as pairs of name and value.
pub struct WhatIfFields(Vec<(String, String)>);

pub struct DaysView {
    pub days: i64,
    pub word: String,
    pub is_chosen: bool,
}

pub struct SettingField {
    pub name: &'static str,
    pub word: &'static str,
    pub value: f64,
    /// The value in force, if it differs.
    pub in_force: Option<String>,
    pub is_share: bool,
}

pub struct GateView {
    pub name: &'static str,
    pub word: &'static str,
    pub is_on: bool,
}

impl WhatIfFields {
    pub fn new(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }

    /// Whether the form was submitted. An unchecked checkbox sends nothing.
    pub fn is_sent(&self) -> bool {
        self.find("days").is_some()
    }

    /// Returns the submitted fields except the cap.
    pub fn sent(&self) -> Vec<(String, String)> {
        self.0.iter().filter(|(name, _)| name != "cap").cloned().collect()
    }

    pub fn chosen_days(&self) -> i64 {
        let asked: Option<i64> = self.find("days").and_then(|days| days.parse().ok());
        asked.filter(|days| DAYS.contains(days)).unwrap_or(USUAL_DAYS)
    }

    pub fn days(&self, language: Language) -> Vec<DaysView> {
        let view = |days: i64| DaysView {
            days,
            word: match days {
                1 => texts::what_if::one_day(language).to_owned(),
                days => texts::what_if::last_days(language, days),
            },
            is_chosen: days == self.chosen_days(),
        };
        DAYS.into_iter().map(view).collect()
    }

    pub fn cap(&self) -> Result<Cap, ApiProblem> {
        Cap::read(self.find("cap"))
    }

    pub fn apply_to(&self, tried: &mut TriedSettings) -> Result<(), ApiProblem> {
        if !self.is_sent() {
            return Ok(());
        }
        for setting in SETTINGS {
            let Some(text) = self.find(setting.name()).filter(|text| !text.trim().is_empty())
            else {
                continue;
            };
            let value = text.trim().parse().ok();
            let is_set = value.is_some_and(|value| tried.set(setting, value).is_ok());
            if !is_set {
                return Err(Refusal::WrongNumber { name: setting.name() }.into());
            }
        }
        let is_chosen = |gate: &JudgeGate| {
            self.0.iter().any(|(name, value)| name == "gate" && value == gate.rule().name())
        };
        tried.set_gates(&JudgeGate::ALL.iter().copied().filter(is_chosen).collect::<Vec<_>>());
        Ok(())
    }

    fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| &**value)
    }
}

pub fn settings(tried: &TriedSettings, language: Language) -> Vec<SettingField> {
    let view = |setting: TunedSetting| {
        let (present, value) = (setting.value(&tried.present), setting.value(&tried.policy));
        let in_force = || texts::what_if::in_force(language, &present.to_string());
        SettingField {
            name: setting.name(),
            word: word(setting, language),
            value,
            in_force: (present != value).then(in_force),
            is_share: setting == TunedSetting::MinConfidence,
        }
    };
    SETTINGS.into_iter().map(view).collect()
}

pub fn gates(tried: &TriedSettings, language: Language) -> Vec<GateView> {
    let view = |gate: JudgeGate| GateView {
        name: gate.rule().name(),
        word: texts::what_if::gate(language, gate.rule().name()),
        is_on: tried.has_gate(gate),
    };
    JudgeGate::ALL.iter().copied().map(view).collect()
}

fn word(setting: TunedSetting, language: Language) -> &'static str {
    match setting {
        TunedSetting::MinConfidence => texts::what_if::min_confidence(language),
        TunedSetting::MinWait => texts::what_if::min_wait(language),
        TunedSetting::MinWaitFloor => texts::what_if::min_wait_floor(language),
        TunedSetting::MaxWait => texts::what_if::max_wait(language),
        TunedSetting::MaxDelay => texts::what_if::max_delay(language),
        TunedSetting::Cooldown => texts::what_if::cooldown(language),
        // The page has no field for these.
        TunedSetting::Wait | TunedSetting::Jitter | TunedSetting::Gate(_) => {
            texts::what_if::settings(language)
        }
    }
}
