//! The `slack` section.

use aizuchi_config::Config;
use aizuchi_config::environment::Environment;
use aizuchi_config::platforms::{ReplyInSetting, ResolvedSlackConfig, SlackTransport};
use aizuchi_config::secret::Secret;
use jiff::SignedDuration;

#[test]
fn socket_mode_settings_are_read() {
    let text =
        "slack:\n  bot_token: xoxb-1\n  app_token: ' xapp-2 '\nresponse: {mode: companion}\n";
    let loaded = Config::read(text, "config.yaml", &Environment::default()).unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
    assert_eq!(
        loaded.config.resolved_slack(),
        Some(ResolvedSlackConfig {
            bot_token: Secret::new("xoxb-1"),
            transport: SlackTransport::SocketMode {
                app_token: Secret::new("xapp-2"),
                connections: 2
            },
            reply_in: ReplyInSetting::Same,
            settle: SignedDuration::from_secs(60),
            history: SignedDuration::from_hours(7 * 24),
            api_base: None,
        })
    );
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
    assert_eq!(config.channel_sync_interval(), SignedDuration::from_secs(1));
    let slack = config.resolved_slack().unwrap();
    assert_eq!(
        slack,
        ResolvedSlackConfig {
            bot_token: Secret::new("xoxb-1"),
            transport: SlackTransport::Http { signing_secret: Secret::new("8f3c") },
            reply_in: ReplyInSetting::Thread,
            settle: SignedDuration::from_millis(15_500),
            history: SignedDuration::ZERO,
            api_base: Some("http://127.0.0.1:9/api/".to_owned()),
        }
    );
    let shown = format!("{config:?} {slack:?}");
    assert!(!shown.contains("8f3c") && !shown.contains("xoxb-"), "{shown}");
}

#[test]
fn slack_is_off_without_its_section() {
    for text in ["", "slack:\n", "slack: ${SLACK:-}\n"] {
        let config = Config::parse(text).unwrap();
        assert_eq!(config.resolved_slack(), None, "{text}");
        assert_eq!(config.channel_sync_interval(), SignedDuration::from_hours(1));
    }
}
