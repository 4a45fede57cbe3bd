//! Finds the channel or the user that a command names by id or name.

use aizuchi_model::chat::{ChannelId, User, WorkspaceId, strip_control_characters, to_single_line};
use aizuchi_store::archive::Archive;
use aizuchi_store::read_only::ReadOnlyDatabase;
use anyhow::Context as _;

/// The channel with this id or name. Fails if there is none, or more than one.
pub async fn find_channel(
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

/// The user with this id or name, once for each workspace that knows the id.
pub async fn find_user(archive: &dyn Archive, id_or_name: &str) -> anyhow::Result<Vec<User>> {
    let users = archive.find_users(id_or_name).await?;
    let wanted = strip_control_characters(id_or_name);
    anyhow::ensure!(!users.is_empty(), "there is no user with the id or name \"{wanted}\"");
    anyhow::ensure!(
        users.iter().all(|other| other.id == users[0].id),
        "\"{wanted}\" may be any of {}; name one of these ids",
        users.iter().map(describe).collect::<Vec<_>>().join(", ")
    );
    Ok(users)
}

pub fn describe(user: &User) -> String {
    format!("{} ({})", to_single_line(user.id.as_str()), to_single_line(&user.name))
}
