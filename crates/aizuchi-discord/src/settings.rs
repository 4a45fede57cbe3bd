//! What the adapter is configured with.

use std::collections::HashMap;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use secrecy::SecretString;

use aizuchi_core::reloadable::Reloadable;

#[derive(Clone, Debug)]
pub struct DiscordSettings {
    pub token: Reloadable<SecretString>,
    /// Without a trailing slash.
    pub api_base: String,
    /// The gateway's URL; without it Discord is asked.
    pub gateway_url: Option<String>,
    /// The number of shards; without it Discord is asked.
    pub shards: Option<u32>,
    pub threads: ThreadSettings,
    /// How long after its dispatch a post can no longer be in flight.
    pub in_flight_timeout: SignedDuration,
    /// How far back the history of a new channel is read.
    pub history_span: SignedDuration,
    /// How often servers, channels and names are read again.
    pub sync_interval: SignedDuration,
    /// The time zone in which the persona reads Discord's timestamps.
    pub time_zone: TimeZone,
    pub timeouts: DiscordTimeouts,
}

/// Whether a mention at a channel's top level opens a thread, in which the conversation continues.
#[derive(Clone, Debug, Default)]
pub struct ThreadSettings {
    pub default: ThreadPolicy,
    /// Overrides for single channels, by `#name` or id.
    pub channels: HashMap<String, ThreadPolicy>,
    /// Minutes of inactivity after which Discord archives such a thread. `None`: the channel's default.
    pub archive_minutes: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadPolicy {
    /// A mention opens one.
    Auto,
    /// A mention is answered at top level.
    #[default]
    Never,
}

/// How long each kind of call may take.
#[derive(Clone, Copy, Debug)]
pub struct DiscordTimeouts {
    /// A call of the REST API. Shorter than the agent's timeout for a post.
    pub call: Duration,
    /// Opening the gateway; then its hello; then, after Identify or Resume, the start of the session.
    pub open: Duration,
    /// How long a command may run before its response is deferred. Discord waits three seconds in all.
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
    /// The policy of a channel. An override by id wins over one by name.
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
