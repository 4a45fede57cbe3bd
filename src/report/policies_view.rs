//! Several policies side by side, as the page shows them.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::report::figures::{Difference, PolicyFigures, PostedFigures, Report};
use crate::report::interruptions::per_100;
use crate::report::policy_sentences;
use crate::report::sentences;
use crate::report::setting_words::{SettingRow, rows};
use crate::report::story_view::StoryView;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::moments as moment_texts;
use aizuchi_core::texts::policies as policy_texts;
use aizuchi_core::texts::report as texts;

/// So many channels are enough to see where it would annoy.
const MAX_CHANNELS: usize = 8;

pub struct PoliciesView {
    pub names: Vec<String>,
    /// Why nothing is compared.
    pub not_compared: Vec<String>,
    /// What each policy is, where it is not the default.
    pub settings: Vec<SettingRow>,
    /// The name of each row and its value for each policy.
    pub rows: Vec<(String, Vec<String>)>,
    /// The channels with the most interruptions, and how many each policy has there.
    pub channels: Vec<(String, Vec<String>)>,
    /// Which policy is ahead in what.
    pub findings: Vec<String>,
    pub gives_up: Vec<String>,
    pub advice: Option<String>,
    pub differences: String,
    pub stories: Vec<StoryView>,
}

impl PoliciesView {
    /// `None` if there is one policy only.
    pub fn new(report: &Report, zone: &TimeZone, language: Language) -> Option<Self> {
        let l = language;
        let found = report.differences.as_ref()?;
        let policies = &report.policies;
        Some(Self {
            names: policies.iter().map(|one| one.name.clone()).collect(),
            not_compared: policy_sentences::not_compared(report, l),
            settings: rows(policies, l),
            rows: figure_rows(report, l),
            channels: channel_rows(policies, l),
            findings: policy_sentences::findings(report, l),
            gives_up: policy_sentences::gives_up(report, l),
            advice: policy_sentences::advice(report, l),
            differences: match found.messages {
                0 => texts::differences_none(l).to_owned(),
                count => {
                    let messages = words::number_of(counted::messages, count, l);
                    texts::differences_rule(l, &messages)
                }
            },
            stories: found.shown.iter().map(|one| story(one, report, zone, l)).collect(),
        })
    }
}

fn figure_rows(report: &Report, language: Language) -> Vec<(String, Vec<String>)> {
    let l = language;
    let policies = &report.policies;
    let done = sentences::at_open_question(report.source, l);
    let unknown = || words::UNKNOWN.to_owned();
    let row = |name: String, value: &dyn Fn(&PolicyFigures) -> Option<String>| {
        (name, policies.iter().map(|one| value(one).unwrap_or_else(unknown)).collect())
    };
    let delays: Vec<Option<f64>> =
        policies.iter().map(|one| Some(one.timing?.own_median)).collect();
    let posted = |value: fn(PostedFigures) -> usize| {
        row(moment_texts::row_posted(l).to_owned(), &move |one| {
            one.posted_without_model.map(|posted| words::count(value(posted)))
        })
    };
    let mut rows: Vec<(String, Vec<String>)> = vec![
        row(sentences::spoken_label(report.source, l).to_owned(), &|one| {
            one.spoke.map(words::count)
        }),
        posted(|posted| posted.spoke),
        row(texts::policy_rate(l).to_owned(), &|one| one.per_day.map(|rate| words::rate(rate, l))),
        row(texts::policy_wrong(l).to_owned(), &|one| {
            let (wrong, spoke) = one.wrong.zip(one.spoke)?;
            let count = words::count(wrong);
            Some(match per_100(wrong, spoke) {
                Some(rate) => texts::with_share(l, &count, &words::percent(rate / 100.0)),
                None => count,
            })
        }),
        posted(|posted| posted.wrong),
        row(texts::policy_picked_up(l, done), &|one| {
            let found = one.unanswered?;
            let (part, whole) = (words::count(found.picked_up), words::count(found.questions));
            Some(texts::of_total(l, &part, &whole))
        }),
        posted(|posted| posted.picked_up),
        row(texts::policy_first(l).to_owned(), &|one| {
            one.spoke.map(|_| words::count(one.first_answers.it_first_undisturbed))
        }),
        (texts::policy_delay(l).to_owned(), words::rough_durations(&delays, l)),
        row(texts::policy_calls(l).to_owned(), &|one| {
            one.calls.judge_calls_per_day.map(words::one_decimal)
        }),
    ];
    if !report.has_stand_in() {
        rows.retain(|(name, _)| name != moment_texts::row_posted(l));
    }
    let known = policies.first().and_then(PolicyFigures::known_cost);
    if let Some((model, _)) = known {
        rows.push(row(texts::policy_cost(l, model), &|one| {
            let same = one.costs.iter().find(|cost| cost.model == model)?;
            same.per_month.map(|month| words::money(month, &report.currency, l))
        }));
    }
    rows
}

/// Interruptions by channel. One channel alone has the figures of the whole.
fn channel_rows(policies: &[PolicyFigures], language: Language) -> Vec<(String, Vec<String>)> {
    let is_known = policies.iter().all(|one| one.spoke.is_some());
    let mut most: BTreeMap<&str, usize> = BTreeMap::new();
    for channel in policies.iter().flat_map(|one| &one.by_channel) {
        let found = most.entry(&channel.name).or_default();
        *found = channel.wrong.max(*found);
    }
    if !is_known || most.len() < 2 {
        return Vec::new();
    }
    let mut names: Vec<(&str, usize)> = most.into_iter().filter(|(_, wrong)| *wrong > 0).collect();
    names.sort_by_key(|(name, wrong)| (std::cmp::Reverse(*wrong), *name));
    let cell = |policy: &PolicyFigures, name: &str| {
        let found = policy.by_channel.iter().find(|channel| channel.name == name);
        found.map_or(words::UNKNOWN.to_owned(), |channel| {
            let (count, rate) = (words::count(channel.wrong), channel.wrong_per_100);
            match rate {
                Some(_) => policy_texts::in_100(language, &count, &words::of_100(rate)),
                None => count,
            }
        })
    };
    let row = |(name, _): (&str, usize)| {
        (words::channel(name), policies.iter().map(|policy| cell(policy, name)).collect())
    };
    names.into_iter().take(MAX_CHANNELS).map(row).collect()
}

fn story(
    difference: &Difference,
    report: &Report,
    zone: &TimeZone,
    language: Language,
) -> StoryView {
    let policies = difference.policies.iter();
    StoryView {
        policies: policies.map(|one| sentences::policy_on_message(one, language)).collect(),
        ..StoryView::new(&difference.story, report, zone, language)
    }
}
