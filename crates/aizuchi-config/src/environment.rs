//! Environment variables: those of the process first, then those of a `.env` file. The environment of the process is
//! never changed.
//!
//! Where `NAME` is not set, `NAME_FILE` may name a file with its value, as container platforms mount secrets.

mod value_file;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use aizuchi_model::input_file::{self, MAX_WRITTEN_BYTES};
use anyhow::Context as _;

use crate::environment::value_file::ValueFile;

/// The suffix of a variable that names the file with the value. The rest of its name is the variable that the value is
/// for.
const FILE_SUFFIX: &str = "_FILE";

/// The variables by name.
#[derive(Clone, Default, PartialEq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// The names of the variables of the process.
    of_process: BTreeSet<String>,
    /// The value files by the name of the variable. Each is read once, when its variable is first requested: a file
    /// that is never requested may be anything.
    files: BTreeMap<String, ValueFile>,
}

impl Environment {
    /// Reads the variables of the process and of the `.env` file in a folder. Relative paths of value files belong to
    /// that folder.
    pub fn from_process(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(".env");
        let text = match input_file::read_text(&file, MAX_WRITTEN_BYTES) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => {
                String::new()
            }
            // The folder may be inaccessible: a service's command may be run from anyone's folder.
            Err(_) if std::fs::symlink_metadata(&file).is_err() => String::new(),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                anyhow::bail!("{} is not UTF-8 text", file.display())
            }
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display()))?,
        };
        let process = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Ok(Self::new(process, &text, &file.display().to_string())?.with_files_in(folder))
    }

    /// Variables of the process take precedence over those of the file. Value files are not read.
    pub fn new(
        process: impl IntoIterator<Item = (String, String)>,
        text: &str,
        file: &str,
    ) -> anyhow::Result<Self> {
        let mut variables = BTreeMap::new();
        let mut of_process = BTreeSet::new();
        let text = escape_bare_dollars(text);
        for pair in dotenvy::from_read_iter(text.as_bytes()) {
            let (name, value) = pair.map_err(|error| line_error(&error, &text, file))?;
            variables.insert(name, value);
        }
        for (name, value) in process {
            // An empty variable of the process does not override one of the file.
            if !value.is_empty() || !variables.contains_key(&name) {
                of_process.insert(name.clone());
                variables.insert(name, value);
            }
        }
        Ok(Self { variables, of_process, files: BTreeMap::new() })
    }

    /// Adds the value files that variables name. Relative paths belong to this folder.
    pub fn with_files_in(mut self, folder: &Path) -> Self {
        let named = self.variables.iter().filter_map(|(variable, path)| {
            let name = variable.strip_suffix(FILE_SUFFIX).filter(|name| !name.is_empty())?;
            let path = Some(path.trim()).filter(|path| !path.is_empty())?;
            Some((name.to_owned(), ValueFile::new(variable, folder.join(path))))
        });
        self.files = named.collect();
        self
    }

    /// Fails if the value of a file was requested and could not be read. The message names the variable and the file,
    /// never the content.
    pub fn check_files(&self) -> anyhow::Result<()> {
        match self.files.values().find_map(ValueFile::problem) {
            Some(problem) => anyhow::bail!("{problem}"),
            None => Ok(()),
        }
    }

    /// Returns the environment after these changes to the file. `None` removes a variable.
    pub fn with(&self, changes: &[(&'static str, Option<String>)]) -> Self {
        let mut changed = self.clone();
        for (name, value) in changes.iter().filter(|(name, _)| !self.is_from_process(name)) {
            match value {
                Some(value) => changed.variables.insert((*name).to_owned(), value.clone()),
                None => changed.variables.remove(*name),
            };
        }
        changed
    }

    /// Whether the process sets this variable or names its value file, either of which overrides the `.env` file.
    pub fn is_from_process(&self, name: &str) -> bool {
        let names_file = || self.of_process.contains(&format!("{name}{FILE_SUFFIX}"));
        let has_variable = self.variables.get(name).is_some_and(|value| !value.is_empty());
        let is_of_process =
            if has_variable { self.of_process.contains(name) } else { names_file() };
        is_of_process && self.get_non_empty(name).is_some()
    }

    /// The value of a variable, or the content of the file that `NAME_FILE` names if the variable is not set or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name).map(String::as_str);
        match value.filter(|value| !value.is_empty()) {
            Some(value) => Some(value),
            None => self.files.get(name).and_then(ValueFile::value).or(value),
        }
    }

    /// The variables by name, without the values of files.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// The trimmed value of a variable, unless it is empty.
    pub fn get_non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim).filter(|value| !value.is_empty())
    }
}

// Shows names only, because the values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// Escapes every `$` without a brace, so that it stays literal as in the config: a password may contain one. Text in
/// single quotes, on one line or several, is literal anyway. Ends the last line, whose trailing spaces dotenvy otherwise
/// rejects.
fn escape_bare_dollars(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}');
    let mut escaped = String::with_capacity(text.len() + 1);
    let (mut quote, mut is_comment, mut is_after_space) = (None, false, true);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\n', None) => is_comment = false,
            _ if is_comment => {}
            ('#', None) if is_after_space => is_comment = true,
            ('\'' | '"', None) => quote = Some(character),
            (_, Some(open)) if character == open => quote = None,
            ('$', None | Some('"')) if characters.peek() != Some(&'{') => escaped.push('\\'),
            ('\\', None | Some('"')) => {
                escaped.push(character);
                escaped.extend(characters.next());
                is_after_space = false;
                continue;
            }
            (_, None | Some(_)) => {}
        }
        is_after_space = character.is_whitespace();
        escaped.push(character);
    }
    if !escaped.ends_with('\n') {
        escaped.push('\n');
    }
    escaped
}

/// Describes a line that cannot be read. dotenvy reports only its text, which may be a secret, so the line number is
/// looked up by the text.
fn line_error(error: &dotenvy::Error, text: &str, file: &str) -> anyhow::Error {
    let line = match error {
        dotenvy::Error::LineParse(line, _) => text.find(line.trim_end()),
        _ => None,
    };
    let location =
        line.map_or(String::new(), |at| format!(":{}", text[..at].matches('\n').count() + 1));
    anyhow::anyhow!(
        "{file}{location}: this line cannot be read; it must be NAME=value, with a value of several \
         words in quotes"
    )
}
