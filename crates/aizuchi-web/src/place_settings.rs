//! Settings of a workspace, a channel or a thread that are ordered on the pages and through the API, with the source
//! of each value. Visitors who may give orders read and change them; only admins choose a model.

use std::sync::Arc;

use aizuchi_config::http::AccessRole;
use aizuchi_model::chat::{MessageId, WorkspaceId};
use aizuchi_model::rules::Rulebook;
use aizuchi_model::rules::place::{ConfiguredPlace, Place, SettingSource};
use aizuchi_model::rules::setting_override::{
    PlaceSetting, SettingChange, SettingKind, SettingOverride, SettingRole, SettingScope,
};
use aizuchi_model::texts::refusals;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_store::order::Order;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, Visitor};
use crate::api::json;
use crate::refusal::Refusal;
use crate::{ApiProblem, ApiResult, Web, views, workspaces};

#[derive(Deserialize, JsonSchema)]
pub struct SettingsQuery {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    /// The id of a channel.
    channel: String,
    /// The id of a thread's first message; the whole channel if omitted.
    thread: Option<String>,
}

/// The settings in force in a channel or a thread.
#[derive(Serialize, JsonSchema)]
pub struct SettingsAnswer {
    settings: Vec<SettingView>,
    /// The models that can be chosen.
    models: Vec<Arc<str>>,
}

#[derive(Serialize, JsonSchema)]
pub struct SettingView {
    /// `language`, `min_confidence`, `timing`, `announce`, `tools`, `memory` or `model`.
    setting: &'static str,
    /// The value in force, written as in the config. Null: as everywhere.
    value: Option<String>,
    /// The configured value, which applies where nothing is ordered.
    configured: Option<String>,
    /// Whether the value was ordered; otherwise it is configured.
    ordered: bool,
    /// Where the value was ordered, or the narrowest place for which it is configured: `thread`, `channel`, `workspace`
    /// or `everywhere`.
    place: &'static str,
    /// Who ordered the value: a name from the sign-in, or from the chat a user's id and the time of their command in
    /// epoch milliseconds. Empty: this machine. Null if it was not ordered.
    by: Option<Arc<str>>,
    ts: Option<f64>,
}

/// `GET /api/settings`.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<SettingsQuery>, QueryRejection>,
) -> ApiResult<SettingsAnswer> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let workspace = workspaces::find(&web, query.workspace.as_deref()).await?;
    if !visitor.access.may_order() {
        return Err(Refusal::OrdersWithheld.into());
    }
    let channel = workspaces::channel(&web, &workspace, &query.channel).await?;
    let thread = query.thread.map(MessageId::new);
    let place = Place { thread: thread.as_ref(), ..Place::of_channel(&channel) };
    let rulebook = web.room.rulebook();
    let settings = SettingKind::all().map(|kind| view(&rulebook, &place, kind)).collect();
    Ok(Json(SettingsAnswer { settings, models: rulebook.model_choices.clone() }))
}

fn view(rulebook: &Rulebook, place: &Place<'_>, kind: SettingKind) -> SettingView {
    let told = |value: Option<PlaceSetting>| value.map(|value| value.to_string());
    let source = rulebook.source_in(place, kind);
    let order = match source {
        SettingSource::Ordered(order) => Some(order),
        SettingSource::Configured(_) => None,
    };
    SettingView {
        setting: kind.name(),
        value: told(kind.value_in(rulebook.rules_in(place))),
        configured: told(kind.value_in(rulebook.configured_rules_in(place))),
        ordered: order.is_some(),
        place: place_name(source),
        by: order.map(|order| order.by.clone()),
        ts: order.map(|order| views::seconds(order.at)),
    }
}

fn place_name(source: SettingSource<'_>) -> &'static str {
    match source {
        SettingSource::Ordered(SettingOverride { scope: SettingScope::Thread(..), .. })
        | SettingSource::Configured(ConfiguredPlace::Thread) => "thread",
        SettingSource::Ordered(SettingOverride { scope: SettingScope::Channel(_), .. })
        | SettingSource::Configured(ConfiguredPlace::Channel) => "channel",
        SettingSource::Ordered(SettingOverride { scope: SettingScope::Workspace, .. })
        | SettingSource::Configured(ConfiguredPlace::Workspace) => "workspace",
        SettingSource::Configured(ConfiguredPlace::Everywhere) => "everywhere",
    }
}

/// Unknown fields are rejected: a misspelled `channel` must not change all channels.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingBody {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    /// The id of a channel; all channels if omitted.
    channel: Option<String>,
    /// The id of a thread's first message; the whole channel if omitted.
    thread: Option<String>,
    /// `language`, `min_confidence`, `timing`, `announce`, `tools`, `memory` or `model`.
    setting: String,
    /// The value, written as in the config; names of tools are separated by commas. Null clears the setting there.
    value: Option<String>,
}

/// `POST /api/settings`.
pub async fn change(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    body: Result<Json<SettingBody>, JsonRejection>,
) -> Result<StatusCode, ApiProblem> {
    let body = json(body, refusals::format_of_setting)?;
    let workspace = workspaces::find(&web, body.workspace.as_deref()).await?;
    let change = parse(&body.setting, body.value.as_deref());
    let change = change.ok_or(Refusal::WrongBody(refusals::format_of_setting))?;
    carry_out(&web, &visitor.access, workspace, (body.channel, body.thread), change).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Parses a change to this value. Without a value, the setting is cleared.
pub fn parse(setting: &str, value: Option<&str>) -> Option<SettingChange> {
    let kind = SettingKind::from_name(setting)?;
    match value.map(str::trim) {
        None => Some(SettingChange::Clear(kind)),
        Some(value) => kind.parse(value).map(SettingChange::Set),
    }
}

/// Changes a setting of a thread, a channel, or the whole workspace. In the chat, only an admin of the channel can
/// change what was ordered here.
pub async fn carry_out(
    web: &Web,
    access: &Access,
    workspace: WorkspaceId,
    (channel, thread): (Option<String>, Option<String>),
    change: SettingChange,
) -> Result<(), ApiProblem> {
    if !access.may_order() {
        return Err(Refusal::NoOrders.into());
    }
    let (kind, model) = match &change {
        SettingChange::Set(setting @ PlaceSetting::Model(name)) => (setting.kind(), Some(name)),
        SettingChange::Set(setting) => (setting.kind(), None),
        SettingChange::Clear(kind) => (*kind, None),
        SettingChange::ClearAll => {
            return Err(Refusal::WrongBody(refusals::format_of_setting).into());
        }
    };
    if kind == SettingKind::Model && access.role() == Some(AccessRole::Operator) {
        return Err(Refusal::OnlyAdminChoosesModels.into());
    }
    let is_known = model.is_none_or(|name| web.room.rulebook().model_choices.contains(name));
    let is_of_thread = thread.is_some();
    if !is_known || is_of_thread && !kind.is_of_threads() {
        return Err(Refusal::WrongBody(refusals::format_of_setting).into());
    }
    let scope = scope(web, &workspace, channel, thread).await?;
    let by = access.signature();
    let (role, at) = (SettingRole::Admin, web.clock.now());
    let order = Order::ChangeSetting { workspace, scope, change, role, by: by.clone(), at };
    Ok(web.inbox.apply_order(order.signed(by)).await?)
}

async fn scope(
    web: &Web,
    workspace: &WorkspaceId,
    channel: Option<String>,
    thread: Option<String>,
) -> Result<SettingScope, ApiProblem> {
    let Some(channel) = channel else {
        return match thread {
            Some(_) => Err(Refusal::WrongBody(refusals::format_of_setting).into()),
            None => Ok(SettingScope::Workspace),
        };
    };
    let channel = workspaces::channel(web, workspace, &channel).await?.id;
    let Some(thread) = thread else { return Ok(SettingScope::Channel(channel)) };
    let parent = MessageId::new(thread.as_str());
    let is_known = workspaces::has_thread(web, workspace, &channel, &parent).await?;
    let scope = SettingScope::Thread(channel, parent);
    match is_known || is_set(web, workspace, &scope) {
        true => Ok(scope),
        false => Err(Refusal::Room(LocalRoomError::UnknownThread(thread)).into()),
    }
}

/// Whether any setting was ordered there.
fn is_set(web: &Web, workspace: &WorkspaceId, scope: &SettingScope) -> bool {
    let rulebook = web.room.rulebook();
    let ordered = rulebook.ordered.get(workspace);
    ordered.is_some_and(|orders| orders.iter().any(|order| order.scope == *scope))
}
