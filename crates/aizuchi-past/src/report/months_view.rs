//! The table of months on the page, for a history of several months.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::report_figures as texts;

use crate::report::figures::{PolicyFigures, Report};
use crate::report::format;
use crate::report::months::{MonthFigures, Trend, trend};

/// A shorter history has no table of months.
const MIN_MONTHS: usize = 3;
const MIN_DAYS: f64 = 60.0;

pub struct MonthsView {
    pub rows: Vec<MonthRow>,
    /// Whether the number grows.
    pub trend: Option<String>,
}

pub struct MonthRow {
    pub month: String,
    pub messages: String,
    /// The number of posts without a model, in a replay with the built-in mind.
    pub posted: Option<String>,
    pub spoke: String,
}

impl MonthsView {
    /// Returns `None` for a history that is too short.
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Option<Self> {
        let l = language;
        let months = &policy.by_month;
        let row = |one: &MonthFigures| MonthRow {
            month: format_month(one, l),
            messages: format::count(one.messages),
            posted: one.posted_without_model.map(format::count),
            spoke: one.spoke.map_or(format::UNKNOWN.to_owned(), format::count),
        };
        let is_long = months.len() >= MIN_MONTHS && report.period.days >= MIN_DAYS;
        is_long.then(|| Self {
            rows: months.iter().map(row).collect(),
            trend: trend_of(policy).map(|trend| format_trend(trend, policy, l)),
        })
    }
}

/// Returns the trend of the number of posts: of those without a model, if it is known.
pub fn trend_of(policy: &PolicyFigures) -> Option<Trend> {
    match policy.posted_without_model {
        Some(_) => trend(&policy.by_month, |one| one.posted_without_model),
        None => trend(&policy.by_month, |one| one.spoke),
    }
}

fn format_month(figures: &MonthFigures, language: Language) -> String {
    let month = figures.month.strftime(texts::month_format(language)).to_string();
    match figures.is_whole {
        true => month,
        false => texts::part_of_month(language, &month),
    }
}

/// Without a model the persona quotes earlier messages, so it posts more as the history grows.
fn format_trend(trend: Trend, policy: &PolicyFigures, language: Language) -> String {
    let l = language;
    let [first, last] = [trend.first, trend.last].map(format::count);
    match (trend.last > trend.first, policy.posted_without_model) {
        (true, Some(_)) => texts::more_to_quote(l, &first, &last),
        (true, None) => texts::more_lately(l, &first, &last),
        (false, _) => texts::less_lately(l, &first, &last),
    }
}
