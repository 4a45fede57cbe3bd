//! Replaces names in a report: each person has one pseudonym everywhere, also inside texts, and URLs are masked.

use std::collections::HashMap;
use std::sync::LazyLock;

use aizuchi_model::persona::Language;
use aizuchi_model::texts::report as texts;
use regex::Regex;

use crate::replay::moments::Reason;
use crate::report::builder::BuiltReport;
use crate::report::figures::Report;
use crate::report::moment::{MomentAct, MomentAuthor, MomentMessage, ReportMoment};

/// Which names are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anonymity {
    /// People, and channels with the names of people.
    People,
    /// The names of channels, too.
    All,
}

/// A part of a name with fewer characters may be an ordinary word. It is replaced only within the whole name.
const MIN_PART_CHARACTERS: usize = 3;

/// Parts of names that are also ordinary English words. They are replaced only if they start with a capital letter or
/// follow an `@`.
const WORDS_AND_NAMES: &[&str] = &[
    "abbey", "amber", "angel", "april", "art", "august", "autumn", "basil", "bear", "bill",
    "brand", "brook", "cash", "chance", "chase", "christian", "cliff", "daisy", "dale", "dawn",
    "dean", "drew", "faith", "fox", "frank", "gene", "grace", "grant", "harmony", "heath", "hope",
    "hunter", "ivy", "jack", "jasmine", "joy", "june", "king", "mark", "may", "miles", "page",
    "penny", "pierce", "ray", "rich", "rob", "rose", "sky", "summer", "will",
];

/// Endings that mark a name of one character as a name. Without them, such a name may be an ordinary word, and is
/// replaced only if it stands alone.
const NAME_ENDINGS: [&str; 9] =
    ["さん", "くん", "君", "ちゃん", "様", "さま", "’s", "'s", " asked"];

/// Matches a URL, also without its scheme, which the built-in mind leaves out of its quotes.
static URL: LazyLock<Regex> = LazyLock::new(|| {
    let with_scheme = r"(?:[a-z][a-z0-9+.\-]*://|www\.)";
    let bare = r"(?:[a-z0-9\-]+\.)+(?:com|co|org|net|io|dev|app|jp|ai|me|info|example)\b";
    Regex::new(&format!(r#"(?i)\b(?:{with_scheme}|{bare})[^\s<>"'）」。、…]*"#))
        .expect("the pattern is valid")
});
static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:mailto:)?[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+").expect("the pattern is valid")
});

struct Replacements {
    language: Language,
    /// By user id.
    users: HashMap<String, String>,
    /// The texts to search for, the longest first.
    patterns: Vec<Pattern>,
    channels: HashMap<String, String>,
}

struct Pattern {
    name: String,
    neutral: String,
    /// Whether the search ignores case.
    ignores_case: bool,
    /// Whether it is replaced only if no word character of any script is adjacent.
    stands_alone: bool,
}

/// The report with neutral names.
pub fn anonymize(built: BuiltReport, anonymity: Anonymity, language: Language) -> Report {
    let BuiltReport { mut report, authors } = built;
    let channels = neutral_channels(&report, language, |name| match anonymity {
        Anonymity::People => is_named_after_people(name, &authors),
        Anonymity::All => true,
    });
    let replacements = Replacements::new(&authors, channels, language);
    report.is_anonymous = true;
    for policy in &mut report.policies {
        policy.by_channel.iter_mut().for_each(|channel| replacements.channel(&mut channel.name));
        policy.moments.iter_mut().for_each(|moment| replacements.moment(moment));
    }
    report
}

fn neutral_channels(
    report: &Report,
    language: Language,
    is_replaced: impl Fn(&str) -> bool,
) -> HashMap<String, String> {
    let channels = report.policies.first().map_or(&[][..], |policy| &policy.by_channel);
    let neutral = |(number, name): (usize, &String)| {
        (name.clone(), texts::room(language, &characters(number)))
    };
    let names = channels.iter().map(|channel| &channel.name).enumerate();
    names.filter(|(_, name)| is_replaced(name)).map(neutral).collect()
}

/// Whether a channel has the names of people, as direct messages have in exports.
fn is_named_after_people(channel: &str, authors: &[(String, Vec<String>)]) -> bool {
    let name = channel.trim_start_matches('#');
    // Without the id and the workspace that tell channels with the same name apart.
    let short = name.split_once(" (").map_or(name, |(short, _)| short);
    let short = short.rsplit_once('/').map_or(short, |(_, short)| short);
    // Slack's name for direct messages among several people: their handles.
    if short.starts_with("mpdm-") {
        return true;
    }
    let is_name = |part: &str| {
        let part = part.trim().to_lowercase();
        let mut names = authors.iter().flat_map(|(id, names)| names.iter().chain([id]));
        !part.is_empty() && names.any(|known| known.to_lowercase() == part)
    };
    name.split(", ").chain(short.split(", ")).any(is_name)
}

impl Replacements {
    fn new(
        authors: &[(String, Vec<String>)],
        channels: HashMap<String, String>,
        language: Language,
    ) -> Self {
        let mut users = HashMap::new();
        let mut patterns = Vec::new();
        for (number, (id, names)) in authors.iter().enumerate() {
            let neutral = texts::person(language, &characters(number));
            patterns.push(Pattern::new(id, &neutral, true));
            patterns.extend(names.iter().flat_map(|name| patterns_of_name(name, &neutral)));
            users.insert(id.clone(), neutral);
        }
        for (name, neutral) in &channels {
            let tag = format!("#{}", name.trim_start_matches('#'));
            patterns.push(Pattern::new(&tag, &format!("#{neutral}"), true));
        }
        // An empty name, which a recording may have, is found everywhere.
        patterns.retain(|pattern| {
            !pattern.name.is_empty() && (pattern.stands_alone || !is_one_character(&pattern.name))
        });
        patterns.sort_by(|one, other| {
            let key =
                |pattern: &Pattern| (std::cmp::Reverse(pattern.name.len()), pattern.name.clone());
            key(one).cmp(&key(other))
        });
        Self { language, users, patterns, channels }
    }

    fn moment(&self, moment: &mut ReportMoment) {
        self.channel(&mut moment.channel);
        let messages = moment.before.iter_mut().chain(&mut moment.after).chain(&mut moment.cited);
        messages.for_each(|message| self.message(message));
        match &mut moment.act {
            MomentAct::Said(text) | MomentAct::WouldSay(text) => {
                text.iter_mut().for_each(|text| *text = self.text(text));
            }
            MomentAct::WouldAsk | MomentAct::Silent => {}
        }
        moment.reason.iter_mut().for_each(|reason| self.reason(reason));
        let people = moment.taken_up.iter_mut().chain(&mut moment.mid_talk);
        people.for_each(|one| self.author(&mut one.person));
    }

    fn message(&self, message: &mut MomentMessage) {
        self.author(&mut message.author);
        message.text = self.text(&message.text);
    }

    fn author(&self, author: &mut MomentAuthor) {
        if let Some(neutral) = self.users.get(&author.id) {
            author.name.clone_from(neutral);
        }
    }

    fn reason(&self, reason: &mut Reason) {
        match reason {
            Reason::Limit(text) | Reason::Written(text) => *text = self.text(text),
            Reason::Gate(_) => {}
        }
    }

    fn channel(&self, name: &mut String) {
        if let Some(neutral) = self.channels.get(name) {
            name.clone_from(neutral);
        }
    }

    fn text(&self, text: &str) -> String {
        let text = EMAIL.replace_all(text, texts::email_masked(self.language));
        let text = URL.replace_all(&text, texts::link_masked(self.language)).into_owned();
        let lower = text.to_lowercase();
        let is_there = |pattern: &&Pattern| lower.contains(&pattern.name.to_lowercase());
        let found: Vec<&Pattern> = self.patterns.iter().filter(is_there).collect();
        if found.is_empty() { text } else { replace_all(&text, &found) }
    }
}

impl Pattern {
    fn new(name: &str, neutral: &str, ignores_case: bool) -> Self {
        Self {
            name: name.to_owned(),
            neutral: neutral.to_owned(),
            ignores_case,
            stands_alone: false,
        }
    }

    /// Whether the text goes on with this name as a whole word. Japanese has no spaces between words, so for Japanese
    /// names only ASCII letters count as part of the same word.
    fn is_at(&self, before: &str, rest: &str) -> bool {
        let Some(found) = rest.get(..self.name.len()) else { return false };
        let is_same = match self.ignores_case {
            true => found.to_lowercase() == self.name.to_lowercase(),
            false => found == self.name,
        };
        let is_word = |character: char| match self.stands_alone {
            true => character.is_alphanumeric(),
            false => character.is_ascii_alphanumeric() || character == '_',
        };
        let joins = |one: Option<char>, other: Option<char>| {
            one.is_some_and(is_word) && other.is_some_and(is_word)
        };
        let after = rest.get(self.name.len()..).unwrap_or_default();
        is_same
            && !joins(before.chars().next_back(), found.chars().next())
            && !joins(found.chars().next_back(), after.chars().next())
    }
}

/// Returns the forms in which a person's name may stand in a text.
fn patterns_of_name(name: &str, neutral: &str) -> Vec<Pattern> {
    let mut patterns = vec![Pattern::new(name, neutral, true)];
    let parts =
        name.split(|character: char| character.is_whitespace() || "._-".contains(character));
    let is_part = |part: &&str| part.chars().count() >= MIN_PART_CHARACTERS && *part != name;
    let is_word = |part: &str| WORDS_AND_NAMES.contains(&&*part.to_lowercase());
    for part in parts.filter(is_part) {
        match is_word(part) {
            true => patterns.extend(patterns_of_word(part, neutral)),
            false => patterns.push(Pattern::new(part, neutral, true)),
        }
    }
    if is_one_character(name) {
        patterns.extend(NAME_ENDINGS.map(|ending| {
            Pattern::new(&format!("{name}{ending}"), &format!("{neutral}{ending}"), false)
        }));
        patterns.push(Pattern::new(&format!("@{name}"), &format!("@{neutral}"), true));
        // In Latin letters it is an ordinary word even so: "a".
        if !name.is_ascii() {
            let alone = Pattern::new(name, neutral, false);
            patterns.push(Pattern { stands_alone: true, ..alone });
        }
    }
    patterns
}

/// Returns the forms in which an ordinary word counts as a name.
fn patterns_of_word(word: &str, neutral: &str) -> [Pattern; 3] {
    let mut characters = word.chars();
    let capital = characters
        .next()
        .map(|first| first.to_uppercase().to_string() + &characters.as_str().to_lowercase());
    [
        Pattern::new(&capital.unwrap_or_default(), neutral, false),
        Pattern::new(&word.to_uppercase(), neutral, false),
        Pattern::new(&format!("@{word}"), &format!("@{neutral}"), true),
    ]
}

fn is_one_character(name: &str) -> bool {
    name.chars().count() == 1
}

/// Replaces the longest name at each place, in one pass.
fn replace_all(text: &str, patterns: &[&Pattern]) -> String {
    let mut replaced = String::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        match patterns.iter().find(|pattern| pattern.is_at(&text[..at], &text[at..])) {
            Some(pattern) => {
                replaced.push_str(&pattern.neutral);
                at += pattern.name.len();
            }
            None => {
                replaced.push(character);
                at += character.len_utf8();
            }
        }
    }
    replaced
}

/// A, B, …, Z, AA, AB, …
fn characters(number: usize) -> String {
    let last = char::from(b'A' + (number % 26) as u8);
    match number / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", characters(more - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_wherever_they_stand() {
        let author = |id: &str, name: &str| (id.to_owned(), vec![name.to_owned()]);
        let authors = [
            author("U1", "Ann Meyer"),
            author("U2", "健"),
            author("U3", "bo"),
            author("U4", "田中"),
            author("U5", "will Ödegård"),
        ];
        let channels = HashMap::from([("garden".to_owned(), "room-A".to_owned())]);
        let replacements = Replacements::new(&authors, channels, Language::En);
        for (text, expected) in [
            ("Ann Meyer and Ann: ask @ann meyer", "Person A and Person A: ask @Person A"),
            ("an announcement for bob, bo!", "an announcement for bob, Person C!"),
            ("田中さんと健さん、健康", "Person DさんとPerson Bさん、健康"),
            ("I don’t know, 健. 健康？", "I don’t know, Person B. 健康？"),
            (
                "write to ann.m+x@mail.example or https://ann.example/meyer?x=1 now",
                "write to [e-mail] or [link] now",
            ),
            (
                "made it at github.co… and at code.example/ann?x, fine",
                "made it at [link]… and at [link] fine",
            ),
            ("whether ann or meyer has the key, ask ödegård", {
                "whether Person A or Person A has the key, ask Person E"
            }),
            ("Will will ask @will, thanks WILL", "Person E will ask @Person E, thanks Person E"),
            ("see #garden, not the garden", "see #room-A, not the garden"),
        ] {
            assert_eq!(replacements.text(text), expected);
        }
        assert_eq!([0, 25, 26, 27, 702].map(characters), ["A", "Z", "AA", "AB", "AAA"]);
    }

    #[test]
    fn a_channel_with_the_names_of_people_is_recognized() {
        let authors = [("U1", "Ann Meyer"), ("U2", "Bo (he/him)"), ("U3", "")];
        let authors = authors.map(|(id, name)| (id.to_owned(), vec![name.to_owned()]));
        for (channel, expected) in [
            ("Ann Meyer", true),
            ("#ann meyer", true),
            ("bo (he/him)", true),
            ("T1/Ann Meyer (D123)", true),
            ("Kim, Ann Meyer", true),
            ("mpdm-kim--lee-1", true),
            ("ann-meyer-onboarding", false),
            ("garden", false),
            ("", false),
        ] {
            assert_eq!(is_named_after_people(channel, &authors), expected, "{channel}");
        }
    }

    #[test]
    fn an_empty_name_is_not_searched_for() {
        let authors = [("", ""), ("U1", ""), ("U2", "Ann")];
        let authors = authors.map(|(id, name)| (id.to_owned(), vec![name.to_owned()]));
        let replacements = Replacements::new(&authors, HashMap::new(), Language::En);
        assert_eq!(replacements.text("is Ann there?"), "is Person C there?");
    }
}
