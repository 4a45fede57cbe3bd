//! The user who asks in the chat to forget an entry, and what they may do: they cannot affect entries that they
//! cannot see (invariant 9).

use jiff::Timestamp;

use crate::chat::{ChannelId, Role, UserId};
use crate::memory::{MemoryEntry, MemoryKey};

/// A user in a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    pub channel: ChannelId,
    pub role: Role,
}

impl Asker {
    /// Whether an entry of this memory may be seen in the user's channel.
    pub fn may_see(&self, key: &MemoryKey, entry: &MemoryEntry) -> bool {
        key.channel() == Some(&self.channel) || entry.is_public()
    }

    /// Whether the user may remove an entry. Pinned entries are reserved for admins.
    pub fn may_remove(&self, key: &MemoryKey, entry: &MemoryEntry) -> bool {
        self.may_see(key, entry) && (!entry.pinned || self.role == Role::Admin)
    }
}

/// Formats a user's command in the chat for the journals: their id, and when they gave the command.
pub fn sign(user: &UserId, at: Timestamp) -> String {
    format!("{} {}", user.as_str(), at.as_millisecond())
}

/// The id of the user in a journal's entry, if it names one.
pub fn signer(by: &str) -> Option<&str> {
    let (user, at) = by.rsplit_once(' ')?;
    at.parse::<i64>().ok().map(|_| user)
}

/// When the command in a journal's entry was given, if it names one. The name of a signed-in user may also end with
/// a number.
pub fn signed_at(by: &str) -> Option<Timestamp> {
    let (_, at) = by.rsplit_once(' ')?;
    Timestamp::from_millisecond(at.parse().ok()?).ok()
}

/// Whom a journal's entry names: a user by their id, or a person by the name under which they signed in.
pub fn named(by: &str) -> &str {
    signer(by).unwrap_or(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_names_the_user_of_a_command() {
        let by = sign(&UserId::new("u-dora"), Timestamp::from_second(5).unwrap());
        assert_eq!((&*by, signer(&by)), ("u-dora 5000", Some("u-dora")));
        assert_eq!(signed_at(&by), Timestamp::from_second(5).ok());
        assert_eq!((signer("olga"), signed_at("olga")), (None, None));
        assert_eq!((named(&by), named("olga")), ("u-dora", "olga"));
        assert_eq!(signer("Olga of the tea room"), None);
    }
}
