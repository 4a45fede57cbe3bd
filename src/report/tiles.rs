//! The four figures at the top of the page.

use jiff::civil::Date;

use crate::report::cost_view::why_unknown;
use crate::report::figures::{PolicyFigures, PostedFigures, Report, ReportSource};
use crate::report::interruptions::per_100;
use crate::report::sentences;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::moments as moment_texts;
use aizuchi_core::texts::report as texts;

pub struct Tile {
    pub value: String,
    pub label: String,
    pub note: String,
    /// What of it is really posted without a model.
    pub posted: Option<String>,
    pub is_warning: bool,
}

/// The figures of one policy of a report.
pub fn tiles(report: &Report, policy: &PolicyFigures, language: Language) -> Vec<Tile> {
    let figures = Figures { report, policy, language };
    vec![figures.spoke(), figures.wrong(), figures.picked_up(), figures.cost()]
}

struct Figures<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    language: Language,
}

impl Figures<'_> {
    /// What is really posted, unless nothing could be.
    fn posted(&self) -> Option<PostedFigures> {
        self.policy.posted_without_model.filter(|_| self.policy.spoke.is_some_and(|all| all > 0))
    }

    fn spoke(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let rate = policy.per_day.map(|per_day| self.with_busiest(words::rate(per_day, l)));
        let unknown_rate = match policy.spoke {
            None => sentences::because_unknown(self.report, l),
            Some(_) => texts::for_days(l),
        };
        let posted = self.posted().map(|posted| {
            let month = sentences::per_month(posted, l);
            moment_texts::posted(l, &words::count(posted.spoke), &month)
        });
        Tile {
            value: policy.spoke.map_or(words::UNKNOWN.to_owned(), words::count),
            label: self.spoke_label(),
            note: rate.unwrap_or_else(|| unknown_rate.to_owned()),
            posted,
            is_warning: false,
        }
    }

    fn spoke_label(&self) -> String {
        let (is_one, l) = (self.policy.spoke == Some(1), self.language);
        let times = if is_one { texts::time(l) } else { texts::times(l) };
        match self.report.source {
            ReportSource::Builtin if is_one => moment_texts::one_to_speak(l).to_owned(),
            ReportSource::Builtin => moment_texts::many_to_speak(l).to_owned(),
            ReportSource::Ledger => texts::figure_spoke_ledger(l, times),
            ReportSource::AlwaysSpeak => texts::figure_spoke_at_most(l, times),
            ReportSource::AlwaysSilent | ReportSource::Model => texts::figure_spoke(l, times),
        }
    }

    fn with_busiest(&self, rate: String) -> String {
        let l = self.language;
        let most = self.policy.busiest_day.filter(|most| *most > 1);
        match most.zip(self.policy.busiest_date) {
            Some((most, date)) => {
                moment_texts::busiest_day(l, &rate, &words::count(most), &told_date(date, l))
            }
            None => rate,
        }
    }

    fn wrong(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let judged = policy.wrong.zip(policy.spoke).filter(|(_, spoke)| *spoke > 0);
        Tile {
            value: policy.wrong.map_or(words::UNKNOWN.to_owned(), words::count),
            label: texts::figure_wrong(l).to_owned(),
            note: match judged.map(|(wrong, spoke)| per_100(wrong, spoke)) {
                None => String::new(),
                Some(None) => texts::figure_wrong_rule(l).to_owned(),
                Some(Some(rate)) => {
                    let share = words::percent(rate / 100.0);
                    texts::two_notes(l, &share, texts::figure_wrong_rule(l))
                }
            },
            posted: self
                .posted()
                .map(|posted| moment_texts::of_these_posted(l, &words::count(posted.wrong))),
            is_warning: policy.wrong.is_some_and(|wrong| wrong > 0),
        }
    }

    fn picked_up(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let done = sentences::at_open_question(self.report.source, l);
        Tile {
            value: policy.unanswered.map_or(words::UNKNOWN.to_owned(), |found| {
                let (part, whole) = (words::count(found.picked_up), words::count(found.questions));
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
            posted: self
                .posted()
                .filter(|_| policy.unanswered.is_some())
                .map(|posted| moment_texts::of_these_posted(l, &words::count(posted.picked_up))),
            is_warning: false,
        }
    }

    fn cost(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let is_ledger = self.report.source == ReportSource::Ledger;
        let money = |amount: f64| words::money(amount, &self.report.currency, l);
        let tile = |value: String, note: String| Tile {
            value,
            label: texts::figure_cost(l).to_owned(),
            note,
            posted: None,
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
                tile(words::UNKNOWN.to_owned(), why.to_owned())
            }
        }
    }
}

fn told_date(date: Date, language: Language) -> String {
    date.strftime(texts::date_format(language)).to_string()
}
