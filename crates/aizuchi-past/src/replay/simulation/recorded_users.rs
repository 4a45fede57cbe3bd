//! The users of a recorded channel, and the mentions in its texts.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_import::history::RecordedChannel;
use aizuchi_model::chat::{Mention, UserId};
use aizuchi_platform::local;

/// The users of a recorded channel, who are mentioned by name in its texts.
#[derive(Default)]
pub(super) struct RecordedUsers {
    /// By the name in lower case. `None` if several users share the name.
    ids: HashMap<String, Option<UserId>>,
    /// The names, by their first character in lower case.
    names: HashMap<char, Vec<Arc<str>>>,
}

impl RecordedUsers {
    pub(super) fn new(channel: &RecordedChannel) -> Self {
        let mut users = Self::default();
        for (author, name) in channel.rows.names() {
            let lower = name.to_lowercase();
            let Some(first) = lower.chars().next() else { continue };
            match users.ids.entry(lower) {
                Entry::Occupied(mut known) => {
                    let is_same = |id: &UserId| id.0 == *author;
                    if !known.get().as_ref().is_some_and(is_same) {
                        known.insert(None);
                    }
                }
                Entry::Vacant(new) => {
                    new.insert(Some(UserId::new(author.clone())));
                    users.names.entry(first).or_default().push(name.clone());
                }
            }
        }
        users
    }

    /// Returns the users that a text mentions, as a platform would report them.
    pub(super) fn mentions(&self, text: &str, persona: &str) -> Vec<Mention> {
        if !text.contains(['@', '＠']) {
            return Vec::new();
        }
        let marks = text.split(['@', '＠']).skip(1);
        let characters = marks.filter_map(|rest| rest.chars().next()?.to_lowercase().next());
        let characters: BTreeSet<char> = characters.collect();
        let named = characters.iter().filter_map(|character| self.names.get(character)).flatten();
        let named: Vec<Arc<str>> = named.cloned().collect();
        let mut mentions = local::mention::parse_mentions(text, persona, &named);
        for mention in &mut mentions {
            if let Mention::User(user) = mention
                && let Some(Some(id)) = self.ids.get(&user.0.to_lowercase())
            {
                *user = id.clone();
            }
        }
        mentions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aizuchi_import::history::RecordedMessage;

    #[test]
    fn a_mention_is_of_the_user_who_has_the_name() {
        let message = |author: &str, name: Option<&str>| RecordedMessage {
            channel: "den".to_owned(),
            thread: None,
            id: author.to_owned(),
            ts: 1.0,
            author: author.to_owned(),
            name: name.map(str::to_owned),
            text: String::new(),
            reply_to: Vec::new(),
            bot: false,
            opener: false,
        };
        let messages = vec![
            message("U1", Some("Mia Berg")),
            message("U2", Some("Mia")),
            message("ken", None),
            message("U3", Some("Lea")),
            message("U4", Some("lea")),
        ];
        let users = RecordedUsers::new(&RecordedChannel::from_messages("den".to_owned(), messages));
        for (text, expected) in [
            ("@mia berg do you know?", &[Mention::User(UserId::new("U1"))][..]),
            ("@Mia, @ken", &[Mention::User(UserId::new("U2")), Mention::User(UserId::new("ken"))]),
            // The name could be that of either user.
            ("@Lea", &[Mention::User(UserId::new("Lea"))]),
            ("@someone", &[Mention::User(UserId::new("someone"))]),
            ("@Aizuchi", &[Mention::Persona]),
        ] {
            assert_eq!(users.mentions(text, "Aizuchi"), expected, "{text}");
        }
    }
}
