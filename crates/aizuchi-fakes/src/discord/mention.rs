//! Whom a line pings: what its text names, as far as its author lets it.

use twilight_model::channel::message::{AllowedMentions, MentionType};
use twilight_model::id::Id;

use crate::discord::id::{RoleId, UserId};

/// As if nothing was said about it: everything that is named.
pub fn everything() -> AllowedMentions {
    let parse = vec![MentionType::Users, MentionType::Roles, MentionType::Everyone];
    AllowedMentions { parse, replied_user: true, ..AllowedMentions::default() }
}

/// What a text names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named {
    pub users: Vec<UserId>,
    pub roles: Vec<RoleId>,
    pub everyone: bool,
}

impl Named {
    /// What of it may be pinged.
    pub fn allowed(mut self, allowed: &AllowedMentions) -> Self {
        let is_parsed = |sort| allowed.parse.contains(&sort);
        if !is_parsed(MentionType::Users) {
            self.users.retain(|user| allowed.users.contains(user));
        }
        if !is_parsed(MentionType::Roles) {
            self.roles.retain(|role| allowed.roles.contains(role));
        }
        self.everyone &= is_parsed(MentionType::Everyone);
        self
    }
}

pub fn named(text: &str) -> Named {
    let mut named = Named {
        everyone: text.contains("@everyone") || text.contains("@here"),
        ..Named::default()
    };
    for (at, _) in text.match_indices("<@") {
        let Some((inner, _)) = text[at + 2..].split_once('>') else {
            continue;
        };
        if let Some(role) = inner.strip_prefix('&') {
            push(&mut named.roles, role);
        } else {
            push(&mut named.users, inner.strip_prefix('!').unwrap_or(inner));
        }
    }
    named
}

fn push<T>(ids: &mut Vec<Id<T>>, digits: &str) {
    if let Ok(id) = digits.parse()
        && !ids.contains(&id)
    {
        ids.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_people_roles_and_everyone() {
        let found = named("<@1> and <@!2>, <@1> again, <@&3>; not <@x>, <#4> or <@5");
        assert_eq!(
            found,
            Named { users: vec![Id::new(1), Id::new(2)], roles: vec![Id::new(3)], everyone: false }
        );
        assert!(named("hey @here").everyone);
    }
}
