//! A mind that says what it was told to: for stories, and for replays that ask *when* a judge
//! would be called and not what it says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::context::conversation_analysis::ConversationAnalysis;
use crate::decision::Usage;
use crate::llm::{Llm, LlmError, LlmResponse};
use crate::prompt::tokens::estimate;
use crate::prompt::tool::ToolCall;
use crate::prompt::{Prompt, PromptVerb};

/// Answers from a list for each verb, then with the standing answer.
#[derive(Default)]
pub struct ScriptedMind {
    script: Mutex<Script>,
    /// As a judge without a list and a standing answer.
    default_judgment: Option<ScriptedJudgment>,
}

#[derive(Default)]
struct Script {
    queued: BTreeMap<PromptVerb, VecDeque<ScriptedResponse>>,
    defaults: BTreeMap<PromptVerb, String>,
}

enum ScriptedResponse {
    Text(String),
    ToolCalls(String, Vec<ToolCall>),
    Error(LlmError),
}

impl ScriptedMind {
    /// Always silent, or always ready to speak.
    pub fn judging(should_respond: ScriptedJudgment) -> Self {
        let mind = Self { default_judgment: Some(should_respond), ..Self::default() };
        mind.set_default(PromptVerb::Reply, "scripted");
        mind
    }

    /// The answer whenever the list for this verb is empty.
    pub fn set_default(&self, verb: PromptVerb, answer: impl Into<String>) {
        self.lock().defaults.insert(verb, answer.into());
    }

    /// One more answer for this verb.
    pub fn push(&self, verb: PromptVerb, answer: Result<&str, LlmError>) {
        let scripted = answer
            .map_or_else(ScriptedResponse::Error, |text| ScriptedResponse::Text(text.to_owned()));
        self.lock().queued.entry(verb).or_default().push_back(scripted);
    }

    /// One more answer for this verb: it calls these tools, whether or not they are offered, and says
    /// something besides or nothing.
    pub fn push_tool_calls(&self, verb: PromptVerb, said: &str, calls: &[(&str, Value)]) {
        let numbered = calls.iter().enumerate().map(|(number, (name, arguments))| ToolCall {
            id: format!("call-{number}"),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        });
        let scripted = ScriptedResponse::ToolCalls(said.to_owned(), numbered.collect());
        self.lock().queued.entry(verb).or_default().push_back(scripted);
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedJudgment {
    Never,
    /// As a judge would who reads the prompt, it names the oldest question that nobody has taken up; else
    /// it leaves open what it is about.
    Always,
}

impl ScriptedJudgment {
    fn judgment(self, prompt: &Prompt) -> String {
        let floor = || ConversationAnalysis::new(&prompt.context);
        let stamp = |floor: ConversationAnalysis<'_>| {
            Some(prompt.speakers.message_label(floor.open_questions().next()?.message))
        };
        let about = match self {
            ScriptedJudgment::Never => None,
            ScriptedJudgment::Always => stamp(floor()),
        };
        let judgment = json!({
            "should_respond": self == ScriptedJudgment::Always,
            "reason": "scripted",
            "confidence": 1.0,
            // The moment is a matter of the policy.
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
            Some(ScriptedResponse::ToolCalls(said, calls)) => (said, calls),
            Some(ScriptedResponse::Error(error)) => return Err(error),
            None => {
                let nothing =
                    || LlmError::Refused(format!("no scripted answer to {}", prompt.verb.name()));
                let judges = self.default_judgment.filter(|_| prompt.verb == PromptVerb::Judge);
                let standing = script.defaults.get(&prompt.verb).cloned();
                let judged = || judges.map(|judges| judges.judgment(prompt));
                (standing.or_else(judged).ok_or_else(nothing)?, Vec::new())
            }
        };
        let called: u64 = calls.iter().map(|call| estimate(&call.to_line())).sum();
        let usage = Usage {
            input_tokens: prompt.total_tokens(),
            cached_tokens: 0,
            output_tokens: estimate(&text) + called,
        };
        Ok(LlmResponse { tool_calls: calls, ..LlmResponse::new(text, usage) })
    }
}
