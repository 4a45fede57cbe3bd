//! Takes in messages. Plain functions decide what a message leads to; the store commits both together, and its
//! new revision wakes the runner. A platform acknowledges a message after [`Inbox::hear`] has returned.

pub mod calling;
pub mod channel_cache;
pub mod conversation_cache;
pub mod in_flight;

use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use tracing::{Instrument, Span, field, info_span, warn};

use crate::chat::{
    Arrival, Author, AuthorKind, ConversationId, Cursor, Deletion, Edit, Heard, Mention, Message,
    MessageId, Reaction, UserId, WorkspaceId,
};
use crate::clock::{Clock, duration_from_seconds, seeded_random};
use crate::command::{Command, CommandRequest, STOP_DURATION};
use crate::context::links::MessageLinks;
use crate::decision::gate::Gate;
use crate::event::{Debounce, Disposition, OnNewMessage};
use crate::inbox::calling::is_call;
use crate::inbox::channel_cache::ChannelCache;
use crate::inbox::conversation_cache::HeardLinks;
use crate::inbox::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::rhythm::{WaitBounds, WaitStrategy};
use crate::rules::Mode;
use crate::store::{Archive, HearReceipt, InboxEntry, Order, Store, StoreError};

/// Direct messages written in quick succession get one answer: the persona waits this long for more.
const DIRECT_MESSAGE_WAIT: SignedDuration = SignedDuration::from_secs(2);

/// How long a conversation must rest before it is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitSettings {
    pub wait: WaitStrategy,
    /// The shortest adaptive wait.
    pub min_wait_floor_seconds: f64,
    /// The mean of a fixed wait, and the longest adaptive wait.
    pub min_wait_seconds: f64,
    /// The jitter of a fixed wait: it is uniformly distributed within this share on both sides.
    pub jitter_ratio: f64,
    /// The first message that was not judged is judged after this time even if users still talk.
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
    /// The bounds of an adaptive wait.
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
    /// How far the platform's stream has been heard with this. It is committed in the same transaction.
    pub cursor: Option<Cursor>,
    /// The message of the same conversation that a live message replies to, as its author marked it.
    pub reply_to: Option<MessageId>,
}

impl From<Heard> for Delivery {
    fn from(heard: Heard) -> Self {
        Self { heard, client_message_id: None, cursor: None, reply_to: None }
    }
}

/// Where platforms deliver.
pub struct Inbox {
    pub store: Arc<dyn Store>,
    pub in_flight: Arc<InFlight>,
    pub channel_cache: Arc<ChannelCache>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    pub wait_settings: WaitSettings,
    pub redaction: Redaction,
    /// The name that users call the persona by, also in commands. `None` turns both off, as in a replay.
    pub persona_name: Option<Arc<str>>,
    /// Whether the persona announces in each channel that it joins what it hears and stores.
    pub is_announcing: bool,
    /// How long after a message its memory job is due. `None` turns memory off.
    pub remember_delay: Option<SignedDuration>,
    /// Makes the random draws of this installation its own.
    pub random_seed: u64,
}

/// What happens to the text of messages that must be ignored. In no case is it in a prompt or a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redaction {
    /// It is not stored; users read it on their platform.
    Drop,
    /// It is stored, because the store is where users read it.
    Keep,
}

impl Inbox {
    /// Stores what was heard and what follows from it. Returns after the commit. Hearing is idempotent.
    pub async fn hear(&self, heard: Heard) -> Result<HearReceipt, StoreError> {
        self.deliver(heard.into()).await
    }

    /// The same with what a platform knows besides.
    pub async fn deliver(&self, delivery: Delivery) -> Result<HearReceipt, StoreError> {
        let span = heard_span(&delivery.heard);
        self.ingest(delivery).instrument(span).await
    }

    /// Loads a workspace's channels, users and standing orders into the channel cache, before its first event.
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

    async fn ingest(&self, delivery: Delivery) -> Result<HearReceipt, StoreError> {
        let Delivery { heard, client_message_id, cursor, reply_to } = delivery;
        let heard = self.address_direct_messages(heard);
        let command = self.parse_command(&heard);
        let heard = self.address_calls(heard);
        if let Some(request) = &command {
            // Before it is stored, since a stored message is not carried out again.
            self.carry_out_once(request, &heard, client_message_id.as_deref()).await?;
        }
        // Held across the commit, and orders hold it too, so the disposition is based on the orders at the time
        // of the commit. The lock only ever waits for the store, so there is no deadlock.
        let _turn = self.channel_cache.lock_for_hearing().await;
        let mut links = match command {
            Some(_) => None,
            None => self.find_links(&heard, reply_to.as_ref()).await?,
        };
        let given_links = given_links(&heard, reply_to);
        let answers_persona = links.as_ref().is_some_and(|links| links.answers_persona);
        let heard = self.address_if(heard, |_, _| answers_persona);
        let disposition = match command {
            Some(_) => Disposition::Command { due: self.clock.now() },
            None => self.disposition(&heard),
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
        let reread = conversations.drop_unless_kept(changed_conversations(&heard));
        let began = Instant::now();
        let now = self.clock.now();
        let remember = self.remember_delay.map(|interval| now + interval);
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
        let is_cached = match (&links, &conversation) {
            (Some(links), Some(conversation)) => {
                conversations.is_current(conversation, links, receipt.is_new)
            }
            // The others are not to be cached, or not yet.
            _ => !receipt.is_new || disposition.is_redacted(),
        };
        if is_cached {
            reread.keep();
        }
        if let Some(workspace) = renamed.filter(|_| receipt.is_new) {
            conversations.drop_all_messages(&workspace);
        }
        if let Some((author, arrival)) = message.filter(|_| receipt.is_new) {
            self.metrics.record_heard(author, arrival);
            self.metrics.record_hear_duration(began);
        }
        if let Some(conversation) = conversation.filter(|_| receipt.has_superseded) {
            self.in_flight.cancel(&conversation);
        }
        Ok(receipt)
    }

    /// Finds what a message replies to, unless the platform says so, and reads its conversation from the store if it
    /// is not known yet. `None` if the conversation has no such message, or not yet.
    async fn find_links(
        &self,
        heard: &Heard,
        reply_to: Option<&MessageId>,
    ) -> Result<Option<HeardLinks>, StoreError> {
        let conversations = &self.channel_cache.conversations;
        let now = self.clock.now();
        match heard {
            Heard::Message(message, Arrival::Live) if self.is_listened_to(message) => {
                let names = self.channel_cache.names_in(message);
                loop {
                    if let Some(links) = conversations.push(message, &names, reply_to) {
                        return Ok(Some(links));
                    }
                    if !self.read_conversation(&message.conversation, now).await? {
                        return Ok(None);
                    }
                }
            }
            Heard::Edit(Edit { conversation, .. })
            | Heard::Deletion(Deletion { conversation, .. })
                if !conversations.has_timer(conversation) =>
            {
                self.read_conversation(conversation, now).await.map(|_| None)
            }
            Heard::Message(..)
            | Heard::Edit(_)
            | Heard::Deletion(_)
            | Heard::Reaction(_)
            | Heard::Channel(_)
            | Heard::User(_) => Ok(None),
        }
    }

    /// Takes a conversation over from the store. Whether that can be read: a message must be heard even if not.
    async fn read_conversation(
        &self,
        conversation: &ConversationId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let conversations = &self.channel_cache.conversations;
        let Some(missing) = conversations.missing(conversation, now) else { return Ok(true) };
        let window = conversation_cache::window(now);
        let context = match self.store.context(conversation, &window).await {
            Ok(context) => context,
            Err(StoreError::Busy(why)) => return Err(StoreError::Busy(why)),
            Err(error) => {
                warn!(error = %error, "the conversation cannot be read; the message is heard without links");
                return Ok(false);
            }
        };
        let parent = context.conversation_history.top_level_messages.iter();
        let parent = parent.filter(|message| Some(&message.id) == conversation.thread.as_ref());
        let messages = context.target_messages().iter().chain(parent);
        let names: Vec<_> =
            messages.flat_map(|message| self.channel_cache.names_in(message)).collect();
        conversations.restore(missing, &context, &names, &self.wait_settings.bounds());
        Ok(true)
    }

    fn is_listened_to(&self, message: &Message) -> bool {
        let ConversationId { workspace, channel, .. } = &message.conversation;
        let is_off = || self.channel_cache.mode(workspace, channel) == Mode::Off;
        let has_opted_out = || {
            message.is_human() && self.channel_cache.has_opted_out(workspace, &message.author.id)
        };
        !is_off() && !has_opted_out()
    }

    /// Announces once per channel what the persona hears and stores, after it may have joined the channel.
    /// `persona` is its own user.
    pub async fn announce_join(
        &self,
        conversation: ConversationId,
        persona: UserId,
    ) -> Result<(), StoreError> {
        let (workspace, channel) = (conversation.workspace.clone(), conversation.channel.clone());
        let id = MessageId::join();
        let is_silent = self.channel_cache.mode(&workspace, &channel).is_silent();
        if !self.is_announcing
            || is_silent
            || self.store.has_heard(&workspace, &channel, &id, None).await?
        {
            return Ok(());
        }
        let now = self.clock.now();
        let joining = Message {
            conversation,
            id,
            at: now,
            author: Author { id: persona, kind: AuthorKind::Persona },
            text: "".into(),
            mentions: Vec::new(),
            edits: 0,
        };
        let heard = Heard::Message(joining, Arrival::Live);
        let _turn = self.channel_cache.lock_for_hearing().await;
        self.store
            .hear(InboxEntry::new(heard, Disposition::Command { due: now }, now))
            .await
            .map(|_| ())
    }

    /// The command in what was heard, if it is one.
    fn parse_command(&self, heard: &Heard) -> Option<CommandRequest> {
        let Heard::Message(message, arrival @ (Arrival::Live | Arrival::Backfilled)) = heard else {
            return None;
        };
        let conversation = &message.conversation;
        let age = self.channel_cache.age(message, *arrival, self.clock.now());
        if !message.is_addressed()
            || age >= duration_from_seconds(self.wait_settings.max_message_age_seconds)
        {
            return None;
        }
        let command = Command::parse_message(&message.text, self.persona_name.as_deref()?)?;
        let role = self.channel_cache.role(&conversation.workspace, &message.author.id);
        let visibility =
            self.channel_cache.visibility(&conversation.workspace, &conversation.channel);
        Some(CommandRequest::from_message(command, message, visibility, role))
    }

    /// Carries out the command in a message, unless the message is stored already.
    async fn carry_out_once(
        &self,
        request: &CommandRequest,
        heard: &Heard,
        client_message_id: Option<&str>,
    ) -> Result<(), StoreError> {
        let Heard::Message(message, arrival) = heard else { return Ok(()) };
        // History is read out of order, so a later message may have revoked an order. Requests to be forgotten
        // or left out are carried out anyway.
        let is_about_privacy =
            matches!(request.command, Command::ForgetMeForSure | Command::OptOut | Command::Reset);
        let is_in_time = *arrival == Arrival::Live || is_about_privacy;
        let conversation = &message.conversation;
        let is_stored = self
            .store
            .has_heard(
                &conversation.workspace,
                &conversation.channel,
                &message.id,
                client_message_id,
            )
            .await?;
        if is_stored || !is_in_time { Ok(()) } else { self.carry_out(request).await }
    }

    /// Applies a command's order, if it has one. `stop` never shortens a mute.
    pub async fn carry_out(&self, request: &CommandRequest) -> Result<(), StoreError> {
        let Some(order) = request.to_order() else { return Ok(()) };
        if request.command == Command::Stop {
            let orders = self.store.orders(order.workspace()).await?;
            if orders
                .channel_mute(&request.conversation.channel, request.at + STOP_DURATION)
                .is_some()
            {
                return Ok(());
            }
        }
        self.apply_order(order).await
    }

    /// Stores an order. Returns after the commit. The order applies at once, also to work in flight.
    pub async fn apply_order(&self, order: Order) -> Result<(), StoreError> {
        let _turn = self.channel_cache.lock_for_order().await;
        // Before the store, because the order applies even if the caller stops waiting here.
        self.channel_cache.apply_order(&order);
        let conversations = &self.channel_cache.conversations;
        let stored = self.store.order(order.clone(), self.clock.now()).await;
        if order.changes_messages() {
            conversations.drop_all_messages(order.workspace());
        }
        if stored.is_err() {
            let orders = self.store.orders(order.workspace()).await?;
            self.channel_cache.replace_orders(order.workspace(), &orders);
        }
        stored
    }

    /// In a direct message every message is addressed to the persona.
    fn address_direct_messages(&self, heard: Heard) -> Heard {
        self.address_if(heard, |conversation, _| {
            self.channel_cache.is_direct(&conversation.workspace, &conversation.channel)
        })
    }

    /// A message that calls the persona by its name is addressed to it, unless a user has that name. Commands are not
    /// called: most of them cannot be undone.
    fn address_calls(&self, heard: Heard) -> Heard {
        self.address_if(heard, |ConversationId { workspace, .. }, text| {
            self.persona_name.as_deref().is_some_and(|name| {
                is_call(text, name) && !self.channel_cache.has_human_named(workspace, name)
            })
        })
    }

    /// Adds a mention of the persona to a human's message or an edit for which this holds.
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

    fn redact(&self, heard: Heard, disposition: Disposition) -> Heard {
        match (heard, self.redaction) {
            // A command must stay readable to be answered.
            (heard, _) if disposition.gate() == Some(Gate::Command) => heard,
            (Heard::Message(message, arrival), Redaction::Drop) if disposition.is_redacted() => {
                let (text, mentions) = ("".into(), Vec::new());
                Heard::Message(Message { text, mentions, ..message }, arrival)
            }
            (heard, Redaction::Drop | Redaction::Keep) => heard,
        }
    }

    fn disposition(&self, heard: &Heard) -> Disposition {
        match heard {
            Heard::Message(message, arrival) => self.message_disposition(message, *arrival),
            Heard::Edit(Edit { conversation, message, .. }) => {
                self.debounce_after_change(conversation, message, "wait after an edit")
            }
            Heard::Deletion(Deletion { conversation, message, .. }) => {
                self.debounce_after_change(conversation, message, "wait after a deletion")
            }
            Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) => Disposition::NotAMessage,
        }
    }

    fn message_disposition(&self, message: &Message, arrival: Arrival) -> Disposition {
        let now = self.clock.now();
        let conversation = &message.conversation;
        let ConversationId { workspace, channel, .. } = conversation;
        if message.is_human() && self.channel_cache.has_opted_out(workspace, &message.author.id) {
            return Disposition::Settled(Gate::OptedOut);
        }
        let mode = self.channel_cache.mode(workspace, channel);
        if message.is_human() && mode != Mode::Off {
            self.channel_cache.conversations.record_message(message);
        }
        let age = self.channel_cache.age(message, arrival, now);
        let is_young = age < duration_from_seconds(self.wait_settings.max_message_age_seconds);
        let disposition = disposition(message, arrival, mode, is_young, now, || {
            self.debounce(conversation, mode, now, || self.rest_due(message, now))
        });
        match disposition {
            Disposition::Owe { due } if self.channel_cache.is_direct(workspace, channel) => {
                Disposition::Owe { due: due + DIRECT_MESSAGE_WAIT }
            }
            Disposition::Owe { .. }
            | Disposition::NotAMessage
            | Disposition::Settled(_)
            | Disposition::Judge(_)
            | Disposition::Command { .. } => disposition,
        }
    }

    /// When the conversation is at rest after this message, if no other follows.
    fn rest_due(&self, message: &Message, now: Timestamp) -> Timestamp {
        let settings = &self.wait_settings;
        match settings.wait {
            WaitStrategy::Fixed => {
                now + fixed_wait(settings, self.random_draw(&message.id, "wait"))
            }
            WaitStrategy::Adaptive => {
                let conversations = &self.channel_cache.conversations;
                conversations.judge_due_after_message(message, now, &settings.bounds())
            }
        }
    }

    /// The disposition of an edit or deletion.
    fn debounce_after_change(
        &self,
        conversation: &ConversationId,
        message: &MessageId,
        what: &str,
    ) -> Disposition {
        let now = self.clock.now();
        let mode = self.channel_cache.mode(&conversation.workspace, &conversation.channel);
        Disposition::Judge(self.debounce(
            conversation,
            mode,
            now,
            || match self.wait_settings.wait {
                WaitStrategy::Fixed => {
                    now + fixed_wait(&self.wait_settings, self.random_draw(message, what))
                }
                WaitStrategy::Adaptive => self.channel_cache.conversations.judge_due_after_change(
                    conversation,
                    message,
                    now,
                    &self.wait_settings.bounds(),
                ),
            },
        ))
    }

    fn random_draw(&self, message: &MessageId, what: &str) -> f64 {
        seeded_random(self.random_seed, &[message.as_str(), what])
    }

    fn debounce(
        &self,
        conversation: &ConversationId,
        mode: Mode,
        now: Timestamp,
        rest_due: impl FnOnce() -> Timestamp,
    ) -> Debounce {
        let on_new_message = OnNewMessage::new(mode, self.wait_settings.wait);
        match mode {
            Mode::Facilitator => {
                let rules =
                    self.channel_cache.facilitation(&conversation.workspace, &conversation.channel);
                Debounce {
                    due: now + duration_from_seconds(rules.rest_seconds),
                    max_wait: duration_from_seconds(rules.max_rest_seconds),
                    on_new_message,
                }
            }
            Mode::Companion | Mode::MentionOnly | Mode::Observe | Mode::Off => Debounce {
                due: rest_due(),
                max_wait: duration_from_seconds(self.wait_settings.max_wait_seconds),
                on_new_message,
            },
        }
    }
}

/// Addressed messages are answered at once. Other human messages are judged when the conversation is at rest.
/// The persona's own messages, those of bots, old messages and messages in a channel with mode `off` are
/// settled by their gate.
pub fn disposition(
    message: &Message,
    arrival: Arrival,
    mode: Mode,
    is_young: bool,
    now: Timestamp,
    debounce: impl FnOnce() -> Debounce,
) -> Disposition {
    if message.author.kind == AuthorKind::Persona {
        return Disposition::Settled(Gate::OwnMessage);
    }
    if mode == Mode::Off {
        return Disposition::Settled(Gate::ChannelMode);
    }
    if message.author.kind == AuthorKind::Bot {
        return Disposition::Settled(Gate::OtherBot);
    }
    match arrival {
        Arrival::Live | Arrival::Backfilled if message.is_addressed() && is_young => {
            Disposition::Owe { due: now }
        }
        Arrival::Backfilled | Arrival::BackfilledAnswered => Disposition::Settled(Gate::Backfilled),
        Arrival::Live => Disposition::Judge(debounce()),
    }
}

/// `min_wait_seconds` ± `jitter_ratio`, uniformly distributed; `draw` is in `[0, 1)`.
pub fn fixed_wait(settings: &WaitSettings, draw: f64) -> SignedDuration {
    let spread = settings.jitter_ratio * (2.0 * draw - 1.0);
    duration_from_seconds(settings.min_wait_seconds * (1.0 + spread))
}

/// The span in which a heard event is handled, so that its log lines name its channel.
fn heard_span(heard: &Heard) -> Span {
    let (event, workspace, channel, message) = match heard {
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
    let (channel, message) = (channel.map(field::display), message.map(field::display));
    info_span!("hear", event, %workspace, channel, message)
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

/// What the platform says that a message replies to.
fn given_links(heard: &Heard, reply_to: Option<MessageId>) -> Vec<(MessageId, MessageLinks)> {
    match (heard, reply_to) {
        (Heard::Message(message, _), Some(parent)) => {
            vec![(message.id.clone(), MessageLinks::reply_to(parent))]
        }
        _ => Vec::new(),
    }
}

/// The conversations whose messages change: a message that opened a thread is part of both.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, Mention, MessageId, UserId, WorkspaceId};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn message(kind: AuthorKind, mentions: Vec<Mention>) -> Message {
        Message {
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: None,
            },
            id: MessageId::new("1"),
            at: at(1000),
            author: Author { id: UserId::new("u"), kind },
            text: "hello".into(),
            mentions,
            edits: 0,
        }
    }

    #[test]
    fn each_message_has_its_disposition() {
        use crate::chat::Arrival::{Backfilled, BackfilledAnswered, Live};
        use crate::chat::AuthorKind::{Bot, Human, Persona};
        use crate::rules::Mode::{Companion, MentionOnly, Observe, Off};
        let (due, longest) = (at(1310), SignedDuration::MAX);
        let debounce = Debounce { due, max_wait: longest, on_new_message: OnNewMessage::Restart };
        let judge = Disposition::Judge(debounce);
        let off = Disposition::Settled(Gate::ChannelMode);
        let owe = Disposition::Owe { due: at(1010) };
        let own = Disposition::Settled(Gate::OwnMessage);
        let bot = Disposition::Settled(Gate::OtherBot);
        let backfilled = Disposition::Settled(Gate::Backfilled);
        let user = || vec![Mention::User(UserId::new("v"))];
        let persona = || vec![Mention::Persona];
        for (kind, mentions, arrival, mode, expected) in [
            (Human, vec![], Live, Companion, judge),
            (Human, user(), Live, Companion, judge),
            (Human, persona(), Live, Companion, owe),
            (Bot, persona(), Live, Companion, bot),
            (Persona, persona(), Live, Companion, own),
            (Persona, vec![], Backfilled, Companion, own),
            (Human, vec![], Backfilled, Companion, backfilled),
            (Human, persona(), Backfilled, Companion, owe),
            (Human, persona(), BackfilledAnswered, Companion, backfilled),
            (Human, vec![], Live, MentionOnly, judge),
            (Human, persona(), Live, Observe, owe),
            (Human, persona(), Live, Off, off),
            (Bot, vec![], Live, Off, off),
            (Persona, vec![], Live, Off, own),
        ] {
            let message = message(kind, mentions);
            let result = disposition(&message, arrival, mode, true, at(1010), || debounce);
            assert_eq!(result, expected, "{message:?} {mode:?}");
        }
        let old = message(Human, persona());
        let old = disposition(&old, Backfilled, Companion, false, at(50_000), || debounce);
        assert_eq!(old, backfilled);
    }

    #[test]
    fn the_wait_is_uniformly_distributed_around_its_mean() {
        let settings = WaitSettings::default();
        assert_eq!(fixed_wait(&settings, 0.0), SignedDuration::from_secs(210));
        assert_eq!(fixed_wait(&settings, 0.5), SignedDuration::from_secs(300));
        assert_eq!(fixed_wait(&settings, 0.999_999_9), SignedDuration::from_secs(390));
        let at_once = WaitSettings { min_wait_seconds: 0.0, ..settings };
        assert_eq!(fixed_wait(&at_once, 0.9), SignedDuration::ZERO);
    }
}
