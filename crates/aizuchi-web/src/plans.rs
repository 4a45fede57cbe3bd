//! Plans on the pages and through the API: what is going to be said, when, and for whom. What is to be said is shown to
//! those who may read the channel.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, MessageId, UserId, Visibility, WorkspaceId};
use aizuchi_model::plan::{Plan, PlanKind};
use aizuchi_store::StoreError;
use aizuchi_store::order::{Order, PlanChange};
use aizuchi_store::refusal_reason::RefusalReason;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::actions::requests;
use crate::workspaces::Shown;
use crate::{ApiProblem, JsonResult, Web, orders, views, workspaces};

#[derive(Deserialize, JsonSchema)]
pub struct PlansQuery {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    /// Only plans for this channel, by its id, and its threads.
    channel: Option<String>,
}

/// The pending reminders and other plans, next due first.
#[derive(Serialize, JsonSchema)]
pub struct PlansAnswer {
    plans: Vec<PlanView>,
}

#[derive(Serialize, JsonSchema)]
pub struct PlanView {
    number: i64,
    channel: ChannelId,
    thread: Option<MessageId>,
    /// The id of the user who asked for it, or who waits for an answer. Empty: a first word.
    asker: UserId,
    kind: PlanKind,
    /// Null: it was asked for in a channel that the visitor may not read.
    what: Option<String>,
    /// How it recurs, such as `weekly fri 17:00`. Null: it is said once.
    recurrence: Option<String>,
    /// The asker's time zone.
    zone: Option<String>,
    due: f64,
}

/// A plan, and whether the visitor may read it.
pub struct ShownPlan {
    pub plan: Plan,
    pub is_readable: bool,
}

/// `GET /api/plans`.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<PlansQuery>, QueryRejection>,
) -> JsonResult<PlansAnswer> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let workspace = workspaces::find(&web, query.workspace.as_deref()).await?;
    let mut shown = read(&web, &visitor.access, &workspace).await?;
    if let Some(id) = query.channel {
        let channel = workspaces::channel(&web, &workspace, &id).await?.id;
        shown.retain(|shown| shown.plan.conversation.channel == channel);
    }
    Ok(Json(PlansAnswer { plans: shown.into_iter().map(view).collect() }))
}

fn view(ShownPlan { plan, is_readable }: ShownPlan) -> PlanView {
    PlanView {
        number: plan.number,
        channel: plan.conversation.channel,
        thread: plan.conversation.thread,
        asker: plan.asker,
        kind: plan.kind,
        what: is_readable.then(|| plan.what.to_string()),
        recurrence: plan.recurrence.map(|recurrence| recurrence.to_string()),
        zone: plan.zone.iana_name().map(str::to_owned),
        due: views::seconds(plan.due),
    }
}

/// Returns the pending plans of a workspace. Reads of private ones are recorded.
pub async fn read(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
) -> Result<Vec<ShownPlan>, ApiProblem> {
    let plans = web.archive.plans(workspace).await?;
    if plans.is_empty() {
        return Ok(Vec::new());
    }
    let channels = web.archive.channels(workspace).await?.into_iter();
    let visibilities: BTreeMap<ChannelId, Visibility> =
        channels.map(|channel| (channel.id, channel.visibility)).collect();
    let visibility = |plan: &Plan| {
        visibilities.get(&plan.conversation.channel).copied().unwrap_or(Visibility::Private)
    };
    let shown = plans.into_iter().map(|plan| {
        let is_readable = access.may_read(workspace, visibility(&plan));
        ShownPlan { plan, is_readable }
    });
    let shown: Vec<ShownPlan> = shown.collect();
    let private: BTreeSet<ChannelId> = shown
        .iter()
        .filter(|shown| shown.is_readable && visibility(&shown.plan) != Visibility::Public)
        .map(|shown| shown.plan.conversation.channel.clone())
        .collect();
    workspaces::record_look(web, access, workspace, Shown::OrdersOf(&private)).await?;
    Ok(shown)
}

requests! {
    /// `DELETE /api/plans/NUMBER`.
    in_one PlanDrop {}
    malformed_order |it, web, access, number| {
        let workspace = orders::workspace(web, access, it.workspace.as_deref()).await?;
        let plan = web.archive.plans(&workspace).await?.into_iter().find(|it| it.number == number);
        let gone = || ApiProblem::from(StoreError::Refused(RefusalReason::NoPlan));
        let id = plan.ok_or_else(gone)?.id;
        Ok(Order::ChangePlan { workspace, id, change: PlanChange::Drop }.signed(access.signature()))
    }
}
