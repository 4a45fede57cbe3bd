//! The `discord` section.

use std::collections::HashMap;

use aizuchi_config::Config;
use aizuchi_config::environment::Environment;
use aizuchi_discord::settings::ThreadPolicy;
use aizuchi_model::rules::Mode;
use jiff::SignedDuration;
use secrecy::ExposeSecret as _;

fn error_for(text: &str) -> String {
    Config::read(text, "config.yaml", &Environment::default()).unwrap_err().to_string()
}

#[test]
fn a_token_suffices() {
    let text = "discord:\n  token: ' a.b.c '\nresponse: {mode: companion}\n";
    let loaded = Config::read(text, "config.yaml", &Environment::default()).unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
    let discord = loaded.config.discord_settings().unwrap();
    assert_eq!(discord.token.read().expose_secret(), "a.b.c");
    assert_eq!(discord.threads.default, ThreadPolicy::Never);
    assert_eq!((discord.threads.channels, discord.threads.archive_minutes), (HashMap::new(), None));
    assert_eq!(discord.in_flight_timeout, SignedDuration::from_secs(30));
    assert_eq!(discord.history_span, SignedDuration::from_hours(7 * 24));
    assert_eq!((discord.shards, discord.gateway_url), (None, None));
    assert_eq!(discord.api_base, "https://discord.com/api/v10");
    for text in ["", "discord:\n", "discord: ${DISCORD:-}\n"] {
        assert!(Config::parse(text).unwrap().discord_settings().is_none(), "{text}");
    }
}

#[test]
fn all_settings_are_read() {
    let text = "
discord:
  token: a.b.c
  threads: auto
  auto_archive_minutes: 4320
  settle_seconds: 20
  history_days: 0
  shards: 2
  api_base: http://127.0.0.1:9
  gateway_url: ws://127.0.0.1:9/gateway
channels: {\"#tea\": {threads: never}, \"12\": {mode: observe}}
";
    let config = Config::parse(text).unwrap();
    let discord = config.discord_settings().unwrap();
    let threads = &discord.threads;
    assert_eq!(threads.channels, HashMap::from([("#tea".to_owned(), ThreadPolicy::Never)]));
    assert_eq!((threads.default, threads.archive_minutes), (ThreadPolicy::Auto, Some(4320)));
    assert_eq!(discord.in_flight_timeout, SignedDuration::from_secs(20));
    assert_eq!(discord.shards, Some(2));
    assert_eq!(discord.gateway_url.as_deref(), Some("ws://127.0.0.1:9/gateway"));
    let shown = format!("{config:?} {discord:?}");
    assert!(!shown.contains("a.b.c"), "{shown}");
    // On a chat platform the built-in mind only answers mentions.
    assert_eq!(config.rulebook().default_rules.mode, Mode::MentionOnly);
}

#[test]
fn errors_name_the_location() {
    for (text, expected) in [
        ("discord:\n  threads: auto\n", "config.yaml:1:1: discord needs token"),
        ("discord: {token: x, settle_seconds: 15}\n", "settle_seconds must be more than 15"),
        ("discord: {token: x, auto_archive_minutes: 61}\n", "60, 1440, 4320 or 10080"),
        ("discord: {token: x, thread: auto}\n", "threads"),
        ("discord: {token: x, threads: always}\n", "auto"),
    ] {
        let actual = error_for(text);
        assert!(actual.contains(expected), "{actual}");
    }
}
