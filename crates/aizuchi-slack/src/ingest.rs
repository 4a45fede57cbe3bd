//! Turns Slack's events into [`Heard`] and passes them to the inbox. An event is acknowledged to Slack only after
//! [`SlackPlatform::ingest`] has returned `true`.

use aizuchi_agent::inbox::Delivery;
use aizuchi_agent::inbox::late_command::LATE_COMMAND_WINDOW;
use aizuchi_agent::metrics::labels::{MalformedInput, PlatformTask};
use aizuchi_http::log_sentence::to_log_sentence;
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Message, Reaction, Role, User, UserId, Visibility,
};
use aizuchi_platform::emoji_names;
use aizuchi_platform::incidents::Panicked;
use aizuchi_store::{HearReceipt, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::{Instrument as _, info_span, warn};

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::cache::{CachedChannel, Membership};
use crate::files::parse_files;
use crate::from_slack::{self, SlackEvent, SlackMessage, SlackUser, non_empty_str, parse_event};
use crate::mrkdwn::NameLookup;
use crate::mrkdwn::message::read_message;

/// Why an event or a piece of history could not be ingested.
#[derive(Debug, thiserror::Error)]
pub(super) enum IngestError {
    #[error(transparent)]
    Slack(#[from] SlackApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Backfill(#[from] anyhow::Error),
}

/// The interval between lookups of an unknown channel after a failure, and of one that the bot has left.
const CHANNEL_LOOKUP_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// How long a message waits for the role of its author, or for the membership in its channel. Slack redelivers an event
/// that is not acknowledged within 3 seconds.
const LOOKUP_TIMEOUT: SignedDuration = SignedDuration::from_secs(2);

impl SlackPlatform {
    /// Ingests an event. Returns whether to acknowledge it; Slack redelivers an unacknowledged event a few times.
    pub async fn ingest(&self, payload: &Value) -> bool {
        let event = &payload["event"];
        let channel = from_slack::parse_channel_id(event);
        let span = info_span!(
            "slack event",
            platform = "slack",
            workspace = %self.identity.workspace,
            channel = channel.as_ref().map(ChannelId::as_str),
            event = non_empty_str(&event["type"]),
        );
        let ingesting = self.incidents.contain(PlatformTask::Event, self.ingest_event(payload));
        let failure = match ingesting.instrument(span.clone()).await {
            Ok(Ok(())) => return true,
            Ok(Err(IngestError::Store(StoreError::Refused(why)))) => {
                // A redelivery would be refused as well.
                span.in_scope(|| warn!(error = %why, "the store refused an event; dropping it"));
                return true;
            }
            Ok(Err(error)) => error.to_string(),
            Err(Panicked) => "a defect in the program".to_owned(),
        };
        let _entered = span.entered();
        warn!(error = failure, "an event could not be ingested; Slack will deliver it again");
        // If Slack gives up on the event, the backfill finds it.
        if let Some(channel) = channel {
            self.backfill_later(&channel);
        }
        false
    }

    async fn ingest_event(&self, payload: &Value) -> Result<(), IngestError> {
        if !self.is_for_this_workspace(payload) {
            return Ok(());
        }
        match parse_event(payload) {
            SlackEvent::Message(message) => {
                self.recheck_left_channel(&message.channel).await;
                self.hear_message(&message, Arrival::Live).await.map(|_| ())
            }
            SlackEvent::MessageChanged { message, at } => {
                self.hear_changed_message(&message, at).await
            }
            SlackEvent::MessageDeleted { message, at } => self.hear_deletion(&message, at).await,
            SlackEvent::Reaction(reaction) => Ok(self.hear_reaction(reaction).await?),
            SlackEvent::MemberJoined { channel, user } if user == self.identity.user => {
                self.ensure_channel(&channel, None).await?;
                if let Some(cached) = self.cache.channel(&channel) {
                    // The cached channel may say that the bot has left.
                    self.hear_channel(cached.channel, Membership::Member).await?;
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
            SlackEvent::UserChanged(user) => Ok(self.hear_user(&user).await?),
            SlackEvent::AppUninstalled => {
                self.bot_access.revoke("the app was uninstalled");
                Ok(())
            }
            SlackEvent::TokensRevoked(bots) => {
                // The event also reports tokens of users, and may refer to a token that has been replaced in the
                // meantime.
                if bots.contains(&self.identity.user) {
                    self.cache.request_token_check();
                }
                Ok(())
            }
            SlackEvent::RateLimited => {
                warn!("Slack drops events because of its rate limit; the backfill will find them");
                // The limit lasts for a minute, so the backfill waits as well.
                self.backfill_all_later();
                Ok(())
            }
            SlackEvent::Malformed => {
                let kind = non_empty_str(&payload["event"]["type"]).unwrap_or("an event");
                self.incidents.record_malformed(MalformedInput::Event, &to_log_sentence(kind));
                Ok(())
            }
            SlackEvent::Ignored => Ok(()),
        }
    }

    /// Hears a message. Returns `None` for the bot's own new posts.
    pub(super) async fn hear_message(
        &self,
        message: &SlackMessage,
        arrival: Arrival,
    ) -> Result<Option<HearReceipt>, IngestError> {
        // The runner stores its own posts itself, and may not have committed this one yet.
        if self.is_own(message) && message.key.is_some() && arrival == Arrival::Live {
            self.posts_in_events.record(message, self.now());
            return Ok(None);
        }
        self.ensure_channel(&message.channel, message.visibility).await?;
        self.ensure_author(message).await?;
        let heard = Heard::Message(self.to_message(message), arrival);
        let client_message_id = message.client_message_id.clone();
        let answers = message.answers.clone().filter(|_| self.is_own(message));
        let delivery = Delivery { client_message_id, answers, ..heard.into() };
        Ok(Some(self.inbox.deliver(delivery).await?))
    }

    /// Hears an edited message: as an edit, or as a new message if it is not stored yet.
    async fn hear_changed_message(
        &self,
        message: &SlackMessage,
        at: Timestamp,
    ) -> Result<(), IngestError> {
        let receipt = self.hear_message(message, Arrival::of_edited(message.at, at)).await?;
        if receipt.is_none_or(|receipt| receipt.is_new) {
            return Ok(());
        }
        Ok(self.hear_edit(message, at, at).await?)
    }

    /// Hears an edit of a stored message. Its times are those of [`Edit`].
    pub(super) async fn hear_edit(
        &self,
        message: &SlackMessage,
        at: Timestamp,
        made_at: Timestamp,
    ) -> Result<(), StoreError> {
        let Message { conversation, id: message, text, mentions, attachments, .. } =
            self.to_message(message);
        let attachments = Some(attachments);
        let edit = Edit { conversation, message, at, made_at, text, mentions, attachments };
        self.inbox.hear(Heard::Edit(edit)).await.map(|_| ())
    }

    /// Hears a deletion. For a message that is not stored yet, an empty message is stored first, so that a late
    /// delivery of the original does not bring it back.
    pub(super) async fn hear_deletion(
        &self,
        message: &SlackMessage,
        at: Timestamp,
    ) -> Result<(), IngestError> {
        let workspace = &self.identity.workspace;
        let stored = self.archive.message(workspace, &message.channel, &message.id).await?;
        let conversation = match stored {
            Some(stored) => stored.message.conversation.clone(),
            None => {
                self.ensure_channel(&message.channel, message.visibility).await?;
                let message = self.to_message(message);
                let message = message.erased();
                let conversation = message.conversation.clone();
                // Counts as answered: nothing is owed to a message that is gone.
                self.inbox.hear(Heard::Message(message, Arrival::BackfilledAnswered)).await?;
                conversation
            }
        };
        let deletion = Deletion { conversation, message: message.id.clone(), at };
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
            emoji: emoji_names::to_character(&reaction.emoji_name).into(),
            at: reaction.at,
            change: reaction.change,
        };
        self.inbox.hear(Heard::Reaction(heard)).await.map(|_| ())
    }

    pub(super) async fn hear_user(&self, user: &SlackUser) -> Result<(), StoreError> {
        // `register` stores the persona under its own name, which may differ from that of the Slack app.
        if user.id == self.identity.user {
            let names = vec![user.name.clone()];
            self.inbox.channel_cache.name_persona(&self.identity.workspace, names);
            return Ok(());
        }
        let kind = if user.is_bot { AuthorKind::Bot } else { AuthorKind::Human };
        let workspace = self.identity.workspace.clone();
        let SlackUser { id, name, role, zone, .. } = user.clone();
        let user = User { workspace, id, name, kind, role, zone };
        if self.cache.is_current(&user) {
            return Ok(());
        }
        self.inbox.hear(Heard::User(user.clone())).await?;
        // Only after the commit: a cached user is not stored again.
        self.cache.put_user(user);
        Ok(())
    }

    /// Hears a channel's name and visibility, and whether the bot is a member of it.
    pub(super) async fn hear_channel(
        &self,
        channel: Channel,
        membership: Membership,
    ) -> Result<(), StoreError> {
        let before = self.cache.channel(&channel.id);
        if before.as_ref().is_none_or(|before| before.channel != channel) {
            self.inbox.hear(Heard::Channel(channel.clone())).await?;
        }
        let id = channel.id.clone();
        let was = before.map(|before| before.membership);
        if membership == Membership::Member && matches!(was, Some(Membership::NotMember) | None) {
            // Before the channel is cached: if storing the join fails, the next event tries again.
            self.join_channel(id.clone()).await?;
        }
        // Only after the commit: a cached channel is not stored again.
        self.cache.put_channel(CachedChannel { channel, membership });
        match (was, membership) {
            (Some(Membership::Member), Membership::Member) => {}
            // The bot was a member when it stopped.
            (Some(Membership::Unknown), Membership::Member) => self.backfill.enqueue(&id),
            (Some(Membership::NotMember) | None, Membership::Member) => {
                self.backfill.join_channel(&id, self.now())
            }
            (_, Membership::NotMember | Membership::Unknown) => self.backfill.leave_channel(&id),
        }
        Ok(())
    }

    /// Announces that the bot has joined, except in a direct message, whose user knows that the bot reads it.
    async fn join_channel(&self, channel: ChannelId) -> Result<(), StoreError> {
        let workspace = self.identity.workspace.clone();
        if self.inbox.channel_cache.is_direct(&workspace, &channel) {
            return Ok(());
        }
        let conversation = ConversationId { workspace, channel, thread: None };
        self.inbox.announce_join(conversation, self.identity.user.clone()).await
    }

    /// Makes a channel private that was public.
    async fn restrict_channel(&self, channel: &ChannelId) -> Result<(), StoreError> {
        if let Some(cached) = self.cache.channel(channel) {
            let private = Channel { visibility: Visibility::Private, ..cached.channel };
            self.hear_channel(private, cached.membership).await?;
        }
        self.cache.request_channel(channel);
        Ok(())
    }

    /// Makes a channel private whose history says that it became private, unless it has become public again since.
    pub(super) async fn confirm_private(&self, channel: &ChannelId) -> Result<(), StoreError> {
        let cached = self.cache.channel(channel);
        let is_public = cached.is_some_and(|it| it.channel.visibility == Visibility::Public);
        if is_public && self.fetch_channel(channel).await.is_err() {
            self.restrict_channel(channel).await?;
        }
        Ok(())
    }

    /// Makes sure that a channel is stored before anything is heard in it, because its visibility is stamped on each
    /// message. A channel that Slack does not describe counts as private.
    async fn ensure_channel(
        &self,
        channel: &ChannelId,
        visibility: Option<Visibility>,
    ) -> Result<(), IngestError> {
        if let Some(cached) = self.cache.channel(channel) {
            let is_public = cached.channel.visibility == Visibility::Public;
            if is_public && visibility == Some(Visibility::Private) {
                // It became private while we were disconnected.
                self.restrict_channel(channel).await?;
            } else if cached.membership == Membership::Unknown {
                // Only members receive events.
                self.hear_channel(cached.channel, Membership::Member).await?;
            }
            return Ok(());
        }
        // Many messages of a new channel may arrive at once; only one of them asks Slack.
        let mut failed = self.failed_channel_lookups.lock().await;
        if self.cache.channel(channel).is_some() {
            return Ok(());
        }
        // During an outage, each of the waiting messages would otherwise call Slack in turn.
        if self.is_within_lookup_interval(failed.get(channel)) {
            return Err(SlackApiError::Unreachable("it was asked just now".to_owned()).into());
        }
        let arguments = [("channel", channel.to_string())];
        match self.call("conversations.info", &arguments).await {
            Ok(answer) if self.to_channel(&answer["channel"]).is_some() => {
                self.hear_channel_info(&answer["channel"]).await
            }
            answer @ (Ok(_) | Err(SlackApiError::Refused(_))) => {
                if answer.is_ok() {
                    let method = "conversations.info";
                    self.incidents.record_malformed(MalformedInput::Response, method);
                }
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
                    topic: None,
                };
                Ok(self.hear_channel(unknown, Membership::Member).await?)
            }
            // Slack delivers the event again.
            Err(error) => {
                failed.insert(channel.clone(), self.steady_now());
                Err(error.into())
            }
        }
    }

    /// Asks Slack whether the bot is a member again of a channel that it has left. Only members receive events, and the
    /// event of its return may be lost, or be followed by a late one of its removal.
    async fn recheck_left_channel(&self, channel: &ChannelId) {
        let has_left = || {
            let cached = self.cache.channel(channel);
            cached.is_some_and(|cached| cached.membership == Membership::NotMember)
        };
        if !has_left() {
            return;
        }
        let mut failed = self.failed_channel_lookups.lock().await;
        // Messages from before the bot left may arrive late, many at once.
        if !has_left() || self.is_within_lookup_interval(failed.get(channel)) {
            return;
        }
        let fetched = self.clock.timeout(LOOKUP_TIMEOUT, self.fetch_channel(channel)).await;
        if !matches!(fetched, Ok(Ok(()))) {
            self.cache.request_channel(channel);
        }
        if has_left() {
            failed.insert(channel.clone(), self.steady_now());
        }
    }

    fn is_within_lookup_interval(&self, failed: Option<&Timestamp>) -> bool {
        failed.is_some_and(|at| self.steady_now().duration_since(*at) < CHANNEL_LOOKUP_INTERVAL)
    }

    /// An app that is installed in several workspaces receives the events of all of them.
    fn is_for_this_workspace(&self, payload: &Value) -> bool {
        let installations = payload["authorizations"].as_array().into_iter().flatten();
        let mut teams = installations
            .filter_map(|installation| non_empty_str(&installation["team_id"]))
            .peekable();
        teams.peek().is_none() || teams.any(|team| team == self.identity.workspace.as_str())
    }

    pub(super) fn leave_channel(&self, channel: &ChannelId) {
        self.cache.leave_channel(channel);
        self.backfill.leave_channel(channel);
    }

    async fn ensure_author(&self, message: &SlackMessage) -> Result<(), StoreError> {
        if !message.is_bot || self.is_own(message) {
            match self.may_be_command(message) {
                true => self.ensure_user(&message.author).await,
                false => self.request_unknown_user(&message.author),
            }
            return Ok(());
        }
        if self.cache.author_kind(&message.author).is_some() {
            return Ok(());
        }
        if is_posted_for_user(&message.raw) {
            self.request_unknown_user(&message.author);
            return Ok(());
        }
        let names = [&message.raw["username"], &message.raw["bot_profile"]["name"]];
        let name = names.into_iter().find_map(non_empty_str).unwrap_or(message.author.as_str());
        let name = aizuchi_model::chat::to_single_line(name).into();
        let (id, role) = (message.author.clone(), Role::Member);
        self.hear_user(&SlackUser { id, name, is_bot: true, role, zone: None }).await
    }

    /// Whether a message may be a command recent enough to be executed. A backfill of old messages does not wait for
    /// roles.
    fn may_be_command(&self, message: &SlackMessage) -> bool {
        let is_recent = self.now().duration_since(message.at).abs() <= LATE_COMMAND_WINDOW;
        let is_direct = message.channel.as_str().starts_with('D');
        is_recent && (is_direct || message.text.contains(&format!("<@{}", self.identity.user)))
    }

    /// Fetches a user who is not cached. Commands depend on the role of their author, and right after the first start
    /// they may arrive before the list of users. If Slack does not respond soon, the user is treated as a member.
    pub(super) async fn ensure_user(&self, user: &UserId) {
        if *user == self.identity.user || self.cache.author_kind(user).is_some() {
            return;
        }
        let fetched = self.clock.timeout(LOOKUP_TIMEOUT, self.fetch_user(user)).await;
        if !matches!(fetched, Ok(Ok(()))) {
            self.cache.request_user(user);
        }
    }

    /// Requests a user's name, unless it is cached.
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

    pub(super) fn is_own(&self, message: &SlackMessage) -> bool {
        message.author == self.identity.user
    }

    /// Converts the message to plain text with its mentions.
    pub(super) fn to_message(&self, message: &SlackMessage) -> Message {
        let read = self.with_names(&message.channel, |names| read_message(&message.raw, names));
        let kind = match self.author_kind(&message.author) {
            AuthorKind::Human if message.is_bot => AuthorKind::Bot,
            kind => kind,
        };
        Message {
            conversation: ConversationId {
                workspace: self.identity.workspace.clone(),
                channel: message.channel.clone(),
                thread: message.thread.clone(),
            },
            id: message.id.clone(),
            at: message.at,
            author: Author { id: message.author.clone(), kind },
            text: read.text.into(),
            mentions: read.mentions,
            attachments: parse_files(&message.raw),
            edits: 0,
        }
    }

    /// Reads a text with the names that are shown in this channel.
    pub(super) fn with_names<T>(
        &self,
        place: &ChannelId,
        read: impl FnOnce(&NameLookup<'_>) -> T,
    ) -> T {
        let channel = |id: &ChannelId| {
            // The name of a private channel is shown only in that channel.
            let cached = self.cache.channel(id)?;
            let is_visible = cached.channel.visibility == Visibility::Public || id == place;
            is_visible.then_some(cached.channel.name)
        };
        let names = NameLookup {
            persona: &self.identity.user,
            persona_name: &self.persona.name,
            user: &|id| self.cache.user_name(id),
            channel: &channel,
            group: &|id| self.cache.group_name(id),
        };
        read(&names)
    }
}

/// Whether an app seems to have posted this in the name of a user. That user is no bot and has a name of its own.
fn is_posted_for_user(raw: &Value) -> bool {
    let (user, app_user) = (non_empty_str(&raw["user"]), &raw["bot_profile"]["user_id"]);
    user.is_some() && non_empty_str(&raw["bot_id"]).is_some() && non_empty_str(app_user) != user
}
