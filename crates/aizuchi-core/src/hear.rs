//! A message comes in: what follows from it is decided by plain functions and stored together with
//! it, and the store's new revision wakes the runner. A platform acknowledges after [`Ears::hear`]
//! has returned.

pub mod rooms;
pub mod under_way;

use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{
    Arrival, Author, AuthorKind, Bookmark, ConversationId, Edit, Heard, JOINED, Mention, Message,
    MessageId, UserId,
};
use crate::clock::{Clock, chance, seconds};
use crate::command::{Command, Given, STOPS_FOR};
use crate::decision::gate::Gate;
use crate::event::{Course, Follows, Rest};
use crate::hear::rooms::Rooms;
use crate::hear::under_way::UnderWay;
use crate::metrics::Metrics;
use crate::rhythm::{Bounds, Wait};
use crate::rules::Mode;
use crate::store::{Hearing, Order, Receipt, Store, StoreError};

/// What people write to the persona in one go is answered in one go: it waits so long for more.
const GATHERING: SignedDuration = SignedDuration::from_secs(2);

/// How long the talk must rest before it is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    pub wait: Wait,
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

impl Default for Waiting {
    fn default() -> Self {
        Self {
            wait: Wait::default(),
            min_wait_floor_seconds: 15.0,
            min_wait_seconds: 300.0,
            jitter_ratio: 0.3,
            max_wait_seconds: 3600.0,
            max_message_age_seconds: 43_200.0,
        }
    }
}

impl Waiting {
    /// What an adaptive wait is between.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            floor: seconds(self.min_wait_floor_seconds),
            longest_rest: seconds(self.min_wait_seconds),
            ceiling: seconds(self.max_wait_seconds),
        }
    }
}

/// Where platforms deliver.
pub struct Ears {
    pub store: Arc<dyn Store>,
    pub under_way: Arc<UnderWay>,
    pub rooms: Arc<Rooms>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    pub waiting: Waiting,
    pub withheld: Withheld,
    /// The name that commands are given to. Without one there are none: in what is only recorded, nobody
    /// gives any.
    pub commanded_as: Option<Arc<str>>,
    /// Whether it says in each room that it joins what it hears and keeps.
    pub announces: bool,
    /// How long after it was heard a line is remembered, if it is.
    pub remembers_after: Option<SignedDuration>,
    /// Makes this installation's chance its own.
    pub seed: u64,
}

/// What becomes of the text of lines that are not to be listened to. In no case is it in a prompt or
/// a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// It is not kept: people read it on their platform.
    Dropped,
    /// The store is where people read it.
    Shown,
}

impl Ears {
    /// Returns when what was heard and what follows from it are safe.
    pub async fn hear(&self, heard: Heard) -> Result<Receipt, StoreError> {
        self.take(heard, None, None).await
    }

    /// The same, together with how far its platform's stream has been heard: both are kept, or neither is.
    pub async fn hear_up_to(&self, heard: Heard, so_far: Bookmark) -> Result<Receipt, StoreError> {
        self.take(heard, None, Some(so_far)).await
    }

    /// The same for a line that its writer's app has named, so that one that was sent again under another
    /// id is still the same line.
    pub async fn hear_sent(
        &self,
        heard: Heard,
        sent_as: Option<Arc<str>>,
    ) -> Result<Receipt, StoreError> {
        self.take(heard, sent_as, None).await
    }

    async fn take(
        &self,
        heard: Heard,
        sent_as: Option<Arc<str>>,
        so_far: Option<Bookmark>,
    ) -> Result<Receipt, StoreError> {
        let heard = self.understand(heard);
        let command = self.command(&heard);
        if let Some(given) = &command {
            // First, since a line that is known is not obeyed again.
            self.obey(given, &heard).await?;
        }
        // Held across the commit, as an order holds it: what follows is true of when the line is kept.
        // Neither waits for anything but the store, which waits for nobody.
        let _turn = self.rooms.hear().await;
        let follows = match command {
            Some(_) => Follows::Obey { due: self.clock.now() },
            None => self.what_follows(&heard),
        };
        let heard = self.withhold(heard, follows);
        match &heard {
            Heard::Channel(channel) => self.rooms.learn(channel),
            Heard::User(user) => self.rooms.meet(user),
            Heard::Message(..)
            | Heard::Edit(_)
            | Heard::Deletion(_)
            | Heard::Reaction(_)
            | Heard::Bookmark(_) => {}
        }
        let conversation = conversation(&heard).cloned();
        let line = line(&heard);
        let began = Instant::now();
        let now = self.clock.now();
        let remember = self.remembers_after.map(|interval| now + interval);
        let hearing = Hearing { heard, sent_as, so_far, follows, remember, now };
        let receipt = self.store.hear(hearing).await?;
        if let Some((author, arrival)) = line.filter(|_| receipt.is_new) {
            self.metrics.heard(author, arrival);
            self.metrics.hearing_took(began);
        }
        if let Some(conversation) = conversation.filter(|_| receipt.has_overtaken) {
            self.under_way.overtake(&conversation);
        }
        Ok(receipt)
    }

    /// It is in a room, and may be new there: once for each it is owed to the people that they hear what it
    /// hears and keeps. `persona` is its own user.
    pub async fn join(
        &self,
        conversation: ConversationId,
        persona: UserId,
    ) -> Result<(), StoreError> {
        let (workspace, channel) = (conversation.workspace.clone(), conversation.channel.clone());
        let id = MessageId::new(JOINED);
        let is_silent = self.rooms.mode(&workspace, &channel).is_silent();
        if !self.announces || is_silent || self.store.knows(&workspace, &channel, &id).await? {
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
        let _turn = self.rooms.hear().await;
        self.store.hear(Hearing::of(heard, Follows::Obey { due: now }, now)).await.map(|_| ())
    }

    /// The command that somebody has just given, if it is one.
    fn command(&self, heard: &Heard) -> Option<Given> {
        let Heard::Message(message, Arrival::Live | Arrival::CaughtUp) = heard else {
            return None;
        };
        let place = &message.conversation;
        let age = self.clock.now().duration_since(message.at);
        if !message.is_addressed() || age >= seconds(self.waiting.max_message_age_seconds) {
            return None;
        }
        let command = Command::read(&message.text, self.commanded_as.as_deref()?)?;
        let role = self.rooms.role(&place.workspace, &message.author.id);
        let visibility = self.rooms.visibility(&place.workspace, &place.channel);
        Some(Given::of(command, message, visibility, role))
    }

    /// Carries out what a line orders, unless it is known.
    async fn obey(&self, given: &Given, heard: &Heard) -> Result<(), StoreError> {
        let Heard::Message(message, arrival) = heard else { return Ok(()) };
        // Histories are read out of order, so what they order may have been taken back since; whoever wants
        // to be left out does not wait.
        let leaves = matches!(given.command, Command::ForgetMe | Command::OptOut | Command::Reset);
        let is_in_time = *arrival == Arrival::Live || leaves;
        let place = &message.conversation;
        let is_known = self.store.knows(&place.workspace, &place.channel, &message.id).await?;
        if is_known || !is_in_time { Ok(()) } else { self.carry_out(given).await }
    }

    /// Orders what a command says, if it orders anything. `stop` makes no silence shorter.
    pub async fn carry_out(&self, given: &Given) -> Result<(), StoreError> {
        let Some(order) = given.order() else { return Ok(()) };
        if given.command == Command::Stop {
            let orders = self.store.orders(order.workspace()).await?;
            if orders.muted_here(&given.place.channel, given.at + STOPS_FOR).is_some() {
                return Ok(());
            }
        }
        self.order(order).await
    }

    /// Returns when a person's order is safe. It holds from now on, also for what is under way.
    pub async fn order(&self, order: Order) -> Result<(), StoreError> {
        let _turn = self.rooms.order().await;
        // First, since whoever stops waiting here has ordered it all the same.
        self.rooms.take(&order);
        let kept = self.store.order(order.clone(), self.clock.now()).await;
        if kept.is_err() {
            let orders = self.store.orders(order.workspace()).await?;
            self.rooms.obey(order.workspace(), &orders);
        }
        kept
    }

    /// In a direct message every line is addressed to the persona.
    fn understand(&self, heard: Heard) -> Heard {
        let mentions = |place: &ConversationId, mentions: Vec<Mention>| {
            let is_direct = self.rooms.is_direct(&place.workspace, &place.channel);
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
            | Heard::Bookmark(_)) => heard,
        }
    }

    fn withhold(&self, heard: Heard, follows: Follows) -> Heard {
        match (heard, self.withheld) {
            // A command is needed to be answered.
            (heard, _) if follows.gate() == Some(Gate::Command) => heard,
            (Heard::Message(message, arrival), Withheld::Dropped) if follows.is_withheld() => {
                let (text, mentions) = ("".into(), Vec::new());
                Heard::Message(Message { text, mentions, ..message }, arrival)
            }
            (heard, Withheld::Dropped | Withheld::Shown) => heard,
        }
    }

    fn what_follows(&self, heard: &Heard) -> Follows {
        let now = self.clock.now();
        match heard {
            Heard::Message(message, arrival) => {
                let place = &message.conversation;
                if message.is_human()
                    && self.rooms.has_opted_out(&place.workspace, &message.author.id)
                {
                    return Follows::Nothing(Gate::OptedOut);
                }
                let mode = self.rooms.mode(&place.workspace, &place.channel);
                if message.is_human() && mode != Mode::Off {
                    self.rooms.listen(message);
                }
                let is_direct = self.rooms.is_direct(&place.workspace, &place.channel);
                let gathering = if is_direct { GATHERING } else { SignedDuration::ZERO };
                let follows = what_follows(message, *arrival, mode, &self.waiting, now, || {
                    self.rest(place, mode, now, || match self.waiting.wait {
                        Wait::Fixed => now + wait(&self.waiting, self.draw(&message.id, "wait")),
                        Wait::Adaptive => self.rooms.talk(message, now, &self.waiting.bounds()),
                    })
                });
                match follows {
                    Follows::Owe { due } => Follows::Owe { due: due + gathering },
                    follows @ (Follows::NoLine
                    | Follows::Nothing(_)
                    | Follows::Judge(_)
                    | Follows::Obey { .. }) => follows,
                }
            }
            Heard::Edit(edit) => {
                self.rest_after(&edit.conversation, &edit.message, "wait after an edit")
            }
            Heard::Deletion(deletion) => {
                let (place, line) = (&deletion.conversation, &deletion.message);
                self.rest_after(place, line, "wait after a deletion")
            }
            Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) | Heard::Bookmark(_) => {
                Follows::NoLine
            }
        }
    }

    /// A line has changed.
    fn rest_after(&self, place: &ConversationId, line: &MessageId, what: &str) -> Follows {
        let now = self.clock.now();
        let mode = self.rooms.mode(&place.workspace, &place.channel);
        Follows::Judge(self.rest(place, mode, now, || match self.waiting.wait {
            Wait::Fixed => now + wait(&self.waiting, self.draw(line, what)),
            Wait::Adaptive => self.rooms.change(place, line, now, &self.waiting.bounds()),
        }))
    }

    fn draw(&self, line: &MessageId, what: &str) -> f64 {
        chance(self.seed, &[line.as_str(), what])
    }

    fn rest(
        &self,
        place: &ConversationId,
        mode: Mode,
        now: Timestamp,
        rested: impl FnOnce() -> Timestamp,
    ) -> Rest {
        let course = Course::of(mode, self.waiting.wait);
        match mode {
            Mode::Facilitator => {
                let rules = self.rooms.facilitation(&place.workspace, &place.channel);
                Rest {
                    due: now + seconds(rules.rest_seconds),
                    longest: seconds(rules.longest_rest_seconds),
                    course,
                }
            }
            Mode::Companion | Mode::MentionOnly | Mode::Observe | Mode::Off => {
                Rest { due: rested(), longest: seconds(self.waiting.max_wait_seconds), course }
            }
        }
    }
}

/// Addressed: answer now. Other human lines: judge when the talk has rested. The persona's own
/// lines, bots' lines, old lines and those of a room that it is off in are settled by their gate.
pub fn what_follows(
    message: &Message,
    arrival: Arrival,
    mode: Mode,
    waiting: &Waiting,
    now: Timestamp,
    rest: impl FnOnce() -> Rest,
) -> Follows {
    if message.author.kind == AuthorKind::Persona {
        return Follows::Nothing(Gate::OwnLine);
    }
    if mode == Mode::Off {
        return Follows::Nothing(Gate::ChannelMode);
    }
    if message.author.kind == AuthorKind::Bot {
        return Follows::Nothing(Gate::OtherBot);
    }
    let is_young = now.duration_since(message.at) < seconds(waiting.max_message_age_seconds);
    match arrival {
        Arrival::Live | Arrival::CaughtUp if message.is_addressed() && is_young => {
            Follows::Owe { due: now }
        }
        Arrival::CaughtUp | Arrival::Answered => Follows::Nothing(Gate::CaughtUp),
        Arrival::Live => Follows::Judge(rest()),
    }
}

/// `min_wait_seconds` ± `jitter_ratio`, evenly spread (seed 002-12); `draw` is in `[0, 1)`.
pub fn wait(waiting: &Waiting, draw: f64) -> SignedDuration {
    let spread = waiting.jitter_ratio * (2.0 * draw - 1.0);
    seconds(waiting.min_wait_seconds * (1.0 + spread))
}

fn line(heard: &Heard) -> Option<(AuthorKind, Arrival)> {
    match heard {
        Heard::Message(message, arrival) => Some((message.author.kind, *arrival)),
        Heard::Edit(_)
        | Heard::Deletion(_)
        | Heard::Channel(_)
        | Heard::User(_)
        | Heard::Reaction(_)
        | Heard::Bookmark(_) => None,
    }
}

fn conversation(heard: &Heard) -> Option<&ConversationId> {
    match heard {
        Heard::Message(message, _) => Some(&message.conversation),
        Heard::Edit(edit) => Some(&edit.conversation),
        Heard::Deletion(deletion) => Some(&deletion.conversation),
        Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) | Heard::Bookmark(_) => None,
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
        use crate::chat::Arrival::{Answered, CaughtUp, Live};
        use crate::chat::AuthorKind::{Bot, Human, Persona};
        use crate::rules::Mode::{Companion, MentionOnly, Observe, Off};
        let waiting = Waiting::default();
        let (due, longest) = (at(1310), SignedDuration::MAX);
        let rest = Rest { due, longest, course: Course::Restarts };
        let judge = Follows::Judge(rest);
        let off = Follows::Nothing(Gate::ChannelMode);
        let owe = Follows::Owe { due: at(1010) };
        let own = Follows::Nothing(Gate::OwnLine);
        let bot = Follows::Nothing(Gate::OtherBot);
        let caught_up = Follows::Nothing(Gate::CaughtUp);
        let somebody = || vec![Mention::User(UserId::new("v"))];
        let persona = || vec![Mention::Persona];
        for (kind, mentions, arrival, mode, expected) in [
            (Human, vec![], Live, Companion, judge),
            (Human, somebody(), Live, Companion, judge),
            (Human, persona(), Live, Companion, owe),
            (Bot, persona(), Live, Companion, bot),
            (Persona, persona(), Live, Companion, own),
            (Persona, vec![], CaughtUp, Companion, own),
            (Human, vec![], CaughtUp, Companion, caught_up),
            (Human, persona(), CaughtUp, Companion, owe),
            (Human, persona(), Answered, Companion, caught_up),
            (Human, vec![], Live, MentionOnly, judge),
            (Human, persona(), Live, Observe, owe),
            (Human, persona(), Live, Off, off),
            (Bot, vec![], Live, Off, off),
            (Persona, vec![], Live, Off, own),
        ] {
            let line = line(kind, mentions);
            let follows = what_follows(&line, arrival, mode, &waiting, at(1010), || rest);
            assert_eq!(follows, expected, "{line:?} {mode:?}");
        }
        let old = line(Human, persona());
        let old = what_follows(&old, CaughtUp, Companion, &waiting, at(50_000), || rest);
        assert_eq!(old, caught_up);
    }

    #[test]
    fn the_wait_is_spread_evenly_around_its_middle() {
        let waiting = Waiting::default();
        assert_eq!(wait(&waiting, 0.0), SignedDuration::from_secs(210));
        assert_eq!(wait(&waiting, 0.5), SignedDuration::from_secs(300));
        assert_eq!(wait(&waiting, 0.999_999_9), SignedDuration::from_secs(390));
        let at_once = Waiting { min_wait_seconds: 0.0, ..waiting };
        assert_eq!(wait(&at_once, 0.9), SignedDuration::ZERO);
    }
}
