//! A message as pages and export show it: with its author's name and its reactions.

use std::sync::Arc;

use crate::chat::{Message, User, Visibility};
use crate::decision::gate::Gate;

/// A message with what the store knows about it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    pub message: Arc<Message>,
    /// The author's name, or their id where no name is known.
    pub author_name: Arc<str>,
    /// The channel's visibility when the message was heard, or since a channel turned private.
    pub visibility: Visibility,
    pub is_deleted: bool,
    /// It was not deleted by anybody, but erased because it was too old. Then it is deleted, too.
    pub is_expired: bool,
    /// It is read for nothing any more: its author has opted out, or the conversation was reset.
    pub is_withheld: bool,
    /// The gate that settled it, if no decision covers it.
    pub gate: Option<Gate>,
    /// In the order of their first reaction.
    pub reactions: Vec<ReactionGroup>,
    /// The revision at which the message or its reactions last changed.
    pub revision: u64,
}

/// Everyone who reacted to a message with one emoji, in the order of their reactions.
#[derive(Clone, Debug, PartialEq)]
pub struct ReactionGroup {
    pub emoji: Arc<str>,
    pub users: Vec<User>,
}

impl ReactionGroup {
    /// Groups reactions, which are given oldest first, by emoji.
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
