//! Answers that were recorded elsewhere: JSON Lines, each identified by the hash of its prompt, or by the message that
//! it is about.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use aizuchi_import::history::describe_json_error;
use aizuchi_import::json_lines::read_lines;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::scripted::ScriptedMind;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::MessageId;
use aizuchi_model::decision::{Judgment, Usage};
use aizuchi_model::input_file::{self, MAX_KEPT_BYTES};
use anyhow::Context as _;
use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::replay::judge::bystander;
use crate::replay::judge::model::ModelJudge;

/// A judge that gives the answers of a file.
pub struct RecordedAnswers {
    by_prompt: HashMap<String, String>,
    /// By the channel and the newest message that was judged.
    by_message: HashMap<(String, String), RecordedJudgment>,
    /// The models that gave them, as far as the lines say so.
    pub models: BTreeSet<String>,
    pub bad_lines: Vec<(u64, String)>,
    /// The model that is asked, or only priced, about messages from this time on that have no answer. The earlier ones
    /// are heard only to learn the channel's rhythm, so their verdicts do not matter.
    otherwise: Option<(Arc<ModelJudge>, Timestamp)>,
    bystander: ScriptedMind,
    counts: Mutex<RecordedCounts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordedCounts {
    pub answered: u64,
    /// Judgments that are not known.
    pub unknown: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum RecordedLine {
    Answer { prompt_hash: String, answer: String, model: Option<String> },
    Judgment(RecordedJudgment),
}

#[derive(Clone, Debug, Deserialize)]
struct RecordedJudgment {
    #[serde(rename = "room")]
    channel: String,
    message: String,
    should_respond: bool,
    /// A missing confidence counts as certain.
    confidence: Option<f64>,
    delay_seconds: Option<u32>,
    /// The message to answer, by its id.
    about: Option<String>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    reaction: Option<String>,
    #[serde(default)]
    look_again_seconds: Option<u32>,
    /// The model that gave it.
    model: Option<String>,
}

impl RecordedAnswers {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let bytes = input_file::read(path, MAX_KEPT_BYTES)
            .with_context(|| format!("cannot read {shown}"))?;
        let (mut by_prompt, mut by_message) = (HashMap::new(), HashMap::new());
        let (mut models, mut bad_lines) = (BTreeSet::new(), Vec::new());
        read_lines(&mut &bytes[..], &mut |number, line| {
            match line.and_then(parse) {
                Ok(RecordedLine::Answer { prompt_hash, answer, model }) => {
                    models.extend(model);
                    by_prompt.insert(prompt_hash, answer);
                }
                Ok(RecordedLine::Judgment(mut judgment)) => {
                    models.extend(judgment.model.take());
                    let key = (judgment.channel.clone(), judgment.message.clone());
                    by_message.insert(key, judgment);
                }
                Err(problem) => bad_lines.push((number, problem)),
            }
            Ok(())
        })
        .with_context(|| format!("cannot read {shown}"))?;
        let is_empty = by_prompt.is_empty() && by_message.is_empty();
        anyhow::ensure!(!is_empty, "{shown} holds no answers");
        Ok(Self {
            by_prompt,
            by_message,
            models,
            bad_lines,
            otherwise: None,
            bystander: bystander(),
            counts: Mutex::default(),
        })
    }

    /// Creates answers from the verdicts of a ledger, by the newest message that each was about. All other judgments
    /// are unknown.
    pub fn from_verdicts(channel: &str, verdicts: HashMap<MessageId, Judgment>) -> Self {
        let verdict = |(message, judgment): (MessageId, Judgment)| {
            let key = (channel.to_owned(), message.to_string());
            (key, RecordedJudgment::new(channel, &message, judgment))
        };
        Self {
            by_prompt: HashMap::new(),
            by_message: verdicts.into_iter().map(verdict).collect(),
            models: BTreeSet::new(),
            bad_lines: Vec::new(),
            otherwise: None,
            bystander: bystander(),
            counts: Mutex::default(),
        }
    }

    /// Asks a model about messages from `since` on that have no answer.
    pub fn or_asking(self, model: Arc<ModelJudge>, since: Timestamp) -> Self {
        Self { otherwise: Some((model, since)), ..self }
    }

    pub fn counts(&self) -> RecordedCounts {
        *self.counts.lock()
    }

    fn find(&self, prompt: &Prompt) -> Option<String> {
        if !self.by_prompt.is_empty()
            && let Some(answer) = self.by_prompt.get(&prompt.hash())
        {
            return Some(answer.clone());
        }
        let channel = prompt.context.conversation.channel.as_str();
        let newest = prompt.context.target_messages().last().map(|message| &message.id);
        let human = prompt.context.newest_human_message().map(|message| &message.id);
        let find = |id: &MessageId| self.by_message.get(&(channel.to_owned(), id.to_string()));
        newest.into_iter().chain(human).find_map(find).map(|found| found.answer(prompt))
    }
}

impl RecordedJudgment {
    fn new(channel: &str, message: &MessageId, judgment: Judgment) -> Self {
        Self {
            channel: channel.to_owned(),
            message: message.to_string(),
            should_respond: judgment.should_respond,
            confidence: Some(judgment.confidence),
            delay_seconds: judgment.delay_seconds,
            about: judgment.about.map(|about| about.to_string()),
            reason: judgment.reason,
            reaction: judgment.reaction,
            look_again_seconds: judgment.look_again_seconds,
            model: None,
        }
    }

    /// Formats the answer as a judge that reads this prompt would write it.
    fn answer(&self, prompt: &Prompt) -> String {
        let about = self.about.as_ref().and_then(|about| {
            let mut messages = prompt.context.target_messages().iter();
            let message = messages.find(|message| message.id.as_str() == about)?;
            Some(prompt.speakers.message_label(message))
        });
        let answer = json!({
            "should_respond": self.should_respond,
            "reason": if self.reason.is_empty() { "recorded" } else { &self.reason },
            "confidence": self.confidence.unwrap_or(1.0),
            "delay_seconds": self.delay_seconds,
            "about": about,
            "reaction": self.reaction,
            "look_again_seconds": self.look_again_seconds,
        });
        answer.to_string()
    }
}

fn parse(line: &[u8]) -> Result<RecordedLine, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| describe_json_error(&error))?;
    let problem = "it has neither prompt_hash and answer, nor room, message and should_respond";
    let line: RecordedLine = serde_json::from_value(value).map_err(|_| problem.to_owned())?;
    if let RecordedLine::Judgment(RecordedJudgment { confidence: Some(confidence), .. }) = &line
        && !(0.0..=1.0).contains(confidence)
    {
        return Err("its confidence is not between 0 and 1".to_owned());
    }
    Ok(line)
}

#[async_trait]
impl Llm for RecordedAnswers {
    fn model(&self) -> &str {
        self.otherwise.as_ref().map_or("recorded", |(model, _)| model.model())
    }

    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        let otherwise = self.otherwise.as_ref().map(|(model, _)| &**model as &dyn Llm);
        otherwise.unwrap_or(&self.bystander).max_output_tokens(prompt)
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        if prompt.verb != PromptVerb::Judge {
            return self.bystander.ask(prompt).await;
        }
        if let Some(answer) = self.find(prompt) {
            self.counts.lock().answered += 1;
            let usage = Usage { input_tokens: prompt.total_tokens(), ..Usage::default() };
            return Ok(LlmResponse::new(answer, usage));
        }
        let newest = prompt.context.target_messages().last();
        match &self.otherwise {
            Some((_, since)) if newest.is_some_and(|newest| newest.at < *since) => {
                self.bystander.ask(prompt).await
            }
            Some((model, _)) => model.ask(prompt).await,
            None => {
                self.counts.lock().unknown += 1;
                Err(LlmError::Refused("no answer is known".to_owned()))
            }
        }
    }
}
