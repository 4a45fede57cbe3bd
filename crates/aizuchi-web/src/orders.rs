//! Orders through the API (mute, stop, mode, opt-out) in any workspace, the marks with which users rate afterwards whether
//! a decision was right, and the spending report.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::command::stop_order;
use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{ChannelId, Role, UserId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::rules::Mode;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_platform::local::limits::MAX_MUTE_MINUTES;
use aizuchi_store::order::Order;
use axum::Json;
use axum::extract::State;
use jiff::{SignedDuration, Timestamp};

use crate::actions::requests;
use crate::api::known_channel;
use crate::order_journal::may_name_users;
use crate::refusal::Refusal;
use crate::room::decision;
use crate::views::SpendingView;
use crate::workspaces::WorkspaceParameter;
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

/// Returns the workspace in which a visitor may give orders.
pub async fn workspace(
    web: &Web,
    access: &Access,
    id: Option<&str>,
) -> Result<WorkspaceId, ApiProblem> {
    access.require_orders()?;
    workspaces::find(web, id).await
}

/// Returns the workspace and the channel in which a visitor may give orders. In the chat, only an admin of the channel
/// can lift an order that was given here.
async fn place(
    web: &Web,
    access: &Access,
    (id, channel): (Option<String>, String),
) -> Result<(WorkspaceId, ChannelId), ApiProblem> {
    let workspace = workspace(web, access, id.as_deref()).await?;
    let channel = known_channel(web, &workspace, channel).await?.id;
    Ok((workspace, channel))
}

/// The same; without a channel, the order is for all.
async fn place_or_all(
    web: &Web,
    access: &Access,
    (id, channel): (Option<String>, Option<String>),
) -> Result<(WorkspaceId, Option<ChannelId>), ApiProblem> {
    let Some(channel) = channel else {
        return Ok((workspace(web, access, id.as_deref()).await?, None));
    };
    let (workspace, channel) = place(web, access, (id, channel)).await?;
    Ok((workspace, Some(channel)))
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

requests! {
    /// Unknown fields are rejected: a misspelled `channel` must not mute every channel.
    in_one MuteBody { channel: Option<String>, minutes: Option<u64> }
    format_of_mute |it, web, access, _| {
        let until = mute_end(web, it.minutes)?;
        let (workspace, channel) = place_or_all(web, access, (it.workspace, it.channel)).await?;
        let order = Order::Mute { workspace, channel, until, by: Role::Admin };
        Ok(order.signed(access.signature()))
    }

    in_one UnmuteBody { channel: Option<String> }
    format_of_unmute |it, web, access, _| {
        let (workspace, channel) = place_or_all(web, access, (it.workspace, it.channel)).await?;
        Ok(Order::Unmute { workspace, channel, by: Role::Admin }.signed(access.signature()))
    }

    /// Like `stop` in the chat: the persona says nothing there for an hour.
    in_one StopBody { channel: String }
    format_of_stop |it, web, access, _| {
        let (workspace, channel) = place(web, access, (it.workspace, it.channel)).await?;
        let order = stop_order(&*web.store, (workspace, channel), web.clock.now(), Role::Admin);
        Ok(order.await?.signed(access.signature()))
    }

    in_one ModeBody {
        channel: String,
        /// Required; `null` restores the configured mode.
        #[serde(deserialize_with = "Option::deserialize")]
        mode: Option<Mode>,
    }
    format_of_mode |it, web, access, _| {
        let (workspace, channel) = place(web, access, (it.workspace, it.channel)).await?;
        Ok(Order::Mode { workspace, channel, mode: it.mode }.signed(access.signature()))
    }

    in_one OptOutBody {
        user: String,
        #[serde(default)]
        undo: bool,
    }
    format_of_opt_out |it, web, access, _| {
        let workspace = workspace(web, access, it.workspace.as_deref()).await?;
        let user = known_user(web, &workspace, &it.user).await?;
        let order = match it.undo {
            true => Order::OptIn { workspace, user },
            false => Order::OptOut { workspace, user },
        };
        Ok(order.signed(access.signature()))
    }
}

/// Returns the order to forget how welcome posts were.
pub async fn learn_anew(
    web: &Web,
    access: &Access,
    workspace: Option<String>,
) -> Result<Order, ApiProblem> {
    let workspace = self::workspace(web, access, workspace.as_deref()).await?;
    Ok(Order::ForgetMoments { workspace }.signed(access.signature()))
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
    // Otherwise the refusal would tell who is a member.
    if !web.scope.includes(workspace, None) {
        return Err(Refusal::OutOfReach.into());
    }
    let user = UserId::new(id);
    let is_known = !web.archive.some_users(workspace, &[user.clone()].into()).await?.is_empty();
    // A forgotten user who has opted out can still opt in again.
    if is_known || web.store.orders(workspace).await?.opted_out.contains(&user) {
        return Ok(user);
    }
    Err(ActionRefusal::UnknownUser { id: id.to_owned(), workspace: workspace.clone() }.into())
}

pub async fn spending(
    State(web): State<Arc<Web>>,
    query: WorkspaceParameter,
) -> JsonResult<SpendingView> {
    let workspace = workspaces::named(&web, query).await?;
    let spendings = web.archive.spending(&workspace, web.clock.now()).await?;
    let channels = match workspace == workspace_id() {
        true => web.room.channels().await?,
        false => web.archive.channels(&workspace).await?,
    };
    Ok(Json(views::spending(&spendings, &channels, &web.room.rulebook(), &web.currency)))
}

requests! {
    /// `POST /api/decisions/ID/mark`: marks a decision, or removes its mark.
    in_any MarkBody {
        /// Required; `null` removes the mark.
        #[serde(deserialize_with = "Option::deserialize")]
        mark: Option<Mark>,
    }
    format_of_mark |it, web, access, id| {
        access.require_orders()?;
        let id = DecisionId(id);
        let found = decision::find(web, id).await?.ok_or_else(decision::absent)?;
        let workspace = found.conversation.workspace;
        let named = workspaces::find_only(web, it.workspace.as_deref()).await?;
        if named.is_some_and(|named| named != workspace) {
            return Err(decision::absent());
        }
        Ok(Order::MarkDecision { workspace, id, mark: it.mark, by: access.signature() })
    }
}
