//! Converts the config to the settings of the Slack adapter.

use aizuchi_slack::settings::{EventTransport, ReplyPlacement, SlackSettings, SlackTimeouts};
use jiff::SignedDuration;
use secrecy::SecretString;

use crate::platforms::{ReplyInSetting, ResolvedSlackConfig, SlackTransport};
use crate::secret::Secret;

/// The base URL of Slack's API.
const API_BASE: &str = "https://slack.com/api/";

impl ResolvedSlackConfig {
    pub fn settings(&self, sync_interval: SignedDuration) -> SlackSettings {
        let secret = |secret: &Secret| SecretString::from(secret.expose()).into();
        SlackSettings {
            bot_token: secret(&self.bot_token),
            events: match &self.transport {
                SlackTransport::SocketMode { app_token, connections } => {
                    EventTransport::SocketMode {
                        app_token: secret(app_token),
                        connections: *connections,
                    }
                }
                SlackTransport::Http { signing_secret } => {
                    EventTransport::Webhooks { signing_secret: secret(signing_secret) }
                }
            },
            api_base: self.api_base.clone().unwrap_or_else(|| API_BASE.to_owned()),
            reply_in: match self.reply_in {
                ReplyInSetting::Same => ReplyPlacement::TopLevel,
                ReplyInSetting::Thread => ReplyPlacement::Thread,
            },
            in_flight_timeout: self.settle,
            history_span: self.history,
            sync_interval,
            timeouts: SlackTimeouts::default(),
        }
    }
}
