//! Messages that are too many to be held at once.

use std::collections::HashSet;
use std::iter::Peekable;

use aizuchi_core::chat::{Message, Reaction, UserId};
use aizuchi_core::memory::MessageRef;

/// How many messages are held at once, at most …
pub const MAX_BATCH_MESSAGES: usize = 1000;
/// … and as many letters of theirs, in bytes; one message may have more.
const MAX_BATCH_BYTES: usize = 8 << 20;

/// A message of a stream. Its id is the platform's own.
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
pub fn next_batch(
    streamed: &mut Peekable<impl Iterator<Item = anyhow::Result<StreamedMessage>>>,
    was_private: bool,
) -> anyhow::Result<(Vec<Message>, Vec<Reaction>)> {
    let is_next = |next: &anyhow::Result<StreamedMessage>| match next {
        Ok(next) => next.was_private == was_private,
        Err(_) => true,
    };
    let (mut messages, mut reactions, mut bytes) = (Vec::new(), Vec::new(), 0);
    while messages.len() < MAX_BATCH_MESSAGES && bytes < MAX_BATCH_BYTES {
        let Some(next) = streamed.next_if(is_next) else { break };
        let next = next?;
        bytes += next.message.text.len();
        messages.push(next.message);
        reactions.extend(next.reactions);
    }
    Ok((messages, reactions))
}
