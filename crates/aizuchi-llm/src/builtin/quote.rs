//! Something that was said and that the built-in mind may quote.

use std::sync::Arc;

use aizuchi_model::chat::Message;
use aizuchi_model::context::Context;
use aizuchi_structure::cues::Cues;
use jiff::SignedDuration;

use crate::builtin::matching::{holds_any, normalize};

/// The probability from which a message counts as a reply to another one.
const REPLIES: f32 = 0.4;
/// The next writer within this time most probably answers.
const NEXT: SignedDuration = SignedDuration::from_mins(10);

/// Something that was said.
#[derive(Clone, Debug)]
pub struct Quote<'a> {
    pub message: &'a Message,
    pub speaker: String,
    /// The name of its channel, if it was said in another one.
    pub channel: Option<String>,
    /// What to quote: the text, or what the mind was asked to keep.
    pub text: String,
    pub kind: QuoteKind,
    /// The question that it answers, if any. An answer such as "at two" rarely repeats the words of its question.
    pub question: Option<Arc<str>>,
}

/// To whom something was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuoteKind {
    /// To other users.
    Said,
    /// To the mind.
    Told,
    /// To the mind, with the request to keep it.
    Kept,
}

/// Whether a text is about something of its author's: "my bike is blue", 「私の誕生日」.
pub fn speaks_of_own(text: &str) -> bool {
    const WORDS: [&str; 9] =
        ["my", "mine", "am i", "do i", "私の", "わたしの", "僕の", "ぼくの", "俺の"];
    holds_any(&normalize(text), &WORDS)
}

/// Whether a text is about its author: "My bike is blue", 「私はエビが苦手」.
pub fn speaks_of_its_author(text: &str) -> bool {
    const WORDS: [&str; 15] = [
        "i", "i'm", "im", "i've", "i'd", "i'll", "my", "mine", "私は", "私の", "私が", "わたし",
        "僕", "ぼく", "俺",
    ];
    holds_any(&normalize(text), &WORDS)
}

/// Whether a message most probably replies to another one.
pub fn replies(message: &Message, parent: &Message, context: &Context) -> bool {
    let links = context.links.get(&message.id);
    let link = links.and_then(|links| links.parents.get(&parent.id));
    link.is_some_and(|probability| *probability >= REPLIES)
}

/// Whether a message may reply to another one. A message that begins something else right after a question does not
/// answer it.
fn may_reply(message: &Message, parent: &Message, context: &Context) -> bool {
    const HARDLY: f32 = 0.1;
    let links = context.links.get(&message.id);
    links.is_none_or(|links| links.parents.get(&parent.id).is_some_and(|it| *it >= HARDLY))
}

/// The question of another user that a message answers: one that it replies to, or one right before it. `humans` are
/// all messages by human users, oldest first.
pub fn answered_question(
    message: &Message,
    humans: &[&Arc<Message>],
    context: &Context,
) -> Option<Arc<str>> {
    let cues = Cues::from_text(&message.text);
    let tells_nothing = Cues::ASKS | Cues::JOINS | Cues::THANKS | Cues::WORDLESS | Cues::AGAIN;
    if cues.intersects(tells_nothing) {
        return None;
    }
    let is_answered =
        |question: &&Arc<Message>| question.author.id != message.author.id && asks(&question.text);
    let earlier = || {
        let earlier = humans.iter().rev().filter(|other| {
            other.conversation == message.conversation
                && other.id != message.id
                && other.at <= message.at
        });
        earlier.copied()
    };
    let parent = earlier().find(|other| replies(message, other, context));
    let is_next = |previous: &&Arc<Message>| {
        message.at.duration_since(previous.at) <= NEXT && may_reply(message, previous, context)
    };
    let question =
        parent.filter(is_answered).or_else(|| earlier().next().filter(is_next).filter(is_answered));
    question.map(|question| question.text.clone())
}

/// Whether a text has the form of a question.
pub fn asks(text: &str) -> bool {
    Cues::from_text(text).contains(Cues::ASKS)
}
