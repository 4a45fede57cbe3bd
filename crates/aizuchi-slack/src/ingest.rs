//! What Slack tells becomes what is heard. What [`Slack::takes`] says yes to is safe, and Slack may be told
//! so.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::warn;

use crate::api::SlackApiError;
use crate::cache::{CachedChannel, Membership};
use crate::from_slack::{self, SlackEvent, SlackMessage, SlackUser, non_empty_str, parse_event};
use crate::mrkdwn::NameLookup;
use crate::mrkdwn::message::read_message;
use crate::{SlackPlatform, emoji};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Mention, Message, Reaction, Role, User, UserId, Visibility,
};
use aizuchi_core::store::{HearReceipt, StoreError};

/// Why something could not be taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum IngestError {
    #[error(transparent)]
    Slack(#[from] SlackApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A room that could not be asked about is asked about again after so long.
const CHANNEL_LOOKUP_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// A mention that an edit adds is owed an answer only so long after the line was said (DESIGN §3).
const EDITED_MENTION_WINDOW: SignedDuration = SignedDuration::from_mins(10);

impl SlackPlatform {
    /// Hears what a payload of Slack's events tells, and says whether Slack may be told so. What it may not
    /// be told comes again.
    pub async fn ingest(&self, payload: &Value) -> bool {
        match self.ingest_event(payload).await {
            Ok(()) => true,
            Err(IngestError::Store(StoreError::Refused(why))) => {
                // The next time it would be refused as well.
                warn!("something from Slack could not be kept: {why}");
                true
            }
            Err(error) => {
                warn!("something from Slack is not acknowledged, so that it comes again: {error}");
                // Should Slack give up on it, the history has it.
                if let Some(room) = from_slack::parse_channel_id(&payload["event"]) {
                    self.backfill.enqueue_later(&room);
                }
                false
            }
        }
    }

    async fn ingest_event(&self, payload: &Value) -> Result<(), IngestError> {
        if !self.is_for_this_workspace(payload) {
            return Ok(());
        }
        match parse_event(payload) {
            SlackEvent::Message(line) => self.hear_message(&line, Arrival::Live).await.map(|_| ()),
            SlackEvent::MessageChanged { message: line, at } => {
                self.hear_changed_message(&line, at).await
            }
            SlackEvent::MessageDeleted { message: line, at } => self.hear_deletion(&line, at).await,
            SlackEvent::Reaction(reaction) => Ok(self.hear_reaction(reaction).await?),
            SlackEvent::MemberJoined { channel, user } if user == self.identity.user => {
                self.ensure_channel(&channel, None).await?;
                if let Some(room) = self.cache.channel(&channel) {
                    // It may have been there before.
                    self.hear_channel(room.channel, Membership::Member).await?;
                }
                self.cache.request_channel(&channel);
                Ok(())
            }
            SlackEvent::MemberLeft { channel, user } if user == self.identity.user => {
                self.leave_channel(&channel);
                Ok(())
            }
            SlackEvent::ChannelLeft(channel) => {
                self.leave_channel(&channel);
                Ok(())
            }
            SlackEvent::MemberJoined { user, .. } | SlackEvent::MemberLeft { user, .. } => {
                self.request_unknown_user(&user);
                Ok(())
            }
            SlackEvent::ChannelRestricted(channel) => Ok(self.restrict_channel(&channel).await?),
            SlackEvent::ChannelChanged(channel) => {
                self.cache.request_channel(&channel);
                Ok(())
            }
            SlackEvent::UserChanged(person) => Ok(self.hear_user(&person).await?),
            SlackEvent::AppUninstalled => {
                self.cache.revocation.revoke("the app was uninstalled");
                Ok(())
            }
            SlackEvent::TokensRevoked(bots) => {
                // People's tokens are revoked in the same way.
                if bots.contains(&self.identity.user) {
                    self.cache.revocation.revoke("the bot's token was revoked");
                }
                Ok(())
            }
            SlackEvent::RateLimited => {
                warn!(
                    "Slack leaves events out for a while: there are too many; history fills the hole"
                );
                // It lasts for a minute.
                self.cache.joined().iter().for_each(|room| self.backfill.enqueue_later(room));
                Ok(())
            }
            SlackEvent::Ignored => Ok(()),
        }
    }

    /// A line, as it was said.
    pub(super) async fn hear_message(
        &self,
        line: &SlackMessage,
        arrival: Arrival,
    ) -> Result<Option<HearReceipt>, IngestError> {
        // The flow keeps its own words itself, as it wrote them; it may be just about to.
        if self.is_own(line) && line.key.is_some() && arrival == Arrival::Live {
            return Ok(None);
        }
        self.ensure_channel(&line.channel, line.visibility).await?;
        self.ensure_author(line).await?;
        let message = self.to_message(line);
        let heard = Heard::Message(message, arrival);
        Ok(Some(self.inbox.hear_with_client_id(heard, line.client_message_id.clone()).await?))
    }

    /// A line has another text. If it has not been heard before, it is heard now.
    async fn hear_changed_message(
        &self,
        line: &SlackMessage,
        at: Timestamp,
    ) -> Result<(), IngestError> {
        let is_young = at.duration_since(line.at) < EDITED_MENTION_WINDOW;
        let arrival = if is_young { Arrival::Live } else { Arrival::Backfilled };
        let receipt = self.hear_message(line, arrival).await?;
        if receipt.is_none_or(|receipt| receipt.is_new) {
            return Ok(());
        }
        Ok(self.hear_edit(line, at).await?)
    }

    pub(super) async fn hear_edit(
        &self,
        line: &SlackMessage,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let Message { conversation, id: message, text, mentions, .. } = self.to_message(line);
        let edit = Edit { conversation, message, at, text, mentions };
        self.inbox.hear(Heard::Edit(edit)).await.map(|_| ())
    }

    /// A line is gone. One that has not been heard yet leaves its place, so that it is not heard when
    /// Slack delivers it late.
    pub(super) async fn hear_deletion(
        &self,
        line: &SlackMessage,
        at: Timestamp,
    ) -> Result<(), IngestError> {
        let workspace = &self.identity.workspace;
        let known = self.archive.message(workspace, &line.channel, &line.id).await?;
        let conversation = match known {
            Some(known) => known.message.conversation.clone(),
            None => {
                self.ensure_channel(&line.channel, line.visibility).await?;
                let message = self.to_message(line);
                let message = Message { text: "".into(), mentions: Vec::new(), ..message };
                let conversation = message.conversation.clone();
                self.inbox.hear(Heard::Message(message, Arrival::BackfilledAnswered)).await?;
                conversation
            }
        };
        let deletion = Deletion { conversation, message: line.id.clone(), at };
        self.inbox.hear(Heard::Deletion(deletion)).await?;
        Ok(())
    }

    pub(super) async fn hear_reaction(
        &self,
        reaction: from_slack::SlackReaction,
    ) -> Result<(), StoreError> {
        self.request_unknown_user(&reaction.user);
        let heard = Reaction {
            workspace: self.identity.workspace.clone(),
            channel: reaction.channel,
            message: reaction.message,
            kind: self.author_kind(&reaction.user),
            user: reaction.user,
            emoji: emoji::to_character(&reaction.emoji_name).into(),
            at: reaction.at,
            change: reaction.change,
        };
        self.inbox.hear(Heard::Reaction(heard)).await.map(|_| ())
    }

    pub(super) async fn hear_user(&self, person: &SlackUser) -> Result<(), StoreError> {
        if person.id == self.identity.user {
            return Ok(());
        }
        let kind = if person.is_bot { AuthorKind::Bot } else { AuthorKind::Human };
        if self.cache.is_current(person, kind) {
            return Ok(());
        }
        let (workspace, role) = (self.identity.workspace.clone(), person.role);
        let (id, name) = (person.id.clone(), person.name.clone());
        let user = User { workspace, id, name, kind, role };
        self.inbox.hear(Heard::User(user)).await?;
        // Not before it is kept: who is known is not kept again.
        self.cache.put_user(person, kind);
        Ok(())
    }

    /// A channel as Slack describes it.
    pub(super) async fn hear_channel(
        &self,
        channel: Channel,
        standing: Membership,
    ) -> Result<(), StoreError> {
        let before = self.cache.channel(&channel.id);
        if before.as_ref().is_none_or(|before| before.channel != channel) {
            self.inbox.hear(Heard::Channel(channel.clone())).await?;
        }
        let id = channel.id.clone();
        let was = before.map(|before| before.membership);
        if standing == Membership::Member && matches!(was, Some(Membership::NotMember) | None) {
            // Not once it is known: a greeting that could not be kept is tried again.
            self.join_channel(id.clone()).await?;
        }
        // Not before it is kept: what is known is not kept again.
        self.cache.put_channel(CachedChannel { channel, membership: standing });
        match (was, standing) {
            (Some(Membership::Member), Membership::Member) => {}
            // It was in it when it stopped.
            (Some(Membership::Unknown), Membership::Member) => self.backfill.enqueue(&id),
            (Some(Membership::NotMember) | None, Membership::Member) => {
                self.backfill.join_channel(&id, self.now())
            }
            (_, Membership::NotMember | Membership::Unknown) => self.backfill.leave_channel(&id),
        }
        Ok(())
    }

    /// Whoever writes to it alone knows that it reads that.
    async fn join_channel(&self, channel: ChannelId) -> Result<(), StoreError> {
        let workspace = self.identity.workspace.clone();
        if self.inbox.channel_cache.is_direct(&workspace, &channel) {
            return Ok(());
        }
        let room = ConversationId { workspace, channel, thread: None };
        self.inbox.announce_join(room, self.identity.user.clone()).await
    }

    /// A room that was public may be read by its members alone from now on.
    async fn restrict_channel(&self, channel: &ChannelId) -> Result<(), StoreError> {
        if let Some(room) = self.cache.channel(channel) {
            let hidden = Channel { visibility: Visibility::Private, ..room.channel };
            self.hear_channel(hidden, room.membership).await?;
        }
        self.cache.request_channel(channel);
        Ok(())
    }

    /// Makes sure that a room is known before anything is heard in it: its name and who may read it decide
    /// what becomes of a line. What Slack does not tell of counts as private.
    async fn ensure_channel(
        &self,
        channel: &ChannelId,
        visibility: Option<Visibility>,
    ) -> Result<(), IngestError> {
        if let Some(room) = self.cache.channel(channel) {
            let is_public = room.channel.visibility == Visibility::Public;
            if is_public && visibility == Some(Visibility::Private) {
                // It was hidden while we could not hear.
                self.restrict_channel(channel).await?;
            } else if room.membership == Membership::Unknown {
                // Whoever hears a line is there.
                self.hear_channel(room.channel, Membership::Member).await?;
            }
            return Ok(());
        }
        // Many lines of a new room may come at once; one of them asks.
        let mut asked = self.failed_channel_lookups.lock().await;
        if self.cache.channel(channel).is_some() {
            return Ok(());
        }
        if asked
            .get(channel)
            .is_some_and(|asked| self.now().duration_since(*asked) < CHANNEL_LOOKUP_INTERVAL)
        {
            return Err(SlackApiError::Unreachable("it was asked just now".to_owned()).into());
        }
        let arguments = [("channel", channel.to_string())];
        match self.call("conversations.info", &arguments).await {
            Ok(answer) if self.to_channel(&answer["channel"]).is_some() => {
                self.hear_channel_info(&answer["channel"]).await
            }
            Ok(_) | Err(SlackApiError::Refused(_)) => {
                let unknown = Channel {
                    workspace: self.identity.workspace.clone(),
                    id: channel.clone(),
                    name: channel.as_str().into(),
                    visibility: match visibility {
                        Some(Visibility::Direct) => Visibility::Direct,
                        Some(Visibility::Public | Visibility::Private) | None => {
                            Visibility::Private
                        }
                    },
                };
                Ok(self.hear_channel(unknown, Membership::Member).await?)
            }
            // It comes again.
            Err(error) => {
                asked.insert(channel.clone(), self.now());
                Err(error.into())
            }
        }
    }

    /// An app may be told of another workspace's talk; that is not for us.
    fn is_for_this_workspace(&self, payload: &Value) -> bool {
        let installations = payload["authorizations"].as_array().into_iter().flatten();
        let mut teams =
            installations.filter_map(|installed| non_empty_str(&installed["team_id"])).peekable();
        teams.peek().is_none() || teams.any(|team| team == self.identity.workspace.as_str())
    }

    pub(super) fn leave_channel(&self, channel: &ChannelId) {
        self.cache.leave_channel(channel);
        self.backfill.leave_channel(channel);
    }

    async fn ensure_author(&self, line: &SlackMessage) -> Result<(), StoreError> {
        if !line.is_bot || self.is_own(line) {
            self.request_unknown_user(&line.author);
            return Ok(());
        }
        if self.cache.author_kind(&line.author).is_some() {
            return Ok(());
        }
        let names = [&line.raw["username"], &line.raw["bot_profile"]["name"]];
        let name = names.into_iter().find_map(non_empty_str).unwrap_or(line.author.as_str());
        let name = aizuchi_core::chat::to_single_line(name).into();
        let (id, role) = (line.author.clone(), Role::Member);
        self.hear_user(&SlackUser { id, name, is_bot: true, role }).await
    }

    /// Asks for somebody's name, unless it is known.
    fn request_unknown_user(&self, user: &UserId) {
        if *user != self.identity.user && self.cache.author_kind(user).is_none() {
            self.cache.request_user(user);
        }
    }

    fn author_kind(&self, user: &UserId) -> AuthorKind {
        if *user == self.identity.user {
            return AuthorKind::Persona;
        }
        self.cache.author_kind(user).unwrap_or(AuthorKind::Human)
    }

    pub(super) fn is_own(&self, line: &SlackMessage) -> bool {
        line.author == self.identity.user
    }

    /// The line in plain words, with who is named in it.
    pub(super) fn to_message(&self, line: &SlackMessage) -> Message {
        let (text, mentions) = self.read_text(line);
        let kind = match self.author_kind(&line.author) {
            AuthorKind::Human if line.is_bot => AuthorKind::Bot,
            kind => kind,
        };
        Message {
            conversation: ConversationId {
                workspace: self.identity.workspace.clone(),
                channel: line.channel.clone(),
                thread: line.thread.clone(),
            },
            id: line.id.clone(),
            at: line.at,
            author: Author { id: line.author.clone(), kind },
            text,
            mentions,
            edits: 0,
        }
    }

    fn read_text(&self, line: &SlackMessage) -> (Arc<str>, Vec<Mention>) {
        let channel = |id: &ChannelId| {
            // The name of a room that others may not see stays there.
            let room = self.cache.channel(id)?;
            let is_shown = room.channel.visibility == Visibility::Public || *id == line.channel;
            is_shown.then_some(room.channel.name)
        };
        let names = NameLookup {
            persona: &self.identity.user,
            persona_name: &self.persona.name,
            user: &|id| self.cache.user_name(id),
            channel: &channel,
            group: &|id| self.cache.group_name(id),
        };
        let read = read_message(&line.raw, &names, self.persona.language);
        (read.text.into(), read.mentions)
    }
}
