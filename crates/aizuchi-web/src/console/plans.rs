//! The page of what is going to be said at a time: reminders and other plans of all workspaces, next due first.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId, WorkspaceId};
use aizuchi_model::plan::PlanKind;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::layout::{Layout, Section, TimeView, address_with, channel_address, render};
use crate::language::PageLanguage;
use crate::plans::{self, ShownPlan};
use crate::{ApiProblem, Web, workspaces};

/// The maximum number of plans that are shown. The API returns all.
const MAX_PLANS: usize = 200;

#[derive(Template)]
#[template(path = "console/plans.html")]
struct PlansPage<'a> {
    layout: Layout<'a>,
    /// The workspaces to choose from: the id and the label of each.
    workspaces: Vec<(String, String)>,
    query: PlansFilter,
    /// The address to which forms return.
    address: String,
    plans: Vec<PlanRow>,
    /// Set if not all plans are shown.
    cut: Option<String>,
}

struct PlanRow {
    workspace: String,
    label: String,
    number: i64,
    channel: String,
    channel_address: String,
    asker: String,
    due: TimeView,
    recurrence: Option<String>,
    /// `None` if the visitor may not read it.
    what: Option<String>,
    /// A first word is planned by the config.
    may_cancel: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlansFilter {
    workspace: String,
    /// A part of the name of a channel or a person.
    q: String,
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<PlansFilter>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(PlansFilter::default(), |Query(query)| query);
    let only = workspaces::find_only(&web, Some(&query.workspace)).await?;
    let known = workspaces::all(&web).await?;
    let labels: HashMap<String, String> =
        workspaces::choices(&web, &known, language).into_iter().collect();
    let mut rows = Vec::new();
    for workspace in only.map_or(known.clone(), |only| vec![only]) {
        let shown = plans::read(&web, &visitor.access, &workspace).await?;
        if shown.is_empty() {
            continue;
        }
        let (channels, users) = names(&web, &workspace, &shown).await?;
        rows.extend(shown.into_iter().map(|ShownPlan { plan, is_readable }| {
            let channel = &plan.conversation.channel;
            let row = PlanRow {
                label: labels.get(workspace.as_str()).cloned().unwrap_or_default(),
                workspace: workspace.to_string(),
                number: plan.number,
                channel: channels.get(channel).cloned().unwrap_or_else(|| channel.to_string()),
                channel_address: channel_address(&workspace, channel),
                // Nobody asks for a first word.
                asker: match plan.asker.as_str() {
                    "" => "–".to_owned(),
                    id => users.get(&plan.asker).cloned().unwrap_or_else(|| id.to_owned()),
                },
                due: TimeView::new(plan.due),
                recurrence: plan
                    .recurrence
                    .as_ref()
                    .map(|it| texts::times::recurring(language, it)),
                may_cancel: plan.kind != PlanKind::FirstWord,
                what: is_readable.then(|| texts::plans::listed(language, &plan)),
            };
            (plan.due, row)
        }));
    }
    let wanted = query.q.trim().to_lowercase();
    rows.retain(|(_, row)| {
        row.channel.to_lowercase().contains(&wanted) || row.asker.to_lowercase().contains(&wanted)
    });
    rows.sort_by_key(|(due, _)| *due);
    let all = rows.len();
    let filter = [("workspace", query.workspace.as_str()), ("q", query.q.as_str())];
    render(&PlansPage {
        layout: Layout::new(&web, &visitor, language, Section::Plans),
        workspaces: workspaces::choices(&web, &known, language),
        address: address_with("/console/plans", &filter),
        plans: rows.into_iter().take(MAX_PLANS).map(|(_, row)| row).collect(),
        cut: (all > MAX_PLANS).then(|| texts::console::next_steps(language, MAX_PLANS, all)),
        query,
    })
}

/// The names of the channels and the askers of plans.
async fn names(
    web: &Web,
    workspace: &WorkspaceId,
    shown: &[ShownPlan],
) -> Result<(HashMap<ChannelId, String>, HashMap<UserId, String>), ApiProblem> {
    let channels = web.archive.channels(workspace).await?.into_iter();
    let channels = channels.map(|channel| (channel.id, channel.name.to_string())).collect();
    let askers: BTreeSet<UserId> = shown.iter().map(|shown| shown.plan.asker.clone()).collect();
    let users = web.archive.some_users(workspace, &askers).await?.into_iter();
    Ok((channels, users.map(|user| (user.id, user.name.to_string())).collect()))
}
