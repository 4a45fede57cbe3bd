//! Who thinks, and how a model is reached.

use aizuchi::config::Config;
use aizuchi::config::minds::{Minds, Model};

use crate::config::environment;

#[test]
fn each_agent_has_a_mind() {
    let minds = |text: &str, pairs: &[(&str, &str)]| {
        Config::read(text, "config.yaml", &environment(pairs, "")).unwrap().config.minds
    };
    let models = |minds: &Minds| {
        [&minds.response, &minds.judgment, &minds.memory, &minds.state]
            .map(|mind| mind.model.id.to_string())
    };
    let keys = [("OPENAI_API_KEY", "o"), ("ANTHROPIC_API_KEY", "a")];
    let one = "agents:\n  response:\n    model_id: openai/gpt-4o\n";
    assert_eq!(models(&minds("", &keys)), ["builtin"; 4]);
    assert_eq!(models(&minds(one, &keys[..1])), ["openai/gpt-4o"; 4]);
    let haiku = "anthropic/claude-haiku-4-5";
    let gpt = "openai/gpt-4o";
    assert_eq!(models(&minds(one, &keys)), [gpt, gpt, gpt, haiku]);
    let named = [keys[0], keys[1], ("EAVESDROP_JUDGE_MODEL", "ollama/tiny")];
    assert_eq!(models(&minds(one, &named)), [gpt, gpt, gpt, "ollama/tiny"]);
    let judgment = "agents:\n  judgment:\n    model_id: ollama/small\n";
    let small = "ollama/small";
    assert_eq!(models(&minds(judgment, &[])), ["builtin", small, "builtin", small]);
    let state = format!("{one}  state:\n    model_id: ollama/small\n");
    assert_eq!(models(&minds(&state, &named)), [gpt, gpt, gpt, small]);
}

#[test]
fn a_mind_knows_how_its_model_is_reached() {
    let text = r#"
models: {timeout_seconds: 30, attempts: 4}
agents:
  response:
    model_id: openai/local
    system_prompt: Be brief.
    params: {temperature: 0.5, stop: END, frequency_penalty: 0.2}
    client_args: {api_base: "http://localhost:9/v1", num_retries: 1, extra_headers: {X-A: b}}
    fallback: {model_id: anthropic/claude, client_args: {api_key: mine, timeout: 5}}
  memory:
    params: {max_tokens: 9}
"#;
    let config = Config::read(text, "config.yaml", &environment(&[], "")).unwrap().config;
    let Minds { response, memory, state, .. } = &config.minds;
    assert_eq!(response.system_prompt.as_deref(), Some("Be brief."));
    let server = response.model.server.as_ref().unwrap();
    assert_eq!((server.base.as_str(), server.attempts), ("http://localhost:9/v1/", 2));
    assert_eq!((server.timeout_seconds, server.key.is_none()), (30.0, true));
    assert_eq!(server.headers["X-A"].expose(), "b");
    let params = &response.model.params;
    assert_eq!(params.temperature.unwrap().0, 0.5);
    assert_eq!(params.stop.as_ref().unwrap().texts(), ["END"]);
    assert_eq!(params.others["frequency_penalty"], 0.2);
    let Model { id, params: of_fallback, server } = response.fallback.as_ref().unwrap();
    let server = server.as_ref().unwrap();
    assert_eq!((id.to_string().as_str(), of_fallback), ("anthropic/claude", params));
    assert_eq!(server.key.as_ref().unwrap().expose(), "mine");
    assert_eq!((server.base.as_str(), server.attempts), ("https://api.anthropic.com/v1/", 4));
    assert_eq!(server.timeout_seconds, 5.0);
    // What is left out is taken over, except the words that are the agent's own.
    assert_eq!(memory.model.server, response.model.server);
    assert_eq!(memory.fallback.as_ref().unwrap().server.as_ref(), Some(server));
    assert_eq!((memory.model.params.max_tokens.unwrap().0, &memory.system_prompt), (9, &None));
    assert_eq!(state.model, response.model);
}

#[test]
fn the_model_for_states_may_be_named_by_a_variable() {
    let text = "agents:\n  response:\n    model_id: ollama/small\n";
    let said = |name: &str| {
        let environment = environment(&[("EAVESDROP_JUDGE_MODEL", name)], "");
        Config::read(text, "config.yaml", &environment).unwrap_err().to_string()
    };
    assert_eq!(
        said("gpt-4o"),
        "config.yaml: the variable EAVESDROP_JUDGE_MODEL cannot be used: it must be PROVIDER/MODEL, \
         like openai/gpt-4o-mini, or the word builtin"
    );
    assert_eq!(
        said("openai/gpt-4o"),
        "config.yaml: the variable EAVESDROP_JUDGE_MODEL names a model of openai, which needs a key: \
         set agents.state.client_args.api_key, or the variable OPENAI_API_KEY in the environment or \
         in a .env file"
    );
}
