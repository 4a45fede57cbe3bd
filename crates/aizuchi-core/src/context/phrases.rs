//! What single phrases of a message tell, in English and Japanese. Phrases show only what is obvious: no list
//! of words can tell what a conversation is about or what state it is in.

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
/// With these a user thanks in advance and still waits.
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

/// Whether a user asks for help without a question, or reports trouble.
pub fn is_help_request(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    HELP_PHRASES.iter().any(|phrase| lower.contains(phrase))
}

/// Whether the author is content, or has what they wanted.
pub fn is_thanks(text: &str) -> bool {
    let lower = text.to_lowercase();
    let has_any = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    has_any(&THANKS) && !has_any(&ADVANCE_THANKS)
}

pub fn is_closing(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_short = lower.chars().count() <= 40;
    is_short && (is_thanks(text) || GOODBYES.iter().any(|phrase| lower.contains(phrase)))
}

/// Whether a text contains this name as a word of its own.
pub fn has_name_ignoring_case(text: &str, name: &str) -> bool {
    has_name(&text.to_lowercase(), &name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::starts_with_name;

    #[test]
    fn help_requests_are_recognized_in_two_languages() {
        for (text, expected) in [
            ("I’m stuck with the printer", true),
            ("the printer won't print", true),
            ("プリンターが動かない", true),
            ("印刷できなくて困っています", true),
            ("the printer is new", false),
            ("プリンターが届きました", false),
        ] {
            assert_eq!(is_help_request(text), expected, "{text}");
        }
    }

    #[test]
    fn thanks_in_advance_is_not_thanks() {
        for (text, expected) in [
            ("thanks, that was it", true),
            ("Thanks in advance!", false),
            ("thanks for any help", false),
            ("ありがとうございました", true),
            ("ありがとうございます、よろしくお願いします", false),
        ] {
            assert_eq!(is_thanks(text), expected, "{text}");
        }
    }

    #[test]
    fn names_match_only_as_whole_words() {
        assert!(has_name_ignoring_case("thank you Ann!", "ann"));
        assert!(!has_name_ignoring_case("the plan", "lan"));
        assert!(has_name_ignoring_case("花子さんの件", "花子"));
        assert!(starts_with_name("@bob, can you?", "Bob"));
        assert!(starts_with_name("花子さん、これ見て", "花子"));
        assert!(!starts_with_name("bobsled: no", "bob"));
    }
}
