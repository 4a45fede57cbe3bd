//! The table of the ways to run the persona, in a replay where the built-in rules replace the model: without and with a
//! model, in several modes.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_model::texts::report as texts;
use aizuchi_model::texts::report_figures as figure_texts;

use crate::report::code::{TextPart, parts};
use crate::report::cost::DAYS_OF_MONTH;
use crate::report::figures::{PolicyFigures, PostedFigures, Report};
use crate::report::format;
use crate::report::headline::rate_of_posts;

pub struct WaysView {
    /// The head of the column that counts open questions.
    pub reached: &'static str,
    pub rows: Vec<WayRow>,
    /// What the words in the rows mean.
    pub words: String,
    /// A warning that the persona speaks unasked as soon as the config names a model.
    pub model_speaks: Vec<TextPart>,
    /// How many posts would interrupt with a wider limit, and if posts while the asker was still typing counted, too.
    pub wider: Vec<String>,
}

pub struct WayRow {
    pub way: Vec<TextPart>,
    pub posts: String,
    pub wrong: String,
    pub reached: String,
    pub cost: String,
}

impl WaysView {
    /// Returns `None` if the built-in rules did not replace a model, or if they found no moment.
    pub fn new(report: &Report, policy: &PolicyFigures, language: Language) -> Option<Self> {
        let posted = policy.posted_without_model.filter(|_| report.has_stand_in())?;
        let moments = policy.spoke.filter(|spoke| *spoke > 0)?;
        let ways = WaysBuilder { report, policy, posted, moments, language };
        Some(Self {
            reached: match policy.unanswered {
                Some(found) if !found.is_annotated => figure_texts::ways_reached_in_hour(language),
                Some(_) | None => figure_texts::ways_reached(language),
            },
            rows: vec![
                ways.as_shipped(),
                ways.companion(),
                ways.model_called(),
                ways.model_proposed(),
                ways.with_model(),
            ],
            words: ways.words(),
            model_speaks: parts(figure_texts::ways_model_speaks(language)),
            wider: ways.wider(),
        })
    }
}

struct WaysBuilder<'a> {
    report: &'a Report,
    policy: &'a PolicyFigures,
    posted: PostedFigures,
    moments: usize,
    language: Language,
}

impl WaysBuilder<'_> {
    fn as_shipped(&self) -> WayRow {
        let l = self.language;
        WayRow {
            way: parts(figure_texts::way_as_shipped(l)),
            posts: figure_texts::ways_posts_none(l).to_owned(),
            wrong: format::count(0),
            reached: self.questions(|_| 0),
            cost: texts::cost_nothing(l).to_owned(),
        }
    }

    fn companion(&self) -> WayRow {
        let (l, posted) = (self.language, self.posted);
        let count = format::count(posted.spoke);
        let posts = match posted.per_month.filter(|_| posted.spoke > 0) {
            Some(_) => figure_texts::ways_posts_rate(l, &count, &rate_of_posts(posted, l)),
            None => count,
        };
        WayRow {
            way: parts(figure_texts::way_companion(l)),
            posts,
            wrong: self.at_least(posted.wrong, posted.spoke, posted.per_month),
            reached: self.questions(|_| posted.picked_up),
            cost: texts::cost_nothing(l).to_owned(),
        }
    }

    fn model_called(&self) -> WayRow {
        let l = self.language;
        WayRow {
            way: parts(figure_texts::way_model_called(l)),
            posts: figure_texts::ways_posts_called(l).to_owned(),
            wrong: format::count(0),
            reached: self.questions(|_| 0),
            cost: figure_texts::ways_cost_called(l).to_owned(),
        }
    }

    /// With this mode a draft is written as with the next one, and a person decides whether it is posted.
    fn model_proposed(&self) -> WayRow {
        let l = self.language;
        let decided = || figure_texts::ways_decided(l).to_owned();
        WayRow {
            way: parts(figure_texts::way_model_proposed(l)),
            posts: figure_texts::ways_posts_proposed(l).to_owned(),
            wrong: decided(),
            reached: decided(),
            cost: figure_texts::ways_cost_as_below(l).to_owned(),
        }
    }

    fn with_model(&self) -> WayRow {
        let l = self.language;
        let wrong = self.policy.wrong.map(|wrong| {
            let per_month = self.policy.per_day.map(|per_day| per_day * DAYS_OF_MONTH);
            self.at_least(wrong, self.moments, per_month)
        });
        let unknown = || format::UNKNOWN.to_owned();
        WayRow {
            way: parts(figure_texts::way_model(l)),
            posts: figure_texts::ways_posts_model(l, &self.rate_of_moments()),
            wrong: wrong.map_or_else(unknown, |wrong| figure_texts::ways_wrong_model(l, &wrong)),
            reached: figure_texts::ways_reached_model(l, &self.questions(|noticed| noticed)),
            cost: self.cost_of_model().unwrap_or_else(unknown),
        }
    }

    /// Formats how often the rules would speak, per month and per day, or their number in a short history.
    fn rate_of_moments(&self) -> String {
        let l = self.language;
        match self.policy.per_day {
            Some(per_day) => {
                let month = format::monthly(per_day * DAYS_OF_MONTH, l);
                let day = format::rate(per_day, l);
                if day == month { month } else { figure_texts::month_and_day(l, &month, &day) }
            }
            None => format::times(self.moments, l),
        }
    }

    /// Formats the cost of a month with a model, and the calls that it is for.
    fn cost_of_model(&self) -> Option<String> {
        let (l, calls) = (self.language, self.policy.calls);
        let (model, month) = self.policy.known_cost()?;
        let money = format::money(month, &self.report.currency, l);
        let cost = figure_texts::ways_cost_with(l, &money, model);
        let monthly = |count: u64| {
            let per_month = count as f64 / self.report.period.days * DAYS_OF_MONTH;
            format::count(per_month.round() as usize)
        };
        let [all, checks, replies] =
            [calls.judge_calls + calls.reply_calls, calls.judge_calls, calls.reply_calls]
                .map(monthly);
        Some(format!("{cost}{}", figure_texts::ways_calls(l, &all, &checks, &replies)))
    }

    /// Formats a share of the open questions, computed from how many of them the rules noticed.
    fn questions(&self, of_noticed: impl Fn(usize) -> usize) -> String {
        let Some(found) = self.policy.unanswered else { return format::UNKNOWN.to_owned() };
        let reached = format::count(of_noticed(found.picked_up));
        texts::of_total(self.language, &reached, &format::count(found.questions))
    }

    fn part(&self, part: usize, whole: usize) -> String {
        if whole == 0 { format::count(part) } else { format::part(part, whole, self.language) }
    }

    /// Formats a part of `whole` as a lower limit, with its rate per month if that of the whole is known.
    fn at_least(&self, part: usize, whole: usize, whole_per_month: Option<f64>) -> String {
        if part == 0 {
            return format::count(0);
        }
        let l = self.language;
        let count = figure_texts::at_least(l, &self.part(part, whole));
        match whole_per_month.filter(|_| whole > 0) {
            Some(month) => {
                let month = format::monthly(month * part as f64 / whole as f64, l);
                figure_texts::ways_posts_rate(l, &count, &month)
            }
            None => count,
        }
    }

    fn words(&self) -> String {
        let moments = format::number_of(counted::moments, self.moments, self.language);
        let empty = self.policy.only_asked_again.unwrap_or(0);
        let [empty, posts] = [empty, self.posted.spoke].map(format::count);
        figure_texts::ways_words(self.language, &moments, &empty, &posts)
    }

    fn wider(&self) -> Vec<String> {
        let posted = self.posted;
        let wider = (posted.spoke > 0).then(|| {
            let posts = self.part(posted.wrong_within_3_minutes, posted.spoke);
            figure_texts::ways_wider(self.language, &posts)
        });
        wider.into_iter().chain(self.with_asker()).collect()
    }

    fn with_asker(&self) -> Option<String> {
        let (posted, wrong) = (self.posted, self.policy.wrong?);
        let went_on = self.policy.asker_went_on.filter(|went_on| *went_on > 0)?;
        let posts = self.part(posted.wrong + posted.asker_went_on, posted.spoke);
        let moments = self.part(wrong + went_on, self.moments);
        Some(figure_texts::ways_with_asker(self.language, &posts, &moments))
    }
}
