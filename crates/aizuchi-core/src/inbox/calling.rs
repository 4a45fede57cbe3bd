//! Whether a message calls the persona by its name without a mention: "Aizuchi, could you …", 「Aizuchi、…」. Talking
//! about it, as in "Aizuchi is slow today", is not a call. Thanks and greetings by name are: "thanks Aizuchi". A call
//! is owed an answer, so doubtful cases count as talking about it.

use aizuchi_structure::cues::Cues;
use aizuchi_structure::prose;

use crate::persona::spelling::{Spelling, spellings};

/// Words that may come before the name.
const GREETINGS: [&str; 17] = [
    "hey",
    "hi",
    "hello",
    "ok",
    "okay",
    "yo",
    "please",
    "ねえ",
    "ねぇ",
    "ねー",
    "なあ",
    "もしもし",
    "あの",
    "すみません",
    "すいません",
    "おーい",
    "おはよう",
];
const HONORIFICS: [&str; 5] = ["さん", "ちゃん", "くん", "君", "様"];
/// How a sentence begins that asks its reader for something.
const IMPERATIVES: [&str; 18] = [
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
    "remember",
    "search",
    "answer",
    "say",
    "repeat",
];
/// How a question begins that needs no punctuation after the name: "Aizuchi when is the deploy?".
const QUESTION_WORDS: [&str; 7] = ["what", "when", "where", "who", "which", "why", "how"];
/// Words that follow a question word in a question.
const AUXILIARIES: [&str; 24] = [
    "is", "are", "was", "were", "do", "does", "did", "can", "could", "should", "will", "would",
    "has", "have", "had", "time", "day", "many", "much", "long", "often", "old", "far", "big",
];
/// What a Japanese sentence that asks its reader for something contains.
const REQUESTS: [&str; 14] = [
    "ください",
    "下さい",
    "教えて",
    "お願い",
    "おねがい",
    "まとめて",
    "助けて",
    "どう思",
    "知ってる",
    "知っていますか",
    "わかりますか",
    "分かりますか",
    "できますか",
    "ちょうだい",
];
/// What such a sentence may also end with.
const REQUEST_ENDINGS: [&str; 20] = [
    "くれる",
    "くれるか",
    "くれない",
    "くれないか",
    "もらえる",
    "もらえるか",
    "ておいて",
    "といて",
    "覚えて",
    "メモして",
    "探して",
    "調べて",
    "見せて",
    "読んで",
    "思い出して",
    "答えて",
    "返事して",
    "手伝って",
    "自己紹介して",
    "笑わせて",
];
/// Questions that, on their own, ask whether the named one is there.
const PRESENCE: [&str; 9] = [
    "聞いてる",
    "聞いてた",
    "聞いていますか",
    "聞こえる",
    "聞こえてる",
    "起きてる",
    "いる",
    "元気",
    "生きてる",
];
/// Words that are said about a program: 「Aizuchi、なんで落ちてるの？」 asks the others, unless the sentence has its own subject.
const ABOUT_IT: [&str; 12] = [
    "落ち", "止ま", "動い", "動か", "壊れ", "死ん", "重い", "遅い", "入れ", "導入", "使っ", "使う",
];
/// Particles that mark the subject of a Japanese sentence.
const SUBJECT_PARTICLES: [&str; 3] = ["は", "って", "が"];
/// Japanese questions that need no subject.
const PLAIN_QUESTIONS: [&str; 4] = ["何時", "何日", "何曜", "いくつ"];

/// Courtesies that are said to the one whose name comes before or after them.
const COURTESIES: [&str; 45] = [
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
    "ねえ",
    "おーい",
    "もしもし",
    "すみません",
];

/// How greetings at a first meeting begin; a name may follow.
const INTRODUCTIONS: [&str; 4] =
    ["nice to meet you", "pleased to meet you", "はじめまして", "初めまして"];

/// Whether `text` certainly calls the persona with this name, however it is spelled. `is_taken` says whether a user has
/// that name.
pub fn is_call(text: &str, name: &str, is_taken: impl Fn(&str) -> bool) -> bool {
    let text = prose(text);
    let text = text.trim();
    spellings(name).iter().any(|spelling| {
        let name = spelling.text.as_str();
        !name.is_empty() && text.contains(name) && calls(text, spelling) && !is_taken(name)
    })
}

/// Whether the text calls the name. `text` is in lower case.
fn calls(text: &str, spelling: &Spelling) -> bool {
    let name = spelling.text.as_str();
    if !spelling.is_word && is_hailed(text, name) {
        return true;
    }
    let (is_marked_call, is_bare_call) = match behind_name(text, name) {
        // Later sentences may be meant for others.
        Some((body, true)) => (is_request(first_sentence(body)), false),
        Some((body, false)) => (false, is_bare_request(body)),
        None => (calls_at_end(text, name), false),
    };
    is_marked_call
        || !spelling.is_word
            && (is_bare_call
                || is_name_alone(text, name)
                || is_courtesy(first_sentence(text), name))
}

/// Returns what follows the name that a text begins with, and whether a comma or a colon separates them.
fn behind_name<'t>(text: &'t str, name: &str) -> Option<(&'t str, bool)> {
    let text = without_greeting(text, name);
    let rest = text.strip_prefix(['@', '＠']).unwrap_or(text).strip_prefix(name)?;
    let rest = without_honorific(rest);
    let is_marked = rest.starts_with(is_mark);
    let is_apart = is_marked || rest.starts_with(char::is_whitespace);
    let body =
        rest.trim_start_matches(|character| is_mark(character) || char::is_whitespace(character));
    is_apart.then_some((body, is_marked))
}

/// Whether the text opens with a greeting and the name: "hey Aizuchi, …", 「ねえAizuchi、…」. Such an opening addresses the
/// named one, whatever follows.
fn is_hailed(text: &str, name: &str) -> bool {
    without_greeting(text, name).len() < text.len()
        && behind_name(text, name).is_some_and(|(body, is_marked)| is_marked && !body.is_empty())
}

fn without_honorific(rest: &str) -> &str {
    HONORIFICS.iter().find_map(|honorific| rest.strip_prefix(honorific)).unwrap_or(rest)
}

/// Whether the text is only the name as a question: `Aizuchi?`, 「Aizuchiさん？」.
fn is_name_alone(text: &str, name: &str) -> bool {
    let rest = without_greeting(text, name).strip_prefix(name).map(without_honorific);
    rest.is_some_and(|rest| matches!(rest.trim(), "?" | "？"))
}

/// Whether the sentence is a courtesy: `thanks Aizuchi!`, `good morning, Aizuchi`, 「Aizuchi、ありがとう」.
fn is_courtesy(sentence: &str, name: &str) -> bool {
    let Some(at) = sentence.find(name) else { return false };
    let (before, behind) = (&sentence[..at], &sentence[at + name.len()..]);
    let behind = HONORIFICS.iter().find_map(|word| behind.strip_prefix(word)).unwrap_or(behind);
    let goes_on = |character: Option<char>| {
        character
            .is_some_and(|character| character.is_ascii_alphanumeric() || "-_".contains(character))
    };
    if goes_on(before.chars().next_back()) || goes_on(behind.chars().next()) {
        return false;
    }
    let is_said = |words: &str| {
        COURTESIES.contains(&words.trim_matches(|character: char| !character.is_alphanumeric()))
    };
    let introduces = |words: &str| {
        let words = words.trim_start_matches(|character: char| !character.is_alphanumeric());
        INTRODUCTIONS.iter().any(|begin| words.starts_with(begin))
    };
    let is_empty = |words: &str| !words.contains(char::is_alphanumeric);
    // "thanks Aizuchi, you're great", but not "thanks Aizuchi, Bob and Mia".
    let goes_on_to_reader = || {
        let of_reader = ["you", "you're", "your"];
        behind.starts_with([',', '、'])
            && (words(behind).any(|word| of_reader.contains(&word)) || behind.contains("助か"))
    };
    is_said(before) && (is_empty(behind) || behind.starts_with(" for ") || goes_on_to_reader())
        || is_empty(before) && (is_said(behind) || introduces(behind) || asks_for_presence(behind))
}

/// Whether the text right after the name asks for presence: 「…いる？」.
fn asks_for_presence(behind: &str) -> bool {
    let asked = behind.trim_end().strip_suffix(['?', '？']);
    asked.is_some_and(|words| PRESENCE.contains(&words.trim()))
}

/// Whether the call is at the end: `what do you think, Aizuchi?`, 「どう思う、Aizuchi？」.
fn calls_at_end(text: &str, name: &str) -> bool {
    let end = text.trim_end_matches(|character: char| !character.is_alphanumeric());
    let end = HONORIFICS.iter().find_map(|honorific| end.strip_suffix(honorific)).unwrap_or(end);
    let Some(before) = end.strip_suffix(name) else { return false };
    let before = before.trim_end();
    // "have you asked it, Aizuchi?" may name what "it" is.
    let is_past = || words(before).next().is_some_and(|word| matches!(word, "did" | "have"));
    let speaks_to_reader = || words(before).skip(1).take(2).any(|word| word == "you");
    let asks_reader =
        || !is_past() && (asks(before) && speaks_to_reader() || begins_question(before));
    let requests = || requests_in_japanese(before) || asks_in_japanese(text);
    before.ends_with(is_mark) && (asks_reader() || requests())
}

/// Whether a sentence after the name and a comma or colon asks its reader for something.
fn is_request(sentence: &str) -> bool {
    let first = words(sentence).next().unwrap_or_default();
    asks(sentence)
        || begins_question(sentence)
        || IMPERATIVES.contains(&first)
        || requests_in_japanese(sentence)
        || asks_in_japanese(sentence)
}

/// Whether a sentence right after the name asks for something: "Aizuchi can you …", "Aizuchi tell us a joke", 「Aizuchi
/// デプロイはいつ？」.
fn is_bare_request(body: &str) -> bool {
    let asks_reader = asks(body) && words(body).nth(1) == Some("you");
    let has_subject = || {
        PLAIN_QUESTIONS.iter().any(|question| body.contains(question)) || subject(body).is_some()
    };
    // A particle after the name makes it a part of the sentence.
    let begins_with_particle = ["は", "が", "って", "の", "に", "を", "も", "と", "で", "から"]
        .iter()
        .any(|particle| body.starts_with(particle));
    asks_reader
        || begins_order(body)
        || begins_question(body) && body.contains('?')
        || !begins_with_particle && has_subject() && asks_in_japanese(first_sentence(body))
}

/// Whether the text begins with an imperative and what follows one: "remember that …", "tell us …". "Aizuchi help is on
/// the page" talks about it, and so does "Aizuchi search that we built".
fn begins_order(body: &str) -> bool {
    const TELLS: [&str; 4] = ["tell", "explain", "show", "say"];
    const READERS: [&str; 2] = ["me", "us"];
    const KEPT: [&str; 8] = ["that", "this", "to", "me", "us", "my", "our", "when"];
    let mut words = first_sentence(body).split_whitespace();
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let second = second.trim_end_matches(|character: char| !character.is_alphanumeric());
    match first {
        "please" => IMPERATIVES.contains(&second),
        "remember" | "remind" => KEPT.contains(&second),
        first if TELLS.contains(&first) => {
            READERS.contains(&second) || ["everyone", "everybody", "what"].contains(&second)
        }
        first => IMPERATIVES.contains(&first) && READERS.contains(&second),
    }
}

/// Whether the text begins with a question word and what follows it in a question: "when is …".
fn begins_question(sentence: &str) -> bool {
    let mut words = words(sentence);
    let first = words.next().unwrap_or_default();
    let (first, is_short) = match first.strip_suffix("'s") {
        Some(first) => (first, true),
        None => (first, false),
    };
    QUESTION_WORDS.contains(&first)
        && (is_short || words.next().is_some_and(|word| AUXILIARIES.contains(&word)))
}

fn requests_in_japanese(sentence: &str) -> bool {
    let end = sentence.trim_end_matches(|character: char| !character.is_alphanumeric());
    // These particles soften a request, and do not change what it asks for.
    let plain = end.trim_end_matches(['ね', 'よ']);
    let is_presence = || sentence.contains(['?', '？']) && PRESENCE.contains(&end);
    REQUESTS.iter().any(|part| sentence.contains(part))
        || REQUEST_ENDINGS.iter().any(|ending| plain.ends_with(ending))
        || is_presence()
}

/// Whether a Japanese sentence asks its reader something, rather than everyone about the named one.
fn asks_in_japanese(sentence: &str) -> bool {
    let cues = Cues::from_text(sentence);
    let is_about_it = || {
        let found = ABOUT_IT.iter().filter_map(|word| sentence.find(word)).min();
        found.is_some_and(|at| subject(&sentence[..at]).is_none())
    };
    let is_plain = || {
        cues.contains(Cues::QUESTION_WORD)
            || ["ですか", "ますか", "ませんか"].iter().any(|ending| sentence.contains(ending))
            || subject(sentence).is_some()
    };
    cues.contains(Cues::JAPANESE | Cues::ASKS) && is_plain() && !is_about_it()
}

/// Returns the subject of a Japanese sentence, if it has one.
fn subject(sentence: &str) -> Option<&str> {
    let subjects = SUBJECT_PARTICLES.iter().filter_map(|particle| sentence.find(particle));
    subjects.filter(|at| *at > 0).min().map(|at| &sentence[..at])
}

/// Whether an English sentence is a whole question, not a part of a sentence that begins like one.
fn asks(sentence: &str) -> bool {
    let cues = Cues::from_text(sentence);
    cues.contains(Cues::QUESTION_WORD)
        && cues.intersects(Cues::ASKS | Cues::SECOND_PERSON)
        && !cues.contains(Cues::JAPANESE)
}

/// Returns a text up to the mark that ends its first sentence.
fn first_sentence(text: &str) -> &str {
    let end = text.find(['.', '!', '?', '。', '！', '？', '…', '\n']);
    let mark = |end: usize| text[end..].chars().next().map_or(0, char::len_utf8);
    end.map_or(text, |end| &text[..end + mark(end)])
}

fn without_greeting<'t>(text: &'t str, name: &str) -> &'t str {
    let is_pause = |character: char| is_mark(character) || character.is_whitespace();
    let mut rests = GREETINGS.iter().filter_map(|greeting| {
        let rest = text.strip_prefix(greeting)?;
        // Japanese has no spaces.
        let is_apart =
            rest.starts_with(is_pause) || (!greeting.is_ascii() && rest.starts_with(name));
        is_apart.then(|| rest.trim_start_matches(is_pause))
    });
    rests.next_back().unwrap_or(text)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|character: char| !character.is_alphanumeric() && character != '\'');
    words.filter(|word| !word.is_empty())
}

fn is_mark(character: char) -> bool {
    matches!(character, ',' | ':' | '、' | '，' | '：')
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
            ("thank you Aizuchi, you're great", true),
            ("ありがとうAizuchi、助かった", true),
            ("thanks Aizuchi, Bob and Mia!", false),
            ("good morning Aizuchi, Bob, Mia", false),
            ("bye Aizuchi, we move to another bot", false),
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
            assert_eq!(is_call(text, "Aizuchi", |_| false), expected, "{text}");
        }
        let calls = |text: &str, name: &str| is_call(text, name, |_| false);
        assert!(calls("相槌さん、予定を教えてください", "相槌") && !calls("hello", ""));
        assert!(!is_call("Aizuchi, could you sum this up?", "Aizuchi", |name| name == "aizuchi"));
    }

    #[test]
    fn questions_that_newcomers_ask_by_name_are_calls() {
        for (text, expected) in [
            ("Aizuchi、デプロイはいつ？", true),
            ("Aizuchiさん、今何時ですか？", true),
            ("ねえAizuchi、聞いてる？", true),
            ("Aizuchi、ラーメン食べたのは誰だっけ", true),
            ("Aizuchi デプロイはいつ？", true),
            ("Aizuchi 今何時？", true),
            ("Aizuchi、デプロイは木曜日って覚えておいて", true),
            ("Aizuchi、デプロイが止まってるのはなぜ？", true),
            ("Aizuchi？", true),
            ("おーい、Aizuchi", true),
            ("デプロイはいつ、Aizuchi？", true),
            ("アイズチ、今何時ですか？", true),
            ("アイズチさん デプロイはいつですか", true),
            ("アイヅチ、ありがとう", true),
            ("あいづち、デプロイはいつ？", true),
            ("相槌、デプロイはいつですか？", true),
            ("Aizuchi, when is the deploy?", true),
            ("Aizuchi when is the deploy?", true),
            ("aizuchi what's the time?", true),
            ("when is the deploy, Aizuchi?", true),
            ("Aizuchi, remember that the deploy is on Friday", true),
            ("hey Aizuchi", true),
            ("Aizuchi、なんで落ちてるの？", false),
            ("Aizuchi、いつ入れたんだっけ？", false),
            ("Aizuchi いつ導入するの？", false),
            ("Aizuchi は便利ですか？", false),
            ("Aizuchi の設定はどこですか？", false),
            ("Aizuchiはいつ話すの？", false),
            ("Aizuchi、よく覚えてるなあ", false),
            ("Aizuchi、使ってる人いる？", false),
            ("Aizuchi、田中さんが直してくれるらしい", false),
            ("Aizuchi、まとめを見せてくれる？", true),
            ("Aizuchi、一覧を作ってくれないか", true),
            ("Aizuchi、便利だよね", false),
            ("Aizuchi、今日は静かだな", false),
            ("アイズチって何？", false),
            ("アイズチは落ちてる？", false),
            ("あいづちが多いと言われました", false),
            ("相槌を打つのはいつがいいですか？", false),
            ("相槌 どう打てばいいですか？", false),
            ("相槌ありがとう", false),
            ("Aizuchi tell us a joke", true),
            ("Aizuchi remember that Sara's birthday is next Friday", true),
            ("hey Aizuchi tell me something nice", true),
            ("Aizuchi please find the link", true),
            ("Aizuchi help is on the page", false),
            ("Aizuchi remember feature is broken", false),
            ("Aizuchi remind command isn't documented", false),
            ("Aizuchi answer that Bob quoted was wrong", false),
            ("Aizuchi search that we built is slow", false),
            ("Aizuchi recap everyone got was empty", false),
            ("Aizuchi remember? We turned it off in May", false),
            ("Aizuchi search: what we know so far", false),
            ("Aizuchi help. That page is useful", false),
            ("Aizuchi please? No idea what that is", false),
            ("Aizuchi find of the day", false),
            ("Aizuchi remembers everything", false),
            ("Aizuchi when it was new", false),
            ("Aizuchi who?", false),
            ("when did you install it, Aizuchi or Bob?", false),
            ("did you restart it, Aizuchi?", false),
        ] {
            assert_eq!(is_call(text, "Aizuchi", |_| false), expected, "{text}");
        }
    }
}
