//! In which language a page of the console is. Its own texts are in its reader's; what people wrote is as they wrote it.

use crate::tidy::is_japanese;

/// Of a page whose stored texts are in no language, none is in another one.
pub fn expect_language(shown: &str, language: &str, page: &str) {
    match language {
        "en" => assert!(!shown.contains(is_japanese), "{page}: {shown}"),
        _ => assert_eq!(english(shown), [""; 0], "{page}"),
    }
}

/// The texts of a page with two English words in a row, but for what is in English everywhere: errors of providers, and
/// commands.
fn english(page: &str) -> Vec<&str> {
    let is_word =
        |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let texts = page.split('<').filter_map(|part| {
        let (tag, text) = part.split_once('>')?;
        let is_english =
            ["script", "style", "td lang=\"en\""].iter().any(|it| tag.starts_with(*it));
        (!is_english && !text.starts_with("the provider answers 429")).then_some(text.trim())
    });
    let in_english = |text: &&str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(2).any(|pair| pair.iter().all(|word| is_word(word)))
    };
    // What is typed in a terminal is the same in every language.
    let is_command =
        |text: &str| ["aizuchi why ", "aizuchi report "].iter().any(|it| text.starts_with(it));
    texts.filter(in_english).filter(|text| !is_command(text)).collect()
}

#[test]
fn english_in_a_page_is_found() {
    let page = "<td lang=\"en\">a plain word<p>こんにちは</p><b title=\"two words\">two words</b><i>R2 D2</i>";
    assert_eq!(english(page), ["two words"]);
}
