//! Asking the mind: with a limit on time, given up when people move on, noted in the ledger
//! whatever comes of it.

use std::sync::Arc;

use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::agent::{Agent, Attempts, Mind, Trouble};
use crate::decision::{Attempt, AttemptEnd, Exchange, LeftOut, Usage};
use crate::llm::{Answer, LlmError};
use crate::prompt::Prompt;
use crate::prompt::budget::Trimmed;

/// What became of a question.
enum Asked {
    Answered(Answer),
    Failed(LlmError),
    /// Nobody waited for the answer.
    Cut(AttemptEnd, Trouble),
}

impl Agent {
    pub(super) async fn ask(
        &self,
        mind: &Mind,
        prompt: &Prompt,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<String, Trouble> {
        let limit = self.settings.model_timeout;
        Ok(self.ask_within(limit, mind, prompt, overtaken, attempts).await?.text)
    }

    /// The whole answer, if it comes within `limit`.
    pub(super) async fn ask_within(
        &self,
        limit: SignedDuration,
        mind: &Mind,
        prompt: &Prompt,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<Answer, Trouble> {
        let began = self.now();
        let asked = self.wait_for_answer(limit, mind, prompt, overtaken).await;
        let blank = self.blank_attempt(mind, prompt, began);
        let (attempt, answer) = match asked {
            Asked::Answered(mut answer) => {
                for missed in std::mem::take(&mut answer.missed) {
                    let (error, usage) = (missed.error.to_string(), missed.error.usage(prompt));
                    let end = AttemptEnd::Failed;
                    let error = Some(error);
                    let model = missed.model;
                    self.note(Attempt { model, usage, end, error, ..blank.clone() }, attempts);
                }
                let model = answer.model.clone().unwrap_or(blank.model.clone());
                let (estimated, reported) = (prompt.all_tokens(), answer.usage.input_tokens);
                self.corrections.learn(&model, estimated, reported);
                (Attempt { model, usage: answer.usage, ..blank }, Ok(answer))
            }
            Asked::Failed(error) => {
                let (usage, end) = (error.usage(prompt), AttemptEnd::Failed);
                (Attempt { usage, end, ..blank }, Err(Trouble::from(error)))
            }
            Asked::Cut(end, trouble) => {
                (Attempt { usage: spent(prompt), end, ..blank }, Err(trouble))
            }
        };
        let error = answer.as_ref().err().and_then(Trouble::error);
        let exchange = Some(self.exchange(prompt, &answer));
        self.note(Attempt { error, exchange, ..attempt }, attempts);
        answer
    }

    async fn wait_for_answer(
        &self,
        limit: SignedDuration,
        mind: &Mind,
        prompt: &Prompt,
        overtaken: &CancellationToken,
    ) -> Asked {
        let answer = self.clock.timeout(limit, mind.llm.ask(prompt));
        let (answer, moved_on) = (std::pin::pin!(answer), std::pin::pin!(overtaken.cancelled()));
        match select(moved_on, answer).await {
            Either::Left(_) => Asked::Cut(AttemptEnd::Superseded, Trouble::Overtaken),
            Either::Right((Ok(Ok(answer)), _)) => Asked::Answered(answer),
            Either::Right((Ok(Err(error)), _)) => Asked::Failed(error),
            Either::Right((Err(_timed_out), _)) => {
                let why = format!("no answer within {limit:#}");
                Asked::Cut(AttemptEnd::Failed, LlmError::Late(why).into())
            }
        }
    }

    /// An attempt of which nothing came yet.
    fn blank_attempt(&self, mind: &Mind, prompt: &Prompt, began: Timestamp) -> Attempt {
        Attempt {
            verb: prompt.verb.name().into(),
            at: began,
            model: mind.llm.model().into(),
            prompt_hash: prompt.hash().into(),
            prompt_bytes: prompt.shown().len() as u64,
            usage: Usage::default(),
            price: None,
            latency: self.now().duration_since(began),
            end: AttemptEnd::Kept,
            judgment: None,
            error: None,
            left_out: prompt.trimmed.iter().map(left_out).collect(),
            exchange: None,
        }
    }

    /// What was asked, and what it was made from: that is known even if the words are not kept.
    fn exchange(&self, prompt: &Prompt, answer: &Result<Answer, Trouble>) -> Arc<Exchange> {
        let made_from = prompt.lineage();
        if !made_from.memories.is_empty() {
            let (verb, conversation) = (prompt.verb.name(), &prompt.context.conversation);
            debug!("{verb} of {conversation} uses the memories {:?}", made_from.memories);
        }
        let is_kept = self.settings.keeps_exchanges;
        let answer = answer.as_ref().ok().filter(|_| is_kept);
        Arc::new(Exchange {
            prompt: if is_kept { prompt.shown().into() } else { "".into() },
            answer: answer.map(|answer| answer.shown().into()),
            made_from,
            considered: prompt.context.revision,
        })
    }

    fn note(&self, attempt: Attempt, attempts: &mut Attempts) {
        let price = self.settings.prices.of(&attempt.model, attempt.usage);
        let attempt = Attempt { price, ..attempt };
        self.metrics.called(&attempt);
        attempts.push(attempt);
    }
}

fn left_out(trimmed: &Trimmed) -> LeftOut {
    LeftOut { section: trimmed.section.into(), count: trimmed.count, tokens: trimmed.tokens }
}

/// The tokens of a call that is cut short are spent all the same.
fn spent(prompt: &Prompt) -> Usage {
    Usage { input_tokens: prompt.all_tokens(), ..Usage::default() }
}

impl LlmError {
    /// What it cost to learn this.
    fn usage(&self, prompt: &Prompt) -> Usage {
        match self {
            LlmError::Late(_) => spent(prompt),
            LlmError::Busy { .. } | LlmError::Refused(_) => Usage::default(),
            LlmError::Useless { usage, .. } => *usage,
        }
    }
}

impl Trouble {
    fn error(&self) -> Option<String> {
        match self {
            Trouble::Overtaken => None,
            Trouble::Passing { error, .. } | Trouble::Lasting { error } => Some(error.clone()),
        }
    }
}
