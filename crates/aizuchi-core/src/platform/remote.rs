//! A platform outside this process, as the program sees it: checked, connected, run, and called back by web hooks.
//! The program names no platform beyond its connector.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::chat::WorkspaceId;
use crate::platform::{Platform, PlatformDeps};
use crate::store::Cursors;

/// A platform that the settings name.
#[async_trait]
pub trait Connector: Send + Sync {
    /// The platform's name in `check` and on the terminal: `slack`.
    fn platform(&self) -> &'static str;

    /// What the platform needs, a sentence each; an error stands in the way. `cursors` is the database, if there is
    /// one already. Changes nothing.
    async fn check(&self, cursors: Option<&dyn Cursors>) -> Vec<Result<String, String>>;

    fn credentials(&self) -> Credentials;

    /// Authenticates, and loads what the store knows of the platform's channels and users.
    async fn connect(&self, deps: PlatformDeps) -> anyhow::Result<Arc<dyn RemotePlatform>>;
}

/// A connected platform.
#[async_trait]
pub trait RemotePlatform: Platform {
    /// The workspace that it serves, or the prefix of all of them.
    fn workspace(&self) -> WorkspaceId;

    /// What users call a workspace. `None`: it is not one of this platform's, or it has no name.
    fn workspace_name(&self, workspace: &WorkspaceId) -> Option<String>;

    fn account(&self) -> Account;

    /// Stays connected until `shutdown`. Ends before that only if the platform has revoked the access, or refuses the
    /// credentials for longer than [`RENEWAL_TIME`](crate::platform::access::RENEWAL_TIME).
    async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()>;

    /// Uses these credentials from now on, once the platform has confirmed that they are the same bot's.
    async fn renew_credentials(&self, newer: &Credentials) -> Result<Renewal, RenewalError>;

    /// Takes what the platform calls back with, and returns the response's body after it is stored.
    async fn receive_webhook(&self, _call: Webhook<'_>) -> Result<Option<Value>, WebhookError> {
        Err(WebhookError::NotUsed)
    }
}

/// The secrets that let the bot in, by their keys in the platform's section of the settings: `bot_token`.
pub type Credentials = BTreeMap<&'static str, SecretString>;

/// What newer credentials changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// They are those in use.
    Unchanged,
    Renewed,
}

/// Why newer credentials are not used. The old ones stay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenewalError {
    #[error("the new {key} is refused: {why}")]
    Refused { key: &'static str, why: String },
    #[error("the new {key} belongs to another bot, which needs a restart")]
    OtherAccount { key: &'static str },
    #[error("the new {key} could not be tried, so send SIGHUP again later: {why}")]
    NotTried { key: &'static str, why: String },
}

/// Who the bot is on a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// As users call the platform: `Slack`.
    pub platform: &'static str,
    /// The workspace's name, or the bot's where it is in many.
    pub name: String,
    /// The number of servers that it is on, on platforms with more than one.
    pub servers: Option<usize>,
}

/// A call to a web hook. The adapter authenticates it, which needs the raw body, before it parses anything.
#[derive(Clone, Copy)]
pub struct Webhook<'a> {
    /// The first value of a header, if it is text.
    pub header: &'a (dyn Fn(&str) -> Option<&'a str> + Sync),
    pub body: &'a [u8],
    /// Parses a body of the type `application/x-www-form-urlencoded`.
    pub parse_form: fn(&[u8]) -> Option<Map<String, Value>>,
    pub now: Timestamp,
}

/// Why a web hook was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookError {
    /// The platform does not call back in this installation.
    NotUsed,
    /// The signature is missing, wrong or too old.
    NotAuthentic(String),
    Malformed(&'static str),
    /// It could not be stored; the platform is to call again.
    Unavailable(&'static str),
}
