//! A mind whose answers a test scripts, and which records its prompts.

use std::collections::VecDeque;
use std::sync::Mutex;

use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::scripted::ScriptedMind;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use async_trait::async_trait;
use futures_util::future::BoxFuture;

/// What a test does during a call.
pub type Interruption = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A scripted model that records its prompts, and during whose calls a test may act.
#[derive(Default)]
pub struct TestMind {
    pub script: ScriptedMind,
    interruptions: Mutex<VecDeque<(PromptVerb, Interruption)>>,
    recorded: Mutex<Vec<Prompt>>,
    refused_text: Mutex<Option<String>>,
}

impl TestMind {
    /// Runs `interruption` during the next call for this verb, before it is answered.
    pub fn meanwhile<F>(&self, verb: PromptVerb, interruption: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let interruption: Interruption = Box::new(move || Box::pin(interruption()));
        self.interruptions.lock().unwrap().push_back((verb, interruption));
    }

    /// Fails on prompts that contain this text.
    pub fn fail_on(&self, text: &str) {
        *self.refused_text.lock().unwrap() = Some(text.to_owned());
    }

    pub fn prompt_texts(&self, verb: PromptVerb) -> Vec<String> {
        self.prompts(verb).into_iter().map(|prompt| prompt.text).collect()
    }

    /// The prompts for this verb.
    pub fn prompts(&self, verb: PromptVerb) -> Vec<Prompt> {
        let recorded = self.recorded.lock().unwrap();
        recorded.iter().filter(|prompt| prompt.verb == verb).cloned().collect()
    }

    /// Takes all recorded prompts, in order.
    pub fn calls(&self) -> Vec<Prompt> {
        std::mem::take(&mut self.recorded.lock().unwrap())
    }

    /// The verbs of all recorded prompts: `state judge reply`.
    pub fn verbs(&self) -> String {
        let recorded = self.recorded.lock().unwrap();
        recorded.iter().map(|prompt| prompt.verb.name()).collect::<Vec<_>>().join(" ")
    }
}

#[async_trait]
impl Llm for TestMind {
    fn model(&self) -> &str {
        "scripted"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.recorded.lock().unwrap().push(prompt.clone());
        let interruption = {
            let mut interruptions = self.interruptions.lock().unwrap();
            let is_next = interruptions.front().is_some_and(|(verb, _)| *verb == prompt.verb);
            if is_next { interruptions.pop_front() } else { None }
        };
        let refused_text = self.refused_text.lock().unwrap().clone();
        if refused_text.is_some_and(|text| prompt.text.contains(&text)) {
            return Err(LlmError::Refused("broken".to_owned()));
        }
        if let Some((_, interruption)) = interruption {
            interruption().await;
            // Lets the agent first notice whether its work was superseded.
            tokio::task::yield_now().await;
        }
        self.script.ask(prompt).await
    }
}
