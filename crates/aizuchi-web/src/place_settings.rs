//! Settings of a workspace, a channel or a thread that are ordered on the pages and through the API, with the source
//! of each value. Visitors who may give orders read and change them; only admins choose a model.

use std::sync::Arc;

use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_actions::settings::unpriced_note;
use aizuchi_model::access_role::AccessRole;
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
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::actions::requests;
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::{ApiProblem, JsonResult, Web, orders, views, workspaces};

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
    /// What a budget in money does not count; absent if it counts everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
pub struct SettingView {
    /// `language`, `min_confidence`, `timing`, `announce`, `tools`, `memory`, `model` or `money_per_day`.
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
    PageLanguage(language): PageLanguage,
    query: Result<Query<SettingsQuery>, QueryRejection>,
) -> JsonResult<SettingsAnswer> {
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
    let note = unpriced_note(language, SettingKind::MoneyPerDay, &rulebook);
    Ok(Json(SettingsAnswer { settings, models: rulebook.model_choices.clone(), note }))
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

requests! {
    /// `POST /api/settings`: changes a setting of a thread, a channel, or the whole workspace. In the chat, only an admin
    /// of the channel can change what was ordered here.
    in_one SettingBody {
        /// The id of a channel; all channels if omitted.
        channel: Option<String>,
        /// The id of a thread's first message; the whole channel if omitted.
        thread: Option<String>,
        /// `language`, `min_confidence`, `timing`, `announce`, `tools`, `memory`, `model` or `money_per_day`.
        setting: String,
        /// The value, written as in the config; names of tools are separated by commas. Null clears the setting there.
        value: Option<String>,
    }
    format_of_setting |it, web, access, _| {
        let workspace = orders::workspace(web, access, it.workspace.as_deref()).await?;
        let (kind, change) = it.change().ok_or_else(malformed)?;
        if kind == SettingKind::Model && access.role() == Some(AccessRole::Operator) {
            return Err(ActionRefusal::OnlyAdminChoosesModels.into());
        }
        let choices = web.room.rulebook().model_choices.clone();
        let is_known = match &change {
            SettingChange::Set(PlaceSetting::Model(name)) => choices.contains(name),
            SettingChange::Set(_) | SettingChange::Clear(_) | SettingChange::ClearAll => true,
        };
        if !is_known || it.thread.is_some() && !kind.is_of_threads() {
            return Err(malformed());
        }
        let scope = scope(web, &workspace, it.channel, it.thread).await?;
        let (role, by, at) = (SettingRole::Admin, access.signature(), web.clock.now());
        let order = Order::ChangeSetting { workspace, scope, change, role, by: by.clone(), at };
        Ok(order.signed(by))
    }
}

impl SettingBody {
    /// Parses the change. Without a value, the setting is cleared.
    pub fn change(&self) -> Option<(SettingKind, SettingChange)> {
        let kind = SettingKind::from_name(&self.setting)?;
        let change = match self.value.as_deref().map(str::trim) {
            None => SettingChange::Clear(kind),
            Some(value) => SettingChange::Set(kind.parse(value)?),
        };
        Some((kind, change))
    }
}

fn malformed() -> ApiProblem {
    Refusal::WrongBody(refusals::format_of_setting).into()
}

async fn scope(
    web: &Web,
    workspace: &WorkspaceId,
    channel: Option<String>,
    thread: Option<String>,
) -> Result<SettingScope, ApiProblem> {
    let Some(channel) = channel else {
        return match thread {
            Some(_) => Err(malformed()),
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
