//! Users, and members of servers.

use std::sync::Arc;

use aizuchi_model::chat::UserId;
use serde_json::Value;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::json::{array_at, id_str, non_empty_str};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscordUser {
    pub id: UserId,
    pub name: Arc<str>,
    pub is_bot: bool,
    /// The roles on the server, if Discord sent them.
    pub roles: Option<Vec<Arc<str>>>,
}

/// A member of a server, with all roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildMember {
    pub guild: Id<GuildMarker>,
    pub user: DiscordUser,
    pub roles: Vec<Arc<str>>,
}

/// Parses a member, under the name shown on the server.
pub fn parse_member(member: &Value, guild: Id<GuildMarker>) -> Option<GuildMember> {
    let user = parse_user(&member["user"], member)?;
    let roles = array_at(member, "roles").filter_map(non_empty_str).map(Arc::from).collect();
    Some(GuildMember { guild, user, roles })
}

/// Parses a user, under the name shown to others: the nickname, the display name, or the username.
pub fn parse_user(user: &Value, member: &Value) -> Option<DiscordUser> {
    let id = id_str(&user["id"])?;
    let names = [&member["nick"], &user["global_name"], &user["username"]];
    let name = names.into_iter().find_map(non_empty_str).unwrap_or(id);
    let is_bot = user["bot"] == true || user["system"] == true;
    let roles = member["roles"].is_array();
    let roles =
        roles.then(|| array_at(member, "roles").filter_map(non_empty_str).map(Arc::from).collect());
    Some(DiscordUser {
        id: UserId::new(id),
        name: aizuchi_model::chat::to_single_line(name).into(),
        is_bot,
        roles,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn users_have_the_name_that_others_see() {
        let user = json!({"id": "3", "username": "mio_77", "global_name": "Mio"});
        let name =
            |user: &Value, member: &Value| parse_user(user, member).unwrap().name.to_string();
        assert_eq!(name(&user, &json!({"nick": "Mi\no"})), "Mi o");
        assert_eq!(name(&user, &json!({"nick": null})), "Mio");
        assert_eq!(name(&json!({"id": "3", "username": "mio_77"}), &Value::Null), "mio_77");
        assert_eq!(parse_user(&json!({}), &Value::Null), None);
    }
}
