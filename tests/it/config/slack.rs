//! The `slack` section.

use aizuchi_config::Config;
use aizuchi_config::environment::Environment;
use aizuchi_model::reloadable::Reloadable;
use aizuchi_slack::settings::{EventTransport, ReplyPlacement};
use jiff::SignedDuration;
use secrecy::{ExposeSecret as _, SecretString};

fn exposed(secret: &Reloadable<SecretString>) -> String {
    secret.read().expose_secret().to_owned()
}

#[test]
fn socket_mode_settings_are_read() {
    let text =
        "slack:\n  bot_token: xoxb-1\n  app_token: ' xapp-2 '\nresponse: {mode: companion}\n";
    let loaded = Config::read(text, "config.yaml", &Environment::default()).unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
    let slack = loaded.config.slack_settings().unwrap();
    let EventTransport::SocketMode { app_token, connections } = &slack.events else { panic!() };
    assert_eq!((exposed(app_token), *connections), ("xapp-2".to_owned(), 2));
    assert_eq!(exposed(&slack.bot_token), "xoxb-1");
    assert_eq!(slack.reply_in, ReplyPlacement::TopLevel);
    assert_eq!(slack.in_flight_timeout, SignedDuration::from_secs(60));
    assert_eq!(slack.history_span, SignedDuration::from_hours(7 * 24));
    assert_eq!(slack.api_base, "https://slack.com/api/");
}

#[test]
fn web_hook_settings_are_read() {
    let text = "
slack:
  bot_token: xoxb-1
  app_token:
  signing_secret: 8f3c
  reply_in: thread
  connections: 5
  settle_seconds: 15.5
  history_days: 0
  api_base: http://127.0.0.1:9/api
response:
  channel_sync_interval_seconds: 1
";
    let config = Config::parse(text).unwrap();
    let slack = config.slack_settings().unwrap();
    let EventTransport::Webhooks { signing_secret } = &slack.events else { panic!() };
    assert_eq!(exposed(signing_secret), "8f3c");
    assert_eq!(exposed(&slack.bot_token), "xoxb-1");
    assert_eq!(slack.reply_in, ReplyPlacement::Thread);
    assert_eq!(slack.in_flight_timeout, SignedDuration::from_millis(15_500));
    assert_eq!(slack.history_span, SignedDuration::ZERO);
    assert_eq!(slack.sync_interval, SignedDuration::from_secs(1));
    assert_eq!(slack.api_base, "http://127.0.0.1:9/api/");
    let shown = format!("{config:?} {slack:?}");
    assert!(!shown.contains("8f3c") && !shown.contains("xoxb-"), "{shown}");
}

#[test]
fn slack_is_off_without_its_section() {
    for text in ["", "slack:\n", "slack: ${SLACK:-}\n"] {
        let config = Config::parse(text).unwrap();
        assert!(config.slack_settings().is_none(), "{text}");
        assert_eq!(config.channel_sync_interval(), SignedDuration::from_hours(1));
    }
}
