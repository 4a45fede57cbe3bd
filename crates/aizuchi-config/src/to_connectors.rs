//! Converts the config to the connectors of the chat platforms.

use std::sync::Arc;

use aizuchi_discord::remote::DiscordConnector;
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_platform::remote::Connector;
use aizuchi_slack::remote::SlackConnector;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::Config;
use crate::platforms::{ResolvedDiscordConfig, ResolvedSlackConfig};

impl Config {
    /// The validated settings of the Slack workspace, if one is configured.
    pub fn resolved_slack(&self) -> Option<ResolvedSlackConfig> {
        self.slack.as_ref()?.resolve().ok()
    }

    /// The validated settings of the Discord bot, if one is configured.
    pub fn resolved_discord(&self) -> Option<ResolvedDiscordConfig> {
        let discord = self.discord.as_ref()?.resolve().ok()?;
        let channels = self.channels.iter();
        let channels =
            channels.filter_map(|(key, channel)| Some((key.0.clone(), channel.threads?)));
        Some(ResolvedDiscordConfig { channels: channels.collect(), ..discord })
    }

    /// The platforms that are configured.
    pub fn connectors(&self) -> Vec<Box<dyn Connector>> {
        let mut connectors: Vec<Box<dyn Connector>> = Vec::new();
        if let Some(slack) = self.resolved_slack() {
            let settings = slack.settings(self.channel_sync_interval());
            connectors.push(Box::new(SlackConnector { settings }));
        }
        if let Some(discord) = self.resolved_discord() {
            let zone = self.time_zone_or(TimeZone::system());
            let settings = discord.settings(self.channel_sync_interval(), zone);
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
