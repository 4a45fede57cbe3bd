//! Converting the settings of kotonoha to a config.

use aizuchi_config::Config;
use aizuchi_config::environment::Environment;
use aizuchi_import::kotonoha::{self, VariableSource};
use aizuchi_model::rules::Mode;
use secrecy::ExposeSecret as _;

const KOTONOHA: &str = "
DISCORD_TOKEN=MTIz.abc.def
ANTHROPIC_API_KEY=sk-ant-invented
OPENAI_API_KEY=
LLM_MODEL=anthropic/claude-opus-4-5
LLM_TEMPERATURE=0.7
LLM_MAX_TOKENS=2048
LLM_FALLBACK_MODEL=claude-haiku-4-5
LLM_MAX_RETRIES=3
LLM_RETRY_DELAY_BASE=1.0
EAVESDROP_ENABLED_CHANNELS=111111111111111111,222222222222222222
EAVESDROP_JUDGE_MODEL=claude-haiku-4-5
EAVESDROP_BUFFER_SIZE=50
EAVESDROP_MIN_MESSAGES=3
EAVESDROP_MIN_INTERVENTION_INTERVAL_MINUTES=10
THREAD_AUTO_ARCHIVE_DURATION=1440
HEALTH_CHECK_ENABLED=true
HEALTH_CHECK_PORT=8080
SESSION_TIMEOUT_HOURS=24
KB_HNSW_M=16
POSTGRES_PASSWORD=secret-word
LOG_LEVEL=info
BOT_PREFIX=!
";

fn environment(text: &str) -> Environment {
    Environment::new([], text, ".env").unwrap()
}

#[test]
fn the_settings_of_kotonoha_are_converted() {
    let environment = environment(KOTONOHA);
    let converted = kotonoha::from_env(environment.variables(), VariableSource::File).unwrap();
    for secret in ["MTIz", "sk-ant", "secret-word"] {
        assert!(!converted.contains(secret), "{converted}");
    }
    let loaded = Config::read(&converted, "config.yaml", &environment).unwrap();
    assert_eq!(loaded.warnings, [""; 0], "{converted}");
    let config = loaded.config;
    let discord = config.discord_settings().unwrap();
    assert_eq!(discord.token.read().expose_secret(), "MTIz.abc.def");
    assert_eq!(discord.threads.archive_minutes, Some(1440));
    let minds = &config.minds;
    assert_eq!(minds.response.model.id.to_string(), "anthropic/claude-opus-4-5");
    assert_eq!(minds.judgment.model.id.to_string(), "anthropic/claude-haiku-4-5");
    assert_eq!(minds.response.fallback.as_ref().unwrap().id, minds.judgment.model.id);
    assert_eq!(minds.response.model.params.max_tokens.unwrap().0, 2048);
    assert_eq!(config.health_check.port.unwrap().0, 8080);
    let book = config.rulebook();
    assert_eq!(book.default_rules.mode, Mode::MentionOnly);
    assert_eq!(book.channels["222222222222222222"].mode, Mode::Facilitator);
    assert_eq!(book.channels["111111111111111111"].facilitation.buffer_size, 50);
    for name in ["SESSION_TIMEOUT_HOURS", "KB_HNSW_M", "POSTGRES_PASSWORD", "BOT_PREFIX"] {
        assert!(converted.contains(&format!("# {name}: ")), "{name}\n{converted}");
    }
}

#[test]
fn missing_variables_have_defaults_and_invalid_ones_are_listed() {
    let environment = environment(
        "DISCORD_TOKEN=t\nANTHROPIC_API_KEY=k\nLLM_MAX_TOKENS=many\nEAVESDROP_ENABLED_CHANNELS=tea,3\n\
         EAVESDROP_JUDGE_MODEL=google/gemini-2.0-flash\nGEMINI_API_KEY=g\nHEALTH_CHECK_PORT=x\n\
         THREAD_AUTO_ARCHIVE_DURATION=61\nLOG_LEVEL=loud\nLLM_MAX_RETRIES=100\n",
    );
    let converted = kotonoha::from_env(environment.variables(), VariableSource::File).unwrap();
    let config = Config::read(&converted, "config.yaml", &environment).unwrap().config;
    assert_eq!(config.minds.response.model.id.to_string(), "anthropic/claude-sonnet-4-5");
    assert_eq!(config.minds.judgment.model.id.to_string(), "gemini/gemini-2.0-flash");
    assert_eq!(config.rulebook().channels.len(), 1);
    assert_eq!(config.health_check.port, None);
    let invalid = ["LLM_MAX_TOKENS", "EAVESDROP_ENABLED_CHANNELS", "HEALTH_CHECK_PORT"];
    let more = ["THREAD_AUTO_ARCHIVE_DURATION", "LOG_LEVEL", "LLM_MAX_RETRIES"];
    for name in invalid.into_iter().chain(more) {
        assert!(converted.contains(&format!("# {name}: ")), "{name}\n{converted}");
    }
}

#[test]
fn converting_requires_a_token() {
    assert!({
        let environment = environment("LLM_MODEL=gpt-4o\n");
        kotonoha::from_env(environment.variables(), VariableSource::File).is_err()
    });
}

#[test]
fn every_variable_of_a_file_is_named_once() {
    let text = format!("{KOTONOHA}MY_OWN=1\nTZ=Asia/Tokyo\n");
    let environment = environment(&text);
    let converted = kotonoha::from_env(environment.variables(), VariableSource::File).unwrap();
    let empty = "MY_OWN=\nKB_HNSW_M=\nBOT_PREFIX= \nDATABASE_URL=\nTZ=\nLLM_MODEL=\n";
    let wrong = "LLM_MODEL=x9\nLLM_TEMPERATURE=1\nTZ=JST-9\nHEALTH_CHECK_PORT=0\nDATABASE_URL=x\nDISCORD_TOKEN_FILE=t\n";
    let off =
        "HEALTH_CHECK_ENABLED=off\nHEALTH_CHECK_PORT=8080\nDB_POOL_MIN_SIZE=5\nPOSTGRES_DB=k\n";
    for more in [KOTONOHA, empty, wrong, off] {
        names_each_variable_once(&format!("DISCORD_TOKEN=t\n{more}"));
    }
    assert!(
        converted.contains("# MY_OWN: kotonoha has no such setting; nothing here reads it."),
        "{converted}"
    );

    // The environment of a process contains many variables unrelated to kotonoha.
    let of_process = kotonoha::from_env(environment.variables(), VariableSource::Process).unwrap();
    assert!(!of_process.contains("MY_OWN"), "{of_process}");
}

fn names_each_variable_once(text: &str) {
    let environment = environment(text);
    let converted = kotonoha::from_env(environment.variables(), VariableSource::File).unwrap();
    for name in environment.variables().keys() {
        let is_about = |line: &&str| match line.strip_prefix("# Not set: ") {
            Some(names) => names.trim_end_matches('.').split(", ").any(|it| it == name),
            None => line.starts_with(&format!("# {name}: ")),
        };
        assert_eq!(converted.lines().filter(is_about).count(), 1, "{name}\n{converted}");
    }
}

#[test]
fn what_is_not_set_is_as_in_kotonoha() {
    let environment = environment("DISCORD_TOKEN=t\nANTHROPIC_API_KEY=k\n");
    let converted = kotonoha::from_env(environment.variables(), VariableSource::File).unwrap();
    let loaded = Config::read(&converted, "config.yaml", &environment).unwrap();
    assert_eq!(loaded.warnings, [""; 0], "{converted}");
    let config = loaded.config;
    assert_eq!(config.minds.response.model.id.to_string(), "anthropic/claude-sonnet-4-5");
    assert_eq!(config.minds.judgment.model.id.to_string(), "anthropic/claude-haiku-4-5");
    assert_eq!(config.health_check.port.unwrap().0, 8080);
    assert_eq!(config.page_address().unwrap(), "http://127.0.0.1:8081");
}

#[test]
fn a_health_check_that_is_off_stays_off() {
    let environment = environment(
        "DISCORD_TOKEN=t\nANTHROPIC_API_KEY=k\nHEALTH_CHECK_ENABLED=False\nHEALTH_CHECK_PORT=8080\n",
    );
    let converted = kotonoha::from_env(environment.variables(), VariableSource::File).unwrap();
    let config = Config::read(&converted, "config.yaml", &environment).unwrap().config;
    assert_eq!(config.health_check.port, None);
    assert!(!converted.contains("health_check.port"), "{converted}");
    let line = "# HEALTH_CHECK_PORT: HEALTH_CHECK_ENABLED is off, so there is no health check here, either.";
    assert!(converted.contains(line), "{converted}");
}

/// kotonoha's tables are in the schema that Aizuchi would use, and its password must not appear in a config.
#[test]
fn the_server_of_kotonohas_database_is_suggested() {
    let convert = |more: &str| {
        let environment = environment(&format!("DISCORD_TOKEN=t\nANTHROPIC_API_KEY=k\n{more}\n"));
        let converted = kotonoha::from_env(environment.variables(), VariableSource::File).unwrap();
        let config = Config::read(&converted, "config.yaml", &environment).unwrap().config;
        assert!(config.storage.url.is_none() && !converted.contains("hunter2"), "{converted}");
        converted
    };
    let url = "#   url: postgres://koto:PASSWORD@db:5433/aizuchi";
    for scheme in ["postgresql+asyncpg", "postgresql", "postgres"] {
        let converted =
            convert(&format!("DATABASE_URL='{scheme}://koto:hunter2@/x@db:5433/kotonoha?a=b'"));
        assert!(converted.contains(url), "{converted}");
        assert!(
            converted.contains("# DATABASE_URL: it names kotonoha's own database"),
            "{converted}"
        );
    }
    let parts = "POSTGRES_HOST=db\nPOSTGRES_PORT=5433\nPOSTGRES_DB=k\nPOSTGRES_USER=koto\nPOSTGRES_PASSWORD=hunter2";
    assert!(convert(parts).contains(url));
    let converted = convert("DATABASE_URL=sqlite:///sessions.db");
    assert!(!converted.contains("postgres://"), "{converted}");
    assert!(
        converted.contains("# DATABASE_URL: it is not the URL of a PostgreSQL server."),
        "{converted}"
    );
}
