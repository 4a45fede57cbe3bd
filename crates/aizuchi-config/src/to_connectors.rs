//! Converts the config to the connectors of the chat platforms.

use std::sync::Arc;

use aizuchi_discord::remote::DiscordConnector;
use aizuchi_discord::settings::{DiscordSettings, DiscordTimeouts, ThreadSettings};
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_platform::remote::Connector;
use aizuchi_slack::remote::SlackConnector;
use aizuchi_slack::settings::{EventTransport, SlackSettings, SlackTimeouts};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use secrecy::SecretString;

use crate::Config;
use crate::platforms::{DiscordConfig, SlackConfig};
use crate::values::WebUrl;

/// The base URL of Slack's API.
const SLACK_API: &str = "https://slack.com/api/";
/// The base URL of Discord's API.
const DISCORD_API: &str = "https://discord.com/api/v10";

impl Config {
    /// The settings of the Slack workspace, if one is configured.
    pub fn slack_settings(&self) -> Option<SlackSettings> {
        self.slack.as_ref()?.settings(self).ok()
    }

    /// The settings of the Discord bot, if one is configured.
    pub fn discord_settings(&self) -> Option<DiscordSettings> {
        self.discord.as_ref()?.settings(self).ok()
    }

    /// The platforms that are configured.
    pub fn connectors(&self) -> Vec<Box<dyn Connector>> {
        let mut connectors: Vec<Box<dyn Connector>> = Vec::new();
        if let Some(settings) = self.slack_settings() {
            connectors.push(Box::new(SlackConnector { settings }));
        }
        if let Some(settings) = self.discord_settings() {
            let rulebook = Arc::new(self.rulebook());
            connectors.push(Box::new(DiscordConnector { settings, rulebook }));
        }
        connectors
    }

    /// The interval at which the channel list of a workspace is refreshed.
    pub fn channel_sync_interval(&self) -> SignedDuration {
        duration_from_seconds(self.response.channel_sync_interval_seconds.0)
    }
}

impl SlackConfig {
    /// The settings of the adapter. The error says what is missing or conflicts.
    pub fn settings(&self, config: &Config) -> Result<SlackSettings, &'static str> {
        let bot_token = self.bot_token.as_ref().ok_or(
            "slack needs bot_token, the token that begins with xoxb-; remove the whole section if you do not use Slack",
        )?;
        Ok(SlackSettings {
            bot_token: bot_token.0.to_request().into(),
            events: self.transport()?,
            api_base: self.api_base.as_ref().map_or(SLACK_API.to_owned(), WebUrl::as_base),
            reply_in: self.reply_in.rule(),
            in_flight_timeout: duration_from_seconds(self.settle_seconds.0),
            history_span: self.history_days.days(),
            sync_interval: config.channel_sync_interval(),
            timeouts: SlackTimeouts::default(),
        })
    }

    fn transport(&self) -> Result<EventTransport, &'static str> {
        match (&self.app_token, &self.signing_secret) {
            (Some(app_token), None) => Ok(EventTransport::SocketMode {
                app_token: app_token.0.to_request().into(),
                connections: self.connections.size(),
            }),
            (None, Some(secret)) => {
                Ok(EventTransport::Webhooks { signing_secret: secret.0.to_request().into() })
            }
            (Some(_), Some(_)) => {
                Err("slack.app_token and slack.signing_secret do not go together: \
                                       app_token is for Socket Mode, where this machine calls Slack \
                                       and needs no address of its own; signing_secret is for events \
                                       over HTTP, which Slack sends to /slack/events; keep the one \
                                       that the app is set up for")
            }
            (None, None) => {
                Err("slack needs app_token, the token that begins with xapp-, for Socket \
                                 Mode, or else signing_secret, for events that Slack sends to \
                                 /slack/events")
            }
        }
    }
}

impl DiscordConfig {
    /// The settings of the adapter. The error says what is missing.
    pub fn settings(&self, config: &Config) -> Result<DiscordSettings, &'static str> {
        let token = self.token.as_ref().ok_or(
            "discord needs token, the bot's token; remove the whole section if you do not use Discord",
        )?;
        // Some programs expect the token with this prefix, so configs may have it.
        let token = token.expose().strip_prefix("Bot ").unwrap_or(token.expose());
        let channels = config.channels.iter();
        let channels =
            channels.filter_map(|(key, channel)| Some((key.0.clone(), channel.threads?.rule())));
        let api_base = self.api_base.as_ref();
        Ok(DiscordSettings {
            token: SecretString::from(token).into(),
            api_base: api_base.map_or(DISCORD_API.to_owned(), |base| discord_api(&base.0)),
            gateway_url: self.gateway_url.as_ref().map(|url| url.0.clone()),
            shards: self.shards.and_then(|shards| u32::try_from(shards.0).ok()),
            threads: ThreadSettings {
                default: self.threads.rule(),
                channels: channels.collect(),
                archive_minutes: self.auto_archive_minutes.map(|minutes| minutes.0),
            },
            in_flight_timeout: duration_from_seconds(self.settle_seconds.0),
            history_span: self.history_days.days(),
            sync_interval: config.channel_sync_interval(),
            time_zone: config.time_zone_or(TimeZone::system()),
            timeouts: DiscordTimeouts::default(),
        })
    }
}

/// Adds the path of the API to a base URL that lacks it, as the addresses of proxies often do.
fn discord_api(base: &str) -> String {
    let base = base.trim_end_matches('/');
    let path = base.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    match path {
        None => format!("{base}/api/v10"),
        Some((_, "api")) => format!("{base}/v10"),
        Some(_) => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_of_the_api_path_are_added() {
        for (base, expected) in [
            ("http://127.0.0.1:9", "http://127.0.0.1:9/api/v10"),
            ("http://127.0.0.1:9/", "http://127.0.0.1:9/api/v10"),
            ("http://127.0.0.1:9/api", "http://127.0.0.1:9/api/v10"),
            ("https://discord.com/api/v10/", "https://discord.com/api/v10"),
            ("https://proxy.example/discord/api/v10", "https://proxy.example/discord/api/v10"),
        ] {
            assert_eq!(discord_api(base), expected);
        }
    }
}
