//! Labeled decisions in files: JSON lines, plain or gzipped, with one item each.

use std::path::PathBuf;

use aizuchi_import::history::MAX_EPOCH_SECONDS;
use aizuchi_import::rows::epoch_seconds;
use aizuchi_model::chat::to_single_line;
use aizuchi_model::persona::Language;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::eval::case::{
    MAX_ID_CHARACTERS, ensure_no_problems, is_file_name, parse_json, read_each, read_files,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionItem {
    /// Valid as a file name.
    pub id: String,
    pub label: DecisionLabel,
    /// The kind of situation, for example `SILENT/handled`.
    pub kind: String,
    /// Epoch seconds.
    pub decide_at: f64,
    #[serde(default = "default_language")]
    pub language: Language,
    /// The name of the channel, if it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// What its members say that the channel is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The prompt that was used, if the decision was made by a model and its prompt was kept. It takes the place of the
    /// one that the messages make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// At least one message, oldest first.
    pub context: Vec<ItemMessage>,
    /// The index in `context` of the parent of the thread that is judged. `None` if the top level is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<usize>,
    /// The index in `context` of the message that calls for a word, or seems to. If it is in a thread, that is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<usize>,
    /// The half of its set that it belongs to, if the set is divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<Half>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
#[serde(rename_all = "UPPERCASE")]
pub enum DecisionLabel {
    Speak,
    Silent,
    /// Both answers are right, so the item counts only in its own figures.
    Ambig,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemMessage {
    /// Seconds relative to the decision: zero or negative.
    pub t: f64,
    pub author: String,
    pub text: String,
    #[serde(default)]
    pub bot: bool,
    /// Whether it is the persona's. If it does not say, the author's name does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<bool>,
    /// The index in the context of the parent of this message's thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<usize>,
    /// The index of the message that it replies to on its platform. A reply mentions the author of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<usize>,
}

impl DecisionLabel {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The half that an item belongs to: rules are tuned on one and verified on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    Fit,
    Report,
}

impl DecisionItem {
    pub fn at(&self) -> Timestamp {
        epoch_seconds(self.decide_at)
    }

    /// Whether the message that the item is about contains a question mark.
    pub fn has_mark(&self) -> Option<bool> {
        let about = self.context.get(self.about?)?;
        Some(about.text.contains(['?', '？']))
    }

    /// The half that its set names, else by the last bit of the first byte of the id's SHA-256.
    pub fn half(&self) -> Half {
        if let Some(half) = self.half {
            return half;
        }
        let first = Sha256::digest(self.id.as_bytes())[0];
        if first % 2 == 0 { Half::Fit } else { Half::Report }
    }
}

fn default_language() -> Language {
    Language::En
}

/// Reads the items of several files. The error lists the bad lines without quoting their text.
pub fn open(files: &[PathBuf]) -> anyhow::Result<Vec<DecisionItem>> {
    read(&read_files(files)?)
}

/// Reads items from the contents of files, each with the name of its file.
pub fn read(texts: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<DecisionItem>> {
    let (items, problems) = read_each(texts, "an item", parse, |item| &item.id);
    ensure_no_problems(&problems)?;
    anyhow::ensure!(!items.is_empty(), "there are no items to decide on");
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

fn parse(bytes: &[u8]) -> Result<DecisionItem, String> {
    let mut item: DecisionItem = parse_json(bytes)?;
    if let Some(about) = item.about {
        let about = item.context.get(about).ok_or("its about is not a line of its context")?;
        item.thread = item.thread.or(about.thread);
    }
    // Ids of decisions that are cut from one channel have a `#`.
    if !is_file_name(&item.id.replace('#', "-")) {
        return Err(format!(
            "its id is not made of at most {MAX_ID_CHARACTERS} of the letters a to z, digits, `-`, `_`, \
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
    for (index, message) in item.context.iter().enumerate() {
        let number = index + 1;
        if !(0.0..MAX_EPOCH_SECONDS).contains(&(item.decide_at + message.t)) || message.t > 0.0 {
            return Err(format!("the t of line {number} is not a time before the decision"));
        }
        if message.t < before {
            return Err(format!("line {number} is older than the one before it"));
        }
        before = message.t;
        if to_single_line(&message.author).is_empty() {
            return Err(format!("the author of line {number} is empty"));
        }
        if message.reply_to.is_some_and(|replied| replied >= index) {
            return Err(format!("the reply_to of line {number} is not a line before it"));
        }
        if message.thread.is_some_and(|parent| !is_parent(&item.context[..index], parent)) {
            return Err(format!("the thread of line {number} is not a top-level line before it"));
        }
    }
    if item.thread.is_some_and(|parent| !is_parent(&item.context, parent)) {
        return Err("its thread is not a top-level line of its context".to_owned());
    }
    Ok(item)
}

/// Whether the message at `index` may be the parent of a thread.
fn is_parent(context: &[ItemMessage], index: usize) -> bool {
    context.get(index).is_some_and(|message| message.thread.is_none())
}
