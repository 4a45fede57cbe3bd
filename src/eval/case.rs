//! A labelled conversation, as it stands in a file: JSON lines, one case each. A set of cases is whole
//! or is not used, since a share of a part of it would be taken for a share of all.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use serde::Deserialize;

use crate::replay::history::{MAX_EPOCH_SECONDS, describe_json_error};
use aizuchi_core::chat::to_single_line;
use aizuchi_core::context::state::ConversationState;
use aizuchi_core::persona::Language;

/// How many bad lines are told one by one.
const MAX_REPORTED_LINES: usize = 10;
/// In letters; an id is the name of a file, too.
const LONGEST_ID: usize = 80;

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Can be a file's name.
    pub id: String,
    pub language: Language,
    /// Two cases of one pair look alike and are right with different labels.
    pub pair: Option<String>,
    /// What it probes, in a word.
    pub about: String,
    /// Each of them is right. There is at least one, and none stands there twice.
    pub labels: Vec<ConversationState>,
    /// By time. There is at least one.
    pub messages: Vec<CaseMessage>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseMessage {
    /// Epoch seconds.
    pub ts: f64,
    pub user: String,
    pub text: String,
    #[serde(default)]
    pub bot: bool,
}

impl CaseMessage {
    /// To the millisecond; a case holds only lines that have a time.
    pub fn at(&self) -> Timestamp {
        Timestamp::from_millisecond((self.ts * 1000.0).round() as i64)
            .unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileLocation {
    pub file: String,
    /// Counted from 1.
    pub line: usize,
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The lines of a file that hold anything, each with its number.
pub fn numbered(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    // Some programs begin a text with a mark of its encoding.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let numbered = text.split(|byte| *byte == b'\n').enumerate();
    let numbered = numbered.map(|(number, line)| (number + 1, line));
    numbered.filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace))
}

/// Reads the cases of some files. Fails with a sentence for each line that is wrong, and none of them
/// repeats what somebody said.
pub fn open(files: &[PathBuf]) -> anyhow::Result<Vec<Case>> {
    let mut texts = Vec::new();
    for file in files {
        texts.push((file.display().to_string(), text_of(file)?));
    }
    read(&texts)
}

pub fn text_of(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Reads cases from texts, each with the name of its file.
pub fn read(texts: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<Case>> {
    let mut reading = CaseReader::default();
    for (file, text) in texts {
        for (line, written) in numbered(text) {
            reading.read_line(FileLocation { file: file.clone(), line }, written);
        }
    }
    reading.check_pairs();
    reading.problems.sort();
    ensure_no_problems(&reading.problems)?;
    let files: Vec<&str> = texts.iter().map(|(file, _)| &**file).collect();
    anyhow::ensure!(!reading.cases.is_empty(), "there are no cases in {}", files.join(", "));
    Ok(reading.cases)
}

/// Fails if anything is wrong.
pub fn ensure_no_problems(bad: &[(FileLocation, String)]) -> anyhow::Result<()> {
    if bad.is_empty() {
        return Ok(());
    }
    let mut told: Vec<String> = bad
        .iter()
        .take(MAX_REPORTED_LINES)
        .map(|(place, problem)| format!("{place}: {problem}"))
        .collect();
    if bad.len() > MAX_REPORTED_LINES {
        told.push(format!("… and {} more", bad.len() - MAX_REPORTED_LINES));
    }
    anyhow::bail!("{}", told.join("\n"))
}

#[derive(Default)]
struct CaseReader {
    cases: Vec<Case>,
    /// Of each case.
    locations: Vec<FileLocation>,
    ids: HashSet<String>,
    problems: Vec<(FileLocation, String)>,
}

impl CaseReader {
    fn read_line(&mut self, place: FileLocation, written: &[u8]) {
        match parse(written) {
            // Some systems do not tell `A.txt` from `a.txt`.
            Ok(case) if !self.ids.insert(case.id.to_lowercase()) => {
                let problem = "a case with this id came before".to_owned();
                self.problems.push((place, problem));
            }
            Ok(case) => {
                self.cases.push(case);
                self.locations.push(place);
            }
            Err(problem) => self.problems.push((place, problem)),
        }
    }

    /// A pair is two cases of one language that no single label is right for.
    fn check_pairs(&mut self) {
        for halves in pairs(&self.cases).into_values() {
            let problem = match halves[..] {
                [one, other] => {
                    let (one, other) = (&self.cases[one], &self.cases[other]);
                    let is_shared = one.labels.iter().any(|label| other.labels.contains(label));
                    is_shared.then(|| "one label is right for both halves of its pair".to_owned())
                }
                [_] => Some("its pair has no other half in the same language".to_owned()),
                _ => Some(format!("its pair has {} cases and not two", halves.len())),
            };
            // What could not be read may be the other half.
            if let Some(problem) = problem.filter(|_| self.problems.is_empty()) {
                self.problems.push((self.locations[halves[0]].clone(), problem));
            }
        }
    }
}

/// The places of the cases of each pair.
pub fn pairs(cases: &[Case]) -> BTreeMap<(&str, &str), Vec<usize>> {
    let mut pairs: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (place, case) in cases.iter().enumerate() {
        if let Some(pair) = &case.pair {
            pairs.entry((case.language.tag(), pair)).or_default().push(place);
        }
    }
    pairs
}

/// A case as it is written, before anything of it is believed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    id: String,
    language: Language,
    #[serde(default)]
    pair: Option<String>,
    about: String,
    labels: Vec<String>,
    messages: Vec<CaseMessage>,
}

fn parse(line: &[u8]) -> Result<Case, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let written: RawCase =
        serde_json::from_str(text).map_err(|error| describe_json_error(&error))?;
    let RawCase { id, language, pair, about, labels, messages } = written;
    if !is_file_name(&id) {
        return Err(format!(
            "its id is not made of at most {LONGEST_ID} of the letters a to z, digits, `-`, `_` \
             and `.`, the first of them a letter or a digit"
        ));
    }
    let is_word = |word: &str| !word.is_empty() && to_single_line(word) == word;
    if !is_word(&about) || !pair.as_deref().is_none_or(is_word) {
        return Err("its `about` or its `pair` is empty, or not one line".to_owned());
    }
    check_messages(&messages)?;
    let labels = parse_labels(&labels)?;
    Ok(Case { id, language, pair, about, labels, messages })
}

fn is_file_name(id: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric();
    id.starts_with(is_letter)
        && id.len() <= LONGEST_ID
        && id.chars().all(|letter| is_letter(letter) || matches!(letter, '-' | '_' | '.'))
}

fn parse_labels(written: &[String]) -> Result<Vec<ConversationState>, String> {
    let mut labels = Vec::new();
    for (place, written) in written.iter().enumerate() {
        let named = ConversationState::ALL.into_iter().find(|state| state.label() == written);
        let Some(state) = named else {
            let known = ConversationState::ALL.map(ConversationState::label).join(", ");
            return Err(format!("its label {} is none of {known}", place + 1));
        };
        if labels.contains(&state) {
            return Err(format!("its label {} stands there twice", place + 1));
        }
        labels.push(state);
    }
    if labels.is_empty() {
        return Err("it has no labels".to_owned());
    }
    Ok(labels)
}

fn check_messages(messages: &[CaseMessage]) -> Result<(), String> {
    if messages.is_empty() {
        return Err("it has no messages".to_owned());
    }
    let mut before = 0.0;
    for (place, message) in messages.iter().enumerate() {
        let number = place + 1;
        if !(0.0..MAX_EPOCH_SECONDS).contains(&message.ts) {
            return Err(format!("the ts of message {number} is not a time in epoch seconds"));
        }
        if message.ts < before {
            return Err(format!("message {number} is older than the one before it"));
        }
        if to_single_line(&message.user).is_empty() || message.text.trim().is_empty() {
            return Err(format!("the user or the text of message {number} is empty"));
        }
        before = message.ts;
    }
    Ok(())
}
