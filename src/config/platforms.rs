//! The workspaces it lives in.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::secret::Secret;
use crate::config::values::{SocketUrl, WebUrl};

/// A Slack workspace, over Socket Mode.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SlackConfig {
    /// The bot's token; it begins with `xoxb-`.
    pub bot_token: Option<Secret>,
    /// The app's token for Socket Mode; it begins with `xapp-`.
    pub app_token: Option<Secret>,
    /// Where Slack's API is, for tests and proxies.
    pub api_base: Option<WebUrl>,
}

/// A Discord bot.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiscordConfig {
    /// The bot's token.
    pub token: Option<Secret>,
    /// Where Discord's API is, for tests and proxies.
    pub api_base: Option<WebUrl>,
    /// Where Discord's gateway is, for tests and proxies.
    pub gateway_url: Option<SocketUrl>,
}
