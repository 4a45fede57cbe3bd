//! The status that `aizuchi status` shows, with what only the running program knows.

use aizuchi_actions::access::Access;
use aizuchi_model::chat::WorkspaceId;
use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};

use crate::status::{ConnectionStatus, Status, StatusReader, WorkspaceStatus};
use crate::{ApiProblem, Web, workspaces};

/// The number of workspaces that are read at the same time.
const TOGETHER: usize = 4;

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
        workspaces: iter(read).buffered(TOGETHER).try_collect().await?,
        dead_letters: web.archive.backlog().await?.dead_letters,
    };
    Ok(if access.is_admin() { status } else { status.without_private_names() })
}

/// Returns the state of a workspace's connection.
pub async fn connection(
    web: &Web,
    workspace: &WorkspaceId,
) -> Result<ConnectionStatus, ApiProblem> {
    let progress = workspaces::backfill_progress(web, workspace).await?;
    Ok(ConnectionStatus {
        name: workspaces::name(web, workspace),
        platform: workspaces::platform_name(web, workspace).map(str::to_owned),
        outage: workspaces::outage(web, workspace),
        behind: progress.as_ref().map_or(0, |progress| progress.behind.len()),
        channels: progress.as_ref().map_or(0, |progress| progress.channels),
        failing: progress.as_ref().map_or(0, |progress| progress.failing.len()),
    })
}
