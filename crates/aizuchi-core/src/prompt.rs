//! The words for models: one system message, the widest and most stable first, the target last, then
//! the time and the task.
//!
//! Templates hold the words, Rust holds what goes into them. Chat text is data (invariant 10): whatever
//! could be taken for structure gets a backslash before it ([`fence`]), nobody has a name of somebody
//! else's ([`speakers`]), and what is too long loses what matters least ([`budget`]).

pub mod fence;
pub mod tokens;
pub mod speakers;
mod shorten;
pub mod memory_input;
pub mod view;
mod render_cache;
pub mod budget;
mod schema;
mod sample;
mod templates;
pub mod builder;
pub mod tool;

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::persona::Persona;
use crate::prompt::budget::TrimmedSection;
use crate::prompt::builder::JudgeOptions;
use crate::prompt::memory_input::MemoryInput;
use crate::prompt::speakers::Speakers;
use crate::prompt::tokens::estimate;
use crate::prompt::tool::{ToolRound, ToolSpec};

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptVerb {
    /// Whether to join in; answered with the JSON of [`crate::decision::Judgment`].
    Judge,
    /// What to say; answered in plain words.
    Reply,
    /// What to remember; answered with dated entries as JSON.
    Remember,
    /// The state of a conversation (seed 004); answered with one word.
    State,
}

impl PromptVerb {
    pub const ALL: [PromptVerb; 4] =
        [PromptVerb::Judge, PromptVerb::Reply, PromptVerb::Remember, PromptVerb::State];

    pub fn name(self) -> &'static str {
        match self {
            PromptVerb::Judge => "judge",
            PromptVerb::Reply => "reply",
            PromptVerb::Remember => "remember",
            PromptVerb::State => "state",
        }
    }
}

/// What a mind is asked. Models read `text`; the built-in mind reads what it was made from.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub verb: PromptVerb,
    pub text: String,
    /// Without any lines where it is about `material`.
    pub context: Arc<Context>,
    /// How a judge is to judge.
    pub judge_options: JudgeOptions,
    pub memory_input: Option<Arc<MemoryInput>>,
    pub persona: Arc<Persona>,
    /// Who is called what in it.
    pub speakers: Arc<Speakers>,
    /// The longest answer that is of use.
    pub max_tokens: Option<u32>,
    /// What the text comes to, as estimated.
    pub tokens: u64,
    /// The same by section, in their order.
    pub sections: Vec<(&'static str, u64)>,
    /// What did not fit.
    pub trimmed: Vec<TrimmedSection>,
    /// What it may use before it answers.
    pub tools: Vec<ToolSpec>,
    /// What it has used so far.
    pub tool_rounds: Vec<ToolRound>,
}

impl Prompt {
    /// The same question once more, after an answer that could not be used.
    pub fn with_repair_request(&self, problem: &str) -> Self {
        let again = self.persona.language.pick(
            "Your last answer could not be used: {}. Answer again with the JSON object alone.",
            "直前の回答は利用できませんでした（{}）。JSON オブジェクトだけで、もう一度回答してください。",
        );
        let text = format!("{}\n\n{}", self.text, again.replace("{}", problem));
        Self { tokens: estimate(&text), text, ..self.clone() }
    }

    /// The JSON schema that an answer has to keep, where it is JSON.
    pub fn schema(&self) -> Option<Value> {
        match self.verb {
            PromptVerb::Judge => Some(schema::judgment_schema(self)),
            PromptVerb::Remember => Some(schema::memory_schema()),
            PromptVerb::Reply | PromptVerb::State => None,
        }
    }

    /// What all that is asked comes to, tools included.
    pub fn total_tokens(&self) -> u64 {
        let is_text_alone = self.tools.is_empty() && self.tool_rounds.is_empty();
        if is_text_alone { self.tokens } else { estimate(&self.full_text()) }
    }

    /// The first 16 hex digits of the SHA-256 of all that is asked.
    pub fn hash(&self) -> String {
        let digest = Sha256::digest(self.full_text().as_bytes());
        digest.iter().take(8).fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}
