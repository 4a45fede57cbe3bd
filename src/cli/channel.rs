//! Finds the channel that a command names by id or name.

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_store::read_only::ReadOnlyDatabase;
use anyhow::Context as _;

/// The channel with this id or name. Fails if there is none, or more than one.
pub async fn find_one(
    database: &ReadOnlyDatabase,
    wanted: &str,
    workspace: Option<&str>,
) -> anyhow::Result<(WorkspaceId, ChannelId)> {
    let mut channels = database.find_channels(wanted).await?;
    channels.retain(|(found, _)| workspace.is_none_or(|wanted| found.as_str() == wanted));
    let ids: Vec<&str> = channels.iter().map(|(_, channel)| channel.as_str()).collect();
    anyhow::ensure!(
        channels.len() < 2,
        "{wanted:?} may be any of {}; name one of these ids",
        ids.join(", ")
    );
    let unknown = || format!("there is no channel {wanted:?} in the database");
    channels.into_iter().next().with_context(unknown)
}
