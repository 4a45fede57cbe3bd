//! A labelled decision, as it stands in a file: JSON lines, plain or gzipped, one item each.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use flate2::read::MultiGzDecoder;
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::eval::case::{FileLocation, ensure_no_problems, numbered};
use crate::replay::history::{MAX_EPOCH_SECONDS, describe_json_error};
use aizuchi_core::chat::to_single_line;
use aizuchi_core::persona::Language;

/// In letters; an id is the name of a file, too.
const LONGEST_ID: usize = 80;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct DecisionItem {
    /// Can be a file's name.
    pub id: String,
    pub label: DecisionLabel,
    /// What sort of moment it is, as in `SILENT/handled`.
    pub kind: String,
    /// Epoch seconds.
    pub decide_at: f64,
    #[serde(default = "default_language")]
    pub language: Language,
    /// Oldest first. There is at least one.
    pub context: Vec<ItemMessage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DecisionLabel {
    Speak,
    Silent,
    /// Either is right, so it counts in no share but its own.
    Ambig,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ItemMessage {
    /// Seconds from the decision, so mostly negative.
    pub t: f64,
    pub author: String,
    pub text: String,
    #[serde(default)]
    pub bot: bool,
}

/// Items are parted by their ids: rules are chosen by one half and believed by the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    Tuning,
    HeldOut,
}

impl DecisionItem {
    pub fn at(&self) -> Timestamp {
        timestamp(self.decide_at)
    }

    pub fn message_timestamp(&self, line: &ItemMessage) -> Timestamp {
        timestamp(self.decide_at + line.t)
    }

    /// By the last bit of the first byte of the id's SHA-256.
    pub fn split(&self) -> Split {
        let first = Sha256::digest(self.id.as_bytes())[0];
        if first % 2 == 0 { Split::Tuning } else { Split::HeldOut }
    }
}

/// To the millisecond; an item holds only lines that have a time.
fn timestamp(seconds: f64) -> Timestamp {
    Timestamp::from_millisecond((seconds * 1000.0).round() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn default_language() -> Language {
    Language::En
}

/// Reads the items of some files. Fails with a sentence for each line that is wrong, and none of them
/// repeats what somebody said.
pub fn open(files: &[PathBuf]) -> anyhow::Result<Vec<DecisionItem>> {
    let (mut items, mut bad, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
    for file in files {
        let shown = file.display().to_string();
        for (line, written) in numbered(&text_of(file)?) {
            match parse(written) {
                Ok(item) if ids.insert(item.id.to_lowercase()) => items.push(item),
                Ok(_) => {
                    let problem = "an item with this id came before".to_owned();
                    bad.push((FileLocation { file: shown.clone(), line }, problem));
                }
                Err(problem) => bad.push((FileLocation { file: shown.clone(), line }, problem)),
            }
        }
    }
    ensure_no_problems(&bad)?;
    anyhow::ensure!(!items.is_empty(), "there are no items to decide on");
    Ok(items)
}

fn text_of(file: &Path) -> anyhow::Result<Vec<u8>> {
    let cannot = || format!("cannot read {}", file.display());
    let mut input = BufReader::new(File::open(file).with_context(cannot)?);
    let is_gzip = input.fill_buf().with_context(cannot)?.starts_with(&[0x1f, 0x8b]);
    let mut text = Vec::new();
    match is_gzip {
        true => MultiGzDecoder::new(input).read_to_end(&mut text),
        false => input.read_to_end(&mut text),
    }
    .with_context(cannot)?;
    Ok(text)
}

fn parse(line: &[u8]) -> Result<DecisionItem, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let item: DecisionItem =
        serde_json::from_str(text).map_err(|error| describe_json_error(&error))?;
    if !is_file_name(&item.id) {
        return Err(format!(
            "its id is not made of at most {LONGEST_ID} of the letters a to z, digits, `-`, `_`, \
             `#` and `.`, the first of them a letter or a digit"
        ));
    }
    if item.kind.is_empty() || to_single_line(&item.kind) != item.kind {
        return Err("its kind is empty, or not one line".to_owned());
    }
    if item.context.is_empty() {
        return Err("its context is empty".to_owned());
    }
    let mut before = f64::MIN;
    for (place, line) in item.context.iter().enumerate() {
        let number = place + 1;
        if !(0.0..MAX_EPOCH_SECONDS).contains(&(item.decide_at + line.t)) || line.t > 0.0 {
            return Err(format!("the t of line {number} is no time before the decision"));
        }
        if line.t < before {
            return Err(format!("line {number} is older than the one before it"));
        }
        before = line.t;
        if to_single_line(&line.author).is_empty() {
            return Err(format!("the author of line {number} is empty"));
        }
    }
    Ok(item)
}

fn is_file_name(id: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric();
    id.starts_with(is_letter)
        && id.len() <= LONGEST_ID
        && id.chars().all(|letter| is_letter(letter) || matches!(letter, '-' | '_' | '.' | '#'))
}
