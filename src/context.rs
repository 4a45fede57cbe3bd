//! What a decision is made from: a conversation's newest lines and who is in it, read in one go.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::chat::{AuthorKind, ConversationId, Message, MessageId, UserId};

/// How many of a conversation's newest lines are read.
pub const MESSAGE_LIMIT: usize = 50;

/// Stands for "what there is to judge": two equal hashes need only one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateHash(pub i64);

/// What the judge's verdict leaves for the reply.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Motive {
    pub reason: String,
    /// The line that would be answered.
    pub about: Option<MessageId>,
}

#[derive(Clone, Debug)]
pub struct Context {
    pub conversation: ConversationId,
    pub channel_name: Arc<str>,
    /// Oldest first, without deleted lines; a thread begins with its parent. Lines that are owed an
    /// answer are among them, however old.
    pub messages: Vec<Arc<Message>>,
    /// The names of everyone who wrote or is mentioned, as far as they are known.
    pub names: BTreeMap<UserId, Arc<str>>,
    /// Lines by people who are still owed an answer, oldest first.
    pub owed: Vec<MessageId>,
    /// The state that was judged last in this conversation, if the verdict was silence.
    pub silent_state: Option<StateHash>,
    /// Why the judge wants to join in, if it has said so for the open decision.
    pub motive: Option<Motive>,
    /// The revision that the newest human line came with.
    pub newest_heard: u64,
    /// The store's revision when this was read: whatever is newer has not been seen.
    pub revision: u64,
}

impl Context {
    /// Hashes ids and edit versions of the lines, the persona's own included; not time.
    pub fn state(&self) -> StateHash {
        let mut hash = Sha256::new();
        for message in &self.messages {
            hash.update(message.id.as_str());
            hash.update([0]);
            hash.update(message.edits.to_le_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        StateHash(i64::from_le_bytes(first))
    }

    pub fn newest_human(&self) -> Option<&Arc<Message>> {
        self.messages.iter().rev().find(|message| message.author.kind == AuthorKind::Human)
    }

    pub fn message(&self, id: &MessageId) -> Option<&Arc<Message>> {
        self.messages.iter().find(|message| message.id == *id)
    }

    /// The name people see, or the id where none is known.
    pub fn name<'a>(&'a self, user: &'a UserId) -> &'a str {
        self.names.get(user).map_or(user.as_str(), |name| name)
    }
}

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
