//! Finds the topic of a message among those that the built-in mind can talk about.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::builtin::matching::{
    MAX_REQUEST_BYTES, holds, holds_any, is_alone, is_mark, is_whole_word, without_prefixes,
};
use crate::builtin::phrases::{List, PhraseMatch, Topic, topics};
use crate::builtin::wording::corrected;

pub fn find_topic(lower: &str) -> Option<Topic> {
    let not_meant = List::NotMeant.phrases().iter();
    let lower = not_meant.fold(lower.to_owned(), |text, phrase| text.replace(phrase, " "));
    let spelled_out = [(" u ", " you "), (" r ", " are "), (" ur ", " your ")]
        .iter()
        .fold(format!(" {lower} "), |text, (short, long)| text.replace(short, long));
    topic_of(&lower).or_else(|| topic_of(spelled_out.trim())).or_else(|| {
        let may_be_mistyped = lower.len() <= MAX_REQUEST_BYTES;
        may_be_mistyped.then(|| topic_of(&corrected(spelled_out.trim(), topic_words())))?
    })
}

fn topic_of(lower: &str) -> Option<Topic> {
    let alone = lower.trim_matches(is_mark);
    let fits = |matches: PhraseMatch, phrase: &str| match matches {
        PhraseMatch::Within => holds(lower, phrase),
        PhraseMatch::Alone => is_alone(lower, phrase),
        PhraseMatch::OfYou => is_said_of_you(alone, phrase),
        PhraseMatch::AtHeart => is_hardly_more_than(alone, phrase),
    };
    let found = topics()
        .iter()
        .find(|topic| topic.phrases.iter().any(|phrase| fits(topic.matches, phrase)));
    found.map(|found| found.topic)
}

/// The words of all topics' phrases.
fn topic_words() -> &'static BTreeSet<&'static str> {
    static WORDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
        let phrases = topics().iter().flat_map(|topic| &topic.phrases);
        phrases.flat_map(|phrase| phrase.split(' ')).collect()
    });
    &WORDS
}

/// Whether a phrase is said about the addressee: "stupid", "you are really stupid", "stupid bot", but not "a stupid
/// mistake"; 「君は本当に賢いね」, but not 「賢い買い物」.
fn is_said_of_you(alone: &str, phrase: &str) -> bool {
    match phrase.is_ascii() {
        true => {
            const BEFORE: [&str; 7] =
                ["you are ", "you're ", "youre ", "you were ", "ur ", "bot is ", "this thing is "];
            const VERY: [&str; 19] = [
                "so ", "such ", "really ", "very ", "just ", "pretty ", "kinda ", "kind of ",
                "sort of ", "a bit ", "a little ", "quite ", "rather ", "too ", "totally ", "a ",
                "not very ", "actually ", "still ",
            ];
            let is_next = |rest: &str| {
                let rest = without_prefixes(rest, &VERY);
                rest.starts_with(phrase) && holds(rest, phrase)
            };
            let behind = BEFORE.iter().flat_map(|word| {
                alone.match_indices(word).map(|(at, word)| &alone[at + word.len()..])
            });
            alone == phrase
                || behind.into_iter().any(is_next)
                || holds(alone, &format!("{phrase} bot"))
        }
        false => {
            const YOU: [&str; 10] = [
                "あなた", "君", "きみ", "お前", "おまえ", "あんた", "このボット", "ボット", "は",
                "って",
            ];
            const VERY: [&str; 8] =
                ["本当に", "ほんとに", "ほんと", "マジで", "まじで", "すごく", "とても", "この"];
            const ENDINGS: [&str; 10] =
                ["です", "だ", "ね", "よ", "なあ", "なー", "な", "ぞ", "わ", "ー"];
            let mut rest = without_prefixes(without_prefixes(alone, &YOU), &VERY);
            while rest != phrase {
                let shorter = ENDINGS.iter().find_map(|ending| rest.strip_suffix(ending));
                let Some(shorter) = shorter else { return false };
                rest = shorter.trim_end_matches(is_mark);
            }
            true
        }
    }
}

/// Whether the text is the phrase with hardly any content: "I'm so sorry, my bad", but not "sorry I'm late" and not
/// 「すみません、会議は何時ですか」.
fn is_hardly_more_than(alone: &str, phrase: &str) -> bool {
    if !holds(alone, phrase) {
        return false;
    }
    // What the author did to the addressee: "sorry, I did not mean to wake you", 「ごめんね、起こしちゃった」.
    const INTENTIONS: [&str; 6] = [
        "i did not mean to", "i didn't mean to", "didn't mean that", "didn't mean it",
        "つもりはな", "つもりじゃな",
    ];
    const REGRETS: [&str; 3] = ["ちゃった", "ちゃいました", "てしまいました"];
    let tells_deed =
        holds_any(alone, &INTENTIONS) || REGRETS.iter().any(|end| alone.ends_with(end));
    if alone.starts_with(phrase) && tells_deed {
        return true;
    }
    // The longest first, so that no shorter word leaves a part of a longer one.
    let rest = List::ApologyWords.phrases().iter().fold(alone.to_owned(), |rest, word| {
        let places = rest.match_indices(word).map(|(at, _)| at);
        let whole: Vec<usize> = places.filter(|at| is_whole_word(&rest, *at, word)).collect();
        let mut rest = rest.clone();
        for at in whole.into_iter().rev() {
            rest.replace_range(at..at + word.len(), " ");
        }
        rest
    });
    rest.chars().all(|character| !character.is_alphanumeric())
}
