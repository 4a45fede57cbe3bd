//! The language of the console's pages. Its own texts are in its reader's language; user-written text stays as it is.

use crate::tidy::is_japanese;

/// Checks that a page whose stored texts are in no language has no text in another one.
pub fn expect_language(shown: &str, language: &str, page: &str) {
    match language {
        "en" => assert!(!shown.contains(is_japanese), "{page}: {shown}"),
        _ => assert_eq!(english(&texts(shown, &[])), [""; 0], "{page}"),
    }
}

/// Like [`expect_language`], for a page that quotes a model's current output: that is in the chat's language, and
/// marked as quoted text.
pub fn expect_own_language(shown: &str, language: &str, page: &str) {
    match language {
        "en" => assert!(!shown.contains(is_japanese), "{page}: {shown}"),
        _ => assert_eq!(english(&texts(shown, &["dir=\"auto\""])), [""; 0], "{page}"),
    }
}

/// Returns the visible texts of a page, except for those in elements whose tag contains one of these parts.
fn texts<'a>(page: &'a str, others: &[&str]) -> Vec<&'a str> {
    let texts = page.split('<').filter_map(|part| {
        let (tag, text) = part.split_once('>')?;
        let is_read = !["script", "style"].iter().any(|it| tag.starts_with(*it));
        let is_meant = !others.iter().any(|it| tag.contains(*it));
        (is_read && is_meant).then_some(text.trim())
    });
    texts.collect()
}

/// Returns the texts with two English words in a row, except for texts that are English in every language: errors of
/// providers, and commands.
fn english<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let is_word =
        |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let in_english = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(2).any(|pair| pair.iter().all(|word| is_word(word)))
    };
    // Commands for a terminal are the same in every language.
    let is_everywhere = |text: &str| {
        ["aizuchi ", "systemctl ", "the provider answers 429"].iter().any(|it| text.starts_with(it))
    };
    let found = texts.iter().copied().filter(|text| in_english(text) && !is_everywhere(text));
    found.collect()
}

#[test]
fn english_in_a_page_is_found() {
    let page = "<p>こんにちは</p><b title=\"two words\">two words</b><i>R2 D2</i>\
                <p dir=\"auto\">said by somebody</p>";
    assert_eq!(english(&texts(page, &[])), ["two words", "said by somebody"]);
    assert_eq!(english(&texts(page, &["dir=\"auto\""])), ["two words"]);
}
