//! A mind that says what it was told to: for stories, and for replays that ask *when* a judge
//! would be called and not what it says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::context::floor::Floor;
use crate::decision::Usage;
use crate::llm::{Answer, Llm, LlmError};
use crate::prompt::tokens::estimate;
use crate::prompt::tool::ToolCall;
use crate::prompt::{Prompt, Verb};

/// Answers from a list for each verb, then with the standing answer.
#[derive(Default)]
pub struct ScriptedMind {
    script: Mutex<Script>,
    /// As a judge without a list and a standing answer.
    judges: Option<Speak>,
}

#[derive(Default)]
struct Script {
    next: BTreeMap<Verb, VecDeque<Scripted>>,
    standing: BTreeMap<Verb, String>,
}

enum Scripted {
    Says(String),
    Calls(String, Vec<ToolCall>),
    Fails(LlmError),
}

impl ScriptedMind {
    /// Always silent, or always ready to speak.
    pub fn that_judges(should_respond: Speak) -> Self {
        let mind = Self { judges: Some(should_respond), ..Self::default() };
        mind.always(Verb::Reply, "scripted");
        mind
    }

    /// The answer whenever the list for this verb is empty.
    pub fn always(&self, verb: Verb, answer: impl Into<String>) {
        self.lock().standing.insert(verb, answer.into());
    }

    /// One more answer for this verb.
    pub fn then(&self, verb: Verb, answer: Result<&str, LlmError>) {
        let scripted = answer.map_or_else(Scripted::Fails, |text| Scripted::Says(text.to_owned()));
        self.lock().next.entry(verb).or_default().push_back(scripted);
    }

    /// One more answer for this verb: it calls these tools, whether or not they are offered, and says
    /// something besides or nothing.
    pub fn then_calls(&self, verb: Verb, said: &str, calls: &[(&str, Value)]) {
        let numbered = calls.iter().enumerate().map(|(number, (name, arguments))| ToolCall {
            id: format!("call-{number}"),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        });
        let scripted = Scripted::Calls(said.to_owned(), numbered.collect());
        self.lock().next.entry(verb).or_default().push_back(scripted);
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speak {
    Never,
    /// As a judge would who reads the prompt, it names the oldest question that nobody has taken up; else
    /// it leaves open what it is about.
    Always,
}

impl Speak {
    fn judgment(self, prompt: &Prompt) -> String {
        let floor = || Floor::of(&prompt.context);
        let stamp = |floor: Floor<'_>| Some(prompt.speakers.stamp(floor.open().next()?.line));
        let about = match self {
            Speak::Never => None,
            Speak::Always => stamp(floor()),
        };
        let judgment = json!({
            "should_respond": self == Speak::Always,
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

    async fn ask(&self, prompt: &Prompt) -> Result<Answer, LlmError> {
        let mut script = self.lock();
        let scripted = script.next.get_mut(&prompt.verb).and_then(VecDeque::pop_front);
        let (text, calls) = match scripted {
            Some(Scripted::Says(text)) => (text, Vec::new()),
            Some(Scripted::Calls(said, calls)) => (said, calls),
            Some(Scripted::Fails(error)) => return Err(error),
            None => {
                let nothing =
                    || LlmError::Refused(format!("no scripted answer to {}", prompt.verb.name()));
                let judges = self.judges.filter(|_| prompt.verb == Verb::Judge);
                let standing = script.standing.get(&prompt.verb).cloned();
                let judged = || judges.map(|judges| judges.judgment(prompt));
                (standing.or_else(judged).ok_or_else(nothing)?, Vec::new())
            }
        };
        let called: u64 = calls.iter().map(|call| estimate(&call.shown())).sum();
        let usage = Usage {
            input_tokens: prompt.all_tokens(),
            cached_tokens: 0,
            output_tokens: estimate(&text) + called,
        };
        Ok(Answer { calls, ..Answer::of(text, usage) })
    }
}
