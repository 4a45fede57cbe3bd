//! What the persona owes an answer to: a message that addresses it, or its own joining of a channel.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::chat::MessageId;

/// The id of the stored message that stands for the persona's joining of a channel. There is one per channel.
const JOIN_ID: &str = "joined";

impl MessageId {
    /// Whether a stored message stands for the persona's joining of its channel.
    pub fn is_join(&self) -> bool {
        self.as_str() == JOIN_ID
    }
}

/// What an answer is owed to. It is stored as the id of a message, and ordered by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "MessageId", into = "MessageId")]
pub enum Owed {
    /// A message that addresses the persona.
    Message(MessageId),
    /// The persona's joining of the channel. The answer is the notice of what it hears there.
    Join,
}

impl Owed {
    /// Returns the message that addresses the persona, if there is one.
    pub fn message(&self) -> Option<&MessageId> {
        match self {
            Owed::Message(id) => Some(id),
            Owed::Join => None,
        }
    }

    /// Returns the id of the stored message: the one that addresses the persona, or the one that stands for its join.
    pub fn stored_id(&self) -> MessageId {
        self.clone().into()
    }

    pub fn as_str(&self) -> &str {
        match self {
            Owed::Message(id) => id.as_str(),
            Owed::Join => JOIN_ID,
        }
    }
}

impl From<MessageId> for Owed {
    /// Parses the id of a stored message.
    fn from(id: MessageId) -> Self {
        match id.is_join() {
            true => Owed::Join,
            false => Owed::Message(id),
        }
    }
}

impl From<Owed> for MessageId {
    fn from(owed: Owed) -> Self {
        match owed {
            Owed::Message(id) => id,
            Owed::Join => MessageId::new(JOIN_ID),
        }
    }
}

/// Whether a stored message is the one that is owed an answer.
impl PartialEq<MessageId> for Owed {
    fn eq(&self, id: &MessageId) -> bool {
        self.as_str() == id.as_str()
    }
}

/// The order of the ids, as in the database.
impl Ord for Owed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for Owed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Owed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stored_as_an_id() {
        let message = Owed::Message(MessageId::new("4"));
        for (stored, expected) in [("\"joined\"", Owed::Join), ("\"4\"", message)] {
            let read: Owed = serde_json::from_str(stored).unwrap();
            assert_eq!(read, expected);
            assert_eq!(serde_json::to_string(&read).unwrap(), stored);
            assert_eq!(read, read.stored_id());
        }
    }

    #[test]
    fn it_is_ordered_by_the_id() {
        let ids = ["9", "a", "joined", "k"];
        let mut owed = ["k", "joined", "a", "9"].map(|id| Owed::from(MessageId::new(id)));
        owed.sort();
        assert_eq!(owed, ids.map(MessageId::new));
    }
}
