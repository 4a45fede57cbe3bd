//! Standing orders on the pages and through the API. Visitors who may give orders see which orders apply where; the
//! text of an order for a channel is shown to those who may read the channel.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_model::chat::{ChannelId, MessageId, Visibility, WorkspaceId};
use aizuchi_model::standing_order::{
    DraftTarget, MAX_LENGTH, StandingOrder, StandingOrderScope, StandingOrderText,
};
use aizuchi_model::texts::refusals;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_store::order::Order;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::actions::requests;
use crate::refusal::Refusal;
use crate::workspaces::Shown;
use crate::{ApiProblem, JsonResult, Web, orders, views, workspaces};

#[derive(Deserialize, JsonSchema)]
pub struct StandingOrdersQuery {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    /// Only orders that apply in this channel, by its id, or in one of its threads.
    channel: Option<String>,
    /// Whether to also return orders that are no longer in force.
    #[serde(default)]
    all: bool,
}

/// Standing orders, by number and version.
#[derive(Serialize, JsonSchema)]
pub struct StandingOrdersAnswer {
    standing_orders: Vec<StandingOrderView>,
}

#[derive(Serialize, JsonSchema)]
pub struct StandingOrderView {
    number: i64,
    version: i64,
    /// Null: the order applies in the whole workspace.
    channel: Option<ChannelId>,
    /// Null: the order applies in the whole channel.
    thread: Option<MessageId>,
    /// Null: the order was given for a channel that the visitor may not read.
    text: Option<String>,
    /// Who gave the order: a name from the sign-in, or from the chat a user's id and the time of their command in epoch
    /// milliseconds. Empty: this machine.
    by: Arc<str>,
    ts: f64,
    /// When the version was revoked or replaced. Null: it is in force, or a draft.
    ended: Option<f64>,
    /// Whether this is a draft, which is not followed until it is kept.
    draft: bool,
}

/// An order, and whether the visitor may read it.
pub struct ShownStandingOrder {
    pub order: StandingOrder,
    pub is_readable: bool,
}

/// `GET /api/standing-orders`.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<StandingOrdersQuery>, QueryRejection>,
) -> JsonResult<StandingOrdersAnswer> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let workspace = workspaces::find(&web, query.workspace.as_deref()).await?;
    if !visitor.access.may_order() {
        return Err(Refusal::OrdersWithheld.into());
    }
    let channel = match query.channel {
        Some(id) => Some(workspaces::channel(&web, &workspace, &id).await?.id),
        None => None,
    };
    let mut shown = read(&web, &visitor.access, &workspace, channel.as_ref()).await?;
    shown.retain(|shown| query.all || shown.order.ended.is_none());
    Ok(Json(StandingOrdersAnswer { standing_orders: shown.into_iter().map(view).collect() }))
}

fn view(ShownStandingOrder { order, is_readable }: ShownStandingOrder) -> StandingOrderView {
    let thread = match &order.scope {
        StandingOrderScope::Workspace | StandingOrderScope::Channel(_) => None,
        StandingOrderScope::Thread(_, thread) => Some(thread.clone()),
    };
    StandingOrderView {
        number: order.number,
        version: order.version,
        channel: order.scope.channel().cloned(),
        thread,
        text: is_readable.then(|| order.text.as_str().to_owned()),
        by: order.by,
        ts: views::seconds(order.given),
        ended: order.ended.map(views::seconds),
        draft: order.is_draft,
    }
}

/// Returns the orders of a workspace, or those that apply in a channel or one of its threads, in all versions. Reads
/// of private ones are recorded.
pub async fn read(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    channel: Option<&ChannelId>,
) -> Result<Vec<ShownStandingOrder>, ApiProblem> {
    let channels = web.archive.channels(workspace).await?;
    let visibilities: BTreeMap<ChannelId, Visibility> =
        channels.into_iter().map(|channel| (channel.id, channel.visibility)).collect();
    let visibility = |order: &StandingOrder| match order.scope.channel() {
        // An order for all channels was given in public.
        None => Visibility::Public,
        Some(channel) => {
            let now = visibilities.get(channel).copied().unwrap_or(Visibility::Private);
            order.visibility_in(now)
        }
    };
    let holds_there = |order: &StandingOrder| {
        let own = order.scope.channel();
        channel.is_none_or(|wanted| own.is_none_or(|own| own == wanted))
    };
    let orders = web.archive.standing_orders(workspace).await?.into_iter().filter(holds_there);
    let shown: Vec<ShownStandingOrder> = orders
        .map(|order| {
            let is_readable = access.may_read(workspace, visibility(&order));
            ShownStandingOrder { order, is_readable }
        })
        .collect();
    let private = shown
        .iter()
        .filter(|shown| shown.is_readable && visibility(&shown.order) != Visibility::Public);
    let private: BTreeSet<ChannelId> =
        private.filter_map(|shown| shown.order.scope.channel().cloned()).collect();
    workspaces::record_look(web, access, workspace, Shown::OrdersOf(&private)).await?;
    Ok(shown)
}

requests! {
    /// Unknown fields are rejected: a misspelled `channel` must not give an order for all channels.
    in_one StandingOrderBody {
        /// The id of a channel; all channels if omitted.
        channel: Option<String>,
        /// The id of a thread's first message; the whole channel if omitted.
        thread: Option<String>,
        /// The number of an order whose text is replaced; it keeps its channel and thread.
        number: Option<i64>,
        text: String,
        /// Whether to give the order as a draft, which is not followed until it is kept.
        #[serde(default)]
        draft: bool,
    }
    format_of_standing_order |it, web, access, _| {
        let workspace = orders::workspace(web, access, it.workspace.as_deref()).await?;
        let target = match (it.number, it.channel, it.thread) {
            (Some(number), None, None) => {
                place(web, access, (it.workspace.as_deref(), number)).await?;
                DraftTarget::Change(number)
            }
            (None, channel, thread) if channel.is_some() || thread.is_none() => {
                DraftTarget::New(scope(web, &workspace, channel, thread).await?)
            }
            _ => return Err(Refusal::WrongBody(refusals::format_of_standing_order).into()),
        };
        let (text, by) = (parse(&it.text)?, access.signature());
        let order = match (target, by.clone()) {
            (target, by) if it.draft => Order::DraftStandingOrder { workspace, target, text, by },
            (DraftTarget::New(scope), by) => Order::GiveStandingOrder { workspace, scope, text, by },
            (DraftTarget::Change(number), by) => {
                Order::ChangeStandingOrder { workspace, number, text, by }
            }
        };
        Ok(order.signed(by))
    }
    /// `POST /api/standing-orders/NUMBER/keep`.
    in_one DraftKeep {}
    malformed_order |it, web, access, number| {
        let workspace = place(web, access, (it.workspace.as_deref(), number)).await?;
        Ok(Order::KeepStandingOrder { workspace, number }.signed(access.signature()))
    }

    /// `DELETE /api/standing-orders/NUMBER`: deletes the order, and its draft if it has one.
    in_one StandingOrderDrop {}
    malformed_order |it, web, access, number| {
        let workspace = place(web, access, (it.workspace.as_deref(), number)).await?;
        Ok(Order::DropStandingOrder { workspace, number }.signed(access.signature()))
    }
}

/// Returns the workspace of an order or a draft with this number, if the visitor reaches it. Only for those who are limited
/// to places it is looked up: the store refuses unknown numbers.
async fn place(
    web: &Web,
    access: &Access,
    (workspace, number): (Option<&str>, i64),
) -> Result<WorkspaceId, ApiProblem> {
    let workspace = orders::workspace(web, access, workspace).await?;
    let is_known = web.scope.includes(&workspace, None)
        || web.archive.standing_orders(&workspace).await?.iter().any(|it| it.number == number);
    if is_known { Ok(workspace) } else { Err(Refusal::OutOfReach.into()) }
}

/// Returns the order to discard a draft.
pub async fn discard(
    web: &Web,
    access: &Access,
    workspace: Option<String>,
    number: i64,
) -> Result<Order, ApiProblem> {
    let workspace = place(web, access, (workspace.as_deref(), number)).await?;
    Ok(Order::DropOrderDraft { workspace, number }.signed(access.signature()))
}

pub fn parse(text: &str) -> Result<StandingOrderText, ApiProblem> {
    let problem = |_| ActionRefusal::StandingOrderLength { most: MAX_LENGTH };
    Ok(StandingOrderText::parse(text).map_err(problem)?)
}

async fn scope(
    web: &Web,
    workspace: &WorkspaceId,
    channel: Option<String>,
    thread: Option<String>,
) -> Result<StandingOrderScope, ApiProblem> {
    let Some(channel) = channel else { return Ok(StandingOrderScope::Workspace) };
    let channel = workspaces::channel(web, workspace, &channel).await?.id;
    let Some(thread) = thread else { return Ok(StandingOrderScope::Channel(channel)) };
    let parent = MessageId::new(thread.as_str());
    match workspaces::has_thread(web, workspace, &channel, &parent).await? {
        true => Ok(StandingOrderScope::Thread(channel, parent)),
        false => Err(Refusal::Room(LocalRoomError::UnknownThread(thread)).into()),
    }
}
