//! Prompts for models: one system message with the widest and most stable context first, the target
//! conversation last, then the time and the task.
//!
//! Templates hold the text, Rust holds the values. Chat text is data (invariant 10): anything that could be mistaken
//! for structure is escaped with a backslash ([`fence`]), characters that people do not see are removed
//! ([`neutralize_text`]), no user has another user's name ([`speakers`]), and a prompt that is too long loses its least
//! important parts ([`budget`]).

pub mod neutralize_text;
pub mod fence;
pub mod tokens;
pub mod speakers;
mod shorten;
pub mod attachment_text;
pub mod picture;
pub mod recording;
pub mod memory_input;
pub mod view;
mod render_cache;
pub mod budget;
mod schema;
mod templates;
pub mod builder;
pub mod tool;

use std::fmt::Write as _;
use std::sync::Arc;

use aizuchi_model::context::Context;
use aizuchi_model::persona::Persona;
use aizuchi_model::texts;
use jiff::Zoned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::prompt::budget::TrimmedSection;
use crate::prompt::builder::JudgeOptions;
use crate::prompt::memory_input::MemoryInput;
use crate::prompt::picture::{PICTURE_TOKENS, Picture};
use crate::prompt::recording::AudioRecording;
use crate::prompt::speakers::Speakers;
use crate::prompt::tokens::estimate;
use crate::prompt::tool::{ToolRound, ToolSpec};

/// What a prompt asks a model to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PromptVerb {
    /// Whether to join in. The response is the JSON of [`aizuchi_model::decision::Judgment`].
    Judge,
    /// What to say. The response is plain text.
    Reply,
    /// What to remember. The response is JSON with dated entries.
    Remember,
    /// The state of a conversation. The response is one word.
    State,
    /// What a picture shows. The response is plain text. It has no template.
    Describe,
    /// What is said in a recording. The response is plain text. It has no template.
    Transcribe,
}

impl PromptVerb {
    /// The verbs with a template.
    pub const ALL: [PromptVerb; 4] =
        [PromptVerb::Judge, PromptVerb::Reply, PromptVerb::Remember, PromptVerb::State];

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One request to a mind. Models read `text`; the built-in mind reads the structured input behind
/// it.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub verb: PromptVerb,
    pub text: String,
    /// Has no messages if the prompt is about `memory_input`.
    pub context: Arc<Context>,
    /// What the judge may choose from, and the emoji that a reply may consist of.
    pub judge_options: JudgeOptions,
    pub memory_input: Option<Arc<MemoryInput>>,
    /// The present, in the users' time zone.
    pub now: Zoned,
    pub persona: Arc<Persona>,
    /// The names that the prompt uses.
    pub speakers: Arc<Speakers>,
    /// The maximum length of a useful response.
    pub max_tokens: Option<u32>,
    /// The estimated tokens of `text`.
    pub tokens: u64,
    /// The estimated tokens of each section, in order.
    pub sections: Vec<(&'static str, u64)>,
    /// What was left out to fit the budget.
    pub trimmed: Vec<TrimmedSection>,
    /// The tools that the model may use before it answers.
    pub tools: Vec<ToolSpec>,
    /// The rounds of tool calls so far.
    pub tool_rounds: Vec<ToolRound>,
    /// The picture that the request is about.
    pub picture: Option<Picture>,
    /// The recording that the request is about.
    pub recording: Option<AudioRecording>,
}

impl Prompt {
    /// The same prompt with a request to repair an unusable response.
    pub fn with_repair_request(&self, problem: &str) -> Self {
        self.with_request(&texts::prompts::repair_request(self.persona.language, problem))
    }

    /// The same prompt with a request at its end.
    pub fn with_request(&self, request: &str) -> Self {
        let text = format!("{}\n\n{request}", self.text);
        Self { tokens: estimate(&text), text, ..self.clone() }
    }

    /// The JSON schema of the response, if it is JSON.
    pub fn schema(&self) -> Option<Value> {
        match self.verb {
            PromptVerb::Judge => Some(schema::judgment_schema(self)),
            PromptVerb::Remember => Some(schema::memory_schema()),
            PromptVerb::Reply
            | PromptVerb::State
            | PromptVerb::Describe
            | PromptVerb::Transcribe => None,
        }
    }

    /// Whether the model has put words beside its tool calls so far.
    pub fn has_said(&self) -> bool {
        self.tool_rounds.iter().any(|round| !round.text.trim().is_empty())
    }

    /// The estimated tokens of the whole request, including tools, picture and recording.
    pub fn total_tokens(&self) -> u64 {
        let is_text_alone = self.tools.is_empty() && self.tool_rounds.is_empty();
        let text = if is_text_alone { self.tokens } else { estimate(&self.full_text()) };
        let picture = if self.picture.is_some() { PICTURE_TOKENS } else { 0 };
        text + picture + self.recording.as_ref().map_or(0, AudioRecording::tokens)
    }

    /// The first 16 hex digits of the SHA-256 of the whole request.
    pub fn hash(&self) -> String {
        let digest = Sha256::digest(self.full_text().as_bytes());
        digest.iter().take(8).fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}
