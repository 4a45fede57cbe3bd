//! Detects a question to the whole channel: a question without a name in front. Looks at the text of one
//! message only, in English and Japanese.

const QUESTION_PHRASES: [&str; 13] = [
    "does anyone",
    "does anybody",
    "anyone know",
    "anybody know",
    "can someone",
    "can anyone",
    "can anybody",
    "could someone",
    "could anyone",
    "could anybody",
    "how do i",
    "how can i",
    "is there a way",
];
const QUESTION_ENDINGS: [&str; 9] = [
    "ですか",
    "ますか",
    "ませんか",
    "でしょうか",
    "教えてください",
    "教えて",
    "ないかな",
    "だっけ",
    "でしたっけ",
];

pub fn is_question(text: &str) -> bool {
    let lower = text.to_lowercase();
    let end = lower.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    lower.split_whitespace().any(has_question_mark)
        || QUESTION_PHRASES.iter().any(|beginning| lower.contains(beginning))
        || QUESTION_ENDINGS.iter().any(|ending| end.ends_with(ending))
}

/// A question mark inside a link does not count, unless it ends the link.
fn has_question_mark(word: &str) -> bool {
    match word.find("://") {
        Some(_) => word.ends_with(['?', '？']),
        None => word.contains(['?', '？']),
    }
}

/// The name that a text begins with, if any: `bob: …`, `@bob, …`, `花子さん、…`.
pub fn addressed_name(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['@', '＠', ' ']);
    let (name, _) = text.split_once([':', ',', '、', '：', '，', '。'])?;
    let name = name.strip_suffix("さん").unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_recognized_in_two_languages() {
        for (text, expected) in [
            ("what is this?", true),
            ("これは何？", true),
            ("どなたかご存じでしょうか。", true),
            ("does anyone have a spare cable", true),
            ("could anybody lend me a cable", true),
            ("鍵はどこでしたっけ", true),
            ("have you seen https://example.org/?", true),
            ("https://example.org/?page=2", false),
            ("so that is it", false),
            ("いいですね", false),
        ] {
            assert_eq!(is_question(text), expected, "{text}");
        }
    }

    #[test]
    fn only_a_leading_name_is_the_addressee() {
        for (text, expected) in [
            ("bob: who has the key?", Some("bob")),
            ("@bob, who has the key?", Some("bob")),
            ("花子さん、鍵はどこですか", Some("花子")),
            ("Ann Lee, is it you?", Some("Ann Lee")),
            // Only the channel knows whether this is a name.
            ("ok, who has the key?", Some("ok")),
            ("who has the key?", None),
            ("", None),
            (": what?", None),
        ] {
            assert_eq!(addressed_name(text), expected, "{text}");
        }
    }
}
