//! The model named by an environment variable, for a config that names none.

use aizuchi_agent::agent::AgentSettings;
use aizuchi_config::models::sources::ModelOrigin;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_llm::model_id::ModelId;
use aizuchi_model::decision::{Price, Usage};

use crate::config::environment;

fn model_and_origin(text: &str, process: &[(&str, &str)], file: &str) -> (String, ModelOrigin) {
    let config = Config::read(text, "config.yaml", &environment(process, file)).unwrap().config;
    (config.minds.response.model.id.to_string(), config.model_sources.origin)
}

#[test]
fn a_config_that_names_no_model_uses_the_chosen_one() {
    let saved = "AIZUCHI_MODEL=ollama/qwen3:8b\n";
    let named = "agents:\n  judgment:\n    model_id: ollama/tiny\n";
    let unnamed = "agents:\n  response:\n    system_prompt: Be brief.\n";
    let process = [("AIZUCHI_MODEL", "ollama/large")];
    for (text, process, file, expected) in [
        ("", &[][..], "", ("builtin", ModelOrigin::Default)),
        ("", &[], saved, ("ollama/qwen3:8b", ModelOrigin::Saved)),
        (unnamed, &[], saved, ("ollama/qwen3:8b", ModelOrigin::Saved)),
        ("", &process, saved, ("ollama/large", ModelOrigin::Variable)),
        ("", &[("AIZUCHI_MODEL", "")], saved, ("ollama/qwen3:8b", ModelOrigin::Saved)),
        (named, &process, saved, ("builtin", ModelOrigin::Config)),
        ("", &[], "AIZUCHI_MODEL=builtin\n", ("builtin", ModelOrigin::Saved)),
    ] {
        let (model, origin) = model_and_origin(text, process, file);
        assert_eq!((model.as_str(), origin), expected, "{text:?} {process:?} {file:?}");
    }
    let loaded = Config::read(unnamed, "config.yaml", &environment(&[], saved)).unwrap();
    let response = loaded.config.minds.response;
    assert_eq!(response.system_prompt.as_deref(), Some("Be brief."));
}

#[test]
fn a_chosen_model_may_be_at_an_address_of_its_own() {
    let file = "AIZUCHI_MODEL=openai/qwen\nAIZUCHI_MODEL_API_BASE=http://127.0.0.1:1234/v1\n\
                OPENAI_API_KEY=sk-secret\n";
    let config = Config::read("", "config.yaml", &environment(&[], file)).unwrap().config;
    for mind in [&config.minds.response, &config.minds.judgment, &config.minds.memory] {
        let endpoint = mind.model.endpoint.as_ref().unwrap();
        assert_eq!(endpoint.base, "http://127.0.0.1:1234/v1/");
        assert!(endpoint.key.is_none(), "the provider's key is not shown to another server");
    }
}

#[test]
fn a_key_for_no_named_model_is_shown_to_nobody() {
    let text = "agents:\n  response: {client_args: {api_key: for-somebody-else, timeout: 7}}\n  \
                judgment: {client_args: {extra_headers: {X-Key: for-somebody-else}}}\n";
    let file = "AIZUCHI_MODEL=anthropic/claude-haiku-4-5\nANTHROPIC_API_KEY=for-anthropic\n";
    let config = Config::read(text, "config.yaml", &environment(&[], file)).unwrap().config;
    for mind in [&config.minds.response, &config.minds.judgment] {
        let endpoint = mind.model.endpoint.as_ref().unwrap();
        assert_eq!(endpoint.key.as_ref().unwrap().expose(), "for-anthropic");
        assert!(endpoint.headers.is_empty());
        assert_eq!(endpoint.timeout_seconds, 7.0);
    }
}

#[test]
fn a_choice_that_cannot_be_used_is_named() {
    let error = |file: &str| {
        let read = Config::read("", "config.yaml", &environment(&[], file));
        read.unwrap_err().to_string()
    };
    for (file, expected) in [
        ("AIZUCHI_MODEL=qwen\n", "the variable AIZUCHI_MODEL cannot be used: it must be"),
        (
            "AIZUCHI_MODEL=openai/gpt-4o\n",
            "the variable AIZUCHI_MODEL names a model of openai, which needs a key",
        ),
        (
            "AIZUCHI_MODEL=openai/x\nAIZUCHI_MODEL_API_BASE=here\n",
            "the variable AIZUCHI_MODEL_API_BASE cannot be used: ",
        ),
    ] {
        let found = error(file);
        assert!(found.contains(expected), "{file:?}: {found}");
    }
}

#[test]
fn a_found_model_is_used_where_it_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, "agents:\n  response:\n    model_id: builtin\n").unwrap();
    let model: ModelId = "openai/local".parse().unwrap();
    let selection =
        ModelSelection::Found { model: &model, api_base: Some("http://127.0.0.1:8081/v1/") };
    let config = Config::load(Some(&file), selection).unwrap().config;
    let endpoint = config.minds.judgment.model.endpoint.unwrap();
    assert_eq!((endpoint.base.as_str(), endpoint.key), ("http://127.0.0.1:8081/v1/", None));
    assert_eq!(config.model_sources.origin, ModelOrigin::Flag);
    assert_eq!(config.model_sources.env_file, folder.path().join(".env"));
}

#[test]
fn common_models_have_list_prices_that_the_config_goes_before() {
    let usage = Usage { input_tokens: 1_000_000, ..Usage::default() };
    let cost = |text: &str, model: &str| {
        let AgentSettings { prices, .. } = Config::parse(text).unwrap().agent_settings();
        prices.cost(model, usage)
    };
    let own = "models:\n  prices:\n    openai/gpt-4o-mini: {input: 9, output: 9}\n";
    let mini = "openai/gpt-4o-mini";
    assert_eq!(cost("", mini), Some(Price { micros: 150_000 }));
    assert_eq!(cost(own, mini), Some(Price { micros: 9_000_000 }));
    assert_eq!(cost("models: {currency: EUR}", mini), None);
    assert_eq!(cost("", "ollama/qwen3:8b"), None);
    assert_eq!(cost("", "builtin"), None);
    // Cache writes cost more if the provider says so.
    let usage = Usage { cache_write_tokens: 1_000_000, ..usage };
    let cost = |prices: &str| {
        let text = format!("models:\n  prices:\n    {prices}\n");
        let AgentSettings { prices, .. } = Config::parse(&text).unwrap().agent_settings();
        ["openai/large", "anthropic/large"]
            .map(|model| prices.cost(model, usage).map_or(0, |price| price.micros))
    };
    assert_eq!(cost("openai/large: {input: 4, output: 9}"), [4_000_000, 0]);
    assert_eq!(cost("anthropic/large: {input: 4, output: 9}"), [0, 5_000_000]);
    assert_eq!(cost("anthropic/large: {input: 4, cache_write: 8, output: 9}"), [0, 8_000_000]);
}
