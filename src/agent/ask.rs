//! Asking the mind: with a limit on time, given up when people move on, noted in the ledger
//! whatever comes of it.

use futures_util::future::{Either, select};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Attempts, Trouble};
use crate::decision::{Attempt, AttemptEnd, Usage};
use crate::llm::{LlmError, estimated_tokens};
use crate::prompt::Prompt;

impl Agent {
    pub(super) async fn ask(
        &self,
        prompt: &Prompt,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<String, Trouble> {
        let began = self.now();
        let answer = self.clock.timeout(self.settings.model_timeout, self.llm.ask(prompt));
        let (answer, moved_on) = (std::pin::pin!(answer), std::pin::pin!(overtaken.cancelled()));
        // The tokens of a call that is cut short are spent all the same.
        let spent = Usage { input_tokens: estimated_tokens(&prompt.text), ..Usage::default() };
        let (usage, end, answer) = match select(moved_on, answer).await {
            Either::Left(_) => (spent, AttemptEnd::Superseded, Err(Trouble::Overtaken)),
            Either::Right((Ok(Ok(answer)), _)) => (answer.usage, AttemptEnd::Kept, Ok(answer.text)),
            Either::Right((Ok(Err(error)), _)) => (spent, AttemptEnd::Failed, Err(error.into())),
            Either::Right((Err(_timed_out), _)) => {
                let why = format!("no answer within {:#}", self.settings.model_timeout);
                let error = LlmError::Busy { why, retry_after: None };
                (spent, AttemptEnd::Failed, Err(error.into()))
            }
        };
        attempts.push(Attempt {
            verb: prompt.verb.name().into(),
            at: began,
            model: self.llm.model().into(),
            prompt_hash: prompt.hash().into(),
            prompt_bytes: prompt.text.len() as u64,
            usage,
            latency: self.now().duration_since(began),
            end,
            judgment: None,
            error: answer.as_ref().err().and_then(Trouble::error),
        });
        answer
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
