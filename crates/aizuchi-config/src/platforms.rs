//! The `slack` and `discord` sections.

use std::collections::BTreeMap;

use aizuchi_model::clock::duration_from_seconds;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::secret::Secret;
use crate::values::{BoundedInteger, Seconds, WebSocketUrl, WebUrl};

/// A Slack workspace. Its events come over Socket Mode with `app_token`, or over HTTP with
/// `signing_secret`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SlackConfig {
    /// The bot's token; it begins with `xoxb-`.
    pub bot_token: Option<BotToken>,
    /// The app's token for Socket Mode; it begins with `xapp-`.
    pub app_token: Option<AppToken>,
    /// The app's signing secret, instead of `app_token`: Slack sends its events to `/slack/events`.
    pub signing_secret: Option<SigningSecret>,
    /// Where a message at a channel's top level is answered, also one that does not mention Aizuchi.
    pub reply_in: ReplyInSetting,
    /// How many connections are open at once in Socket Mode.
    pub connections: BoundedInteger<1, 5>,
    /// How long Aizuchi waits for Slack to confirm a post before it looks for the post. It posts again only if the post
    /// is not there. The value must be more than 15, because a post may take that long.
    pub settle_seconds: Seconds,
    /// How many days of a channel's history are read when the channel is first seen. 0 reads nothing.
    pub history_days: BoundedInteger<0, 3650>,
    /// The address of Slack's API, for tests and proxies.
    pub api_base: Option<WebUrl>,
}

text_settings! {
    /// A token that speaks for the bot.
    #[schemars(extend("format" = "password"))]
    BotToken(Secret) = |text| text.trim().starts_with("xoxb-").then(|| Secret::new(&text)),
        "it must begin with xoxb-: the bot's token, from the page OAuth & Permissions of the app";
    /// A token that opens connections of the app.
    #[schemars(extend("format" = "password"))]
    AppToken(Secret) = |text| text.trim().starts_with("xapp-").then(|| Secret::new(&text)),
        "it must begin with xapp-: the app-level token, from the page Basic Information of the app";
    /// What Slack signs its requests with.
    #[schemars(extend("format" = "password"))]
    SigningSecret(Secret) = |text| {
        let is_token = ["xox", "xapp-"].iter().any(|start| text.trim().starts_with(start));
        (!is_token).then(|| Secret::new(&text))
    }, "it must be the app's signing secret, from the page Basic Information of the app, not a token";
}

/// Where a message at a channel's top level is answered, also one that does not mention Aizuchi.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ReplyInSetting {
    /// Where it was written.
    #[default]
    Same,
    /// In a thread below it.
    Thread,
}

/// The validated settings of a Slack workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedSlackConfig {
    pub bot_token: Secret,
    pub transport: SlackTransport,
    pub reply_in: ReplyInSetting,
    /// How long a post that Slack did not confirm may take to appear.
    pub settle: SignedDuration,
    /// How much of a channel's history is read when the channel is first seen.
    pub history: SignedDuration,
    /// The base URL of the API with a trailing slash, if it is not the default.
    pub api_base: Option<String>,
}

/// How the events of a workspace arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum SlackTransport {
    /// Socket Mode: this process opens the connections.
    SocketMode { app_token: Secret, connections: usize },
    /// Web hooks: Slack sends requests to `/slack/events`.
    Http { signing_secret: Secret },
}

/// A Discord bot.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiscordConfig {
    /// The bot's token.
    pub token: Option<Secret>,
    /// Whether a mention at a channel's top level opens a thread.
    pub threads: ThreadsSetting,
    /// After how many minutes of silence Discord archives such a thread. If omitted: the channel's setting.
    pub auto_archive_minutes: Option<ArchiveMinutes>,
    /// How long Aizuchi waits for Discord to confirm a post before it looks for the post. It posts again only if the
    /// post is not there. The value must be more than 15, because a post may take that long.
    pub settle_seconds: Seconds,
    /// How many days of a channel's history are read when the channel is first seen. 0 reads nothing.
    pub history_days: BoundedInteger<0, 3650>,
    /// How many connections share the servers. If omitted: as many as Discord recommends.
    pub shards: Option<BoundedInteger<1, 1024>>,
    /// The address of Discord's API, for tests and proxies.
    pub api_base: Option<WebUrl>,
    /// The address of Discord's gateway, for tests and proxies.
    pub gateway_url: Option<WebSocketUrl>,
}

/// Whether a mention at a channel's top level opens a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ThreadsSetting {
    /// It opens a thread, in which messages need no mention.
    Auto,
    /// It is answered where it was written.
    #[default]
    Never,
}

/// How long Discord keeps a silent thread in its list: an hour, a day, three days or a week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "u64")]
#[schemars(with = "u64", inline, extend("enum" = [60, 1440, 4320, 10080]))]
pub struct ArchiveMinutes(pub u16);

impl TryFrom<u64> for ArchiveMinutes {
    type Error = &'static str;

    fn try_from(value: u64) -> Result<Self, &'static str> {
        let known = [60, 1440, 4320, 10_080].into_iter().find(|known| u64::from(*known) == value);
        known.map(Self).ok_or("it must be 60, 1440, 4320 or 10080, the values that Discord allows")
    }
}

/// The validated settings of a Discord bot.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedDiscordConfig {
    pub token: Secret,
    pub threads: ThreadsSetting,
    /// Overrides for channels, by `#name` or id.
    pub channels: BTreeMap<String, ThreadsSetting>,
    pub archive_minutes: Option<u16>,
    /// How long a post that Discord did not confirm may take to appear.
    pub settle: SignedDuration,
    /// How much of a channel's history is read when the channel is first seen.
    pub history: SignedDuration,
    pub shards: Option<u32>,
    /// The base URL of the API, if it is not the default.
    pub api_base: Option<String>,
    pub gateway_url: Option<String>,
}

impl DiscordConfig {
    /// Takes over the secrets of a newer section.
    pub fn with_secrets_of(&self, newer: &Self) -> Self {
        Self { token: newer.token.clone(), ..self.clone() }
    }

    /// Validates the section. The error says what is missing.
    pub fn resolve(&self) -> Result<ResolvedDiscordConfig, &'static str> {
        let token = self.token.as_ref().ok_or(
            "discord needs token, the bot's token; remove the whole section if you do not use Discord",
        )?;
        Ok(ResolvedDiscordConfig {
            token: token.clone(),
            threads: self.threads,
            channels: BTreeMap::new(),
            archive_minutes: self.auto_archive_minutes.map(|minutes| minutes.0),
            settle: duration_from_seconds(self.settle_seconds.0),
            history: days(self.history_days),
            shards: self.shards.and_then(|shards| u32::try_from(shards.0).ok()),
            api_base: self.api_base.as_ref().map(|base| base.0.clone()),
            gateway_url: self.gateway_url.as_ref().map(|url| url.0.clone()),
        })
    }
}

impl Default for DiscordConfig {
    fn default() -> Self {
        Self {
            token: None,
            threads: ThreadsSetting::Never,
            auto_archive_minutes: None,
            settle_seconds: Seconds(30.0),
            history_days: BoundedInteger(7),
            shards: None,
            api_base: None,
            gateway_url: None,
        }
    }
}

fn days(count: BoundedInteger<0, 3650>) -> SignedDuration {
    SignedDuration::from_hours(24) * i32::try_from(count.0).unwrap_or(i32::MAX)
}

impl SlackConfig {
    /// Takes over the secrets of a newer section. The transport of events does not change.
    pub fn with_secrets_of(&self, newer: &Self) -> Self {
        // Another transport needs a restart, so none of its secrets is taken over.
        if self.app_token.is_some() != newer.app_token.is_some() {
            return self.clone();
        }
        Self {
            bot_token: newer.bot_token.clone(),
            app_token: newer.app_token.clone(),
            signing_secret: newer.signing_secret.clone(),
            ..self.clone()
        }
    }

    /// Validates the section. The error says what is missing or conflicts.
    pub fn resolve(&self) -> Result<ResolvedSlackConfig, &'static str> {
        let bot_token = self.bot_token.as_ref().ok_or(
            "slack needs bot_token, the token that begins with xoxb-; remove the whole section if you do not use Slack",
        )?;
        Ok(ResolvedSlackConfig {
            bot_token: bot_token.0.clone(),
            transport: self.resolve_transport()?,
            reply_in: self.reply_in,
            settle: duration_from_seconds(self.settle_seconds.0),
            history: days(self.history_days),
            api_base: self.api_base.as_ref().map(WebUrl::as_base),
        })
    }

    fn resolve_transport(&self) -> Result<SlackTransport, &'static str> {
        match (&self.app_token, &self.signing_secret) {
            (Some(app_token), None) => Ok(SlackTransport::SocketMode {
                app_token: app_token.0.clone(),
                connections: usize::try_from(self.connections.0).unwrap_or(usize::MAX),
            }),
            (None, Some(secret)) => Ok(SlackTransport::Http { signing_secret: secret.0.clone() }),
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

impl Default for SlackConfig {
    fn default() -> Self {
        Self {
            bot_token: None,
            app_token: None,
            signing_secret: None,
            reply_in: ReplyInSetting::Same,
            connections: BoundedInteger(2),
            settle_seconds: Seconds(60.0),
            history_days: BoundedInteger(7),
            api_base: None,
        }
    }
}
