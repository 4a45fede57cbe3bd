//! What a mind answers about a past moment.

use aizuchi_agent::agent::judge::parse::parse_judgment;
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::decision::Judgment;
use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};

use crate::replay::judge::model::ModelJudge;

#[derive(Clone, Debug, PartialEq)]
pub enum MindAnswer<T> {
    Known(T),
    /// The answer cannot be parsed, for this reason.
    Unreadable(String),
    /// The mind was not asked, or did not answer. The string says why and contains no chat text.
    Unknown(String),
}

impl<T> MindAnswer<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(known) => Some(known),
            Self::Unreadable(_) | Self::Unknown(_) => None,
        }
    }
}

/// Asks for a judgment. Its reason is screened like a post.
pub async fn ask_judge(
    judge: &ModelJudge,
    prompt: &Prompt,
    secrets: &SecretScanner,
) -> MindAnswer<Judgment> {
    let response = match judge.answer(prompt).await {
        Ok(response) => response,
        Err(error) => return MindAnswer::Unknown(error.to_string()),
    };
    match parse_judgment(&response.text, prompt) {
        Ok(judgment) => {
            let (known, language) = (KnownUrls::default(), prompt.persona.language);
            let (reason, blocks) = (&judgment.reason, CodeBlocks::LoseUrls);
            let reason = outgoing::screen(reason, &known, blocks, secrets, language);
            MindAnswer::Known(Judgment { reason, ..judgment })
        }
        Err(why) => MindAnswer::Unreadable(why),
    }
}
