//! What Slack tells becomes what is heard. When [`Slack::take`] returns, it is safe, and Slack may be told
//! so.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::warn;

use crate::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Mention, Message, Reaction, User, UserId, Visibility,
};
use crate::platform::slack::from_slack::{self, Line, Person, Told, text, told};
use crate::platform::slack::mrkdwn::Names;
use crate::platform::slack::mrkdwn::message::read_message;
use crate::platform::slack::roster::{Room, Standing};
use crate::platform::slack::{Slack, emoji};
use crate::store::{Receipt, StoreError};

/// A mention that an edit adds is owed an answer only so long after the line was said (DESIGN §3).
const ADDED_LATER: SignedDuration = SignedDuration::from_mins(10);

impl Slack {
    /// Hears what a payload of Slack's events tells.
    pub async fn take(&self, payload: &Value) -> Result<(), StoreError> {
        match told(payload) {
            Told::Line(line) => self.hear_line(&line, Arrival::Live).await.map(|_| ()),
            Told::Changed { line, at } => self.hear_change(&line, at).await,
            Told::Deleted { line, at } => self.hear_deletion(&line, at).await,
            Told::Reaction(reaction) => self.hear_reaction(reaction).await,
            Told::Joined { channel, user } if user == self.who.user => {
                // What is said from now on is listened to, whatever Slack says of the room later.
                self.meet_room(&channel, None).await?;
                self.roster.ask_about_room(&channel);
                self.wanted.add(&channel);
                Ok(())
            }
            Told::Left { channel, user } if user == self.who.user => {
                self.roster.leave(&channel);
                Ok(())
            }
            Told::Gone(channel) => {
                self.roster.leave(&channel);
                Ok(())
            }
            Told::Joined { user, .. } | Told::Left { user, .. } => {
                self.meet_person(&user);
                Ok(())
            }
            Told::Hidden(channel) => self.hide(&channel).await,
            Told::Room(channel) => {
                self.roster.ask_about_room(&channel);
                Ok(())
            }
            Told::User(person) => self.hear_person(&person).await,
            Told::Dismissed(why) => {
                self.roster.dismiss(why);
                Ok(())
            }
            Told::Limited => {
                warn!(
                    "Slack leaves events out for a while: there are too many; history fills the hole"
                );
                self.roster.joined().iter().for_each(|room| self.wanted.add(room));
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
    ) -> Result<Option<Receipt>, StoreError> {
        // The flow keeps its own words itself, as it wrote them; it may be just about to.
        if self.is_own(line) && arrival == Arrival::Live {
            return Ok(None);
        }
        self.meet_room(&line.channel, line.visibility).await?;
        self.meet_author(line).await?;
        let message = self.message(line);
        let heard = Heard::Message(message, arrival);
        self.ears.hear_sent(heard, line.sent_as.clone()).await.map(Some)
    }

    /// A line has another text. If it has not been heard before, it is heard now.
    async fn hear_change(&self, line: &Line, at: Timestamp) -> Result<(), StoreError> {
        let is_young = at.duration_since(line.at) < ADDED_LATER;
        let arrival = if is_young { Arrival::Live } else { Arrival::CaughtUp };
        let receipt = self.hear_line(line, arrival).await?;
        if receipt.is_none_or(|receipt| receipt.is_new) {
            return Ok(());
        }
        self.hear_edit(line, line.edited.unwrap_or(at)).await
    }

    pub(super) async fn hear_edit(&self, line: &Line, at: Timestamp) -> Result<(), StoreError> {
        let Message { conversation, id: message, text, mentions, .. } = self.message(line);
        let edit = Edit { conversation, message, at, text, mentions };
        self.ears.hear(Heard::Edit(edit)).await.map(|_| ())
    }

    /// A line is gone. One that has not been heard yet leaves its place, so that it is not heard when
    /// Slack delivers it late.
    pub(super) async fn hear_deletion(&self, line: &Line, at: Timestamp) -> Result<(), StoreError> {
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
        self.ears.hear(Heard::Deletion(deletion)).await.map(|_| ())
    }

    async fn hear_reaction(&self, reaction: from_slack::Reaction) -> Result<(), StoreError> {
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
        if !self.roster.learn_person(person, kind) {
            return Ok(());
        }
        let workspace = self.who.workspace.clone();
        let user = User { workspace, id: person.id.clone(), name: person.name.clone(), kind };
        self.ears.hear(Heard::User(user)).await.map(|_| ())
    }

    /// A channel as Slack describes it.
    pub(super) async fn hear_room(
        &self,
        channel: Channel,
        standing: Standing,
    ) -> Result<(), StoreError> {
        let before = self.roster.learn_room(Room { channel: channel.clone(), standing });
        if before.as_ref().is_none_or(|before| before.channel != channel) {
            self.ears.hear(Heard::Channel(channel.clone())).await?;
        }
        let was_member = before.is_some_and(|before| before.standing == Standing::Member);
        if standing == Standing::Member && !was_member {
            self.wanted.add(&channel.id);
        }
        Ok(())
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

    /// Makes sure that a room is known before anything is heard in it: a room counts as private until
    /// Slack says otherwise.
    async fn meet_room(
        &self,
        channel: &ChannelId,
        visibility: Option<Visibility>,
    ) -> Result<(), StoreError> {
        match self.roster.room(channel) {
            Some(room) if room.standing == Standing::Member => return Ok(()),
            Some(room) => return self.hear_room(room.channel, Standing::Member).await,
            None => {}
        }
        self.roster.ask_about_room(channel);
        let unknown = Channel {
            workspace: self.who.workspace.clone(),
            id: channel.clone(),
            name: channel.as_str().into(),
            // A public channel may be shared with others, which only its description says.
            visibility: match visibility {
                Some(Visibility::Direct) => Visibility::Direct,
                Some(Visibility::Public | Visibility::Private) | None => Visibility::Private,
            },
        };
        self.hear_room(unknown, Standing::Member).await
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
        let name = crate::chat::one_line(name).into();
        self.hear_person(&Person { id: line.author.clone(), name, is_bot: true }).await
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
