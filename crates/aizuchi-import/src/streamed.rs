//! Messages that are too many to be held at once.

use std::collections::HashSet;
use std::pin::Pin;

use futures_util::Stream;
use futures_util::stream::Peekable;

use aizuchi_core::chat::{Message, Reaction, UserId};
use aizuchi_core::memory::MessageRef;

/// How many messages are held at once, at most.
pub const MAX_BATCH_MESSAGES: usize = 1000;

/// How much is heard at once.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimits {
    pub messages: usize,
    /// What the texts have together, but for the last one.
    pub bytes: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { messages: MAX_BATCH_MESSAGES, bytes: 8 << 20 }
    }
}

/// A message of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamedMessage {
    pub message: Message,
    pub reactions: Vec<Reaction>,
    /// It was not public when it was said, and stays private.
    pub was_private: bool,
}

/// What is known of all messages of a stream together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamedPeople {
    /// Who wrote them.
    pub authors: HashSet<UserId>,
    /// How many are not among them, because their authors were forgotten since.
    pub left_out: usize,
    /// Those of the left out that memories were made from.
    pub cited_left_out: HashSet<MessageRef>,
}

/// The next messages of this kind, with the reactions to them; none if what comes next is of the other kind.
pub async fn next_batch(
    mut streamed: Pin<&mut Peekable<impl Stream<Item = anyhow::Result<StreamedMessage>>>>,
    was_private: bool,
    limits: BatchLimits,
) -> anyhow::Result<(Vec<Message>, Vec<Reaction>)> {
    let is_next = |next: &anyhow::Result<StreamedMessage>| match next {
        Ok(next) => next.was_private == was_private,
        Err(_) => true,
    };
    let (mut messages, mut reactions, mut bytes) = (Vec::new(), Vec::new(), 0);
    while messages.len() < limits.messages && bytes < limits.bytes {
        let Some(next) = streamed.as_mut().next_if(is_next).await else { break };
        let next = next?;
        bytes += next.message.text.len();
        messages.push(next.message);
        reactions.extend(next.reactions);
    }
    Ok((messages, reactions))
}
