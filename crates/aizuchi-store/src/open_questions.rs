//! Selects the messages with a question mark that ask everyone, and each question once: for figures, notes and reports.

use aizuchi_model::chat::{ChannelId, UserId};
use jiff::{SignedDuration, Timestamp};

use crate::figures::UnansweredQuestion;

/// Consecutive questions of one user within this time are one question.
const SAME_QUESTION: SignedDuration = SignedDuration::from_mins(10);
/// How many of the newest questions are searched for the same one.
const LOOKBACK: usize = 3;

/// The real questions among those of a period, given by channel and time: they ask everyone, and do not repeat what
/// their author has just asked.
pub fn of_everybody<'q>(
    questions: impl IntoIterator<Item = &'q UnansweredQuestion>,
) -> Vec<&'q UnansweredQuestion> {
    let mut found: Vec<&UnansweredQuestion> = Vec::new();
    for question in questions {
        let is_again = says_again(asked(question), found.iter().copied().map(asked));
        if !is_again && asks(&question.text) && !names_somebody(&question.text) {
            found.push(question);
        }
    }
    found
}

fn asked(question: &UnansweredQuestion) -> ((&ChannelId, &UserId), Timestamp) {
    ((&question.channel, &question.author), question.at)
}

/// Whether a question repeats what its author has just asked. `before`: earlier authors and times, oldest first.
pub fn says_again<A: PartialEq>(
    (asker, at): (A, Timestamp),
    before: impl DoubleEndedIterator<Item = (A, Timestamp)>,
) -> bool {
    let is_same = |(by, asked_at): (A, Timestamp)| {
        by == asker && at.duration_since(asked_at) <= SAME_QUESTION
    };
    before.rev().take(LOOKBACK).any(is_same)
}

/// Whether a text names a user. Such a text often asks back or suggests something, and waits for that user alone.
pub fn names_somebody(text: &str) -> bool {
    text.split_whitespace().any(|word| word.trim_start_matches('<').starts_with('@'))
}

/// Whether a word of a text ends with a question mark. A question mark inside an address or an identifier is not a
/// question.
pub fn asks(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let bare = word.trim_end_matches([
            '"', '\'', '”', '’', '」', ')', '）', '!', '！', '.', '*', '_', '>',
        ]);
        !word.contains("://") && (word.contains('？') || bare.ends_with('?'))
    })
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::MessageId;

    use super::*;
    use crate::figures::Day;

    fn question(channel: &str, second: i64, author: &str, text: &str) -> UnansweredQuestion {
        UnansweredQuestion {
            day: Day(1),
            channel: ChannelId::new(channel),
            message: MessageId::new(format!("{channel}-{second}")),
            at: Timestamp::from_second(second).unwrap(),
            author: UserId::new(author),
            text: text.into(),
            is_taken_up: false,
        }
    }

    #[test]
    fn each_question_to_everybody_counts_once() {
        let questions = [
            question("garden", 0, "ann", "who has the key?"),
            question("garden", 60, "ann", "nobody?"),
            question("garden", 90, "ben", "how deep do they go?"),
            question("garden", 5000, "ben", "<@cat> is it you?"),
            question("garden", 9000, "ben", "see https://a.example/?q"),
            question("garden", 9001, "ann", "どこですか？教えて"),
            question("tea", 9002, "ann", "is there any left?"),
        ];
        let found: Vec<&str> =
            of_everybody(&questions).iter().map(|found| found.message.as_str()).collect();
        assert_eq!(found, ["garden-0", "garden-90", "garden-9001", "tea-9002"]);
    }
}
