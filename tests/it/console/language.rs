//! In which language a page of the console is. Its own texts are in its reader's; what people wrote is as they wrote it.

use crate::tidy::is_japanese;

/// Of a page whose stored texts are in no language, none is in another one.
pub fn expect_language(shown: &str, language: &str, page: &str) {
    match language {
        "en" => assert!(!shown.contains(is_japanese), "{page}: {shown}"),
        _ => assert_eq!(english(&texts(shown, &[])), [""; 0], "{page}"),
    }
}

/// The same of a page that quotes what a model says now: that is in the language of the chat, and marked as a text that
/// somebody wrote.
pub fn expect_own_language(shown: &str, language: &str, page: &str) {
    match language {
        "en" => assert!(!shown.contains(is_japanese), "{page}: {shown}"),
        _ => assert_eq!(english(&texts(shown, &["dir=\"auto\""])), [""; 0], "{page}"),
    }
}

/// The texts of a page, but for those in elements of which one of these is a part, and what is not read.
fn texts<'a>(page: &'a str, others: &[&str]) -> Vec<&'a str> {
    let texts = page.split('<').filter_map(|part| {
        let (tag, text) = part.split_once('>')?;
        let is_read = !["script", "style"].iter().any(|it| tag.starts_with(*it));
        let is_meant = !others.iter().any(|it| tag.contains(*it));
        (is_read && is_meant).then_some(text.trim())
    });
    texts.collect()
}

/// Those with two English words in a row, but for what is in English everywhere: errors of providers, and commands.
fn english<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let is_word =
        |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let in_english = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(2).any(|pair| pair.iter().all(|word| is_word(word)))
    };
    // What is typed in a terminal is the same in every language.
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
