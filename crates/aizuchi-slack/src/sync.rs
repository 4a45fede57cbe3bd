//! Fetches the lists of channels, users and groups at startup and periodically, and single users and channels when the
//! cache misses one. A list that could not be fetched completely changes nothing.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use aizuchi_model::chat::{Channel, ChannelId, Role, UserId};
use jiff::SignedDuration;
use serde_json::Value;
use tracing::{debug, warn};

use crate::SlackPlatform;
use crate::api::{SlackApiError, cursor_after, page_items};
use crate::cache::{Membership, PendingLookups};
use crate::from_slack::{self, SlackUser, non_empty_str};
use crate::ingest::IngestError;
use crate::mrkdwn::read::parse_topic;

/// The page size that Slack recommends.
const PAGE_SIZE: &str = "200";
/// Requested one at a time: if the scope for one type is missing, Slack refuses the whole request.
const CONVERSATION_TYPES: [&str; 4] =
    ["public_channel", "private_channel", "mpim", DIRECT_MESSAGE_TYPE];
const DIRECT_MESSAGE_TYPE: &str = "im";
/// The delay after a list could not be fetched.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

impl SlackPlatform {
    /// Fetches all lists periodically, and single entries on request in between. Never returns.
    pub(super) async fn run_sync(&self) {
        loop {
            let next = match self.sync_all().await {
                Ok(()) => self.settings.sync_interval,
                Err(error) => {
                    warn!(
                        platform = "slack",
                        workspace = %self.identity.workspace,
                        error = %error,
                        "the lists of channels and users could not be fetched; retrying"
                    );
                    RETRY_DELAY
                }
            };
            let next = self.now() + next;
            while self.now() < next {
                let lookups = tokio::select! {
                    lookups = self.cache.next_lookups() => lookups,
                    () = self.clock.sleep_until(next) => break,
                };
                self.resolve_lookups(lookups).await;
            }
        }
    }

    async fn sync_all(&self) -> Result<(), IngestError> {
        let channels = self.sync_channels().await;
        // Set after a failure as well: due steps must not wait for lists that may never come.
        self.has_synced.store(true, Ordering::Relaxed);
        channels?;
        self.sync_groups().await;
        match self.sync_users().await {
            Err(IngestError::Slack(SlackApiError::Refused(code))) => {
                warn!(
                    platform = "slack",
                    workspace = %self.identity.workspace,
                    error = code,
                    "Slack refuses the list of users; their names are unknown"
                );
                Ok(())
            }
            Err(error) => Err(error),
            // Again: a direct message is named after its user, whose name is known only now.
            Ok(()) => self.sync_channels_of_type(DIRECT_MESSAGE_TYPE).await.map(|_| ()),
        }
    }

    async fn sync_users(&self) -> Result<(), IngestError> {
        let mut cursor: Option<String> = None;
        loop {
            let mut arguments = vec![("limit", PAGE_SIZE.to_owned())];
            arguments.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
            let page = self.read_with_retries("users.list", &arguments).await?;
            let members = self.checked("users.list", page_items(&page, "members"))?;
            for user in members.iter().filter_map(from_slack::parse_user) {
                self.hear_user(&user).await?;
            }
            cursor = self.checked("users.list", cursor_after(&page, cursor.as_ref()))?;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// Fetches the handles of user groups for their mentions. The scope for this is optional.
    async fn sync_groups(&self) {
        let groups = match self.read_with_retries("usergroups.list", &[]).await {
            Ok(groups) => groups,
            Err(error) => {
                debug!(platform = "slack", %error, "the list of user groups could not be fetched");
                return;
            }
        };
        for group in groups["usergroups"].as_array().into_iter().flatten() {
            if let (Some(id), Some(handle)) =
                (non_empty_str(&group["id"]), non_empty_str(&group["handle"]))
            {
                self.cache.put_group(id, &aizuchi_model::chat::to_single_line(handle));
            }
        }
    }

    async fn sync_channels(&self) -> Result<(), IngestError> {
        let before = self.cache.possibly_joined();
        let mut listed = BTreeSet::new();
        for kind in CONVERSATION_TYPES {
            match self.sync_channels_of_type(kind).await {
                Ok(channels) => listed.extend(channels),
                Err(IngestError::Slack(SlackApiError::Refused(code))) => {
                    debug!(
                        platform = "slack",
                        kind,
                        error = code,
                        "Slack refuses a list of channels"
                    );
                }
                Err(error) => return Err(error),
            }
        }
        // A channel may be missing from the lists for several reasons, so each one is looked up.
        let missing = before.iter().filter(|channel| !listed.contains(*channel));
        missing.for_each(|channel| self.cache.request_channel(channel));
        Ok(())
    }

    async fn sync_channels_of_type(&self, kind: &str) -> Result<Vec<ChannelId>, IngestError> {
        let arguments = [
            ("types", kind.to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("limit", PAGE_SIZE.to_owned()),
        ];
        let channels = self.read_all_pages("users.conversations", &arguments, "channels").await?;
        let mut listed = Vec::new();
        for channel in channels.iter().filter_map(|channel| self.to_channel(channel)) {
            listed.push(channel.id.clone());
            self.hear_channel(channel, Membership::Member).await?;
        }
        Ok(listed)
    }

    async fn resolve_lookups(&self, lookups: PendingLookups) {
        if lookups.token {
            // Every call records whether Slack accepts the token.
            let _ = self.call("auth.test", &[]).await;
        }
        for user in lookups.users {
            if let Err(error) = self.fetch_user(&user).await {
                debug!(platform = "slack", %user, %error, "a user could not be fetched");
            }
        }
        for channel in lookups.channels {
            if let Err(error) = self.fetch_channel(&channel).await {
                warn!(
                    platform = "slack",
                    workspace = %self.identity.workspace,
                    channel = %channel,
                    error = %error,
                    "a channel could not be fetched"
                );
            }
        }
    }

    pub(super) async fn fetch_user(&self, user: &UserId) -> Result<(), IngestError> {
        let fetched =
            match self.read_with_retries("users.info", &[("user", user.to_string())]).await {
                Ok(answer) => from_slack::parse_user(&answer["user"]),
                // For example a user of another workspace. Hearing a user without a name prevents another lookup.
                Err(SlackApiError::Refused(_)) => None,
                Err(error) => return Err(error.into()),
            };
        let (id, name, role) = (user.clone(), user.as_str().into(), Role::Member);
        let unknown = || SlackUser { id, name, is_bot: false, role, zone: None };
        self.hear_user(&fetched.unwrap_or_else(unknown)).await?;
        Ok(())
    }

    pub(super) async fn fetch_channel(&self, channel: &ChannelId) -> Result<(), IngestError> {
        match self
            .read_with_retries("conversations.info", &[("channel", channel.to_string())])
            .await
        {
            Ok(answer) => self.hear_channel_info(&answer["channel"]).await,
            // Slack also says this of a private channel that the bot was removed from.
            Err(SlackApiError::Refused(code)) if code == "channel_not_found" => {
                self.leave_channel(channel);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Hears a channel as Slack describes it.
    pub(super) async fn hear_channel_info(&self, channel: &Value) -> Result<(), IngestError> {
        let is = |key: &str| channel[key] == true;
        let is_member = is("is_member") || is("is_im") || is("is_mpim");
        let membership = if is_member && !is("is_archived") {
            Membership::Member
        } else {
            Membership::NotMember
        };
        if let Some(channel) = self.to_channel(channel) {
            self.hear_channel(channel, membership).await?;
        }
        Ok(())
    }

    /// Converts a channel. A direct message is named after its user.
    pub(super) fn to_channel(&self, channel: &Value) -> Option<Channel> {
        let (id, name, visibility) = from_slack::parse_channel(channel)?;
        let user_name = non_empty_str(&channel["user"])
            .and_then(|user| self.cache.user_name(&UserId::new(user)));
        let name = if channel["is_im"] == true { user_name.unwrap_or(name) } else { name };
        let topic = from_slack::topic_text(channel)
            .map(|text| self.with_names(&id, |names| parse_topic(text, names)));
        Some(Channel { workspace: self.identity.workspace.clone(), id, name, visibility, topic })
    }
}
