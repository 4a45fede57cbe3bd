//! A message comes in: what follows from it is decided by plain functions and stored together with
//! it, and the store's new revision wakes the runner. A platform acknowledges after [`Ears::hear`]
//! has returned.

pub mod channel_cache;
pub mod in_flight;

use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{
    Arrival, Author, AuthorKind, ConversationId, Cursor, Edit, Heard, JOINED_MESSAGE_ID, Mention,
    Message, MessageId, UserId,
};
use crate::clock::{Clock, duration_from_seconds, seeded_random};
use crate::command::{Command, CommandRequest, STOP_DURATION};
use crate::decision::gate::Gate;
use crate::event::{Debounce, Disposition, OnNewMessage};
use crate::inbox::channel_cache::ChannelCache;
use crate::inbox::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::rhythm::{WaitBounds, WaitStrategy};
use crate::rules::Mode;
use crate::store::{HearReceipt, InboxEntry, Order, Store, StoreError};

/// What people write to the persona in one go is answered in one go: it waits so long for more.
const DIRECT_MESSAGE_WAIT: SignedDuration = SignedDuration::from_secs(2);

/// How long the talk must rest before it is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitSettings {
    pub wait: WaitStrategy,
    /// No adaptive wait is shorter.
    pub min_wait_floor_seconds: f64,
    /// The middle of a fixed wait, in seconds; no adaptive one is longer.
    pub min_wait_seconds: f64,
    /// A fixed wait is spread evenly by this share to both sides (seed 002-12).
    pub jitter_ratio: f64,
    /// So long after the first line that was not judged, it is judged even if people still talk.
    pub max_wait_seconds: f64,
    /// A mention that is caught up on is answered only if it is younger than this.
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
    /// What an adaptive wait is between.
    pub fn bounds(&self) -> WaitBounds {
        WaitBounds {
            min_rest: duration_from_seconds(self.min_wait_floor_seconds),
            max_rest: duration_from_seconds(self.min_wait_seconds),
            max_wait: duration_from_seconds(self.max_wait_seconds),
        }
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
    /// The name that commands are given to. Without one there are none: in what is only recorded, nobody
    /// gives any.
    pub command_name: Option<Arc<str>>,
    /// Whether it says in each room that it joins what it hears and keeps.
    pub is_announcing: bool,
    /// How long after it was heard a line is remembered, if it is.
    pub remember_delay: Option<SignedDuration>,
    /// Makes this installation's chance its own.
    pub random_seed: u64,
}

/// What becomes of the text of lines that are not to be listened to. In no case is it in a prompt or
/// a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redaction {
    /// It is not kept: people read it on their platform.
    Drop,
    /// The store is where people read it.
    Keep,
}

impl Inbox {
    /// Returns when what was heard and what follows from it are safe.
    pub async fn hear(&self, heard: Heard) -> Result<HearReceipt, StoreError> {
        self.ingest(heard, None, None).await
    }

    /// The same, together with how far its platform's stream has been heard: both are kept, or neither is.
    pub async fn hear_with_cursor(
        &self,
        heard: Heard,
        so_far: Cursor,
    ) -> Result<HearReceipt, StoreError> {
        self.ingest(heard, None, Some(so_far)).await
    }

    /// The same for a line that its writer's app has named, so that one that was sent again under another
    /// id is still the same line.
    pub async fn hear_with_client_id(
        &self,
        heard: Heard,
        sent_as: Option<Arc<str>>,
    ) -> Result<HearReceipt, StoreError> {
        self.ingest(heard, sent_as, None).await
    }

    async fn ingest(
        &self,
        heard: Heard,
        sent_as: Option<Arc<str>>,
        so_far: Option<Cursor>,
    ) -> Result<HearReceipt, StoreError> {
        let heard = self.address_direct_messages(heard);
        let command = self.parse_command(&heard);
        if let Some(given) = &command {
            // First, since a line that is known is not obeyed again.
            self.carry_out_once(given, &heard).await?;
        }
        // Held across the commit, as an order holds it: what follows is true of when the line is kept.
        // Neither waits for anything but the store, which waits for nobody.
        let _turn = self.channel_cache.lock_for_hearing().await;
        let follows = match command {
            Some(_) => Disposition::Command { due: self.clock.now() },
            None => self.disposition(&heard),
        };
        let heard = self.redact(heard, follows);
        match &heard {
            Heard::Channel(channel) => self.channel_cache.update_channel(channel),
            Heard::User(user) => self.channel_cache.update_user(user),
            Heard::Message(..)
            | Heard::Edit(_)
            | Heard::Deletion(_)
            | Heard::Reaction(_)
            | Heard::Cursor(_) => {}
        }
        let conversation = conversation_of(&heard).cloned();
        let line = author_and_arrival(&heard);
        let began = Instant::now();
        let now = self.clock.now();
        let remember = self.remember_delay.map(|interval| now + interval);
        let hearing = InboxEntry {
            heard,
            client_message_id: sent_as,
            cursor: so_far,
            disposition: follows,
            remember_at: remember,
            now,
        };
        let receipt = self.store.hear(hearing).await?;
        if let Some((author, arrival)) = line.filter(|_| receipt.is_new) {
            self.metrics.record_heard(author, arrival);
            self.metrics.record_hear_duration(began);
        }
        if let Some(conversation) = conversation.filter(|_| receipt.has_superseded) {
            self.in_flight.cancel(&conversation);
        }
        Ok(receipt)
    }

    /// It is in a room, and may be new there: once for each it is owed to the people that they hear what it
    /// hears and keeps. `persona` is its own user.
    pub async fn announce_join(
        &self,
        conversation: ConversationId,
        persona: UserId,
    ) -> Result<(), StoreError> {
        let (workspace, channel) = (conversation.workspace.clone(), conversation.channel.clone());
        let id = MessageId::new(JOINED_MESSAGE_ID);
        let is_silent = self.channel_cache.mode(&workspace, &channel).is_silent();
        if !self.is_announcing
            || is_silent
            || self.store.has_heard(&workspace, &channel, &id).await?
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

    /// The command that somebody has just given, if it is one.
    fn parse_command(&self, heard: &Heard) -> Option<CommandRequest> {
        let Heard::Message(message, Arrival::Live | Arrival::Backfilled) = heard else {
            return None;
        };
        let place = &message.conversation;
        let age = self.clock.now().duration_since(message.at);
        if !message.is_addressed()
            || age >= duration_from_seconds(self.wait_settings.max_message_age_seconds)
        {
            return None;
        }
        let command = Command::parse_message(&message.text, self.command_name.as_deref()?)?;
        let role = self.channel_cache.role(&place.workspace, &message.author.id);
        let visibility = self.channel_cache.visibility(&place.workspace, &place.channel);
        Some(CommandRequest::from_message(command, message, visibility, role))
    }

    /// Carries out what a line orders, unless it is known.
    async fn carry_out_once(
        &self,
        given: &CommandRequest,
        heard: &Heard,
    ) -> Result<(), StoreError> {
        let Heard::Message(message, arrival) = heard else { return Ok(()) };
        // Histories are read out of order, so what they order may have been taken back since; whoever wants
        // to be left out does not wait.
        let leaves = matches!(given.command, Command::ForgetMe | Command::OptOut | Command::Reset);
        let is_in_time = *arrival == Arrival::Live || leaves;
        let place = &message.conversation;
        let is_known = self.store.has_heard(&place.workspace, &place.channel, &message.id).await?;
        if is_known || !is_in_time { Ok(()) } else { self.carry_out(given).await }
    }

    /// Orders what a command says, if it orders anything. `stop` makes no silence shorter.
    pub async fn carry_out(&self, given: &CommandRequest) -> Result<(), StoreError> {
        let Some(order) = given.to_order() else { return Ok(()) };
        if given.command == Command::Stop {
            let orders = self.store.orders(order.workspace()).await?;
            if orders.channel_mute(&given.conversation.channel, given.at + STOP_DURATION).is_some()
            {
                return Ok(());
            }
        }
        self.apply_order(order).await
    }

    /// Returns when a person's order is safe. It holds from now on, also for what is under way.
    pub async fn apply_order(&self, order: Order) -> Result<(), StoreError> {
        let _turn = self.channel_cache.lock_for_order().await;
        // First, since whoever stops waiting here has ordered it all the same.
        self.channel_cache.apply_order(&order);
        let kept = self.store.order(order.clone(), self.clock.now()).await;
        if kept.is_err() {
            let orders = self.store.orders(order.workspace()).await?;
            self.channel_cache.replace_orders(order.workspace(), &orders);
        }
        kept
    }

    /// In a direct message every line is addressed to the persona.
    fn address_direct_messages(&self, heard: Heard) -> Heard {
        let mentions = |place: &ConversationId, mentions: Vec<Mention>| {
            let is_direct = self.channel_cache.is_direct(&place.workspace, &place.channel);
            if !is_direct || mentions.contains(&Mention::Persona) {
                return mentions;
            }
            mentions.into_iter().chain([Mention::Persona]).collect()
        };
        match heard {
            Heard::Message(message, arrival) if message.is_human() => {
                let mentions = mentions(&message.conversation, message.mentions);
                Heard::Message(Message { mentions, ..message }, arrival)
            }
            Heard::Edit(edit) => {
                let mentions = mentions(&edit.conversation, edit.mentions);
                Heard::Edit(Edit { mentions, ..edit })
            }
            heard @ (Heard::Message(..)
            | Heard::Deletion(_)
            | Heard::Reaction(_)
            | Heard::Channel(_)
            | Heard::User(_)
            | Heard::Cursor(_)) => heard,
        }
    }

    fn redact(&self, heard: Heard, follows: Disposition) -> Heard {
        match (heard, self.redaction) {
            // A command is needed to be answered.
            (heard, _) if follows.gate() == Some(Gate::Command) => heard,
            (Heard::Message(message, arrival), Redaction::Drop) if follows.is_redacted() => {
                let (text, mentions) = ("".into(), Vec::new());
                Heard::Message(Message { text, mentions, ..message }, arrival)
            }
            (heard, Redaction::Drop | Redaction::Keep) => heard,
        }
    }

    fn disposition(&self, heard: &Heard) -> Disposition {
        let now = self.clock.now();
        match heard {
            Heard::Message(message, arrival) => {
                let place = &message.conversation;
                if message.is_human()
                    && self.channel_cache.has_opted_out(&place.workspace, &message.author.id)
                {
                    return Disposition::Settled(Gate::OptedOut);
                }
                let mode = self.channel_cache.mode(&place.workspace, &place.channel);
                if message.is_human() && mode != Mode::Off {
                    self.channel_cache.record_message(message);
                }
                let is_direct = self.channel_cache.is_direct(&place.workspace, &place.channel);
                let gathering = if is_direct { DIRECT_MESSAGE_WAIT } else { SignedDuration::ZERO };
                let follows =
                    disposition(message, *arrival, mode, &self.wait_settings, now, || {
                        self.debounce(place, mode, now, || match self.wait_settings.wait {
                            WaitStrategy::Fixed => {
                                now + fixed_wait(
                                    &self.wait_settings,
                                    self.random_draw(&message.id, "wait"),
                                )
                            }
                            WaitStrategy::Adaptive => self.channel_cache.judge_due_after_message(
                                message,
                                now,
                                &self.wait_settings.bounds(),
                            ),
                        })
                    });
                match follows {
                    Disposition::Owe { due } => Disposition::Owe { due: due + gathering },
                    follows @ (Disposition::NotAMessage
                    | Disposition::Settled(_)
                    | Disposition::Judge(_)
                    | Disposition::Command { .. }) => follows,
                }
            }
            Heard::Edit(edit) => {
                self.debounce_after_change(&edit.conversation, &edit.message, "wait after an edit")
            }
            Heard::Deletion(deletion) => {
                let (place, line) = (&deletion.conversation, &deletion.message);
                self.debounce_after_change(place, line, "wait after a deletion")
            }
            Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) | Heard::Cursor(_) => {
                Disposition::NotAMessage
            }
        }
    }

    /// A line has changed.
    fn debounce_after_change(
        &self,
        place: &ConversationId,
        line: &MessageId,
        what: &str,
    ) -> Disposition {
        let now = self.clock.now();
        let mode = self.channel_cache.mode(&place.workspace, &place.channel);
        Disposition::Judge(self.debounce(place, mode, now, || match self.wait_settings.wait {
            WaitStrategy::Fixed => {
                now + fixed_wait(&self.wait_settings, self.random_draw(line, what))
            }
            WaitStrategy::Adaptive => self.channel_cache.judge_due_after_change(
                place,
                line,
                now,
                &self.wait_settings.bounds(),
            ),
        }))
    }

    fn random_draw(&self, line: &MessageId, what: &str) -> f64 {
        seeded_random(self.random_seed, &[line.as_str(), what])
    }

    fn debounce(
        &self,
        place: &ConversationId,
        mode: Mode,
        now: Timestamp,
        rested: impl FnOnce() -> Timestamp,
    ) -> Debounce {
        let course = OnNewMessage::new(mode, self.wait_settings.wait);
        match mode {
            Mode::Facilitator => {
                let rules = self.channel_cache.facilitation(&place.workspace, &place.channel);
                Debounce {
                    due: now + duration_from_seconds(rules.rest_seconds),
                    max_wait: duration_from_seconds(rules.max_rest_seconds),
                    on_new_message: course,
                }
            }
            Mode::Companion | Mode::MentionOnly | Mode::Observe | Mode::Off => Debounce {
                due: rested(),
                max_wait: duration_from_seconds(self.wait_settings.max_wait_seconds),
                on_new_message: course,
            },
        }
    }
}

/// Addressed: answer now. Other human lines: judge when the talk has rested. The persona's own
/// lines, bots' lines, old lines and those of a room that it is off in are settled by their gate.
pub fn disposition(
    message: &Message,
    arrival: Arrival,
    mode: Mode,
    waiting: &WaitSettings,
    now: Timestamp,
    rest: impl FnOnce() -> Debounce,
) -> Disposition {
    if message.author.kind == AuthorKind::Persona {
        return Disposition::Settled(Gate::OwnLine);
    }
    if mode == Mode::Off {
        return Disposition::Settled(Gate::ChannelMode);
    }
    if message.author.kind == AuthorKind::Bot {
        return Disposition::Settled(Gate::OtherBot);
    }
    let is_young =
        now.duration_since(message.at) < duration_from_seconds(waiting.max_message_age_seconds);
    match arrival {
        Arrival::Live | Arrival::Backfilled if message.is_addressed() && is_young => {
            Disposition::Owe { due: now }
        }
        Arrival::Backfilled | Arrival::BackfilledAnswered => Disposition::Settled(Gate::CaughtUp),
        Arrival::Live => Disposition::Judge(rest()),
    }
}

/// `min_wait_seconds` ± `jitter_ratio`, evenly spread (seed 002-12); `draw` is in `[0, 1)`.
pub fn fixed_wait(waiting: &WaitSettings, draw: f64) -> SignedDuration {
    let spread = waiting.jitter_ratio * (2.0 * draw - 1.0);
    duration_from_seconds(waiting.min_wait_seconds * (1.0 + spread))
}

fn author_and_arrival(heard: &Heard) -> Option<(AuthorKind, Arrival)> {
    match heard {
        Heard::Message(message, arrival) => Some((message.author.kind, *arrival)),
        Heard::Edit(_)
        | Heard::Deletion(_)
        | Heard::Channel(_)
        | Heard::User(_)
        | Heard::Reaction(_)
        | Heard::Cursor(_) => None,
    }
}

fn conversation_of(heard: &Heard) -> Option<&ConversationId> {
    match heard {
        Heard::Message(message, _) => Some(&message.conversation),
        Heard::Edit(edit) => Some(&edit.conversation),
        Heard::Deletion(deletion) => Some(&deletion.conversation),
        Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) | Heard::Cursor(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, Mention, MessageId, UserId, WorkspaceId};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn line(kind: AuthorKind, mentions: Vec<Mention>) -> Message {
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
    fn what_follows_from_a_line() {
        use crate::chat::Arrival::{Backfilled, BackfilledAnswered, Live};
        use crate::chat::AuthorKind::{Bot, Human, Persona};
        use crate::rules::Mode::{Companion, MentionOnly, Observe, Off};
        let waiting = WaitSettings::default();
        let (due, longest) = (at(1310), SignedDuration::MAX);
        let rest = Debounce { due, max_wait: longest, on_new_message: OnNewMessage::Restart };
        let judge = Disposition::Judge(rest);
        let off = Disposition::Settled(Gate::ChannelMode);
        let owe = Disposition::Owe { due: at(1010) };
        let own = Disposition::Settled(Gate::OwnLine);
        let bot = Disposition::Settled(Gate::OtherBot);
        let caught_up = Disposition::Settled(Gate::CaughtUp);
        let somebody = || vec![Mention::User(UserId::new("v"))];
        let persona = || vec![Mention::Persona];
        for (kind, mentions, arrival, mode, expected) in [
            (Human, vec![], Live, Companion, judge),
            (Human, somebody(), Live, Companion, judge),
            (Human, persona(), Live, Companion, owe),
            (Bot, persona(), Live, Companion, bot),
            (Persona, persona(), Live, Companion, own),
            (Persona, vec![], Backfilled, Companion, own),
            (Human, vec![], Backfilled, Companion, caught_up),
            (Human, persona(), Backfilled, Companion, owe),
            (Human, persona(), BackfilledAnswered, Companion, caught_up),
            (Human, vec![], Live, MentionOnly, judge),
            (Human, persona(), Live, Observe, owe),
            (Human, persona(), Live, Off, off),
            (Bot, vec![], Live, Off, off),
            (Persona, vec![], Live, Off, own),
        ] {
            let line = line(kind, mentions);
            let follows = disposition(&line, arrival, mode, &waiting, at(1010), || rest);
            assert_eq!(follows, expected, "{line:?} {mode:?}");
        }
        let old = line(Human, persona());
        let old = disposition(&old, Backfilled, Companion, &waiting, at(50_000), || rest);
        assert_eq!(old, caught_up);
    }

    #[test]
    fn the_wait_is_spread_evenly_around_its_middle() {
        let waiting = WaitSettings::default();
        assert_eq!(fixed_wait(&waiting, 0.0), SignedDuration::from_secs(210));
        assert_eq!(fixed_wait(&waiting, 0.5), SignedDuration::from_secs(300));
        assert_eq!(fixed_wait(&waiting, 0.999_999_9), SignedDuration::from_secs(390));
        let at_once = WaitSettings { min_wait_seconds: 0.0, ..waiting };
        assert_eq!(fixed_wait(&at_once, 0.9), SignedDuration::ZERO);
    }
}
