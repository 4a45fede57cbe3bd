//! Whether words about a quarrel or a misunderstanding are still wanted after users have written more.

use std::collections::BTreeSet;

use crate::chat::{Message, UserId};
use crate::context::Context;
use crate::context::conversation_analysis::{ConversationAnalysis, OpenState};
use crate::context::seen_revision::SeenRevision;
use aizuchi_structure::cues::Cues;

/// The people in a quarrel are the authors of this many messages up to the verdict.
const QUARREL_MESSAGES: usize = 6;
/// Another user has surely stepped in if a message replies to somebody with the first probability, and surely not below
/// the second.
const STEPS_IN: f32 = 0.7;
const MAY_STEP_IN: f32 = 0.4;
/// Cues and words by which people may make peace. They only decide whether the judge looks again.
const PEACE: Cues = Cues::THANKS
    .union(Cues::SOLVED)
    .union(Cues::GOODBYE)
    .union(Cues::ACKNOWLEDGES)
    .union(Cues::YES)
    .union(Cues::JOINS);
const PEACE_WORDS: [&str; 15] = [
    "sorry",
    "apolog",
    "my bad",
    "fair enough",
    "fair point",
    "misread",
    "i see what you",
    "ごめん",
    "すみません",
    "申し訳",
    "悪かった",
    "言い過ぎ",
    "わかった",
    "分かった",
    "誤解して",
];

/// Returns whether a verdict about the quarrel of this message still stands. The people in it never take it up, however
/// much they write: that takes somebody else who replies to them. Where they may have made peace, it is unclear.
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
    let analysis = ConversationAnalysis::new(context);
    let replies = others.into_iter().filter_map(|message| {
        let relation = analysis.relation(message)?;
        Some((message.author.id.clone(), relation.directed.max(f32::from(relation.is_addressed))))
    });
    let stepped_in = replies.max_by(|(_, one), (_, other)| one.total_cmp(other));
    match stepped_in {
        Some((user, reply)) if reply >= STEPS_IN => OpenState::TakenUp(Some((user, reply))),
        Some((_, reply)) if reply >= MAY_STEP_IN => OpenState::ProbablyTakenUp,
        Some(_) | None if theirs.iter().any(|message| may_make_peace(&message.text)) => {
            OpenState::ProbablyTakenUp
        }
        Some(_) | None => OpenState::Open,
    }
}

fn may_make_peace(text: &str) -> bool {
    let lower = text.to_lowercase();
    Cues::from_text(text).intersects(PEACE) || PEACE_WORDS.iter().any(|word| lower.contains(word))
}
