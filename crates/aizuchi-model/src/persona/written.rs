//! Detects the language of texts by their script: Japanese, otherwise English.

use aizuchi_structure::prose;

use crate::persona::Language;

/// The share of Japanese letters from which a message counts as Japanese. Japanese messages contain many English
/// terms, and a Japanese word has fewer letters than an English one.
const MIN_JAPANESE_SHARE: f64 = 0.2;

/// The language of a text, apart from code and quoted lines. `None` if it has no letters: an emoji, a number, a link.
pub fn language_of(text: &str) -> Option<Language> {
    let prose = prose(text);
    let words = prose.split_whitespace().filter(|word| !is_address(word));
    let letters = words.flat_map(str::chars).filter(|letter| letter.is_alphabetic());
    let (japanese, other): (Vec<char>, Vec<char>) =
        letters.partition(|letter| is_japanese(*letter));
    let all = japanese.len() + other.len();
    (all > 0).then_some(match japanese.len() as f64 >= MIN_JAPANESE_SHARE * all as f64 {
        true => Language::Ja,
        false => Language::En,
    })
}

/// The language of most of these texts, newest first. The newest decides a tie. `None` if no text has letters.
pub fn language_of_all<'a>(newest_first: impl IntoIterator<Item = &'a str>) -> Option<Language> {
    let languages: Vec<Language> = newest_first.into_iter().filter_map(language_of).collect();
    let japanese = languages.iter().filter(|language| **language == Language::Ja).count();
    let newest = languages.first().copied()?;
    Some(match (2 * japanese).cmp(&languages.len()) {
        std::cmp::Ordering::Greater => Language::Ja,
        std::cmp::Ordering::Less => Language::En,
        std::cmp::Ordering::Equal => newest,
    })
}

/// Whether a word is a link or a mention of a user, which do not reveal the language.
fn is_address(word: &str) -> bool {
    word.contains("://") || word.starts_with(['@', '<'])
}

/// Whether a letter is hiragana, katakana or kanji, including their compatibility forms.
pub fn is_japanese(letter: char) -> bool {
    matches!(letter,
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_tells_the_language() {
        use Language::{En, Ja};
        for (text, expected) in [
            ("where is the ladder?", Some(En)),
            ("はしごはどこですか", Some(Ja)),
            ("deploy は明日の release 後です", Some(Ja)),
            ("LGTM です", Some(Ja)),
            ("明日", Some(Ja)),
            ("ﾃｽﾄ", Some(Ja)),
            ("how do you say 相槌 in English?", Some(En)),
            ("@相槌 hello", Some(En)),
            ("https://example.com/はしご", None),
            ("🎉 42 …", None),
            ("> the deploy has failed again\n> please have a look at it\nどういうこと？", Some(Ja)),
            ("ここで落ちます\n```\nfn main() { println!(\"hello, world\") }\n```", Some(Ja)),
            ("", None),
        ] {
            assert_eq!(language_of(text), expected, "{text}");
        }
    }

    #[test]
    fn most_messages_decide() {
        use Language::{En, Ja};
        for (newest_first, expected) in [
            (&["はい", "where?", "そうです"][..], Some(Ja)),
            (&["はい", "where?", "there", "😀"], Some(En)),
            (&["はい", "where?"], Some(Ja)),
            (&["where?", "はい"], Some(En)),
            (&["😀"], None),
            (&[], None),
        ] {
            assert_eq!(language_of_all(newest_first.iter().copied()), expected, "{newest_first:?}");
        }
    }
}
