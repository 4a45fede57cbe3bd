//! Labeled conversations in files: JSON lines with one case each. One bad line rejects the whole set, because a score
//! over a part of the cases would be mistaken for the score of all.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use aizuchi_import::history::{MAX_EPOCH_SECONDS, describe_json_error};
use aizuchi_import::rows::epoch_seconds;
use aizuchi_model::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId,
    to_single_line,
};
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::input_file::{self, MAX_KEPT_BYTES};
use aizuchi_model::persona::Language;
use anyhow::Context as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The number of bad lines that an error lists.
const MAX_REPORTED_LINES: usize = 10;
/// In characters. An id is also used as a file name.
const MAX_ID_CHARACTERS: usize = 80;

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Valid as a file name.
    pub id: String,
    pub language: Language,
    /// Two cases of one pair look alike but have different labels.
    pub pair: Option<String>,
    /// The topic that the case tests, as one word.
    pub about: String,
    /// The correct answers: at least one, and no duplicates.
    pub labels: Vec<ConversationState>,
    /// In chronological order, at least one.
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
    /// Whether it is the persona's. If it does not say, the user's name does.
    #[serde(default)]
    pub own: Option<bool>,
}

/// Returns the conversation that everything is in, or a thread of it, by the number of its first message.
pub fn conversation(thread: Option<usize>) -> ConversationId {
    ConversationId {
        workspace: WorkspaceId::new("eval"),
        channel: ChannelId::new("general"),
        thread: thread.map(message_id),
    }
}

/// Ids in ascending order keep messages with the same time in their order.
pub fn message_id(number: usize) -> MessageId {
    MessageId::new(format!("{number:06}"))
}

/// Returns a message as a channel would have it. It mentions nobody.
pub fn message(
    conversation: ConversationId,
    number: usize,
    said: &CaseMessage,
    persona: &str,
) -> Message {
    let kind = match (said.own.unwrap_or(said.user == persona), said.bot) {
        (true, _) => AuthorKind::Persona,
        (false, true) => AuthorKind::Bot,
        (false, false) => AuthorKind::Human,
    };
    Message {
        conversation,
        id: message_id(number),
        at: epoch_seconds(said.ts),
        author: Author { id: UserId::new(&*said.user), kind },
        text: said.text.as_str().into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
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

/// Returns the non-empty lines of a file, each with its number.
fn numbered(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    // Some programs write a byte order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let numbered = text.split(|byte| *byte == b'\n').enumerate();
    let numbered = numbered.map(|(number, line)| (number + 1, line));
    numbered.filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace))
}

/// Reads the cases of several files. The error lists the bad lines without quoting their text.
pub fn open(files: &[PathBuf]) -> anyhow::Result<Vec<Case>> {
    read(&read_files(files)?)
}

/// Reads the contents of files, each with the name of its file.
pub fn read_files(files: &[PathBuf]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    files.iter().map(|file| Ok((file.display().to_string(), read_file(file)?))).collect()
}

/// What was read, with its place, and what is wrong with the other lines.
pub type ReadLines<T> = (Vec<(FileLocation, T)>, Vec<(FileLocation, String)>);

/// Parses each line of the contents of files. `what` is what a line holds; its id may come only once.
pub fn read_each<T>(
    texts: &[(String, Vec<u8>)],
    what: &str,
    parse: impl Fn(&[u8]) -> Result<T, String>,
    id: impl Fn(&T) -> &str,
) -> ReadLines<T> {
    let (mut read, mut problems, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
    for (file, text) in texts {
        for (line, bytes) in numbered(text) {
            let location = FileLocation { file: file.clone(), line };
            match parse(bytes) {
                // Some file systems do not distinguish `A.txt` from `a.txt`.
                Ok(one) if ids.insert(id(&one).to_lowercase()) => read.push((location, one)),
                Ok(_) => problems.push((location, format!("{what} with this id came before"))),
                Err(problem) => problems.push((location, problem)),
            }
        }
    }
    (read, problems)
}

pub fn read_file(file: &Path) -> anyhow::Result<Vec<u8>> {
    input_file::read(file, MAX_KEPT_BYTES)
        .with_context(|| format!("cannot read {}", file.display()))
}

/// Reads cases from the contents of files, each with the name of its file.
pub fn read(texts: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<Case>> {
    let (read, mut problems) = read_each(texts, "a case", parse, |case: &Case| &case.id);
    let (locations, cases): (Vec<FileLocation>, Vec<Case>) = read.into_iter().unzip();
    // If some lines could not be read, the missing half of a pair may be among them.
    if problems.is_empty() {
        let wrong = pairs(&cases).into_values().filter_map(|halves| {
            Some((locations[halves[0]].clone(), pair_problem(&cases, &halves)?))
        });
        problems.extend(wrong.take(1));
    }
    ensure_no_problems(&problems)?;
    let files: Vec<&str> = texts.iter().map(|(file, _)| &**file).collect();
    anyhow::ensure!(!cases.is_empty(), "there are no cases in {}", files.join(", "));
    Ok(cases)
}

/// Returns what is wrong with a pair, which has two cases of one language without a label in common.
fn pair_problem(cases: &[Case], halves: &[usize]) -> Option<String> {
    match *halves {
        [one, other] => {
            let (one, other) = (&cases[one], &cases[other]);
            let is_shared = one.labels.iter().any(|label| other.labels.contains(label));
            is_shared.then(|| "one label is right for both halves of its pair".to_owned())
        }
        [_] => Some("its pair has no other half in the same language".to_owned()),
        _ => Some(format!("its pair has {} cases and not two", halves.len())),
    }
}

/// Fails with a list of the problems if there are any.
pub fn ensure_no_problems(problems: &[(FileLocation, String)]) -> anyhow::Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let mut listed: Vec<String> = problems
        .iter()
        .take(MAX_REPORTED_LINES)
        .map(|(location, problem)| format!("{location}: {problem}"))
        .collect();
    if problems.len() > MAX_REPORTED_LINES {
        listed.push(format!("… and {} more", problems.len() - MAX_REPORTED_LINES));
    }
    anyhow::bail!("{}", listed.join("\n"))
}

/// Returns the indexes of the cases of each pair, by language and name.
pub fn pairs(cases: &[Case]) -> BTreeMap<(&str, &str), Vec<usize>> {
    let mut pairs: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        if let Some(pair) = &case.pair {
            pairs.entry((case.language.tag(), pair)).or_default().push(index);
        }
    }
    pairs
}

/// A case before validation.
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

/// Parses a line as JSON.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    serde_json::from_str(text).map_err(|error| describe_json_error(&error))
}

fn parse(bytes: &[u8]) -> Result<Case, String> {
    let RawCase { id, language, pair, about, labels, messages } = parse_json(bytes)?;
    if !is_file_name(&id) {
        return Err(format!(
            "its id is not made of at most {MAX_ID_CHARACTERS} of the letters a to z, digits, `-`, `_` \
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

/// Whether an id can name a file.
pub fn is_file_name(id: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphanumeric();
    id.starts_with(is_letter)
        && id.len() <= MAX_ID_CHARACTERS
        && id.chars().all(|character| is_letter(character) || matches!(character, '-' | '_' | '.'))
}

fn parse_labels(names: &[String]) -> Result<Vec<ConversationState>, String> {
    let mut labels = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let state = ConversationState::ALL.into_iter().find(|state| state.label() == name);
        let Some(state) = state else {
            let known = ConversationState::ALL.map(ConversationState::label).join(", ");
            return Err(format!("its label {} is not one of {known}", index + 1));
        };
        if labels.contains(&state) {
            return Err(format!("its label {} appears twice", index + 1));
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
    for (index, message) in messages.iter().enumerate() {
        let number = index + 1;
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
