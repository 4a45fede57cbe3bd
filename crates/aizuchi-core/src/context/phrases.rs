//! What the words of a line tell, in English and Japanese: only what is on the face of it. What a talk is
//! about, or what state it is in, no list of words tells (seed 004).

use crate::overlap::has_name;

const THANKS: [&str; 10] = [
    "thanks",
    "thank you",
    "thx",
    "got it",
    "never mind",
    "nevermind",
    "solved",
    "ありがと",
    "解決し",
    "助かりました",
];
/// Whoever says this still waits.
const ADVANCE_THANKS: [&str; 3] = ["in advance", "for any help", "よろしくお願い"];
const GOODBYES: [&str; 8] =
    ["bye", "good night", "see you", "cya", "お疲れ", "おやすみ", "また明日", "失礼します"];
const HELP_PHRASES: [&str; 26] = [
    "help",
    "problem",
    "trouble",
    "stuck",
    "issue",
    "error",
    "can't",
    "cannot",
    "doesn't work",
    "not working",
    "won't",
    "need to",
    "trying to",
    "tried",
    "any idea",
    "wondering",
    "looking for",
    "困って",
    "困り",
    "助けて",
    "できない",
    "できません",
    "動かない",
    "動きません",
    "エラー",
    "わからない",
];

/// Somebody asks for help in other words than a question's, or tells of trouble.
pub fn is_help_request(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    HELP_PHRASES.iter().any(|word| lower.contains(word))
}

/// The speaker is content, or has what was wanted.
pub fn is_thanks(text: &str) -> bool {
    let lower = text.to_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    holds(&THANKS) && !holds(&ADVANCE_THANKS)
}

pub fn is_closing(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_short = lower.chars().count() <= 40;
    is_short && (is_thanks(text) || GOODBYES.iter().any(|word| lower.contains(word)))
}

/// Does the line hold this name as a word of its own?
pub fn has_name_ignoring_case(text: &str, name: &str) -> bool {
    has_name(&text.to_lowercase(), &name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::starts_with_name;

    #[test]
    fn pleas_in_two_languages() {
        for (line, expected) in [
            ("I’m stuck with the printer", true),
            ("the printer won't print", true),
            ("プリンターが動かない", true),
            ("印刷できなくて困っています", true),
            ("the printer is new", false),
            ("プリンターが届きました", false),
        ] {
            assert_eq!(is_help_request(line), expected, "{line}");
        }
    }

    #[test]
    fn whoever_gives_thanks_before_the_answer_still_waits() {
        for (line, expected) in [
            ("thanks, that was it", true),
            ("Thanks in advance!", false),
            ("thanks for any help", false),
            ("ありがとうございました", true),
            ("ありがとうございます、よろしくお願いします", false),
        ] {
            assert_eq!(is_thanks(line), expected, "{line}");
        }
    }

    #[test]
    fn names_stand_as_words_of_their_own() {
        assert!(has_name_ignoring_case("thank you Ann!", "ann"));
        assert!(!has_name_ignoring_case("the plan", "lan"));
        assert!(has_name_ignoring_case("花子さんの件", "花子"));
        assert!(starts_with_name("@bob, can you?", "Bob"));
        assert!(starts_with_name("花子さん、これ見て", "花子"));
        assert!(!starts_with_name("bobsled: no", "bob"));
    }
}
