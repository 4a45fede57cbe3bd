//! Channels, members and names: read at the start and every now and then, all pages, and single ones as
//! soon as somebody unknown speaks. A list that broke off changes nothing.

use jiff::SignedDuration;
use tracing::{debug, warn};

use crate::chat::{Channel, ChannelId, UserId};
use crate::platform::slack::api::ApiError;
use crate::platform::slack::from_slack::{self, text};
use crate::platform::slack::roster::{Questions, Standing};
use crate::platform::slack::{Slack, next_cursor};
use crate::store::StoreError;

/// As many members or channels in a page as Slack recommends.
const PAGE: &str = "200";
const ALL_KINDS: &str = "public_channel,private_channel,mpim,im";
/// After a list could not be read.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// Why something is not known.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Slack(#[from] ApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Slack {
    /// Reads all lists now and then, and answers questions in between. Never ends.
    pub(super) async fn stay_in_sync(&self) {
        loop {
            let next = match self.sync().await {
                Ok(()) => self.settings.sync_every,
                Err(error) => {
                    warn!("Slack's lists could not be read and are tried again: {error}");
                    PAUSE
                }
            };
            let next = self.now() + next;
            let answering = async {
                loop {
                    let questions = self.roster.questions().await;
                    self.answer(questions).await;
                }
            };
            tokio::select! {
                () = answering => {}
                () = self.clock.sleep_until(next) => {}
            }
        }
    }

    async fn sync(&self) -> Result<(), SyncError> {
        // Names first, so that direct messages and lines have them.
        self.sync_people().await?;
        self.sync_groups().await?;
        self.sync_rooms().await
    }

    async fn sync_people(&self) -> Result<(), SyncError> {
        let mut cursor = None;
        loop {
            let mut arguments = vec![("limit", PAGE.to_owned())];
            arguments.extend(cursor.take().map(|cursor: String| ("cursor", cursor)));
            let page = self.read("users.list", &arguments).await?;
            let members = page["members"].as_array().into_iter().flatten();
            for person in members.filter_map(from_slack::person) {
                self.hear_person(&person).await?;
            }
            cursor = next_cursor(&page);
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// User groups are named in lines; an app may do without the scope for them.
    async fn sync_groups(&self) -> Result<(), SyncError> {
        let groups = match self.read("usergroups.list", &[]).await {
            Ok(groups) => groups,
            Err(ApiError::Refused(code)) => {
                debug!("the names of user groups are not known: {code}");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        for group in groups["usergroups"].as_array().into_iter().flatten() {
            if let (Some(id), Some(handle)) = (text(&group["id"]), text(&group["handle"])) {
                self.roster.learn_group(id, &crate::chat::one_line(handle));
            }
        }
        Ok(())
    }

    async fn sync_rooms(&self) -> Result<(), SyncError> {
        let arguments = [
            ("types", ALL_KINDS.to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("limit", PAGE.to_owned()),
        ];
        let before = self.roster.joined();
        let rooms = self.pages("users.conversations", &arguments, "channels").await?;
        let rooms: Vec<Channel> = rooms.iter().filter_map(|room| self.channel(room)).collect();
        for room in &rooms {
            self.hear_room(room.clone(), Standing::Member).await?;
        }
        // Only what a whole list does not name has gone, and only if it was there when we asked.
        let is_gone = |id: &&ChannelId| !rooms.iter().any(|room| room.id == **id);
        for gone in before.iter().filter(is_gone) {
            self.roster.ask_about_room(gone);
        }
        Ok(())
    }

    async fn answer(&self, questions: Questions) {
        for user in questions.people {
            if let Err(error) = self.ask_about_person(&user).await {
                debug!("somebody's name is not known: {error}");
            }
        }
        for channel in questions.rooms {
            if let Err(error) = self.ask_about_room(&channel).await {
                warn!("a channel could not be asked about: {error}");
            }
        }
    }

    async fn ask_about_person(&self, user: &UserId) -> Result<(), SyncError> {
        let answer = self.read("users.info", &[("user", user.to_string())]).await?;
        if let Some(person) = from_slack::person(&answer["user"]) {
            self.hear_person(&person).await?;
        }
        Ok(())
    }

    async fn ask_about_room(&self, channel: &ChannelId) -> Result<(), SyncError> {
        let answer =
            match self.read("conversations.info", &[("channel", channel.to_string())]).await {
                Ok(answer) => answer,
                Err(ApiError::Refused(code)) => {
                    debug!("a channel is not ours any more: {code}");
                    self.roster.leave(channel);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
        let room = &answer["channel"];
        let is_member =
            room["is_member"] == true || room["is_im"] == true || room["is_mpim"] == true;
        let is_open = room["is_archived"] != true;
        if let Some(channel) = self.channel(room) {
            let standing = if is_member && is_open { Standing::Member } else { Standing::Out };
            self.hear_room(channel, standing).await?;
        }
        Ok(())
    }

    /// A direct message has the name of whom it is with.
    fn channel(&self, room: &serde_json::Value) -> Option<Channel> {
        let (id, name, visibility) = from_slack::channel(room)?;
        let with = text(&room["user"]).and_then(|user| self.roster.name(&UserId::new(user)));
        let name = if room["is_im"] == true { with.unwrap_or(name) } else { name };
        Some(Channel { workspace: self.who.workspace.clone(), id, name, visibility })
    }
}
