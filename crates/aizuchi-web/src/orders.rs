//! Orders through the API (mute, stop, mode, opt-out) in any workspace, and the spending report.

use std::sync::Arc;

use aizuchi_actions::STOP_DURATION;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{ChannelId, Role, UserId, WorkspaceId};
use aizuchi_model::rules::Mode;
use aizuchi_model::texts::refusals;
use aizuchi_platform::local::controls::ConsentChange;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_platform::local::limits::MAX_MUTE_MINUTES;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::{Access, Visitor};
use crate::api::{json, known_channel};
use crate::order_journal::may_name_users;
use crate::refusal::Refusal;
use crate::views::SpendingView;
use crate::workspaces::WorkspaceParameter;
use crate::{ApiProblem, ApiResult, Web, views, workspaces};

type JsonBody<T> = Result<Json<T>, JsonRejection>;
type OrderResult = Result<StatusCode, ApiProblem>;

/// An order that is given on a page or through the API, in one workspace.
#[derive(Clone, Debug)]
pub enum OrderRequest {
    Mute {
        channel: Option<String>,
        minutes: Option<u64>,
    },
    Unmute {
        channel: Option<String>,
    },
    /// Like `stop` in the chat: the persona says nothing there for an hour.
    Stop {
        channel: String,
    },
    Mode {
        channel: String,
        mode: Option<Mode>,
    },
    /// Stop listening to a user, or listen again.
    Consent {
        user: String,
        change: ConsentChange,
    },
    /// Forget what was learned from the ledger.
    LearnAnew,
}

/// Carries out an order. In the chat, only an admin of the channel can lift an order that was given here.
pub async fn carry_out(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    command: OrderRequest,
) -> Result<(), ApiProblem> {
    if !access.may_order() {
        return Err(Refusal::NoOrders.into());
    }
    let (by, workspace) = (Role::Admin, workspace.clone());
    let known =
        async |id: String| known_channel(web, &workspace, id).await.map(|channel| channel.id);
    let known_or_all = async |id: Option<String>| match id {
        Some(id) => known(id).await.map(Some),
        None => Ok(None),
    };
    let order = match command {
        OrderRequest::Mute { channel, minutes } => {
            let until = mute_end(web, minutes)?;
            let channel = known_or_all(channel).await?;
            Order::Mute { channel, until, by, workspace: workspace.clone() }
        }
        OrderRequest::Unmute { channel } => {
            let channel = known_or_all(channel).await?;
            Order::Unmute { channel, by, workspace: workspace.clone() }
        }
        OrderRequest::Stop { channel } => {
            let channel = known(channel).await?;
            let until = web.clock.now() + STOP_DURATION;
            let workspace = workspace.clone();
            match is_muted_until(web, &workspace, &channel, until).await? {
                true => Order::NoteStop { workspace, channel, until },
                false => Order::Mute { channel: Some(channel), until, by, workspace },
            }
        }
        OrderRequest::Mode { channel, mode } => {
            Order::Mode { channel: known(channel).await?, mode, workspace: workspace.clone() }
        }
        OrderRequest::Consent { user, change } => {
            let user = known_user(web, &workspace, &user).await?;
            match change {
                ConsentChange::OptOut => Order::OptOut { workspace: workspace.clone(), user },
                ConsentChange::OptIn => Order::OptIn { workspace: workspace.clone(), user },
            }
        }
        OrderRequest::LearnAnew => Order::ForgetMoments { workspace: workspace.clone() },
    };
    Ok(apply(web, &workspace, order, access.signature()).await?)
}

/// Applies an order. Open pages of the local room show it at once.
pub async fn apply(
    web: &Web,
    workspace: &WorkspaceId,
    order: Order,
    by: Arc<str>,
) -> Result<(), StoreError> {
    match *workspace == workspace_id() {
        true => web.room.apply_order(order, by).await,
        false => web.inbox.apply_order(order.signed(by)).await,
    }
}

/// Whether a channel is muted at least until this time: a stop must not shorten a mute, and is only recorded.
async fn is_muted_until(
    web: &Web,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    until: Timestamp,
) -> Result<bool, ApiProblem> {
    Ok(web.store.orders(workspace).await?.channel_mute(channel, until).is_some())
}

/// Returns the end of a mute. Without minutes, it lasts until it is lifted.
fn mute_end(web: &Web, minutes: Option<u64>) -> Result<Timestamp, ApiProblem> {
    match minutes {
        None => Ok(Timestamp::MAX),
        Some(minutes @ 1..=MAX_MUTE_MINUTES) => {
            Ok(web.clock.now() + SignedDuration::from_mins(minutes.cast_signed()))
        }
        Some(_) => Err(Refusal::Room(LocalRoomError::InvalidMinutes).into()),
    }
}

/// Unknown fields are rejected: a misspelled `channel` must not mute every channel.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MuteBody {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    channel: Option<String>,
    minutes: Option<u64>,
}

pub async fn mute(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    body: JsonBody<MuteBody>,
) -> OrderResult {
    let body = json(body, refusals::format_of_mute)?;
    let command = OrderRequest::Mute { channel: body.channel, minutes: body.minutes };
    ordered(&web, &visitor, body.workspace, command).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnmuteBody {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    channel: Option<String>,
}

pub async fn unmute(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    body: JsonBody<UnmuteBody>,
) -> OrderResult {
    let body = json(body, refusals::format_of_unmute)?;
    ordered(&web, &visitor, body.workspace, OrderRequest::Unmute { channel: body.channel }).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopBody {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    channel: String,
}

pub async fn stop(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    body: JsonBody<StopBody>,
) -> OrderResult {
    let body = json(body, refusals::format_of_stop)?;
    ordered(&web, &visitor, body.workspace, OrderRequest::Stop { channel: body.channel }).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeBody {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    channel: String,
    /// Required; `null` restores the configured mode.
    #[serde(deserialize_with = "Option::deserialize")]
    mode: Option<Mode>,
}

pub async fn set_mode(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    body: JsonBody<ModeBody>,
) -> OrderResult {
    let body = json(body, refusals::format_of_mode)?;
    let command = OrderRequest::Mode { channel: body.channel, mode: body.mode };
    ordered(&web, &visitor, body.workspace, command).await
}

async fn ordered(
    web: &Web,
    visitor: &Visitor,
    workspace: Option<String>,
    command: OrderRequest,
) -> OrderResult {
    let workspace = workspaces::find(web, workspace.as_deref()).await?;
    carry_out(web, &visitor.access, &workspace, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptOutBody {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    user: String,
    #[serde(default)]
    undo: bool,
}

pub async fn opt_out(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    body: JsonBody<OptOutBody>,
) -> OrderResult {
    let body = json(body, refusals::format_of_opt_out)?;
    let change = if body.undo { ConsentChange::OptIn } else { ConsentChange::OptOut };
    ordered(&web, &visitor, body.workspace, OrderRequest::Consent { user: body.user, change }).await
}

/// Returns the id of the user with this id or, for visitors who may know names, of the only user with this name. Other
/// text is returned as it is.
pub async fn user_id(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    id_or_name: String,
) -> Result<String, ApiProblem> {
    if *workspace == workspace_id() || !may_name_users(access, workspace) {
        return Ok(id_or_name);
    }
    let users = web.archive.users(workspace).await?;
    if users.iter().any(|user| user.id.as_str() == id_or_name) {
        return Ok(id_or_name);
    }
    let name = id_or_name.trim_start_matches('@').to_lowercase();
    let named = users.iter().filter(|user| user.name.to_lowercase() == name);
    match &named.collect::<Vec<_>>()[..] {
        [] => Ok(id_or_name),
        [user] => Ok(user.id.to_string()),
        _ => Err(Refusal::SeveralUsers { name }.into()),
    }
}

async fn known_user(web: &Web, workspace: &WorkspaceId, id: &str) -> Result<UserId, ApiProblem> {
    if *workspace == workspace_id() {
        return Ok(UserId::new(web.room.parse_name(id).map_err(Refusal::Room)?));
    }
    let user = UserId::new(id);
    let is_known = !web.archive.some_users(workspace, &[user.clone()].into()).await?.is_empty();
    // A forgotten user who has opted out can still opt in again.
    if is_known || web.store.orders(workspace).await?.opted_out.contains(&user) {
        return Ok(user);
    }
    Err(Refusal::UnknownUser { id: id.to_owned(), workspace: workspace.clone() }.into())
}

pub async fn spending(
    State(web): State<Arc<Web>>,
    query: WorkspaceParameter,
) -> ApiResult<SpendingView> {
    let workspace = workspaces::named(&web, query).await?;
    let spendings = web.archive.spending(&workspace, web.clock.now()).await?;
    let channels = match workspace == workspace_id() {
        true => web.room.channels().await?,
        false => web.archive.channels(&workspace).await?,
    };
    Ok(Json(views::spending(&spendings, &channels, &web.room.rulebook(), &web.currency)))
}
