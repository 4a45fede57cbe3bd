//! The journal of orders, and the users who have opted out.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, UserId, Visibility, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_store::order_journal::{GivenOrder, OrderJournalQuery, OrderKind};
use aizuchi_store::private_reads::{PrivateReadQuery, PrivateReads};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::Visitor;
use crate::refusal::Refusal;
use crate::views::ListedUser;
use crate::workspaces::{FilterParameter, WorkspaceParameter};
use crate::{ApiProblem, JsonResult, Web, private_reads, views, workspaces};

/// The number of orders on one page.
const PAGE: usize = 100;
/// The maximum number of reads of private channels beside a page of orders.
const MAX_READS: usize = 10_000;
/// The kind of a read of a private channel, beside the kinds of orders.
pub const READ_PRIVATE: &str = "read_private";

#[derive(Deserialize, JsonSchema)]
pub struct OrdersQuery {
    /// Only this workspace, by its id; all workspaces if omitted.
    workspace: Option<String>,
    /// Only orders of this kind; all if omitted.
    kind: Option<OrderKind>,
    /// The `older` value of a page, to get the next older one.
    before: Option<i64>,
}

/// Orders from the journal, newest first.
#[derive(Serialize, JsonSchema)]
pub struct OrdersAnswer {
    orders: Vec<OrderView>,
    /// The value of `before` for the next older page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub struct OrderView {
    number: i64,
    workspace: WorkspaceId,
    ts: f64,
    /// Who gave the order: a name from the sign-in, or from the chat a user's id and the time of their command in epoch
    /// milliseconds. Empty: this machine.
    by: Arc<str>,
    kind: OrderKind,
    /// Null: the order is not limited to a channel.
    channel: Option<ChannelId>,
    /// The user that the order is about.
    user: Option<UserId>,
    /// When a mute ends; null: it lasts until it is lifted.
    until: Option<f64>,
    /// The mode or model that was chosen, the number of a standing order, a setting with its value, or the name of a
    /// tool; what an order for several channels changed, as JSON. Null for a mode: as configured.
    value: Option<Arc<str>>,
    /// The decision of a dead letter or of a call.
    decision: Option<DecisionId>,
}

/// `GET /api/orders`: of all workspaces, or of one.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<OrdersQuery>, QueryRejection>,
) -> JsonResult<OrdersAnswer> {
    let Query(query) = query.map_err(|_| Refusal::OrderNumberNeeded)?;
    let workspace = workspaces::find_only(&web, query.workspace.as_deref()).await?;
    let (orders, older) =
        read(&web, &visitor.access, (workspace, query.kind), query.before).await?;
    Ok(Json(OrdersAnswer { orders: orders.into_iter().map(view).collect(), older }))
}

fn view(given: GivenOrder) -> OrderView {
    OrderView {
        number: given.number,
        workspace: given.workspace,
        ts: views::seconds(given.at),
        by: given.by,
        kind: given.record.kind,
        channel: given.record.channel,
        user: given.record.user,
        until: given.record.until.filter(|until| *until != Timestamp::MAX).map(views::seconds),
        value: given.record.value,
        decision: given.record.decision,
    }
}

/// `GET /api/orders/export`: the orders and the reads of private channels together.
pub async fn export(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    filter: FilterParameter,
) -> Result<Response, ApiProblem> {
    require_orders(&visitor.access)?;
    let workspace = workspaces::only(&web, filter).await?;
    let (mut rows, mut before) = (Vec::new(), None);
    loop {
        let filter = (workspace.clone(), None);
        let (orders, older) = read(&web, &visitor.access, filter, before).await?;
        rows.extend(orders.into_iter().map(|given| (given.at, json!(view(given)))));
        before = older;
        if before.is_none() {
            break;
        }
    }
    let mut before = None;
    while visitor.access.is_admin() {
        let page = private_reads::page(&web, workspace.clone(), before).await?;
        rows.extend(page.reads.iter().map(|read| {
            let mut row = json!(private_reads::view(read));
            row["kind"] = json!(READ_PRIVATE);
            (read.at, row)
        }));
        before = page.older;
        if before.is_none() {
            break;
        }
    }
    rows.sort_by_key(|(at, _)| Reverse(*at));
    let lines: String = rows.into_iter().map(|(_, row)| format!("{row}\n")).collect();
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"orders.jsonl\""),
    ];
    Ok((headers, lines).into_response())
}

/// Returns what was read of private channels before the order `before` was given, since a time.
pub async fn reads_among(
    web: &Web,
    workspace: Option<WorkspaceId>,
    since: Option<Timestamp>,
    before: Option<i64>,
) -> Result<Vec<PrivateReads>, ApiProblem> {
    let mut until = None;
    if let Some(number) = before {
        let (kind, before) = (None, Some(number.saturating_add(1)));
        let query = OrderJournalQuery { workspace: workspace.clone(), kind, before, limit: 1 };
        until = web.archive.order_journal(&query).await?.pop().map(|last| last.at);
    }
    let query = PrivateReadQuery { workspace, before: until, limit: MAX_READS };
    let mut reads = web.archive.private_reads(&query).await?;
    reads.retain(|read| since.is_none_or(|since| read.at >= since));
    Ok(reads)
}

/// Returns the newest orders of a workspace and of a kind before one of them, and the cursor of the next older page. Only
/// visitors who may give orders read them.
pub async fn read(
    web: &Web,
    access: &Access,
    (workspace, kind): (Option<WorkspaceId>, Option<OrderKind>),
    before: Option<i64>,
) -> Result<(Vec<GivenOrder>, Option<i64>), ApiProblem> {
    require_orders(access)?;
    // Fetch one more, to learn whether there is a page before this one.
    let query = OrderJournalQuery { workspace, kind, before, limit: PAGE + 1 };
    let mut orders = web.archive.order_journal(&query).await?;
    let is_full = orders.len() > PAGE;
    orders.truncate(PAGE);
    let older = orders.last().filter(|_| is_full).map(|given| given.number);
    Ok((orders, older))
}

/// The users who have opted out, by id. Visitors who may not read public channels see ids in place of names.
#[derive(Serialize, JsonSchema)]
pub struct OptOutsAnswer {
    opted_out: Vec<ListedUser>,
}

/// `GET /api/opt-outs`.
pub async fn opt_outs(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: WorkspaceParameter,
) -> JsonResult<OptOutsAnswer> {
    let workspace = workspaces::named(&web, query).await?;
    let opted_out = opted_out(&web, &visitor.access, &workspace).await?;
    let ids = opted_out.iter().cloned().collect();
    let names = user_names(&web, &visitor.access, &workspace, &ids).await?;
    let listed = |id: UserId| {
        let name = names.get(&id).cloned().unwrap_or_else(|| id.to_string().into());
        ListedUser { id: Some(id.to_string()), name, bot: None }
    };
    Ok(Json(OptOutsAnswer { opted_out: opted_out.into_iter().map(listed).collect() }))
}

/// Returns the users who have opted out. Only visitors who may give orders read them.
pub async fn opted_out(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
) -> Result<Vec<UserId>, ApiProblem> {
    require_orders(access)?;
    Ok(web.store.orders(workspace).await?.opted_out)
}

/// Returns the names of these users, as far as they are known and the visitor may know them.
pub async fn user_names(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    ids: &BTreeSet<UserId>,
) -> Result<HashMap<UserId, Arc<str>>, ApiProblem> {
    if ids.is_empty() || !may_name_users(access, workspace) {
        return Ok(HashMap::new());
    }
    let users = web.archive.some_users(workspace, ids).await?.into_iter();
    Ok(users.map(|user| (user.id, user.name)).collect())
}

/// Whether a visitor may learn who the users of a workspace are.
pub fn may_name_users(access: &Access, workspace: &WorkspaceId) -> bool {
    access.may_read(workspace, Visibility::Public)
}

fn require_orders(access: &Access) -> Result<(), ApiProblem> {
    match access.may_order() {
        true => Ok(()),
        false => Err(Refusal::OrdersWithheld.into()),
    }
}
