//! What the config says of a Discord bot, as its adapter takes it.

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use secrecy::SecretString;

use crate::config::platforms::{ResolvedDiscordConfig, ThreadsSetting};
use aizuchi_discord::settings::{DiscordSettings, DiscordTimeouts, ThreadPolicy, ThreadSettings};

/// Where Discord's API is.
const API_BASE: &str = "https://discord.com/api/v10";

impl ResolvedDiscordConfig {
    pub fn settings(&self, sync_every: SignedDuration, zone: TimeZone) -> DiscordSettings {
        // As some programs want it written.
        let token = self.token.expose();
        let token = token.strip_prefix("Bot ").unwrap_or(token);
        let channels = self.channels.iter();
        DiscordSettings {
            token: SecretString::from(token),
            api_base: self.api_base.as_deref().map_or(API_BASE.to_owned(), api_base),
            gateway_url: self.gateway_url.clone(),
            shards: self.shards,
            threads: ThreadSettings {
                default: threads(self.threads),
                channels: channels.map(|(key, rule)| (key.clone(), threads(*rule))).collect(),
                archive_minutes: self.archive_minutes,
            },
            settle_time: self.settle,
            history_span: self.history,
            sync_interval: sync_every,
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

/// Proxies are often named without the path that Discord's API has.
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
    fn a_base_is_told_as_far_as_it_is_named() {
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
