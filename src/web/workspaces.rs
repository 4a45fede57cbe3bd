//! Which workspace and channel a request is about.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use serde_json::json;

use crate::config::http::AccessRole;
use crate::web::access::{Access, Visitor};
use crate::web::{ApiProblem, ApiResult, Web};
use aizuchi_core::chat::{Channel, ChannelId, Visibility, WorkspaceId};
use aizuchi_core::platform::local::workspace_id;
use aizuchi_core::store::{Order, PrivateRead, PrivateText, StoreError, StoredMessage};

/// All workspaces that something is known of, the local room first.
pub async fn all(web: &Web) -> Result<Vec<WorkspaceId>, StoreError> {
    let mut known: BTreeSet<WorkspaceId> = web.archive.workspaces().await?.into_iter().collect();
    for remote in &web.remotes {
        let workspace = remote.workspace();
        if !web.archive.channels(&workspace).await?.is_empty() {
            known.insert(workspace);
        }
    }
    let local = workspace_id();
    known.remove(&local);
    Ok([local].into_iter().chain(known).collect())
}

/// The workspace with this id; without one, the local room.
pub async fn find(web: &Web, workspace: Option<&str>) -> Result<WorkspaceId, ApiProblem> {
    let Some(id) = workspace.filter(|id| !id.is_empty()) else { return Ok(workspace_id()) };
    let workspace = WorkspaceId::new(id);
    let is_known = workspace == workspace_id()
        || !web.archive.channels(&workspace).await?.is_empty()
        || web.archive.workspaces().await?.contains(&workspace);
    if is_known {
        return Ok(workspace);
    }
    let sentence = format!("there is no workspace {id:?}; /api/workspaces lists them");
    Err(ApiProblem::new(StatusCode::NOT_FOUND, sentence))
}

/// Refuses a request about another workspace, where only the local room can do this.
pub fn require_local(workspace: Option<&str>) -> Result<(), ApiProblem> {
    match workspace.is_none_or(|id| id.is_empty() || workspace_id() == WorkspaceId::new(id)) {
        true => Ok(()),
        false => {
            let sentence = "only the local room can do this; other workspaces have their own apps";
            Err(ApiProblem::new(StatusCode::BAD_REQUEST, sentence))
        }
    }
}

/// A channel of a workspace.
pub async fn channel(web: &Web, workspace: &WorkspaceId, id: &str) -> Result<Channel, ApiProblem> {
    let channels = web.archive.channels(workspace).await?;
    let found = channels.into_iter().find(|channel| channel.id == ChannelId::new(id));
    found.ok_or_else(|| {
        let sentence = format!("there is no channel {id:?} in the workspace {workspace}");
        ApiProblem::new(StatusCode::NOT_FOUND, sentence)
    })
}

/// Refuses a channel whose messages the visitor may not read.
pub fn require_readable(access: &Access, channel: &Channel) -> Result<(), ApiProblem> {
    if access.may_read(&channel.workspace, channel.visibility) {
        return Ok(());
    }
    let sentence = match access {
        Access::ThisMachine => {
            "what was said in other workspaces needs a sign-in: set http.token, or use `aizuchi console link`"
        }
        Access::Public | Access::SignedIn(_) => {
            "your role does not read what was said in this channel"
        }
    };
    Err(ApiProblem::new(StatusCode::FORBIDDEN, sentence))
}

/// Records that somebody reads what was said in private. It is answered only after that.
pub async fn record_read(
    web: &Web,
    access: &Access,
    channel: (&WorkspaceId, &ChannelId),
    what: PrivateText,
) -> Result<(), ApiProblem> {
    let Some(reader) = access.reader() else { return Ok(()) };
    let (workspace, channel) = (channel.0.clone(), channel.1.clone());
    let read = PrivateRead { workspace, channel, reader: reader.clone(), what };
    web.store.order(Order::NotePrivateRead(read), web.clock.now()).await?;
    Ok(())
}

/// Records a read of these messages, if the visitor reads one of them that was said in private.
pub async fn record_messages_read(
    web: &Web,
    access: &Access,
    messages: &[StoredMessage],
) -> Result<(), ApiProblem> {
    let is_private = |stored: &&StoredMessage| {
        stored.visibility != Visibility::Public && access.may_read_message(stored)
    };
    let Some(stored) = messages.iter().find(is_private) else { return Ok(()) };
    let conversation = &stored.message.conversation;
    let place = (&conversation.workspace, &conversation.channel);
    record_read(web, access, place, PrivateText::Messages).await
}

/// `GET /api/workspaces`.
pub async fn workspaces(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
) -> ApiResult {
    let mut views = Vec::new();
    for workspace in all(&web).await? {
        let outage = outage(&web, &workspace);
        views.push(json!({
            "id": workspace,
            "platform": platform_name(&web, &workspace),
            "local": workspace == workspace_id(),
            "connected": outage.is_none(),
            "outage": outage,
        }));
    }
    Ok(Json(json!({
        "workspaces": views,
        "role": visitor.access.role().map(AccessRole::name),
    })))
}

/// Why a workspace cannot be heard now, if so.
pub fn outage(web: &Web, workspace: &WorkspaceId) -> Option<String> {
    match web.platforms.for_workspace(workspace) {
        Ok(platform) => platform.outage(),
        Err(_) => Some("it is not connected".to_owned()),
    }
}

/// As users call the platform. `None`: the local room, or one that is not connected.
pub fn platform_name(web: &Web, workspace: &WorkspaceId) -> Option<&'static str> {
    // An app may be in many workspaces, whose ids begin with its own.
    let kind = workspace.as_str().split(':').next().map(WorkspaceId::new);
    let mut remotes = web.remotes.iter();
    let remote = remotes.find(|remote| {
        let own = remote.workspace();
        own == *workspace || Some(own) == kind
    });
    remote.map(|remote| remote.account().platform)
}
