//! The page of what has failed.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;

use crate::access::Visitor;
use crate::console::health::failing_models;
use crate::console::home::WaitingCount;
use crate::console::layout::{
    Layout, ListSlice, Section, TimeView, address_with, channel_address, decision_address, render,
};
use crate::failures::{
    self, Failure, FailureChannel, FailureKind, FailuresQuery, LISTED_DAYS, PAGE,
};
use crate::language::PageLanguage;
use crate::models::ProblemView;
use crate::{ApiProblem, Web, dead_letters, models, workspaces};

#[derive(Template)]
#[template(path = "console/failures.html")]
struct FailuresPage<'a> {
    layout: Layout<'a>,
    /// The workspaces to choose from: the id and the label of each.
    workspaces: Vec<(String, String)>,
    /// The models and tools to choose from.
    models: BTreeSet<Arc<str>>,
    query: FailuresQuery,
    /// How many of each kind go on, with the address that lists them.
    summary: [WaitingCount; 3],
    /// The address of the first page, to which forms return.
    address: String,
    /// What is wrong with the models in use, as far as the program knows without a call.
    problems: Vec<String>,
    rows: Vec<FailureRow<'a>>,
    slice: Option<ListSlice>,
}

struct FailureRow<'a> {
    failure: &'a Failure,
    key: String,
    workspace: String,
    /// The name and the address of each channel that is shown.
    channels: Vec<(String, String)>,
    /// The number of the other channels.
    more: usize,
    /// The text that was not posted, if the visitor may read it.
    text: Option<Arc<str>>,
    decision: Option<String>,
}

const ADDRESS: &str = "/console/failures";
/// The maximum number of channels that are named in a row.
const MOST_CHANNELS: usize = 5;

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
    let behind = all.iter().filter(|it| it.kind == FailureKind::Backfill);
    let summary = [
        ("model", texts::failures::models(language), failing_models(&web).await?.len()),
        (
            "post",
            texts::home::letters(language),
            all.iter().filter(|it| it.letter.is_some()).count(),
        ),
        ("backfill", texts::home::behind(language), behind.map(|it| it.channels.len()).sum()),
    ];
    let summary = summary.map(|(name, word, count)| {
        let fields = [("kind", name), ("workspace", &*query.workspace)];
        WaitingCount { name, address: address_with(ADDRESS, &fields), word, count }
    });
    all.retain(|failure| query.has(failure, web.clock.now()));
    let count = all.len();
    let shown: Vec<Failure> = all.into_iter().skip(query.after).take(PAGE).collect();
    let letters: Vec<_> = shown.iter().filter_map(|failure| failure.letter.clone()).collect();
    dead_letters::record(&web, access, &letters).await?;
    let FailuresQuery { workspace, kind, channel, model, days, after: _ } = &query;
    let days = days.map_or(String::new(), |days| days.to_string());
    let chosen = [
        ("workspace", &**workspace),
        ("kind", kind),
        ("channel", channel),
        ("model", model),
        ("days", &days),
    ];
    let address = address_with(ADDRESS, &chosen);
    let problem = |problem: ProblemView| format!("{}: {}", problem.model, problem.told);
    let label = |failure: &Failure| workspaces::label(&web, &failure.workspace, language);
    render(&FailuresPage {
        layout: Layout::new(&web, &visitor, language, Section::Failures),
        workspaces: workspaces::choices(&web, &known, language),
        models,
        summary,
        problems: models::problems(&web, language).into_iter().map(problem).collect(),
        rows: shown.iter().map(|failure| row(failure, label(failure), access)).collect(),
        slice: ListSlice::new(("failures", &address), query.after, (shown.len(), count), language),
        address,
        query,
    })
}

fn row<'a>(failure: &'a Failure, workspace: String, access: &Access) -> FailureRow<'a> {
    let Failure { kind, model, dead_letter, reason, .. } = failure;
    let channel = |FailureChannel { id, name }: &FailureChannel| {
        let name = name.as_ref().map_or_else(|| id.to_string(), |name| format!("#{name}"));
        (name, channel_address(&failure.workspace, id))
    };
    let letter = failure.letter.as_ref().filter(|letter| dead_letters::may_read(access, letter));
    FailureRow {
        failure,
        key: format!("{} {} {model:?} {dead_letter:?} {reason}", kind.name(), failure.workspace),
        workspace,
        channels: failure.channels.iter().take(MOST_CHANNELS).map(channel).collect(),
        more: failure.channels.len().saturating_sub(MOST_CHANNELS),
        text: letter.and_then(|letter| letter.text.clone()),
        decision: failure.decision.map(|id| decision_address(&failure.workspace, id)),
    }
}
