//! The config file: variables, locations and defaults.

mod bad;
mod chosen;
mod discord;
pub mod example;
mod kotonoha;
mod minds;
mod notices;
mod own_models;
mod places;
mod requirements;
mod rules;
mod slack;
mod thread_settings;
mod transcription;
mod value_files;

use std::time::Duration;

use aizuchi_config::environment::Environment;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_store::database::location::DatabaseLocation;
use assert_cmd::Command;

#[test]
fn variables_expand_in_values_of_every_type() {
    let text = r#"
persona: {name: "${NAME}", system_prompt: '$NAME $${NAME} ${NAME:-nobody}'}
response: {min_wait_seconds: "${SECONDS}", jitter_ratio: "${RATIO:-0.1}"}
retention:
  prompts_days: ${DAYS}
health_check:
  port: ${PORT:-}
channels:
  C1:
    mode: ${MODE:-off}
tools:
  web_fetch:
    enabled: ${FETCH}
agents:
  response:
    model_id: ollama/${MODEL:-qwen3}
    params: {stop: ["${NAME}", 'x']}
"#;
    let pairs = [("NAME", "Aki"), ("SECONDS", "2.5"), ("DAYS", "7"), ("FETCH", "no")];
    let config = Config::read(text, "config.yaml", &environment(&pairs, "")).unwrap().config;
    assert_eq!(config.persona.name.0, "Aki");
    assert_eq!(config.persona.system_prompt, "$NAME ${NAME} Aki");
    assert_eq!(config.wait_settings().min_wait_seconds, 2.5);
    assert_eq!(config.wait_settings().jitter_ratio, 0.1);
    assert_eq!(config.retention.prompts_days.0, 7);
    assert_eq!(config.health_check.port, None);
    assert!(!config.tools.web_fetch.unwrap().enabled);
    assert_eq!(config.minds.response.model.id.to_string(), "ollama/qwen3");
}

#[test]
fn process_variables_override_those_of_the_env_file() {
    let file =
        "\u{feff}A=file # why\nB='two $words'\nexport C=\"x\\ny\"\nD=a$b\nE=\"$b\"\nF=${D}!\n";
    let environment = environment(&[("A", "process")], file);
    let values = ["A", "B", "C", "D", "E", "F", "G"].map(|name| environment.get(name));
    let expected = ["process", "two $words", "x\ny", "a$b", "$b", "a$b!"].map(Some);
    assert_eq!(values[..6], expected);
    assert_eq!(values[6], None);
    assert!(!format!("{environment:?}").contains("words"));
}

/// A quote in a comment is not one, and a value may be quoted in part.
#[test]
fn a_dollar_without_a_brace_is_literal_wherever_it_is() {
    for file in [
        "A=pa$word",
        "A=pa$word # $5 for it's use",
        "A=pa$word \t",
        "A=pa\\$word\r\n",
        "A='pa$word'",
        "A=\"pa$word\"",
        "A=pa'$w'ord",
        "X='y' # it's old\nA=pa$word\n",
        "# X='y\nA=pa$word\n",
        "X=\"it's\"\nA=pa$word\n",
        "X='two\n# lines $b'\nA=pa$word\n",
        "AIZUCHI_TEST_WORD=word\nA=pa$${AIZUCHI_TEST_WORD}\n",
    ] {
        assert_eq!(environment(&[], file).get("A"), Some("pa$word"), "{file}");
    }
}

#[test]
fn an_invalid_env_line_is_located_and_not_shown() {
    for (text, location) in [
        ("A=1\nB two hunter2\n", ".env:2"),
        ("A=1\n\n# x\nhunter2=hunter2 hunter2\n", ".env:4"),
        ("A='hunter2\nhunter2\n", ".env:1"),
    ] {
        let error = Environment::new([], text, ".env").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{location}: this line cannot be read")), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn the_env_file_is_read_from_the_folder_of_the_config() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, "http:\n  listen: ${AIZUCHI_TEST_LISTEN}\n").unwrap();
    let run = |listen: Option<&str>| {
        let mut program = aizuchi();
        if let Some(listen) = listen {
            program.env("AIZUCHI_TEST_LISTEN", listen);
        }
        stderr(program.arg("--config").arg(&file).assert().code(1))
    };
    assert!(run(None).contains("http.listen needs the variable AIZUCHI_TEST_LISTEN"));
    std::fs::write(folder.path().join(".env"), "AIZUCHI_TEST_LISTEN=everywhere\n").unwrap();
    assert!(run(None).contains("config.yaml:2:11: http.listen cannot be used"));
    assert!(run(Some("0.0.0.0:80")).contains("can be reached from other machines"));
    std::fs::write(folder.path().join(".env"), "AIZUCHI_TEST_LISTEN everywhere\n").unwrap();
    assert!(run(None).contains(".env:1: this line cannot be read"));
}

#[test]
fn a_key_without_a_value_is_not_set() {
    let text = "persona:\n  name:\nresponse:\nslack:\nagents:\n  response:\n  memory:\nchannels:\n";
    let loaded = Config::read(text, "config.yaml", &Environment::default()).unwrap();
    assert_eq!((loaded.config, loaded.warnings), (Config::default(), Vec::new()));
    let empty = Config::read("# nothing\n", "config.yaml", &Environment::default()).unwrap();
    assert_eq!(empty.config, Config::default());
    assert_eq!(
        empty.warnings,
        ["config.yaml: the file sets nothing, so all settings are at their defaults"]
    );
}

#[test]
fn a_public_listener_needs_a_token() {
    let text = "http:\n  listen: 0.0.0.0:80\n  token: 9f86d081884c7d65\n";
    let config = Config::parse(text).unwrap();
    assert_eq!(config.http.token.as_ref().unwrap().0.expose(), "9f86d081884c7d65");
    assert!(!format!("{config:?}").contains("9f86d081884c7d65"));
}

#[test]
fn tokens_have_names_and_roles_of_their_own() {
    let (one, two) = ("9f86d081884c7d65", "a1b2f7e4409cc318");
    let named = |name: &str, token: &str| format!("{{name: {name}, role: viewer, token: {token}}}");
    let tokens = |tokens: &[String]| format!("http:\n  tokens: [{}]\n", tokens.join(", "));
    let open = tokens(&[named("vera", one)]).replace("http:\n", "http:\n  listen: 0.0.0.0:80\n");
    let config = Config::parse(&open).unwrap();
    assert_eq!(config.http.tokens[0].name.0, "vera");
    assert!(!format!("{config:?}").contains(one));
    let problem = |text: &str| Config::parse(text).unwrap_err().to_string();
    for repeated in
        [[named("vera", one), named("vera", two)], [named("vera", one), named("tom", one)]]
    {
        let found = problem(&tokens(&repeated));
        assert!(found.contains("names and tokens that differ from each other"), "{found}");
    }
    let found = problem(&tokens(&[named("'<b>'", one)]));
    assert!(found.contains("it must be a name or an address"), "{found}");
    let found = problem("http:\n  proxy_sign_in: {header: X-Forwarded-Email, admins: [mia]}\n");
    assert!(found.contains("http.proxy_sign_in needs http.trusted_proxies"), "{found}");
}

#[test]
fn an_mcp_server_is_a_command_or_an_address() {
    let with = |server: &str| format!("tools:\n  mcp:\n    servers:\n      tracker: {server}\n");
    for server in [
        "{command: tracker-mcp, args: [-v], env: {KEY: hunter2}}",
        "{url: 'https://tracker.example/mcp', headers: {X-Key: hunter2}, channels: ['#a', C1], tools: []}",
    ] {
        let config = Config::parse(&with(server)).unwrap();
        let (name, server) = config.tools.mcp.used().next().unwrap();
        assert_eq!((name, server.timeout_seconds.0), ("tracker", 20));
        assert!(!format!("{config:?}").contains("hunter2"));
    }
    assert_eq!(
        Config::parse(&with("{enabled: false, command: a}")).unwrap().tools.mcp.used().count(),
        0
    );
    for (server, expected) in [
        ("{enabled: true}", "tools.mcp.servers.tracker needs a command or a url"),
        ("{command: a, url: 'http://a'}", "tools.mcp.servers.tracker has a command and a url"),
        ("{command: ' '}", "tools.mcp.servers.tracker.command must name a program"),
        ("{command: a, headers: {X-A: b}}", "tools.mcp.servers.tracker.headers are sent to a url"),
        ("{url: 'http://a', args: [b]}", "tools.mcp.servers.tracker.args are for a command"),
        ("{url: 'http://a', env: {A: b}}", "tools.mcp.servers.tracker.env is for a command"),
        ("{url: 'http://a', headers: {'a b': c}}", ".headers has one that cannot be sent"),
        ("{url: 'http://a', headers: {X-A: 茶}}", ".headers has one that cannot be sent"),
        ("{url: 'http://a', headers: {Host: b}}", ".headers has one that cannot be sent"),
        ("{url: 'ftp://a'}", "tools.mcp.servers.tracker.url is \"ftp://a\", but it must"),
        ("{command: a, timeout_seconds: 0}", "it must be a whole number from 1 to 600"),
        ("{command: a, tool: [b]}", "unknown key \"tool\" in tools.mcp.servers.tracker"),
    ] {
        let found = Config::parse(&with(server)).unwrap_err().to_string();
        assert!(found.contains(expected), "{server}: {found}");
    }
    let misnamed = with("{command: a}").replace("tracker:", "my_tracker:");
    let found = Config::parse(&misnamed).unwrap_err().to_string();
    assert!(
        found.contains("it must be a name of 1 to 20 small letters, digits and hyphens"),
        "{found}"
    );
}

#[test]
fn two_keys_name_the_database() {
    let database = |text: &str| Config::parse(text).unwrap().database_address();
    let file = |path: &str| DatabaseLocation::Sqlite(path.into());
    assert_eq!(database(""), file("data/aizuchi.db"));
    assert_eq!(database("storage: {url: 'sqlite://a.db'}"), file("a.db"));
    assert_eq!(database("memory: {database_path: ./data/b.db}"), file("./data/b.db"));
    let both = "storage: {url: 'sqlite://a.db'}\nmemory: {database_path: a.db}";
    assert_eq!(database(both), file("a.db"));
}

#[test]
fn the_policies_are_valid_configs() {
    for file in std::fs::read_dir("policies").unwrap() {
        let loaded = Config::load(Some(&file.unwrap().path()), ModelSelection::Configured).unwrap();
        assert_eq!(loaded.warnings, [""; 0]);
    }
}

fn aizuchi() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_aizuchi"));
    program.timeout(Duration::from_secs(60));
    program
}

fn stderr(run: assert_cmd::assert::Assert) -> String {
    String::from_utf8(run.get_output().stderr.clone()).unwrap()
}

fn environment(pairs: &[(&str, &str)], file: &str) -> Environment {
    let pairs = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    Environment::new(pairs, file, ".env").unwrap()
}

#[test]
fn prompts_have_a_time_zone_and_a_maximum_length() {
    let text = "timezone: Asia/Tokyo\ncontext:\n  max_tokens: 9000\n  sections: {memos: 0}\n";
    let settings = Config::parse(text).unwrap().agent_settings();
    assert_eq!(settings.zone.iana_name(), Some("Asia/Tokyo"));
    assert_eq!((settings.budget.max_tokens, settings.budget.sections.memos), (9000, 0));
    assert_eq!(settings.budget.sections.recalled, 1500);
    let utc = Config::parse("timezone: UTC").unwrap().agent_settings();
    assert_eq!(utc.zone.iana_name(), Some("UTC"));
}
