//! What Slack tells becomes what is heard. What [`Slack::takes`] says yes to is safe, and Slack may be told
//! so.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::warn;

use crate::api::ApiError;
use crate::from_slack::{self, Line, Person, Told, text, told};
use crate::mrkdwn::Names;
use crate::mrkdwn::message::read_message;
use crate::roster::{Room, Standing};
use crate::{Slack, emoji};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Mention, Message, Reaction, Role, User, UserId, Visibility,
};
use aizuchi_core::store::{Receipt, StoreError};

/// Why something could not be taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum TakeError {
    #[error(transparent)]
    Slack(#[from] ApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A room that could not be asked about is asked about again after so long.
const PATIENCE: SignedDuration = SignedDuration::from_secs(5);
/// A mention that an edit adds is owed an answer only so long after the line was said (DESIGN §3).
const ADDED_LATER: SignedDuration = SignedDuration::from_mins(10);

impl Slack {
    /// Hears what a payload of Slack's events tells, and says whether Slack may be told so. What it may not
    /// be told comes again.
    pub async fn takes(&self, payload: &Value) -> bool {
        match self.take(payload).await {
            Ok(()) => true,
            Err(TakeError::Store(StoreError::Refused(why))) => {
                // The next time it would be refused as well.
                warn!("something from Slack could not be kept: {why}");
                true
            }
            Err(error) => {
                warn!("something from Slack is not acknowledged, so that it comes again: {error}");
                // Should Slack give up on it, the history has it.
                if let Some(room) = from_slack::room(&payload["event"]) {
                    self.wanted.add_later(&room);
                }
                false
            }
        }
    }

    async fn take(&self, payload: &Value) -> Result<(), TakeError> {
        if !self.is_ours(payload) {
            return Ok(());
        }
        match told(payload) {
            Told::Line(line) => self.hear_line(&line, Arrival::Live).await.map(|_| ()),
            Told::Changed { line, at } => self.hear_change(&line, at).await,
            Told::Deleted { line, at } => self.hear_deletion(&line, at).await,
            Told::Reaction(reaction) => Ok(self.hear_reaction(reaction).await?),
            Told::Joined { channel, user } if user == self.who.user => {
                self.meet_room(&channel, None).await?;
                if let Some(room) = self.roster.room(&channel) {
                    // It may have been there before.
                    self.hear_room(room.channel, Standing::Member).await?;
                }
                self.roster.ask_about_room(&channel);
                Ok(())
            }
            Told::Left { channel, user } if user == self.who.user => {
                self.leave(&channel);
                Ok(())
            }
            Told::Gone(channel) => {
                self.leave(&channel);
                Ok(())
            }
            Told::Joined { user, .. } | Told::Left { user, .. } => {
                self.meet_person(&user);
                Ok(())
            }
            Told::Hidden(channel) => Ok(self.hide(&channel).await?),
            Told::Room(channel) => {
                self.roster.ask_about_room(&channel);
                Ok(())
            }
            Told::User(person) => Ok(self.hear_person(&person).await?),
            Told::Uninstalled => {
                self.roster.dismissed.now("the app was uninstalled");
                Ok(())
            }
            Told::Revoked(bots) => {
                // People's tokens are revoked in the same way.
                if bots.contains(&self.who.user) {
                    self.roster.dismissed.now("the bot's token was revoked");
                }
                Ok(())
            }
            Told::Limited => {
                warn!(
                    "Slack leaves events out for a while: there are too many; history fills the hole"
                );
                // It lasts for a minute.
                self.roster.joined().iter().for_each(|room| self.wanted.add_later(room));
                Ok(())
            }
            Told::Nothing => Ok(()),
        }
    }

    /// A line, as it was said.
    pub(super) async fn hear_line(
        &self,
        line: &Line,
        arrival: Arrival,
    ) -> Result<Option<Receipt>, TakeError> {
        // The flow keeps its own words itself, as it wrote them; it may be just about to.
        if self.is_own(line) && line.key.is_some() && arrival == Arrival::Live {
            return Ok(None);
        }
        self.meet_room(&line.channel, line.visibility).await?;
        self.meet_author(line).await?;
        let message = self.message(line);
        let heard = Heard::Message(message, arrival);
        Ok(Some(self.ears.hear_sent(heard, line.sent_as.clone()).await?))
    }

    /// A line has another text. If it has not been heard before, it is heard now.
    async fn hear_change(&self, line: &Line, at: Timestamp) -> Result<(), TakeError> {
        let is_young = at.duration_since(line.at) < ADDED_LATER;
        let arrival = if is_young { Arrival::Live } else { Arrival::CaughtUp };
        let receipt = self.hear_line(line, arrival).await?;
        if receipt.is_none_or(|receipt| receipt.is_new) {
            return Ok(());
        }
        Ok(self.hear_edit(line, at).await?)
    }

    pub(super) async fn hear_edit(&self, line: &Line, at: Timestamp) -> Result<(), StoreError> {
        let Message { conversation, id: message, text, mentions, .. } = self.message(line);
        let edit = Edit { conversation, message, at, text, mentions };
        self.ears.hear(Heard::Edit(edit)).await.map(|_| ())
    }

    /// A line is gone. One that has not been heard yet leaves its place, so that it is not heard when
    /// Slack delivers it late.
    pub(super) async fn hear_deletion(&self, line: &Line, at: Timestamp) -> Result<(), TakeError> {
        let workspace = &self.who.workspace;
        let known = self.archive.line(workspace, &line.channel, &line.id).await?;
        let conversation = match known {
            Some(known) => known.message.conversation.clone(),
            None => {
                self.meet_room(&line.channel, line.visibility).await?;
                let message = self.message(line);
                let message = Message { text: "".into(), mentions: Vec::new(), ..message };
                let conversation = message.conversation.clone();
                self.ears.hear(Heard::Message(message, Arrival::Answered)).await?;
                conversation
            }
        };
        let deletion = Deletion { conversation, message: line.id.clone(), at };
        self.ears.hear(Heard::Deletion(deletion)).await?;
        Ok(())
    }

    pub(super) async fn hear_reaction(
        &self,
        reaction: from_slack::Reaction,
    ) -> Result<(), StoreError> {
        self.meet_person(&reaction.user);
        let heard = Reaction {
            workspace: self.who.workspace.clone(),
            channel: reaction.channel,
            message: reaction.message,
            kind: self.kind(&reaction.user),
            user: reaction.user,
            emoji: emoji::character(&reaction.name).into(),
            at: reaction.at,
            change: reaction.change,
        };
        self.ears.hear(Heard::Reaction(heard)).await.map(|_| ())
    }

    pub(super) async fn hear_person(&self, person: &Person) -> Result<(), StoreError> {
        if person.id == self.who.user {
            return Ok(());
        }
        let kind = if person.is_bot { AuthorKind::Bot } else { AuthorKind::Human };
        if self.roster.knows(person, kind) {
            return Ok(());
        }
        let (workspace, role) = (self.who.workspace.clone(), person.role);
        let (id, name) = (person.id.clone(), person.name.clone());
        let user = User { workspace, id, name, kind, role };
        self.ears.hear(Heard::User(user)).await?;
        // Not before it is kept: who is known is not kept again.
        self.roster.learn_person(person, kind);
        Ok(())
    }

    /// A channel as Slack describes it.
    pub(super) async fn hear_room(
        &self,
        channel: Channel,
        standing: Standing,
    ) -> Result<(), StoreError> {
        let before = self.roster.room(&channel.id);
        if before.as_ref().is_none_or(|before| before.channel != channel) {
            self.ears.hear(Heard::Channel(channel.clone())).await?;
        }
        let id = channel.id.clone();
        let was = before.map(|before| before.standing);
        if standing == Standing::Member && matches!(was, Some(Standing::Out) | None) {
            // Not once it is known: a greeting that could not be kept is tried again.
            self.introduce(id.clone()).await?;
        }
        // Not before it is kept: what is known is not kept again.
        self.roster.learn_room(Room { channel, standing });
        match (was, standing) {
            (Some(Standing::Member), Standing::Member) => {}
            // It was in it when it stopped.
            (Some(Standing::Unknown), Standing::Member) => self.wanted.add(&id),
            (Some(Standing::Out) | None, Standing::Member) => self.wanted.meet(&id, self.now()),
            (_, Standing::Out | Standing::Unknown) => self.wanted.leave(&id),
        }
        Ok(())
    }

    /// Whoever writes to it alone knows that it reads that.
    async fn introduce(&self, channel: ChannelId) -> Result<(), StoreError> {
        let workspace = self.who.workspace.clone();
        if self.ears.rooms.is_direct(&workspace, &channel) {
            return Ok(());
        }
        let room = ConversationId { workspace, channel, thread: None };
        self.ears.join(room, self.who.user.clone()).await
    }

    /// A room that was public may be read by its members alone from now on.
    async fn hide(&self, channel: &ChannelId) -> Result<(), StoreError> {
        if let Some(room) = self.roster.room(channel) {
            let hidden = Channel { visibility: Visibility::Private, ..room.channel };
            self.hear_room(hidden, room.standing).await?;
        }
        self.roster.ask_about_room(channel);
        Ok(())
    }

    /// Makes sure that a room is known before anything is heard in it: its name and who may read it decide
    /// what becomes of a line. What Slack does not tell of counts as private.
    async fn meet_room(
        &self,
        channel: &ChannelId,
        visibility: Option<Visibility>,
    ) -> Result<(), TakeError> {
        if let Some(room) = self.roster.room(channel) {
            let is_public = room.channel.visibility == Visibility::Public;
            if is_public && visibility == Some(Visibility::Private) {
                // It was hidden while we could not hear.
                self.hide(channel).await?;
            } else if room.standing == Standing::Unknown {
                // Whoever hears a line is there.
                self.hear_room(room.channel, Standing::Member).await?;
            }
            return Ok(());
        }
        // Many lines of a new room may come at once; one of them asks.
        let mut asked = self.meeting.lock().await;
        if self.roster.room(channel).is_some() {
            return Ok(());
        }
        if asked.get(channel).is_some_and(|asked| self.now().duration_since(*asked) < PATIENCE) {
            return Err(ApiError::Unreachable("it was asked just now".to_owned()).into());
        }
        let arguments = [("channel", channel.to_string())];
        match self.call("conversations.info", &arguments).await {
            Ok(answer) if self.channel(&answer["channel"]).is_some() => {
                self.describe(&answer["channel"]).await
            }
            Ok(_) | Err(ApiError::Refused(_)) => {
                let unknown = Channel {
                    workspace: self.who.workspace.clone(),
                    id: channel.clone(),
                    name: channel.as_str().into(),
                    visibility: match visibility {
                        Some(Visibility::Direct) => Visibility::Direct,
                        Some(Visibility::Public | Visibility::Private) | None => {
                            Visibility::Private
                        }
                    },
                };
                Ok(self.hear_room(unknown, Standing::Member).await?)
            }
            // It comes again.
            Err(error) => {
                asked.insert(channel.clone(), self.now());
                Err(error.into())
            }
        }
    }

    /// An app may be told of another workspace's talk; that is not for us.
    fn is_ours(&self, payload: &Value) -> bool {
        let installations = payload["authorizations"].as_array().into_iter().flatten();
        let mut teams =
            installations.filter_map(|installed| text(&installed["team_id"])).peekable();
        teams.peek().is_none() || teams.any(|team| team == self.who.workspace.as_str())
    }

    pub(super) fn leave(&self, channel: &ChannelId) {
        self.roster.leave(channel);
        self.wanted.leave(channel);
    }

    async fn meet_author(&self, line: &Line) -> Result<(), StoreError> {
        if !line.is_bot || self.is_own(line) {
            self.meet_person(&line.author);
            return Ok(());
        }
        if self.roster.kind(&line.author).is_some() {
            return Ok(());
        }
        let names = [&line.whole["username"], &line.whole["bot_profile"]["name"]];
        let name = names.into_iter().find_map(text).unwrap_or(line.author.as_str());
        let name = aizuchi_core::chat::one_line(name).into();
        let (id, role) = (line.author.clone(), Role::Member);
        self.hear_person(&Person { id, name, is_bot: true, role }).await
    }

    /// Asks for somebody's name, unless it is known.
    fn meet_person(&self, user: &UserId) {
        if *user != self.who.user && self.roster.kind(user).is_none() {
            self.roster.ask_about_person(user);
        }
    }

    fn kind(&self, user: &UserId) -> AuthorKind {
        if *user == self.who.user {
            return AuthorKind::Persona;
        }
        self.roster.kind(user).unwrap_or(AuthorKind::Human)
    }

    pub(super) fn is_own(&self, line: &Line) -> bool {
        line.author == self.who.user
    }

    /// The line in plain words, with who is named in it.
    pub(super) fn message(&self, line: &Line) -> Message {
        let (text, mentions) = self.words(line);
        let kind = match self.kind(&line.author) {
            AuthorKind::Human if line.is_bot => AuthorKind::Bot,
            kind => kind,
        };
        Message {
            conversation: ConversationId {
                workspace: self.who.workspace.clone(),
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

    fn words(&self, line: &Line) -> (Arc<str>, Vec<Mention>) {
        let channel = |id: &ChannelId| {
            // The name of a room that others may not see stays there.
            let room = self.roster.room(id)?;
            let is_shown = room.channel.visibility == Visibility::Public || *id == line.channel;
            is_shown.then_some(room.channel.name)
        };
        let names = Names {
            persona: &self.who.user,
            persona_name: &self.persona.name,
            user: &|id| self.roster.name(id),
            channel: &channel,
            group: &|id| self.roster.group(id),
        };
        let read = read_message(&line.whole, &names, self.persona.language);
        (read.text.into(), read.mentions)
    }
}
