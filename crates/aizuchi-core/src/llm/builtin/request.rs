//! What a message wants of the built-in mind.

use crate::llm::builtin::phrases::{List, Place, Topic, topics};
use aizuchi_structure::cues::Cues;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Its name alone.
    Call,
    Greeting,
    /// To keep this text, as it was written.
    Keep(String),
    /// What `speaker` said, or who said something, about the topic; an empty topic is anything.
    Said {
        speaker: Option<String>,
        topic: String,
    },
    Topic(Topic),
    News(News),
    /// It laughs.
    Laugh,
    /// A question that what was said here may answer, without the call.
    Question(String),
    Statement,
}

/// News that deserve a nod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Good,
    Bad,
}

impl News {
    pub fn find(text: &str) -> Option<Self> {
        let (cues, lower) = (Cues::of(text), normalize(text));
        if cues.contains(Cues::ASKS) {
            return None;
        }
        if holds_any(&lower, List::BadNews.phrases()) {
            return Some(News::Bad);
        }
        let is_good = cues.contains(Cues::GOOD_NEWS) || holds_any(&lower, List::GoodNews.phrases());
        is_good.then_some(News::Good)
    }

    pub fn emoji(self) -> &'static str {
        match self {
            News::Good => "🎉",
            News::Bad => "❤️",
        }
    }
}

impl Request {
    /// What the text wants of a mind named `name`. `people` are the names of those who may have said something.
    pub fn parse<'a>(text: &str, name: &str, people: impl Iterator<Item = &'a str>) -> Self {
        let text = without_call(text, name);
        // "Hi Aizuchi, when …": the call may stand behind the greeting.
        let rest = without_call(without_greeting(&text), name);
        let rest = &*rest;
        if rest.is_empty() {
            return if text.is_empty() { Request::Call } else { Request::Greeting };
        }
        if let Some(kept) = text_to_keep(rest) {
            return Request::Keep(kept);
        }
        let lower = normalize(rest);
        let asks = Cues::of(rest).contains(Cues::ASKS);
        if let Some(said) = find_said(&lower, people) {
            return said;
        }
        if let Some(topic) = find_topic(&lower)
            && (!asks || topic.is_asked())
        {
            return Request::Topic(topic);
        }
        match News::find(rest) {
            Some(news) => Request::News(news),
            None if asks || begins_like_question(rest) => Request::Question(rest.to_owned()),
            None if is_laugh(rest) => Request::Laugh,
            None => Request::Statement,
        }
    }
}

fn find_topic(lower: &str) -> Option<Topic> {
    let alone = lower.trim_matches(is_mark);
    let fits = |place: Place, phrase: &str| match place {
        Place::Within => holds(lower, phrase),
        Place::Alone => alone == phrase,
    };
    let found =
        topics().iter().find(|topic| topic.phrases.iter().any(|phrase| fits(topic.place, phrase)));
    found.map(|found| found.topic)
}

/// "what did Mia say about the pump?", "who mentioned the pump?", 「ミアさんはポンプについて何て言ってた？」.
fn find_said<'a>(lower: &str, people: impl Iterator<Item = &'a str>) -> Option<Request> {
    if !holds_any(lower, List::Said.phrases()) {
        return None;
    }
    let mut speaker = None;
    for person in people {
        let named = person.to_lowercase();
        if !named.is_empty() && holds(lower, &named) {
            speaker = Some(person.to_owned());
        }
    }
    let is_who = [
        "who ",
        "did anyone",
        "did anybody",
        "did somebody",
        "has anyone",
        "誰が",
        "だれが",
        "誰か",
    ]
    .iter()
    .any(|word| lower.contains(word));
    if speaker.is_none() && !is_who {
        return None;
    }
    let behind = List::About.phrases().iter().find_map(|word| {
        let at = lower.find(&format!("{word} "))?;
        Some(&lower[at + word.len()..])
    });
    let before = List::AboutJapanese
        .phrases()
        .iter()
        .find_map(|word| lower.find(word).map(|at| &lower[..at]));
    let topic = behind.or(before).unwrap_or(if is_who { lower } else { "" });
    let topic = match &speaker {
        Some(speaker) => topic.replace(&speaker.to_lowercase(), " "),
        None => topic.to_owned(),
    };
    Some(Request::Said { speaker, topic: topic.trim().to_owned() })
}

/// "remember that the deploy is on Friday" → "the deploy is on Friday". A question keeps nothing.
fn text_to_keep(text: &str) -> Option<String> {
    if text.trim_end().ends_with(['?', '？', 'か']) {
        return None;
    }
    let lower = text.to_lowercase();
    // Where letters change their length in lower case, places cannot be compared.
    let lower = if lower.len() == text.len() { lower } else { text.to_owned() };
    let polite = ["please ", "can you ", "could you ", "would you "];
    let skipped = polite.iter().find(|word| lower.starts_with(**word)).map_or(0, |word| word.len());
    let (lower, text) = (&lower[skipped..], &text[skipped..]);
    let behind = List::KeepBefore.phrases().iter().find_map(|phrase| {
        let rest = lower.strip_prefix(phrase)?;
        let is_cut = phrase.is_ascii() && rest.starts_with(|letter: char| letter.is_alphanumeric());
        (!is_cut).then(|| &text[text.len() - rest.len()..])
    });
    let trimmed = lower.trim_end_matches(is_mark);
    let before = List::KeepBehind.phrases().iter().find_map(|phrase| {
        let rest = trimmed.strip_suffix(phrase)?;
        Some(&text[..rest.len()])
    });
    let kept = before.or(behind)?.trim_matches(|letter| is_mark(letter) || letter == ':');
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// The text without mentions of its name, and without the name where it is called at the beginning or the end.
pub fn without_call(text: &str, name: &str) -> String {
    let mut text = text.to_owned();
    for mention in [format!("@{name}"), format!("＠{name}")] {
        while let Some(at) = find_word(&text, &mention).filter(|_| !name.is_empty()) {
            text.replace_range(at..at + mention.len(), " ");
        }
    }
    let mut rest = text.trim_matches(is_separator);
    rest = rest.strip_prefix("さん").unwrap_or(rest).trim_start_matches(is_separator);
    if !name.is_empty() && find_word(rest, name) == Some(0) {
        let behind = &rest[name.len()..];
        rest = behind.strip_prefix("さん").unwrap_or(behind).trim_start_matches(is_separator);
    }
    let body = rest.trim_end_matches(is_mark);
    let before = body.len().checked_sub(name.len()).filter(|at| body.is_char_boundary(*at));
    let before = before.filter(|at| find_word(&body[*at..], name) == Some(0) && !name.is_empty());
    match before.map(|at| &body[..at]) {
        Some(before) if before.ends_with(is_separator) => {
            before.trim_end_matches(is_separator).to_owned()
        }
        Some(_) | None if body.is_empty() => String::new(),
        Some(_) | None => rest.to_owned(),
    }
}

/// Where a name stands that does not go on: `Aizuchi` is not in `Aizuchi-two`. Latin letters of either case are the same.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let goes_on = |rest: &str| {
        let rest = rest.strip_prefix("さん").unwrap_or(rest);
        rest.starts_with(|next: char| next.is_alphanumeric() || "-_".contains(next))
    };
    text.char_indices().map(|(at, _)| at).find(|at| {
        let found = text.get(*at..at + word.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(word))
            && !goes_on(&text[at + word.len()..])
    })
}

fn without_greeting(text: &str) -> &str {
    let lower = text.to_lowercase();
    let found = List::Greetings.phrases().iter().find_map(|greeting| {
        let rest = lower.strip_prefix(greeting)?;
        let is_cut =
            greeting.is_ascii() && rest.starts_with(|letter: char| letter.is_alphanumeric());
        (!is_cut && lower.len() == text.len()).then(|| &text[text.len() - rest.len()..])
    });
    let Some(rest) = found else { return text };
    let rest = rest.trim_start_matches(|letter| is_mark(letter) || "~〜ー♪".contains(letter));
    // "hello there", "hi all".
    let others =
        ["", "there", "all", "everyone", "team", "again", "friend", "皆さん", "みなさん", "みんな"];
    let is_greeting = others.contains(&rest.trim_matches(is_mark).to_lowercase().as_str());
    if is_greeting { "" } else { rest }
}

/// Many leave the question mark out when they speak to a bot: "who is on call".
fn begins_like_question(text: &str) -> bool {
    Cues::of(text).contains(Cues::QUESTION_WORD)
}

/// A laugh and hardly anything else.
fn is_laugh(text: &str) -> bool {
    const MAX_LETTERS: usize = 12;
    Cues::of(text).contains(Cues::LAUGHS) && text.chars().count() <= MAX_LETTERS
}

/// Lower case, straight quotes, single spaces.
pub fn normalize(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '’' => '\'',
        letter if letter.is_whitespace() => ' ',
        letter => letter,
    });
    letters.collect::<String>().to_lowercase()
}

fn holds_any(lower: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| holds(lower, phrase))
}

/// Whether the text holds the phrase; one in Latin letters as whole words.
fn holds(lower: &str, phrase: &str) -> bool {
    let is_word =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    lower.match_indices(phrase).any(|(at, _)| {
        let begins = phrase.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        let ends = phrase.ends_with(|letter: char| letter.is_ascii_alphanumeric());
        let before = begins && is_word(lower[..at].chars().next_back());
        let behind = ends && is_word(lower[at + phrase.len()..].chars().next());
        !before && !behind
    })
}

fn is_mark(letter: char) -> bool {
    letter.is_whitespace() || "?!.,…？！。、，".contains(letter)
}

fn is_separator(letter: char) -> bool {
    letter.is_whitespace() || ",:、，：".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Request {
        Request::parse(text, "Aizuchi", ["Mia", "Ken", "ミア", "健"].into_iter())
    }

    fn said(speaker: Option<&str>, topic: &str) -> Request {
        Request::Said { speaker: speaker.map(str::to_owned), topic: topic.to_owned() }
    }

    #[test]
    fn requests_are_told_apart() {
        use Request::{Call, Greeting, Laugh, Statement};
        let question = |text: &str| Request::Question(text.to_owned());
        let keep = |text: &str| Request::Keep(text.to_owned());
        let topic = Request::Topic;
        for (text, expected) in [
            ("@Aizuchi", Call),
            ("Aizuchi?", Call),
            ("hello @Aizuchi!", Greeting),
            ("@Aizuchi good morning", Greeting),
            ("@Aizuchi おはようございます！", Greeting),
            ("Hi Aizuchi, who are you?", topic(Topic::Identity)),
            ("@Aizuchi あなたは誰ですか？", topic(Topic::Identity)),
            ("@Aizuchi what can you do for us?", topic(Topic::Abilities)),
            ("@Aizuchi what time is it?", topic(Topic::Time)),
            ("@Aizuchi what time is the meeting?", question("what time is the meeting?")),
            ("@Aizuchi いま何時？", topic(Topic::Time)),
            ("@Aizuchi 会議は何時ですか", question("会議は何時ですか")),
            ("@Aizuchi what day is it today", topic(Topic::Date)),
            (
                "@Aizuchi please remember that the deploy is on Friday.",
                keep("the deploy is on Friday"),
            ),
            ("@Aizuchi remember: milk", keep("milk")),
            ("@Aizuchi デプロイは金曜日だと覚えておいて", keep("デプロイは金曜日だ")),
            ("@Aizuchi 鍵は棚の上って覚えといて！", keep("鍵は棚の上")),
            ("@Aizuchi do you remember the pump?", question("do you remember the pump?")),
            ("@Aizuchi what did Mia say about the pump?", said(Some("Mia"), "the pump?")),
            ("@Aizuchi who said something about the pump?", said(None, "the pump?")),
            ("@Aizuchi ミアさんはポンプについて何て言ってた？", said(Some("ミア"), "さんはポンプ")),
            ("@Aizuchi can you summarise what we said?", topic(Topic::Summary)),
            ("@Aizuchi これまでの話をまとめて", topic(Topic::Summary)),
            ("@Aizuchi what did I miss?", topic(Topic::Recap)),
            ("@Aizuchi are you human?", topic(Topic::IsHuman)),
            ("@Aizuchi thanks a lot!", topic(Topic::Thanks)),
            ("@Aizuchi you are useless", topic(Topic::Insult)),
            ("@Aizuchi is the boring meeting over?", question("is the boring meeting over?")),
            ("@Aizuchi we won the contract!", Request::News(News::Good)),
            ("@Aizuchi うちの犬が亡くなりました", Request::News(News::Bad)),
            ("@Aizuchi the pump is blue", Statement),
            ("Hi Aizuchi, when is it open?", question("when is it open?")),
            ("@Aizuchi who is on call", question("who is on call")),
            ("@Aizuchi what do I hate", question("what do I hate")),
            ("@Aizuchi have a nice day", topic(Topic::Goodbye)),
            ("@Aizuchi haha", Laugh),
            ("@Aizuchi 笑", Laugh),
            ("@Aizuchi-two hello", Statement),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
