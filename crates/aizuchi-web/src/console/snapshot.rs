//! The status that `aizuchi status` shows, with what only the running program knows.

use std::collections::BTreeSet;

use aizuchi_actions::access::Access;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use futures_util::future::try_join_all;

use crate::status::{ConnectionStatus, Status, StatusReader, WorkspaceStatus};
use crate::{ApiProblem, Web, workspaces};

/// Reads the status of all workspaces, or of one, as far as this visitor may know it.
pub async fn read(
    web: &Web,
    access: &Access,
    only: Option<&WorkspaceId>,
) -> Result<Status, ApiProblem> {
    let rulebook = web.room.rulebook();
    let (zone, now) = (&web.zone, web.clock.now());
    let reader = StatusReader { archive: &*web.archive, rulebook: &rulebook, zone, now };
    let shown = workspaces::all(web).await?.into_iter();
    let read = shown.filter(|workspace| only.is_none_or(|only| only == workspace)).map(
        async |workspace| -> Result<WorkspaceStatus, ApiProblem> {
            let orders = web.store.orders(&workspace).await?;
            let connection = Some(connection(web, &workspace).await?);
            Ok(WorkspaceStatus { connection, ..reader.workspace(&workspace, &orders).await? })
        },
    );
    let status = Status {
        version: env!("CARGO_PKG_VERSION"),
        database: web.database.clone(),
        installation: web.archive.installation(),
        workspaces: try_join_all(read).await?,
        dead_letters: web.archive.backlog().await?.dead_letters,
    };
    Ok(if access.is_admin() { status } else { status.without_private_names() })
}

async fn connection(web: &Web, workspace: &WorkspaceId) -> Result<ConnectionStatus, ApiProblem> {
    let platform = web.platforms.for_workspace(workspace).ok();
    let mut progress = platform.and_then(|platform| platform.backfill_progress());
    // A platform counts the channels of all its workspaces.
    if let (AccessScope::Only(_), Some(progress)) = (&web.scope, &mut progress) {
        let shown = web.archive.channels(workspace).await?;
        let shown: BTreeSet<ChannelId> = shown.into_iter().map(|channel| channel.id).collect();
        progress.behind.retain(|id| shown.contains(id));
        progress.failing.retain(|id, _| shown.contains(id));
        progress.channels = shown.len();
    }
    Ok(ConnectionStatus {
        name: workspaces::name(web, workspace),
        platform: workspaces::platform_name(web, workspace).map(str::to_owned),
        outage: workspaces::outage(web, workspace),
        behind: progress.as_ref().map_or(0, |progress| progress.behind.len()),
        channels: progress.as_ref().map_or(0, |progress| progress.channels),
        failing: progress.as_ref().map_or(0, |progress| progress.failing.len()),
    })
}
