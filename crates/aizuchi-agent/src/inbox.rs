//! Hears messages. Plain functions decide what a message leads to; the store commits both together, and its new
//! revision wakes the runner. A platform acknowledges a message after [`Inbox::hear`] has returned.
//!
//! Events come from a platform's connection, from its web hooks, from a backfill of its history, and from the local room.

pub mod calling;
pub mod own_thread;
pub mod channel_cache;
pub mod conversation_cache;
pub mod disposition;
pub mod in_flight;
pub mod late_command;
mod linking;
mod forgetting;
mod quoting;

use std::sync::Arc;
use std::time::Instant;

use aizuchi_actions::confirmation::{PossibleYes, confirmed};
use aizuchi_actions::parse::own_words;
use aizuchi_actions::parse::quiet::Quiet;
use aizuchi_actions::parse::setting::WrittenSetting;
use aizuchi_actions::{Command, CommandRequest, settings, standing_orders, stop_order};
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, ChannelId, ConversationId, Cursor, Deletion, Edit, Heard, Mention,
    Message, MessageId, Reaction, ReactionChange, UserId, WorkspaceId,
};
use aizuchi_model::clock::{Clock, duration_from_seconds};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_model::memory::asker;
use aizuchi_model::persona::spelling::spellings;
use aizuchi_model::rhythm::{WaitBounds, WaitStrategy};
use aizuchi_model::rules::TimingRules;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;
use aizuchi_store::{HearReceipt, InboxEntry, Store, StoreError};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tracing::{Instrument, Span, field, info_span};

use crate::inbox::calling::{is_call, is_named, is_typed_mention};
use crate::inbox::channel_cache::ChannelCache;
use crate::inbox::in_flight::InFlight;
use crate::metrics::Metrics;

/// How much later than a newer message a live one may arrive and still not count as missed.
const MAX_REORDERING: SignedDuration = SignedDuration::from_mins(1);

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
            let receipt = self.hear_delivery(delivery).instrument(span.clone()).await?;
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
        // Before commands are parsed: in a direct message they need no mention.
        let heard = self.address_direct_messages(heard);
        let names = self.own_names(&heard);
        let heard = self.address_if(heard, |conversation, text| {
            is_typed_mention(text, &names)
                && !self.channel_cache.mentions_namesake(&conversation.workspace, text, &names)
        });
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
        let mut heard = self.address_if(heard, |_, text| is_call(text, &names));
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
        let answers_persona = match &heard {
            Heard::Edit(edit) => self.still_answers_persona(edit, &names).await?,
            Heard::Message(message, _) => links.as_ref().is_some_and(|links| {
                // Who names it without a call speaks of it. In a replay its posts were not there for those who wrote.
                links.answers_persona && !is_named(&message.text, &names)
                    || links.follows_up && self.persona_name.is_some()
            }),
            Heard::Deletion(_) | Heard::Reaction(_) | Heard::Channel(_) | Heard::User(_) => false,
        };
        // Only now, since the links tell whether an unmarked message answers the persona.
        let heard = self.address_if(heard, |_, _| answers_persona);
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
            let is_announcing = self.channel_cache.announces(&workspace, &channel);
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

    /// Returns the command in a heard event, if it is one. `names` are the persona's own.
    fn parse_command(
        &self,
        heard: &Heard,
        reply_to: Option<&MessageId>,
        names: &[String],
    ) -> Option<CommandRequest> {
        // Not `BackfilledAnswered`: a command there has been answered.
        let Heard::Message(message, arrival @ (Arrival::Live | Arrival::Backfilled)) = heard else {
            return None;
        };
        let (text, name) = (&*message.text, self.persona_name.as_deref()?);
        let stops = || names.contains(&name.to_lowercase()) && Command::stops_by_name(text, name);
        let is_called = || message.is_human() && (is_call(text, names) || stops());
        if self.is_too_old(message, *arrival) || !message.is_addressed() && !is_called() {
            return None;
        }
        let command = Command::parse_message(text, name)?;
        // A request for silence counts without a mention.
        let asks_for_less = || Quiet::parse(&own_words(text, name)) == Some(Quiet::Less);
        if !message.is_addressed() && !command.is_quieting() && !asks_for_less() {
            return None;
        }
        let request = self.command_request(command, message);
        Some(CommandRequest { reply_to: reply_to.cloned(), ..request })
    }

    /// Returns the command that a message gives by answering “yes” to the persona. Without a mention, nobody else may
    /// have written since the persona was asked.
    async fn find_confirmed(
        &self,
        heard: &Heard,
        reply_to: Option<&MessageId>,
    ) -> Result<Option<CommandRequest>, StoreError> {
        let Heard::Message(message, arrival @ (Arrival::Live | Arrival::Backfilled)) = heard else {
            return Ok(None);
        };
        let Some(name) = &self.persona_name else { return Ok(None) };
        if !message.is_human() || self.is_too_old(message, *arrival) {
            return Ok(None);
        }
        let said = PossibleYes {
            conversation: &message.conversation,
            user: &message.author.id,
            at: message.at,
            text: &message.text,
            is_addressed: message.is_addressed(),
            reply_to,
        };
        let found = confirmed(&*self.store, &*self.archive, said, name).await?;
        Ok(found.map(|(command, text)| CommandRequest {
            text,
            ..self.command_request(command, message)
        }))
    }

    fn command_request(&self, command: Command, message: &Message) -> CommandRequest {
        let ConversationId { workspace, channel, .. } = &message.conversation;
        let role = self.channel_cache.role(workspace, &message.author.id);
        let visibility = self.channel_cache.visibility(workspace, channel);
        CommandRequest::from_message(command, message, visibility, role)
    }

    /// Whether a message was missed for too long to be answered or carried out.
    fn is_too_old(&self, message: &Message, arrival: Arrival) -> bool {
        let age = self.channel_cache.age(message, arrival, self.clock.now());
        let most = duration_from_seconds(self.wait_settings.max_message_age_seconds);
        match arrival {
            Arrival::Live => age >= most.max(MAX_REORDERING),
            Arrival::Backfilled | Arrival::BackfilledAnswered => age >= most,
        }
    }

    /// Carries out the command in a message, unless the message is already stored.
    async fn carry_out_once(
        &self,
        request: &CommandRequest,
        heard: &Heard,
        client_message_id: Option<&str>,
    ) -> Result<(), StoreError> {
        let Heard::Message(message, arrival) = heard else { return Ok(()) };
        let conversation = &message.conversation;
        let is_stored = self
            .store
            .has_heard(
                &conversation.workspace, &conversation.channel, &message.id, client_message_id,
            )
            .await?;
        if is_stored {
            return Ok(());
        }
        // History is read out of order, so a later message may have revoked an order. Requests to be forgotten or left
        // out are carried out anyway, and so are commands that are only seconds late.
        let is_carried_out = *arrival == Arrival::Live
            || request.command.is_about_privacy()
            || self.is_late_command_in_time(message).await?;
        if is_carried_out { self.apply_command(request).await } else { Ok(()) }
    }

    /// Carries out a command that did not come in a message.
    pub fn carry_out<'a>(
        &'a self,
        request: &'a CommandRequest,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let _turn = self.channel_cache.lock_for_command().await;
            self.apply_command(request).await
        })
    }

    /// Applies a command's order, if it has one.
    fn apply_command<'a>(
        &'a self,
        request: &'a CommandRequest,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if request.command == Command::ForgetThat {
                return self.forget_that(request).await;
            }
            if let Command::StandingOrder(_) = request.command {
                return self.change_standing_orders(request).await;
            }
            if let Command::ChangeSetting(_) = request.command {
                return self.change_setting(request).await;
            }
            let Some(mut order) = request.to_order(&self.zone) else { return Ok(()) };
            if request.command == Command::Stop {
                let ConversationId { workspace, channel, .. } = request.conversation.clone();
                let (place, at) = ((workspace, channel), request.at);
                order = stop_order(&*self.store, place, at, request.role).await?;
            }
            self.apply_order(order.signed(asker::sign(&request.user, request.at))).await
        })
    }

    /// Gives, drafts, keeps, changes or drops a standing order, if the user may. The answer reports the result.
    async fn change_standing_orders(&self, request: &CommandRequest) -> Result<(), StoreError> {
        if !request.is_allowed() {
            return Ok(());
        }
        let orders = self.store.orders(&request.conversation.workspace).await?;
        let name = self.persona_name.as_deref().unwrap_or_default();
        let command = request.command.under(&self.channel_cache.rulebook());
        let request = &CommandRequest { command, ..request.clone() };
        let Ok(order) = standing_orders::to_order(request, &orders, name) else { return Ok(()) };
        let signed = order.signed(asker::sign(&request.user, request.at));
        match self.apply_order(signed).await {
            // Another user was faster.
            Ok(()) | Err(StoreError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Changes a setting, if the user may. The answer reports the result.
    async fn change_setting(&self, request: &CommandRequest) -> Result<(), StoreError> {
        if !request.is_allowed() {
            return Ok(());
        }
        let workspace = &request.conversation.workspace;
        let name = self.persona_name.as_deref().unwrap_or_default();
        let rulebook = self.channel_cache.rulebook();
        let find = |name: &str| self.channel_cache.public_channel_named(workspace, name);
        let bar = |channel: &ChannelId| self.channel_cache.min_confidence(workspace, channel);
        let written = WrittenSetting::parse_message(&request.text, name);
        let Ok((_, order)) = settings::to_order(request, written, &rulebook, find, bar) else {
            return Ok(());
        };
        self.apply_order(order.signed(asker::sign(&request.user, request.at))).await
    }

    /// Stores an order. Returns after the commit. The order applies at once, even to work in flight.
    pub fn apply_order(&self, order: Order) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let _turn = self.channel_cache.lock_for_order().await;
            // This comes before the store, because the order applies even if the caller stops waiting here.
            let now = self.clock.now();
            self.channel_cache.apply_order(&order, now);
            let conversations = &self.channel_cache.conversations;
            let stored = self.store.order(order.clone(), now).await;
            // Even after an error, since the order may be stored nevertheless.
            if order.effects().changes_messages {
                conversations.drop_all_messages(order.workspace());
            }
            // Whether it is stored or not, the store knows what is in force.
            if stored.is_err() {
                let orders = self.store.orders(order.workspace()).await?;
                self.channel_cache.replace_orders(order.workspace(), &orders);
            }
            stored
        })
    }

    /// Adds a mention of the persona to every direct message.
    fn address_direct_messages(&self, heard: Heard) -> Heard {
        self.address_if(heard, |conversation, _| {
            self.channel_cache.is_direct(&conversation.workspace, &conversation.channel)
        })
    }

    /// Returns the spellings of the persona's names that no user has where an event was heard.
    fn own_names(&self, heard: &Heard) -> Vec<String> {
        let (Some(name), Some(here)) = (&self.persona_name, conversation_of(heard)) else {
            return Vec::new();
        };
        let mut names = self.channel_cache.persona_names(&here.workspace);
        names.push(name.clone());
        names.extend(self.also_called.iter().cloned());
        let is_free = |name: &String| {
            !name.is_empty() && !self.channel_cache.has_human_named(&here.workspace, name)
        };
        names.iter().flat_map(|name| spellings(name)).filter(is_free).collect()
    }

    /// Adds a mention of the persona to a human's message or an edit for which `holds` returns true.
    fn address_if(&self, heard: Heard, holds: impl Fn(&ConversationId, &str) -> bool) -> Heard {
        let mentions = |conversation: &ConversationId, text: &str, mut mentions: Vec<Mention>| {
            if !mentions.contains(&Mention::Persona) && holds(conversation, text) {
                mentions.push(Mention::Persona);
            }
            mentions
        };
        match heard {
            Heard::Message(message, arrival) if message.is_human() => {
                let mentions = mentions(&message.conversation, &message.text, message.mentions);
                Heard::Message(Message { mentions, ..message }, arrival)
            }
            Heard::Edit(edit) => {
                let mentions = mentions(&edit.conversation, &edit.text, edit.mentions);
                Heard::Edit(Edit { mentions, ..edit })
            }
            heard @ (Heard::Message(..)
            | Heard::Deletion(_)
            | Heard::Reaction(_)
            | Heard::Channel(_)
            | Heard::User(_)) => heard,
        }
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
