//! The figures of a workspace: what it heard, how it decided, what that cost, and how soon it answered. Every figure is
//! a chart and a table.

mod chart;
mod tally;

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;
use jiff::SignedDuration;
use serde::Deserialize;

use crate::ledger::format_duration;
use crate::web::access::{Access, Visitor};
use crate::web::console::figures::chart::{Chart, Series};
use crate::web::console::figures::tally::{Tally, median, percent, thousands};
use crate::web::console::layout::{Layout, Section, channel_address, render};
use crate::web::language::PageLanguage;
use crate::web::{ApiProblem, Web, workspaces};
use aizuchi_core::chat::{ChannelId, WorkspaceId};
use aizuchi_core::decision::DecisionResult;
use aizuchi_core::decision::mark::{DecisionMark, Mark};
use aizuchi_core::persona::Language;
use aizuchi_core::rhythm::reply_delays::ReplyDelays;
use aizuchi_core::store::figures::{AnswerDelay, Day, Period};
use aizuchi_core::texts;

#[derive(Template)]
#[template(path = "console/figures.html")]
struct FiguresPage<'a> {
    layout: Layout<'a>,
    workspaces: Vec<String>,
    workspace: String,
    spans: Vec<SpanView>,
    is_empty: bool,
    charts: Vec<Chart>,
    channels: Vec<TallyRow>,
    models: Vec<TallyRow>,
    delays: Vec<DelayRow>,
    marks: Vec<MarkRow>,
    marked: String,
}

struct SpanView {
    days: i64,
    word: String,
    is_chosen: bool,
}

/// What a channel or a model came to.
struct TallyRow {
    name: String,
    address: Option<String>,
    heard: String,
    decisions: String,
    spoke: String,
    calls: String,
    tokens: String,
    cached: String,
    money: String,
    per_thousand: String,
}

/// How soon it answers in a channel, and how soon people do.
struct DelayRow {
    name: String,
    bars: Vec<DelayBar>,
}

struct DelayBar {
    word: &'static str,
    class: &'static str,
    /// Of 100.
    width: String,
    text: String,
}

struct MarkRow {
    name: &'static str,
    word: &'static str,
    count: usize,
}

/// The periods to choose, in days.
const SPANS: [i64; 3] = [7, 30, 90];

#[derive(Deserialize)]
#[serde(default)]
pub struct FiguresQuery {
    workspace: String,
    days: i64,
}

impl Default for FiguresQuery {
    fn default() -> Self {
        Self { workspace: String::new(), days: SPANS[1] }
    }
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<FiguresQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(FiguresQuery::default(), |Query(query)| query);
    let days = SPANS.into_iter().find(|days| *days == query.days).unwrap_or(SPANS[1]);
    let known = workspaces::all(&web).await?;
    let workspace = match query.workspace.as_str() {
        // The local room is the first; a team's is of more interest.
        "" => known.get(1).or(known.first()).cloned(),
        id => Some(workspaces::find(&web, Some(id)).await?),
    };
    let workspace = workspace.unwrap_or_else(aizuchi_core::platform::local::workspace_id);
    let (period, range) = period(&web, workspace.clone(), days);
    let names = channel_names(&web, &visitor.access, &workspace).await?;
    let archive = &web.archive;
    let tally = Tally::new(
        archive.messages_by_day(&period).await?,
        archive.outcomes_by_day(&period).await?,
        archive.calls_by_day(&period).await?,
    );
    let delays = archive.answer_delays(&period).await?;
    let people = archive.user_delays(&workspace).await?;
    let marks = archive.marks_since(&workspace, period.since).await?;
    let writer = Writer { language, currency: &web.currency, names: &names };
    let span = |span: i64| SpanView {
        days: span,
        word: texts::console::last_days(language, span),
        is_chosen: span == days,
    };
    render(&FiguresPage {
        layout: Layout::new(&web, &visitor, language, Section::Figures),
        workspaces: known.iter().map(ToString::to_string).collect(),
        spans: SPANS.into_iter().map(span).collect(),
        is_empty: tally.is_empty(),
        charts: writer.charts(&tally, &range),
        channels: writer.channels(&workspace, &tally),
        models: writer.models(&tally),
        delays: writer.delays(&delays, &people),
        marked: texts::console::in_all(language, &marks.len().to_string()),
        marks: mark_rows(&marks, language),
        workspace: workspace.to_string(),
    })
}

/// The last days, today among them. All of them have the offset of now, so that each has 24 hours.
fn period(web: &Web, workspace: WorkspaceId, days: i64) -> (Period, Vec<Day>) {
    let now = web.clock.now();
    let offset = web.zone.to_offset(now).seconds();
    let offset = SignedDuration::from_secs(offset.into());
    let mut period = Period { workspace, since: now, offset };
    let Day(today) = period.day_of(now);
    let first = Day(today - days + 1);
    period.since = period.begin_of(first);
    (period, (first.0..=today).map(Day).collect())
}

/// The names of the channels, or their ids where the visitor may not learn the name.
async fn channel_names(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
) -> Result<HashMap<ChannelId, String>, ApiProblem> {
    let channels = web.archive.channels(workspace).await?.into_iter();
    let named = channels.filter(|channel| access.may_name(channel.visibility));
    Ok(named.map(|channel| (channel.id, format!("#{}", channel.name))).collect())
}

fn mark_rows(marks: &[DecisionMark], language: Language) -> Vec<MarkRow> {
    let row = |mark: Mark| MarkRow {
        name: mark.name(),
        word: texts::console::mark(language, mark),
        count: marks.iter().filter(|found| found.mark == mark).count(),
    };
    Mark::ALL.into_iter().map(row).collect()
}

/// Makes words, charts and rows of figures.
struct Writer<'a> {
    language: Language,
    currency: &'a str,
    names: &'a HashMap<ChannelId, String>,
}

const OUTCOMES: [(Option<DecisionResult>, &str); 8] = [
    (Some(DecisionResult::Spoke), "spoke"),
    (Some(DecisionResult::Reacted), "reacted"),
    (Some(DecisionResult::ChoseSilence), "chose_silence"),
    (Some(DecisionResult::Dropped), "dropped"),
    (Some(DecisionResult::Muted), "muted"),
    (Some(DecisionResult::OverBudget), "over_budget"),
    (Some(DecisionResult::Failed), "failed"),
    (None, "open"),
];

impl Writer<'_> {
    fn charts(&self, tally: &Tally, days: &[Day]) -> Vec<Chart> {
        let language = self.language;
        let sums = &tally.all;
        let whole = |value: f64| thousands(value as u64);
        let heard = texts::console::messages_heard(language);
        let of_heard = |day: &Day| tally.day(*day).heard as f64;
        let heard = Chart::new(
            "heard",
            heard,
            texts::console::in_all(language, &thousands(sums.heard)),
            days,
            vec![Series::new(heard, "plain", days, of_heard)],
            &whole,
        );
        let outcomes = OUTCOMES.into_iter().map(|(ended, name)| {
            let word = texts::console::outcome_word(language, name);
            Series::new(word, name, days, |day| tally.ended(*day, ended) as f64)
        });
        let decisions = Chart::new(
            "outcomes",
            texts::console::outcomes(language),
            texts::console::in_all(language, &thousands(sums.decisions)),
            days,
            outcomes.filter(|series| series.total() > 0.0).collect(),
            &whole,
        );
        let fresh = |day: &Day| {
            let usage = tally.day(*day).usage;
            usage.input_tokens.saturating_sub(usage.cached_tokens) as f64
        };
        let cached = |day: &Day| tally.day(*day).usage.cached_tokens as f64;
        let output = |day: &Day| tally.day(*day).usage.output_tokens as f64;
        let tokens = Chart::new(
            "tokens",
            texts::console::tokens(language),
            texts::console::token_count(
                language,
                &thousands(sums.usage.input_tokens + sums.usage.output_tokens),
                &percent(sums.usage.cached_tokens, sums.usage.input_tokens),
            ),
            days,
            vec![
                Series::new(texts::console::input_tokens(language), "input", days, fresh),
                Series::new(texts::console::cached_tokens(language), "cached", days, cached),
                Series::new(texts::console::output_tokens(language), "output", days, output),
            ],
            &whole,
        );
        let money = texts::console::money(language);
        let spent = |day: &Day| tally.day(*day).micros as f64 / 1e6;
        let money = Chart::new(
            "money",
            money,
            texts::console::money_count(language, &self.money(sums), &self.per_thousand(sums)),
            days,
            vec![Series::new(money, "plain", days, spent)],
            &|value| format!("{value:.4} {}", self.currency),
        );
        vec![heard, decisions, tokens, money]
    }

    fn channels(&self, workspace: &WorkspaceId, tally: &Tally) -> Vec<TallyRow> {
        let row = |(channel, sums): (&ChannelId, &tally::Sums)| TallyRow {
            address: Some(channel_address(workspace, channel)),
            ..self.row(self.name(channel), sums)
        };
        tally.channels.iter().map(row).collect()
    }

    fn models(&self, tally: &Tally) -> Vec<TallyRow> {
        let row = |(model, sums): (&Arc<str>, &tally::Sums)| self.row(model.to_string(), sums);
        tally.models.iter().map(row).collect()
    }

    fn row(&self, name: String, sums: &tally::Sums) -> TallyRow {
        TallyRow {
            name,
            address: None,
            heard: thousands(sums.heard),
            decisions: thousands(sums.decisions),
            spoke: thousands(sums.spoke),
            calls: thousands(sums.calls),
            tokens: thousands(sums.usage.input_tokens + sums.usage.output_tokens),
            cached: percent(sums.usage.cached_tokens, sums.usage.input_tokens),
            money: self.money(sums),
            per_thousand: self.per_thousand(sums),
        }
    }

    fn delays(&self, own: &[AnswerDelay], people: &[(ChannelId, ReplyDelays)]) -> Vec<DelayRow> {
        let mut rows = Vec::new();
        for (channel, learned) in people {
            let of = |is_addressed: bool| {
                let here = own.iter().filter(|delay| delay.channel == *channel);
                let here = here.filter(|delay| delay.is_addressed == is_addressed);
                median(here.map(|delay| delay.delay).collect())
            };
            let medians = [
                (texts::console::when_asked(self.language), "asked", of(true)),
                (texts::console::when_unasked(self.language), "unasked", of(false)),
                (texts::console::people_median(self.language), "people", learned.median()),
            ];
            if medians.iter().any(|(_, _, median)| median.is_some()) {
                rows.push((self.name(channel), medians));
            }
        }
        let longest = rows.iter().flat_map(|(_, medians)| medians).filter_map(|it| it.2).max();
        let longest = longest.map_or(1.0, |longest| longest.as_secs_f64().max(1.0));
        let bar = |(word, class, median): (&'static str, &'static str, Option<SignedDuration>)| {
            let share = median.map_or(0.0, |median| median.as_secs_f64() / longest);
            let told = median.map(|median| format_duration(median, self.language));
            DelayBar {
                word,
                class,
                width: format!("{:.1}", share * 100.0),
                text: told.unwrap_or_else(|| "–".to_owned()),
            }
        };
        let rows = rows.into_iter();
        rows.map(|(name, medians)| DelayRow { name, bars: medians.map(bar).into() }).collect()
    }

    fn name(&self, channel: &ChannelId) -> String {
        self.names.get(channel).cloned().unwrap_or_else(|| channel.to_string())
    }

    /// Tokens that cost nothing are those of a model without a price.
    fn money(&self, sums: &tally::Sums) -> String {
        match sums.has_price() {
            true => format!("{:.2} {}", sums.micros as f64 / 1e6, self.currency),
            false => "–".to_owned(),
        }
    }

    fn per_thousand(&self, sums: &tally::Sums) -> String {
        match sums.heard {
            heard @ 1.. if sums.has_price() => {
                format!("{:.3} {}", sums.micros as f64 / 1e3 / heard as f64, self.currency)
            }
            _ => "–".to_owned(),
        }
    }
}
