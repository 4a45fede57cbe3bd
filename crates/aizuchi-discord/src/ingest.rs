//! Ingests Discord's events: parses them, converts them to plain text, and hears them. A server and a channel are heard
//! before any message in them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use aizuchi_agent::inbox::Delivery;
use aizuchi_agent::inbox::addressed::in_thread::only_closes;
use aizuchi_agent::metrics::labels::{MalformedInput, PlatformTask};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, ChannelId, ConversationId, Cursor, Deletion, Edit, Heard, Mention,
    Message, MessageId, QuotedMessage, Reaction, ReactionChange, User, UserId, WorkspaceId,
};
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::platform::BackfillState;
use aizuchi_platform::backfill::posts_in_flight;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::{HearReceipt, StoreError};
use jiff::Timestamp;
use serde_json::Value;
use tracing::{Instrument as _, debug, info_span, warn};

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::files::parse_files;
use crate::from_discord::guild::GuildThread;
use crate::from_discord::message::{
    ChannelRef, DiscordMessage, forwarded_message, is_thread_starter,
};
use crate::from_discord::user::{DiscordUser, parse_user};
use crate::from_discord::{self, DiscordEvent, parse_event};
use crate::identity::{direct_workspace, guild_workspace};
use crate::json::non_empty_str;
use crate::message_text::read_message_text;
use crate::snowflake::id_timestamp;
use crate::text::{NameLookup, RoleName};

/// Why an event could not be ingested.
#[derive(Debug, thiserror::Error)]
pub(super) enum IngestError {
    #[error(transparent)]
    Api(#[from] DiscordApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Backfill(#[from] anyhow::Error),
}

/// The outcome of ingesting an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IngestResult {
    Done,
    /// The event could not be heard, and a retry would not help.
    Missed,
}

/// The gateway cursor of an event. The write that stores the event takes it, so both are committed in one transaction.
pub(super) type PendingCursor = Option<Cursor>;
/// The batch size for reading the messages of a deleted thread.
const PAGE_SIZE: usize = 500;

/// The conversation of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub conversation: ConversationId,
    /// Whether the persona opened this thread, so that every message in it is addressed to the persona.
    pub is_opened_by_persona: bool,
    /// The title, if the thread is a forum post.
    pub forum_post_title: Option<Arc<str>>,
}

impl DiscordPlatform {
    /// Ingests one event. If this fails, Discord replays the event.
    pub(super) async fn ingest(
        &self,
        name: &str,
        data: &Value,
        cursor: &mut PendingCursor,
    ) -> Result<IngestResult, IngestError> {
        let channel = non_empty_str(&data["channel_id"]);
        let message_id = non_empty_str(&data["message_id"]).or(non_empty_str(&data["id"]));
        let span = info_span!("event", platform = "discord", kind = name, channel, message_id);
        let hearing = async { self.hear_event(name, parse_event(name, data), cursor).await };
        let hearing = self.incidents.contain(PlatformTask::Event, hearing);
        let Ok(result) = hearing.instrument(span).await else { return Ok(IngestResult::Missed) };
        match result {
            Ok(()) => Ok(IngestResult::Done),
            Err(IngestError::Store(StoreError::Refused(why))) => {
                // A replay would be refused as well.
                warn!(
                    platform = "discord",
                    channel,
                    message_id,
                    error = %why,
                    "the store refused an event"
                );
                Ok(IngestResult::Done)
            }
            Err(IngestError::Api(DiscordApiError::Refused(refusal))) => {
                debug!(
                    platform = "discord",
                    channel,
                    message_id,
                    error = %refusal,
                    "no access to an event's channel"
                );
                Ok(IngestResult::Done)
            }
            // A replay would block all other events for as long as Discord cannot describe this channel.
            Err(IngestError::Api(error)) => {
                warn!(
                    platform = "discord",
                    channel,
                    message_id,
                    %error,
                    "an event's channel is not known"
                );
                Ok(IngestResult::Missed)
            }
            Err(IngestError::Backfill(error)) => {
                warn!(platform = "discord", channel, message_id, %error, "an event's channel cannot be read");
                Ok(IngestResult::Missed)
            }
            Err(error @ IngestError::Store(_)) => Err(error),
        }
    }

    async fn hear_event(
        &self,
        name: &str,
        event: DiscordEvent,
        cursor: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        match event {
            DiscordEvent::Message(message) => self.hear_live_message(&message, cursor).await,
            DiscordEvent::MessageChanged { message, edited_at: at } => {
                self.hear_changed_message(&message, at, cursor).await
            }
            DiscordEvent::MessagesDeleted { channel_ref, messages } => {
                self.hear_deletions(&channel_ref, &messages, cursor).await
            }
            DiscordEvent::Reaction(reaction) => self.hear_reaction(reaction, cursor).await,
            DiscordEvent::ReactionsRemoved { channel_ref, message, emoji } => {
                self.hear_reactions_removed(&channel_ref, &message, emoji.as_deref()).await
            }
            DiscordEvent::Guild(guild) => Ok(self.hear_guild_available(*guild).await?),
            DiscordEvent::GuildSettingsChanged(guild) => Ok(self.hear_guild_update(*guild).await?),
            DiscordEvent::GuildRemoved(guild) => {
                let _change = self.begin_guild_change(guild).await;
                self.leave_guild(guild);
                Ok(())
            }
            DiscordEvent::ChannelChanged(channel) => Ok(self.hear_channel_update(channel).await?),
            DiscordEvent::ChannelDeleted(guild, channel) => {
                if let Some(guild) = guild {
                    // Otherwise the next change of the server would make the bot a member again.
                    let is_kept = |known: &from_discord::guild::GuildChannel| known.id != channel;
                    self.update_guild(guild, |guild| guild.channels.retain(is_kept)).await?;
                }
                self.leave_channel(&channel);
                Ok(())
            }
            DiscordEvent::Thread(thread) => Ok(self.hear_thread(thread).await?),
            DiscordEvent::Threads(threads) => {
                for thread in threads {
                    self.hear_thread(thread).await?;
                }
                Ok(())
            }
            DiscordEvent::ThreadDeleted(thread) => self.hear_thread_deletion(thread).await,
            DiscordEvent::ThreadMembersRemoved { guild, thread, users } => {
                // Only a private thread is a channel of its own; a public one stays readable.
                if users.contains(&self.identity.user) {
                    // A sync that has read the list of threads before must not join it again.
                    let _change = self.begin_guild_change(guild).await;
                    self.leave_channel(&thread);
                }
                Ok(())
            }
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
                    self.hear_user(&guild_workspace(guild), &member.user).await?;
                    return Ok(self.update_guild(guild, |guild| guild.put_member(member)).await?);
                }
                Ok(self.hear_user(&guild_workspace(member.guild), &member.user).await?)
            }
            DiscordEvent::Interaction(interaction) => {
                // An interaction is answered separately, because it must be answered within three seconds without
                // waiting for other events.
                let _ = self.interaction_sender.send(interaction);
                Ok(())
            }
            DiscordEvent::Malformed => {
                self.incidents.record_malformed(MalformedInput::Event, name);
                // A sync fetches any change of a server that the event may have described.
                self.sync_requested.notify_one();
                Ok(())
            }
            DiscordEvent::Ignored => Ok(()),
        }
    }

    async fn hear_live_message(
        &self,
        message: &DiscordMessage,
        cursor: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        let is_post = self.is_own(message) && message.key.is_some();
        // The agent stores its own posts as it wrote them, and may be about to store this one.
        if is_post && self.connection.state().connected_since.is_some() {
            return Ok(());
        }
        let location = self.locate(&message.channel_ref, Some(message)).await?;
        // Replayed, as a history is: an earlier process may have posted it, whose records are lost.
        let arrival = if is_post { Arrival::Backfilled } else { Arrival::Live };
        if is_post && self.is_in_flight(message, &location).await? {
            return Ok(());
        }
        self.hear_message(message, &location, arrival, cursor).await.map(|_| ())
    }

    /// Whether the agent is about to store this post of the bot.
    pub(super) async fn is_in_flight(
        &self,
        message: &DiscordMessage,
        location: &Location,
    ) -> Result<bool, StoreError> {
        let ConversationId { workspace, channel, thread } = &location.conversation;
        let posting = posts_in_flight(&*self.archive, workspace, channel).await?;
        // Elsewhere in the channel, an answer may have the same text.
        let is_here = |item: &OutboxItem| {
            let opens = thread.is_some() && item.metadata.newest_owed() == thread.as_ref();
            opens || item.conversation == location.conversation
        };
        Ok(posting.iter().any(|item| is_here(item) && self.may_be_post_of(item, &message.raw)))
    }

    /// Hears a message and its author.
    pub(super) async fn hear_message(
        &self,
        message: &DiscordMessage,
        location: &Location,
        arrival: Arrival,
        cursor: &mut PendingCursor,
    ) -> Result<HearReceipt, IngestError> {
        self.hear_author(message, &location.conversation.workspace).await?;
        let arrival =
            if message.is_content_missing { self.warn_content_missing() } else { arrival };
        let heard = Heard::Message(self.to_message(message, location), arrival);
        let reply_to = message.reply_to.clone();
        let answers = self.is_own(message).then(|| message.marked_answers()).flatten();
        let delivery = Delivery { cursor: cursor.take(), reply_to, answers, ..heard.into() };
        Ok(self.inbox.deliver(delivery).await?)
    }

    /// Hears an edit. A message that was not heard before is heard as a new one.
    async fn hear_changed_message(
        &self,
        message: &DiscordMessage,
        at: Timestamp,
        cursor: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        if self.is_own(message) {
            return Ok(());
        }
        let location = self.locate(&message.channel_ref, Some(message)).await?;
        let arrival = Arrival::of_edited(message.at, at);
        // The cursor goes with the edit below: after a crash in between, the event must be replayed.
        if self.hear_message(message, &location, arrival, &mut None).await?.is_new {
            return Ok(());
        }
        Ok(self.hear_edit(message, &location, at, cursor).await?)
    }

    /// Hears the new text of a known message. If Discord withholds it, the stored text is the last one that is known.
    pub(super) async fn hear_edit(
        &self,
        message: &DiscordMessage,
        location: &Location,
        at: Timestamp,
        cursor: &mut PendingCursor,
    ) -> Result<(), StoreError> {
        if message.is_content_missing {
            return Ok(());
        }
        let Message { conversation, id: message, text, mentions, attachments, .. } =
            self.to_message(message, location);
        let attachments = Some(attachments);
        let edit = Edit { conversation, message, at, made_at: at, text, mentions, attachments };
        self.hear_with_cursor(Heard::Edit(edit), cursor).await.map(|_| ())
    }

    async fn hear_deletions(
        &self,
        channel_ref: &ChannelRef,
        messages: &[MessageId],
        cursor: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        let location = self.locate(channel_ref, None).await?;
        for (remaining, message) in
            messages.iter().enumerate().map(|(at, message)| (messages.len() - at, message))
        {
            // Only the last write stores the sequence number: a crash in between must replay the whole event.
            let cursor = if remaining == 1 { &mut *cursor } else { &mut None };
            self.hear_deletion(message, &location, cursor).await?;
        }
        Ok(())
    }

    /// Hears a deletion. While the channel still waits for its backfill, an unknown message leaves a tombstone, so that
    /// a page of the history read before the deletion does not restore it.
    async fn hear_deletion(
        &self,
        message: &MessageId,
        location: &Location,
        cursor: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        let conversation = &location.conversation;
        let stored =
            self.archive.message(&conversation.workspace, &conversation.channel, message).await?;
        let stored_conversation = match stored {
            Some(stored) => stored.message.conversation.clone(),
            None if self.conversation_state(conversation) == BackfillState::Complete => {
                return Ok(());
            }
            None => {
                self.prioritize_conversation(conversation);
                let Some(at) = id_timestamp(message.as_str()) else { return Ok(()) };
                let unknown = Author { id: UserId::unknown(), kind: AuthorKind::Bot };
                let tombstone = Message {
                    conversation: conversation.clone(),
                    id: message.clone(),
                    at,
                    author: unknown,
                    text: "".into(),
                    mentions: Vec::new(),
                    attachments: Vec::new(),
                    edits: 0,
                };
                self.inbox.hear(Heard::Message(tombstone, Arrival::BackfilledAnswered)).await?;
                conversation.clone()
            }
        };
        let deletion = Deletion {
            conversation: stored_conversation,
            message: message.clone(),
            at: self.now(),
        };
        self.hear_with_cursor(Heard::Deletion(deletion), cursor).await?;
        Ok(())
    }

    /// Deletes all messages of a deleted thread.
    async fn hear_thread_deletion(&self, deleted: GuildThread) -> Result<(), IngestError> {
        // After a restart the thread may be unknown: Discord no longer lists it.
        let thread = self.cache.thread(&deleted.id).unwrap_or(deleted);
        let channel_ref = ChannelRef { guild: Some(thread.guild), channel: thread.id.clone() };
        let location = Location::from_thread(&thread, &self.identity.user, None);
        self.leave_channel(&thread.id);
        let conversation = &location.conversation;
        let mut range = MessageRange::AfterTime(Timestamp::MIN);
        loop {
            let query = MessageQuery {
                workspace: conversation.workspace.clone(),
                channel: conversation.channel.clone(),
                thread: conversation.thread.clone(),
                range,
                limit: PAGE_SIZE,
            };
            let stored_messages = self.archive.messages(query).await?;
            let Some(last) = stored_messages.last() else { break };
            range = MessageRange::After(last.message.id.clone());
            let ids = stored_messages.iter().filter(|stored| {
                !stored.is_deleted && is_in_channel(&stored.message, &channel_ref)
            });
            for stored in ids {
                // The sequence number is stored once all are deleted: a crash in between must replay the event.
                self.hear_deletion(&stored.message.id, &location, &mut None).await?;
            }
        }
        self.cache.remove_thread(&thread.id);
        Ok(())
    }

    pub(super) async fn hear_reaction(
        &self,
        reaction: from_discord::DiscordReaction,
        cursor: &mut PendingCursor,
    ) -> Result<(), IngestError> {
        let location = self.locate(&reaction.channel_ref, None).await?;
        let workspace = location.conversation.workspace;
        let kind = match (self.author_kind(&workspace, &reaction.user), reaction.is_bot) {
            (AuthorKind::Human, Some(true)) => AuthorKind::Bot,
            (kind, _) => kind,
        };
        let heard = Reaction {
            workspace,
            channel: location.conversation.channel,
            message: reaction.message,
            user: reaction.user,
            kind,
            emoji: reaction.emoji,
            // Discord does not say when a reaction was added.
            at: self.now(),
            change: reaction.change,
        };
        self.hear_with_cursor(Heard::Reaction(heard), cursor).await?;
        Ok(())
    }

    /// Hears the removal of all reactions to a message, or of all reactions with one emoji.
    pub(super) async fn hear_reactions_removed(
        &self,
        channel_ref: &ChannelRef,
        message: &MessageId,
        emoji: Option<&str>,
    ) -> Result<(), IngestError> {
        let ConversationId { workspace, channel, .. } =
            self.locate(channel_ref, None).await?.conversation;
        let Some(stored) = self.archive.message(&workspace, &channel, message).await? else {
            return Ok(());
        };
        let gone =
            stored.reactions.iter().filter(|it| emoji.is_none_or(|emoji| *it.emoji == *emoji));
        for group in gone {
            for user in &group.users {
                let heard = Reaction {
                    workspace: workspace.clone(),
                    channel: channel.clone(),
                    message: message.clone(),
                    user: user.id.clone(),
                    kind: user.kind,
                    emoji: group.emoji.clone(),
                    at: self.now(),
                    change: ReactionChange::Removed,
                };
                self.inbox.hear(Heard::Reaction(heard)).await?;
            }
        }
        Ok(())
    }

    /// Hears a message's author. A history contains only the global name, so it does not replace a name on the server.
    async fn hear_author(
        &self,
        message: &DiscordMessage,
        workspace: &WorkspaceId,
    ) -> Result<(), StoreError> {
        let is_here = message.channel_ref.guild.is_none() || message.raw["member"].is_object();
        if !is_here && self.cache.author_kind(workspace, &message.author.id).is_some() {
            return Ok(());
        }
        self.hear_user(workspace, &message.author).await
    }

    pub(super) async fn hear_user(
        &self,
        workspace: &WorkspaceId,
        user: &DiscordUser,
    ) -> Result<(), StoreError> {
        if user.id == self.identity.user {
            // Only a member has roles, and with them its nickname.
            if user.roles.is_some() {
                let names = vec![self.identity.name.as_str().into(), user.name.clone()];
                self.inbox.channel_cache.name_persona(workspace, names);
            }
            return Ok(());
        }
        let kind = if user.is_bot { AuthorKind::Bot } else { AuthorKind::Human };
        let stored = User {
            workspace: workspace.clone(),
            id: user.id.clone(),
            name: user.name.clone(),
            kind,
            role: self.user_role(workspace, user),
            zone: None,
        };
        if self.cache.is_current(&stored) {
            return Ok(());
        }
        self.inbox.hear(Heard::User(stored.clone())).await?;
        // After the store, because a cached user is not stored again.
        self.cache.put_user(stored);
        Ok(())
    }

    /// Returns the role of a user. The owner and managers of a server are admins. Without roles in the event, the known
    /// role is kept.
    pub(super) fn user_role(
        &self,
        workspace: &WorkspaceId,
        user: &DiscordUser,
    ) -> aizuchi_model::chat::Role {
        let known = || self.cache.user_role(workspace, &user.id);
        let guilds = self.cache.guilds();
        let here = guilds.into_iter().find(|guild| guild_workspace(*guild) == *workspace);
        let guild = here.and_then(|guild| self.cache.guild(guild));
        match (guild, &user.roles) {
            (Some(guild), Some(roles)) => {
                let is_admin = guild.is_managed_by(&user.id, roles);
                if is_admin {
                    aizuchi_model::chat::Role::Admin
                } else {
                    aizuchi_model::chat::Role::Member
                }
            }
            (None, _) | (_, None) => known(),
        }
    }

    /// Stores an event together with the gateway cursor, if that is still pending.
    async fn hear_with_cursor(
        &self,
        heard: Heard,
        cursor: &mut PendingCursor,
    ) -> Result<HearReceipt, StoreError> {
        self.inbox.deliver(Delivery { cursor: cursor.take(), ..heard.into() }).await
    }

    /// Warns that a message arrived without its content, at most once an hour.
    fn warn_content_missing(&self) -> Arrival {
        const HOUR_MS: i64 = 3_600_000;
        let now = self.now().as_millisecond();
        if now - self.content_warned_ms.load(Ordering::Relaxed) > HOUR_MS {
            self.content_warned_ms.store(now, Ordering::Relaxed);
            warn!(
                platform = "discord",
                "messages arrive without their content; switch on \"Message Content Intent\" on the page Bot \
                 of the application, at https://discord.com/developers/applications"
            );
        }
        // A message that cannot be read is never answered.
        Arrival::BackfilledAnswered
    }

    fn author_kind(&self, workspace: &WorkspaceId, user: &UserId) -> AuthorKind {
        if *user == self.identity.user {
            return AuthorKind::Persona;
        }
        self.cache.author_kind(workspace, user).unwrap_or(AuthorKind::Human)
    }

    pub(super) fn is_own(&self, message: &DiscordMessage) -> bool {
        message.author.id == self.identity.user
    }

    /// Converts the message to plain text with its mentions.
    pub(super) fn to_message(&self, message: &DiscordMessage, location: &Location) -> Message {
        let kind = match (self.is_own(message), message.author.is_bot) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        };
        let (text, mut mentions) = self.read_text(message, location);
        // A message in a thread that the persona opened is put to it, unless it names another user or only closes.
        let is_addressed = location.is_opened_by_persona
            && kind == AuthorKind::Human
            && mentions.is_empty()
            && !only_closes(&text, 0.0);
        if is_addressed {
            mentions.push(Mention::Persona);
        }
        mentions.extend(self.forwarded_message(message).map(Mention::Quote));
        Message {
            conversation: location.conversation.clone(),
            id: message.id.clone(),
            at: message.at,
            author: Author { id: message.author.id.clone(), kind },
            text,
            mentions,
            attachments: parse_files(&message.raw),
            edits: 0,
        }
    }

    /// Returns the message that this one forwards, in the channel where it is stored.
    fn forwarded_message(&self, message: &DiscordMessage) -> Option<QuotedMessage> {
        let mut forwarded = forwarded_message(&message.raw)?;
        // A message of a thread is stored in the thread's channel.
        if let Some((channel, _)) = &mut forwarded.message
            && let Some(there) = self.known_location(channel)
        {
            *channel = there.conversation.channel;
        }
        Some(forwarded)
    }

    fn read_text(&self, message: &DiscordMessage, location: &Location) -> (Arc<str>, Vec<Mention>) {
        let workspace = &location.conversation.workspace;
        let mentioned = |user: &UserId| {
            let mentioned = message.raw["mentions"].as_array()?;
            let mentioned = mentioned.iter().find(|mentioned| mentioned["id"] == user.as_str())?;
            parse_user(mentioned, &mentioned["member"]).map(|user| user.name)
        };
        let channel = |id: &ChannelId| self.visible_channel_name(id, &location.conversation);
        let role = |id: &str| {
            let role = self.cache.guild_role(message.channel_ref.guild?, id)?;
            let is_ours = role.bot.as_ref() == Some(&self.identity.user);
            Some(if is_ours { RoleName::Persona } else { RoleName::Named(role.name) })
        };
        let names = NameLookup {
            persona: &self.identity.user,
            persona_name: &self.persona.name,
            user: &|id| self.cache.user_name(workspace, id).or_else(|| mentioned(id)),
            channel: &channel,
            role: &role,
            time_zone: &self.settings.time_zone,
        };
        let parsed = read_message_text(&message.raw, &names, self.persona.language);
        let mut mentions = parsed.mentions;
        // A reply notifies the author of the message it replies to without naming them.
        let notified = message.raw["mentions"].as_array().into_iter().flatten();
        let notified = notified.filter_map(|mentioned| mentioned["id"].as_str()).map(UserId::new);
        for user in notified.chain(message.replied_user.clone()) {
            let is_persona = user == self.identity.user;
            let mention = if is_persona { Mention::Persona } else { Mention::User(user) };
            if !mentions.contains(&mention) {
                mentions.push(mention);
            }
        }
        let thread = location.conversation.thread.as_ref().map(|it| ChannelId::new(it.as_str()));
        let is_post = thread.is_some_and(|thread| is_thread_starter(message, &thread));
        let text = match location.forum_post_title.as_ref().filter(|_| is_post) {
            Some(title) => format!("**{title}**\n{}", parsed.text).trim_end().into(),
            None => parsed.text.into(),
        };
        (text, mentions)
    }
}

/// Whether a message is in this thread or channel.
fn is_in_channel(message: &Message, channel_ref: &ChannelRef) -> bool {
    let ConversationId { channel, thread, .. } = &message.conversation;
    let stored_in = thread.as_ref().map_or(channel.as_str(), MessageId::as_str);
    stored_in == channel_ref.channel.as_str()
}

impl Location {
    /// Returns the location of a direct message.
    pub(super) fn direct(channel: &ChannelId) -> Self {
        let conversation = ConversationId {
            workspace: direct_workspace(),
            channel: channel.clone(),
            thread: None,
        };
        Self { conversation, is_opened_by_persona: false, forum_post_title: None }
    }
}
