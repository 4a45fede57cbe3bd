//! The page of the figures of all workspaces, or of one: what costs most, and then each figure as a chart and a table.

mod chart;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::decision::tolerance::CalibrationStep;
use aizuchi_model::decision::welcome::WelcomeReason;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::ledger::format_duration;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;
use futures_util::future::try_join_all;
use jiff::SignedDuration;
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::figures::chart::{FigureChart, Series};
use crate::console::layout::{Layout, ListSlice, Section, address_with, channel_address, render};
use crate::figures::tally::{Figures, OPEN, Sums, by_cost, percent, thousands};
use crate::figures::welcome::{self, ChannelThreshold, ChannelWelcome, WelcomeCounts};
use crate::figures::{ChannelDelays, PeriodFigures, SPANS};
use crate::language::PageLanguage;
use crate::status::told_cost;
use crate::{ApiProblem, Web, workspaces};

#[derive(Template)]
#[template(path = "console/figures.html")]
struct FiguresPage<'a> {
    layout: Layout<'a>,
    /// The id and the label of each workspace.
    workspaces: Vec<(String, String)>,
    /// Empty for all workspaces.
    workspace: String,
    workspace_label: String,
    /// What everything cost.
    cost: String,
    spans: Vec<SpanView>,
    days: i64,
    is_empty: bool,
    charts: Vec<FigureChart>,
    /// The columns by which the channels can be sorted: the name, the label and the address of each.
    columns: [(&'static str, &'static str, String); COLUMNS.len()],
    sort: &'static str,
    search: String,
    channels: Vec<ChannelRow>,
    slice: Option<ListSlice>,
    /// Of the channels that are listed.
    welcome: Vec<WelcomeRow>,
    /// Whether the visitor may reset what was learned, if anything was.
    may_reset: bool,
    /// The address of this page.
    back: String,
    /// Tables by model and by what the calls were for.
    calls: Vec<CallTable>,
    delays: Vec<DelayRow>,
    marks: Vec<MarkRow>,
    marked: String,
}

struct SpanView {
    days: i64,
    word: String,
    is_chosen: bool,
}

/// What the persona did in a channel, and what it cost.
struct ChannelRow {
    name: String,
    /// Set if there are channels of several workspaces.
    workspace: Option<String>,
    /// `None` for the whole workspace.
    address: Option<String>,
    /// One for each of [`COLUMNS`].
    values: [String; COLUMNS.len()],
    per_thousand: String,
}

/// How welcome the persona was in a channel.
struct WelcomeRow {
    name: String,
    address: String,
    /// The numbers of welcome, unwelcome and unclear posts.
    posts: [String; 3],
    /// The numbers of silences that a user broke, that nobody broke, and of others.
    silences: [String; 3],
    labels: String,
    threshold: String,
    /// The heading of the details.
    details: String,
    /// Each reason with its count.
    post_reasons: Vec<(&'static str, u64)>,
    silence_reasons: Vec<(&'static str, u64)>,
    /// `None` if nothing was proposed, or all of it was approved.
    declined: Option<u64>,
    answered_after: Option<String>,
    never_answered: u64,
    steps: Vec<ConfidenceRow>,
}

/// The confidences of the judge up to a bound, and how welcome the posts with these confidences were.
struct ConfidenceRow {
    up_to: String,
    welcome: String,
    labels: usize,
}

/// The calls grouped by one of their attributes. Each table covers all calls.
struct CallTable {
    id: &'static str,
    title: &'static str,
    column: &'static str,
    rows: Vec<CallRow>,
}

/// The totals of the calls of a model or of a kind.
struct CallRow {
    name: String,
    is_total: bool,
    calls: String,
    tokens: String,
    cached: String,
    money: String,
    per_thousand: String,
}

/// How soon the persona answers in a channel, and how soon users do.
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

#[derive(Deserialize)]
#[serde(default)]
pub struct FiguresPageQuery {
    workspace: String,
    days: i64,
    /// A part of channels' names.
    channel: String,
    /// One of [`COLUMNS`].
    sort: String,
    channels_after: usize,
}

impl Default for FiguresPageQuery {
    fn default() -> Self {
        let (workspace, channel, sort) = Default::default();
        Self { workspace, days: SPANS[1], channel, sort, channels_after: 0 }
    }
}

/// The number of channels per page.
const CHANNELS: usize = 15;

/// A column by which the channels can be sorted, the largest number first: its name, its label, and a channel's number.
type Column = (&'static str, fn(Language) -> &'static str, fn(&Sums) -> u64);

const MONEY: &str = "money";
const QUESTIONS: &str = "questions";

const COLUMNS: [Column; 8] = [
    (MONEY, texts::console::money, |sums| sums.micros),
    ("calls", texts::console::calls, |sums| sums.calls),
    ("heard", texts::console::messages_heard, |sums| sums.heard),
    ("decisions", texts::console::decisions, |sums| sums.decisions),
    ("spoke", |language| texts::console::outcome_word(language, "spoke"), |sums| sums.spoke),
    ("reacted", |language| texts::console::outcome_word(language, "reacted"), |sums| sums.reacted),
    ("reactions", texts::console::reactions_received, |sums| sums.reactions),
    (QUESTIONS, texts::console::open_questions, |sums| sums.questions),
];

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<FiguresPageQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(FiguresPageQuery::default(), |Query(query)| query);
    let days = SPANS.into_iter().find(|days| *days == query.days).unwrap_or(SPANS[1]);
    let known = workspaces::all(&web).await?;
    let only = workspaces::find_only(&web, Some(&query.workspace)).await?;
    let shown = only.as_ref().map_or(&known[..], std::slice::from_ref);
    let access = &visitor.access;
    let places = try_join_all(
        shown.iter().map(|it| FiguresOfWorkspace::read(&web, access, it, days, language)),
    );
    let places = places.await?;
    let figures = PeriodFigures::sum(places.iter().map(|place| &place.figures));
    let PeriodFigures { total, marks, .. } = &figures;
    let is_of_several = places.iter().filter(|it| !it.figures.total.is_empty()).count() > 1;
    let writer = Writer { language, currency: &web.currency, is_of_several };
    let span = |span: i64| SpanView {
        days: span,
        word: texts::console::last_days(language, span),
        is_chosen: span == days,
    };
    let column = COLUMNS.into_iter().find(|(name, ..)| *name == query.sort).unwrap_or(COLUMNS[0]);
    let days_text = days.to_string();
    let chosen = [("workspace", &*query.workspace), ("days", &*days_text)];
    let page = address_with("/console/figures", &chosen);
    let search = query.channel.trim();
    let found = address_with(&page, &[("channel", search)]);
    let address = format!("{found}&sort={}", column.0);
    let channels = writer.find_channels(&places, search, column.2);
    let all = channels.len();
    let channels: Vec<_> = channels.into_iter().skip(query.channels_after).take(CHANNELS).collect();
    let is_shown = |place: &FiguresOfWorkspace, id: &ChannelId| {
        let is_it = |(shown, channel, _): &ListedSums<'_>| {
            shown.workspace == place.workspace && *channel == Some(id)
        };
        channels.iter().any(is_it)
    };
    let delays =
        places.iter().flat_map(|place| place.figures.delays.iter().map(move |it| (place, it)));
    let welcome = places.iter().flat_map(|place| place.welcome.iter().map(move |it| (place, it)));
    render(&FiguresPage {
        layout: Layout::new(&web, &visitor, language, Section::Figures),
        workspaces: workspaces::choices(&web, &known, language),
        workspace_label: match &only {
            Some(workspace) => workspaces::label(&web, workspace, language),
            None => texts::console::show_all(language).to_owned(),
        },
        cost: writer.cost(total),
        spans: SPANS.into_iter().map(span).collect(),
        days,
        is_empty: total.is_empty(),
        charts: writer.charts(&figures),
        columns: COLUMNS.map(|(name, label, _)| {
            (name, label(language), format!("{found}&sort={name}#channels"))
        }),
        sort: column.0,
        slice: ListSlice::new(
            ("channels", &address),
            query.channels_after,
            (channels.len(), all),
            language,
        ),
        channels: channels.iter().map(|listed| writer.channel_row(listed)).collect(),
        may_reset: only.is_some() && visitor.access.may_order() && welcome.clone().next().is_some(),
        welcome: writer.welcome(welcome.filter(|(place, (id, _))| is_shown(place, id))),
        back: page,
        calls: writer.calls(total),
        delays: writer.delays(delays.filter(|(place, it)| is_shown(place, &it.channel))),
        marked: texts::console::in_all(language, &marks.len().to_string()),
        marks: mark_rows(marks, language),
        search: query.channel,
        workspace: query.workspace,
    })
}

/// A workspace with its figures.
struct FiguresOfWorkspace {
    workspace: WorkspaceId,
    label: String,
    /// The names of the channels that the visitor may know.
    names: HashMap<ChannelId, Arc<str>>,
    figures: PeriodFigures,
    welcome: BTreeMap<ChannelId, ChannelWelcome>,
}

impl FiguresOfWorkspace {
    async fn read(
        web: &Web,
        access: &Access,
        workspace: &WorkspaceId,
        days: i64,
        language: Language,
    ) -> Result<Self, ApiProblem> {
        let figures = PeriodFigures::read(web, workspace, days).await?;
        Ok(Self {
            workspace: workspace.clone(),
            label: workspaces::label(web, workspace, language),
            names: workspaces::channel_names(web, access, workspace).await?,
            welcome: welcome::by_channel(web, workspace, &figures).await?,
            figures,
        })
    }

    /// The name of a channel, or of the whole workspace.
    fn name(&self, channel: Option<&ChannelId>, language: Language) -> String {
        let Some(channel) = channel else {
            return texts::console::whole_workspace(language).to_owned();
        };
        let name = self.names.get(channel);
        name.map_or_else(|| channel.to_string(), |name| format!("#{name}"))
    }
}

/// The sums of a channel of a workspace.
type ListedSums<'a> = (&'a FiguresOfWorkspace, Option<&'a ChannelId>, &'a Sums);

fn mark_rows(marks: &[DecisionMark], language: Language) -> Vec<MarkRow> {
    let row = |mark: Mark| MarkRow {
        name: mark.name(),
        word: texts::console::mark(language, mark),
        count: marks.iter().filter(|found| found.mark == mark).count(),
    };
    Mark::ALL.into_iter().map(row).collect()
}

/// Formats figures as text, charts and rows.
struct Writer<'a> {
    language: Language,
    currency: &'a str,
    /// Whether there is something to tell of several workspaces.
    is_of_several: bool,
}

const OUTCOMES: [Option<DecisionResult>; 9] = [
    Some(DecisionResult::Spoke),
    Some(DecisionResult::Reacted),
    Some(DecisionResult::Proposed),
    Some(DecisionResult::ChoseSilence),
    Some(DecisionResult::Dropped),
    Some(DecisionResult::Muted),
    Some(DecisionResult::OverBudget),
    Some(DecisionResult::Failed),
    None,
];

impl Writer<'_> {
    fn charts(&self, figures: &PeriodFigures) -> Vec<FigureChart> {
        vec![
            self.heard(figures),
            self.outcomes(figures),
            self.tokens(figures),
            self.spent(figures),
            self.questions(figures),
            self.reactions(figures),
        ]
    }

    fn heard(&self, PeriodFigures { days, total, .. }: &PeriodFigures) -> FigureChart {
        let title = texts::console::messages_heard(self.language);
        let heard = |figures: &Figures| figures.all.heard as f64;
        let series = vec![Series::new(title, "plain", days, heard)];
        FigureChart::new("heard", title, self.in_all(total.all.heard), days, series, &whole)
    }

    fn outcomes(&self, PeriodFigures { days, total, .. }: &PeriodFigures) -> FigureChart {
        let outcomes = OUTCOMES.into_iter().map(|ended| {
            let name = ended.map_or(OPEN, DecisionResult::name);
            let word = texts::console::outcome_word(self.language, name);
            let count = |figures: &Figures| figures.outcomes.get(name).map_or(0.0, |it| *it as f64);
            Series::new(word, name, days, count)
        });
        let series = outcomes.filter(|series| series.total() > 0.0).collect();
        let title = texts::console::outcomes(self.language);
        FigureChart::new("outcomes", title, self.in_all(total.all.decisions), days, series, &whole)
    }

    fn tokens(&self, PeriodFigures { days, total, .. }: &PeriodFigures) -> FigureChart {
        let language = self.language;
        let fresh = |figures: &Figures| {
            let usage = figures.all.usage;
            usage.input_tokens.saturating_sub(usage.cached_tokens) as f64
        };
        let cached = |figures: &Figures| figures.all.usage.cached_tokens as f64;
        let output = |figures: &Figures| figures.all.usage.output_tokens as f64;
        let series = vec![
            Series::new(texts::console::input_tokens(language), "input", days, fresh),
            Series::new(texts::console::cached_tokens(language), "cached", days, cached),
            Series::new(texts::console::output_tokens(language), "output", days, output),
        ];
        let usage = total.all.usage;
        let cached = percent(usage.cached_tokens, usage.input_tokens);
        let sum = texts::console::token_count(language, &thousands(total.all.tokens()), &cached);
        FigureChart::new("tokens", texts::console::tokens(language), sum, days, series, &whole)
    }

    fn spent(&self, PeriodFigures { days, total, .. }: &PeriodFigures) -> FigureChart {
        let title = texts::console::money(self.language);
        let spent = |figures: &Figures| figures.all.micros as f64 / 1e6;
        let series = vec![Series::new(title, "plain", days, spent)];
        let tell = |value: f64| format!("{value:.2} {}", self.currency);
        FigureChart::new("money", title, self.cost(total), days, series, &tell)
    }

    fn questions(&self, PeriodFigures { days, total, .. }: &PeriodFigures) -> FigureChart {
        let language = self.language;
        let taken_up = |figures: &Figures| figures.all.taken_up as f64;
        let missed = |figures: &Figures| (figures.all.questions - figures.all.taken_up) as f64;
        let series = vec![
            Series::new(texts::console::taken_up(language), "spoke", days, taken_up),
            Series::new(texts::console::missed(language), "chose_silence", days, missed),
        ];
        let (taken_up, questions) = (thousands(total.all.taken_up), thousands(total.all.questions));
        let sum = texts::console::taken_up_of(language, &taken_up, &questions);
        let title = texts::console::open_questions(language);
        let note = Some(texts::console::open_questions_explained(language));
        FigureChart { note, ..FigureChart::new("questions", title, sum, days, series, &whole) }
    }

    fn reactions(&self, PeriodFigures { days, total, .. }: &PeriodFigures) -> FigureChart {
        let language = self.language;
        let given = |figures: &Figures| figures.all.reacted as f64;
        let received = |figures: &Figures| figures.all.reactions as f64;
        let series = vec![
            Series::new(texts::console::reactions_given(language), "spoke", days, given),
            Series::new(texts::console::reactions_received(language), "people", days, received),
        ];
        let (given, received) = (thousands(total.all.reacted), thousands(total.all.reactions));
        let sum = texts::console::reaction_count(language, &given, &received);
        let title = texts::console::reactions(language);
        let note = Some(texts::console::reactions_explained(language));
        FigureChart { note, ..FigureChart::new("reactions", title, sum, days, series, &whole) }
    }

    fn in_all(&self, count: u64) -> String {
        texts::console::in_all(self.language, &thousands(count))
    }

    fn cost(&self, total: &Figures) -> String {
        let per_thousand = self.per_thousand(&total.all, total.all.heard);
        texts::console::money_count(self.language, &self.money(&total.all), &per_thousand)
    }

    /// Returns the channels whose names contain `search`, sorted by a column.
    fn find_channels<'a>(
        &self,
        places: &'a [FiguresOfWorkspace],
        search: &str,
        number: fn(&Sums) -> u64,
    ) -> Vec<ListedSums<'a>> {
        let wanted = search.trim_start_matches('#').to_lowercase();
        let of_place = |place: &'a FiguresOfWorkspace| {
            let channels = place.figures.total.channels.iter();
            channels.map(move |(id, sums)| (place, id.as_ref(), sums))
        };
        let mut channels: Vec<_> = places.iter().flat_map(of_place).collect();
        channels.retain(|(place, id, _)| {
            place.name(*id, self.language).to_lowercase().contains(&wanted)
        });
        channels.sort_by_key(|(.., sums)| Reverse((number(sums), sums.micros, sums.tokens())));
        channels
    }

    fn channel_row(&self, (place, channel, sums): &ListedSums<'_>) -> ChannelRow {
        ChannelRow {
            name: place.name(*channel, self.language),
            workspace: self.is_of_several.then(|| place.label.clone()),
            address: channel.map(|channel| channel_address(&place.workspace, channel)),
            values: COLUMNS.map(|(name, _, number)| match (name, number(sums)) {
                (MONEY, _) => self.money(sums),
                (QUESTIONS, 0) => "–".to_owned(),
                (QUESTIONS, asked) => {
                    format!("{} / {}", thousands(sums.taken_up), thousands(asked))
                }
                (_, number) => thousands(number),
            }),
            per_thousand: self.per_thousand(sums, sums.heard),
        }
    }

    fn welcome<'a>(
        &self,
        channels: impl Iterator<Item = (&'a FiguresOfWorkspace, (&'a ChannelId, &'a ChannelWelcome))>,
    ) -> Vec<WelcomeRow> {
        let counts = |counts: WelcomeCounts| {
            let WelcomeCounts { welcome, unwelcome, unclear } = counts;
            [welcome, unwelcome, unclear].map(|count| match counts.total() {
                0 => "–".to_owned(),
                total => format!("{} ({})", thousands(count), percent(count, total)),
            })
        };
        let row =
            |(place, (channel, welcome)): (&FiguresOfWorkspace, (&ChannelId, &ChannelWelcome))| {
                WelcomeRow {
                    name: self.name(place, channel),
                    address: channel_address(&place.workspace, channel),
                    posts: counts(welcome.posts),
                    silences: counts(welcome.silences),
                    labels: match welcome.labels_missing() {
                        0 => thousands(welcome.labels as u64),
                        missing => {
                            texts::console::labels_missing(self.language, welcome.labels, missing)
                        }
                    },
                    threshold: self.threshold(welcome.threshold),
                    details: texts::welcome::details(
                        self.language,
                        &place.name(Some(channel), self.language),
                    ),
                    post_reasons: self.reasons(&welcome.post_reasons),
                    silence_reasons: self.reasons(&welcome.silence_reasons),
                    declined: Some(welcome.declined).filter(|declined| *declined > 0),
                    answered_after: welcome
                        .answered_after
                        .map(|after| format_duration(after, self.language)),
                    never_answered: welcome.never_answered(),
                    steps: welcome.steps.iter().map(confidence_row).collect(),
                }
            };
        channels.map(row).collect()
    }

    fn reasons(&self, reasons: &BTreeMap<WelcomeReason, u64>) -> Vec<(&'static str, u64)> {
        let told = |(reason, count): (&WelcomeReason, &u64)| {
            (texts::welcome::reason(self.language, *reason), *count)
        };
        reasons.iter().map(told).collect()
    }

    fn threshold(&self, threshold: Option<ChannelThreshold>) -> String {
        let Some(ChannelThreshold { now, settles_at }) = threshold else { return "–".to_owned() };
        let [now, settles_at] = [now, settles_at].map(|least| format!("{least:.2}"));
        match now == settles_at {
            true => now,
            false => texts::welcome::moves_to(self.language, &now, &settles_at),
        }
    }

    fn calls(&self, total: &Figures) -> Vec<CallTable> {
        let language = self.language;
        // The costs of models and kinds are relative to all messages that were heard.
        let heard = total.all.heard;
        let models = by_cost(&total.models).into_iter().map(|(model, sums)| {
            let name = match &**model {
                "" => texts::console::unknown_model(language),
                name => name,
            };
            self.call_row(name.to_owned(), sums, heard)
        });
        let kinds = by_cost(&total.kinds).into_iter().map(|(kind, sums)| {
            let name = texts::console::call_kind(language, kind.name());
            self.call_row(name.to_owned(), sums, heard)
        });
        let tables = [
            CallTable {
                id: "by-kind",
                title: texts::console::by_kind(language),
                column: texts::console::kind(language),
                rows: kinds.collect(),
            },
            CallTable {
                id: "by-model",
                title: texts::console::by_model(language),
                column: texts::console::model(language),
                rows: models.collect(),
            },
        ];
        let tables = tables.into_iter().filter(|table| !table.rows.is_empty());
        let with_total = |mut table: CallTable| {
            let name = texts::console::total(language).to_owned();
            let total = self.call_row(name, &total.all, heard);
            table.rows.push(CallRow { is_total: true, ..total });
            table
        };
        tables.map(with_total).collect()
    }

    fn call_row(&self, name: String, sums: &Sums, heard: u64) -> CallRow {
        CallRow {
            name,
            is_total: false,
            calls: thousands(sums.calls),
            tokens: thousands(sums.tokens()),
            cached: percent(sums.usage.cached_tokens, sums.usage.input_tokens),
            money: self.money(sums),
            per_thousand: self.per_thousand(sums, heard),
        }
    }

    fn delays<'a>(
        &self,
        delays: impl Iterator<Item = (&'a FiguresOfWorkspace, &'a ChannelDelays)> + Clone,
    ) -> Vec<DelayRow> {
        let longest = delays.clone().flat_map(|(_, it)| [it.asked, it.unasked]).flatten().max();
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
        let row = |(place, delays): (&FiguresOfWorkspace, &ChannelDelays)| DelayRow {
            name: self.name(place, &delays.channel),
            bars: vec![
                bar((texts::console::when_asked(self.language), "asked", delays.asked)),
                bar((texts::console::when_unasked(self.language), "unasked", delays.unasked)),
            ],
        };
        delays.map(row).collect()
    }

    /// Returns the name of a channel, with its workspace if several are shown.
    fn name(&self, place: &FiguresOfWorkspace, channel: &ChannelId) -> String {
        let name = place.name(Some(channel), self.language);
        match self.is_of_several {
            true => format!("{name} · {}", place.label),
            false => name,
        }
    }

    fn money(&self, sums: &Sums) -> String {
        told_cost(self.language, sums.micros as f64 / 1e6, self.currency, sums.unpriced_tokens)
    }

    /// Returns the cost per thousand messages, which is unknown if the cost itself is unknown.
    fn per_thousand(&self, sums: &Sums, heard: u64) -> String {
        match heard {
            1.. if sums.micros > 0 || sums.unpriced_tokens == 0 => {
                format!("{:.3} {}", sums.micros as f64 / 1e3 / heard as f64, self.currency)
            }
            _ => "–".to_owned(),
        }
    }
}

fn confidence_row(step: &CalibrationStep) -> ConfidenceRow {
    ConfidenceRow {
        up_to: format!("{:.2}", step.up_to),
        welcome: format!("{:.0} %", step.welcome * 100.0),
        labels: step.labels,
    }
}

fn whole(value: f64) -> String {
    thousands(value as u64)
}
