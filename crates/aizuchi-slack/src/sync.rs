//! Channels, members and names: read at the start and every now and then, all pages, and single ones as
//! soon as somebody unknown speaks. A list that broke off changes nothing.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use jiff::SignedDuration;
use serde_json::Value;
use tracing::{debug, warn};

use crate::SlackPlatform;
use crate::api::{SlackApiError, next_cursor};
use crate::cache::{Membership, PendingLookups};
use crate::from_slack::{self, SlackUser, non_empty_str};
use crate::ingest::IngestError;
use aizuchi_core::chat::{Channel, ChannelId, Role, UserId};

/// As many members or channels in a page as Slack recommends.
const PAGE_SIZE: &str = "200";
/// Asked one by one: of a list that an app may not read in part, it gets nothing.
const CONVERSATION_TYPES: [&str; 4] =
    ["public_channel", "private_channel", "mpim", DIRECT_MESSAGE_TYPE];
const DIRECT_MESSAGE_TYPE: &str = "im";
/// After a list could not be read.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

impl SlackPlatform {
    /// Reads all lists now and then, and answers questions in between. Never ends.
    pub(super) async fn run_sync(&self) {
        loop {
            let next = match self.sync_all().await {
                Ok(()) => self.settings.sync_interval,
                Err(error) => {
                    warn!("Slack's lists could not be read and are tried again: {error}");
                    RETRY_DELAY
                }
            };
            let next = self.now() + next;
            while self.now() < next {
                let questions = tokio::select! {
                    questions = self.cache.next_lookups() => questions,
                    () = self.clock.sleep_until(next) => break,
                };
                self.resolve_lookups(questions).await;
            }
        }
    }

    async fn sync_all(&self) -> Result<(), IngestError> {
        let rooms = self.sync_channels().await;
        self.has_synced.store(true, Ordering::Relaxed);
        rooms?;
        self.sync_groups().await;
        match self.sync_users().await {
            Err(IngestError::Slack(SlackApiError::Refused(code))) => {
                warn!("people's names are not known: Slack says {code}");
                Ok(())
            }
            Err(error) => Err(error),
            // Direct messages are called like people.
            Ok(()) => self.sync_channels_of_type(DIRECT_MESSAGE_TYPE).await.map(|_| ()),
        }
    }

    async fn sync_users(&self) -> Result<(), IngestError> {
        let mut cursor = None;
        loop {
            let mut arguments = vec![("limit", PAGE_SIZE.to_owned())];
            arguments.extend(cursor.take().map(|cursor: String| ("cursor", cursor)));
            let page = self.read_with_retries("users.list", &arguments).await?;
            let members = page["members"].as_array().into_iter().flatten();
            for person in members.filter_map(from_slack::parse_user) {
                self.hear_user(&person).await?;
            }
            cursor = next_cursor(&page);
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// User groups are named in lines; an app may do without the scope for them.
    async fn sync_groups(&self) {
        let groups = match self.read_with_retries("usergroups.list", &[]).await {
            Ok(groups) => groups,
            Err(error) => {
                debug!("the names of user groups are not known: {error}");
                return;
            }
        };
        for group in groups["usergroups"].as_array().into_iter().flatten() {
            if let (Some(id), Some(handle)) =
                (non_empty_str(&group["id"]), non_empty_str(&group["handle"]))
            {
                self.cache.put_group(id, &aizuchi_core::chat::to_single_line(handle));
            }
        }
    }

    async fn sync_channels(&self) -> Result<(), IngestError> {
        let before = self.cache.possibly_joined();
        let mut listed = BTreeSet::new();
        for kind in CONVERSATION_TYPES {
            match self.sync_channels_of_type(kind).await {
                Ok(rooms) => listed.extend(rooms),
                Err(IngestError::Slack(SlackApiError::Refused(code))) => {
                    debug!("the list of {kind} may not be read: {code}");
                }
                Err(error) => return Err(error),
            }
        }
        // A list that does not name a room does not say why: the room itself is asked about.
        let gone = before.iter().filter(|room| !listed.contains(*room));
        gone.for_each(|room| self.cache.request_channel(room));
        Ok(())
    }

    async fn sync_channels_of_type(&self, kind: &str) -> Result<Vec<ChannelId>, IngestError> {
        let arguments = [
            ("types", kind.to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("limit", PAGE_SIZE.to_owned()),
        ];
        let rooms = self.read_all_pages("users.conversations", &arguments, "channels").await?;
        let mut listed = Vec::new();
        for room in rooms.iter().filter_map(|room| self.to_channel(room)) {
            listed.push(room.id.clone());
            self.hear_channel(room, Membership::Member).await?;
        }
        Ok(listed)
    }

    async fn resolve_lookups(&self, questions: PendingLookups) {
        for user in questions.users {
            if let Err(error) = self.fetch_user(&user).await {
                debug!("somebody's name is not known: {error}");
            }
        }
        for channel in questions.channels {
            if let Err(error) = self.fetch_channel(&channel).await {
                warn!("a channel could not be asked about: {error}");
            }
        }
    }

    async fn fetch_user(&self, user: &UserId) -> Result<(), IngestError> {
        let person = match self.read_with_retries("users.info", &[("user", user.to_string())]).await
        {
            Ok(answer) => from_slack::parse_user(&answer["user"]),
            // Somebody of another workspace, for example; nobody asks again.
            Err(SlackApiError::Refused(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let (id, name, role) = (user.clone(), user.as_str().into(), Role::Member);
        let unknown = || SlackUser { id, name, is_bot: false, role };
        self.hear_user(&person.unwrap_or_else(unknown)).await?;
        Ok(())
    }

    async fn fetch_channel(&self, channel: &ChannelId) -> Result<(), IngestError> {
        match self
            .read_with_retries("conversations.info", &[("channel", channel.to_string())])
            .await
        {
            Ok(answer) => self.hear_channel_info(&answer["channel"]).await,
            Err(SlackApiError::Refused(code)) if code == "channel_not_found" => {
                self.leave_channel(channel);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A room as Slack describes it.
    pub(super) async fn hear_channel_info(&self, room: &Value) -> Result<(), IngestError> {
        let is = |key: &str| room[key] == true;
        let is_member = is("is_member") || is("is_im") || is("is_mpim");
        let standing = if is_member && !is("is_archived") {
            Membership::Member
        } else {
            Membership::NotMember
        };
        if let Some(channel) = self.to_channel(room) {
            self.hear_channel(channel, standing).await?;
        }
        Ok(())
    }

    /// A direct message has the name of whom it is with.
    pub(super) fn to_channel(&self, room: &Value) -> Option<Channel> {
        let (id, name, visibility) = from_slack::parse_channel(room)?;
        let with =
            non_empty_str(&room["user"]).and_then(|user| self.cache.user_name(&UserId::new(user)));
        let name = if room["is_im"] == true { with.unwrap_or(name) } else { name };
        Some(Channel { workspace: self.identity.workspace.clone(), id, name, visibility })
    }
}
