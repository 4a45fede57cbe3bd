//! Splits a message with several questions.

use aizuchi_model::recall::content_words::content_words;
use aizuchi_structure::cues::Cues;

use crate::builtin::matching::is_mark;

/// A message with more questions gets one answer to the whole, if there is one.
const MAX_QUESTIONS: usize = 4;
/// Words that join a question to the one before it.
const JOINING: [&str; 8] =
    ["and ", "also ", "and also ", "あと", "それと", "それから", "そして", "また"];
const QUESTION_WORDS: [&str; 8] =
    ["what ", "what's ", "when ", "where ", "who ", "why ", "how ", "which "];

/// Splits "When is the party, and where?", 「合宿はいつ？ あと場所は？」 into questions. A text with a part that is not a question
/// counts as one question.
pub fn questions_in(text: &str) -> Vec<&str> {
    let sentences = text.split_inclusive(['?', '？']);
    let parts: Vec<&str> = sentences.flat_map(joined).map(without_joint).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let asks = |part: &&str| Cues::from_text(part).intersects(Cues::ASKS | Cues::QUESTION_WORD);
    match (2..=MAX_QUESTIONS).contains(&parts.len()) && parts.iter().all(asks) {
        true => parts,
        false => vec![text],
    }
}

/// Splits "When is the party and who comes?", but not "the bread and when it is baked".
fn joined(sentence: &str) -> Vec<&str> {
    const AND: &str = " and ";
    let mut places = sentence.match_indices(AND).map(|(at, _)| at);
    let is_question = |at: &usize| {
        let behind = sentence[at + AND.len()..].to_lowercase();
        let alone = behind.trim_end_matches(is_mark);
        let begins = |word: &&str| behind.starts_with(*word) || alone == word.trim_end();
        QUESTION_WORDS.iter().any(begins)
            && Cues::from_text(&sentence[..*at]).contains(Cues::QUESTION_WORD)
            // "When and where is the party?" is one question.
            && !content_words(&sentence[..*at]).is_empty()
    };
    match places.find(is_question) {
        Some(at) => vec![&sentence[..at], &sentence[at + AND.len()..]],
        None => vec![sentence],
    }
}

fn without_joint(question: &str) -> &str {
    let question =
        question.trim_matches(|character| is_mark(character) && !"?？".contains(character));
    let joint = JOINING.iter().find_map(|joint| {
        let start = question.get(..joint.len())?;
        start.eq_ignore_ascii_case(joint).then(|| &question[joint.len()..])
    });
    joint.unwrap_or(question).trim_start_matches(is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_of_a_message_is_found() {
        for (text, expected) in [
            ("when is the party?", &["when is the party?"][..]),
            ("when is the party and where?", &["when is the party", "where?"]),
            (
                "where do we meet? And when is the party?",
                &["where do we meet?", "when is the party?"],
            ),
            ("合宿はいつ？あと、鍵はどこ？", &["合宿はいつ？", "鍵はどこ？"]),
            ("who brings bread and butter?", &["who brings bread and butter?"]),
            ("when and where is the party?", &["when and where is the party?"]),
            ("I am late. when is the party?", &["I am late. when is the party?"]),
            ("the party is on Friday? I thought so.", &["the party is on Friday? I thought so."]),
            ("what? when? where? who? why?", &["what? when? where? who? why?"]),
        ] {
            assert_eq!(questions_in(text), expected, "{text}");
        }
    }
}
