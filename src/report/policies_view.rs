//! Several policies side by side, as the page shows them.

use jiff::tz::TimeZone;

use crate::report::figures::{Difference, PolicyFigures, Report};
use crate::report::policy_sentences;
use crate::report::sentences;
use crate::report::setting_words::{SettingRow, rows};
use crate::report::story_view::StoryView;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::report as texts;

pub struct PoliciesView {
    pub names: Vec<String>,
    /// What each policy is, where it is not the default.
    pub settings: Vec<SettingRow>,
    /// The name of each row and its value for each policy.
    pub rows: Vec<(String, Vec<String>)>,
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
            settings: rows(policies, l),
            rows: figure_rows(report, l),
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
    let mut rows: Vec<(String, Vec<String>)> = vec![
        row(texts::spoken(l).to_owned(), &|one| one.spoke.map(words::count)),
        row(texts::policy_rate(l).to_owned(), &|one| one.per_day.map(|rate| words::rate(rate, l))),
        row(texts::policy_wrong(l).to_owned(), &|one| {
            let (wrong, spoke) = one.wrong.zip(one.spoke)?;
            let share = words::percent(wrong as f64 / spoke.max(1) as f64);
            Some(texts::with_share(l, &words::count(wrong), &share))
        }),
        row(texts::policy_picked_up(l, done), &|one| {
            let found = one.unanswered?;
            let (part, whole) = (words::count(found.picked_up), words::count(found.questions));
            Some(texts::of_total(l, &part, &whole))
        }),
        row(texts::policy_first(l).to_owned(), &|one| {
            one.spoke.map(|_| words::count(one.first_answers.it_first))
        }),
        (texts::policy_delay(l).to_owned(), words::rough_durations(&delays, l)),
        row(texts::policy_calls(l).to_owned(), &|one| {
            one.calls.judge_calls_per_day.map(words::one_decimal)
        }),
    ];
    let known = policies.first().and_then(PolicyFigures::known_cost);
    if let Some((model, _)) = known {
        rows.push(row(texts::policy_cost(l, model), &|one| {
            let same = one.costs.iter().find(|cost| cost.model == model)?;
            same.per_month.map(|month| words::money(month, &report.currency, l))
        }));
    }
    rows
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
