//! The page of what has failed.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::dead_letter::LetterAction;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;

use crate::access::Visitor;
use crate::console::layout::{
    Layout, ListSlice, Section, TimeView, channel_address, decision_address, encode, render,
};
use crate::failures::{self, Failure, FailureChannel, FailureKind, FailuresQuery, PAGE};
use crate::language::PageLanguage;
use crate::models::ProblemView;
use crate::{ApiProblem, Web, dead_letters, models, workspaces};

#[derive(Template)]
#[template(path = "console/failures.html")]
struct FailuresPage<'a> {
    layout: Layout<'a>,
    /// The workspaces to choose from: the id and the label of each.
    workspaces: Vec<(String, String)>,
    kinds: Vec<(&'static str, &'static str)>,
    /// The models and tools to choose from.
    models: BTreeSet<Arc<str>>,
    query: FailuresQuery,
    /// The address of the first page, to which forms return.
    address: String,
    /// What is wrong with the models in use, as far as the program knows without a call.
    problems: Vec<String>,
    rows: Vec<FailureRow>,
    slice: Option<ListSlice>,
    /// What the list says if it is empty.
    none: &'static str,
    actions: Vec<(&'static str, &'static str)>,
}

struct FailureRow {
    key: String,
    kind: &'static str,
    model: Option<Arc<str>>,
    workspace: String,
    /// The name and the address of each channel that is shown.
    channels: Vec<(String, String)>,
    more_channels: Option<String>,
    reason: String,
    /// The text that was not posted, if the visitor may read it.
    text: Option<String>,
    decision: Option<String>,
    times: Option<String>,
    first: TimeView,
    last: TimeView,
    next: Option<TimeView>,
    letter: Option<i64>,
}

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
    let all = failures::read(&web, access, &query, language).await?;
    let count = all.len();
    let models = all.iter().filter_map(|failure| failure.model.clone()).collect();
    let shown: Vec<Failure> = all.into_iter().skip(query.after).take(PAGE).collect();
    let letters: Vec<_> = shown.iter().filter_map(|failure| failure.letter.clone()).collect();
    dead_letters::record(&web, access, &letters).await?;
    let address = address(&query);
    let problem = |problem: ProblemView| format!("{}: {}", problem.model, problem.told);
    let label = |failure: &Failure| workspaces::label(&web, &failure.workspace, language);
    render(&FailuresPage {
        layout: Layout::new(&web, &visitor, language, Section::Failures),
        workspaces: workspaces::choices(&web, &known, language),
        kinds: FailureKind::ALL.map(|kind| named_kind(kind, language)).into(),
        models,
        problems: models::problems(&web.models, language).into_iter().map(problem).collect(),
        rows: shown.iter().map(|it| row(it, label(it), access, language)).collect(),
        slice: ListSlice::new(("failures", &address), query.after, (shown.len(), count), language),
        none: match address == ADDRESS {
            true => texts::failures::none(language),
            false => texts::failures::none_matches(language),
        },
        actions: LetterAction::ALL.map(|it| (it.name(), it.label(language))).into(),
        address,
        query,
    })
}

const ADDRESS: &str = "/console/failures";

/// The address of the first page of these failures.
fn address(query: &FailuresQuery) -> String {
    let FailuresQuery { workspace, kind, channel, model, after: _ } = query;
    let fields = [("workspace", workspace), ("kind", kind), ("channel", channel), ("model", model)];
    let chosen = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let chosen: Vec<String> =
        chosen.map(|(name, value)| format!("{name}={}", encode(value))).collect();
    match chosen.is_empty() {
        true => ADDRESS.to_owned(),
        false => format!("{ADDRESS}?{}", chosen.join("&")),
    }
}

fn named_kind(kind: FailureKind, language: Language) -> (&'static str, &'static str) {
    (kind.name(), texts::failures::kind_of(language, kind.name()))
}

fn row(failure: &Failure, workspace: String, access: &Access, language: Language) -> FailureRow {
    let more = failure.channels.len().saturating_sub(MOST_CHANNELS);
    let channel = |FailureChannel { id, name }: &FailureChannel| {
        let name = name.as_ref().map_or_else(|| id.to_string(), |name| format!("#{name}"));
        (name, channel_address(&failure.workspace, id))
    };
    let letter = failure.letter.as_ref().filter(|letter| dead_letters::may_read(access, letter));
    FailureRow {
        key: format!(
            "{} {} {} {} {}",
            failure.kind.name(),
            failure.workspace,
            failure.dead_letter.unwrap_or_default(),
            failure.model.as_deref().unwrap_or_default(),
            failure.reason
        ),
        kind: named_kind(failure.kind, language).1,
        model: failure.model.clone(),
        workspace,
        channels: failure.channels.iter().take(MOST_CHANNELS).map(channel).collect(),
        more_channels: (more > 0).then(|| texts::failures::more_channels(language, more)),
        reason: failure.reason.clone(),
        text: letter.and_then(|letter| letter.text.as_ref()).map(ToString::to_string),
        decision: failure.decision.map(|id| decision_address(&failure.workspace, id)),
        times: (failure.count > 1).then(|| texts::failures::times(language, failure.count)),
        first: TimeView::from_seconds(failure.first),
        last: TimeView::from_seconds(failure.last),
        next: failure.next.map(TimeView::from_seconds),
        letter: failure.dead_letter,
    }
}
