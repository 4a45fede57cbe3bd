//! What the built-in mind can tell from the words of a message, in English and Japanese.

use std::collections::BTreeSet;

use crate::recall::terms::stem;

/// Words of three letters and more that say nothing about the matter.
const STOP_WORDS: &[&str] = &[
    "called",
    "find",
    "found",
    "happen",
    "happened",
    "kind",
    "long",
    "many",
    "mean",
    "means",
    "often",
    "sort",
    "about",
    "after",
    "again",
    "all",
    "also",
    "and",
    "any",
    "anybody",
    "anyone",
    "anything",
    "are",
    "back",
    "because",
    "been",
    "but",
    "can",
    "come",
    "could",
    "did",
    "does",
    "doing",
    "done",
    "for",
    "from",
    "get",
    "give",
    "going",
    "got",
    "had",
    "has",
    "have",
    "her",
    "here",
    "him",
    "his",
    "how",
    "into",
    "its",
    "just",
    "know",
    "let",
    "like",
    "look",
    "made",
    "make",
    "may",
    "much",
    "need",
    "nobody",
    "not",
    "now",
    "off",
    "one",
    "our",
    "out",
    "over",
    "please",
    "really",
    "said",
    "say",
    "says",
    "she",
    "should",
    "some",
    "somebody",
    "someone",
    "something",
    "still",
    "take",
    "tell",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "think",
    "this",
    "those",
    "too",
    "use",
    "used",
    "very",
    "want",
    "was",
    "way",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "whose",
    "why",
    "will",
    "with",
    "would",
    "yes",
    "yet",
    "you",
    "your",
    "don",
    "didn",
    "isn",
];
/// Kanji that stand alone mostly as grammar, as a verb or in a question.
const STOP_KANJI: &str =
    "何誰今言話教思見聞知行来出会入使書読食飲持作待私僕俺君者物事時分日年月前後中上下方人的";
/// Kanji of which questions are made: 「何時」「場所知りませんか」.
const QUESTION_KANJI: &str = "何誰知教";
const SECRECY_PHRASES: [&str; 14] = [
    "secret",
    "off the record",
    "between us",
    "keep that to yourself",
    "keep this to yourself",
    "don't remember",
    "do not remember",
    "don't tell",
    "内緒",
    "秘密",
    "ここだけの話",
    "オフレコ",
    "覚えないで",
    "忘れて",
];
const MAX_QUOTE_CHARS: usize = 160;

/// Whether the author asks not to be repeated or remembered.
pub fn asks_for_secrecy(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    SECRECY_PHRASES.iter().any(|word| lower.contains(word))
}

/// The beginning of a text. Code that the cut leaves open is closed, or else what follows the quote would be code.
pub fn truncate_quote(text: &str) -> String {
    const FENCE: &str = "```";
    let Some((end, _)) = text.char_indices().nth(MAX_QUOTE_CHARS) else {
        return text.to_owned();
    };
    // Perhaps the cut is within a fence.
    let kept = text[..end].trim_end().trim_end_matches('`').trim_end();
    let is_in_block = kept.matches(FENCE).count() % 2 == 1;
    let last = kept.rsplit(FENCE).next().unwrap_or(kept);
    let is_in_code = last.matches('`').count() % 2 == 1;
    let mark = match () {
        () if is_in_block => FENCE,
        () if is_in_code => "`",
        () => "",
    };
    format!("{kept}…{mark}")
}

/// Latin words without their endings, pairs of kanji or katakana, and kanji that stand alone: Japanese writes content words
/// in these, and has no spaces.
pub fn content_words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let latin = lower.split(|character: char| !character.is_ascii_alphanumeric());
    let is_content = |word: &&str| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        !STOP_WORDS.contains(word) && (word.len() >= 3 || (is_number && !word.is_empty()))
    };
    let latin = latin.filter(is_content).map(|word| stem(word.to_owned()));
    let runs = text.split(|character: char| !is_ideographic(character));
    let japanese = runs.flat_map(|run| {
        let characters: Vec<char> = run.chars().collect();
        match characters[..] {
            [alone] if STOP_KANJI.contains(alone) || !is_kanji(alone) => Vec::new(),
            [alone] => vec![alone.to_string()],
            _ => {
                let pairs = characters.windows(2);
                let pairs =
                    pairs.filter(|pair| !pair.iter().any(|one| QUESTION_KANJI.contains(*one)));
                pairs.map(|pair| pair.iter().collect()).collect()
            }
        }
    });
    latin.chain(japanese).collect()
}

fn is_ideographic(character: char) -> bool {
    is_kanji(character) || matches!(character, '\u{30a1}'..='\u{30fa}' | 'ー')
}

fn is_kanji(character: char) -> bool {
    matches!(character, '\u{4e00}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_words_are_found_in_both_scripts() {
        let words = |text: &str| content_words(text).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(words("When is the deploy? Who has the keys?"), "deploi key");
        assert_eq!(words("デプロイの日は？ 鍵は誰が持ってるの"), "デプ プロ ロイ 鍵");
    }

    #[test]
    fn quotes_are_cut_between_characters() {
        let long = "あ".repeat(200);
        assert_eq!(truncate_quote(&long).chars().count(), 161);
        assert_eq!(truncate_quote("short"), "short");
        let rest = "x".repeat(200);
        for (text, end) in [
            (format!("see ```let y = 1; {rest}``` here"), "x…```"),
            (format!("see ```let y``` here {rest}"), "x…"),
            (format!("see `let y {rest}` here"), "x…`"),
            (format!("see `let` {rest}"), "x…"),
            (format!("{}```{rest}```", "y".repeat(159)), "y…"),
            (format!("```{}```", "y".repeat(157)), "y…```"),
        ] {
            assert!(truncate_quote(&text).ends_with(end), "{text}: {}", truncate_quote(&text));
        }
    }
}
