//! Converts the config to the settings of the Discord adapter.

use aizuchi_discord::settings::{DiscordSettings, DiscordTimeouts, ThreadPolicy, ThreadSettings};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use secrecy::SecretString;

use crate::platforms::{ResolvedDiscordConfig, ThreadsSetting};

/// The base URL of Discord's API.
const API_BASE: &str = "https://discord.com/api/v10";

impl ResolvedDiscordConfig {
    pub fn settings(&self, sync_interval: SignedDuration, zone: TimeZone) -> DiscordSettings {
        // Some programs expect the token with this prefix, so configs may have it.
        let token = self.token.expose();
        let token = token.strip_prefix("Bot ").unwrap_or(token);
        let channels = self.channels.iter();
        DiscordSettings {
            token: SecretString::from(token).into(),
            api_base: self.api_base.as_deref().map_or(API_BASE.to_owned(), api_base),
            gateway_url: self.gateway_url.clone(),
            shards: self.shards,
            threads: ThreadSettings {
                default: threads(self.threads),
                channels: channels.map(|(key, rule)| (key.clone(), threads(*rule))).collect(),
                archive_minutes: self.archive_minutes,
            },
            in_flight_timeout: self.settle,
            history_span: self.history,
            sync_interval,
            time_zone: zone,
            timeouts: DiscordTimeouts::default(),
        }
    }
}

fn threads(threads: ThreadsSetting) -> ThreadPolicy {
    match threads {
        ThreadsSetting::Auto => ThreadPolicy::Auto,
        ThreadsSetting::Never => ThreadPolicy::Never,
    }
}

/// Adds the path of the API to a base URL that lacks it, as the addresses of proxies often do.
fn api_base(base: &str) -> String {
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
            assert_eq!(api_base(base), expected);
        }
    }
}
