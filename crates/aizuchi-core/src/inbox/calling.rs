//! Whether a message calls the persona by its name without a mark: "Aizuchi, could you …", 「Aizuchi、…」. Talk about
//! it, as in "Aizuchi is slow today", is no call. Thanks and greetings by name are: "thanks Aizuchi". A call is owed an
//! answer, so where in doubt it is talk about it.

use aizuchi_structure::cues::Cues;
use aizuchi_structure::prose;

/// What may stand before the name.
const GREETINGS: [&str; 14] = [
    "hey",
    "hi",
    "hello",
    "ok",
    "okay",
    "yo",
    "please",
    "ねえ",
    "ねぇ",
    "あの",
    "すみません",
    "すいません",
    "おーい",
    "おはよう",
];
const HONORIFICS: [&str; 5] = ["さん", "ちゃん", "くん", "君", "様"];
/// A sentence that begins so asks its reader for something.
const IMPERATIVES: [&str; 13] = [
    "please",
    "tell",
    "help",
    "remind",
    "explain",
    "summarize",
    "summarise",
    "recap",
    "give",
    "show",
    "find",
    "write",
    "translate",
];
/// What a Japanese sentence that asks its reader for something ends with, or holds.
const REQUESTS: [&str; 16] = [
    "ください",
    "下さい",
    "教えて",
    "お願い",
    "おねがい",
    "くれる",
    "もらえる",
    "くれない",
    "まとめて",
    "助けて",
    "どう思",
    "知ってる",
    "知っていますか",
    "わかりますか",
    "分かりますか",
    "できますか",
];

/// What is said to the one whose name stands before or behind it.
const COURTESIES: [&str; 41] = [
    "thanks",
    "thanks a lot",
    "thanks so much",
    "many thanks",
    "thank you",
    "thank you so much",
    "thank you very much",
    "thx",
    "ty",
    "cheers",
    "hello",
    "hello there",
    "hi",
    "hi there",
    "hey",
    "good morning",
    "good afternoon",
    "good evening",
    "good night",
    "goodnight",
    "goodbye",
    "bye",
    "see you",
    "sorry",
    "well done",
    "good job",
    "good bot",
    "nice one",
    "ありがとう",
    "ありがとね",
    "ありがとうございます",
    "ありがとうございました",
    "サンキュー",
    "助かりました",
    "おはよう",
    "おはようございます",
    "こんにちは",
    "こんばんは",
    "おやすみ",
    "おやすみなさい",
    "お疲れさまです",
];

/// Whether `text` surely calls the one with this name.
pub fn is_call(text: &str, name: &str) -> bool {
    let (text, name) = (prose(text), name.to_lowercase());
    let text = text.trim();
    if name.is_empty() {
        return false;
    }
    if is_courtesy(first_sentence(text), &name) {
        return true;
    }
    match behind_name(text, &name) {
        Some((body, true)) => is_request(first_sentence(body)),
        Some((body, false)) => asks(body) && words(body).nth(1) == Some("you"),
        None => calls_at_end(text, &name),
    }
}

/// What stands behind the name that a text begins with, and whether a comma or a colon separates them.
fn behind_name<'t>(text: &'t str, name: &str) -> Option<(&'t str, bool)> {
    let rest = without_greeting(text).strip_prefix(name)?;
    let rest = HONORIFICS.iter().find_map(|honorific| rest.strip_prefix(honorific)).unwrap_or(rest);
    let is_marked = rest.starts_with(is_mark);
    let is_apart = is_marked || rest.starts_with(char::is_whitespace);
    let body = rest.trim_start_matches(|letter| is_mark(letter) || char::is_whitespace(letter));
    is_apart.then_some((body, is_marked))
}

/// `thanks Aizuchi!`, `good morning, Aizuchi`, 「Aizuchi、ありがとう」.
fn is_courtesy(sentence: &str, name: &str) -> bool {
    let Some(at) = sentence.find(name) else { return false };
    let (before, behind) = (&sentence[..at], &sentence[at + name.len()..]);
    let behind = HONORIFICS.iter().find_map(|word| behind.strip_prefix(word)).unwrap_or(behind);
    let goes_on = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    };
    if goes_on(before.chars().next_back()) || goes_on(behind.chars().next()) {
        return false;
    }
    let is_said = |words: &str| {
        COURTESIES.contains(&words.trim_matches(|letter: char| !letter.is_alphanumeric()))
    };
    let is_empty = |words: &str| !words.contains(char::is_alphanumeric);
    is_said(before) && (is_empty(behind) || behind.starts_with(" for "))
        || is_empty(before) && is_said(behind)
}

/// `what do you think, Aizuchi?`, 「どう思う、Aizuchi？」.
fn calls_at_end(text: &str, name: &str) -> bool {
    let end = text.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let end = HONORIFICS.iter().find_map(|honorific| end.strip_suffix(honorific)).unwrap_or(end);
    let Some(before) = end.strip_suffix(name) else { return false };
    let before = before.trim_end();
    // "have you asked it, Aizuchi?" may name what "it" is.
    let is_past = || words(before).next().is_some_and(|word| matches!(word, "did" | "have"));
    let speaks_to_reader =
        || asks(before) && !is_past() && words(before).skip(1).take(2).any(|word| word == "you");
    let requests = || REQUESTS.iter().any(|request| before.contains(request));
    before.ends_with(is_mark) && (speaks_to_reader() || requests())
}

/// Whether a sentence asks its reader for something.
fn is_request(sentence: &str) -> bool {
    let first = words(sentence).next().unwrap_or_default();
    asks(sentence)
        || IMPERATIVES.contains(&first)
        || REQUESTS.iter().any(|part| sentence.contains(part))
}

/// Whether an English sentence is a question, not only part of one that begins like it.
fn asks(sentence: &str) -> bool {
    let cues = Cues::of(sentence);
    cues.contains(Cues::QUESTION_WORD)
        && cues.intersects(Cues::ASKS | Cues::SECOND_PERSON)
        && !cues.contains(Cues::JAPANESE)
}

/// A text up to the mark that ends its first sentence.
fn first_sentence(text: &str) -> &str {
    let end = text.find(['.', '!', '?', '。', '！', '？', '…', '\n']);
    let mark = |end: usize| text[end..].chars().next().map_or(0, char::len_utf8);
    end.map_or(text, |end| &text[..end + mark(end)])
}

fn without_greeting(text: &str) -> &str {
    let greeting = GREETINGS.iter().find_map(|greeting| {
        let rest = text.strip_prefix(greeting)?;
        rest.starts_with(|letter| is_mark(letter) || char::is_whitespace(letter)).then_some(rest)
    });
    let is_pause = |letter: char| is_mark(letter) || letter.is_whitespace();
    greeting.map_or(text, |rest| rest.trim_start_matches(is_pause))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
    words.filter(|word| !word.is_empty())
}

fn is_mark(letter: char) -> bool {
    matches!(letter, ',' | ':' | '、' | '，' | '：')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_from_talk_about_it() {
        for (text, expected) in [
            ("Aizuchi, could you sum this up?", true),
            ("aizuchi: what did Mia say about the pump?", true),
            ("hey Aizuchi, remind us on Friday", true),
            ("Hey Aizuchi can you look that up", true),
            ("what do you think, Aizuchi?", true),
            ("Aizuchi、明日の予定を教えて", true),
            ("Aizuchiさん、どう思いますか？", true),
            ("ねえ、Aizuchi、まとめてください", true),
            ("これどう思う、Aizuchi？", true),
            ("Aizuchi is slow today", false),
            ("Aizuchi: is down again", false),
            ("Aizuchi, which we set up in May, is down", false),
            ("Aizuchi! What a day", false),
            ("Aizuchi: list of open bugs", false),
            ("Aizuchi: does summaries", false),
            ("Aizuchi… why is it always slow", false),
            ("Aizuchi: release notes\nBob, can you review them?", false),
            ("Aizuchi, the bot, was restarted", false),
            ("Aizuchi: a companion for your chat", false),
            ("is Aizuchi down again?", false),
            ("did you ask Aizuchi?", false),
            ("have you tried our bot, Aizuchi?", false),
            ("thanks Aizuchi", true),
            ("Thank you, Aizuchi! 🎉", true),
            ("thanks Aizuchi for the link", true),
            ("good morning Aizuchi", true),
            ("Aizuchi, thanks!", true),
            ("Aizuchi、ありがとう", true),
            ("ありがとうございます、Aizuchiさん！", true),
            ("thanks to Aizuchi we found it", false),
            ("thanks Aizuchi team", false),
            ("thanks, Bob and Aizuchi", false),
            ("hello Aizuchi-two", false),
            ("Aizuchi says hello", false),
            ("Aizuchiのおかげで助かりました", false),
            ("Aizuchi does what you tell it", false),
            ("who is Aizuchi?", false),
            ("`Aizuchi, could you` is what I typed", false),
            ("> Aizuchi, could you sum this up?", false),
            ("Aizuchiって便利ですか", false),
            ("Aizuchiは寝てる？", false),
            ("Aizuchi、今日も落ちてる？", false),
            ("Aizuchiさんに聞いてください", false),
            ("Aizuchis, what do you do?", false),
            ("", false),
        ] {
            assert_eq!(is_call(text, "Aizuchi"), expected, "{text}");
        }
        assert!(is_call("相槌さん、予定を教えてください", "相槌") && !is_call("hello", ""));
    }
}
