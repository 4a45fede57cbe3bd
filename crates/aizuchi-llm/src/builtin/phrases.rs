//! The phrases, in `phrases.txt`, by which the built-in mind recognizes requests.

use std::collections::HashMap;
use std::sync::LazyLock;

use strum::{EnumString, VariantArray};

/// A topic that a phrase alone reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Topic {
    Time,
    Date,
    /// Who or what the mind is.
    Identity,
    /// What the mind can do, and when it speaks.
    Abilities,
    /// How to connect a model, or which one is connected.
    Model,
    /// What was said last.
    Recap,
    /// A summary of what was said last.
    Summary,
    /// The unanswered questions.
    Open,
    /// Whether the asker's question was answered.
    Answered,
    /// What the mind stores, and who sees it.
    Privacy,
    /// To forget one thing.
    ForgetOne,
    /// How to silence the mind.
    Controls,
    /// That its answer was wrong.
    Correction,
    /// Whether the mind is there.
    Presence,
    /// Thanks, an apology, a goodbye and the like, which want no more than a nod.
    Courtesy,
}

impl Topic {
    /// Whether a question may be about this topic. "Are you OK, thanks to the rain?" is no thanks.
    pub fn is_asked(self) -> bool {
        !matches!(self, Topic::Correction | Topic::Courtesy)
    }
}

/// Where a phrase must be in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhraseMatch {
    /// Anywhere; phrases in Latin letters as whole words.
    Within,
    /// As the whole text.
    Alone,
}

/// The purposes of the other lists of phrases; the file describes them.
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
    SummaryWords,
    Yesterday,
    Hours,
    Numbers,
    Places,
    Reasons,
    Undertaken,
    CommonKana,
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

/// The phrases of each topic. The first match wins.
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

/// Parses sections of a heading and its phrases. The error names the invalid line.
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
    /// The phrases under a heading. `None` if the heading is unknown.
    fn section(&mut self, heading: &str) -> Option<&mut Vec<&'static str>> {
        if let Ok(list) = heading.parse::<List>() {
            return Some(self.lists.entry(list).or_default());
        }
        let (topic, matches) = match heading.strip_suffix(" alone") {
            Some(topic) => (topic, PhraseMatch::Alone),
            None => (heading, PhraseMatch::Within),
        };
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
            ("[time\n", "phrases.txt: \"[time\""),
        ] {
            assert_eq!(parse(file).unwrap_err(), expected);
        }
    }
}
