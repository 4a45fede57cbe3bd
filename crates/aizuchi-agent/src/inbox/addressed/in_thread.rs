//! Whether a message in a thread counts as addressed to the persona although it does not mention it: the persona has
//! spoken there, or has answered the thread's first message in the channel. It counts unless it names another user,
//! goes on with what users said in the meantime, or only closes the matter. When unsure, it counts.

use std::ops::Range;

use aizuchi_model::chat::{Mention, Message};
use aizuchi_model::context::message_structure::MessageStructure;
use aizuchi_structure::cues::Cues;

use crate::inbox::addressed::by_name::{is_in, requests, words};

/// From this link probability, a message goes on with what another user wrote after the persona.
const GOES_ON: f32 = 0.15;
/// The same for a whole question.
const ASKS_ON: f32 = 0.5;
/// The number of words of a whole question.
const MIN_QUESTION: usize = 5;
/// The probability from which the author of a message that asks for nothing is content.
const CONTENT: f32 = 0.4;
/// Cues of a message that asks for nothing more.
const CLOSING: Cues = Cues::THANKS
    .union(Cues::SOLVED)
    .union(Cues::YES)
    .union(Cues::ACKNOWLEDGES)
    .union(Cues::OFFERS)
    .union(Cues::GOODBYE)
    .union(Cues::WORDLESS)
    .union(Cues::GOOD_NEWS);
/// Words of somebody who has more to say, even after thanks.
const MORE: [&str; 10] = [
    "but ", "though", "however", "one more", "also ", "でも", "けど", "ただ、", "あと、", "ついで",
];
/// Words of somebody who objects, or says what they mean.
const OBJECTIONS: [&str; 17] = [
    ": ", " not ", "wait,", "hm", "which", "mine ", "another", "only ", "don't", "isn't",
    "doesn't", "can't", "のに", "違", "じゃな", "ほか", "からない",
];
/// Words that praise what was said, or tell that it has helped.
const PRAISE: [&str; 36] = [
    "perfect", "brilliant", "awesome", "amazing", "legend", "lifesaver", "bingo", "that's it",
    "that's the one", "worked", "works", "makes sense", "good to know", "phew", "a star",
    "fair enough", "lovely", "did the trick", "explains", "noted", "will do", "神", "完璧", "最高",
    "さすが", "それだ！", "ばっちり", "出せた", "把握", "よかった", "知らなかった", "そうします",
    "みます", "てみる", "やってみ", "勉強になり",
];
const SHORT: &str =
    "ok okay k kk cool nice great good fine wow sweet neat lol haha done fixed おけ";
/// Words before a name.
const OPENERS: &str = "thanks thank hey hi ok okay sure sorry great yes no oh cheers nice";
/// Words with which a sentence goes on.
const CONNECTIVES: &str = "and so well";
const AUXILIARIES: &str = "can could will would do does did are is was have has should";
const PRONOUNS: &str = "i it this that the these those there they we you he she";
const QUESTION_WORDS: &str = "what how when where who which why";
const QUESTION_WORDS_JA: [&str; 8] =
    ["いつ始", "いつから", "いつまで", "どこ", "何時", "いくら", "どれ", "どっち"];
/// What follows a question word that only exclaims: "what a relief".
const EXCLAMATIONS: &str = "a an nice cool great kind i";
/// Words with a capital that are no names.
const NO_NAMES: &str = "monday tuesday wednesday thursday friday saturday sunday english german french japanese \
    however";
const TITLES: [&str; 6] = ["さん", "くん", "ちゃん", "君", "先生", "先輩"];
/// What comes before a title that is no name.
const NOBODY: [&str; 8] = ["皆", "みな", "みんな", "お客", "お母", "お父", "業者", "たく"];
/// How people are asked who are there.
const INVITATIONS: [&str; 6] = ["let's", "shall we", "who's ", "who wants", "who else", "see you"];
/// How a sentence ends that invites them, unless it asks what to do: 「どうしよう」.
const INVITING: [&str; 4] = ["行こう", "やろう", "しよう", "ましょう"];

/// Whether a message in a thread follows up on what the persona said there, or on its answer in the channel to the
/// message that opened the thread. `since` are the messages behind that, up to this one.
pub fn follows_up(talk: &MessageStructure, since: Range<usize>, message: &Message) -> bool {
    let (structure, index) = (talk.structure(), since.end);
    let utterances = structure.utterances();
    let author = utterances[index].author;
    let is_other =
        |mention: &Mention| matches!(mention, Mention::User(user) if *user != message.author.id);
    let is_to_another = utterances[index].addressee.is_some()
        || message.mentions.iter().any(is_other)
        || names_another(&message.text);
    // A whole question that does not speak to anybody is put to the persona, even where others have remarked something.
    let asks_on = utterances[index].cues.intersects(Cues::ASKS | Cues::QUESTION_WORD)
        && !utterances[index].cues.contains(Cues::SECOND_PERSON)
        && utterances[index].length >= MIN_QUESTION;
    let goes_on = since.clone().any(|other| {
        let is_remark = !utterances[other].cues.intersects(Cues::ASKS | Cues::OFFERS);
        let least = if asks_on && is_remark { ASKS_ON } else { GOES_ON };
        utterances[other].author != author && structure.link(index, other) >= least
    });
    let asked = (0..since.start).rfind(|other| utterances[*other].author == author);
    let content = asked.map_or(0.0, |asked| structure.uptake(asked).content);
    let passes_on = since.start.checked_sub(1).is_some_and(|own| utterances[own].passes_on);
    !is_to_another && !passes_on && !goes_on && !only_closes(&message.text, content)
}

/// Whether a text only closes a matter: "thanks, got it". `content` is how probably its author is content.
pub fn only_closes(text: &str, content: f32) -> bool {
    let cues = Cues::from_text(text);
    let lower = text.to_lowercase().replace('’', "'").replace('!', "！");
    let holds = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let plain = lower.trim_end_matches(|it: char| !it.is_alphanumeric());
    let goes_on = cues.intersects(Cues::ASKS | Cues::AGAIN)
        || holds(&MORE)
        || !cues.contains(Cues::THANKS) && (cues.contains(Cues::TROUBLE) || holds(&OBJECTIONS))
        || plain.ends_with(['は', 'か'])
        || asks_on(&lower)
        || requests(text) && !lower.contains("よろしく");
    let is_short = || {
        let words: Vec<&str> = words(&lower).collect();
        words.len() <= 4 && words.iter().any(|word| is_in(SHORT, word))
    };
    !goes_on && (cues.intersects(CLOSING) || holds(&PRAISE) || is_short() || content >= CONTENT)
}

/// Whether a clause asks, without a question mark: "ok what about staging", 「いつ始まる」.
fn asks_on(lower: &str) -> bool {
    lower.split([',', '.', ';', '！', '\n', '。', '、']).any(|clause| {
        let mut words: Vec<&str> = words(clause).collect();
        let is_opener =
            |word: &str| is_in(OPENERS, word) || is_in(SHORT, word) || is_in(CONNECTIVES, word);
        let openers = words.iter().take_while(|word| is_opener(word)).count();
        words.drain(..openers);
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let is_question = is_in(QUESTION_WORDS, word(0)) && !is_in(EXCLAMATIONS, word(1));
        let is_asked = is_in(AUXILIARIES, word(0)) && is_in(PRONOUNS, word(1));
        words.len() >= 3 && (is_question || is_asked)
            || QUESTION_WORDS_JA.iter().any(|word| clause.contains(word))
    })
}

/// Whether a text invites those who are there: "let's meet at ten", 「行きましょう」.
fn invites(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut sentences = lower.split(['。', '！', '!', '？', '?', '\n']);
    INVITATIONS.iter().any(|words| lower.contains(words))
        || sentences.any(|sentence| {
            let end = sentence
                .trim_end_matches(|it: char| !it.is_alphanumeric() || "かねよー".contains(it));
            INVITING.iter().any(|word| end.ends_with(word)) && !sentence.contains("どう")
        })
}

/// Whether a text is put to everybody, or to somebody whom it calls by what looks like a name: "Ben, can you …?",
/// 「桃井さん、…」.
fn names_another(text: &str) -> bool {
    let text = text.trim_start();
    let (first, behind) = text.split_once(' ').unwrap_or((text, ""));
    // "And Ben, …?" calls Ben, but "And Redis?" nobody.
    let is_connective = is_in(CONNECTIVES, &first.trim_end_matches(',').to_lowercase());
    let text = if is_connective { behind } else { text };
    let words: Vec<&str> = words(text).take(3).collect();
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let mut parts = text.split(',').map(str::trim);
    let (first, last) = (parts.next().unwrap_or_default(), parts.next_back());
    // "Does it work with Redis, Postgres?" calls nobody.
    let is_called_last = |last: &str| {
        let speaks = Cues::from_text(text).contains(Cues::SECOND_PERSON);
        is_name(last) && (speaks || first.split(' ').count() <= 3)
    };
    let is_set_off = last.is_some_and(|last| is_name(first) || is_called_last(last));
    let is_opened = is_in(OPENERS, &word(0).to_lowercase()) && is_name(word(1));
    let is_asked =
        is_name(word(0)) && (word(1) == "you" || is_in(AUXILIARIES, word(1)) && word(2) == "you");
    text.starts_with(['@', '＠'])
        || Cues::from_text(text).contains(Cues::TO_ALL)
        || invites(text)
        || is_set_off
        || is_opened
        || is_asked
        || TITLES.iter().any(|title| calls_with(title, text))
}

/// Whether a word looks like a name: no other word that is known begins with a capital.
fn is_name(word: &str) -> bool {
    let word = word.trim_matches(|it: char| !it.is_alphanumeric());
    let is_known = !Cues::from_text(word).difference(Cues::SHORT).is_empty();
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase)
        && letters.clone().next().is_some()
        && letters.all(char::is_lowercase)
        && !is_known
        // "Unfortunately, …" is no name, but "Emily, …" is.
        && !(word.len() > 6 && word.ends_with("ly"))
        && !is_in(NO_NAMES, &word.to_lowercase())
}

/// Whether a text calls somebody with this title.
fn calls_with(title: &str, text: &str) -> bool {
    text.match_indices(title).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + title.len()..]);
        let name = before.rsplit(|it: char| !it.is_alphanumeric()).next().unwrap_or_default();
        (1..=5).contains(&name.chars().count())
            && !NOBODY.iter().any(|nobody| name.ends_with(nobody))
            && (!behind.starts_with(char::is_alphanumeric)
                || behind.starts_with("お願い")
                || requests(behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follow_up_is_told_from_what_is_put_to_others() {
        for (text, expected) in [
            ("Ben, can you look?", true),
            ("thanks for that, can you look, Ben?", true),
            ("Does it work with Redis, Postgres?", false),
            ("倉田さん手伝って", true),
            ("片づけは午前にやろう", true),
            ("倉田さん引っ越したけど次は誰？", false),
            ("And Ben, can you look?", true),
            ("Emily, which branch?", true),
            ("桃井さん、お願いします", true),
            ("じゃあ10時に行きましょう！", true),
            ("Actually, which branch?", false),
            ("Unfortunately, it is gone", false),
            ("However, it fails again", false),
            ("And Redis?", false),
            ("So Windows?", false),
            ("who can I ask for access?", false),
            ("so we should restart it first?", false),
            ("ログインしようとしたら弾かれました", false),
            ("どうしよう", false),
            ("どうしましょう？", false),
            ("たくさんある場合は？", false),
        ] {
            assert_eq!(names_another(text), expected, "{text}");
        }
        for (text, expected) in [
            ("完璧です、このまま提出しますね", true),
            ("では、そうします", true),
            ("Makes sense. I'll do that after lunch", true),
            ("ok, will do that", true),
            ("thanks, what a relief", true),
            ("that is what I needed, thanks", true),
            ("ok what about staging", false),
            ("great, how long does it take", false),
            ("thanks, when does it start", false),
            ("is it done", false),
            ("なるほど、いつから使えますか", false),
            ("設定画面を開くとクラッシュします", false),
            ("再起動してもログアウトします", false),
            ("Let me rephrase: I need the price per seat", false),
        ] {
            assert_eq!(only_closes(text, 0.0), expected, "{text}");
        }
    }
}
