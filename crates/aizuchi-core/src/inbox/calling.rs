//! Whether a message calls the persona by its name without a mark: "Aizuchi, could you …", 「Aizuchi、…」. Talk about
//! it, as in "Aizuchi is slow today", is no call, and where in doubt it is talk about it.

use aizuchi_structure::cues::Cues;
use aizuchi_structure::prose;

/// What may stand before the name.
const GREETINGS: [&str; 16] = [
    "hey",
    "hi",
    "hello",
    "ok",
    "okay",
    "yo",
    "so",
    "please",
    "ねえ",
    "ねぇ",
    "あの",
    "すみません",
    "すいません",
    "おーい",
    "こんにちは",
    "おはよう",
];
const HONORIFICS: [&str; 5] = ["さん", "ちゃん", "くん", "君", "様"];
/// What a request to the one who was named begins with.
const REQUESTS: [&str; 38] = [
    "can",
    "could",
    "would",
    "will",
    "do",
    "did",
    "does",
    "are",
    "is",
    "have",
    "should",
    "shall",
    "what",
    "what's",
    "when",
    "where",
    "who",
    "who's",
    "how",
    "why",
    "which",
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
    "look",
    "say",
    "list",
    "write",
    "translate",
    "any",
];
/// What a request ends with.
const REQUEST_ENDINGS: [&str; 12] = [
    "ください",
    "下さい",
    "教えて",
    "お願い",
    "おねがい",
    "くれる",
    "もらえる",
    "くれない",
    "頼む",
    "まとめて",
    "助けて",
    "ほしい",
];

/// Whether `text` surely calls the one with this name.
pub fn is_call(text: &str, name: &str) -> bool {
    let prose = prose(text);
    let name = name.to_lowercase();
    let text = prose.trim();
    !name.is_empty() && (calls_at_start(text, &name) || calls_at_end(text, &name))
}

fn calls_at_start(text: &str, name: &str) -> bool {
    let text = without_greeting(text);
    let Some(rest) = text.strip_prefix(name) else { return false };
    let rest = HONORIFICS.iter().find_map(|honorific| rest.strip_prefix(honorific)).unwrap_or(rest);
    let body = rest.trim_start_matches(is_pause);
    let is_marked = rest.starts_with(|letter: char| !letter.is_whitespace() && is_pause(letter));
    let is_apart = rest.starts_with(char::is_whitespace);
    let first = body.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').next();
    let begins_request = first.is_some_and(|first| REQUESTS.contains(&first));
    if is_marked {
        return begins_request || is_request(body);
    }
    is_apart
        && begins_request
        && body.split_whitespace().take(4).any(|word| word == "you" || word == "me")
}

/// `…, Aizuchi?`, 「…、Aizuchi？」.
fn calls_at_end(text: &str, name: &str) -> bool {
    let end = text.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let end = HONORIFICS.iter().find_map(|honorific| end.strip_suffix(honorific)).unwrap_or(end);
    let Some(before) = end.strip_suffix(name) else { return false };
    let before = before.trim_end();
    before.ends_with([',', '、', '，']) && is_request(text)
}

/// Whether a text asks for something or speaks to its reader.
fn is_request(text: &str) -> bool {
    let sentence = text.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let cues = Cues::of(text);
    let asks = cues.contains(Cues::ASKS) && cues.intersects(Cues::SECOND_PERSON | Cues::JAPANESE);
    asks || REQUEST_ENDINGS.iter().any(|ending| sentence.ends_with(ending))
        || (cues.contains(Cues::SECOND_PERSON) && cues.contains(Cues::QUESTION_WORD))
}

fn without_greeting(text: &str) -> &str {
    let greeting = GREETINGS.iter().find_map(|greeting| {
        let rest = text.strip_prefix(greeting)?;
        rest.starts_with(is_pause).then_some(rest)
    });
    greeting.map_or(text, |rest| rest.trim_start_matches(is_pause))
}

fn is_pause(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter, ',' | ':' | '、' | '，' | '：' | '!' | '！' | '…' | '。')
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
            ("Aizuchi, the bot, was restarted", false),
            ("Aizuchi: a companion for your chat", false),
            ("is Aizuchi down again?", false),
            ("did you ask Aizuchi?", false),
            ("thanks Aizuchi", false),
            ("Aizuchi does what you tell it", false),
            ("who is Aizuchi?", false),
            ("`Aizuchi, could you` is what I typed", false),
            ("> Aizuchi, could you sum this up?", false),
            ("Aizuchiって便利ですか", false),
            ("Aizuchiは寝てる？", false),
            ("Aizuchiさんに聞いてください", false),
            ("Aizuchis, what do you do?", false),
            ("", false),
        ] {
            assert_eq!(is_call(text, "Aizuchi"), expected, "{text}");
        }
        assert!(is_call("相槌さん、予定を教えてください", "相槌") && !is_call("hello", ""));
    }
}
