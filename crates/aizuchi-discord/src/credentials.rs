//! Replaces the token while the bot runs.

use aizuchi_platform::remote::{Credentials, Renewal, RenewalError};
use secrecy::{ExposeSecret as _, SecretString};
use tracing::warn;

use crate::DiscordPlatform;
use crate::api::authorization;
use crate::identity::{DiscordConnectError, fetch_identity};
use crate::settings::DiscordSettings;

const TOKEN: &str = "token";

impl DiscordSettings {
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::from([(TOKEN, SecretString::clone(&self.token.read()))])
    }
}

impl DiscordPlatform {
    /// Replaces the token, if Discord confirms that it belongs to the same bot.
    pub(crate) async fn renew_credentials(
        &self,
        newer: &Credentials,
    ) -> Result<Renewal, RenewalError> {
        let key = "discord.token";
        let Some(token) = newer.get(TOKEN) else { return Ok(Renewal::Unchanged) };
        let is_same = self.settings.token.read().expose_secret() == token.expose_secret();
        if is_same && self.access.outage().is_none() {
            return Ok(Renewal::Unchanged);
        }
        if authorization(token).is_none() {
            return Err(RenewalError::Refused { key, why: "it is no token".to_owned() });
        }
        let settings = DiscordSettings { token: token.clone().into(), ..self.settings.clone() };
        let identity = fetch_identity(&settings).await.map_err(|error| match error {
            DiscordConnectError::TokenRefused => {
                RenewalError::Refused { key, why: "Discord does not know it".to_owned() }
            }
            error => RenewalError::NotTried { key, why: error.to_string() },
        })?;
        if identity.user != self.identity.user {
            return Err(RenewalError::OtherAccount { key });
        }
        self.settings.token.replace(token.clone());
        self.access.confirm();
        // Without the stored identity, the next start could not identify the bot while Discord is down.
        if let Err(error) = self.cursors.put_cursor(identity.to_cursor(&self.settings)).await {
            warn!(platform = "discord", %error, "the bot's identity could not be stored");
        }
        Ok(Renewal::Renewed)
    }
}
