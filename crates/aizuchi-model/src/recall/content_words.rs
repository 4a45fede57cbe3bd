//! The words of a text that carry its subject, in English and Japanese.

use std::collections::BTreeSet;

use crate::recall::terms::stem;

/// Words of three letters or more that say nothing about the subject.
const STOP_WORDS: &[&str] = &[
    "called", "find", "found", "happen", "happened", "kind", "long", "many", "mean", "means",
    "often", "sort", "about", "after", "again", "all", "also", "and", "any", "anybody", "anyone",
    "anything", "are", "back", "because", "been", "but", "can", "come", "could", "did", "does",
    "doing", "done", "for", "from", "get", "give", "going", "got", "had", "has", "have", "her",
    "here", "him", "his", "how", "into", "its", "just", "know", "let", "like", "look", "made",
    "make", "may", "much", "need", "nobody", "not", "now", "off", "one", "our", "out", "over",
    "please", "really", "said", "say", "says", "she", "should", "some", "somebody", "someone",
    "something", "still", "take", "tell", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "thing", "think", "this", "those", "too", "use", "used", "very", "want",
    "was", "way", "were", "what", "when", "where", "which", "who", "whose", "why", "will", "with",
    "would", "yes", "yet", "you", "your", "don", "didn", "isn",
];
/// Kanji that mostly serve as grammar, as a verb or in a question when they stand alone.
const STOP_KANJI: &str =
    "何誰今言話教思見聞知行来出会入使書読食飲持作待私僕俺君者物事時分日年月前後中上下方人的";
/// Kanji that form questions: 「何時」「場所知りませんか」.
const QUESTION_KANJI: &str = "何誰知教";
/// Extracts Latin words without their endings, pairs of kanji or katakana, and single kanji: Japanese writes content
/// words in these scripts, and has no spaces.
pub fn content_words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let latin = lower.split(|character: char| !character.is_ascii_alphanumeric());
    let is_content = |word: &&str| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        !STOP_WORDS.contains(word) && (word.len() >= 3 || (is_number && !word.is_empty()))
    };
    let latin = latin.filter(is_content).map(|word| stem(word.to_owned()));
    // "looking" says as little as "look".
    let latin = latin.filter(|word| !STOP_WORDS.contains(&word.as_str()));
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

/// Whether a text shares more with a subject than one of many words: at least two of its content words, or half of
/// them.
pub fn shares_subject(subject: &BTreeSet<String>, text: &str) -> bool {
    let shared = count_shared(subject, text);
    shared > 0 && (shared >= 2 || shared * 2 >= count(subject))
}

/// The number of words of a subject that stand in a text.
pub fn count_shared(subject: &BTreeSet<String>, text: &str) -> usize {
    count(&content_words(text).intersection(subject).cloned().collect())
}

/// The number of words. Overlapping pairs of Japanese characters are from one word.
pub fn count(words: &BTreeSet<String>) -> usize {
    let goes_on = |word: &String| {
        let first = word.chars().next().filter(|first| is_ideographic(*first));
        first.is_some_and(|first| {
            words.iter().any(|other| other != word && other.chars().nth(1) == Some(first))
        })
    };
    let begun = words.iter().filter(|word| !goes_on(word)).count();
    begun.max(usize::from(!words.is_empty()))
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
    fn a_subject_is_shared_by_two_words_or_by_half_of_them() {
        let shares = |subject: &str, text: &str| shares_subject(&content_words(subject), text);
        assert!(shares("when is the deploy?", "the deploy moved to Monday"));
        assert!(shares("デプロイいつ？", "デプロイは月曜になった"));
        assert!(shares("when does the wheel arrive from the workshop?", "workshop: wheel is late"));
        assert!(!shares("when does the wheel arrive from the workshop?", "the workshop is closed"));
        // A long Japanese word is one word.
        assert!(!shares("デプロイの手順書と環境変数の一覧", "デプロイ飽きた"));
        assert!(!shares("when is it?", "the deploy moved to Monday"));
    }
}
