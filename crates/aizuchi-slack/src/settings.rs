//! The settings of a Slack connection.

use std::time::Duration;

use aizuchi_model::reloadable::Reloadable;
use jiff::SignedDuration;
use secrecy::SecretString;

#[derive(Clone, Debug)]
pub struct SlackSettings {
    pub bot_token: Reloadable<SecretString>,
    /// How events arrive.
    pub events: EventTransport,
    pub api_base: String,
    pub reply_in: ReplyPlacement,
    /// A post that is not visible this long after its dispatch will not become visible.
    pub in_flight_timeout: SignedDuration,
    /// How far back the history of a new channel is read.
    pub history_span: SignedDuration,
    /// The interval at which channels, members and names are fetched again.
    pub sync_interval: SignedDuration,
    pub timeouts: SlackTimeouts,
}

#[derive(Clone, Copy, Debug)]
pub struct SlackTimeouts {
    /// The timeout of a Web API call. Must be below the agent's timeout for a post.
    pub call: Duration,
    /// How long a slash command may take before it is answered with a note. Slack itself gives up after three seconds.
    pub command_answer: Duration,
    /// The timeout for opening a socket, and then for receiving Slack's hello.
    pub open: Duration,
    pub ping_interval: Duration,
    /// A connection that receives nothing for this long is considered dead.
    pub idle: Duration,
    /// The interval between two pages of history, for an app whose history is rate-limited.
    pub limited_page_interval: SignedDuration,
    /// How long a new message may take to appear in the history.
    pub history_lag: SignedDuration,
}

impl Default for SlackTimeouts {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(12),
            command_answer: Duration::from_millis(1_500),
            open: Duration::from_secs(10),
            ping_interval: Duration::from_secs(10),
            idle: Duration::from_secs(35),
            limited_page_interval: SignedDuration::from_secs(60),
            history_lag: SignedDuration::from_secs(10),
        }
    }
}

/// How Slack's events arrive.
#[derive(Clone, Debug)]
pub enum EventTransport {
    /// Over this many WebSockets that we open.
    SocketMode { app_token: Reloadable<SecretString>, connections: usize },
    /// Slack calls our webhook and signs each request with this secret.
    Webhooks { signing_secret: Reloadable<SecretString> },
}

/// Where a reply to a message at a channel's top level goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyPlacement {
    /// To the top level.
    #[default]
    TopLevel,
    /// Into a thread below the message.
    Thread,
}
