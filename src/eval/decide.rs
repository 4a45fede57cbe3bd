//! Labelled decisions: does a mind join in where nobody else did, and stay out where it was not wanted?
//! Each item is judged by the very prompt and parser that a room's conversation would get.

pub mod item;
pub mod prompts;
pub mod baseline;
pub mod score;
pub mod report;

use crate::config::Config;
use aizuchi_core::agent::judge::parse_judgment;
use aizuchi_core::context::state::ConversationState;
use aizuchi_core::decision::verdict::Verdict;
use aizuchi_core::prompt::Prompt;
use aizuchi_core::rules::{ChannelRules, Mode};

/// What came of one item.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemAnswer {
    Answered(DecisionAnswer),
    /// The answer cannot be read; that is silence, as it is in a room.
    Unreadable,
    /// There is no answer. The sentence says why, without any chat text.
    Failed(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionAnswer {
    /// It would say something, after all that the rules hold back.
    pub would_speak: bool,
    /// What it said itself, before that.
    pub should_respond: bool,
    /// `None` where nobody has said how sure they are.
    pub confidence: Option<f64>,
}

impl ItemAnswer {
    /// What an answer comes to in a companion's room.
    pub fn from_answer(answer: &str, prompt: &Prompt, rules: &ChannelRules) -> Self {
        let Ok(judgment) = parse_judgment(answer, prompt) else {
            return Self::Unreadable;
        };
        let state = judgment.conversation_state.unwrap_or(ConversationState::Active);
        let verdict = judgment.verdict(state, Mode::Companion, rules);
        Self::Answered(DecisionAnswer {
            would_speak: verdict == Verdict::Join,
            should_respond: judgment.should_respond,
            confidence: Some(judgment.confidence),
        })
    }

    /// What somebody says who has no doubts.
    pub fn certain(speaks: bool) -> Self {
        Self::Answered(DecisionAnswer {
            would_speak: speaks,
            should_respond: speaks,
            confidence: None,
        })
    }

    /// Whatever is not a clear yes is silence.
    pub fn would_speak(&self) -> bool {
        match self {
            Self::Answered(answered) => answered.would_speak,
            Self::Unreadable | Self::Failed(_) => false,
        }
    }
}

/// The rules that answers are held against: the config's, without any channel's own.
pub fn eval_rules(config: &Config) -> ChannelRules {
    ChannelRules { min_confidence: config.response.min_confidence.0, ..ChannelRules::default() }
}
