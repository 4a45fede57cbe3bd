//! A message as pages and exports show it: with its author's name and its reactions.

use std::sync::Arc;

use aizuchi_model::chat::{Message, User, Visibility};
use aizuchi_model::decision::gate::Gate;

/// A message with what the store knows about it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    pub message: Arc<Message>,
    /// The author's name, or their id if the name is unknown.
    pub author_name: Arc<str>,
    /// The channel's visibility when the message was heard, or private if the channel has turned private since.
    pub visibility: Visibility,
    pub is_deleted: bool,
    /// Whether the message was erased because of its age, not deleted by a user. `is_deleted` is set, too.
    pub is_expired: bool,
    /// Whether the message is no longer used for anything: its author has opted out, or the conversation was reset.
    pub is_withheld: bool,
    /// The gate that settled it, if no decision covers it.
    pub gate: Option<Gate>,
    /// Ordered by the first reaction with each emoji.
    pub reactions: Vec<ReactionGroup>,
    /// The revision at which the message or its reactions last changed.
    pub revision: u64,
}

/// The users who reacted to a message with one emoji, in the order of their reactions.
#[derive(Clone, Debug, PartialEq)]
pub struct ReactionGroup {
    pub emoji: Arc<str>,
    pub users: Vec<User>,
}

impl ReactionGroup {
    /// Groups reactions by emoji. They must be given oldest first.
    pub fn group(reactions: impl IntoIterator<Item = (Arc<str>, User)>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (emoji, user) in reactions {
            match groups.iter_mut().find(|group| group.emoji == emoji) {
                Some(group) => group.users.push(user),
                None => groups.push(Self { emoji, users: vec![user] }),
            }
        }
        groups
    }
}
