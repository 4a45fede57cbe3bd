//! The invariants at every moment, at every post, and at the end of the day.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_actions::command::Command;
use aizuchi_harness::fixtures::{window, workspace};
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{AuthorKind, ChannelId, ConversationId, MessageId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::flow::Work;
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_model::texts::judging::message_deleted;
use aizuchi_store::Store;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use jiff::SignedDuration;

use crate::simulation::plan::{CHANNELS, Plan};
use crate::simulation::texts::words_in;
use crate::simulation::world::World;

/// More messages than a channel gets in a day.
const ALL: usize = 5000;
/// Calls within this time certainly count against the same day's budget, which is kept by hours.
const BUDGET_WINDOW: SignedDuration = SignedDuration::from_hours(23);

/// Reads the store without the process noticing.
#[derive(Clone)]
pub struct Inspector {
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub world: Arc<World>,
    pub rulebook: Arc<Rulebook>,
}

impl Inspector {
    pub async fn owed(&self, conversation: &ConversationId) -> Vec<MessageId> {
        let owed = self.store.context(conversation, &window(500)).await.unwrap().owed;
        owed.iter().map(Owed::stored_id).collect()
    }

    /// The asking messages that are currently owed an answer.
    pub async fn owed_by_asked(&self) -> BTreeSet<MessageId> {
        let asked: BTreeSet<ConversationId> = self.world.lock().asked.values().cloned().collect();
        let mut owed = BTreeSet::new();
        for conversation in asked {
            owed.extend(self.owed(&conversation).await);
        }
        owed
    }

    /// Checks the invariants of a post right after its last check.
    pub async fn check_post(&self, item: &OutboxItem) {
        if item.metadata.only_for.is_some() || item.id != item.first_in_draft {
            return;
        }
        let context = self.store.context(&item.conversation, &window(50)).await.unwrap();
        let now = self.world.clock.now();
        let channel = &item.conversation.channel;
        let orders = self.store.orders(&workspace()).await.unwrap();
        let mute = orders.workspace_mute(now).or(orders.channel_mute(channel, now));
        let name = &context.conversation_history.channel_name;
        let place = Place::of_conversation(&item.conversation, name, context.visibility);
        let rules = self.rulebook.rules_in(&place);
        let mode = context.circumstances.ordered_mode.unwrap_or(rules.mode);
        if mute.is_some() || mode.is_silent() {
            let how = format!("{} in {channel}, which is {mode:?}, {mute:?}", item.id);
            self.world.breaks("a silenced channel stays silent", how);
        }
        if !item.metadata.owed.is_empty() {
            return;
        }
        if mode == Mode::MentionOnly {
            self.world.breaks("a silenced channel stays silent", format!("unasked {}", item.id));
        }
        let seen = self.world.lock().seen.get(&item.conversation).copied().unwrap_or(0);
        if context.newest_message_revision > seen {
            let how = format!("{} was checked at {seen}, and a message is newer", item.id);
            self.world.breaks("nothing unsolicited overlooks a message", how);
        }
    }

    /// Checks the invariants that hold at any moment.
    pub async fn check_pending(&self, longest_lease: SignedDuration) {
        let steps = self.archive.pending_steps(&workspace()).await.unwrap();
        let conversations: BTreeSet<_> =
            steps.iter().map(|step| step.work.conversation()).collect();
        if conversations.len() != steps.len() {
            self.world.breaks("one pending step per conversation", format!("{steps:?}"));
        }
        let now = self.world.clock.now();
        for step in &steps {
            // If a clock is set back by an hour, a lease is that much longer.
            let latest = now + longest_lease + SignedDuration::from_hours(25);
            if step.lease.is_some_and(|lease| lease.until > latest) {
                self.world.breaks("no step is leased for ever", format!("{step:?}"));
            }
        }
        for conversation in conversations {
            let owed = self.owed(conversation).await;
            let step = steps.iter().find(|step| step.work.conversation() == conversation);
            let waits = step.is_some_and(|step| {
                step.is_owed || matches!(&step.work, Work::Post(item) if item.is_published())
            });
            if !owed.is_empty() && !waits {
                let how = format!("{owed:?} wait for nothing: {step:?}");
                self.world.breaks("a mention is owed an answer", how);
            }
        }
    }

    pub async fn messages(&self, channel: &str) -> Vec<StoredMessage> {
        let query = MessageQuery {
            workspace: workspace(),
            channel: ChannelId::new(channel),
            thread: None,
            range: MessageRange::Newest,
            limit: ALL,
        };
        self.archive.messages(query).await.unwrap()
    }

    pub async fn decisions(&self, channel: &str) -> Vec<Decision> {
        let (workspace, channel) = (workspace(), ChannelId::new(channel));
        let query = DecisionQuery::Channel { workspace, channel, limit: ALL };
        self.archive.decisions(query).await.unwrap()
    }

    /// Checks the invariants that hold once everything has come to rest.
    pub async fn check_day(&self, plan: &Plan) {
        let steps = self.archive.pending_steps(&workspace()).await.unwrap();
        if !steps.is_empty() {
            self.world.breaks("no step is leased for ever", format!("pending: {steps:?}"));
        }
        self.check_events().await;
        for channel in CHANNELS {
            self.check_channel(channel).await;
        }
        self.check_asked().await;
        self.check_budget(plan);
    }

    /// Checks that every acknowledged event is stored once.
    async fn check_events(&self) {
        let (events, messages, resent, forgotten) = {
            let state = self.world.lock();
            let (events, messages) = (state.events.clone(), state.messages.clone());
            (events, messages, state.resent.clone(), state.forgotten.clone())
        };
        for event in &events {
            if !event.is_acknowledged {
                self.world.breaks("no message is lost", format!("never taken: {:?}", event.kind));
            }
        }
        for shown in messages.iter().filter(|shown| shown.is_heard) {
            let message = &shown.message;
            let channel = &message.conversation.channel;
            let stored = self.archive.message(&workspace(), channel, &message.id).await.unwrap();
            let asked = forgotten.get(&message.author.id);
            match stored {
                // The history was read after its author had been forgotten.
                None if asked.is_some_and(|asked| message.at < *asked) => {}
                None => self.world.breaks("no message is lost", format!("{}", message.id)),
                Some(stored) if shown.is_deleted && !stored.is_deleted => {
                    self.world.breaks("a deletion is honored", format!("{}", message.id));
                }
                Some(_) => {}
            }
        }
        for id in resent {
            for channel in CHANNELS {
                let channel = ChannelId::new(channel);
                if self.archive.message(&workspace(), &channel, &id).await.unwrap().is_some() {
                    self.world.breaks("a message is stored once", format!("{id}"));
                }
            }
        }
    }

    /// Checks that each message has one closed decision, or a gate.
    async fn check_channel(&self, channel: &str) {
        let rows = self.decisions(channel).await;
        for row in &rows {
            if row.ended.is_none() {
                self.world.breaks("every decision ends", format!("{row:?}"));
            }
            if row.why.as_deref() == Some("a defect in the program") {
                self.world.breaks("nothing panics", format!("{row:?}"));
            }
        }
        for stored in self.messages(channel).await {
            let id = &stored.message.id;
            let covering = rows.iter().filter(|row| row.messages.contains(id)).count();
            let expected = usize::from(stored.gate.is_none() && !stored.is_deleted);
            // An edit may turn a message that was settled on arrival into a mention.
            let is_edited = stored.message.edits > 0;
            let is_command = stored.gate == Some(Gate::Command);
            let may_be_covered = stored.is_deleted || is_command || is_edited;
            if covering != expected && !(may_be_covered && covering <= 1) {
                let how = format!("{id} is covered {covering} times: {stored:?}");
                self.world.breaks("every message is accounted for", how);
            }
            let is_own = stored.message.author.kind == AuthorKind::Persona;
            if is_own && !matches!(stored.gate, Some(Gate::OwnMessage | Gate::Command)) {
                self.world.breaks("every message is accounted for", format!("{stored:?}"));
            }
        }
    }

    /// Checks that each asking user has an answer, or that the ledger says why not.
    async fn check_asked(&self) {
        let (asked, answers) = {
            let state = self.world.lock();
            (state.asked.clone(), state.answers.clone())
        };
        for (id, conversation) in asked {
            if self.owed(&conversation).await.contains(&id) {
                self.world.breaks("a mention is owed an answer", format!("{id} is still owed one"));
            }
            let channel = &conversation.channel;
            let stored = self.archive.message(&workspace(), channel, &id).await.unwrap();
            let is_withdrawn = stored.is_none_or(|stored| {
                // A user is told that a command by an edit was not executed, while its message counts as talk.
                let text = &stored.message.text;
                let is_command = Command::parse_message(text, "Aizuchi").is_some();
                stored.is_deleted || (stored.message.edits > 0 && is_command)
            });
            if is_withdrawn || answers.contains_key(&(conversation.channel.clone(), id.clone())) {
                continue;
            }
            let rows = self.decisions(channel.as_str()).await;
            let row = rows.iter().find(|row| row.messages.contains(&id));
            let has_reason = row.is_some_and(|row| match row.ended {
                Some(
                    DecisionResult::Muted
                    | DecisionResult::OverBudget
                    | DecisionResult::Failed
                    | DecisionResult::Spoke,
                ) => true,
                // A user has reset the conversation in the meantime.
                Some(DecisionResult::Dropped) => {
                    row.why.as_deref() == Some(message_deleted(Language::En))
                }
                Some(
                    DecisionResult::ChoseSilence
                    | DecisionResult::Reacted
                    | DecisionResult::Proposed,
                )
                | None => false,
            });
            if !has_reason {
                let how = format!("{id} has neither an answer nor a reason: {row:?}");
                self.world.breaks("a mention is owed an answer", how);
            }
        }
    }

    fn check_budget(&self, plan: &Plan) {
        let Some(cap) = plan.rulebook.workspace_limits.tokens_per_day else { return };
        let (booked, most) = {
            let state = self.world.lock();
            (state.booked.clone(), state.most_tokens)
        };
        for (index, last) in booked.iter().enumerate() {
            let is_near = |at| last.at.duration_since(at) <= BUDGET_WINDOW;
            let near =
                booked[..=index].iter().filter(|call| is_near(call.at) && call.at <= last.at);
            let spent: u64 = near.map(|call| call.tokens).sum();
            if spent > cap + most {
                let how = format!("{spent} tokens within a day, where {cap} are the limit");
                self.world.breaks("spending stays within its limit and one call", how);
                return;
            }
        }
    }

    /// Everything that can be read from the store.
    pub async fn everything(&self) -> String {
        let messages = self.archive.messages_since(&workspace(), 0, ALL).await.unwrap();
        let decisions = self.archive.decisions_since(&workspace(), 0, ALL).await.unwrap();
        let mut exchanges = Vec::new();
        let mut conversations = BTreeSet::new();
        for row in &decisions {
            exchanges.push(self.archive.exchanges(row.id).await.unwrap());
            conversations.insert(row.conversation.clone());
        }
        let mut contexts = Vec::new();
        for conversation in conversations {
            contexts.push(self.store.context(&conversation, &window(500)).await.unwrap());
        }
        let letters = self.archive.dead_letters(&Default::default()).await.unwrap();
        let steps = self.archive.pending_steps(&workspace()).await.unwrap();
        format!("{messages:?} {decisions:?} {exchanges:?} {contexts:?} {letters:?} {steps:?}")
    }

    /// Checks that the stored data contains no word of a forgotten user.
    pub fn check_forgotten(&self, kept: &str) {
        let mut found = BTreeSet::new();
        {
            let state = self.world.lock();
            for word in words_in(kept) {
                if state.words.get(word).is_some_and(|word| word.is_forgotten) {
                    found.insert(word.to_owned());
                }
            }
        }
        for word in found {
            let at = kept.find(&word).unwrap_or(0);
            let from = kept[..at].char_indices().rev().nth(160).map_or(0, |(from, _)| from);
            let how = format!("{word} is still there: …{}", &kept[from..at]);
            self.world.breaks("a forgotten person's words are in no row", how);
        }
    }
}
