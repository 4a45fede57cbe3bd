//! Caches the answers of models by request, so that a replay never sends the same request twice.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use aizuchi_import::json_lines::read_lines;
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::decision::Usage;
use aizuchi_model::input_file;
use anyhow::Context as _;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The answers, in memory and, if they are to be kept, in a file with one answer per line. They may quote chat, so only
/// the file's owner may read it.
#[derive(Default)]
pub struct AnswerCache {
    answers: Mutex<HashMap<String, CachedAnswer>>,
    file: Option<AnswerFile>,
}

struct AnswerFile {
    path: PathBuf,
    file: Mutex<File>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedAnswer {
    pub answer: String,
    #[serde(default)]
    pub model: String,
    pub usage: Usage,
}

#[derive(Serialize, Deserialize)]
struct CacheEntry {
    key: String,
    /// The hash by which `--judge FILE` finds the answer, too.
    prompt_hash: String,
    #[serde(flatten)]
    answer: CachedAnswer,
}

/// Computes the cache key, which is equal for equal requests to the same model with the same parameters.
pub fn answer_key(model: &str, parameters: &str, prompt: &Prompt) -> String {
    let mut hasher = Sha256::new();
    for part in [model, parameters, prompt.verb.name(), &prompt.full_text()] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl AnswerCache {
    /// Opens the file, or creates an empty one.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {shown}"))?;
        }
        let options =
            || OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
        input_file::ensure_regular(path).with_context(|| format!("cannot read {shown}"))?;
        let mut file = options().with_context(|| format!("cannot write {shown}"))?;
        let mut answers = HashMap::new();
        let mut is_whole = true;
        let mut input = BufReader::new(file.try_clone()?);
        read_lines(&mut input, &mut |_, line| {
            let line = line.unwrap_or_default();
            is_whole = line.ends_with(b"\n");
            // If a line was cut off when the program ended, the model is asked again.
            if let Ok(entry) = serde_json::from_slice::<CacheEntry>(line) {
                answers.insert(entry.key, entry.answer);
            }
            Ok(())
        })
        .with_context(|| format!("cannot read {shown}"))?;
        if !is_whole {
            file.write_all(b"\n").with_context(|| format!("cannot write {shown}"))?;
        }
        let file = AnswerFile { path: path.to_owned(), file: Mutex::new(file) };
        Ok(Self { answers: Mutex::new(answers), file: Some(file) })
    }

    pub fn count(&self) -> usize {
        self.answers.lock().len()
    }

    pub fn find(&self, key: &str) -> Option<CachedAnswer> {
        self.answers.lock().get(key).cloned()
    }

    pub fn insert(&self, key: &str, prompt: &Prompt, answer: CachedAnswer) -> anyhow::Result<()> {
        let entry = CacheEntry { key: key.to_owned(), prompt_hash: prompt.hash(), answer };
        if let Some(file) = &self.file {
            file.append(&entry)?;
        }
        self.answers.lock().insert(entry.key, entry.answer);
        Ok(())
    }
}

impl AnswerFile {
    fn append(&self, entry: &CacheEntry) -> anyhow::Result<()> {
        let mut bytes = serde_json::to_vec(entry)?;
        bytes.push(b'\n');
        let written = self.file.lock().write_all(&bytes);
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}
