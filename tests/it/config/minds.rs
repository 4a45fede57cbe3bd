//! Resolving the model of each agent, and how it is accessed.

use aizuchi_config::models::agent_models::{ResolvedMinds, ResolvedModel};
use aizuchi_config::{Config, ModelSelection};
use aizuchi_model::rules::Mode;

use crate::config::environment;

#[test]
fn each_agent_resolves_to_a_model() {
    let minds = |text: &str, pairs: &[(&str, &str)]| {
        Config::read(text, "config.yaml", &environment(pairs, "")).unwrap().config.minds
    };
    let models = |minds: &ResolvedMinds| {
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

/// A key for a company's gateway goes there, as with other clients, and not to the provider.
#[test]
fn a_base_url_in_the_environment_is_honored() {
    let endpoint = |model: &str, client_args: &str, pairs: &[(&str, &str)]| {
        let text = format!(
            "agents: {{response: {{model_id: {model}, client_args: {{{client_args}}}}}}}\n"
        );
        let read = Config::read(&text, "config.yaml", &environment(pairs, ""));
        let endpoint = read.map(|read| read.config.minds.response.model.endpoint.unwrap());
        let key = |key: aizuchi_config::secret::Secret| key.expose().to_owned();
        endpoint.map(|it| (it.base, it.key.map(key))).map_err(|error| format!("{error:#}"))
    };
    let keys = [("OPENAI_API_KEY", "o"), ("ANTHROPIC_API_KEY", "a"), ("GROQ_API_KEY", "g")];
    let gate = "https://gate.example/v1";
    for (model, variable, value, expected) in [
        ("openai/gpt-4o", "OPENAI_BASE_URL", gate, ("https://gate.example/v1/", Some("o"))),
        ("openai/gpt-4o", "OPENAI_API_BASE", gate, ("https://gate.example/v1/", Some("o"))),
        ("anthropic/c", "ANTHROPIC_BASE_URL", "http://x/y", ("http://x/y/v1/", Some("a"))),
        ("groq/l", "GROQ_BASE_URL", "http://x", ("http://x/openai/v1/", Some("g"))),
        ("ollama/q", "OLLAMA_HOST", "192.0.2.7:5000", ("http://192.0.2.7:5000/v1/", None)),
        ("ollama/q", "OPENAI_BASE_URL", gate, ("http://localhost:11434/v1/", None)),
    ] {
        let pairs = [&keys[..], &[(variable, value)]].concat();
        let expected = (expected.0.to_owned(), expected.1.map(str::to_owned));
        assert_eq!(endpoint(model, "", &pairs), Ok(expected), "{variable}");
    }
    // The config names the address, so the key of the environment is not for it.
    let named = [("OPENAI_API_KEY", "o"), ("OPENAI_BASE_URL", gate)];
    let own = endpoint("openai/l", "api_base: 'http://x/v1'", &named);
    assert_eq!(own, Ok(("http://x/v1/".to_owned(), None)));
    for (client_args, base, expected) in [
        ("", "gate.example", "the variable OPENAI_BASE_URL cannot be used: it must be"),
        // The provider itself wants a key.
        ("", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("", "https://user:hidden@gate.example/v1", "holds a user name or a password"),
        ("api_base: 'https://user:hidden@x/v1'", gate, "holds a user name or a password"),
    ] {
        let why = endpoint("openai/l", client_args, &[("OPENAI_BASE_URL", base)]).unwrap_err();
        assert!(why.contains(expected) && !why.contains("hidden"), "{why}");
    }
}

/// No agent's call is cut off before the timeout of its own model.
#[test]
fn a_call_may_take_as_long_as_the_slowest_model_may() {
    let seconds = |text: &str| {
        let config = Config::read(text, "config.yaml", &environment(&[], "")).unwrap().config;
        let settings = config.agent_settings();
        assert!(config.runner_settings().lease > settings.max_step_duration(), "{text}");
        settings.model_timeout.as_secs()
    };
    let hosted = "agents:\n  response: {model_id: openai/large, client_args: {api_key: sk-x}}\n";
    assert_eq!(seconds(hosted), 61);
    // A model on this machine may have to be loaded first.
    for agent in ["judgment", "memory", "state"] {
        let local = format!("{hosted}  {agent}: {{model_id: ollama/small}}\n");
        assert_eq!(seconds(&local), 301, "{agent}");
    }
    let patient = "  memory: {model_id: ollama/small, client_args: {timeout: 500}}\n";
    assert_eq!(seconds(&format!("{hosted}{patient}")), 501);
    // One may be chosen while the program runs.
    assert_eq!(seconds("language: en\n"), 301);
    assert_eq!(seconds("models: {timeout_seconds: 400}\n"), 401);
}

/// No model sees pictures unless the config says so: they may be private.
#[test]
fn only_a_configured_agent_sees_pictures() {
    let vision = |text: &str| {
        let environment = environment(&[("OPENAI_API_KEY", "o")], "");
        let minds = Config::read(text, "config.yaml", &environment).unwrap().config.minds;
        (minds.response.model.id.to_string(), minds.vision.map(|mind| mind.model.id.to_string()))
    };
    let expected =
        |response: &str, vision: Option<&str>| (response.to_owned(), vision.map(str::to_owned));
    let (gpt, eyes) = ("openai/gpt-4o", "ollama/eyes");
    let one = format!("agents:\n  response:\n    model_id: {gpt}\n");
    assert_eq!(vision(&one), expected(gpt, None));
    assert_eq!(vision(&format!("{one}  vision: {{}}\n")), expected(gpt, Some(gpt)));
    let own = format!("{one}  vision:\n    model_id: {eyes}\n");
    assert_eq!(vision(&own), expected(gpt, Some(eyes)));
    // The built-in mind cannot see pictures.
    assert_eq!(vision("agents:\n  vision: {}\n"), expected("builtin", None));
    let alone = format!("agents:\n  vision:\n    model_id: {eyes}\n");
    assert_eq!(vision(&alone), expected("builtin", Some(eyes)));
}

#[test]
fn minds_resolve_to_endpoints_and_parameters() {
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
    let ResolvedMinds { response, memory, state, .. } = &config.minds;
    assert_eq!(response.system_prompt.as_deref(), Some("Be brief."));
    let endpoint = response.model.endpoint.as_ref().unwrap();
    assert_eq!((endpoint.base.as_str(), endpoint.attempts), ("http://localhost:9/v1/", 2));
    assert_eq!((endpoint.timeout_seconds, endpoint.key.is_none()), (30.0, true));
    assert_eq!(endpoint.headers["X-A"].expose(), "b");
    let params = &response.model.params;
    assert_eq!(params.temperature.unwrap().0, 0.5);
    assert_eq!(params.stop.as_ref().unwrap().texts(), ["END"]);
    assert_eq!(params.others["frequency_penalty"], 0.2);
    let ResolvedModel { id, params: fallback_params, endpoint } =
        response.fallback.as_ref().unwrap();
    let endpoint = endpoint.as_ref().unwrap();
    // Parameters that only one provider knows would be rejected by another.
    assert_eq!(
        (id.to_string().as_str(), fallback_params),
        ("anthropic/claude", &params.for_another_server())
    );
    assert_eq!(endpoint.key.as_ref().unwrap().expose(), "mine");
    assert_eq!((endpoint.base.as_str(), endpoint.attempts), ("https://api.anthropic.com/v1/", 4));
    assert_eq!(endpoint.timeout_seconds, 5.0);
    // Missing settings are inherited, except the agent's own system prompt.
    assert_eq!(memory.model.endpoint, response.model.endpoint);
    assert_eq!(memory.fallback.as_ref().unwrap().endpoint.as_ref(), Some(endpoint));
    assert_eq!((memory.model.params.max_tokens.unwrap().0, &memory.system_prompt), (9, &None));
    assert_eq!(state.model, response.model);
}

/// A parameter of one server may be refused by another, even if both speak the same API.
#[test]
fn a_fallback_on_another_server_inherits_what_every_server_knows() {
    let fallback_params = |fallback: &str| {
        let text = format!(
            r#"
agents:
  response:
    model_id: openai/local
    params: {{temperature: 0.5, reasoning_effort: low, thinking_tokens: 9, top_k: 3}}
    client_args: {{api_base: "http://localhost:9/v1", api_key: mine}}
    fallback: {fallback}
"#
        );
        let config = Config::read(&text, "config.yaml", &environment(&[], "")).unwrap().config;
        let params = config.minds.response.fallback.unwrap().params;
        (params.temperature.is_some(), params.reasoning_effort.is_some(), params.others.len())
    };
    let elsewhere = "{model_id: openai/gpt-4o, client_args: {api_key: other}}";
    assert_eq!(fallback_params(elsewhere), (true, false, 0));
    let other_provider = "{model_id: anthropic/claude, client_args: {api_key: other}}";
    assert_eq!(fallback_params(other_provider), (true, false, 0));
    let here =
        r#"{model_id: openai/small, client_args: {api_base: "http://localhost:9/v1", api_key: x}}"#;
    assert_eq!(fallback_params(here), (true, true, 1));
}

#[test]
fn own_settings_of_an_agent_keep_the_inherited_rest() {
    let text = r#"
agents:
  response:
    model_id: openai/local
    client_args: {api_base: "http://localhost:9/v1", api_key: mine}
  judgment:
    client_args: {timeout: 10}
"#;
    let environment = environment(&[("OPENAI_API_KEY", "real")], "");
    let config = Config::read(text, "config.yaml", &environment).unwrap().config;
    let endpoint = config.minds.judgment.model.endpoint.unwrap();
    // Setting a timeout must not send private messages to another server.
    assert_eq!(
        (endpoint.base.as_str(), endpoint.timeout_seconds),
        ("http://localhost:9/v1/", 10.0)
    );
    assert_eq!(endpoint.key.unwrap().expose(), "mine");
    let elsewhere = text.replace("{timeout: 10}", "{api_base: \"http://elsewhere.example/v1\"}");
    let config = Config::read(&elsewhere, "config.yaml", &environment).unwrap().config;
    assert_eq!(config.minds.judgment.model.endpoint.unwrap().key, None);
}

#[test]
fn a_provider_key_is_not_sent_to_other_servers() {
    let key = |base: &str| {
        let text = format!(
            "agents: {{response: {{model_id: openai/x, client_args: {{api_base: \"{base}\"}}}}}}"
        );
        let environment = environment(&[("OPENAI_API_KEY", "real")], "");
        let config = Config::read(&text, "config.yaml", &environment).unwrap().config;
        config.minds.response.model.endpoint.unwrap().key
    };
    assert_eq!(key("http://elsewhere.example/v1"), None);
    assert_eq!(key("https://api.openai.com/v1").unwrap().expose(), "real");
}

/// Azure and Bedrock have a separate address for each account, from the variables that their own tools read.
#[test]
fn an_account_is_reached_where_the_environment_says() {
    let read = |model: &str, client_args: &str, pairs: &[(&str, &str)]| {
        let text = format!(
            "agents: {{response: {{model_id: '{model}', client_args: {{{client_args}}}}}}}"
        );
        let read = Config::read(&text, "config.yaml", &environment(pairs, ""));
        read.map(|loaded| loaded.config.minds.response.model).map_err(|error| error.to_string())
    };
    let azure = ("AZURE_OPENAI_ENDPOINT", "https://tea.openai.azure.com/");
    let azure_key = ("AZURE_OPENAI_API_KEY", "a");
    let bedrock_key = ("AWS_BEARER_TOKEN_BEDROCK", "b");
    let own = "api_base: 'https://tea.openai.azure.com'";
    let none: &[(&str, &str)] = &[];
    for (model, client_args, pairs, base) in [
        ("azure/gpt", "", &[azure, azure_key][..], "https://tea.openai.azure.com/openai/v1/"),
        ("azure/gpt", own, &[azure_key][..], "https://tea.openai.azure.com/openai/v1/"),
        (
            "bedrock/openai.gpt-oss-120b-1:0",
            "",
            &[("AWS_DEFAULT_REGION", "us-east-1"), bedrock_key][..],
            "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/",
        ),
        ("xai/grok-4", "", &[("XAI_API_KEY", "x")][..], "https://api.x.ai/v1/"),
    ] {
        let model = read(model, client_args, pairs).unwrap();
        assert_eq!(model.address_elsewhere(), None);
        let endpoint = model.endpoint.unwrap();
        assert_eq!((endpoint.base.as_str(), endpoint.key.is_some()), (base, true));
    }
    let elsewhere = "api_base: 'https://tea.example/v1'";
    let model = read("azure/gpt", elsewhere, &[azure_key]).unwrap();
    assert_eq!(model.endpoint.unwrap().key, None);
    // A header may contain credentials, too.
    let with_header = format!("{own}, extra_headers: {{X-Key: x}}");
    for (model, client_args) in
        [("azure/gpt", &*with_header), ("openai/gpt", "extra_headers: {X-Key: x}")]
    {
        assert_eq!(read(model, client_args, none).unwrap().endpoint.unwrap().key, None);
    }
    for (model, client_args, pairs, expected) in [
        (
            "azure/gpt",
            "",
            &[azure_key][..],
            "agents.response.model_id is a model of azure, which needs an address: set agents.response.client_args.api_base, or the variable AZURE_OPENAI_ENDPOINT in the environment or in a .env file",
        ),
        (
            "azure/gpt",
            own,
            none,
            "needs a key: set agents.response.client_args.api_key, or the variable AZURE_OPENAI_API_KEY ",
        ),
        (
            "bedrock/x",
            "",
            &[bedrock_key][..],
            "or the variable AWS_REGION or AWS_DEFAULT_REGION in ",
        ),
        (
            "bedrock/x",
            "",
            &[("AWS_REGION", "HERE")][..],
            "the variable AWS_REGION cannot be used: it must be the name of a region, like us-east-1",
        ),
        ("mistral/x", "", none, "or the variable MISTRAL_API_KEY in the environment"),
    ] {
        let error = read(model, client_args, pairs).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_model_override_keeps_compatible_settings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let text = r#"
agents:
  response:
    model_id: openai/local
    params: {max_tokens: 77, frequency_penalty: 0.2}
    client_args: {api_base: "http://localhost:9/v1", api_key: mine}
    fallback: {model_id: ollama/small}
  judgment:
    system_prompt: Be strict.
"#;
    std::fs::write(&file, text).unwrap();
    let load = |model: &str| {
        let model = model.parse().unwrap();
        Config::load(Some(&file), ModelSelection::Override(&model))
            .map(|loaded| loaded.config.minds)
    };
    let minds = load("openai/other").unwrap();
    for mind in [&minds.response, &minds.judgment, &minds.memory, &minds.state] {
        assert_eq!(mind.model.id.to_string(), "openai/other");
        assert_eq!(mind.model.endpoint.as_ref().unwrap().base, "http://localhost:9/v1/");
        assert_eq!(mind.model.params.max_tokens.unwrap().0, 77);
        assert!(mind.fallback.is_none());
    }
    assert_eq!(minds.judgment.system_prompt.as_deref(), Some("Be strict."));
    let minds = load("ollama/small").unwrap();
    let model = minds.judgment.model;
    assert_eq!(model.endpoint.unwrap().base, "http://localhost:11434/v1/");
    assert_eq!((model.params.max_tokens.unwrap().0, model.params.others.len()), (77, 0));
    // A replay calls no model, so no key is needed.
    std::fs::write(&file, "agents: {response: {model_id: openrouter/x}}").unwrap();
    let config = Config::load(Some(&file), ModelSelection::NoModel).unwrap().config;
    assert_eq!(config.minds, ResolvedMinds::default());
}

/// A command that calls no model needs no key, and shows and replays the modes of the running program.
#[test]
fn the_mode_follows_from_a_model_that_is_not_resolved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let slack = "slack: {bot_token: xoxb-1, app_token: xapp-1}\n";
    let load = |text: &str| {
        std::fs::write(&file, format!("{slack}{text}")).unwrap();
        let loaded = Config::load(Some(&file), ModelSelection::NoModel).unwrap();
        let is_noted = loaded.warnings.iter().any(|it| it.contains("no model is named in agents"));
        (loaded.config.rulebook(), is_noted)
    };
    for (text, mode, is_noted) in [
        ("", Mode::MentionOnly, true),
        ("agents: {response: {model_id: openrouter/x}}\n", Mode::Companion, false),
        ("agents: {judgment: {model_id: openrouter/x}}\n", Mode::Companion, false),
        (
            "agents: {response: {model_id: openrouter/x}, judgment: {model_id: builtin}}\n",
            Mode::MentionOnly,
            true,
        ),
        ("response: {mode: observe}\n", Mode::Observe, false),
    ] {
        let (book, found) = load(text);
        assert_eq!((book.default_rules.mode, found), (mode, is_noted), "{text}");
    }
    let own =
        "models: {named: {small: {model_id: openrouter/x}}}\nchannels: {C1: {model: small}}\n";
    let (book, _) = load(own);
    assert_eq!(book.channels["C1"].mode, Mode::Companion);
    assert_eq!(book.default_rules.mode, Mode::MentionOnly);
    std::fs::write(folder.path().join(".env"), "AIZUCHI_MODEL=ollama/small\n").unwrap();
    assert_eq!(load("").0.default_rules.mode, Mode::Companion);
}

#[test]
fn a_variable_may_name_the_model_for_states() {
    let text = "agents:\n  response:\n    model_id: ollama/small\n";
    let error_for = |name: &str| {
        let environment = environment(&[("EAVESDROP_JUDGE_MODEL", name)], "");
        Config::read(text, "config.yaml", &environment).unwrap_err().to_string()
    };
    assert_eq!(
        error_for("mystery"),
        "config.yaml: the variable EAVESDROP_JUDGE_MODEL cannot be used: it must be PROVIDER/MODEL, \
         like openai/gpt-4o-mini, or the word builtin"
    );
    // kotonoha omits the provider.
    assert!(error_for("gpt-4o").contains("names a model of openai"));
    assert_eq!(
        error_for("openai/gpt-4o"),
        "config.yaml: the variable EAVESDROP_JUDGE_MODEL names a model of openai, which needs a key: \
         set agents.state.client_args.api_key, or the variable OPENAI_API_KEY in the environment or \
         in a .env file"
    );
}
