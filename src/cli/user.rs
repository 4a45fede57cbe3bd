//! Finds the user whom a command names by id or name.

use aizuchi_model::chat::{User, strip_control_characters, to_single_line};
use aizuchi_store::archive::Archive;

/// The user with this id or name, once for each workspace that knows the id.
pub async fn find_one(archive: &dyn Archive, id_or_name: &str) -> anyhow::Result<Vec<User>> {
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
