//! The channels and the hours of the day for several policies: how often each policy would speak there, and interrupt.

use std::collections::BTreeMap;

use aizuchi_model::persona::Language;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::report as texts;

use crate::report::figures::{PlacePosts, PolicyFigures};
use crate::report::format;

/// The maximum number of channels on the page. The JSON contains all of them.
const MAX_CHANNELS: usize = 16;

/// A channel or an hour, and the figures of each policy there.
pub struct PlaceRow {
    pub name: String,
    pub values: Vec<String>,
}

/// Returns the channels in which any policy would speak, those with the most interruptions first. A single channel is
/// left out, because its figures are those of the whole.
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
        found.map_or(format::UNKNOWN.to_owned(), |one| {
            told((one.spoke, one.wrong), one.posted_without_model, language)
        })
    };
    let row = |(name, _): (&str, (usize, usize))| PlaceRow {
        name: format::channel(name),
        values: policies.iter().map(|policy| cell(policy, name)).collect(),
    };
    names.into_iter().take(MAX_CHANNELS).map(row).collect()
}

/// Returns the hours of the day in which any policy would speak.
pub fn hours(policies: &[PolicyFigures], language: Language) -> Vec<PlaceRow> {
    if !are_known(policies) {
        return Vec::new();
    }
    let counts = |hour: usize| {
        let figures = policies.iter().map(move |policy| policy.by_hour.get(hour));
        figures.map(|one| one.copied().unwrap_or_default())
    };
    let spoken = (0..24).filter(|hour| counts(*hour).any(|one| one.spoke > 0));
    let row = |hour: usize| PlaceRow {
        name: texts::hour_of(language, hour),
        values: counts(hour)
            .map(|one| told((one.spoke, one.wrong), one.posted_without_model, language))
            .collect(),
    };
    spoken.map(row).collect()
}

fn are_known(policies: &[PolicyFigures]) -> bool {
    policies.iter().all(|one| one.spoke.is_some())
}

/// Formats the posts without a model, if known, and how often the policy would speak, each with the probable
/// interruptions.
fn told(counts: (usize, usize), posted: Option<PlacePosts>, language: Language) -> String {
    let l = language;
    let (spoke, wrong) = counts;
    let moments = format::with_wrong(spoke, wrong, l);
    match posted {
        Some(posts) => moment_texts::posts_of_moments(l, &format::posts(posts, l), &moments),
        None => moments,
    }
}
