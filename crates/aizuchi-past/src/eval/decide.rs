//! Measures a mind against labeled decisions: whether it joins in where it should, and stays silent where it should
//! not. Each item goes through the prompt and the parser that a real conversation would get.

pub mod item;
pub mod from_marks;
pub mod context;
pub mod baseline;
pub mod score;
pub mod report;

use aizuchi_agent::agent::judge::parse::parse_judgment;
use aizuchi_config::Config;
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::decision::verdict::Verdict;
use aizuchi_model::rules::{ChannelRules, Mode};

use crate::answer::MindAnswer;
use crate::eval::decide::context::is_owed;

/// The result of one item.
pub type ItemAnswer = MindAnswer<DecisionAnswer>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionAnswer {
    /// The persona would speak, after the channel rules were applied.
    pub would_speak: bool,
    /// The judgment of the mind, before the rules.
    pub should_respond: bool,
    /// `None` for baselines, which have no confidence.
    pub confidence: Option<f64>,
}

impl ItemAnswer {
    /// Returns what is known without asking: an owed answer is given anyway.
    pub fn known_before(prompt: &Prompt) -> Option<Self> {
        is_owed(&prompt.context).then(|| Self::without_confidence(true))
    }

    /// Parses an answer and applies the rules of a channel in the companion mode.
    pub fn from_answer(answer: &str, prompt: &Prompt, rules: &ChannelRules) -> Self {
        if let Some(known) = Self::known_before(prompt) {
            return known;
        }
        let judgment = match parse_judgment(answer, prompt) {
            Ok(judgment) => judgment,
            Err(why) => return Self::Unreadable(why),
        };
        let state = judgment.conversation_state.unwrap_or(ConversationState::Active);
        let verdict = judgment.verdict(state, Mode::Companion, rules);
        Self::Known(DecisionAnswer {
            would_speak: verdict == Verdict::Join,
            should_respond: judgment.should_respond,
            confidence: Some(judgment.confidence),
        })
    }

    /// Creates the answer of a baseline.
    pub fn without_confidence(speaks: bool) -> Self {
        Self::Known(DecisionAnswer {
            would_speak: speaks,
            should_respond: speaks,
            confidence: None,
        })
    }

    /// Whether the persona would speak. Unreadable and failed answers count as silence.
    pub fn would_speak(&self) -> bool {
        self.known().is_some_and(|answered| answered.would_speak)
    }
}

/// Returns the channel rules that are applied to answers: the configured defaults, without overrides for single
/// channels.
pub fn eval_rules(config: &Config) -> ChannelRules {
    ChannelRules { min_confidence: config.response.min_confidence.0, ..ChannelRules::default() }
}
