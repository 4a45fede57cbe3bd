//! The tokens that a call used, as its response reports them. Gateways translate between APIs and may report one
//! figure under two names, so every name is read.

use aizuchi_model::decision::Usage;
use serde_json::Value;

use crate::prompt::tokens::estimate;

/// The maximum of a reported count, since a server could report any number.
const MAX_TOKENS: u64 = 100_000_000;

/// The tokens read from the provider's cache, in the spellings of OpenAI, Anthropic, Gemini, DeepSeek and Moonshot.
/// llama.cpp's server reports them outside of the usage.
const CACHED_PATHS: [&str; 6] = [
    "/prompt_tokens_details/cached_tokens",
    "/input_tokens_details/cached_tokens",
    "/cache_read_input_tokens",
    "/cachedContentTokenCount",
    "/prompt_cache_hit_tokens",
    "/cached_tokens",
];
/// The tokens written to the cache, in the spellings of Anthropic, LiteLLM and OpenRouter.
const CACHE_WRITE_PATHS: [&str; 3] = [
    "/cache_creation_input_tokens",
    "/prompt_tokens_details/cache_creation_tokens",
    "/prompt_tokens_details/cache_write_tokens",
];

/// The tokens used for thinking, in the spellings of OpenAI and Gemini.
const THINKING_PATHS: [&str; 4] = [
    "/usage/completion_tokens_details/reasoning_tokens",
    "/usage/output_tokens_details/reasoning_tokens",
    "/usage/reasoning_tokens",
    "/usageMetadata/thoughtsTokenCount",
];

/// The usage that a response reports; 0 where it reports none.
pub fn reported_usage(body: &Value) -> Usage {
    // Gemini's own name, and that of all others.
    let usage = ["usageMetadata", "usage"].iter().find_map(|name| body.get(name));
    let Some(usage) = usage else { return Usage::default() };
    let count = |path: &str| usage.pointer(path).map_or(0, to_count);
    let openai_input = count("/prompt_tokens");
    // Anthropic does not count cache reads and writes as input.
    let anthropic_input = count("/input_tokens")
        + count("/cache_read_input_tokens")
        + count("/cache_creation_input_tokens");
    let gemini_input = count("/promptTokenCount") + count("/toolUsePromptTokenCount");
    let input_tokens = [openai_input, gemini_input, anthropic_input]
        .into_iter()
        .find(|tokens| *tokens > 0)
        .unwrap_or(0);
    let most = |paths: &[&str]| paths.iter().copied().map(count).max().unwrap_or(0);
    let cached = most(&CACHED_PATHS).max(body.pointer("/timings/cache_n").map_or(0, to_count));
    let cached = cached.min(input_tokens);
    let output = count("/completion_tokens")
        .max(count("/output_tokens"))
        .max(count("/candidatesTokenCount") + count("/thoughtsTokenCount"));
    // Gemini's OpenAI-compatible API leaves thinking out of the output count.
    let total = count("/total_tokens").max(count("/totalTokenCount"));
    let rest = if input_tokens > 0 { total.saturating_sub(input_tokens) } else { 0 };
    Usage {
        input_tokens,
        cached_tokens: cached,
        cache_write_tokens: most(&CACHE_WRITE_PATHS).min(input_tokens - cached),
        output_tokens: output.max(rest),
        is_estimated: false,
    }
}

/// The number of output tokens spent on thinking, as far as a response reports it.
pub fn reported_thinking(body: &Value) -> u64 {
    let counts = THINKING_PATHS.iter().filter_map(|path| body.pointer(path));
    counts.map(to_count).max().unwrap_or(0)
}

/// Bounds figures that no request with such a prompt and such a limit causes: one absurd figure would use up
/// everybody's budget for the day. Returns `None` if all are plausible.
pub fn bounded_usage(reported: Usage, prompt_tokens: u64, max_output: u64) -> Option<Usage> {
    // Generous: tokenizers differ, gateways add prompts of their own, and some servers do not limit thinking.
    let most = |expected: u64| expected.saturating_mul(4).saturating_add(16_000);
    let input_tokens = reported.input_tokens.min(most(prompt_tokens));
    let output_tokens = reported.output_tokens.min(most(max_output));
    let cached_tokens = reported.cached_tokens.min(input_tokens);
    let cache_write_tokens = reported.cache_write_tokens.min(input_tokens - cached_tokens);
    let bounded = Usage {
        input_tokens,
        cached_tokens,
        cache_write_tokens,
        output_tokens,
        is_estimated: reported.is_estimated,
    };
    (bounded != reported).then_some(Usage { is_estimated: true, ..bounded })
}

/// Replaces missing figures with an estimate, since a budget that counts 0 never runs out.
pub fn complete_usage(reported: Usage, prompt_tokens: u64, output: &str) -> Usage {
    let is_input_known = reported.input_tokens > 0;
    let is_output_known = reported.output_tokens > 0 || output.is_empty();
    Usage {
        input_tokens: if is_input_known { reported.input_tokens } else { prompt_tokens },
        output_tokens: if is_output_known { reported.output_tokens } else { estimate(output) },
        is_estimated: reported.is_estimated || !is_input_known || !is_output_known,
        ..reported
    }
}

fn to_count(value: &Value) -> u64 {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse::<f64>().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    // Negative numbers become 0.
    number.map_or(0, |number| (number as u64).min(MAX_TOKENS))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn thinking_is_counted_in_every_spelling() {
        for (body, expected) in [
            (json!({"usage": {"completion_tokens_details": {"reasoning_tokens": 7}}}), 7),
            (json!({"usage": {"output_tokens_details": {"reasoning_tokens": 7}}}), 7),
            (json!({"usage": {"reasoning_tokens": "7"}}), 7),
            (json!({"usageMetadata": {"thoughtsTokenCount": 7}}), 7),
            (json!({"usage": {"completion_tokens_details": {"reasoning_tokens": 0}}}), 0),
            (json!({"usage": {"completion_tokens_details": null}}), 0),
            (json!([]), 0),
        ] {
            assert_eq!(reported_thinking(&body), expected, "{body}");
        }
    }

    #[test]
    fn usage_is_read_in_every_spelling() {
        for (what, body, expected) in [
            (
                "OpenAI",
                json!({"usage": {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127,
                    "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0}}}),
                [120, 64, 0, 7],
            ),
            (
                "Anthropic",
                json!({"usage": {"input_tokens": 50, "cache_read_input_tokens": 64,
                    "cache_creation_input_tokens": 6, "output_tokens": 7}}),
                [120, 64, 6, 7],
            ),
            (
                "LiteLLM before Anthropic",
                json!({"usage": {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127,
                    "prompt_tokens_details": {"cached_tokens": 64, "cache_creation_tokens": 6,
                        "cache_write_tokens": 6, "text_tokens": null, "image_tokens": null},
                    "cache_read_input_tokens": 64, "cache_creation_input_tokens": 6}}),
                [120, 64, 6, 7],
            ),
            (
                "Gemini, whose answer took what its thoughts left",
                json!({"usageMetadata": {"promptTokenCount": 120, "cachedContentTokenCount": 64,
                    "thoughtsTokenCount": 93, "totalTokenCount": 213}}),
                [120, 64, 0, 93],
            ),
            (
                "Gemini's OpenAI-compatible API",
                json!({"usage": {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 220}}),
                [120, 0, 0, 100],
            ),
            (
                "a gateway",
                json!({"usage": {"prompt_tokens": "120", "completion_tokens": 7.0}}),
                [120, 0, 0, 7],
            ),
            (
                "DeepSeek",
                json!({"usage": {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127,
                    "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 56}}),
                [120, 64, 0, 7],
            ),
            (
                "Moonshot",
                json!({"usage": {"prompt_tokens": 120, "completion_tokens": 7, "cached_tokens": 64}}),
                [120, 64, 0, 7],
            ),
            (
                "OpenRouter before Anthropic",
                json!({"usage": {"prompt_tokens": 120, "completion_tokens": 7, "cost": 0.1,
                    "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 6}}}),
                [120, 64, 6, 7],
            ),
            (
                "llama.cpp",
                json!({"usage": {"prompt_tokens": 120, "completion_tokens": 7},
                    "timings": {"cache_n": 64, "prompt_n": 56, "predicted_n": 7}}),
                [120, 64, 0, 7],
            ),
            (
                "more than there is",
                json!({"usage": {"input_tokens": 0, "prompt_tokens": 10, "completion_tokens": 7,
                    "cached_tokens": 64, "cache_creation_input_tokens": 6}}),
                [10, 10, 0, 7],
            ),
            ("nothing", json!({"choices": []}), [0, 0, 0, 0]),
            ("null", json!({"usage": null}), [0, 0, 0, 0]),
            (
                "nonsense",
                json!({"usage": {"prompt_tokens": -5, "completion_tokens": [7]}}),
                [0, 0, 0, 0],
            ),
            (
                "too much",
                json!({"usage": {"prompt_tokens": 1e300, "completion_tokens": u64::MAX}}),
                [MAX_TOKENS, 0, 0, MAX_TOKENS],
            ),
        ] {
            let usage = reported_usage(&body);
            let Usage { input_tokens, cached_tokens, cache_write_tokens, output_tokens, .. } =
                usage;
            let counts = [input_tokens, cached_tokens, cache_write_tokens, output_tokens];
            assert_eq!(counts, expected, "{what}");
        }
    }

    #[test]
    fn figures_beyond_what_a_request_can_use_are_bounded() {
        let usage = |input_tokens,
                     cached_tokens,
                     cache_write_tokens,
                     output_tokens,
                     is_estimated| {
            Usage { input_tokens, cached_tokens, cache_write_tokens, output_tokens, is_estimated }
        };
        for (reported, expected) in [
            (usage(120, 64, 6, 7, false), None),
            (usage(20_000, 0, 0, 16_400, false), None),
            (usage(1 << 31, 0, 0, 7, false), Some(usage(20_000, 0, 0, 7, true))),
            (usage(120, 0, 0, 1 << 31, false), Some(usage(120, 0, 0, 16_400, true))),
            (usage(1 << 31, 1 << 31, 9, 7, false), Some(usage(20_000, 20_000, 0, 7, true))),
        ] {
            assert_eq!(bounded_usage(reported, 1000, 100), expected, "{reported:?}");
        }
    }

    #[test]
    fn what_is_not_reported_is_estimated() {
        let usage = |input_tokens, output_tokens, is_estimated| Usage {
            input_tokens,
            output_tokens,
            is_estimated,
            ..Usage::default()
        };
        for (reported, text, expected) in [
            (usage(120, 7, false), "hello there", usage(120, 7, false)),
            (usage(0, 7, false), "hello there", usage(1000, 7, true)),
            (usage(120, 0, false), "hello there", usage(120, 2, true)),
            (usage(0, 0, false), "hello there", usage(1000, 2, true)),
            (usage(120, 0, false), "", usage(120, 0, false)),
            (usage(0, 0, false), "", usage(1000, 0, true)),
        ] {
            assert_eq!(complete_usage(reported, 1000, text), expected, "{reported:?} {text}");
        }
    }
}
