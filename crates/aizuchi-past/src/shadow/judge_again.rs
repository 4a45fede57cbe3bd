//! Asks the judge about a past moment again: sends the recorded prompt, word for word, to the current model.

use std::sync::Arc;

use aizuchi_agent::agent::judge::parse::parse_judgment;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::tokens::estimate;
use aizuchi_model::context::Context;
use aizuchi_model::decision::{Attempt, Judgment, ModelExchange};
use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use tokio_util::sync::CancellationToken;

use crate::past_moment::PastMoment;
use crate::replay::judge::model::CallCounts;
use crate::shadow::LONGEST_ASKING;
use crate::shadow::prompts::PastPrompts;
use crate::what_if::ShadowModel;

/// A recorded call to the judge, which is repeated.
pub struct Rejudgment {
    /// The verdict at the time. `None` if the answer was unusable, or if there was none.
    pub recorded: Option<Judgment>,
    /// The model that was asked at the time.
    pub recorded_model: Arc<str>,
    prompt: Prompt,
}

/// The result of asking the judge again.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejudged {
    Judged(Judgment),
    /// The answer is not a judgment, for this reason.
    Unreadable(String),
    /// The judge did not answer, or was not asked.
    Unanswered,
}

impl Rejudgment {
    /// Prepares a judgment. `context` is what the prompt was made from at the time; it resolves the message that an
    /// answer names.
    pub fn new(
        moment: &PastMoment,
        (attempt, exchange): (&Attempt, ModelExchange),
        context: Context,
        prompts: &PastPrompts,
    ) -> Self {
        let rebuilt = prompts.judge(&Arc::new(context), &moment.decision, moment.at);
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
    ) -> (Rejudged, CallCounts) {
        let judge = model.judge().until(stop.clone(), LONGEST_ASKING);
        let rejudged = match judge.answer(&self.prompt).await {
            Ok(response) => self.read(&response.text, secrets),
            Err(_) => Rejudged::Unanswered,
        };
        (rejudged, judge.counts())
    }

    fn read(&self, answer: &str, secrets: &SecretScanner) -> Rejudged {
        let language = self.prompt.persona.language;
        let screen = |text: &str| {
            let known = KnownUrls::default();
            outgoing::screen(text, &known, CodeBlocks::LoseUrls, secrets, language)
        };
        match parse_judgment(answer, &self.prompt) {
            Ok(judgment) => {
                Rejudged::Judged(Judgment { reason: screen(&judgment.reason), ..judgment })
            }
            Err(why) => Rejudged::Unreadable(why),
        }
    }
}
