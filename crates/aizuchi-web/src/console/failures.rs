//! The page of failures: what fails now, with what is done about it, and what failed lately, each kind once.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;

use crate::access::Visitor;
use crate::console::health::failing_models;
use crate::console::home_tiles::WaitingCount;
use crate::console::layout::{
    Layout, ListSlice, Section, TimeView, address_with, channel_address, decision_address, render,
};
use crate::console::running_status;
use crate::failures::{self, Failure, FailureChannel, FailureKind, FailuresQuery, LISTED_DAYS};
use crate::language::PageLanguage;
use crate::{ApiProblem, Web, dead_letters, models, workspaces};

#[derive(Template)]
#[template(path = "console/failures.html")]
struct FailuresPage<'a> {
    layout: Layout<'a>,
    /// The workspaces to choose from: the id and the label of each.
    workspaces: Vec<(String, String)>,
    /// The models and tools to choose from.
    models: BTreeSet<Arc<str>>,
    /// The models that the config names.
    used: HashSet<String>,
    query: FailuresQuery,
    /// How many of each kind go on, with the address that lists them.
    summary: [WaitingCount; 4],
    /// The address of the first page, to which forms return.
    address: String,
    /// What is wrong with models that were not called lately.
    problems: Vec<String>,
    now: Vec<FailureRow>,
    lately: Vec<FailureRow>,
    /// Whether either part has no rows on any page.
    is_calm: bool,
    was_calm: bool,
    slice: Option<ListSlice>,
}

/// A failure, wherever it happened.
struct FailureRow {
    failure: Failure,
    /// Tells rows apart.
    key: String,
    /// The text that was not posted, if the visitor may read it.
    text: Option<Arc<str>>,
    decision: Option<String>,
    /// How many channels and workspaces, if there are several.
    told: Option<String>,
    /// The name and the address of each place that is shown. A workspace has no address.
    places: Vec<(String, Option<String>)>,
    /// The number of the other places.
    more: usize,
}

const ADDRESS: &str = "/console/failures";
/// The number of rows per page. The API returns more.
const ROWS: usize = 25;
/// The maximum number of places that are named in a row.
const MOST_PLACES: usize = 20;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<FailuresQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(FailuresQuery::default(), |Query(query)| query);
    let access = &visitor.access;
    let known = workspaces::all(&web).await?;
    let mut all = failures::read(&web, access, &query.workspace, language).await?;
    let models = all.iter().filter_map(|failure| failure.model.clone()).collect();
    let failing = failing_models(&web).await?;
    let letters = all.iter().filter(|failure| failure.letter.is_some()).count();
    let summary = summary(&web, &query, (failing.len(), letters), language).await?;
    all.retain(|failure| query.has(failure, web.clock.now()));
    let (now, lately): (Vec<_>, Vec<_>) =
        failures::joined(all.clone()).into_iter().partition(|it| it.is_now(&all, &failing));
    let is_whole = query.workspace.is_empty()
        && query.channel.is_empty()
        && matches!(&*query.kind, "" | "model");
    let problems = models::problems(&web, language)
        .into_iter()
        .filter(|it| is_whole && now.iter().all(|now| now.model.as_deref() != Some(&*it.model)));
    let problems: Vec<_> = problems.map(|it| format!("{}: {}", it.model, it.told)).collect();
    let (is_calm, was_calm) = (now.is_empty(), lately.is_empty());
    let (count, first) = (now.len() + lately.len(), now.len().saturating_sub(query.after));
    let shown = now.into_iter().chain(lately).skip(query.after).take(ROWS);
    let row = |failure| FailureRow::new(&web, access, failure, language);
    let mut now: Vec<FailureRow> = shown.map(row).collect();
    let lately = now.split_off(first.min(now.len()));
    let letters: Vec<_> = now.iter().filter_map(|row| row.failure.letter.clone()).collect();
    dead_letters::record(&web, access, &letters).await?;
    let FailuresQuery { workspace, kind, channel, model, days, after: _, retried: _ } = &query;
    let days = days.map_or(String::new(), |days| days.to_string());
    let chosen = [
        ("workspace", &**workspace),
        ("kind", kind),
        ("channel", channel),
        ("model", model),
        ("days", &days),
    ];
    let address = address_with(ADDRESS, &chosen);
    render(&FailuresPage {
        layout: Layout::new(&web, &visitor, language, Section::Failures),
        workspaces: workspaces::choices(&web, &known, language),
        models,
        used: web.models.in_use(),
        summary,
        is_calm,
        was_calm,
        slice: {
            let shown = (now.len() + lately.len(), count);
            ListSlice::new(("failures", &address), query.after, shown, language)
        },
        problems,
        now,
        lately,
        address,
        query,
    })
}

/// Counts what goes on, as the home page and the status do.
async fn summary(
    web: &Web,
    query: &FailuresQuery,
    (models, letters): (usize, usize),
    language: Language,
) -> Result<[WaitingCount; 4], ApiProblem> {
    let only = workspaces::find_only(web, Some(&query.workspace)).await?;
    let (mut behind, mut unread) = (0, 0);
    for workspace in workspaces::wanted(web, only).await? {
        let connection = running_status::connection(web, &workspace).await?;
        behind += connection.behind;
        unread += connection.failing;
    }
    let counts = [
        ("model", "model", texts::failures::models(language), models),
        ("post", "post", texts::home::letters(language), letters),
        ("backfill", "backfill", texts::home::behind(language), behind),
        ("unread", "backfill", texts::home::unread(language), unread),
    ];
    Ok(counts.map(|(name, kind, word, count)| {
        let address = address_with(ADDRESS, &[("kind", kind), ("workspace", &query.workspace)]);
        WaitingCount { name, address, word, count }
    }))
}

impl FailureRow {
    fn new(web: &Web, access: &Access, failure: Failure, language: Language) -> Self {
        let label = |workspace: &WorkspaceId| workspaces::label(web, workspace, language);
        let (channels, workspaces) = (failure.channels.len(), failure.workspaces.len());
        let channel = |FailureChannel { id, name, workspace }: &FailureChannel| {
            let name = name.as_ref().map_or_else(|| id.to_string(), |name| format!("#{name}"));
            let address = Some(channel_address(workspace, id));
            match workspaces {
                1 => (name, address),
                _ => (format!("{name} · {}", label(workspace)), address),
            }
        };
        let is_alone = |of: &&WorkspaceId| {
            workspaces == 1 || failure.channels.iter().all(|channel| channel.workspace != **of)
        };
        let wide = failure.workspaces.iter().filter(is_alone).map(|of| (label(of), None));
        let places = failure.channels.iter().map(channel).chain(wide);
        let letter = failure.letter.as_ref().filter(|it| dead_letters::may_read(access, it));
        Self {
            key: format!("{:?}", failure.key()),
            text: letter.and_then(|letter| letter.text.clone()),
            decision: failure.decision.map(|id| decision_address(&failure.workspace, id)),
            told: match (channels, workspaces) {
                (0 | 1, 1) => None,
                (0, _) => Some(texts::channels::in_all(language, workspaces)),
                (_, _) => Some(texts::channels::across(language, channels, workspaces)),
            },
            more: (channels + workspaces).saturating_sub(MOST_PLACES + 1),
            places: places.take(MOST_PLACES).collect(),
            failure,
        }
    }
}
