//! What comes from Discord is taken: read, put into plain words, and heard. A room and a server are known
//! before anything is heard in them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::{debug, warn};

use crate::api::ApiError;
use crate::from_discord::line::{Line, begins};
use crate::from_discord::{self, Person, Place, Told, person, told};
use crate::message::read_message;
use crate::text::{Names, Role};
use crate::workspace as of_server;
use crate::{Discord, direct, workspace};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Bookmark, ChannelId, ConversationId, Deletion, Edit, Heard,
    Mention, Message, MessageId, Reaction, ReactionChange, User, UserId, WorkspaceId,
};
use aizuchi_core::store::{LineQuery, Receipt, Span, StoreError};

/// Why something could not be taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum TakeError {
    #[error(transparent)]
    Discord(#[from] ApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far its stream is heard with something; it is taken by what it is kept with.
pub(super) type SoFar = Option<Bookmark>;

/// A mention that an edit adds is owed an answer only so long after the line was said (DESIGN §3).
const ADDED_LATER: SignedDuration = SignedDuration::from_mins(10);
/// So many lines of a thread that is gone are forgotten at a time.
const PAGE: usize = 500;

/// Where something is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ground {
    pub conversation: ConversationId,
    /// The persona has opened this thread, so what is said in it is said to the persona.
    pub is_opened: bool,
    /// What a post in a forum is called.
    pub title: Option<Arc<str>>,
}

impl Discord {
    /// Hears what an event tells. What cannot be heard now comes again.
    pub(super) async fn take(
        &self,
        name: &str,
        data: &Value,
        so_far: &mut SoFar,
    ) -> Result<(), TakeError> {
        match self.hear_told(told(name, data), so_far).await {
            Err(TakeError::Store(StoreError::Refused(why))) => {
                // The next time it would be refused as well.
                warn!("something from Discord could not be kept: {why}");
                Ok(())
            }
            Err(TakeError::Discord(ApiError::Refused(refusal))) => {
                debug!("something happened where nothing may be seen: Discord says {refusal}");
                Ok(())
            }
            taken => taken,
        }
    }

    async fn hear_told(&self, told: Told, so_far: &mut SoFar) -> Result<(), TakeError> {
        match told {
            Told::Line(line) => self.hear_live(&line, so_far).await,
            Told::Changed { line, at } => self.hear_change(&line, at, so_far).await,
            Told::Deleted { place, lines } => self.hear_deletions(&place, &lines, so_far).await,
            Told::Reaction(reaction) => self.hear_reaction(reaction, so_far).await,
            Told::ReactionsGone { place, message, emoji } => {
                self.hear_reactions_gone(&place, &message, emoji.as_deref()).await
            }
            Told::Guild(guild) => Ok(self.hear_whole_guild(*guild).await?),
            Told::GuildChanged(guild) => Ok(self.hear_guild_change(*guild).await?),
            Told::GuildGone(guild) => {
                self.leave_guild(guild);
                Ok(())
            }
            Told::Room(room) => Ok(self.hear_room_change(room).await?),
            Told::RoomGone(room) => {
                self.leave(&room);
                Ok(())
            }
            Told::Thread(thread) => Ok(self.hear_thread(thread).await?),
            Told::Threads(threads) => {
                for thread in threads {
                    self.hear_thread(thread).await?;
                }
                Ok(())
            }
            Told::ThreadGone(thread) => self.hear_thread_gone(&thread, so_far).await,
            Told::Role(guild, role) => {
                Ok(self.look_again(guild, |guild| guild.put_role(role)).await?)
            }
            Told::RoleGone(guild, id) => {
                let drop_it = |role: &from_discord::guild::Role| role.id != id;
                Ok(self.look_again(guild, |guild| guild.roles.retain(drop_it)).await?)
            }
            Told::Member(member) => {
                if member.person.id == self.who.user {
                    let guild = member.guild;
                    return Ok(self.look_again(guild, |guild| guild.put_member(member)).await?);
                }
                Ok(self.hear_person(&workspace(member.guild), &member.person).await?)
            }
            Told::Interaction(interaction) => {
                // Whoever answers has three seconds; nothing else waits for that.
                let _ = self.interactions.send(interaction);
                Ok(())
            }
            Told::Nothing => Ok(()),
        }
    }

    async fn hear_live(&self, line: &Line, so_far: &mut SoFar) -> Result<(), TakeError> {
        // The flow keeps its own words itself, as it wrote them; it may be just about to.
        if self.is_own(line) && line.key.is_some() {
            return Ok(());
        }
        let ground = self.ground(&line.place, Some(line)).await?;
        self.hear_line(line, &ground, Arrival::Live, so_far).await.map(|_| ())
    }

    /// A line, as it was said.
    pub(super) async fn hear_line(
        &self,
        line: &Line,
        ground: &Ground,
        arrival: Arrival,
        so_far: &mut SoFar,
    ) -> Result<Receipt, TakeError> {
        self.hear_author(line, &ground.conversation.workspace).await?;
        let arrival = if line.is_hollow { self.doubt_content() } else { arrival };
        let message = self.message(line, ground);
        Ok(self.keep(Heard::Message(message, arrival), so_far).await?)
    }

    /// A line has another text. If it has not been heard before, it is heard now.
    async fn hear_change(
        &self,
        line: &Line,
        at: Timestamp,
        so_far: &mut SoFar,
    ) -> Result<(), TakeError> {
        if self.is_own(line) {
            return Ok(());
        }
        let ground = self.ground(&line.place, Some(line)).await?;
        let is_young = at.duration_since(line.at) < ADDED_LATER;
        let arrival = if is_young { Arrival::Live } else { Arrival::CaughtUp };
        if self.hear_line(line, &ground, arrival, &mut None).await?.is_new {
            return Ok(());
        }
        Ok(self.hear_edit(line, &ground, at, so_far).await?)
    }

    pub(super) async fn hear_edit(
        &self,
        line: &Line,
        ground: &Ground,
        at: Timestamp,
        so_far: &mut SoFar,
    ) -> Result<(), StoreError> {
        let Message { conversation, id: message, text, mentions, .. } = self.message(line, ground);
        let edit = Edit { conversation, message, at, text, mentions };
        self.keep(Heard::Edit(edit), so_far).await.map(|_| ())
    }

    /// Lines are gone.
    async fn hear_deletions(
        &self,
        place: &Place,
        lines: &[MessageId],
        so_far: &mut SoFar,
    ) -> Result<(), TakeError> {
        let ground = self.ground(place, None).await?;
        for (left, line) in lines.iter().enumerate().map(|(at, line)| (lines.len() - at, line)) {
            let so_far = if left == 1 { &mut *so_far } else { &mut None };
            self.hear_deletion(line, &ground, so_far).await?;
        }
        Ok(())
    }

    /// A line is gone. Where it is still to be read what was said, one that has not been heard leaves its
    /// place, so that it is not heard when it is read.
    async fn hear_deletion(
        &self,
        line: &MessageId,
        ground: &Ground,
        so_far: &mut SoFar,
    ) -> Result<(), TakeError> {
        let place = &ground.conversation;
        let known = self.archive.line(&place.workspace, &place.channel, line).await?;
        let conversation = match known {
            Some(known) => known.message.conversation.clone(),
            None if !self.is_behind_in(place) => return Ok(()),
            None => {
                let Some(at) = from_discord::time(line.as_str()) else { return Ok(()) };
                let nobody = Author { id: UserId::new("unknown"), kind: AuthorKind::Bot };
                let message = Message {
                    conversation: place.clone(),
                    id: line.clone(),
                    at,
                    author: nobody,
                    text: "".into(),
                    mentions: Vec::new(),
                    edits: 0,
                };
                self.ears.hear(Heard::Message(message, Arrival::Answered)).await?;
                place.clone()
            }
        };
        let deletion = Deletion { conversation, message: line.clone(), at: self.now() };
        self.keep(Heard::Deletion(deletion), so_far).await?;
        Ok(())
    }

    /// With a thread, all that was said in it is gone.
    async fn hear_thread_gone(&self, id: &ChannelId, so_far: &mut SoFar) -> Result<(), TakeError> {
        let Some(thread) = self.roster.forget_thread(id) else { return Ok(()) };
        let place = Place { guild: Some(thread.guild), channel: id.clone() };
        let ground = Ground::of_thread(&thread, &self.who.user, None);
        self.leave(id);
        let conversation = &ground.conversation;
        let mut span = Span::AfterTime(Timestamp::MIN);
        loop {
            let query = LineQuery {
                workspace: conversation.workspace.clone(),
                channel: conversation.channel.clone(),
                thread: conversation.thread.clone(),
                span,
                limit: PAGE,
            };
            let lines = self.archive.lines(query).await?;
            let Some(last) = lines.last() else { return Ok(()) };
            span = Span::After(last.message.id.clone());
            let ids = lines.iter().filter(|line| !line.is_deleted && is_of(&line.message, &place));
            for line in ids {
                self.hear_deletion(&line.message.id, &ground, so_far).await?;
            }
        }
    }

    pub(super) async fn hear_reaction(
        &self,
        reaction: from_discord::Reaction,
        so_far: &mut SoFar,
    ) -> Result<(), TakeError> {
        let ground = self.ground(&reaction.place, None).await?;
        let workspace = ground.conversation.workspace;
        let kind = match (self.kind(&workspace, &reaction.user), reaction.is_bot) {
            (AuthorKind::Human, Some(true)) => AuthorKind::Bot,
            (kind, _) => kind,
        };
        let heard = Reaction {
            workspace,
            channel: ground.conversation.channel,
            message: reaction.message,
            user: reaction.user,
            kind,
            emoji: reaction.emoji,
            at: self.now(),
            change: reaction.change,
        };
        self.keep(Heard::Reaction(heard), so_far).await?;
        Ok(())
    }

    /// Each reaction to a line is taken back, or each with one emoji.
    pub(super) async fn hear_reactions_gone(
        &self,
        place: &Place,
        message: &MessageId,
        emoji: Option<&str>,
    ) -> Result<(), TakeError> {
        let ConversationId { workspace, channel, .. } =
            self.ground(place, None).await?.conversation;
        let Some(line) = self.archive.line(&workspace, &channel, message).await? else {
            return Ok(());
        };
        let gone = line.reactions.iter().filter(|it| emoji.is_none_or(|emoji| *it.emoji == *emoji));
        for reacted in gone {
            for user in &reacted.users {
                let heard = Reaction {
                    workspace: workspace.clone(),
                    channel: channel.clone(),
                    message: message.clone(),
                    user: user.id.clone(),
                    kind: user.kind,
                    emoji: reacted.emoji.clone(),
                    at: self.now(),
                    change: ReactionChange::Removed,
                };
                self.ears.hear(Heard::Reaction(heard)).await?;
            }
        }
        Ok(())
    }

    /// Whoever spoke is known by name. What a history shows has the name for all servers only.
    async fn hear_author(&self, line: &Line, workspace: &WorkspaceId) -> Result<(), StoreError> {
        let is_here = line.place.guild.is_none() || line.whole["member"].is_object();
        if !is_here && self.roster.kind(workspace, &line.author.id).is_some() {
            return Ok(());
        }
        self.hear_person(workspace, &line.author).await
    }

    pub(super) async fn hear_person(
        &self,
        workspace: &WorkspaceId,
        person: &Person,
    ) -> Result<(), StoreError> {
        let kind = if person.is_bot { AuthorKind::Bot } else { AuthorKind::Human };
        let user = User {
            workspace: workspace.clone(),
            id: person.id.clone(),
            name: person.name.clone(),
            kind,
            role: self.role(workspace, person),
        };
        if person.id == self.who.user || self.roster.knows(&user) {
            return Ok(());
        }
        self.ears.hear(Heard::User(user.clone())).await?;
        // Not before it is kept: who is known is not kept again.
        self.roster.learn_person(user);
        Ok(())
    }

    /// Whoever owns or manages the server looks after it. Where nothing is told, what was known holds.
    pub(super) fn role(
        &self,
        workspace: &WorkspaceId,
        person: &Person,
    ) -> aizuchi_core::chat::Role {
        let known = || self.roster.duty(workspace, &person.id);
        let guilds = self.roster.guilds();
        let here = guilds.into_iter().find(|guild| of_server(*guild) == *workspace);
        let guild = here.and_then(|guild| self.roster.guild(guild));
        match (guild, &person.roles) {
            (Some(guild), Some(held)) => {
                let is_admin = guild.is_managed_by(&person.id, held);
                if is_admin {
                    aizuchi_core::chat::Role::Admin
                } else {
                    aizuchi_core::chat::Role::Member
                }
            }
            (None, _) | (_, None) => known(),
        }
    }

    /// Keeps something together with how far its stream is heard, if that is not kept yet.
    async fn keep(&self, heard: Heard, so_far: &mut SoFar) -> Result<Receipt, StoreError> {
        match so_far.take() {
            Some(so_far) => self.ears.hear_up_to(heard, so_far).await,
            None => self.ears.hear(heard).await,
        }
    }

    /// Discord tells that somebody wrote, and not what. The log hears of it once an hour.
    fn doubt_content(&self) -> Arrival {
        const HOUR_MS: i64 = 3_600_000;
        let now = self.now().as_millisecond();
        if now - self.doubted_ms.load(Ordering::Relaxed) > HOUR_MS {
            self.doubted_ms.store(now, Ordering::Relaxed);
            warn!(
                "messages come from Discord without their text: switch on \"Message Content Intent\" on the \
                 page Bot of the application, at https://discord.com/developers/applications"
            );
        }
        // What nobody can read is answered by nobody.
        Arrival::Answered
    }

    fn kind(&self, workspace: &WorkspaceId, user: &UserId) -> AuthorKind {
        if *user == self.who.user {
            return AuthorKind::Persona;
        }
        self.roster.kind(workspace, user).unwrap_or(AuthorKind::Human)
    }

    pub(super) fn is_own(&self, line: &Line) -> bool {
        line.author.id == self.who.user
    }

    /// The line in plain words, with who is named in it.
    pub(super) fn message(&self, line: &Line, ground: &Ground) -> Message {
        let kind = match (self.is_own(line), line.author.is_bot) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        };
        let (text, mut mentions) = self.words(line, ground);
        // What is said in a thread that the persona has opened is said to the persona.
        let is_to_it = ground.is_opened && kind == AuthorKind::Human;
        if is_to_it && !mentions.contains(&Mention::Persona) {
            mentions.push(Mention::Persona);
        }
        Message {
            conversation: ground.conversation.clone(),
            id: line.id.clone(),
            at: line.at,
            author: Author { id: line.author.id.clone(), kind },
            text,
            mentions,
            edits: 0,
        }
    }

    fn words(&self, line: &Line, ground: &Ground) -> (Arc<str>, Vec<Mention>) {
        let workspace = &ground.conversation.workspace;
        let told = |user: &UserId| {
            let told = line.whole["mentions"].as_array()?;
            let told = told.iter().find(|told| told["id"] == user.as_str())?;
            person(told, &told["member"]).map(|person| person.name)
        };
        let channel = |id: &ChannelId| self.name_shown(id, &ground.conversation.channel);
        let role = |id: &str| {
            let role = self.roster.role(line.place.guild?, id)?;
            let is_ours = role.bot.as_ref() == Some(&self.who.user);
            Some(if is_ours { Role::Persona } else { Role::Of(role.name) })
        };
        let names = Names {
            persona: &self.who.user,
            persona_name: &self.persona.name,
            user: &|id| self.roster.name(workspace, id).or_else(|| told(id)),
            channel: &channel,
            role: &role,
            zone: &self.settings.zone,
        };
        let read = read_message(&line.whole, &names, self.persona.language);
        let mut mentions = read.mentions;
        // A reply notifies whom it answers without a word.
        let notified = line.whole["mentions"].as_array().into_iter().flatten();
        let notified = notified.filter_map(|told| told["id"].as_str()).map(UserId::new);
        for user in notified.chain(line.answers.clone()) {
            let is_persona = user == self.who.user;
            let mention = if is_persona { Mention::Persona } else { Mention::User(user) };
            if !mentions.contains(&mention) {
                mentions.push(mention);
            }
        }
        let thread = ground.conversation.thread.as_ref().map(|it| ChannelId::new(it.as_str()));
        let is_post = thread.is_some_and(|thread| begins(line, &thread));
        let text = match ground.title.as_ref().filter(|_| is_post) {
            Some(title) => format!("**{title}**\n{}", read.text).trim_end().into(),
            None => read.text.into(),
        };
        (text, mentions)
    }
}

/// Is the line in this thread, or in this room of its own?
fn is_of(message: &Message, place: &Place) -> bool {
    let ConversationId { channel, thread, .. } = &message.conversation;
    let stands = thread.as_ref().map_or(channel.as_str(), MessageId::as_str);
    stands == place.channel.as_str()
}

impl Ground {
    /// A direct message.
    pub(super) fn direct(channel: &ChannelId) -> Self {
        let conversation =
            ConversationId { workspace: direct(), channel: channel.clone(), thread: None };
        Self { conversation, is_opened: false, title: None }
    }
}
