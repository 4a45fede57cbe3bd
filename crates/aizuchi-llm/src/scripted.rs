//! A mind with scripted answers, for tests, and for replays that ask *when* a judge would be called and not what it
//! would answer.

use std::collections::{BTreeMap, VecDeque};

use aizuchi_model::context::conversation_analysis::ConversationAnalysis;
use aizuchi_model::decision::Usage;
use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::prompt::tokens::estimate;
use crate::prompt::tool::ToolCall;
use crate::prompt::{Prompt, PromptVerb};
use crate::{Llm, LlmError, LlmResponse};

/// Answers from a queue per verb, then with the default.
#[derive(Default)]
pub struct ScriptedMind {
    script: Mutex<ResponseScript>,
    /// The judge's answer if there is neither a queued answer nor a default.
    default_judgment: Option<ScriptedJudgment>,
}

#[derive(Default)]
struct ResponseScript {
    queued: BTreeMap<PromptVerb, VecDeque<ScriptedResponse>>,
    defaults: BTreeMap<PromptVerb, String>,
}

enum ScriptedResponse {
    Text(String),
    ToolCalls(String, Vec<ToolCall>),
    Error(LlmError),
}

impl ScriptedMind {
    /// A mind whose judge is always silent, or always willing to speak.
    pub fn judging(should_respond: ScriptedJudgment) -> Self {
        let mind = Self { default_judgment: Some(should_respond), ..Self::default() };
        mind.set_default(PromptVerb::Reply, "scripted");
        mind
    }

    /// Sets the answer for when the queue of this verb is empty.
    pub fn set_default(&self, verb: PromptVerb, answer: impl Into<String>) {
        self.lock().defaults.insert(verb, answer.into());
    }

    /// Queues an answer for this verb.
    pub fn push(&self, verb: PromptVerb, answer: Result<&str, LlmError>) {
        let scripted = answer
            .map_or_else(ScriptedResponse::Error, |text| ScriptedResponse::Text(text.to_owned()));
        self.lock().queued.entry(verb).or_default().push_back(scripted);
    }

    /// Queues an answer that calls these tools, whether or not they are offered, with a text that
    /// may be empty.
    pub fn push_tool_calls(&self, verb: PromptVerb, text: &str, calls: &[(&str, Value)]) {
        let calls = calls.iter().enumerate().map(|(number, (name, arguments))| ToolCall {
            id: format!("call-{number}"),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        });
        let scripted = ScriptedResponse::ToolCalls(text.to_owned(), calls.collect());
        self.lock().queued.entry(verb).or_default().push_back(scripted);
    }

    fn lock(&self) -> MutexGuard<'_, ResponseScript> {
        self.script.lock()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedJudgment {
    Never,
    /// Names the oldest open question, as a judge that reads the prompt would, or no message if no question is open.
    Always,
}

impl ScriptedJudgment {
    fn judgment(self, prompt: &Prompt) -> String {
        let analysis = || ConversationAnalysis::new(&prompt.context);
        let label = |analysis: ConversationAnalysis<'_>| {
            Some(prompt.speakers.message_label(analysis.open_questions().next()?.message))
        };
        let about = match self {
            ScriptedJudgment::Never => None,
            ScriptedJudgment::Always => label(analysis()),
        };
        let judgment = json!({
            "should_respond": self == ScriptedJudgment::Always,
            "reason": "scripted",
            "confidence": 1.0,
            // `null` leaves the delay to the policy.
            "delay_seconds": null,
            "about": about,
        });
        judgment.to_string()
    }
}

#[async_trait]
impl Llm for ScriptedMind {
    fn model(&self) -> &str {
        "scripted"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let mut script = self.lock();
        let scripted = script.queued.get_mut(&prompt.verb).and_then(VecDeque::pop_front);
        let (text, calls) = match scripted {
            Some(ScriptedResponse::Text(text)) => (text, Vec::new()),
            Some(ScriptedResponse::ToolCalls(text, calls)) => (text, calls),
            Some(ScriptedResponse::Error(error)) => return Err(error),
            None => {
                let nothing =
                    || LlmError::Refused(format!("no scripted answer to {}", prompt.verb.name()));
                let judgment = self.default_judgment.filter(|_| prompt.verb == PromptVerb::Judge);
                let default = script.defaults.get(&prompt.verb).cloned();
                let judged = || judgment.map(|judgment| judgment.judgment(prompt));
                (default.or_else(judged).ok_or_else(nothing)?, Vec::new())
            }
        };
        let call_tokens: u64 = calls.iter().map(|call| estimate(&call.to_line())).sum();
        let usage = Usage {
            input_tokens: prompt.total_tokens(),
            output_tokens: estimate(&text) + call_tokens,
            ..Usage::default()
        };
        Ok(LlmResponse { tool_calls: calls, ..LlmResponse::new(text, usage) })
    }
}
