//! Replaces the tokens and the signing secret while the bot runs.

use std::collections::BTreeMap;

use aizuchi_model::reloadable::Reloadable;
use aizuchi_platform::remote::{Credentials, Renewal, RenewalError};
use secrecy::{ExposeSecret as _, SecretString};

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::identity::{SlackConnectError, fetch_identity};
use crate::settings::{EventTransport, SlackSettings};

const BOT_TOKEN: &str = "bot_token";
const APP_TOKEN: &str = "app_token";
const SIGNING_SECRET: &str = "signing_secret";

impl SlackSettings {
    pub(crate) fn credentials(&self) -> Credentials {
        let copy = |secret: &Reloadable<SecretString>| SecretString::clone(&secret.read());
        let events = match &self.events {
            EventTransport::SocketMode { app_token, .. } => (APP_TOKEN, copy(app_token)),
            EventTransport::Webhooks { signing_secret } => (SIGNING_SECRET, copy(signing_secret)),
        };
        BTreeMap::from([(BOT_TOKEN, copy(&self.bot_token)), events])
    }
}

impl SlackPlatform {
    /// Tests each token before replacing it. A signing secret cannot be tested in advance: the next event shows whether
    /// it is correct.
    pub(crate) async fn renew_credentials(
        &self,
        newer: &Credentials,
    ) -> Result<Renewal, RenewalError> {
        let (events_key, events_secret) = match &self.settings.events {
            EventTransport::SocketMode { app_token, .. } => (APP_TOKEN, app_token),
            EventTransport::Webhooks { signing_secret } => (SIGNING_SECRET, signing_secret),
        };
        // The transport cannot change at runtime, so both credentials should be present.
        let (Some(new_bot_token), Some(new_events_secret)) =
            (newer.get(BOT_TOKEN), newer.get(events_key))
        else {
            return Ok(Renewal::Unchanged);
        };
        let bot = self.renew_bot_token(new_bot_token).await;
        let events = match events_key {
            APP_TOKEN => self.renew_app_token(events_secret, new_events_secret).await,
            _ => Ok(replace_if_new(events_secret, new_events_secret)),
        };
        // Each credential takes effect independently of the other.
        let (is_new_bot, is_new_events) = (bot?, events?);
        Ok(match is_new_bot || is_new_events {
            true => Renewal::Renewed,
            false => Renewal::Unchanged,
        })
    }

    /// Replaces the bot's token. Returns whether it is new, or was refused until now.
    async fn renew_bot_token(&self, new: &SecretString) -> Result<bool, RenewalError> {
        let was_refused = self.bot_access.outage().is_some();
        if !is_new(&self.settings.bot_token, new) && !was_refused {
            return Ok(false);
        }
        self.try_bot_token(new).await?;
        self.settings.bot_token.replace(new.clone());
        self.confirm_bot_access();
        // Without the stored identity, the next start could not identify the bot while Slack is down.
        if let Err(error) = self.cursors.put_cursor(self.identity.to_cursor(&self.settings)).await {
            tracing::warn!(platform = "slack", %error, "the bot's identity could not be stored");
        }
        Ok(true)
    }

    async fn renew_app_token(
        &self,
        current: &Reloadable<SecretString>,
        new: &SecretString,
    ) -> Result<bool, RenewalError> {
        if !is_new(current, new) && self.app_access.outage().is_none() {
            return Ok(false);
        }
        self.try_app_token(new).await?;
        current.replace(new.clone());
        self.app_access.confirm();
        Ok(true)
    }

    async fn try_bot_token(&self, token: &SecretString) -> Result<(), RenewalError> {
        let key = "slack.bot_token";
        let settings = SlackSettings { bot_token: token.clone().into(), ..self.settings.clone() };
        let identity = fetch_identity(&settings).await.map_err(|error| match error {
            SlackConnectError::BotTokenRefused(why) => RenewalError::Refused { key, why },
            error => RenewalError::NotTried { key, why: error.to_string() },
        })?;
        let (new, own) = (&identity, &self.identity);
        // All that is stored belongs to this bot in this workspace; another account would continue its conversations.
        let is_same = (&new.workspace, &new.user) == (&own.workspace, &own.user);
        is_same.then_some(()).ok_or(RenewalError::OtherAccount { key })
    }

    /// Tests the token by requesting a socket URL, which is not used.
    async fn try_app_token(&self, token: &SecretString) -> Result<(), RenewalError> {
        let key = "slack.app_token";
        match self.api.call(token, "apps.connections.open", &[]).await {
            Ok(_) => Ok(()),
            Err(SlackApiError::Refused(why)) => Err(RenewalError::Refused { key, why }),
            Err(error) => Err(RenewalError::NotTried { key, why: error.to_string() }),
        }
    }
}

fn is_new(current: &Reloadable<SecretString>, new: &SecretString) -> bool {
    current.read().expose_secret() != new.expose_secret()
}

fn replace_if_new(current: &Reloadable<SecretString>, new: &SecretString) -> bool {
    let is_new = is_new(current, new);
    if is_new {
        current.replace(new.clone());
    }
    is_new
}
