//! How `genai` is configured for a provider: its adapter, the options of each request and the amount of thinking.

use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ReasoningEffort};
use secrecy::ExposeSecret;

use crate::model::{Provider, WireFormat};
use crate::provider::ProviderSettings;
use crate::provider::allowance::thinks_by_default;

/// The smallest budget of Gemini models that cannot turn thinking off.
const GEMINI_LEAST_BUDGET: u32 = 128;

pub fn chat_options(settings: &ProviderSettings) -> ChatOptions {
    let params = &settings.params;
    let headers = settings.headers.iter();
    let headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.clone(), value.expose_secret().to_owned())).collect();
    ChatOptions {
        temperature: params.temperature,
        top_p: params.top_p,
        stop_sequences: params.stop.clone(),
        seed: params.seed,
        reasoning_effort: reasoning_effort(settings),
        // Only the raw body shows that a model refused.
        capture_raw_body: Some(true),
        extra_headers: (!headers.is_empty()).then(|| headers.into()),
        ..ChatOptions::default()
    }
}

/// The `genai` adapter for a provider, and its namespace.
pub fn adapter(settings: &ProviderSettings) -> (AdapterKind, &'static str) {
    match (settings.provider, settings.provider.wire_format()) {
        // Mistral has its own spelling of the seed and of thinking.
        (Provider::Mistral, _) => (AdapterKind::Mistral, "mistral"),
        // DeepSeek has a switch for thinking, which must not be set without an effort.
        (Provider::DeepSeek, _) if settings.params.reasoning_effort.is_some() => {
            (AdapterKind::DeepSeek, "deepseek")
        }
        (_, WireFormat::OpenAi) => (AdapterKind::OpenAI, "openai"),
        (_, WireFormat::Anthropic) => (AdapterKind::Anthropic, "anthropic"),
        (_, WireFormat::Gemini) => (AdapterKind::Gemini, "gemini"),
    }
}

fn reasoning_effort(settings: &ProviderSettings) -> Option<ReasoningEffort> {
    let effort = settings.params.reasoning_effort.as_deref();
    match (effort, settings.provider.wire_format()) {
        (Some("none"), WireFormat::Gemini) => Some(least_of_gemini(&settings.model_name)),
        (Some(effort), _) => ReasoningEffort::from_keyword(effort),
        // Without an effort, `genai` mistakes the end of names such as qwen-max for one and strips it. A budget of 0
        // is not sent.
        (None, WireFormat::OpenAi) => Some(ReasoningEffort::Budget(0)),
        (None, WireFormat::Anthropic | WireFormat::Gemini) => None,
    }
}

/// The least thinking that a Gemini model supports. Newer models take a level, and the larger ones cannot turn
/// thinking off.
fn least_of_gemini(model_name: &str) -> ReasoningEffort {
    let has_levels = ["gemini-3", "gemma-4"].iter().any(|name| model_name.contains(name));
    let is_large = model_name.contains("pro");
    match (has_levels, is_large) {
        (true, true) => ReasoningEffort::Low,
        (true, false) => ReasoningEffort::Minimal,
        // A model that does not think rejects a budget.
        (false, _) if !thinks_by_default(model_name) => ReasoningEffort::Zero,
        (false, true) => ReasoningEffort::Budget(GEMINI_LEAST_BUDGET),
        (false, false) => ReasoningEffort::Budget(0),
    }
}
