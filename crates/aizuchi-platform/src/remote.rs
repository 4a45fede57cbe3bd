//! A platform outside this process, as the program sees it: checked, connected, run, and called back by webhooks. The
//! program refers to a platform only through its connector.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::platform::Platform;
use aizuchi_model::reloadable::Reloadable;
use aizuchi_store::Cursors;
use async_trait::async_trait;
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::PlatformDeps;

/// A platform that is configured in the settings.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Returns the platform's name in `check` and on the terminal: `slack`.
    fn platform(&self) -> &'static str;

    /// Checks the platform's requirements. `cursors` is the database, if it already exists. Changes nothing.
    async fn check(&self, cursors: Option<&dyn Cursors>) -> PlatformCheck;

    fn credentials(&self) -> Credentials;

    /// Authenticates, and loads what the store knows about the platform's channels and users.
    async fn connect(&self, deps: PlatformDeps) -> anyhow::Result<Arc<dyn RemotePlatform>>;
}

/// What a check of a platform has found.
pub struct PlatformCheck {
    /// A sentence for each requirement; an error prevents a connection.
    pub findings: Vec<Result<String, String>>,
    /// The bot's channels, if they could be read.
    pub channels: Option<ReachedChannels>,
}

/// The channels that a bot takes part in.
pub struct ReachedChannels {
    pub ids_and_names: Vec<(String, String)>,
    /// Whether the key of a channel in the settings may be one of this platform.
    pub may_name: fn(&str) -> bool,
    /// Why a channel is not among them, and what to do about it.
    pub otherwise: String,
}

impl ReachedChannels {
    /// Whether one of them has this id, or this name behind a `#`.
    pub fn contains(&self, key: &str) -> bool {
        let is_it =
            |(id, name): &(String, String)| key == id || key.strip_prefix('#') == Some(name);
        self.ids_and_names.iter().any(is_it)
    }
}

/// The configured platforms, by their names in the config, connected or not. Clones share them.
pub type Remotes = Reloadable<BTreeMap<&'static str, Arc<dyn RemotePlatform>>>;

/// A connected platform.
#[async_trait]
pub trait RemotePlatform: Platform {
    /// Returns the workspace that it serves, or the common prefix of all of them.
    fn workspace(&self) -> WorkspaceId;

    /// Returns the users' name for a workspace. `None` if it is not one of this platform's, or has no name.
    fn workspace_name(&self, workspace: &WorkspaceId) -> Option<String>;

    fn account(&self) -> Account;

    /// Stays connected until `shutdown`. Returns earlier only if the platform has revoked the access, or refuses the
    /// credentials for longer than [`RENEWAL_TIME`](crate::access::RENEWAL_TIME).
    async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()>;

    /// Switches to these credentials, once the platform has confirmed that they belong to the same bot.
    async fn renew_credentials(&self, newer: &Credentials) -> Result<Renewal, RenewalError>;

    /// Receives a webhook call, and returns the body of the response after the call is stored.
    async fn receive_webhook(&self, _call: Webhook<'_>) -> Result<Option<Value>, WebhookError> {
        Err(WebhookError::NotUsed)
    }
}

/// The bot's secrets, by their keys in the platform's section of the settings: `bot_token`.
pub type Credentials = BTreeMap<&'static str, SecretString>;

/// The effect of newer credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// They are the same as those in use.
    Unchanged,
    Renewed,
}

/// Why newer credentials are not used. The old ones are kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenewalError {
    #[error("the new {key} is refused: {why}")]
    Refused { key: &'static str, why: String },
    #[error("the new {key} belongs to another bot, which needs a restart")]
    OtherAccount { key: &'static str },
    #[error("the new {key} could not be tried, so reload again later: {why}")]
    NotTried { key: &'static str, why: String },
}

/// The bot's account on a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The platform's name for users: `Slack`.
    pub platform: &'static str,
    /// The workspace's name, or the bot's if it is in many workspaces.
    pub name: String,
    /// The number of servers that it is on, on platforms with more than one.
    pub servers: Option<usize>,
}

/// A webhook call. The adapter authenticates it, which needs the raw body, before it parses anything.
#[derive(Clone, Copy)]
pub struct Webhook<'a> {
    /// Returns the first value of a header, if it is text.
    pub header: &'a (dyn Fn(&str) -> Option<&'a str> + Sync),
    pub body: &'a [u8],
    /// Parses a body of the type `application/x-www-form-urlencoded`.
    pub parse_form: fn(&[u8]) -> Option<Map<String, Value>>,
    pub now: Timestamp,
}

/// Why a webhook call was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookError {
    /// The platform does not use webhooks in this installation.
    NotUsed,
    /// The signature is missing, wrong or too old.
    NotAuthentic(String),
    Malformed(&'static str),
    /// It could not be stored; the platform should retry.
    Unavailable(&'static str),
}
