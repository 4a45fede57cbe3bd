//! Whether a message still calls for a word from anybody, in whatever form: the features behind that score. They tell
//! what it says, how it stands to the messages before it, and what others have written since.

use crate::cues::Cues;
use crate::features::FeatureSet;
use crate::{ConversationStructure, Uptake};

/// The cues that tell a call from an answer, a joke or a goodbye.
const CUES: Cues = Cues::ASKS
    .union(Cues::QUESTION_WORD)
    .union(Cues::TO_ALL)
    .union(Cues::THANKS)
    .union(Cues::GREETING)
    .union(Cues::GOODBYE)
    .union(Cues::YES)
    .union(Cues::ACKNOWLEDGES)
    .union(Cues::FIRST_PERSON)
    .union(Cues::LAUGHS)
    .union(Cues::SHORT)
    .union(Cues::TAG)
    .union(Cues::IN_ADVANCE)
    .union(Cues::SOLVED)
    .union(Cues::JOINS)
    .union(Cues::AGAIN)
    .union(Cues::WORDLESS);

/// What was written after a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Since {
    /// The number of messages of other users.
    pub others: usize,
    /// The number of messages of its own author.
    pub own: usize,
    /// The highest probability that one of the others replies to it.
    pub replied: f32,
}

impl Since {
    pub fn new(structure: &ConversationStructure, index: usize) -> Self {
        let author = structure.utterances()[index].author;
        let mut since = Self::default();
        for (later, message) in structure.utterances().iter().enumerate().skip(index + 1) {
            if message.author == author {
                since.own += 1;
            } else if !message.is_bot {
                since.others += 1;
                since.replied = since.replied.max(structure.link(later, index));
            }
        }
        since
    }
}

/// Adds the features of the message at `index`, which has this uptake.
pub fn add_features(
    structure: &ConversationStructure,
    index: usize,
    uptake: &Uptake,
    set: &mut FeatureSet,
) {
    let utterances = structure.utterances();
    let message = &utterances[index];
    let since = Since::new(structure, index);
    set.restart(0);
    set.flag("message", true);
    let mut bucket = |name, value: f32, bounds: &[f32]| {
        set.one_of(name, bounds.len() + 1, bounds.partition_point(|bound| *bound <= value));
    };
    bucket("appeal", message.appeal, &[-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]);
    bucket("length", message.length as f32, &[3.0, 6.0, 9.0, 13.0, 20.0]);
    bucket("begins", structure.begins(index), &[0.05, 0.15, 0.3, 0.5, 0.7, 0.9]);
    bucket("directed", structure.directed(index), &[0.1, 0.3, 0.5, 0.7, 0.9]);
    bucket("open", uptake.open, &[0.05, 0.15, 0.3, 0.5, 0.8, 0.95]);
    bucket("content", uptake.content, &[0.1, 0.5]);
    bucket("replied", since.replied, &[0.1, 0.3, 0.5, 0.7, 0.9]);
    bucket("later, of others", since.others as f32, &[1.0, 2.0, 3.0, 6.0, 12.0]);
    bucket("later, own", since.own as f32, &[1.0, 2.0]);
    set.flag("addressing", message.addressee.is_some());
    set.flag("naming", !message.named.is_empty());
    let before = index.checked_sub(1).map(|before| utterances[before].author);
    set.flag("goes on", before == Some(message.author));
    set.cues("cues", message.cues.intersection(CUES));
}
