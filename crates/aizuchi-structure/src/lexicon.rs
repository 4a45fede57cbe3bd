//! The words and phrases behind [`Cues`], in English and Japanese: `lexicon.txt`.

use std::sync::LazyLock;

use crate::cues::Cues;

/// The required position of a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// One of the words.
    Word,
    /// The first word.
    FirstWord,
    /// Anywhere, even within a word, as in scripts without spaces.
    Anywhere,
    /// The start of the text.
    Start,
    /// The end of a sentence.
    SentenceEnd,
    /// The end of a sentence that ends like a question but is none.
    NoQuestion,
}

impl Position {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "word" => Self::Word,
            "first word" => Self::FirstWord,
            "anywhere" => Self::Anywhere,
            "start" => Self::Start,
            "sentence end" => Self::SentenceEnd,
            "no question" => Self::NoQuestion,
            _ => return None,
        })
    }
}

/// The subject of the answer that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerTopic {
    Place,
    Time,
    Amount,
    Person,
    Choice,
    Reason,
    Way,
    Thing,
    /// Yes or no, or help.
    Other,
}

impl AnswerTopic {
    pub const COUNT: usize = 9;

    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "place" => Self::Place,
            "time" => Self::Time,
            "amount" => Self::Amount,
            "person" => Self::Person,
            "choice" => Self::Choice,
            "reason" => Self::Reason,
            "way" => Self::Way,
            "thing" => Self::Thing,
            _ => return None,
        })
    }

    /// The first topic whose words the question contains.
    pub fn find(body: &str) -> Self {
        let mut topics = LEXICON.topics.iter();
        let found = topics.find(|(_, words)| words.iter().any(|word| body.contains(word)));
        found.map_or(AnswerTopic::Other, |(topic, _)| *topic)
    }
}

/// The cue and the position of these phrases.
#[derive(Debug)]
pub struct Entry {
    pub cue: Cues,
    pub position: Position,
    pub phrases: Vec<&'static str>,
}

#[derive(Debug, Default)]
struct LexiconFile {
    entries: Vec<Entry>,
    topics: Vec<(AnswerTopic, Vec<&'static str>)>,
}

static LEXICON: LazyLock<LexiconFile> =
    LazyLock::new(|| parse(include_str!("lexicon.txt")).expect("a test parses this file"));

pub fn entries() -> &'static [Entry] {
    &LEXICON.entries
}

/// Parses sections of a heading and its phrases. The error is the line that cannot be read.
fn parse(file: &'static str) -> Result<LexiconFile, &'static str> {
    let mut lexicon = LexiconFile::default();
    let mut section: Option<&mut Vec<&'static str>> = None;
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let heading = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        section = match heading {
            Some(heading) => Some(lexicon.section(heading).ok_or(line)?),
            None => {
                let phrases = section.ok_or(line)?;
                let quoted = line.strip_prefix('"').and_then(|line| line.strip_suffix('"'));
                phrases.push(quoted.unwrap_or(line));
                Some(phrases)
            }
        };
    }
    Ok(lexicon)
}

impl LexiconFile {
    /// The phrases under a heading: "asks sentence end", "topic place". `None` if the heading is unknown.
    fn section(&mut self, heading: &str) -> Option<&mut Vec<&'static str>> {
        let (cue, position) = heading.split_once(' ')?;
        if cue == "topic" {
            self.topics.push((AnswerTopic::from_name(position)?, Vec::new()));
            return self.topics.last_mut().map(|(_, words)| words);
        }
        let cue = Cues::from_name(&cue.to_uppercase())?;
        let position = Position::from_name(position)?;
        self.entries.push(Entry { cue, position, phrases: Vec::new() });
        self.entries.last_mut().map(|entry| &mut entry.phrases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_parses_and_is_in_lower_case() {
        let lexicon = parse(include_str!("lexicon.txt")).unwrap();
        let topics = lexicon.topics.iter().map(|(_, words)| words);
        for phrases in lexicon.entries.iter().map(|entry| &entry.phrases).chain(topics) {
            assert!(!phrases.is_empty());
            for phrase in phrases {
                assert!(!phrase.is_empty() && *phrase == phrase.to_lowercase(), "{phrase}");
            }
        }
        for unreadable in ["hello", "[weather anywhere]", "[asks nowhere]", "[topic weather]"] {
            assert_eq!(parse(unreadable).unwrap_err(), unreadable);
        }
    }
}
