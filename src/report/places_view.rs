//! The channels and the hours of several policies side by side: how often each would take the word there, and interrupt.

use std::collections::BTreeMap;

use crate::report::figures::PolicyFigures;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::policies as policy_texts;
use aizuchi_core::texts::report as texts;

/// More channels than these are in the JSON only.
const MAX_CHANNELS: usize = 16;

/// The name of a place, and what each policy has there.
pub struct PlaceRow {
    pub name: String,
    pub values: Vec<String>,
}

/// The channels in which any of them would take the word, those with the most interruptions first. One channel alone has the
/// figures of the whole.
pub fn channels(policies: &[PolicyFigures], language: Language) -> Vec<PlaceRow> {
    let mut most: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for channel in policies.iter().flat_map(|one| &one.by_channel) {
        let (wrong, spoke) = most.entry(&channel.name).or_default();
        (*wrong, *spoke) = (channel.wrong.max(*wrong), channel.spoke.max(*spoke));
    }
    if !are_known(policies) || most.len() < 2 {
        return Vec::new();
    }
    let mut names: Vec<(&str, (usize, usize))> =
        most.into_iter().filter(|(_, (_, spoke))| *spoke > 0).collect();
    names.sort_by_key(|(name, counts)| (std::cmp::Reverse(*counts), *name));
    let cell = |policy: &PolicyFigures, name: &str| {
        let found = policy.by_channel.iter().find(|channel| channel.name == name);
        found.map_or(words::UNKNOWN.to_owned(), |one| told(one.spoke, one.wrong, language))
    };
    let row = |(name, _): (&str, (usize, usize))| PlaceRow {
        name: words::channel(name),
        values: policies.iter().map(|policy| cell(policy, name)).collect(),
    };
    names.into_iter().take(MAX_CHANNELS).map(row).collect()
}

/// The hours of the day in which any of them would take the word.
pub fn hours(policies: &[PolicyFigures], language: Language) -> Vec<PlaceRow> {
    if !are_known(policies) {
        return Vec::new();
    }
    let counts = |hour: usize| {
        let figures = policies.iter().map(move |policy| policy.by_hour.get(hour));
        figures.map(|one| one.map_or((0, 0), |one| (one.spoke, one.wrong)))
    };
    let spoken = (0..24).filter(|hour| counts(*hour).any(|(spoke, _)| spoke > 0));
    let row = |hour: usize| PlaceRow {
        name: texts::hour_of(language, hour),
        values: counts(hour).map(|(spoke, wrong)| told(spoke, wrong, language)).collect(),
    };
    spoken.map(row).collect()
}

fn are_known(policies: &[PolicyFigures]) -> bool {
    policies.iter().all(|one| one.spoke.is_some())
}

fn told(spoke: usize, wrong: usize, language: Language) -> String {
    policy_texts::with_wrong(language, &words::count(spoke), &words::count(wrong))
}
