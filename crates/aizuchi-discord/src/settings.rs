//! The settings of a Discord connection.

use std::collections::HashMap;
use std::time::Duration;

use aizuchi_model::reloadable::Reloadable;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use secrecy::SecretString;

#[derive(Clone, Debug)]
pub struct DiscordSettings {
    pub token: Reloadable<SecretString>,
    /// The base URL of the REST API, without a trailing slash.
    pub api_base: String,
    /// The gateway's URL, by default the one that Discord recommends.
    pub gateway_url: Option<String>,
    /// The number of shards, by default the one that Discord recommends.
    pub shards: Option<u32>,
    pub threads: ThreadSettings,
    /// A post that is not visible this long after its dispatch will not become visible.
    pub in_flight_timeout: SignedDuration,
    /// How far back the history of a new channel is read.
    pub history_span: SignedDuration,
    /// The interval at which servers, channels and names are fetched again.
    pub sync_interval: SignedDuration,
    /// The time zone in which the persona reads Discord's timestamps.
    pub time_zone: TimeZone,
    pub timeouts: DiscordTimeouts,
}

/// Whether a mention at a channel's top level opens a thread in which the conversation continues.
#[derive(Clone, Debug, Default)]
pub struct ThreadSettings {
    pub default: ThreadPolicy,
    /// Overrides for single channels, by `#name` or id.
    pub channels: HashMap<String, ThreadPolicy>,
    /// Minutes of inactivity after which Discord archives such a thread, or `None` for the channel's default.
    pub archive_minutes: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadPolicy {
    /// A mention opens a thread.
    Auto,
    /// A mention is answered at the top level.
    #[default]
    Never,
}

/// How long each kind of call may take.
#[derive(Clone, Copy, Debug)]
pub struct DiscordTimeouts {
    /// The timeout of a REST API call. Must be below the agent's timeout for a post.
    pub call: Duration,
    /// The timeout for opening the gateway; then for its hello; then, after Identify or Resume, for the start of the
    /// session.
    pub open: Duration,
    /// How long a command may run before its response is deferred. Discord waits three seconds in total.
    pub command_answer: Duration,
}

impl Default for DiscordTimeouts {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(12),
            open: Duration::from_secs(20),
            command_answer: Duration::from_millis(1500),
        }
    }
}

impl ThreadSettings {
    /// Returns the policy of a channel. An override by id takes precedence over one by name.
    pub fn for_channel(&self, id: &str, name: Option<&str>) -> ThreadPolicy {
        let by_name = || self.channels.get(&format!("#{}", name?));
        self.channels.get(id).or_else(by_name).copied().unwrap_or(self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_overrides_the_default() {
        let channels = HashMap::from([
            ("#tea".to_owned(), ThreadPolicy::Never),
            ("12".to_owned(), ThreadPolicy::Auto),
        ]);
        let threads =
            ThreadSettings { default: ThreadPolicy::Auto, channels, archive_minutes: None };
        for (id, name, expected) in [
            ("12", Some("tea"), ThreadPolicy::Auto),
            ("13", Some("tea"), ThreadPolicy::Never),
            ("13", None, ThreadPolicy::Auto),
        ] {
            assert_eq!(threads.for_channel(id, name), expected, "{id} {name:?}");
        }
    }
}
