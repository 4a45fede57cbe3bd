//! Messages that are too many to hold in memory at once.

use std::collections::HashSet;
use std::pin::Pin;

use aizuchi_model::chat::{Message, Reaction, UserId};
use aizuchi_model::memory::MessageRef;
use futures_util::Stream;
use futures_util::stream::Peekable;

/// The maximum number of messages in a batch.
pub const MAX_BATCH_MESSAGES: usize = 1000;

#[derive(Clone, Copy, Debug)]
pub struct BatchLimits {
    pub messages: usize,
    /// The maximum total size of all texts but the last one.
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
    /// The message was not public when it was said, and stays private.
    pub was_private: bool,
}

/// What is known about all messages of a stream together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamedAuthors {
    /// The authors of the messages.
    pub authors: HashSet<UserId>,
    /// The number of messages that are left out because their authors have been forgotten.
    pub left_out: usize,
    /// The left-out messages that memories were made from.
    pub cited_left_out: HashSet<MessageRef>,
}

/// The next messages with this visibility, with their reactions. Empty if the next message has the other visibility.
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
