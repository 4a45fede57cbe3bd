//! What a question asks for, and whether a text states it, judging by its form. "The cache is slow" does not state
//! who looks at the cache, and "it is in room 4" does not state when it begins.

use aizuchi_model::recall::content_words::content_words;
use aizuchi_structure::cues::Cues;
use aizuchi_structure::lexicon::AnswerTopic;

use crate::builtin::matching::{holds_any, normalize};
use crate::builtin::phrases::List;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    Time,
    Amount,
    Person,
    Place,
    Reason,
    Way,
    /// A choice, a thing, or yes or no.
    Other,
}

impl QuestionKind {
    pub fn from_question(question: &str) -> Self {
        let lower = normalize(question);
        let holds_word = |words: &[&str]| holds_any(&lower, words);
        match AnswerTopic::find(&lower) {
            _ if asks_who(question) => QuestionKind::Person,
            // "does anyone know the standup time?"
            AnswerTopic::Person | AnswerTopic::Thing | AnswerTopic::Other
                if holds_word(&["time", "date", "時間", "日時", "日程", "日付"]) =>
            {
                QuestionKind::Time
            }
            AnswerTopic::Person | AnswerTopic::Thing | AnswerTopic::Other
                if holds_word(&["location", "place", "address", "場所"]) =>
            {
                QuestionKind::Place
            }
            AnswerTopic::Time => QuestionKind::Time,
            AnswerTopic::Amount => QuestionKind::Amount,
            AnswerTopic::Place => QuestionKind::Place,
            AnswerTopic::Reason => QuestionKind::Reason,
            AnswerTopic::Way => QuestionKind::Way,
            AnswerTopic::Person | AnswerTopic::Choice | AnswerTopic::Thing | AnswerTopic::Other => {
                QuestionKind::Other
            }
        }
    }

    /// Whether a text on the subject states what is asked for. Whether it names a person also depends on the
    /// question.
    pub fn is_answered_by(self, text: &str) -> bool {
        match self {
            QuestionKind::Time => states_time(text),
            QuestionKind::Amount => states_amount(text),
            QuestionKind::Place => names_place(text),
            QuestionKind::Reason => holds_any(&normalize(text), List::Reasons.phrases()),
            QuestionKind::Person | QuestionKind::Way | QuestionKind::Other => true,
        }
    }
}

/// Whether a question asks for a person: "who has the key?", 「誰が当番？」, but not "does anyone know …?" and 「誰か知ってる？」.
pub fn asks_who(question: &str) -> bool {
    let lower = normalize(question);
    let is_somebody = |rest: &str| rest.starts_with(['か', 'も']);
    let asks_japanese = ["誰", "だれ", "どなた"].iter().any(|who| {
        let mut places = lower.match_indices(who);
        places.any(|(at, who)| !is_somebody(&lower[at + who.len()..]))
    });
    let mut words = lower.split(|character: char| !character.is_alphanumeric());
    asks_japanese || words.any(|word| ["who", "whose", "whom"].contains(&word))
}

/// Whether a text names a time or a day: "at 3", "15:30", "two hours", 「15時」, but not "3000 euros".
fn states_time(text: &str) -> bool {
    const BEFORE: [&str; 11] =
        ["at", "by", "until", "till", "from", "around", "before", "after", "since", "past", "half"];
    const AMOUNTS: [&str; 12] = [
        "eur", "usd", "dollar", "pound", "yen", "%", "percent", "people", "piece", "item", "euro",
        "kg",
    ];
    const UNITS: [&str; 22] = [
        ":", "am", "pm", "h", "min", "hour", "day", "week", "month", "year", "o'clock", "/", "-",
        "th", "st", "nd", "rd", "時", "分", "日", "月", "年",
    ];
    let lower = normalize(text);
    let is_time = |(at, _): (usize, char)| {
        let digits: usize = lower[at..].bytes().take_while(u8::is_ascii_digit).count();
        let behind = &lower[at + digits..];
        let next = behind.strip_prefix(' ').unwrap_or(behind);
        let is_unit = |unit: &str| {
            next.strip_prefix(unit).is_some_and(|rest| {
                unit.len() > 2
                    || !rest.starts_with(|character: char| character.is_ascii_alphabetic())
            })
        };
        let before = lower[..at].split_whitespace().next_back().unwrap_or_default();
        let is_amount = AMOUNTS.iter().any(|unit| next.starts_with(unit));
        let is_all = || behind.trim_matches(|it: char| !it.is_alphanumeric()).is_empty() && at == 0;
        UNITS.iter().any(|unit| is_unit(unit)) || BEFORE.contains(&before) && !is_amount || is_all()
    };
    let begins_number = |(at, character): &(usize, char)| {
        character.is_ascii_digit()
            && !lower[..*at].ends_with(|before: char| before.is_ascii_digit())
    };
    // 「六時」
    let in_kanji = ["時", "日", "月", "分", "年"].iter().any(|unit| {
        let mut places = lower.match_indices(unit);
        places.any(|(at, _)| lower[..at].ends_with(|it: char| "一二三四五六七八九十".contains(it)))
    });
    in_kanji
        || lower.char_indices().filter(begins_number).any(is_time)
        || holds_any(&lower, List::Days.phrases())
        || holds_any(&lower, List::Hours.phrases())
}

/// Whether a text states a number that is neither a date nor a time of day.
fn states_amount(text: &str) -> bool {
    const CLOCK: [&str; 11] = ["月", "日", "時", ":", "/", "am", "pm", "th", "st", "nd", "rd"];
    let lower = normalize(text);
    let begins_number = |(at, character): &(usize, char)| {
        character.is_ascii_digit()
            && !lower[..*at].ends_with(|before: char| before.is_ascii_digit())
    };
    let is_amount = |(at, _): (usize, char)| {
        let behind = lower[at..].trim_start_matches(|character: char| character.is_ascii_digit());
        let is_clock = CLOCK.iter().any(|unit| behind.starts_with(unit));
        behind.starts_with("時間") || !is_clock && !lower[..at].ends_with([':', '/'])
    };
    lower.char_indices().filter(begins_number).any(is_amount)
        || Cues::from_text(text).contains(Cues::NUMBER)
            && !lower.contains(|it: char| it.is_ascii_digit())
        || holds_any(&lower, List::Numbers.phrases())
}

/// Whether a text names a place: "on the shelf", 「棚の上」, but not "on Friday".
fn names_place(text: &str) -> bool {
    const BEFORE: [&str; 17] = [
        "in", "on", "at", "under", "behind", "near", "inside", "beside", "above", "below", "by",
        "from", "into", "to", "with", "has", "have",
    ];
    const ARTICLES: [&str; 8] = ["the", "a", "an", "my", "our", "your", "this", "that"];
    let lower = normalize(text);
    let words: Vec<&str> = lower
        .split(|character: char| !(character.is_alphanumeric() || character == '\''))
        .filter(|word| !word.is_empty())
        .collect();
    let is_place = |at: usize| {
        let mut rest = words[at + 1..].iter().skip_while(|word| ARTICLES.contains(word));
        rest.next().is_some_and(|word| {
            !word.starts_with(|character: char| character.is_ascii_digit())
                && !List::Days.phrases().contains(word)
                && !List::Hours.phrases().contains(word)
        })
    };
    let mut prepositions = (0..words.len()).filter(|at| BEFORE.contains(&words[*at]));
    prepositions.any(is_place) || holds_any(&lower, List::Places.phrases())
}

/// Whether a text is about its author, or about a person whom the question does not name.
pub fn is_about_somebody(text: &str, question: &str, user_names: &[&str]) -> bool {
    let (lower, asked) = (normalize(text), normalize(question));
    let names_other = || {
        user_names
            .iter()
            .map(|name| name.to_lowercase())
            .any(|name| !name.is_empty() && lower.contains(&name) && !asked.contains(&name))
    };
    Cues::from_text(text).intersects(Cues::FIRST_PERSON | Cues::OFFERS)
        || holds_any(&lower, List::Undertaken.phrases())
        || names_other()
        || names_stranger(text, &asked)
}

/// Whether a text names a person, judging by its characters, whom the question does not name.
fn names_stranger(text: &str, question: &str) -> bool {
    let is_new = |name: &str| !name.is_empty() && !question.contains(&name.to_lowercase());
    let mut honorifics = text.match_indices("さん");
    let is_name = |at: usize| {
        let before: Vec<char> = text[..at].chars().rev().take(2).collect();
        is_new(&before.iter().rev().collect::<String>())
    };
    if honorifics.any(|(at, _)| is_name(at)) {
        return true;
    }
    let mut words = text.split_whitespace().map(|word| {
        word.split(|character: char| !character.is_alphanumeric()).next().unwrap_or_default()
    });
    // The first word of a sentence is capitalized, too.
    let first = words.next().unwrap_or_default();
    let mut words = words.peekable();
    let tells = ["is", "has", "was", "will", "can", "does", "did", "takes", "had", "owns"];
    let is_subject = words.peek().is_some_and(|next| tells.contains(next));
    let is_named = |word: &str| {
        word.starts_with(|character: char| character.is_ascii_uppercase())
            && !content_words(word).is_empty()
            && !List::Days.phrases().contains(&&*word.to_lowercase())
            && is_new(word)
    };
    (is_subject && is_named(first)) || words.any(is_named)
}

/// A question about a person is shorter. The limit matters because each character is examined.
const MAX_QUESTION_BYTES: usize = 500;

/// The person that a question asks about, as written: "who is Mia?", 「佐藤さんって誰？」, but not "who is on call?".
pub fn person_asked_about(question: &str) -> Option<String> {
    let lower = normalize(question);
    if lower.len() > MAX_QUESTION_BYTES {
        return None;
    }
    let behind = ["who is ", "who's ", "who was "];
    let before = [
        "って誰", "って、誰", "とは誰", "は誰", "ってだれ", "はだれ", "って何者", "ってどんな人",
        "はどんな人",
    ];
    let behind = behind.iter().find_map(|start| lower.split_once(start)).map(|it| it.1);
    let before = before.iter().find_map(|end| lower.split_once(end)).map(|it| it.0);
    let subject = behind.or(before)?.trim_matches(|character: char| !character.is_alphanumeric());
    let is_written = |at: &usize| question[*at..].to_lowercase().starts_with(subject);
    let at = question.char_indices().map(|(at, _)| at).find(is_written)?;
    let written: String = question[at..].chars().take(subject.chars().count()).collect();
    // 「君って誰？」 asks who the mind is.
    const YOU: [&str; 6] = ["君", "きみ", "あなた", "お前", "おまえ", "あんた"];
    let is_name = !subject.contains(' ') && written.starts_with(char::is_uppercase);
    let has_honorific =
        ["さん", "くん", "君", "ちゃん", "氏"].iter().any(|it| subject.ends_with(it));
    let is_somebody = !subject.is_empty() && !YOU.contains(&subject);
    (is_somebody && (is_name || has_honorific)).then_some(written)
}

/// Whether a text says who a person is: "Sara is our designer", 「佐藤さんは新しい人です」.
pub fn says_who_is(person: &str, text: &str) -> bool {
    const ENDINGS: [&str; 7] = ["です", "ですよ", "だよ", "でした", "である", "だ", "の人"];
    let (lower, person) = (normalize(text), person.to_lowercase());
    let behind = |form: &str| lower.split_once(&format!("{person}{form}")).map(|it| it.1);
    let is_defined = |rest: &str| {
        let rest = rest.trim_end_matches(|character: char| !character.is_alphanumeric());
        ENDINGS.iter().any(|ending| rest.ends_with(ending))
    };
    behind(" is ").is_some() || behind(" was ").is_some() || behind("は").is_some_and(is_defined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_tells_what_is_asked_for_or_not() {
        for (question, text, expected) in [
            ("when is the deploy?", "the deploy is on Friday", true),
            ("when is the demo?", "it starts at 3", true),
            ("when is the demo?", "15:30", true),
            ("when is it?", "the budget is 3000 euros", false),
            ("when is the party?", "for the party we need balloons", false),
            ("会議は何時？", "15時から", true),
            ("会議は何時？", "六時に始まります", true),
            ("合宿はいつ？", "合宿の予算は30万円です", false),
            ("how much is it?", "3000 euros", true),
            ("how many people come?", "about a dozen", true),
            ("ランチは何人来る？", "チームランチは12月3日です", false),
            ("ランチは何人来る？", "8人です", true),
            ("how much is it?", "at 15:30", false),
            ("anyone know the standup time?", "standup moves to 9:45", true),
            ("how many people come?", "Mia asked the caterer", false),
            ("where do we meet?", "we meet at nine", false),
            ("where is the key?", "it hangs behind the bar", true),
            ("where is the retro?", "the retro is on Friday", false),
            ("where is the retro?", "at 3 in the blue room", true),
            ("鍵はどこ？", "棚の上です", true),
            ("why is it down?", "because the disk is full", true),
            ("why is it down?", "it is down", false),
            ("what is it?", "a pump", true),
        ] {
            assert_eq!(
                QuestionKind::from_question(question).is_answered_by(text),
                expected,
                "{question} {text}"
            );
        }
    }

    #[test]
    fn who_somebody_is_and_who_does_something_are_two_questions() {
        assert_eq!(person_asked_about("who is Sara?").as_deref(), Some("Sara"));
        assert_eq!(person_asked_about("佐藤さんって誰？").as_deref(), Some("佐藤さん"));
        assert_eq!(person_asked_about("who is on call?"), None);
        assert_eq!(person_asked_about("送別会は誰の？"), None);
        assert_eq!(person_asked_about("君って誰が作ったの？"), None);
        assert!(says_who_is("sara", "Sara is our designer"));
        assert!(!says_who_is("sara", "Sara came late"));
        assert!(!says_who_is("Sara", "for Sara's birthday"));
        assert!(says_who_is("佐藤さん", "佐藤さんは新しいデザイナーです"));
        assert!(!says_who_is("佐藤さん", "佐藤さんは明日休みます"));
    }
}
