//! Whether words about a quarrel or a misunderstanding are still wanted after users have written more.

use std::collections::BTreeSet;

use aizuchi_structure::cues::Cues;

use crate::chat::{Message, UserId};
use crate::context::Context;
use crate::context::conversation_analysis::OpenState;
use crate::context::message_structure::MessageStructure;
use crate::context::seen_revision::SeenRevision;

/// The people in a quarrel are the authors of this many messages up to the verdict.
const QUARREL_MESSAGES: usize = 6;
/// Another user has surely stepped in if a message replies to one of them with the first probability, and surely not below
/// the second.
const STEPS_IN: f32 = 0.7;
const MAY_STEP_IN: f32 = 0.4;
/// Cues and words by which people may make peace. They only make the judge look again: a retort may hold them, too.
const PEACE: Cues = Cues::THANKS
    .union(Cues::SOLVED)
    .union(Cues::GOODBYE)
    .union(Cues::ACKNOWLEDGES)
    .union(Cues::YES)
    .union(Cues::JOINS);
const PEACE_WORDS: [&str; 15] = [
    "sorry", "apolog", "my bad", "fair enough", "fair point", "misread", "i see what you",
    "ごめん", "すみません", "申し訳", "悪かった", "言い過ぎ", "わかった", "分かった", "誤解して",
];

/// Returns whether a verdict about the quarrel of this message still stands. The people in it never take it up, however
/// much they write: that takes somebody else who replies to one of them. Where they may have made peace, it is unclear.
pub fn quarrel_state(context: &Context, about: &Message, seen: SeenRevision) -> OpenState {
    if context.is_left_to_thread(about) {
        return OpenState::InThread;
    }
    let humans = context.target_messages().iter().filter(|message| message.is_human());
    let (since, before): (Vec<&Message>, Vec<&Message>) =
        humans.map(|message| &**message).partition(|message| context.is_heard_since(message, seen));
    let people = before.iter().rev().take(QUARREL_MESSAGES).map(|message| &message.author.id);
    let people: BTreeSet<&UserId> = people.chain([&about.author.id]).collect();
    let (theirs, others): (Vec<&Message>, Vec<&Message>) =
        since.into_iter().partition(|message| people.contains(&message.author.id));
    let talk = MessageStructure::from_context(context);
    let replies = others.into_iter().filter_map(|message| {
        let index = talk.index_of(&message.id)?;
        Some((message.author.id.clone(), directed_at(&people, &talk, index)))
    });
    let stepped_in = replies.max_by(|(_, one), (_, other)| one.total_cmp(other));
    match stepped_in {
        Some((user, reply)) if reply >= STEPS_IN => OpenState::TakenUp(Some((user, reply))),
        Some((_, reply)) if reply >= MAY_STEP_IN => OpenState::ProbablyTakenUp,
        Some(_) | None if theirs.iter().any(|message| may_make_peace(&message.text)) => {
            OpenState::ProbablyOpen
        }
        Some(_) | None => OpenState::Open,
    }
}

/// The probability that the message at `index` is said to one of these people.
fn directed_at(people: &BTreeSet<&UserId>, talk: &MessageStructure, index: usize) -> f32 {
    let structure = talk.structure();
    if let Some(user) = structure.utterances()[index].addressee {
        return f32::from(people.contains(talk.user(user)));
    }
    let parents = structure.parents(index);
    let theirs = parents.filter(|(parent, _)| people.contains(talk.author(*parent)));
    theirs.map(|(_, link)| link).sum()
}

fn may_make_peace(text: &str) -> bool {
    let lower = text.to_lowercase();
    Cues::from_text(text).intersects(PEACE) || PEACE_WORDS.iter().any(|word| lower.contains(word))
}
