//! Finds out what the persona's posts answered that are in the platform's history but not in the store, because it has
//! lost its last seconds or was put back to an older copy.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use crate::chat::MessageId;

/// A post of the persona that no outbox item accounts for, or a reaction of the persona.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPost {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    /// The messages that it answers, if it is marked.
    pub answers: Option<Vec<MessageId>>,
    /// Whether it is a reaction, which has no further parts.
    pub is_reaction: bool,
}

/// A message that an answer is owed to, or was until such a post was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedMessage {
    pub id: MessageId,
    pub at: Timestamp,
    pub thread: Option<MessageId>,
}

/// Returns the messages of a channel that were answered by these posts, oldest first. A post without a mark answers
/// the nearest open message before it, in its conversation or the one that opened its thread, so two messages with one
/// answer leave one open. After a marked post of the same conversation, it is another part of that answer.
pub fn answered(posts: &[FoundPost], mut open: Vec<AskedMessage>) -> BTreeSet<MessageId> {
    let marked = posts.iter().flat_map(|post| post.answers.iter().flatten());
    let mut answered: BTreeSet<MessageId> = marked.cloned().collect();
    open.retain(|message| !answered.contains(&message.id));
    let mut last_marked = HashMap::new();
    for post in posts {
        if post.answers.is_some() {
            if !post.is_reaction {
                last_marked.insert(&post.thread, post.at);
            }
            continue;
        }
        let begins = last_marked.get(&post.thread).copied().unwrap_or(Timestamp::MIN);
        let may_be_answered = |message: &AskedMessage| {
            let is_there =
                message.thread == post.thread || Some(&message.id) == post.thread.as_ref();
            is_there && begins < message.at && message.at < post.at
        };
        let candidates = open.iter().enumerate().filter(|(_, message)| may_be_answered(message));
        let nearest = candidates.max_by_key(|(_, message)| message.at).map(|(index, _)| index);
        answered.extend(nearest.map(|index| open.swap_remove(index).id));
    }
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn open(id: &str, second: i64, thread: &str) -> AskedMessage {
        AskedMessage { id: MessageId::new(id), at: at(second), thread: in_thread(thread) }
    }

    fn in_thread(thread: &str) -> Option<MessageId> {
        (!thread.is_empty()).then(|| MessageId::new(thread))
    }

    fn post(second: i64, thread: &str, answers: Option<&[&str]>) -> FoundPost {
        let ids = |answers: &[&str]| answers.iter().map(|id| MessageId::new(*id)).collect();
        let (at, thread) = (at(second), in_thread(thread));
        FoundPost { at, thread, answers: answers.map(ids), is_reaction: false }
    }

    #[test]
    fn a_post_answers_what_it_names_or_the_nearest_before_it() {
        let one = || vec![open("a", 1, "")];
        let two = || vec![open("a", 1, ""), open("b", 2, "")];
        for (case, posts, messages, expected) in [
            ("one and one", vec![post(5, "", None)], one(), vec!["a"]),
            ("before it", vec![post(1, "", None)], one(), vec![]),
            ("two and one", vec![post(5, "", None)], two(), vec!["b"]),
            ("two and two", vec![post(5, "", None), post(6, "", None)], two(), vec!["a", "b"]),
            ("elsewhere", vec![post(5, "t", None)], one(), vec![]),
            ("in the thread below it", vec![post(5, "a", None)], two(), vec!["a"]),
            (
                "the thread's own first",
                vec![post(5, "a", None)],
                vec![open("a", 1, ""), open("c", 3, "a")],
                vec!["c"],
            ),
            ("marked", vec![post(5, "", Some(&["a"]))], two(), vec!["a"]),
            ("marked with both", vec![post(5, "", Some(&["a", "b"]))], two(), vec!["a", "b"]),
            ("a notice", vec![post(5, "", Some(&[]))], two(), vec![]),
            (
                "a reaction, and an older one's answer",
                vec![
                    FoundPost { is_reaction: true, ..post(4, "", Some(&["b"])) },
                    post(5, "", None),
                ],
                two(),
                vec!["a", "b"],
            ),
            ("two parts", vec![post(5, "", Some(&["b"])), post(6, "", None)], two(), vec!["b"]),
            (
                "a later answer after a marked one",
                vec![post(5, "", Some(&["a"])), post(9, "", None)],
                vec![open("a", 1, ""), open("b", 7, "")],
                vec!["a", "b"],
            ),
        ] {
            let answered: Vec<_> = answered(&posts, messages).into_iter().collect();
            let expected: Vec<_> = expected.into_iter().map(MessageId::new).collect();
            assert_eq!(answered, expected, "{case}");
        }
    }
}
