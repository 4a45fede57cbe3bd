//! What the config says of a Slack workspace, as its adapter takes it.

use jiff::SignedDuration;
use secrecy::SecretString;

use crate::config::platforms::{ReplyIn, Slack, SlackEvents};
use crate::config::secret::Secret;
use aizuchi_slack::{Events, Patience, Settings};

/// Where Slack's API is.
const API_BASE: &str = "https://slack.com/api/";

impl Slack {
    pub fn settings(&self, sync_every: SignedDuration) -> Settings {
        let secret = |secret: &Secret| SecretString::from(secret.expose());
        Settings {
            bot_token: secret(&self.bot_token),
            events: match &self.events {
                SlackEvents::Socket { app_token, connections } => {
                    Events::Socket { app_token: secret(app_token), connections: *connections }
                }
                SlackEvents::Http { signing_secret } => {
                    Events::Hooks { signing_secret: secret(signing_secret) }
                }
            },
            api_base: self.api_base.clone().unwrap_or_else(|| API_BASE.to_owned()),
            reply_in: match self.reply_in {
                ReplyIn::Same => aizuchi_slack::ReplyIn::Same,
                ReplyIn::Thread => aizuchi_slack::ReplyIn::Thread,
            },
            settle: self.settle,
            history: self.history,
            sync_every,
            patience: Patience::default(),
        }
    }
}
