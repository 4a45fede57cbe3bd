//! The phrases by which the built-in mind knows what is wanted of it. They stand in `phrases.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use strum::{EnumString, VariantArray};

/// What can be told from a phrase alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Topic {
    Time,
    Date,
    /// Who it is.
    Identity,
    /// Whether it is a bot.
    IsBot,
    /// Whether it is a person.
    IsHuman,
    /// Whether it is another assistant that people know.
    IsOtherModel,
    /// What it can do.
    Abilities,
    /// How to connect a model, or which one it has.
    Model,
    Joke,
    /// What it thinks of something.
    Opinion,
    /// To be told something at a time.
    Reminder,
    /// What was said last.
    Recap,
    /// The same in short.
    Summary,
    /// Which questions wait for an answer.
    Open,
    /// Whether somebody answered the one who asks.
    Answered,
    /// What it stores, and who sees it.
    Privacy,
    /// To forget one matter.
    ForgetOne,
    /// How it is silenced.
    Controls,
    /// What it knows about the one who asks.
    AboutAsker,
    /// To tell somebody something.
    PassOn,
    /// When it speaks.
    Manner,
    /// Which languages it understands.
    Languages,
    /// What people ask one another about themselves.
    Personal,
    /// Its answer was wrong.
    Correction,
    Insult,
    Thanks,
    Apology,
    Praise,
    /// "I see": it asks for nothing more.
    Acknowledgment,
    /// How it is.
    Mood,
    /// Whether it is there.
    Presence,
    /// Somebody is back.
    Return,
    Goodbye,
}

impl Topic {
    /// Whether a question may be about it. "Is the boring meeting over?" is no insult.
    pub fn is_asked(self) -> bool {
        match self {
            Topic::Time
            | Topic::Date
            | Topic::Identity
            | Topic::IsBot
            | Topic::IsHuman
            | Topic::IsOtherModel
            | Topic::Summary
            | Topic::Abilities
            | Topic::Model
            | Topic::Joke
            | Topic::Opinion
            | Topic::Reminder
            | Topic::Recap
            | Topic::Open
            | Topic::Answered
            | Topic::Privacy
            | Topic::ForgetOne
            | Topic::Controls
            | Topic::AboutAsker
            | Topic::PassOn
            | Topic::Manner
            | Topic::Languages
            | Topic::Personal
            | Topic::Mood
            | Topic::Presence => true,
            Topic::Correction
            | Topic::Insult
            | Topic::Thanks
            | Topic::Apology
            | Topic::Praise
            | Topic::Acknowledgment
            | Topic::Return
            | Topic::Goodbye => false,
        }
    }
}

/// How a phrase has to stand in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhraseMatch {
    /// Anywhere, as whole words where it is in Latin letters.
    Within,
    /// It is the whole text.
    Alone,
    /// It is said of the one who is spoken to.
    OfYou,
    /// The text says hardly more.
    AtHeart,
}

/// What the other lists of phrases are for; the file says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum List {
    NotMeant,
    Greetings,
    KeepBefore,
    KeepBehind,
    Said,
    About,
    AboutJapanese,
    BadNews,
    GoodNews,
    SmallTalk,
    Changes,
    Days,
    Missed,
    SummaryWords,
    ApologyWords,
    AfterWork,
    Night,
    FirstMeeting,
    Morning,
    Day,
    Evening,
    Tomorrow,
    Yesterday,
    Hours,
    Numbers,
    Places,
    Reasons,
    Undertaken,
    CommonKana,
    Again,
    Interjections,
    Softeners,
    Orders,
    Requests,
    GoesOn,
    Lookups,
    Laughs,
    Kinds,
}

impl List {
    pub fn phrases(self) -> &'static [&'static str] {
        PHRASES.lists.get(&self).map_or(&[], Vec::as_slice)
    }
}

/// What phrases ask for. The first that fits counts.
pub fn topics() -> &'static [TopicPhrases] {
    &PHRASES.topics
}

#[derive(Debug)]
pub struct TopicPhrases {
    pub topic: Topic,
    pub matches: PhraseMatch,
    pub phrases: Vec<&'static str>,
}

#[derive(Debug, Default)]
struct Phrases {
    topics: Vec<TopicPhrases>,
    lists: HashMap<List, Vec<&'static str>>,
}

static PHRASES: LazyLock<Phrases> =
    LazyLock::new(|| parse(include_str!("phrases.txt")).expect("a test parses this file"));

/// Reads sections of a heading and its phrases. The error names the line that cannot be read.
fn parse(file: &'static str) -> Result<Phrases, String> {
    let mut all = Phrases::default();
    let mut section: Option<&mut Vec<&'static str>> = None;
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let problem = || format!("phrases.txt: {line:?}");
        section = match line.strip_prefix('[') {
            Some(heading) => {
                let heading = heading.strip_suffix(']').ok_or_else(problem)?;
                Some(all.section(heading).ok_or_else(problem)?)
            }
            None => {
                let phrases = section.ok_or_else(problem)?;
                phrases.push(line);
                Some(phrases)
            }
        };
    }
    Ok(all)
}

impl Phrases {
    /// The phrases under a heading, unless it names nothing.
    fn section(&mut self, heading: &str) -> Option<&mut Vec<&'static str>> {
        if let Ok(list) = heading.parse::<List>() {
            return Some(self.lists.entry(list).or_default());
        }
        const SUFFIXES: [(&str, PhraseMatch); 3] = [
            (" alone", PhraseMatch::Alone),
            (" of you", PhraseMatch::OfYou),
            (" at heart", PhraseMatch::AtHeart),
        ];
        let (topic, matches) = SUFFIXES
            .iter()
            .find_map(|(suffix, matches)| Some((heading.strip_suffix(suffix)?, *matches)))
            .unwrap_or((heading, PhraseMatch::Within));
        let topic = topic.parse().ok()?;
        self.topics.push(TopicPhrases { topic, matches, phrases: Vec::new() });
        self.topics.last_mut().map(|topic| &mut topic.phrases)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn the_file_parses_and_fills_every_list() {
        let phrases = parse(include_str!("phrases.txt")).unwrap();
        for list in List::VARIANTS {
            assert!(phrases.lists.contains_key(list), "{list:?}");
        }
        let lists = phrases.lists.values();
        let sections = lists.chain(phrases.topics.iter().map(|topic| &topic.phrases));
        for section in sections {
            let different: BTreeSet<&str> = section.iter().copied().collect();
            assert!(!section.is_empty() && different.len() == section.len(), "{section:?}");
            for phrase in section {
                assert_eq!(*phrase, phrase.trim().to_lowercase(), "it is compared in lower case");
            }
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        for (file, expected) in [
            ("hello\n", "phrases.txt: \"hello\""),
            ("[weather]\nrain\n", "phrases.txt: \"[weather]\""),
            ("[joke\n", "phrases.txt: \"[joke\""),
        ] {
            assert_eq!(parse(file).unwrap_err(), expected);
        }
    }
}
