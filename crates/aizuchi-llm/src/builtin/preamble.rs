//! Strips what precedes a request: the call, a greeting, an excuse.

use aizuchi_model::persona::spelling::spellings;
use aizuchi_structure::cues::Cues;

use crate::builtin::matching::{is_mark, is_separator, normalize};
use crate::builtin::phrases::List;

/// The text without mentions of the mind's name, and without the name at the beginning or the end.
pub fn without_call(text: &str, name: &str) -> String {
    let spellings = spellings(name);
    // The text is not lowercased here: only Latin names have another case.
    let known = spellings.iter().filter(|name| name.is_ascii() || text.contains(*name));
    known.fold(text.to_owned(), |text, name| without_name(&text, name))
}

/// Removes one spelling of the name.
fn without_name(text: &str, name: &str) -> String {
    let mut text = text.to_owned();
    for mention in [format!("@{name}"), format!("＠{name}")] {
        let (mut kept, mut rest) = (String::with_capacity(text.len()), text.as_str());
        while let Some(at) = find_word(rest, &mention).filter(|_| !name.is_empty()) {
            kept.push_str(&rest[..at]);
            kept.push(' ');
            rest = &rest[at + mention.len()..];
        }
        kept.push_str(rest);
        text = kept;
    }
    let mut rest = text.trim_matches(is_separator);
    rest = rest.strip_prefix("さん").unwrap_or(rest).trim_start_matches(is_separator);
    if !name.is_empty() && find_word(rest, name) == Some(0) {
        let behind = &rest[name.len()..];
        rest = behind.strip_prefix("さん").unwrap_or(behind).trim_start_matches(is_separator);
    }
    let body = rest.trim_end_matches(is_mark);
    let before = body.len().checked_sub(name.len()).filter(|at| body.is_char_boundary(*at));
    let before = before.filter(|at| find_word(&body[*at..], name) == Some(0) && !name.is_empty());
    match before.map(|at| &body[..at]) {
        Some(before) if before.ends_with(is_separator) => {
            before.trim_end_matches(is_separator).to_owned()
        }
        Some(_) | None if body.is_empty() => String::new(),
        Some(_) | None => rest.to_owned(),
    }
}

/// Finds a name as a whole word: `Aizuchi` is not in `Aizuchi-two`. Latin letters match in either case.
fn find_word(text: &str, word: &str) -> Option<usize> {
    // 「Aizuchiいる？」: after a Latin name, another script begins a new word.
    let is_part = |next: char| match word.is_ascii() {
        true => next.is_ascii_alphanumeric(),
        false => next.is_alphanumeric(),
    };
    let goes_on = |rest: &str| {
        let rest = rest.strip_prefix("さん").unwrap_or(rest);
        rest.starts_with(|next: char| is_part(next) || "-_".contains(next))
    };
    text.char_indices().map(|(at, _)| at).find(|at| {
        let found = text.get(*at..at + word.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(word))
            && !goes_on(&text[at + word.len()..])
    })
}

/// The text of a message after a greeting: "good morning @Aizuchi, the office is closed".
pub fn behind_greeting(text: &str, name: &str) -> String {
    let called = without_call(text, name);
    let rest = without_call(without_greeting(&called), name);
    without_greeting(&rest).to_owned()
}

/// The text without greetings. "Hello, nice to meet you!" and 「はじめまして！よろしくね」 are two; more of them mean nothing
/// else.
pub fn without_greeting(text: &str) -> &str {
    const MAX_GREETINGS: usize = 3;
    let mut rest = text;
    for _ in 0..MAX_GREETINGS {
        match without_one_greeting(rest) {
            Some(shorter) => rest = shorter,
            None => break,
        }
    }
    rest
}

fn without_one_greeting(text: &str) -> Option<&str> {
    const LONGEST: usize = 64;
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST);
    let start = &text[..end.unwrap_or(text.len())];
    // Only ASCII, so that positions in the two texts correspond: some letters are longer or shorter in lower case.
    let lower = start.to_ascii_lowercase();
    let greeting = List::Greetings.phrases().iter().find(|greeting| {
        let goes_on = |character: char| character.is_alphanumeric() || character == '-';
        lower
            .strip_prefix(**greeting)
            .is_some_and(|rest| !(greeting.is_ascii() && rest.starts_with(goes_on)))
    })?;
    let rest = &text[greeting.len()..];
    let rest =
        rest.trim_start_matches(|character| is_mark(character) || "~〜ー♪".contains(character));
    // Matches "hello there", "hi all".
    let others =
        ["", "there", "all", "everyone", "team", "again", "friend", "皆さん", "みなさん", "みんな"];
    let is_greeting = others.contains(&rest.trim_matches(is_mark).to_lowercase().as_str());
    Some(if is_greeting { "" } else { rest })
}

/// Whether a text begins with a greeting, and not only with a word to get attention.
pub fn greets(text: &str) -> bool {
    const ATTENTION: [&str; 5] = ["hey", "yo ", "ねえ", "あのさ", "ちょっと"];
    let lower = normalize(text);
    let Some(rest) = without_one_greeting(text) else { return false };
    // Accepts "Morning, …", but not "morning standup moved".
    let before = &text[..text.len() - rest.len()];
    let is_apart = !before.is_ascii() || before.trim_end().ends_with(is_mark) || rest.is_empty();
    is_apart && !ATTENTION.iter().any(|it| lower.starts_with(it))
}

/// The question after an excuse: "sorry, when is the deploy?", 「すみません、今何時ですか」.
pub fn without_excuse(text: &str) -> &str {
    const EXCUSES: [&str; 8] = [
        "excuse me",
        "sorry",
        "すみませんが",
        "すみません",
        "すいませんが",
        "すいません",
        "ごめん",
        "申し訳ありませんが",
    ];
    let behind = EXCUSES.iter().find_map(|excuse| {
        let found = text.get(..excuse.len()).filter(|start| start.eq_ignore_ascii_case(excuse))?;
        let rest = text[found.len()..].strip_prefix(is_mark)?;
        Some(rest.trim_start_matches(is_mark))
            .filter(|rest| Cues::from_text(rest).contains(Cues::ASKS))
    });
    behind.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dotted I is one byte longer in lower case, and the Kelvin sign two bytes shorter.
    #[test]
    fn letters_of_another_length_in_lower_case_are_no_letters_of_a_greeting() {
        for text in ["Hİİ \u{212a}", "hİ there"] {
            assert!(!greets(text), "{text}");
            assert_eq!(without_greeting(text), text);
        }
        assert_eq!(without_greeting("HELLO İİ \u{212a}"), "İİ \u{212a}");
    }

    #[test]
    fn each_mention_is_removed_in_one_pass() {
        assert_eq!(
            without_call("so @Aizuchi, ask ＠aizuchi or @Aizuchi-two", "Aizuchi"),
            "so  , ask   or @Aizuchi-two"
        );
        // Takes very long if each mention is looked for from the beginning.
        assert_eq!(without_call(&"@Aizuchi ".repeat(100_000), "Aizuchi"), "");
    }
}
