//! What the adapter is configured with.

use std::collections::HashMap;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use secrecy::SecretString;

#[derive(Clone, Debug)]
pub struct DiscordSettings {
    pub token: SecretString,
    /// Without a slash at the end.
    pub api_base: String,
    /// Where the gateway is, if Discord shall not be asked.
    pub gateway_url: Option<String>,
    /// How many connections share the servers, if Discord shall not be asked.
    pub shards: Option<u32>,
    pub threads: ThreadSettings,
    /// How long after a dispatch a post is surely not on its way any more.
    pub settle_time: SignedDuration,
    /// How far back a channel is read that was not heard before.
    pub history_span: SignedDuration,
    /// How often channels and names are read anew.
    pub sync_interval: SignedDuration,
    /// Whose clock the persona reads.
    pub time_zone: TimeZone,
    pub timeouts: DiscordTimeouts,
}

/// Whether a mention at a channel's top level opens a thread, in which the talk goes on.
#[derive(Clone, Debug, Default)]
pub struct ThreadSettings {
    pub default: ThreadPolicy,
    /// What is different in channels, by `#name` or id.
    pub channels: HashMap<String, ThreadPolicy>,
    /// After so many minutes of silence such a thread is put away. If nothing is said, as the channel has it.
    pub archive_minutes: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadPolicy {
    /// A mention opens one.
    Auto,
    /// A mention is answered where it stood.
    #[default]
    Never,
}

/// How long a connection may take for what it does.
#[derive(Clone, Copy, Debug)]
pub struct DiscordTimeouts {
    /// A call of the REST API. Below what the agent gives a post.
    pub call: Duration,
    /// Opening the gateway; then its hello; then, once we have introduced ourselves, the session.
    pub open: Duration,
    /// What a command orders; after that, whoever gave it sees that it is being done. Discord waits for three
    /// seconds in all.
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
    /// What holds in a channel. Its id says more than its name.
    pub fn for_channel(&self, id: &str, name: Option<&str>) -> ThreadPolicy {
        let by_name = || self.channels.get(&format!("#{}", name?));
        self.channels.get(id).or_else(by_name).copied().unwrap_or(self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_may_differ() {
        let channels = HashMap::from([
            ("#tea".to_owned(), ThreadPolicy::Never),
            ("12".to_owned(), ThreadPolicy::Auto),
        ]);
        let rules = ThreadSettings { default: ThreadPolicy::Auto, channels, archive_minutes: None };
        for (id, name, expected) in [
            ("12", Some("tea"), ThreadPolicy::Auto),
            ("13", Some("tea"), ThreadPolicy::Never),
            ("13", None, ThreadPolicy::Auto),
        ] {
            assert_eq!(rules.for_channel(id, name), expected, "{id} {name:?}");
        }
    }
}
