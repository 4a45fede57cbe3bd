//! Hears messages. Plain functions decide what a message leads to; the store commits both together, and its new
//! revision wakes the runner. A platform acknowledges a message after [`Inbox::hear`] has returned.
//!
//! Events come from a platform's connection, from its web hooks, from a backfill of its history, and from the local room.

pub mod addressed;
pub mod channel_cache;
pub mod conversation_cache;
pub mod disposition;
pub mod in_flight;
pub mod late_command;
mod commands;
mod reply_links;
mod shared_messages;

use std::sync::Arc;
use std::time::Instant;

use aizuchi_actions::command::Command;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, ConversationId, Cursor, Deletion, Edit, Heard, Message, MessageId,
    Reaction, ReactionChange, UserId, WorkspaceId,
};
use aizuchi_model::clock::{Clock, duration_from_seconds};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_model::rhythm::{WaitBounds, WaitStrategy};
use aizuchi_model::rules::TimingRules;
use aizuchi_store::archive::Archive;
use aizuchi_store::{HearReceipt, InboxEntry, Store, StoreError};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tracing::{Instrument, Span, field, info_span};

use crate::inbox::channel_cache::ChannelCache;
use crate::inbox::in_flight::InFlight;
use crate::metrics::Metrics;

/// How long a conversation must rest before it is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitSettings {
    pub wait: WaitStrategy,
    /// The shortest adaptive wait.
    pub min_wait_floor_seconds: f64,
    /// The mean of a fixed wait, and the longest adaptive wait.
    pub min_wait_seconds: f64,
    /// The jitter of a fixed wait, as a share of it: uniformly distributed in both directions.
    pub jitter_ratio: f64,
    /// The first unjudged message is judged after this time, even if users are still talking.
    pub max_wait_seconds: f64,
    /// A backfilled mention is answered only if it is younger than this.
    pub max_message_age_seconds: f64,
}

impl Default for WaitSettings {
    fn default() -> Self {
        Self {
            wait: WaitStrategy::default(),
            min_wait_floor_seconds: 15.0,
            min_wait_seconds: 300.0,
            jitter_ratio: 0.3,
            max_wait_seconds: 3600.0,
            max_message_age_seconds: 43_200.0,
        }
    }
}

impl WaitSettings {
    /// Returns these settings with a channel's overrides. If only one of the waits is overridden, the wait while users
    /// talk is still at least as long as the rest.
    pub fn in_channel(self, rules: &TimingRules) -> Self {
        let TimingRules { min_wait_floor_seconds, min_wait_seconds, max_wait_seconds, .. } = *rules;
        let most = max_wait_seconds.unwrap_or(f64::INFINITY);
        let min_wait = min_wait_seconds.unwrap_or(self.min_wait_seconds.min(most));
        Self {
            min_wait_floor_seconds: min_wait_floor_seconds.unwrap_or(self.min_wait_floor_seconds),
            min_wait_seconds: min_wait,
            max_wait_seconds: max_wait_seconds.unwrap_or(self.max_wait_seconds).max(min_wait),
            ..self
        }
    }

    /// Returns the maximum time that a conversation rests before it is judged, if no message follows.
    pub fn longest_rest(&self) -> SignedDuration {
        let spread = match self.wait {
            WaitStrategy::Fixed => self.jitter_ratio,
            WaitStrategy::Adaptive => 0.0,
        };
        duration_from_seconds(self.min_wait_seconds * (1.0 + spread))
    }

    /// Returns the bounds of an adaptive wait.
    pub fn bounds(&self) -> WaitBounds {
        WaitBounds {
            min_rest: duration_from_seconds(self.min_wait_floor_seconds),
            max_rest: duration_from_seconds(self.min_wait_seconds),
            max_wait: duration_from_seconds(self.max_wait_seconds),
        }
    }
}

/// What a platform delivers.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub heard: Heard,
    /// The id that the author's client gave the message, so that a resend under another platform id is recognized.
    pub client_message_id: Option<Arc<str>>,
    /// The position in the platform's stream after this event. It is committed in the same transaction.
    pub cursor: Option<Cursor>,
    /// The message of the same conversation that a live message replies to, as its author marked it.
    pub reply_to: Option<MessageId>,
    /// What a post of the persona that was found in the platform's history answers, if it is marked.
    pub answers: Option<Vec<MessageId>>,
}

impl From<Heard> for Delivery {
    fn from(heard: Heard) -> Self {
        Self { heard, client_message_id: None, cursor: None, reply_to: None, answers: None }
    }
}

/// The entry point for events from platforms.
pub struct Inbox {
    pub store: Arc<dyn Store>,
    /// The source for looking up what commands refer to.
    pub archive: Arc<dyn Archive>,
    pub in_flight: Arc<InFlight>,
    pub channel_cache: Arc<ChannelCache>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    pub wait_settings: WaitSettings,
    pub redaction: Redaction,
    /// The name by which users call the persona, including in commands. `None` turns both off, as in a replay.
    pub persona_name: Option<Arc<str>>,
    /// Other words by which users call it.
    pub also_called: Vec<Arc<str>>,
    /// Whether the persona announces what it hears and stores when it joins a channel.
    pub is_announcing: bool,
    /// How long after a message its memory job is due. `None` turns memory off.
    pub remember_delay: Option<SignedDuration>,
    /// The users' time zone.
    pub zone: TimeZone,
    /// Makes this installation's random draws unique.
    pub random_seed: u64,
}

/// What happens to the text of messages that must be ignored. It is never in a prompt or a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redaction {
    /// It is not stored; users read it on their platform.
    Drop,
    /// It is stored, because the store is where users read it.
    Keep,
}

impl Inbox {
    /// Stores a heard event and its consequences. Returns after the commit. Hearing is idempotent.
    pub fn hear(&self, heard: Heard) -> BoxFuture<'_, Result<HearReceipt, StoreError>> {
        Box::pin(async move { self.deliver(heard.into()).await })
    }

    /// Hears an event together with what else the platform knows.
    pub fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Result<HearReceipt, StoreError>> {
        Box::pin(async move {
            let span = heard_span(&delivery.heard);
            let deletion = match &delivery.heard {
                Heard::Deletion(deletion) => Some(deletion.clone()),
                Heard::Message(..)
                | Heard::Edit(_)
                | Heard::Reaction(_)
                | Heard::Channel(_)
                | Heard::User(_) => None,
            };
            let edit = match &delivery.heard {
                Heard::Edit(edit) => Some(edit.clone()),
                _ => None,
            };
            let receipt = self.hear_delivery(delivery).instrument(span.clone()).await?;
            // The message itself is withheld as a command, so its edit is not.
            if let Some(edit) = edit {
                self.move_edited_plans(&edit).instrument(span.clone()).await?;
            }
            // A deletion that is delivered again finds what is left of them.
            if let Some(deletion) = deletion {
                self.delete_carriers(deletion).instrument(span).await?;
            }
            Ok(receipt)
        })
    }

    /// Loads a workspace's channels, users and orders in force into the channel cache, before its first event.
    pub async fn load_workspace(
        &self,
        archive: &dyn Archive,
        workspace: &WorkspaceId,
    ) -> Result<(), StoreError> {
        for channel in archive.channels(workspace).await? {
            self.channel_cache.update_channel(&channel);
        }
        for user in archive.users(workspace).await? {
            self.channel_cache.update_user(&user);
        }
        self.channel_cache.replace_orders(workspace, &self.store.orders(workspace).await?);
        Ok(())
    }

    async fn hear_delivery(&self, delivery: Delivery) -> Result<HearReceipt, StoreError> {
        let Delivery { heard, client_message_id, cursor, reply_to, answers } = delivery;
        let names = self.own_names(&heard);
        // Before commands are parsed: in a direct message they need no mention.
        let heard = self.address_written(heard, &names);
        // Before calls by name count as mentions: a command needs a mention, since most cannot be undone.
        let command = match self.parse_command(&heard, reply_to.as_ref(), &names) {
            Some(request) => Some(request),
            None => self.find_confirmed(&heard, reply_to.as_ref()).await?,
        };
        let outlasts_forgetting = command.as_ref().is_some_and(|request| {
            request.command.is_about_privacy() && request.command != Command::ForgetMeForSure
        });
        // Before a command is carried out.
        if command.is_some() && !outlasts_forgetting && self.is_forgotten(&heard).await? {
            return Ok(self.unchanged_receipt());
        }
        let mut heard = self.address_called(heard, &names);
        // Held until the message is stored, since its live event and the history may deliver it at the same time.
        let _command_turn = match &command {
            Some(_) => Some(self.channel_cache.lock_for_command().await),
            None => None,
        };
        if let Some(request) = &command {
            // This comes before storing the message, since a stored message is not carried out again.
            self.carry_out_once(request, &heard, client_message_id.as_deref()).await?;
        }
        // Held across the commit, and orders take the same lock, so the disposition is based on the orders at the time
        // of the commit. The holder only ever waits for the store, so there is no deadlock.
        let _turn = self.channel_cache.lock_for_hearing().await;
        if command.is_none() && self.is_forgotten(&heard).await? {
            return Ok(self.unchanged_receipt());
        }
        let is_withheld = self.carries_withheld(&mut heard).await?;
        if is_withheld && matches!(heard, Heard::Edit(_)) {
            return Ok(self.unchanged_receipt());
        }
        // A command is not part of the conversation, so it replies to nothing.
        let mut links = match command {
            None if !is_withheld => self.find_links(&heard, reply_to.as_ref(), &names).await?,
            Some(_) | None => None,
        };
        let given_links = Self::given_links(&heard, reply_to, answers);
        // Only now, since the links tell whether an unmarked message answers the persona.
        let heard = self.address_answer(heard, links.as_ref(), &names).await?;
        let disposition = match command {
            Some(_) => Disposition::Command { due: self.clock.now() },
            None if is_withheld => Disposition::Settled(Gate::OptedOut),
            None => self.disposition(&heard, &names),
        };
        let heard = self.redact(heard, disposition);
        let mut renamed = None;
        match &heard {
            Heard::Channel(channel) => self.channel_cache.update_channel(channel),
            Heard::User(user) => {
                let is_renamed = self.channel_cache.update_user(user);
                renamed = is_renamed.then(|| user.workspace.clone());
            }
            Heard::Message(..) | Heard::Edit(_) | Heard::Deletion(_) | Heard::Reaction(_) => {}
        }
        let conversation = conversation_of(&heard).cloned();
        let message = author_and_arrival(&heard);
        let conversations = &self.channel_cache.conversations;
        // If the commit fails or this future is dropped, the cache may not match the store, and is read again.
        let reread = conversations.drop_unless_kept(changed_conversations(&heard));
        let began = Instant::now();
        let now = self.clock.now();
        let interval = self.remember_delay.filter(|_| self.is_remembered(&heard));
        let remember = interval.map(|interval| now + interval);
        let entry = InboxEntry {
            heard,
            client_message_id,
            cursor,
            disposition,
            links: match &mut links {
                Some(links) => std::mem::take(&mut links.links),
                None => given_links,
            },
            remember_at: remember,
            now,
        };
        let receipt = self.store.hear(entry).await?;
        Span::current().record("decision", receipt.decision.map(|decision| decision.0));
        let is_cached = match (&links, &conversation) {
            (Some(links), Some(conversation)) => {
                conversations.is_current(conversation, links, receipt.is_new)
            }
            // Other messages are not cached, or not yet.
            _ => !receipt.is_new || disposition.is_redacted(),
        };
        if is_cached {
            reread.keep();
        }
        // The cached links were found with the former name.
        if let Some(workspace) = renamed.filter(|_| receipt.is_new) {
            conversations.drop_all_messages(&workspace);
        }
        if let Some((author, arrival)) = message.filter(|_| receipt.is_new) {
            self.metrics.record_heard(author, arrival);
            self.metrics.record_hear_duration(began);
        }
        // Only after the commit, which decides. This saves the rest of a model call, and may be lost.
        if let Some(conversation) = conversation.filter(|_| receipt.has_superseded) {
            self.in_flight.cancel(&conversation);
        }
        Ok(receipt)
    }

    /// The receipt of an event that is not stored.
    fn unchanged_receipt(&self) -> HearReceipt {
        let revision = *self.store.revisions().borrow();
        HearReceipt { is_new: false, has_superseded: false, decision: None, revision }
    }

    /// Whether the platform's history holds a message or a reaction whose author was forgotten since. A reaction in a
    /// history has the time of its message, if the platform does not tell its own.
    async fn is_forgotten(&self, heard: &Heard) -> Result<bool, StoreError> {
        let (workspace, user, at) = match heard {
            Heard::Message(message, Arrival::Backfilled | Arrival::BackfilledAnswered) => {
                (&message.conversation.workspace, &message.author.id, message.at)
            }
            Heard::Reaction(reaction) if reaction.change == ReactionChange::Added => {
                (&reaction.workspace, &reaction.user, reaction.at)
            }
            Heard::Message(..)
            | Heard::Edit(_)
            | Heard::Deletion(_)
            | Heard::Channel(_)
            | Heard::User(_)
            | Heard::Reaction(_) => return Ok(false),
        };
        self.archive.was_forgotten_after(workspace, user, at).await
    }

    /// Announces once per channel what the persona hears and stores, after it may have joined the channel. `persona` is
    /// its own user.
    pub fn announce_join(
        &self,
        conversation: ConversationId,
        persona: UserId,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let (workspace, channel) =
                (conversation.workspace.clone(), conversation.channel.clone());
            let id = Owed::Join.stored_id();
            let is_silent = self.channel_cache.mode(&workspace, &channel).is_silent();
            let is_announcing =
                self.channel_cache.with_rules(&workspace, &channel, |rules| rules.announces);
            if !is_announcing.unwrap_or(self.is_announcing)
                || is_silent
                // Only saves a write: the constant id makes the notice idempotent.
                || self.store.has_heard(&workspace, &channel, &id, None).await?
            {
                return Ok(());
            }
            let now = self.clock.now();
            // A message of the persona's own that is owed a reply, so the notice takes the way of a command's answer.
            let joining = Message {
                conversation,
                id,
                at: now,
                author: Author { id: persona, kind: AuthorKind::Persona },
                text: "".into(),
                mentions: Vec::new(),
                attachments: Vec::new(),
                edits: 0,
            };
            let heard = Heard::Message(joining, Arrival::Live);
            let _turn = self.channel_cache.lock_for_hearing().await;
            self.store
                .hear(InboxEntry::new(heard, Disposition::Command { due: now }, now))
                .await
                .map(|_| ())
        })
    }

    /// Whether a heard event belongs to a conversation that is remembered.
    fn is_remembered(&self, heard: &Heard) -> bool {
        conversation_of(heard).is_none_or(|here| self.channel_cache.remembers(here))
    }

    fn redact(&self, heard: Heard, disposition: Disposition) -> Heard {
        match (heard, self.redaction) {
            // A command must stay readable to be answered.
            (heard, _) if disposition.gate() == Some(Gate::Command) => heard,
            (Heard::Message(message, arrival), Redaction::Drop) if disposition.is_redacted() => {
                Heard::Message(message.erased(), arrival)
            }
            (heard, Redaction::Drop | Redaction::Keep) => heard,
        }
    }
}

/// Returns the span in which a heard event is handled, so that its log lines name its conversation.
fn heard_span(heard: &Heard) -> Span {
    let (event, workspace, channel, message_id) = match heard {
        Heard::Message(message, _) => {
            let ConversationId { workspace, channel, .. } = &message.conversation;
            ("message", workspace, Some(channel), Some(&message.id))
        }
        Heard::Edit(Edit { conversation, message, .. }) => {
            ("edit", &conversation.workspace, Some(&conversation.channel), Some(message))
        }
        Heard::Deletion(Deletion { conversation, message, .. }) => {
            ("deletion", &conversation.workspace, Some(&conversation.channel), Some(message))
        }
        Heard::Reaction(Reaction { workspace, channel, message, .. }) => {
            ("reaction", workspace, Some(channel), Some(message))
        }
        Heard::Channel(channel) => ("channel", &channel.workspace, Some(&channel.id), None),
        Heard::User(user) => ("user", &user.workspace, None, None),
    };
    let (channel, message_id) = (channel.map(field::display), message_id.map(field::display));
    info_span!(
        "hear",
        event,
        platform = workspace.platform(),
        %workspace,
        channel,
        conversation = conversation_of(heard).map(field::display),
        message_id,
        decision = field::Empty,
    )
}

fn author_and_arrival(heard: &Heard) -> Option<(AuthorKind, Arrival)> {
    match heard {
        Heard::Message(message, arrival) => Some((message.author.kind, *arrival)),
        Heard::Edit(_)
        | Heard::Deletion(_)
        | Heard::Channel(_)
        | Heard::User(_)
        | Heard::Reaction(_) => None,
    }
}

fn conversation_of(heard: &Heard) -> Option<&ConversationId> {
    match heard {
        Heard::Message(message, _) => Some(&message.conversation),
        Heard::Edit(edit) => Some(&edit.conversation),
        Heard::Deletion(deletion) => Some(&deletion.conversation),
        Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) => None,
    }
}

/// Returns the conversations whose messages change: a message that opened a thread is part of both.
fn changed_conversations(heard: &Heard) -> Vec<ConversationId> {
    let with_thread = |conversation: &ConversationId, message: &MessageId| {
        let thread = ConversationId { thread: Some(message.clone()), ..conversation.clone() };
        vec![conversation.clone(), thread]
    };
    match heard {
        Heard::Message(message, _) => vec![message.conversation.clone()],
        Heard::Edit(edit) => with_thread(&edit.conversation, &edit.message),
        Heard::Deletion(deletion) => with_thread(&deletion.conversation, &deletion.message),
        Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) => Vec::new(),
    }
}
