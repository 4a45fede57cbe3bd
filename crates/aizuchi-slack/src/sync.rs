//! Channels, members and names: read at the start and every now and then, all pages, and single ones as
//! soon as somebody unknown speaks. A list that broke off changes nothing.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use jiff::SignedDuration;
use serde_json::Value;
use tracing::{debug, warn};

use crate::api::ApiError;
use crate::from_slack::{self, Person, text};
use crate::roster::{Questions, Standing};
use crate::take::TakeError;
use crate::{Slack, next_cursor};
use aizuchi_core::chat::{Channel, ChannelId, Role, UserId};

/// As many members or channels in a page as Slack recommends.
const PAGE: &str = "200";
/// Asked one by one: of a list that an app may not read in part, it gets nothing.
const KINDS: [&str; 4] = ["public_channel", "private_channel", "mpim", DIRECT];
const DIRECT: &str = "im";
/// After a list could not be read.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

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
            while self.now() < next {
                let questions = tokio::select! {
                    questions = self.roster.questions() => questions,
                    () = self.clock.sleep_until(next) => break,
                };
                self.answer(questions).await;
            }
        }
    }

    async fn sync(&self) -> Result<(), TakeError> {
        let rooms = self.sync_rooms().await;
        self.is_in_sync.store(true, Ordering::Relaxed);
        rooms?;
        self.sync_groups().await;
        match self.sync_people().await {
            Err(TakeError::Slack(ApiError::Refused(code))) => {
                warn!("people's names are not known: Slack says {code}");
                Ok(())
            }
            Err(error) => Err(error),
            // Direct messages are called like people.
            Ok(()) => self.sync_rooms_of(DIRECT).await.map(|_| ()),
        }
    }

    async fn sync_people(&self) -> Result<(), TakeError> {
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
    async fn sync_groups(&self) {
        let groups = match self.read("usergroups.list", &[]).await {
            Ok(groups) => groups,
            Err(error) => {
                debug!("the names of user groups are not known: {error}");
                return;
            }
        };
        for group in groups["usergroups"].as_array().into_iter().flatten() {
            if let (Some(id), Some(handle)) = (text(&group["id"]), text(&group["handle"])) {
                self.roster.learn_group(id, &aizuchi_core::chat::one_line(handle));
            }
        }
    }

    async fn sync_rooms(&self) -> Result<(), TakeError> {
        let before = self.roster.not_left();
        let mut listed = BTreeSet::new();
        for kind in KINDS {
            match self.sync_rooms_of(kind).await {
                Ok(rooms) => listed.extend(rooms),
                Err(TakeError::Slack(ApiError::Refused(code))) => {
                    debug!("the list of {kind} may not be read: {code}");
                }
                Err(error) => return Err(error),
            }
        }
        // A list that does not name a room does not say why: the room itself is asked about.
        let gone = before.iter().filter(|room| !listed.contains(*room));
        gone.for_each(|room| self.roster.ask_about_room(room));
        Ok(())
    }

    async fn sync_rooms_of(&self, kind: &str) -> Result<Vec<ChannelId>, TakeError> {
        let arguments = [
            ("types", kind.to_owned()),
            ("exclude_archived", "true".to_owned()),
            ("limit", PAGE.to_owned()),
        ];
        let rooms = self.pages("users.conversations", &arguments, "channels").await?;
        let mut listed = Vec::new();
        for room in rooms.iter().filter_map(|room| self.channel(room)) {
            listed.push(room.id.clone());
            self.hear_room(room, Standing::Member).await?;
        }
        Ok(listed)
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

    async fn ask_about_person(&self, user: &UserId) -> Result<(), TakeError> {
        let person = match self.read("users.info", &[("user", user.to_string())]).await {
            Ok(answer) => from_slack::person(&answer["user"]),
            // Somebody of another workspace, for example; nobody asks again.
            Err(ApiError::Refused(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let (id, name, role) = (user.clone(), user.as_str().into(), Role::Member);
        let unknown = || Person { id, name, is_bot: false, role };
        self.hear_person(&person.unwrap_or_else(unknown)).await?;
        Ok(())
    }

    async fn ask_about_room(&self, channel: &ChannelId) -> Result<(), TakeError> {
        match self.read("conversations.info", &[("channel", channel.to_string())]).await {
            Ok(answer) => self.describe(&answer["channel"]).await,
            Err(ApiError::Refused(code)) if code == "channel_not_found" => {
                self.leave(channel);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A room as Slack describes it.
    pub(super) async fn describe(&self, room: &Value) -> Result<(), TakeError> {
        let is = |key: &str| room[key] == true;
        let is_member = is("is_member") || is("is_im") || is("is_mpim");
        let standing =
            if is_member && !is("is_archived") { Standing::Member } else { Standing::Out };
        if let Some(channel) = self.channel(room) {
            self.hear_room(channel, standing).await?;
        }
        Ok(())
    }

    /// A direct message has the name of whom it is with.
    pub(super) fn channel(&self, room: &Value) -> Option<Channel> {
        let (id, name, visibility) = from_slack::channel(room)?;
        let with = text(&room["user"]).and_then(|user| self.roster.name(&UserId::new(user)));
        let name = if room["is_im"] == true { with.unwrap_or(name) } else { name };
        Some(Channel { workspace: self.who.workspace.clone(), id, name, visibility })
    }
}
