//! What comes from Discord is taken: read, put into plain words, and heard. A room and a server are known
//! before anything is heard in them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::{debug, warn};

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::from_discord::message::{ChannelRef, DiscordMessage, is_thread_starter};
use crate::from_discord::user::{DiscordUser, parse_user};
use crate::from_discord::{self, DiscordEvent, parse_event};
use crate::identity::{direct_workspace, guild_workspace, guild_workspace as of_server};
use crate::message_text::read_message_text;
use crate::snowflake::id_timestamp;
use crate::text::{NameLookup, RoleName};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, ChannelId, ConversationId, Cursor, Deletion, Edit, Heard, Mention,
    Message, MessageId, Reaction, ReactionChange, User, UserId, WorkspaceId,
};
use aizuchi_core::store::{HearReceipt, MessageQuery, MessageRange, StoreError};

/// Why something could not be taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum IngestError {
    #[error(transparent)]
    Api(#[from] DiscordApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far its stream is heard with something; it is taken by what it is kept with.
pub(super) type PendingCursor = Option<Cursor>;

/// A mention that an edit adds is owed an answer only so long after the line was said (DESIGN §3).
const EDITED_MENTION_WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// So many lines of a thread that is gone are forgotten at a time.
const PAGE_SIZE: usize = 500;

/// Where something is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub conversation: ConversationId,
    /// The persona has opened this thread, so what is said in it is said to the persona.
    pub is_opened_by_persona: bool,
    /// What a post in a forum is called.
    pub forum_post_title: Option<Arc<str>>,
}

impl DiscordPlatform {
    /// Hears what an event tells. What cannot be heard now comes again.
    pub(super) async fn ingest(
        &self,
        name: &str,
        data: &Value,
        so_far: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        match self.hear_event(parse_event(name, data), so_far).await {
            Err(IngestError::Store(StoreError::Refused(why))) => {
                // The next time it would be refused as well.
                warn!("something from Discord could not be kept: {why}");
                Ok(())
            }
            Err(IngestError::Api(DiscordApiError::Refused(refusal))) => {
                debug!("something happened where nothing may be seen: Discord says {refusal}");
                Ok(())
            }
            taken => taken,
        }
    }

    async fn hear_event(
        &self,
        told: DiscordEvent,
        so_far: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        match told {
            DiscordEvent::Message(line) => self.hear_live_message(&line, so_far).await,
            DiscordEvent::MessageChanged { message: line, edited_at: at } => {
                self.hear_changed_message(&line, at, so_far).await
            }
            DiscordEvent::MessagesDeleted { channel_ref: place, messages: lines } => {
                self.hear_deletions(&place, &lines, so_far).await
            }
            DiscordEvent::Reaction(reaction) => self.hear_reaction(reaction, so_far).await,
            DiscordEvent::ReactionsRemoved { channel_ref: place, message, emoji } => {
                self.hear_reactions_removed(&place, &message, emoji.as_deref()).await
            }
            DiscordEvent::Guild(guild) => Ok(self.hear_guild_available(*guild).await?),
            DiscordEvent::GuildSettingsChanged(guild) => Ok(self.hear_guild_update(*guild).await?),
            DiscordEvent::GuildRemoved(guild) => {
                self.leave_guild(guild);
                Ok(())
            }
            DiscordEvent::ChannelChanged(room) => Ok(self.hear_channel_update(room).await?),
            DiscordEvent::ChannelDeleted(room) => {
                self.leave_channel(&room);
                Ok(())
            }
            DiscordEvent::Thread(thread) => Ok(self.hear_thread(thread).await?),
            DiscordEvent::Threads(threads) => {
                for thread in threads {
                    self.hear_thread(thread).await?;
                }
                Ok(())
            }
            DiscordEvent::ThreadDeleted(thread) => self.hear_thread_deletion(&thread, so_far).await,
            DiscordEvent::Role(guild, role) => {
                Ok(self.update_guild(guild, |guild| guild.put_role(role)).await?)
            }
            DiscordEvent::RoleDeleted(guild, id) => {
                let drop_it = |role: &from_discord::guild::GuildRole| role.id != id;
                Ok(self.update_guild(guild, |guild| guild.roles.retain(drop_it)).await?)
            }
            DiscordEvent::Member(member) => {
                if member.user.id == self.identity.user {
                    let guild = member.guild;
                    return Ok(self.update_guild(guild, |guild| guild.put_member(member)).await?);
                }
                Ok(self.hear_user(&guild_workspace(member.guild), &member.user).await?)
            }
            DiscordEvent::Interaction(interaction) => {
                // Whoever answers has three seconds; nothing else waits for that.
                let _ = self.interaction_sender.send(interaction);
                Ok(())
            }
            DiscordEvent::Ignored => Ok(()),
        }
    }

    async fn hear_live_message(
        &self,
        line: &DiscordMessage,
        so_far: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        // The flow keeps its own words itself, as it wrote them; it may be just about to.
        if self.is_own(line) && line.key.is_some() {
            return Ok(());
        }
        let ground = self.locate(&line.channel_ref, Some(line)).await?;
        self.hear_message(line, &ground, Arrival::Live, so_far).await.map(|_| ())
    }

    /// A line, as it was said.
    pub(super) async fn hear_message(
        &self,
        line: &DiscordMessage,
        ground: &Location,
        arrival: Arrival,
        so_far: &mut PendingCursor,
    ) -> Result<HearReceipt, IngestError> {
        self.hear_author(line, &ground.conversation.workspace).await?;
        let arrival = if line.is_content_missing { self.warn_content_missing() } else { arrival };
        let message = self.to_message(line, ground);
        Ok(self.hear_with_cursor(Heard::Message(message, arrival), so_far).await?)
    }

    /// A line has another text. If it has not been heard before, it is heard now.
    async fn hear_changed_message(
        &self,
        line: &DiscordMessage,
        at: Timestamp,
        so_far: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        if self.is_own(line) {
            return Ok(());
        }
        let ground = self.locate(&line.channel_ref, Some(line)).await?;
        let is_young = at.duration_since(line.at) < EDITED_MENTION_WINDOW;
        let arrival = if is_young { Arrival::Live } else { Arrival::Backfilled };
        if self.hear_message(line, &ground, arrival, &mut None).await?.is_new {
            return Ok(());
        }
        Ok(self.hear_edit(line, &ground, at, so_far).await?)
    }

    pub(super) async fn hear_edit(
        &self,
        line: &DiscordMessage,
        ground: &Location,
        at: Timestamp,
        so_far: &mut PendingCursor,
    ) -> Result<(), StoreError> {
        let Message { conversation, id: message, text, mentions, .. } =
            self.to_message(line, ground);
        let edit = Edit { conversation, message, at, text, mentions };
        self.hear_with_cursor(Heard::Edit(edit), so_far).await.map(|_| ())
    }

    /// Lines are gone.
    async fn hear_deletions(
        &self,
        place: &ChannelRef,
        lines: &[MessageId],
        so_far: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        let ground = self.locate(place, None).await?;
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
        ground: &Location,
        so_far: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        let place = &ground.conversation;
        let known = self.archive.message(&place.workspace, &place.channel, line).await?;
        let conversation = match known {
            Some(known) => known.message.conversation.clone(),
            None if !self.is_backfill_pending(place) => return Ok(()),
            None => {
                let Some(at) = id_timestamp(line.as_str()) else { return Ok(()) };
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
                self.inbox.hear(Heard::Message(message, Arrival::BackfilledAnswered)).await?;
                place.clone()
            }
        };
        let deletion = Deletion { conversation, message: line.clone(), at: self.now() };
        self.hear_with_cursor(Heard::Deletion(deletion), so_far).await?;
        Ok(())
    }

    /// With a thread, all that was said in it is gone.
    async fn hear_thread_deletion(
        &self,
        id: &ChannelId,
        so_far: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        let Some(thread) = self.cache.remove_thread(id) else { return Ok(()) };
        let place = ChannelRef { guild: Some(thread.guild), channel: id.clone() };
        let ground = Location::from_thread(&thread, &self.identity.user, None);
        self.leave_channel(id);
        let conversation = &ground.conversation;
        let mut span = MessageRange::AfterTime(Timestamp::MIN);
        loop {
            let query = MessageQuery {
                workspace: conversation.workspace.clone(),
                channel: conversation.channel.clone(),
                thread: conversation.thread.clone(),
                range: span,
                limit: PAGE_SIZE,
            };
            let lines = self.archive.messages(query).await?;
            let Some(last) = lines.last() else { return Ok(()) };
            span = MessageRange::After(last.message.id.clone());
            let ids = lines
                .iter()
                .filter(|line| !line.is_deleted && is_in_channel(&line.message, &place));
            for line in ids {
                self.hear_deletion(&line.message.id, &ground, so_far).await?;
            }
        }
    }

    pub(super) async fn hear_reaction(
        &self,
        reaction: from_discord::DiscordReaction,
        so_far: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        let ground = self.locate(&reaction.channel_ref, None).await?;
        let workspace = ground.conversation.workspace;
        let kind = match (self.author_kind(&workspace, &reaction.user), reaction.is_bot) {
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
        self.hear_with_cursor(Heard::Reaction(heard), so_far).await?;
        Ok(())
    }

    /// Each reaction to a line is taken back, or each with one emoji.
    pub(super) async fn hear_reactions_removed(
        &self,
        place: &ChannelRef,
        message: &MessageId,
        emoji: Option<&str>,
    ) -> Result<(), IngestError> {
        let ConversationId { workspace, channel, .. } =
            self.locate(place, None).await?.conversation;
        let Some(line) = self.archive.message(&workspace, &channel, message).await? else {
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
                self.inbox.hear(Heard::Reaction(heard)).await?;
            }
        }
        Ok(())
    }

    /// Whoever spoke is known by name. What a history shows has the name for all servers only.
    async fn hear_author(
        &self,
        line: &DiscordMessage,
        workspace: &WorkspaceId,
    ) -> Result<(), StoreError> {
        let is_here = line.channel_ref.guild.is_none() || line.raw["member"].is_object();
        if !is_here && self.cache.author_kind(workspace, &line.author.id).is_some() {
            return Ok(());
        }
        self.hear_user(workspace, &line.author).await
    }

    pub(super) async fn hear_user(
        &self,
        workspace: &WorkspaceId,
        person: &DiscordUser,
    ) -> Result<(), StoreError> {
        let kind = if person.is_bot { AuthorKind::Bot } else { AuthorKind::Human };
        let user = User {
            workspace: workspace.clone(),
            id: person.id.clone(),
            name: person.name.clone(),
            kind,
            role: self.user_role(workspace, person),
        };
        if person.id == self.identity.user || self.cache.is_current(&user) {
            return Ok(());
        }
        self.inbox.hear(Heard::User(user.clone())).await?;
        // Not before it is kept: who is known is not kept again.
        self.cache.put_user(user);
        Ok(())
    }

    /// Whoever owns or manages the server looks after it. Where nothing is told, what was known holds.
    pub(super) fn user_role(
        &self,
        workspace: &WorkspaceId,
        person: &DiscordUser,
    ) -> aizuchi_core::chat::Role {
        let known = || self.cache.user_role(workspace, &person.id);
        let guilds = self.cache.guilds();
        let here = guilds.into_iter().find(|guild| of_server(*guild) == *workspace);
        let guild = here.and_then(|guild| self.cache.guild(guild));
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
    async fn hear_with_cursor(
        &self,
        heard: Heard,
        so_far: &mut PendingCursor,
    ) -> Result<HearReceipt, StoreError> {
        match so_far.take() {
            Some(so_far) => self.inbox.hear_with_cursor(heard, so_far).await,
            None => self.inbox.hear(heard).await,
        }
    }

    /// Discord tells that somebody wrote, and not what. The log hears of it once an hour.
    fn warn_content_missing(&self) -> Arrival {
        const HOUR_MS: i64 = 3_600_000;
        let now = self.now().as_millisecond();
        if now - self.content_warned_ms.load(Ordering::Relaxed) > HOUR_MS {
            self.content_warned_ms.store(now, Ordering::Relaxed);
            warn!(
                "messages come from Discord without their text: switch on \"Message Content Intent\" on the \
                 page Bot of the application, at https://discord.com/developers/applications"
            );
        }
        // What nobody can read is answered by nobody.
        Arrival::BackfilledAnswered
    }

    fn author_kind(&self, workspace: &WorkspaceId, user: &UserId) -> AuthorKind {
        if *user == self.identity.user {
            return AuthorKind::Persona;
        }
        self.cache.author_kind(workspace, user).unwrap_or(AuthorKind::Human)
    }

    pub(super) fn is_own(&self, line: &DiscordMessage) -> bool {
        line.author.id == self.identity.user
    }

    /// The line in plain words, with who is named in it.
    pub(super) fn to_message(&self, line: &DiscordMessage, ground: &Location) -> Message {
        let kind = match (self.is_own(line), line.author.is_bot) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        };
        let (text, mut mentions) = self.read_text(line, ground);
        // What is said in a thread that the persona has opened is said to the persona.
        let is_to_it = ground.is_opened_by_persona && kind == AuthorKind::Human;
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

    fn read_text(&self, line: &DiscordMessage, ground: &Location) -> (Arc<str>, Vec<Mention>) {
        let workspace = &ground.conversation.workspace;
        let told = |user: &UserId| {
            let told = line.raw["mentions"].as_array()?;
            let told = told.iter().find(|told| told["id"] == user.as_str())?;
            parse_user(told, &told["member"]).map(|person| person.name)
        };
        let channel = |id: &ChannelId| self.visible_channel_name(id, &ground.conversation.channel);
        let role = |id: &str| {
            let role = self.cache.guild_role(line.channel_ref.guild?, id)?;
            let is_ours = role.bot.as_ref() == Some(&self.identity.user);
            Some(if is_ours { RoleName::Persona } else { RoleName::Named(role.name) })
        };
        let names = NameLookup {
            persona: &self.identity.user,
            persona_name: &self.persona.name,
            user: &|id| self.cache.user_name(workspace, id).or_else(|| told(id)),
            channel: &channel,
            role: &role,
            time_zone: &self.settings.time_zone,
        };
        let read = read_message_text(&line.raw, &names, self.persona.language);
        let mut mentions = read.mentions;
        // A reply notifies whom it answers without a word.
        let notified = line.raw["mentions"].as_array().into_iter().flatten();
        let notified = notified.filter_map(|told| told["id"].as_str()).map(UserId::new);
        for user in notified.chain(line.replied_user.clone()) {
            let is_persona = user == self.identity.user;
            let mention = if is_persona { Mention::Persona } else { Mention::User(user) };
            if !mentions.contains(&mention) {
                mentions.push(mention);
            }
        }
        let thread = ground.conversation.thread.as_ref().map(|it| ChannelId::new(it.as_str()));
        let is_post = thread.is_some_and(|thread| is_thread_starter(line, &thread));
        let text = match ground.forum_post_title.as_ref().filter(|_| is_post) {
            Some(title) => format!("**{title}**\n{}", read.text).trim_end().into(),
            None => read.text.into(),
        };
        (text, mentions)
    }
}

/// Is the line in this thread, or in this room of its own?
fn is_in_channel(message: &Message, place: &ChannelRef) -> bool {
    let ConversationId { channel, thread, .. } = &message.conversation;
    let stands = thread.as_ref().map_or(channel.as_str(), MessageId::as_str);
    stands == place.channel.as_str()
}

impl Location {
    /// A direct message.
    pub(super) fn direct(channel: &ChannelId) -> Self {
        let conversation = ConversationId {
            workspace: direct_workspace(),
            channel: channel.clone(),
            thread: None,
        };
        Self { conversation, is_opened_by_persona: false, forum_post_title: None }
    }
}
