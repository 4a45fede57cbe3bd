//! Mentions in a text, and which of them ping.

use twilight_model::channel::message::{AllowedMentions, MentionType};
use twilight_model::id::Id;

use crate::discord::id::{RoleId, UserId};

/// Returns the default of `allowed_mentions`: every mention pings.
pub fn allow_all_mentions() -> AllowedMentions {
    let parse = vec![MentionType::Users, MentionType::Roles, MentionType::Everyone];
    AllowedMentions { parse, replied_user: true, ..AllowedMentions::default() }
}

/// The mentions in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedMentions {
    pub users: Vec<UserId>,
    pub roles: Vec<RoleId>,
    pub everyone: bool,
}

impl ParsedMentions {
    /// Keeps only the mentions that are allowed to ping.
    pub fn filter_allowed(mut self, allowed: &AllowedMentions) -> Self {
        let is_parsed = |kind| allowed.parse.contains(&kind);
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

pub fn parse_mentions(text: &str) -> ParsedMentions {
    let mut mentions = ParsedMentions {
        everyone: text.contains("@everyone") || text.contains("@here"),
        ..ParsedMentions::default()
    };
    for (at, _) in text.match_indices("<@") {
        let Some((inner, _)) = text[at + 2..].split_once('>') else {
            continue;
        };
        if let Some(role) = inner.strip_prefix('&') {
            push_id(&mut mentions.roles, role);
        } else {
            push_id(&mut mentions.users, inner.strip_prefix('!').unwrap_or(inner));
        }
    }
    mentions
}

fn push_id<T>(ids: &mut Vec<Id<T>>, digits: &str) {
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
    fn a_text_mentions_users_roles_and_everyone() {
        let mentions = parse_mentions("<@1> and <@!2>, <@1> again, <@&3>; not <@x>, <#4> or <@5");
        assert_eq!(
            mentions,
            ParsedMentions {
                users: vec![Id::new(1), Id::new(2)],
                roles: vec![Id::new(3)],
                everyone: false
            }
        );
        assert!(parse_mentions("hey @here").everyone);
    }
}
