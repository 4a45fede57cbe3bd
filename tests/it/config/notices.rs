//! Warnings about keys that have no effect.

use aizuchi_config::environment::Environment;
use aizuchi_config::tools::ToolsConfig;
use aizuchi_config::{Config, LoadedConfig};
use aizuchi_store::database::location::DatabaseLocation;
use serde_json::Value;

use crate::config::{aizuchi, environment, stderr};

/// Every key of myao2 with its default.
const MYAO2: &str = r#"
slack:
  bot_token: "${SLACK_BOT_TOKEN}"
  app_token: "${SLACK_APP_TOKEN}"
agents:
  response:
    model_id: "openai/gpt-4o"
    system_prompt: null
    params:
      temperature: 0.7
      max_tokens: 1000
    client_args:
      api_key: "${OPENAI_API_KEY}"
      api_version: "2024-02-01"
  judgment:
    model_id: "openai/gpt-4o-mini"
    params: {}
    client_args: {}
  memory:
    model_id: "openai/gpt-4o-mini"
    client_args: {api_key: "${OPENAI_API_KEY}", drop_params: true}
persona:
  name: "myao"
  system_prompt: |
    あなたは友達のように振る舞うチャットボットです。
memory:
  database_path: "./data/memory.db"
  long_term_update_interval_seconds: 3600
  short_term_window_hours: 24
  long_term_summary_max_tokens: 500
  short_term_summary_max_tokens: 300
  short_term_history:
    enabled: true
    max_history_count: 5
response:
  check_interval_seconds: 60
  min_wait_seconds: 300
  jitter_ratio: 0.3
  message_limit: 20
  max_message_age_seconds: 43200
  channel_messages_limit: 50
  active_channel_days: 7
  thread_memory_days: 7
  response_interval:
    min: 3.0
    max: 10.0
  judgment_skip:
    enabled: true
    thresholds:
      - {min_confidence: 0.9, skip_seconds: 43200}
    default_skip_seconds: 600
  channel_sync_interval_seconds: 3600
  dynamic_wait:
    enabled: true
logging:
  level: "INFO"
  format: "%(asctime)s - %(name)s - %(levelname)s - %(message)s"
  loggers:
    myao2.application: DEBUG
    LiteLLM: WARNING
  debug_llm_messages: false
tools:
  web_fetch:
    enabled: true
    api_endpoint: "${WEB_FETCH_API_ENDPOINT:-}"
    timeout_seconds: 60
    max_content_length: 20000
  web_search:
    enabled: true
    api_key: "${TAVILY_API_KEY:-}"
    search_depth: "basic"
    max_results: 5
    max_content_length: 500
health_check:
  port: 8080
"#;

/// The warnings about [`MYAO2`].
const WARNINGS: &str = "
config.yaml: response.announce is not set, so Aizuchi says once in each channel what it hears and stores, but myao2 said nothing; response.announce: false keeps it silent
config.yaml:14:7: agents.response.client_args.api_version has no effect
config.yaml:21:49: agents.memory.client_args.drop_params has no effect
config.yaml:32:3: memory.short_term_history is no longer used: a short-term memory is one text about a period; memory.short_term_window_hours says how long that is
config.yaml:36:3: response.check_interval_seconds is no longer used: channels are no longer checked at intervals: each message sets the time of its own judgment; response.min_wait_seconds says how long a conversation rests before it, and response.channel_sync_interval_seconds how often the list of channels is read
config.yaml:37:3: response.min_wait_seconds is the longest rest before a judgment with response.wait: adaptive, the default, not the shortest as in myao2; response.wait: fixed restores the old meaning
config.yaml:38:3: response.jitter_ratio has no effect with response.wait: adaptive, the default, which follows the pace of the channel; response.wait: fixed uses it
config.yaml:39:3: response.message_limit is no longer used: judging, answering and remembering see the same messages; response.channel_messages_limit says how many
config.yaml:44:3: response.response_interval is no longer used: channels no longer wait for each other, so there is no pause between them
config.yaml:47:3: response.judgment_skip is no longer used: a judge is asked once for each state of a conversation and says itself when to speak; response.max_delay_seconds is the longest delay it may ask for
config.yaml:53:3: response.dynamic_wait is no longer used: response.wait: adaptive follows the pace of the channel
config.yaml:57:3: logging.format is no longer used: a Python format has no meaning here; it can be auto, text or json, and auto is used
config.yaml:59:5: logging.loggers.myao2.application has no effect: it is a part of another program; the parts of this one are named like aizuchi::agent
config.yaml:60:5: logging.loggers.LiteLLM has no effect: it is a part of another program; the parts of this one are named like aizuchi::agent
config.yaml:61:3: logging.debug_llm_messages is no longer used: prompts and answers do not belong in a log; retention.prompts_days says how long they are kept with their decision
config.yaml:68:3: tools.web_search has neither api_key nor searxng_url, so the web is not searched
config.yaml:75:3: health_check.port takes the port 8080 from the pages, which are at 127.0.0.1:8081 instead; http.listen can name another address
";

#[test]
fn a_config_of_myao2_is_accepted() {
    let pairs = [
        ("SLACK_BOT_TOKEN", "xoxb-secret"),
        ("SLACK_APP_TOKEN", "xapp-secret"),
        ("OPENAI_API_KEY", "sk-secret"),
    ];
    let LoadedConfig { config, warnings, .. } =
        Config::read(MYAO2, "config.yaml", &environment(&pairs, "")).unwrap();
    assert_eq!(config.persona.name.0, "myao");
    assert_eq!(config.database_address(), DatabaseLocation::Sqlite("./data/memory.db".into()));
    assert_eq!(config.minds.memory.model.id.to_string(), "openai/gpt-4o-mini");
    assert_eq!(config.minds.judgment.model.endpoint, config.minds.memory.model.endpoint);
    assert_eq!(warnings.join("\n"), WARNINGS.trim());
    // Its web search has no key.
    assert_eq!(config.describe_web_tools(), ["web_fetch directly"]);
    let search =
        "tools:\n  web_search: {api_key: x}\n  web_fetch: {api_endpoint: 'http://crawl:11235'}\n";
    let with_search = Config::read(search, "config.yaml", &environment(&[], "")).unwrap().config;
    assert_eq!(
        with_search.describe_web_tools(),
        ["web_search with Tavily, basic", "web_fetch through http://crawl:11235"]
    );
    let shown = format!("{config:?} {warnings:?}");
    assert!(!shown.contains("secret-") && !shown.contains("-secret"), "{shown}");
    let missing = Config::read(MYAO2, "config.yaml", &environment(&pairs[..2], "")).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "config.yaml:13:16: agents.response.client_args.api_key needs the variable OPENAI_API_KEY, \
         which is set neither in the environment nor in a .env file"
    );
}

/// A bug of myao2: disabled sections required their variables.
#[test]
fn a_disabled_section_needs_no_variables() {
    let off = MYAO2
        .replace(
            "enabled: true\n    api_endpoint: \"${WEB_FETCH_API_ENDPOINT:-}\"",
            "enabled: false\n    api_endpoint: ${WEB_FETCH_API_ENDPOINT}",
        )
        .replace(
            "enabled: true\n    api_key: \"${TAVILY_API_KEY:-}\"",
            "enabled: \"${SEARCH:-no}\"\n    api_key: '${TAVILY_API_KEY:?ask Bo}'",
        );
    assert_eq!(off.matches(":-}").count(), 0);
    let pairs = [
        ("SLACK_BOT_TOKEN", "xoxb-secret"),
        ("SLACK_APP_TOKEN", "xapp-secret"),
        ("OPENAI_API_KEY", "sk-secret"),
    ];
    let LoadedConfig { config, warnings, .. } =
        Config::read(&off, "config.yaml", &environment(&pairs, "")).unwrap();
    let others = WARNINGS.trim().lines().filter(|line| !line.contains("tools.web_search"));
    assert_eq!(warnings, others.collect::<Vec<_>>());
    let (fetch, search) = (config.tools.web_fetch.unwrap(), config.tools.web_search.unwrap());
    assert_eq!((fetch.enabled, fetch.api_endpoint), (false, None));
    assert_eq!((search.enabled, search.api_key), (false, None));
    let on = [&pairs[..], &[("SEARCH", "yes")]].concat();
    let missing = Config::read(&off, "config.yaml", &environment(&on, "")).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "config.yaml:70:14: tools.web_search.api_key needs the variable TAVILY_API_KEY: ask Bo"
    );
    // Syntax errors are still reported.
    let broken = off.replace("${WEB_FETCH_API_ENDPOINT}", "${WEB_FETCH");
    let error = Config::read(&broken, "config.yaml", &environment(&pairs, "")).unwrap_err();
    assert!(error.to_string().contains("never closed"), "{error}");
}

/// An empty variable counts as a key without a value.
#[test]
fn an_empty_variable_sets_nothing() {
    let pairs = [
        ("SLACK_BOT_TOKEN", ""),
        ("SLACK_APP_TOKEN", "xapp-secret"),
        ("OPENAI_API_KEY", "sk-secret"),
    ];
    let error = Config::read(MYAO2, "config.yaml", &environment(&pairs, "")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "config.yaml:2:1: slack needs bot_token, the token that begins with xoxb-; remove the whole section if you do not use Slack"
    );
}

/// Configs of other programs name models without their provider. The program starts nevertheless.
#[test]
fn what_other_programs_accept_is_a_notice_with_the_fix() {
    let text = "agents:
  response:
    model_id: gpt-4o
    client_args: {api_key: sk-invented}
    fallback: {model_id: claude-haiku-4-5, client_args: {api_key: sk-invented}}
";
    let loaded = Config::read(text, "config.yaml", &Environment::default()).unwrap();
    let model = &loaded.config.minds.response;
    assert_eq!(model.model.id.to_string(), "openai/gpt-4o");
    assert_eq!(model.fallback.as_ref().unwrap().id.to_string(), "anthropic/claude-haiku-4-5");
    assert_eq!(
        loaded.warnings,
        [
            "config.yaml:3:15: agents.response.model_id is read as openai/gpt-4o; write the provider before the name of the model",
            "config.yaml:5:26: agents.response.fallback.model_id is read as anthropic/claude-haiku-4-5; write the provider before the name of the model",
        ]
    );
}

/// A config of myao2 may set tools of its version. The program starts without them; in a config of our own they are
/// refused.
#[test]
fn a_config_of_myao2_starts_without_tools_that_cannot_be_used() {
    let pairs = [
        ("SLACK_BOT_TOKEN", "xoxb-secret"),
        ("SLACK_APP_TOKEN", "xapp-secret"),
        ("OPENAI_API_KEY", "sk-secret"),
    ];
    let odd = MYAO2.replace("search_depth: \"basic\"", "search_depth: \"ultra\"");
    let loaded = Config::read(&odd, "config.yaml", &environment(&pairs, "")).unwrap();
    let notice = "config.yaml:71:19: tools.web_search.search_depth is \"ultra\", but it must be basic, advanced, fast or ultra-fast; the section is ignored";
    assert!(loaded.warnings.contains(&notice.to_owned()), "{:#?}", loaded.warnings);
    assert_eq!(loaded.config.tools, ToolsConfig::default());
    // All search depths of Tavily.
    for depth in ["basic", "advanced", "fast", "ultra-fast"] {
        let text = MYAO2.replace("search_depth: \"basic\"", &format!("search_depth: {depth}"));
        let loaded = Config::read(&text, "config.yaml", &environment(&pairs, "")).unwrap();
        assert!(loaded.config.tools.web_search.is_some(), "{depth}");
    }
    let own = "tools:\n  web_search: {search_depth: ultra}\n";
    let error = Config::read(own, "config.yaml", &Environment::default()).unwrap_err();
    assert!(error.to_string().contains("must be basic, advanced, fast or ultra-fast"), "{error}");
}

/// Unknown names do not prevent the start where the program can run without them.
#[test]
fn unknown_agents_and_providers_are_notices_with_the_fix() {
    let text = "agents:
  response:
    model_id: azure/tea-4o
    client_args: {api_key: sk-invented, api_base: 'https://tea.openai.azure.com/'}
  judgment:
    model_id: o3-mini
    client_args: {api_key: sk-invented}
    fallback: {model_id: hosted_vllm/qwen, client_args: {api_base: 'http://127.0.0.1:8000/v1'}}
  memory:
    model_id: cohere/command-r
    params: {temperature: 0.5}
  summarizer:
    model_id: gpt-4o
";
    let loaded = Config::read(text, "config.yaml", &Environment::default()).unwrap();
    let minds = &loaded.config.minds;
    assert_eq!(minds.response.model.id.to_string(), "azure/tea-4o");
    let endpoint = minds.response.model.endpoint.as_ref().unwrap();
    assert_eq!(endpoint.base, "https://tea.openai.azure.com/openai/v1/");
    assert_eq!(minds.judgment.model.id.to_string(), "openai/o3-mini");
    assert_eq!(minds.judgment.fallback.as_ref().unwrap().id.to_string(), "openai/qwen");
    assert_eq!(minds.memory.model, minds.response.model);
    assert_eq!(
        loaded.warnings,
        [
            "config.yaml:6:15: agents.judgment.model_id is read as openai/o3-mini; write the provider before the name of the model",
            "config.yaml:8:26: agents.judgment.fallback.model_id is read as openai/qwen at client_args.api_base; write it that way",
            "config.yaml:10:15: agents.memory.model_id has no provider that is known here, so the model of agents.response is used; its provider can be openai, anthropic, gemini, ollama, openrouter, deepseek, groq, mistral, xai, vertex, azure or bedrock, and any other OpenAI-compatible server is openai/NAME with client_args.api_base",
            "config.yaml:12:3: agents.summarizer has no effect, since the agents are response, judgment, memory, state, vision and transcription; remove it",
        ]
    );
    // A likely typo stays an error, and so does an answering agent whose model cannot be called.
    for (text, expected) in [
        ("agents:\n  judgment:\n    model_id: opnai/gpt-4o\n", "its provider must be openai"),
        ("agents:\n  response:\n    model_id: cohere/tea\n", "its provider must be openai"),
        ("agents:\n  respnse:\n    model_id: builtin\n", "did you mean \"response\"?"),
    ] {
        let error = Config::read(text, "config.yaml", &Environment::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// myao2 answers its probes on this port by default.
#[test]
fn a_config_of_myao2_without_a_health_check_has_that_of_myao2() {
    let pairs = [
        ("SLACK_BOT_TOKEN", "xoxb-secret"),
        ("SLACK_APP_TOKEN", "xapp-secret"),
        ("OPENAI_API_KEY", "sk-secret"),
    ];
    let read = |text: &str| Config::read(text, "config.yaml", &environment(&pairs, "")).unwrap();
    let silent = MYAO2.replace("health_check:\n  port: 8080\n", "");
    let LoadedConfig { config, warnings, .. } = read(&silent);
    assert_eq!(config.health_check.port.unwrap().0, 8080);
    assert_eq!(config.page_address().unwrap(), "http://127.0.0.1:8081");
    let notice = "config.yaml: health_check is not set, so health checks are answered on port 8080 of all interfaces, as myao2 did; health_check.port names another port, and an empty section, health_check: {}, opens none";
    assert!(warnings.contains(&notice.to_owned()), "{warnings:#?}");
    // But not if the config says otherwise, and not in a config of our own.
    for text in [
        silent.clone() + "health_check: {}\n",
        silent.clone() + "http: {listen: '127.0.0.1:8080'}\n",
        "slack: {bot_token: xoxb-secret, app_token: xapp-secret}\nmemory: {database_path: a.db}\n"
            .to_owned(),
        // A Python log format is also a key of myao2's, but not sufficient evidence on its own.
        "discord: {token: abc}\nlogging: {format: '%(message)s'}\n".to_owned(),
    ] {
        let LoadedConfig { config, warnings, .. } = read(&text);
        assert_eq!(config.health_check.port, None, "{text}");
        assert!(!warnings.iter().any(|it| it.contains("as myao2 did")), "{warnings:#?}");
    }
    // The minimum that myao2 requires.
    let least = "slack: {bot_token: xoxb-secret, app_token: xapp-secret}
agents: {response: {model_id: gpt-4o}, judgment: {model_id: gpt-4o}, memory: {model_id: gpt-4o}}
persona: {name: myao, system_prompt: calm}
memory: {database_path: data/memory.db}
";
    assert_eq!(read(least).config.health_check.port.unwrap().0, 8080);
}

/// A setting in the config takes precedence.
#[test]
fn what_a_config_of_myao2_decides_for_itself_is_not_told() {
    let pairs = [
        ("SLACK_BOT_TOKEN", "xoxb-secret"),
        ("SLACK_APP_TOKEN", "xapp-secret"),
        ("OPENAI_API_KEY", "sk-secret"),
    ];
    let decided = MYAO2.replace(
        "response:\n  check_interval_seconds: 60\n",
        "language: ja\nresponse:\n  wait: fixed\n  announce: false\n  check_interval_seconds: 60\n",
    );
    let loaded = Config::read(&decided, "config.yaml", &environment(&pairs, "")).unwrap();
    for name in [
        "language is",
        "response.announce",
        "response.min_wait_seconds is",
        "response.jitter_ratio",
    ] {
        assert!(
            !loaded.warnings.iter().any(|it| it.contains(name)),
            "{name} {:#?}",
            loaded.warnings
        );
    }
}

#[test]
fn keys_without_effect_get_a_warning() {
    for (text, expected) in [
        (
            "response:\n  gates: [directed, spoke_last]\n",
            "2:21: response.gates holds \"spoke_last\", which is no longer a gate; remove it",
        ),
        (
            "response:\n  learned_gate: {miss: 0.02}\n",
            "2:3: learned_gate in response has no effect any more; remove it",
        ),
        (
            "channels:\n  \"#tea\": {weekly_note: monday 09:00}\n",
            "2:12: weekly_note in channels has no effect any more; remove it",
        ),
        (
            "tools:\n  web_search: {enabled: true}\n",
            "2:3: tools.web_search has neither api_key nor searxng_url, so the web is not searched",
        ),
        (
            "agents:\n  response:\n    client_args: {api_kye: hunter2}\n",
            "3:19: agents.response.client_args.api_kye has no effect; did you mean \"api_key\"?",
        ),
        (
            "agents:\n  response:\n    params: {temprature: 1}\n",
            "3:14: agents.response.params.temprature is passed to the model unchanged; did you mean \"temperature\"?",
        ),
    ] {
        let loaded = Config::read(text, "config.yaml", &Environment::default()).unwrap();
        assert_eq!(loaded.warnings, [format!("config.yaml:{expected}")]);
        Config::parse(text).unwrap();
    }
    let silent = "response:\n  wait: adaptive\n  gates: []\nlogging:\n  format: json\n";
    let loaded = Config::read(silent, "config.yaml", &Environment::default()).unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
}

#[test]
fn the_program_logs_warnings_about_keys_without_effect() {
    let folder = tempfile::tempdir().unwrap();
    // A port that is in use stops the program.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let used_address = other.local_addr().unwrap();
    let config = format!(
        "http:\n  listen: {used_address}\ntools:\n  web_search: {{api_key: ''}}\nlogging:\n  format: json\n"
    );
    std::fs::write(folder.path().join("config.yaml"), config).unwrap();
    let run =
        aizuchi().current_dir(folder.path()).args(["--config", "config.yaml"]).assert().code(1);
    let output = stderr(run);
    let (warning, refusal) = output.trim_end().split_once('\n').unwrap();
    let warning: Value = serde_json::from_str(warning).unwrap();
    assert_eq!(warning["level"], "WARN");
    assert_eq!(
        warning["fields"]["message"],
        "config.yaml:4:3: tools.web_search has neither api_key nor searxng_url, so the web is not searched"
    );
    assert!(
        refusal.contains(&format!("another program is already listening on {used_address}")),
        "{refusal}"
    );
}
