//! Asking the mind: with a limit on time, given up when people move on, noted in the ledger
//! whatever comes of it.

use std::sync::Arc;

use futures_util::future::{Either, select};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Attempts, Mind, Trouble};
use crate::decision::{Attempt, AttemptEnd, Exchange, Usage};
use crate::llm::{LlmError, estimated_tokens};
use crate::prompt::Prompt;

impl Agent {
    pub(super) async fn ask(
        &self,
        mind: &Mind,
        prompt: &Prompt,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<String, Trouble> {
        let began = self.now();
        let answer = self.clock.timeout(self.settings.model_timeout, mind.llm.ask(prompt));
        let (answer, moved_on) = (std::pin::pin!(answer), std::pin::pin!(overtaken.cancelled()));
        // The tokens of a call that is cut short are spent all the same.
        let spent = Usage { input_tokens: estimated_tokens(&prompt.text), ..Usage::default() };
        let (end, answer) = match select(moved_on, answer).await {
            Either::Left(_) => (AttemptEnd::Superseded, Err(Trouble::Overtaken)),
            Either::Right((Ok(Ok(answer)), _)) => (AttemptEnd::Kept, Ok(answer)),
            Either::Right((Ok(Err(error)), _)) => (AttemptEnd::Failed, Err(error.into())),
            Either::Right((Err(_timed_out), _)) => {
                let why = format!("no answer within {:#}", self.settings.model_timeout);
                let error = LlmError::Busy { why, retry_after: None };
                (AttemptEnd::Failed, Err(error.into()))
            }
        };
        let usage = answer.as_ref().map_or(spent, |answer| answer.usage);
        let model = answer.as_ref().ok().and_then(|answer| answer.model.clone());
        let model = model.unwrap_or_else(|| mind.llm.model().into());
        let text = answer.map(|answer| answer.text);
        let attempt = Attempt {
            verb: prompt.verb.name().into(),
            at: began,
            prompt_hash: prompt.hash().into(),
            prompt_bytes: prompt.text.len() as u64,
            usage,
            price: self.settings.prices.of(&model, usage),
            model,
            latency: self.now().duration_since(began),
            end,
            judgment: None,
            error: text.as_ref().err().and_then(Trouble::error),
            exchange: self.settings.keeps_exchanges.then(|| exchange(prompt, &text)),
        };
        self.metrics.called(&attempt);
        attempts.push(attempt);
        text
    }
}

fn exchange(prompt: &Prompt, answer: &Result<String, Trouble>) -> Arc<Exchange> {
    Arc::new(Exchange {
        prompt: prompt.text.as_str().into(),
        answer: answer.as_deref().ok().map(Arc::from),
        lines: prompt.context.messages.iter().map(|message| message.id.clone()).collect(),
    })
}

impl Trouble {
    fn error(&self) -> Option<String> {
        match self {
            Trouble::Overtaken => None,
            Trouble::Passing { error, .. } | Trouble::Lasting { error } => Some(error.clone()),
        }
    }
}
