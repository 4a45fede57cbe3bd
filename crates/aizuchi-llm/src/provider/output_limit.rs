//! The output token limit of a prompt. Thinking counts as output, so a model that thinks gets a higher limit than
//! its answer needs; otherwise it would use up the limit on thinking and answer nothing.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::provider::{DEFAULT_MAX_TOKENS, ModelParams};

/// The additional tokens for a model that thinks.
const THINKING_TOKENS: u32 = 16_000;
/// The additional tokens if the settings name an effort: Anthropic's highest reserves 24,000 tokens, and its
/// smallest limit is 32,000.
const EFFORT_THINKING_TOKENS: u32 = 32_000 - DEFAULT_MAX_TOKENS;
/// Parts of the names of models that think by default.
const THINKING_NAMES: [&str; 16] = [
    "gpt-5", "gpt-6", "gpt-oss", "gemini-2.5", "gemini-3", "gemini-4", "gemini-flash-latest",
    "gemini-pro-latest", "deepseek-r1", "reasoner", "thinking", "qwen3", "qwq", "magistral",
    "grok-4", "minimax-m",
];

/// The token limits of a model's answers and thinking.
pub struct Allowance {
    /// The maximum answer length in the settings.
    max_tokens: Option<u32>,
    /// The additional tokens for thinking. 0 if the model does not seem to think.
    thinking_tokens: AtomicU32,
    /// Whether the settings fix the tokens for thinking.
    is_fixed: bool,
}

impl Allowance {
    pub fn new(model_name: &str, params: &ModelParams) -> Self {
        let thinking_tokens = match (params.thinking_tokens, params.reasoning_effort.as_deref()) {
            (Some(tokens), _) => tokens,
            (None, Some("none")) => 0,
            (None, Some(_)) => EFFORT_THINKING_TOKENS,
            (None, None) if thinks_by_default(model_name) => THINKING_TOKENS,
            (None, None) => 0,
        };
        Self {
            max_tokens: params.max_tokens,
            thinking_tokens: AtomicU32::new(thinking_tokens),
            is_fixed: params.thinking_tokens.is_some(),
        }
    }

    /// The maximum answer length, from the settings and the prompt's own limit.
    pub fn answer(&self, prompt_limit: Option<u32>) -> u32 {
        let limit = self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        prompt_limit.map_or(limit, |prompt_limit| prompt_limit.min(limit))
    }

    /// The limit to send: the answer's limit plus the tokens for thinking.
    pub fn total(&self, prompt_limit: Option<u32>) -> u32 {
        let answer = self.answer(prompt_limit);
        match self.thinking_tokens.load(Ordering::Relaxed) {
            0 => answer,
            thinking => {
                let usual = answer.min(DEFAULT_MAX_TOKENS).saturating_add(thinking);
                // A large limit in the settings already includes the thinking.
                usual.max(self.max_tokens.unwrap_or(0))
            }
        }
    }

    /// Whether the limit is higher than the answer needs.
    pub fn has_room_to_think(&self) -> bool {
        self.thinking_tokens.load(Ordering::Relaxed) > 0
    }

    /// Raises the limit from now on, after an answer was cut off. Returns the additional tokens; `None` if the limit
    /// was raised before, or the settings fix it.
    pub fn allow_thinking(&self) -> Option<u32> {
        if self.is_fixed {
            return None;
        }
        let order = Ordering::Relaxed;
        let was_none = self.thinking_tokens.compare_exchange(0, THINKING_TOKENS, order, order);
        was_none.ok().map(|_| THINKING_TOKENS)
    }
}

/// Whether a model thinks by default, judging by its name. Other models reveal it by their answers.
pub fn thinks_by_default(model_name: &str) -> bool {
    let name = model_name.to_lowercase();
    let is_openai_o = name.rsplit('/').next().is_some_and(|name| {
        let mut characters = name.bytes();
        characters.next() == Some(b'o')
            && characters.next().is_some_and(|digit| digit.is_ascii_digit())
    });
    let has_thinking_name = THINKING_NAMES.iter().any(|part| name.contains(part));
    (is_openai_o || has_thinking_name || is_thinking_claude(&name)) && !name.contains("non-")
}

/// Whether this is a Claude model that thinks by default: version 5 or later.
fn is_thinking_claude(name: &str) -> bool {
    claude_version(name).is_some_and(|version| version >= (5, 0))
}

/// The major and minor version of a Claude model, by its name in lower case.
pub fn claude_version(name: &str) -> Option<(u32, u32)> {
    let (_, name) = name.split_once("claude-")?;
    if is_always_thinking(name) {
        return Some((5, 0));
    }
    // A longer number is a date.
    let to_number = |part: &str| part.parse::<u32>().ok().filter(|number| *number < 100);
    let mut parts = name.split(['-', '.']).map(to_number).skip_while(Option::is_none);
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Whether this is a Claude model that cannot turn thinking off, of the fifth generation.
pub fn is_always_thinking(name: &str) -> bool {
    name.contains("fable") || name.contains("mythos")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(max_tokens: Option<u32>, thinking: Option<u32>, effort: Option<&str>) -> ModelParams {
        ModelParams {
            max_tokens,
            thinking_tokens: thinking,
            reasoning_effort: effort.map(str::to_owned),
            ..ModelParams::default()
        }
    }

    #[test]
    fn models_that_think_by_default_are_known_by_name() {
        for name in [
            "gpt-5-mini",
            "openai/gpt-5.1",
            "o3-mini",
            "o1",
            "openai/o4-mini",
            "gemini-2.5-flash",
            "google/gemini-3-pro-preview",
            "claude-opus-5",
            "claude-sonnet-5-20270110",
            "anthropic/claude-haiku-5.1",
            "claude-fable-5",
            "deepseek-reasoner",
            "qwen3:8b",
            "grok-4",
        ] {
            assert!(thinks_by_default(name), "{name}");
        }
        for name in [
            "gpt-4o",
            "gpt-4.1-mini",
            "gemini-2.0-flash",
            "claude-haiku-4-5",
            "claude-sonnet-4-20250514",
            "claude-3-5-sonnet-latest",
            "llama3.3:70b",
            "orca-2",
            "olmo-2",
            "deepseek-chat",
            "grok-4-fast-non-reasoning",
            "large-1",
        ] {
            assert!(!thinks_by_default(name), "{name}");
        }
    }

    #[test]
    fn the_version_of_a_claude_model_is_in_its_name() {
        for (name, expected) in [
            ("claude-3-5-sonnet-latest", Some((3, 5))),
            ("claude-3-opus-20240229", Some((3, 0))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("vendor/claude-opus-4.6", Some((4, 6))),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", Some((4, 5))),
            ("claude-mythos-preview", Some((5, 0))),
            ("claude-next", None),
            ("large-1", None),
        ] {
            assert_eq!(claude_version(name), expected, "{name}");
        }
    }

    #[test]
    fn thinking_takes_nothing_from_the_answer() {
        for (name, params, prompt_limit, expected) in [
            ("gpt-4o", params(None, None, None), None, (2048, 2048)),
            ("gpt-4o", params(None, None, None), Some(20), (20, 20)),
            ("gpt-4o", params(Some(99), None, None), Some(700), (99, 99)),
            ("gpt-5", params(None, None, None), None, (2048, 18_048)),
            ("gpt-5", params(None, None, None), Some(20), (20, 16_020)),
            ("gpt-5", params(Some(1000), None, None), Some(700), (700, 16_700)),
            // A limit this large already accounts for the thinking.
            ("gpt-5", params(Some(60_000), None, None), Some(700), (700, 60_000)),
            ("gpt-5", params(None, Some(0), None), Some(20), (20, 20)),
            ("gpt-4o", params(None, Some(500), None), Some(20), (20, 520)),
            ("claude-haiku-4-5", params(None, None, Some("high")), None, (2048, 32_000)),
            ("claude-haiku-4-5", params(None, None, Some("minimal")), Some(20), (20, 29_972)),
            ("gemini-2.5-flash", params(None, None, Some("none")), Some(20), (20, 20)),
        ] {
            let allowance = Allowance::new(name, &params);
            let limits = (allowance.answer(prompt_limit), allowance.total(prompt_limit));
            assert_eq!(limits, expected, "{name} {params:?} {prompt_limit:?}");
        }
    }

    #[test]
    fn more_is_allowed_once_and_not_against_the_settings() {
        let unknown = Allowance::new("large-1", &params(None, None, None));
        assert_eq!((unknown.allow_thinking(), unknown.allow_thinking()), (Some(16_000), None));
        assert_eq!(unknown.total(Some(20)), 16_020);
        let fixed = Allowance::new("large-1", &params(None, Some(0), None));
        assert_eq!((fixed.allow_thinking(), fixed.has_room_to_think()), (None, false));
    }
}
