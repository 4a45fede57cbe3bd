//! The judge asked once more about a moment: the recorded prompt, word for word, to the model that judges now.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::past_moment::PastMoment;
use crate::replay::judge::model::CallCounts;
use crate::shadow::LONGEST_ASKING;
use crate::shadow::prompts::PastPrompts;
use crate::what_if::ShadowModel;
use aizuchi_core::agent::judge::parse_judgment;
use aizuchi_core::context::Context;
use aizuchi_core::decision::{Attempt, Decision, Judgment, ModelExchange};
use aizuchi_core::outgoing;
use aizuchi_core::outgoing::secrets::SecretScanner;
use aizuchi_core::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_core::prompt::Prompt;
use aizuchi_core::prompt::tokens::estimate;

/// What is put to the judge again.
pub struct Rejudgment {
    /// The verdict then. `None`: its answer could not be used, or there was none.
    pub recorded: Option<Judgment>,
    /// Who was asked then.
    pub recorded_model: Arc<str>,
    prompt: Prompt,
}

/// Why a moment cannot be judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unjudgeable {
    /// A rule settled it, or somebody was owed an answer.
    NoJudge,
    /// Its time is over, one of its messages was changed or deleted, or prompts are not kept at all.
    PromptGone,
    /// The messages that it was about.
    MessagesGone,
}

/// What came of it, if the judge was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejudged {
    Judged(Judgment),
    /// The answer is no judgment, for this reason.
    Unreadable(String),
    /// It did not answer, or was not asked.
    Unanswered,
}

/// The recorded call that counts: the last that came to a verdict, or else the last of all. Its prompt must be kept.
pub fn recorded_call(
    decision: &Decision,
    exchanges: Vec<Option<ModelExchange>>,
) -> Result<(&Attempt, ModelExchange), Unjudgeable> {
    let calls = decision.attempts.iter().zip(exchanges);
    let mut judged: Vec<_> = calls.filter(|(attempt, _)| &*attempt.verb == "judge").collect();
    let position = judged.iter().rposition(|(attempt, _)| attempt.judgment.is_some());
    let last = judged.len().checked_sub(1).ok_or(Unjudgeable::NoJudge)?;
    let (attempt, exchange) = judged.swap_remove(position.unwrap_or(last));
    let is_kept = |exchange: &ModelExchange| !exchange.prompt.is_empty();
    Ok((attempt, exchange.filter(is_kept).ok_or(Unjudgeable::PromptGone)?))
}

impl Rejudgment {
    /// The context is what a prompt was made from then: by it, the message that an answer names is found.
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

    /// Asks, or only counts what it would cost.
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
