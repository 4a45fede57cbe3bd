//! A file that holds the value of a variable, such as a mounted secret.

use std::path::PathBuf;
use std::sync::OnceLock;

use aizuchi_model::input_file;

/// The maximum size of a value. No key or address is longer.
const MAX_BYTES: u64 = 64 * 1024;

/// A value file. It is read once, when the value is first requested.
#[derive(Clone)]
pub struct ValueFile {
    /// The name of the variable that names the file.
    variable: String,
    path: PathBuf,
    /// The value, or why it cannot be read.
    content: OnceLock<Result<String, String>>,
}

impl ValueFile {
    pub fn new(variable: &str, path: PathBuf) -> Self {
        Self { variable: variable.to_owned(), path, content: OnceLock::new() }
    }

    /// The content of the file without its final line break. `None` if it cannot be read.
    pub fn value(&self) -> Option<&str> {
        self.content.get_or_init(|| self.read()).as_deref().ok()
    }

    /// Why the value could not be read, if it was requested.
    pub fn problem(&self) -> Option<&str> {
        self.content.get()?.as_ref().err().map(String::as_str)
    }

    fn read(&self) -> Result<String, String> {
        let (variable, path) = (&self.variable, self.path.display());
        let text = input_file::read_text(&self.path, MAX_BYTES)
            .map_err(|error| format!("{variable} names {path}, which cannot be read: {error}"))?;
        let value = text.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        if value.is_empty() {
            return Err(format!("{variable} names {path}, which is empty"));
        }
        Ok(value.to_owned())
    }
}

// Value files are compared by variable and path alone, because their contents are secret.
impl PartialEq for ValueFile {
    fn eq(&self, other: &Self) -> bool {
        (&self.variable, &self.path) == (&other.variable, &other.path)
    }
}
