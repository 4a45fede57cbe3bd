//! The `slack` and `discord` sections.

use aizuchi_discord::settings::ThreadPolicy;
use aizuchi_slack::settings::ReplyPlacement;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::secret::Secret;
use crate::values::{BoundedInteger, Seconds, WebSocketUrl, WebUrl};

section! {
    /// A Slack workspace. Its events come over Socket Mode with `app_token`, or over HTTP with
    /// `signing_secret`.
    pub struct SlackConfig {
        /// The bot's token; it begins with `xoxb-`.
        pub bot_token: Option<BotToken>,
        /// The app's token for Socket Mode; it begins with `xapp-`.
        pub app_token: Option<AppToken>,
        /// The app's signing secret, instead of `app_token`: Slack sends its events to `/slack/events`.
        pub signing_secret: Option<SigningSecret>,
        /// Where a message at a channel's top level is answered, also one that does not mention Aizuchi.
        pub reply_in: ReplyInSetting = ReplyInSetting::Same,
        /// How many connections are open at once in Socket Mode.
        pub connections: BoundedInteger<1, 5> = BoundedInteger(2),
        /// How long Aizuchi waits for Slack to confirm a post before it looks for the post. It posts again only if the post
        /// is not there. The value must be more than 15, because a post may take that long.
        pub settle_seconds: Seconds = Seconds(60.0),
        /// How many days of a channel's history are read when the channel is first seen. 0 reads nothing.
        pub history_days: BoundedInteger<0, 3650> = BoundedInteger(7),
        /// The address of Slack's API, for tests and proxies.
        pub api_base: Option<WebUrl>,
    }
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

choices! {
    /// Where a message at a channel's top level is answered, also one that does not mention Aizuchi.
    ReplyInSetting for ReplyPlacement {
        /// Where it was written.
        Same = TopLevel,
        /// In a thread below it.
        Thread = Thread,
    }
}

section! {
    /// A Discord bot.
    pub struct DiscordConfig {
        /// The bot's token.
        pub token: Option<Secret>,
        /// Whether a mention at a channel's top level opens a thread.
        pub threads: ThreadsSetting = ThreadsSetting::Never,
        /// After how many minutes of silence Discord archives such a thread. If omitted: the channel's setting.
        pub auto_archive_minutes: Option<ArchiveMinutes>,
        /// How long Aizuchi waits for Discord to confirm a post before it looks for the post. It posts again only if the
        /// post is not there. The value must be more than 15, because a post may take that long.
        pub settle_seconds: Seconds = Seconds(30.0),
        /// How many days of a channel's history are read when the channel is first seen. 0 reads nothing.
        pub history_days: BoundedInteger<0, 3650> = BoundedInteger(7),
        /// How many connections share the servers. If omitted: as many as Discord recommends.
        pub shards: Option<BoundedInteger<1, 1024>>,
        /// The address of Discord's API, for tests and proxies.
        pub api_base: Option<WebUrl>,
        /// The address of Discord's gateway, for tests and proxies.
        pub gateway_url: Option<WebSocketUrl>,
    }
}

choices! {
    /// Whether a mention at a channel's top level opens a thread.
    ThreadsSetting for ThreadPolicy {
        /// It opens a thread, in which messages need no mention.
        Auto = Auto,
        /// It is answered where it was written.
        Never = Never,
    }
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

impl DiscordConfig {
    /// Takes over the secrets of a newer section.
    pub fn with_secrets_of(&self, newer: &Self) -> Self {
        Self { token: newer.token.clone(), ..self.clone() }
    }
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
}
