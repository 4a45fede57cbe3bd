//! The months as the page shows them, where a history has several.

use crate::report::figures::{PolicyFigures, Report};
use crate::report::months::{MonthFigures, Trend, trend};
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::report_figures as texts;

/// A shorter history has no table of months.
const MIN_MONTHS: usize = 3;
const MIN_DAYS: f64 = 60.0;

pub struct MonthsView {
    pub rows: Vec<MonthRow>,
    /// Whether it grows.
    pub trend: Option<String>,
}

pub struct MonthRow {
    pub month: String,
    pub messages: String,
    /// What is posted without a model, where the built-in mind stands in for one.
    pub posted: Option<String>,
    pub spoke: String,
}

impl MonthsView {
    /// `None` for a history that is too short.
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Option<Self> {
        let l = language;
        let months = &policy.by_month;
        let row = |one: &MonthFigures| MonthRow {
            month: told_month(one, l),
            messages: words::count(one.messages),
            posted: one.posted_without_model.map(words::count),
            spoke: one.spoke.map_or(words::UNKNOWN.to_owned(), words::count),
        };
        let is_long = months.len() >= MIN_MONTHS && report.period.days >= MIN_DAYS;
        is_long.then(|| Self {
            rows: months.iter().map(row).collect(),
            trend: trend_of(policy).map(|trend| told_trend(trend, l)),
        })
    }
}

/// How what it posts has changed: without a model, where that is known.
pub fn trend_of(policy: &PolicyFigures) -> Option<Trend> {
    match policy.posted_without_model {
        Some(_) => trend(&policy.by_month, |one| one.posted_without_model),
        None => trend(&policy.by_month, |one| one.spoke),
    }
}

fn told_month(figures: &MonthFigures, language: Language) -> String {
    let month = figures.month.strftime(texts::month_format(language)).to_string();
    match figures.is_whole {
        true => month,
        false => texts::part_of_month(language, &month),
    }
}

fn told_trend(trend: Trend, language: Language) -> String {
    let [older, newer] =
        [trend.older, trend.newer].map(|count| words::count(count.round() as usize));
    let months = match trend.months {
        1 => texts::one_whole_month(language).to_owned(),
        several => texts::whole_months(language, &words::count(several)),
    };
    match trend.newer > trend.older {
        true => texts::more_lately(language, &newer, &older, &months),
        false => texts::less_lately(language, &newer, &older, &months),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_told_in_months() {
        let trend = Trend { older: 12.0, newer: 25.0, months: 2 };
        assert_eq!(
            told_trend(trend, Language::En),
            "The number of posts grows: about 25 a month in the newest 2 whole months, about 12 in the oldest 2 whole months. Expect the \
             newer number rather than the average."
        );
        let trend = Trend { older: 26.0, newer: 5.4, months: 1 };
        assert_eq!(
            told_trend(trend, Language::Ja),
            "投稿は減っています：最も新しい 1 か月では月に約 5 回、最も古い 1 か月では約 26 回です。平均ではなく、新しいほうの数を見込んでください。"
        );
    }
}
