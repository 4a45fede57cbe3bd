//! Asks the judge about a past moment again: sends the recorded prompt, word for word, to the current model.

use std::sync::Arc;

use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::tokens::estimate;
use aizuchi_model::decision::{Attempt, Judgment, ModelExchange};
use aizuchi_model::outgoing::secrets::SecretScanner;
use tokio_util::sync::CancellationToken;

use crate::answer::{MindAnswer, ask_judge};
use crate::past_moment::PastMoment;
use crate::replay::judge::model::{CallCounts, ShadowModel};
use crate::shadow::LONGEST_ASKING;
use crate::shadow::moments::TriedMoment;

/// A recorded call to the judge, which is repeated.
pub struct Rejudgment {
    /// The verdict at the time. `None` if the answer was unusable, or if there was none.
    pub recorded: Option<Judgment>,
    /// The model that was asked at the time.
    pub recorded_model: Arc<str>,
    prompt: Prompt,
}

impl Rejudgment {
    /// Prepares a judgment. The context of the moment resolves the message that an answer names.
    pub fn new(tried: TriedMoment, (attempt, exchange): (&Attempt, ModelExchange)) -> Self {
        let TriedMoment { moment: PastMoment { decision, at, .. }, context, prompts } = tried;
        let rebuilt = prompts[0].judge(context, &decision, at);
        let text = exchange.prompt.to_string();
        Self {
            recorded: attempt.judgment.clone(),
            recorded_model: attempt.model.clone(),
            prompt: Prompt { tokens: estimate(&text), text, ..rebuilt },
        }
    }

    /// Asks the judge, or only estimates the cost.
    pub async fn ask(
        &self,
        model: &ShadowModel,
        secrets: &SecretScanner,
        stop: &CancellationToken,
    ) -> (MindAnswer<Judgment>, CallCounts) {
        let judge = model.judge().until(stop.clone(), LONGEST_ASKING);
        (ask_judge(&judge, &self.prompt, secrets).await, judge.counts())
    }
}
