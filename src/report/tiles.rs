//! The four figures at the top of the page.

use jiff::civil::Date;

use crate::report::cost::DAYS_OF_MONTH;
use crate::report::cost_view::why_unknown;
use crate::report::figures::{PolicyFigures, PostedFigures, Report, ReportSource};
use crate::report::interruptions::per_100;
use crate::report::sentences;
use crate::report::words;
use aizuchi_core::persona::Language;
use aizuchi_core::texts::counted;
use aizuchi_core::texts::moments as moment_texts;
use aizuchi_core::texts::report as texts;
use aizuchi_core::texts::report_figures as figure_texts;

pub struct Tile {
    pub value: String,
    pub label: String,
    pub note: String,
    /// What else belongs to it, each in a line.
    pub more: Vec<String>,
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
    /// What is posted without a model, unless nothing could be.
    fn posted(&self) -> Option<PostedFigures> {
        self.policy.posted_without_model.filter(|_| self.policy.spoke.is_some_and(|all| all > 0))
    }

    fn moments(&self) -> String {
        words::number_of(counted::moments, self.policy.spoke.unwrap_or(0), self.language)
    }

    fn spoke(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        if let Some(posted) = self.posted() {
            return self.posts(posted);
        }
        let rate = policy.per_day.map(|per_day| {
            let most = policy.busiest_day.zip(policy.busiest_date);
            with_busiest(words::rate(per_day, l), most, l)
        });
        let unknown_rate = match policy.spoke {
            None => sentences::because_unknown(self.report, l),
            Some(_) => texts::for_days(l),
        };
        Tile {
            value: policy.spoke.map_or(words::UNKNOWN.to_owned(), words::count),
            label: self.spoke_label(),
            note: rate.unwrap_or_else(|| unknown_rate.to_owned()),
            more: Vec::new(),
            is_warning: false,
        }
    }

    fn posts(&self, posted: PostedFigures) -> Tile {
        let l = self.language;
        let rate = posted.per_month.filter(|_| posted.spoke > 0).map(|month| {
            let most = posted.busiest_day.zip(posted.busiest_date);
            with_busiest(words::rate(month / DAYS_OF_MONTH, l), most, l)
        });
        let checks = words::times(self.policy.calls.judge_calls as usize, l);
        Tile {
            value: words::count(posted.spoke),
            label: match posted.spoke {
                1 => moment_texts::one_post(l).to_owned(),
                _ => moment_texts::many_posts(l).to_owned(),
            },
            note: match rate {
                Some(rate) => moment_texts::needs_mode(l, &rate),
                None => moment_texts::only_with_mode(l).to_owned(),
            },
            more: vec![figure_texts::tile_with_model(l, &checks, &self.moments())],
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
        let moments = policy.wrong.zip(policy.spoke);
        let (counts, went_on) = match self.posted() {
            Some(posted) => (Some((posted.wrong, posted.spoke)), Some(posted.asker_went_on)),
            None => (moments, policy.asker_went_on),
        };
        let judged = counts.filter(|(_, spoke)| *spoke > 0);
        let asker = went_on.filter(|went_on| *went_on > 0).zip(judged);
        let asker = asker.map(|(went_on, (wrong, spoke))| {
            figure_texts::with_asker(l, &words::part(wrong + went_on, spoke, l))
        });
        let of_moments = moments.filter(|_| self.posted().is_some());
        let of_moments = of_moments.map(|(wrong, spoke)| self.wrong_moments(wrong, spoke));
        let share = judged.and_then(|(wrong, spoke)| per_100(wrong, spoke));
        let share = share.map(|rate| words::percent(rate / 100.0));
        Tile {
            value: counts.map_or(words::UNKNOWN.to_owned(), |(wrong, _)| words::count(wrong)),
            label: texts::figure_wrong(l).to_owned(),
            note: share.map(|share| figure_texts::share_of_posts(l, &share)).unwrap_or_default(),
            more: asker.into_iter().chain(of_moments).collect(),
            is_warning: counts.is_some_and(|(wrong, _)| wrong > 0),
        }
    }

    /// How many of the moments would interrupt, and how many with those at which the asker goes on.
    fn wrong_moments(&self, wrong: usize, spoke: usize) -> String {
        let (moments, l) = (self.moments(), self.language);
        let share = words::part(wrong, spoke, l);
        match self.policy.asker_went_on {
            Some(went_on) if went_on > 0 => {
                let more = words::part(wrong + went_on, spoke, l);
                figure_texts::tile_moments_wrong_with_asker(l, &share, &moments, &more)
            }
            Some(_) | None => figure_texts::tile_moments_wrong(l, &share, &moments),
        }
    }

    fn picked_up(&self) -> Tile {
        let (policy, l) = (self.policy, self.language);
        let done = sentences::at_open_question(self.report.source, l);
        let posted = self.posted().filter(|_| policy.unanswered.is_some());
        Tile {
            value: policy.unanswered.map_or(words::UNKNOWN.to_owned(), |found| {
                let reached = posted.map_or(found.picked_up, |posted| posted.picked_up);
                let (part, whole) = (words::count(reached), words::count(found.questions));
                texts::of_total(l, &part, &whole)
            }),
            label: match (policy.unanswered, posted) {
                (Some(found), Some(_)) if found.is_annotated => {
                    moment_texts::posted_to_unanswered(l).to_owned()
                }
                (Some(_), Some(_)) => moment_texts::posted_to_open(l).to_owned(),
                (Some(found), None) if !found.is_annotated => {
                    texts::figure_picked_up_in_hour(l, done)
                }
                (Some(_) | None, _) => texts::figure_picked_up(l, done),
            },
            note: match (policy.unanswered, policy.spoke) {
                (Some(_), _) => String::new(),
                (None, None) => sentences::because_unknown(self.report, l).to_owned(),
                (None, Some(_)) => texts::unanswered_unknown(l).to_owned(),
            },
            more: posted
                .and(policy.unanswered)
                .map(|found| figure_texts::tile_noticed(l, &words::count(found.picked_up)))
                .into_iter()
                .collect(),
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
            more: Vec::new(),
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

/// How often, and how many there were on the day with the most.
fn with_busiest(rate: String, most: Option<(usize, Date)>, language: Language) -> String {
    let l = language;
    match most.filter(|(most, _)| *most > 1) {
        Some((most, date)) => {
            moment_texts::busiest_day(l, &rate, &words::count(most), &told_date(date, l))
        }
        None => rate,
    }
}

fn told_date(date: Date, language: Language) -> String {
    date.strftime(texts::date_format(language)).to_string()
}
