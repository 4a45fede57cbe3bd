//! The four figures at the top of the page.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::moments as moment_texts;
use aizuchi_model::texts::report as texts;
use aizuchi_model::texts::report_figures as figure_texts;
use jiff::civil::Date;

use crate::report::cost_view::why_unknown;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::format;
use crate::report::interruptions::per_100;
use crate::report::sentences;

pub struct Tile {
    pub value: String,
    pub label: String,
    pub note: String,
    /// Further details.
    pub more: Option<String>,
    pub is_warning: bool,
}

/// The figures of one policy, in a report where a real mind judged.
pub fn tiles(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<Tile> {
    let figures = TileBuilder { report, policy, language };
    vec![figures.spoke(), figures.wrong(), figures.picked_up(), figures.cost()]
}

struct TileBuilder<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    language: Language,
}

impl TileBuilder<'_> {
    fn spoke(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let rate = policy.per_day.map(|per_day| {
            let most = policy.busiest_day.zip(policy.busiest_date);
            with_busiest(format::rate(per_day, l), most, l)
        });
        let unknown_rate = match policy.spoke {
            None => sentences::because_unknown(self.report, l),
            Some(_) => texts::for_days(l),
        };
        Tile {
            value: policy.spoke.map_or(format::UNKNOWN.to_owned(), format::count),
            label: self.spoke_label(),
            note: rate.unwrap_or_else(|| unknown_rate.to_owned()),
            more: None,
            is_warning: false,
        }
    }

    fn spoke_label(&self) -> String {
        let (is_one, l) = (self.policy.spoke == Some(1), self.language);
        let times = if is_one { texts::time(l) } else { texts::times(l) };
        match self.report.source {
            ReportSource::Ledger => texts::figure_spoke_ledger(l, times),
            ReportSource::AlwaysSpeak => texts::figure_spoke_at_most(l, times),
            ReportSource::Builtin | ReportSource::AlwaysSilent | ReportSource::Model => {
                texts::figure_spoke(l, times)
            }
        }
    }

    fn wrong(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let judged = policy.wrong.zip(policy.spoke).filter(|(_, spoke)| *spoke > 0);
        let went_on = policy.asker_went_on.filter(|went_on| *went_on > 0).zip(judged);
        let share = judged.and_then(|(wrong, spoke)| per_100(wrong, spoke));
        let share = share.map(|rate| format::percent(rate / 100.0));
        Tile {
            value: policy.wrong.map_or(format::UNKNOWN.to_owned(), format::count),
            label: texts::figure_wrong(l).to_owned(),
            note: share.map(|share| figure_texts::share_of_posts(l, &share)).unwrap_or_default(),
            more: went_on.map(|(went_on, (wrong, spoke))| {
                figure_texts::with_asker(l, &format::part(wrong + went_on, spoke, l))
            }),
            is_warning: policy.wrong.is_some_and(|wrong| wrong > 0),
        }
    }

    fn picked_up(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let done = sentences::at_open_question(self.report.source, l);
        Tile {
            value: policy.unanswered.map_or(format::UNKNOWN.to_owned(), |found| {
                let (part, whole) =
                    (format::count(found.picked_up), format::count(found.questions));
                texts::of_total(l, &part, &whole)
            }),
            label: match policy.unanswered {
                Some(found) if !found.is_annotated => texts::figure_picked_up_in_hour(l, done),
                Some(_) | None => texts::figure_picked_up(l, done),
            },
            note: match (policy.unanswered, policy.spoke) {
                (Some(_), _) => String::new(),
                (None, None) => sentences::because_unknown(self.report, l).to_owned(),
                (None, Some(_)) => texts::unanswered_unknown(l).to_owned(),
            },
            more: None,
            is_warning: false,
        }
    }

    fn cost(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let is_ledger = self.report.source == ReportSource::Ledger;
        let money = |amount: f64| format::money(amount, &self.report.currency, l);
        let tile = |value: String, note: String| Tile {
            value,
            label: texts::figure_cost(l).to_owned(),
            note,
            more: None,
            is_warning: false,
        };
        // What a judge spent in a replay leaves out the replies.
        let spent = policy.spent.filter(|spent| spent.total > 0.0 && is_ledger);
        if let Some(month) = spent.and_then(|spent| spent.per_month) {
            return tile(money(month), texts::figure_cost_spent(l).to_owned());
        }
        if is_ledger && policy.used_no_tokens() {
            return tile(texts::cost_nothing(l).to_owned(), texts::cost_builtin(l).to_owned());
        }
        match policy.known_cost() {
            Some((model, month)) => tile(money(month), texts::figure_cost_with(l, model)),
            None => {
                let why = why_unknown(self.report, policy, l);
                tile(format::UNKNOWN.to_owned(), why.to_owned())
            }
        }
    }
}

/// Says how often the persona posts, and how many posts there were on the day with the most.
fn with_busiest(rate: String, most: Option<(usize, Date)>, language: Language) -> String {
    let l = language;
    match most.filter(|(most, _)| *most > 1) {
        Some((most, date)) => {
            moment_texts::busiest_day(l, &rate, &format::count(most), &format_date(date, l))
        }
        None => rate,
    }
}

fn format_date(date: Date, language: Language) -> String {
    date.strftime(texts::date_format(language)).to_string()
}
