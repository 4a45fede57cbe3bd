//! Labeled cases in files: JSON lines with one case each. One bad line rejects the whole set, because a score over a part
//! of the cases would be mistaken for the score of all.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use aizuchi_import::history::describe_json_error;
use aizuchi_model::input_file::{self, MAX_KEPT_BYTES};
use anyhow::Context as _;
use serde::de::DeserializeOwned;

/// The number of bad lines that an error lists.
const MAX_REPORTED_LINES: usize = 10;
/// In characters. An id is also used as a file name.
pub const MAX_ID_CHARACTERS: usize = 80;

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

/// Parses a line as JSON.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    serde_json::from_str(text).map_err(|error| describe_json_error(&error))
}

/// Whether an id can name a file.
pub fn is_file_name(id: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphanumeric();
    id.starts_with(is_letter)
        && id.len() <= MAX_ID_CHARACTERS
        && id.chars().all(|character| is_letter(character) || matches!(character, '-' | '_' | '.'))
}
