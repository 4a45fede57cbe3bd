//! Hears a batch of messages in one transaction, with one set-based statement per table.

pub mod edits;

use std::collections::{BTreeMap, HashSet};

use aizuchi_model::chat::attachment::searched_names;
use aizuchi_model::chat::{
    Channel, ConversationId, Cursor, Message, MessageId, Reaction, ReactionChange, User, Visibility,
};
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{AttemptResult, DecisionId};
use aizuchi_model::flow::Disposition;
use aizuchi_model::flow::step::{HearEffect, OwedAnswer, PendingState};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::database::connection::{Connection, query};
use crate::database::pending_states::PendingStates;
use crate::database::{Counters, memory, rows, sql};
use crate::{HearReceipt, InboxEntry, StoreError};

/// The effects of new messages other than moved steps, collected for one statement per table.
#[derive(Default)]
struct ArrivalEffects {
    opened: Vec<Value>,
    /// By decision, with the revision of the message that caused it.
    superseded: BTreeMap<i64, u64>,
    addressed: BTreeMap<i64, u64>,
    replaced_drafts: Vec<Value>,
}

impl ArrivalEffects {
    fn record(
        &mut self,
        message: &Message,
        at: Timestamp,
        effect: HearEffect,
        pending_state: &PendingState,
        revision: u64,
    ) {
        let is_owed = pending_state.owed.iter().any(|owed| owed.to == message.id);
        self.record_effect((&message.conversation, at), effect, is_owed, revision);
    }

    fn record_effect(
        &mut self,
        (conversation, at): (&ConversationId, Timestamp),
        effect: HearEffect,
        is_owed: bool,
        revision: u64,
    ) {
        if effect.has_opened_decision {
            self.opened.push(json!([
                effect.decision,
                conversation.workspace,
                conversation.channel,
                rows::thread_column(conversation),
                at.as_millisecond(),
                i64::from(is_owed),
                revision,
            ]));
        } else if is_owed {
            self.addressed.entry(effect.decision.0).or_insert(revision);
        }
        if effect.has_superseded {
            self.superseded.insert(effect.decision.0, revision);
            self.replaced_drafts.push(rows::conversation_columns(conversation));
        }
    }

    async fn write(self, connection: &mut Connection) -> Result<(), StoreError> {
        if !self.opened.is_empty() {
            let opened = Value::Array(self.opened).to_string();
            query(sql::decisions::OPEN_DECISIONS).bind(opened).execute(&mut *connection).await?;
        }
        if !self.addressed.is_empty() {
            let addressed = revision_pairs(&self.addressed);
            query(sql::decisions::ADDRESS_DECISIONS)
                .bind(addressed)
                .execute(&mut *connection)
                .await?;
        }
        if !self.superseded.is_empty() {
            let superseded = revision_pairs(&self.superseded);
            let supersede = query(sql::decisions::SUPERSEDE_DECISIONS).bind(&superseded);
            supersede.execute(&mut *connection).await?;
            let result = AttemptResult::Superseded.name();
            let retire = query(sql::decisions::RETIRE_ATTEMPTS).bind(superseded).bind(result);
            retire.execute(&mut *connection).await?;
            let conversations = Value::Array(self.replaced_drafts).to_string();
            query(sql::steps::REPLACE_DRAFTS).bind(conversations).execute(&mut *connection).await?;
        }
        Ok(())
    }
}

/// Owes an answer to a message again, unless one is owed already.
pub async fn owe_again(
    connection: &mut Connection,
    counters: &mut Counters,
    conversation: &ConversationId,
    owed: OwedAnswer,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut pending_states =
        PendingStates::read(connection, &HashSet::from([conversation])).await?;
    let pending_state = pending_states.entry(conversation);
    let effect = pending_state.owe_again(owed, conversation, now, counters.next_decision_id());
    let Some(effect) = effect else { return Ok(()) };
    counters.revision += 1;
    counters.record_arrival(effect);
    let mut effects = ArrivalEffects::default();
    effects.record_effect((conversation, now), effect, true, counters.revision);
    pending_states.write(connection, now.as_millisecond()).await?;
    effects.write(connection).await
}

fn revision_pairs(revisions: &BTreeMap<i64, u64>) -> String {
    revisions
        .iter()
        .map(|(decision, revision)| json!([decision, revision]))
        .collect::<Value>()
        .to_string()
}

/// A message to be heard.
pub struct IncomingMessage<'a> {
    pub message: &'a Message,
    pub client_message_id: Option<&'a str>,
    pub disposition: Disposition,
    pub links: &'a [(MessageId, MessageLinks)],
    pub remember_at: Option<Timestamp>,
}

impl<'a> IncomingMessage<'a> {
    pub fn from_entry(message: &'a Message, entry: &'a InboxEntry) -> Self {
        Self {
            message,
            client_message_id: entry.client_message_id.as_deref(),
            disposition: entry.disposition,
            links: &entry.links,
            remember_at: entry.remember_at,
        }
    }
}

pub async fn hear_messages(
    connection: &mut Connection,
    counters: &mut Counters,
    messages: &[IncomingMessage<'_>],
) -> Result<Vec<HearReceipt>, StoreError> {
    let conversations = messages.iter().map(|incoming| &incoming.message.conversation).collect();
    let with_client_ids =
        messages.iter().map(|incoming| (incoming.message, incoming.client_message_id));
    let (mut pending_states, known) =
        PendingStates::read_with_known(connection, &conversations, with_client_ids).await?;
    let mut effects = ArrivalEffects::default();
    let mut new_rows = Vec::new();
    let mut receipts = Vec::new();
    let (mut seen_ids, mut seen_client_ids) = (HashSet::new(), HashSet::new());
    let mut remembered = Vec::new();
    let mut links = Vec::new();
    for (index, incoming) in messages.iter().enumerate() {
        let IncomingMessage { message, client_message_id, disposition, .. } = incoming;
        let channel = (&message.conversation.workspace, &message.conversation.channel);
        // `known` was read before this batch, which may contain a message twice.
        let is_known = known.contains(&index)
            || !seen_ids.insert((channel, message.id.as_str()))
            || client_message_id.is_some_and(|client_message_id| {
                !seen_client_ids.insert((channel, client_message_id))
            });
        if is_known {
            receipts.push(HearReceipt {
                is_new: false,
                has_superseded: false,
                decision: None,
                revision: counters.revision,
            });
            continue;
        }
        counters.revision += 1;
        let pending_state = pending_states.entry(&message.conversation);
        // Each message meets the state that the one before it in this batch has left.
        let effect = pending_state.hear(message, *disposition, counters.next_decision_id());
        if let Some(effect) = effect {
            counters.record_arrival(effect);
            effects.record(message, message.at, effect, pending_state, counters.revision);
        }
        // Nothing is remembered of a withheld message, as from a user who has opted out.
        if !disposition.is_redacted() {
            // Not every place of a batch is remembered.
            remembered.extend(incoming.remember_at.map(|due| (*message, due)));
        }
        new_rows.push(message_values(
            message, *client_message_id, *disposition, effect, counters.revision,
        ));
        links.extend(incoming.links.iter().flat_map(|(id, links)| link_rows(message, id, links)));
        receipts.push(counters.receipt(effect));
    }
    if new_rows.is_empty() {
        return Ok(receipts);
    }
    let new_rows = Value::Array(new_rows).to_string();
    query(sql::messages::PUT_MESSAGES).bind(new_rows).execute(&mut *connection).await?;
    if !links.is_empty() {
        let links = Value::Array(links).to_string();
        query(sql::messages::PUT_LINKS).bind(links).execute(&mut *connection).await?;
    }
    effects.write(connection).await?;
    let (remembered, dues): (Vec<&Message>, Vec<Timestamp>) = remembered.into_iter().unzip();
    if let Some(due) = dues.into_iter().min() {
        memory::schedule_for_messages(connection, remembered.into_iter(), due).await?;
    }
    let newest = messages.iter().map(|incoming| incoming.message.at).max();
    pending_states.write(connection, newest.map_or(0, |at| at.as_millisecond())).await?;
    Ok(receipts)
}

pub async fn hear_channel(
    connection: &mut Connection,
    counters: &mut Counters,
    channel: &Channel,
    now: Timestamp,
) -> Result<HearReceipt, StoreError> {
    // Read before the change, which overwrites the visibility.
    let known =
        query(sql::messages::CHANNEL).bind(channel.workspace.as_str()).bind(channel.id.as_str());
    let known = known.fetch_optional(&mut *connection).await?;
    let is_known = known.is_some();
    let was_public = match known {
        Some(row) => rows::channel_from_row(&row)?.visibility == Visibility::Public,
        None => false,
    };
    let put = query(sql::messages::PUT_CHANNEL)
        .bind(channel.workspace.as_str())
        .bind(channel.id.as_str())
        .bind(&*channel.name)
        .bind(rows::visibility_name(channel.visibility))
        .bind(channel.topic.as_deref());
    let put = put.execute(&mut *connection).await?;
    // A cached report may show the former name, or a channel that has become private. A new topic is
    // rare enough to count.
    counters.erasures += u64::from(put > 0 && is_known);
    let receipt = counters.change_receipt(put > 0);
    // Only in this direction: messages of a private channel stay private when it becomes public.
    if was_public && channel.visibility != Visibility::Public {
        memory::make_channel_private(connection, counters, &channel.workspace, &channel.id, now)
            .await?;
    }
    Ok(receipt)
}

pub async fn hear_user(
    connection: &mut Connection,
    counters: &mut Counters,
    user: &User,
    now: Timestamp,
) -> Result<HearReceipt, StoreError> {
    let known = query(sql::messages::SOME_USERS)
        .bind(user.workspace.as_str())
        .bind(json!([[user.id.as_str()]]).to_string());
    let is_known = known.fetch_optional(&mut *connection).await?.is_some();
    let put = query(sql::messages::PUT_USER)
        .bind(user.workspace.as_str())
        .bind(user.id.as_str())
        .bind(&*user.name)
        .bind(rows::kind_name(user.kind))
        .bind(user.role.name())
        .bind(user.zone.as_deref());
    let put = put.execute(&mut *connection).await?;
    if put > 0 {
        // Former names are kept, since a forgetting also looks for them in texts.
        let name = query(sql::messages::PUT_USER_NAME)
            .bind(user.workspace.as_str())
            .bind(user.id.as_str());
        name.bind(&*user.name).bind(now.as_millisecond()).execute(connection).await?;
    }
    // A cached report may show the former name.
    counters.erasures += u64::from(put > 0 && is_known);
    Ok(counters.change_receipt(put > 0))
}

/// Stores a cursor. No task waits for one, so the revision stays the same.
pub async fn put_cursor(connection: &mut Connection, cursor: &Cursor) -> Result<(), StoreError> {
    let put = query(sql::PUT_CURSOR)
        .bind(cursor.workspace.as_str())
        .bind(&*cursor.stream)
        .bind(&*cursor.value);
    put.execute(connection).await?;
    Ok(())
}

/// Stores a reaction, which has no further effects. A reaction to an unknown message is stored hidden until the message
/// arrives.
pub async fn hear_reaction(
    connection: &mut Connection,
    counters: &mut Counters,
    reaction: &Reaction,
) -> Result<HearReceipt, StoreError> {
    let workspace = reaction.workspace.as_str();
    let (channel, message) = (reaction.channel.as_str(), reaction.message.as_str());
    let change = query(match reaction.change {
        ReactionChange::Added => sql::messages::ADD_REACTION,
        ReactionChange::Removed => sql::messages::REMOVE_REACTION,
    });
    let change = change
        .bind(workspace)
        .bind(channel)
        .bind(message)
        .bind(&*reaction.emoji)
        .bind(reaction.user.as_str())
        .bind(reaction.at.as_millisecond());
    let change = match reaction.change {
        ReactionChange::Added => change.bind(rows::kind_name(reaction.kind)),
        ReactionChange::Removed => change,
    };
    if change.execute(&mut *connection).await? == 0 {
        return Ok(counters.unchanged_receipt());
    }
    let mark_message =
        query(sql::messages::MARK_REACTED).bind(workspace).bind(channel).bind(message);
    // The revision that `change_receipt` takes, but only if the message exists: an early reaction changes no page.
    let mark_message = mark_message.bind(counters.revision as i64 + 1);
    let marked = mark_message.execute(connection).await?;
    Ok(counters.change_receipt(marked > 0))
}

/// The rows of `links` for the message `id` of the same conversation as `heard`, in the order of
/// [`sql::messages::PUT_LINKS`].
fn link_rows(heard: &Message, id: &MessageId, links: &MessageLinks) -> impl Iterator<Item = Value> {
    let ConversationId { workspace, channel, .. } = &heard.conversation;
    let beginning = ("", links.begins);
    let parents = links.parents.iter().map(|(parent, probability)| (parent.as_str(), *probability));
    let rows = [beginning].into_iter().chain(parents).filter(|(_, probability)| *probability > 0.0);
    rows.map(move |(parent, probability)| {
        // Three decimals are precise enough, and are written as such.
        let probability = (f64::from(probability) * 1000.0).round() / 1000.0;
        json!([workspace, channel, id, links.source.version(), parent, probability])
    })
}

/// The row of `messages` for a message, in the order of [`sql::messages::PUT_MESSAGES`].
fn message_values(
    message: &Message,
    client_message_id: Option<&str>,
    disposition: Disposition,
    effect: Option<HearEffect>,
    revision: u64,
) -> Value {
    json!([
        message.conversation.workspace,
        message.conversation.channel,
        message.id,
        rows::thread_column(&message.conversation),
        message.at.as_millisecond(),
        message.author.id,
        rows::kind_name(message.author.kind),
        message.text,
        json!(message.mentions).to_string(),
        disposition.gate().map(Gate::name),
        effect.map(|effect| effect.decision),
        revision,
        i64::from(disposition.is_redacted()),
        client_message_id,
        json!(message.attachments).to_string(),
        searched_names(&message.attachments),
    ])
}

/// Stores one of the persona's own messages, as [`hear_messages`] stores those of others.
pub async fn put_own_message(
    connection: &mut Connection,
    counters: &mut Counters,
    message: &Message,
    gate: Gate,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let disposition = Disposition::Settled(gate);
    let row =
        Value::Array(vec![message_values(message, None, disposition, None, counters.revision)])
            .to_string();
    let put = query(sql::messages::PUT_MESSAGES).bind(row).execute(&mut *connection).await?;
    if put == 0 {
        // The platform has delivered it earlier, before its kind was known.
        let conversation = &message.conversation;
        query(sql::messages::SETTLE_OWN_MESSAGE)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(message.id.as_str())
            .bind(gate.name())
            .execute(connection)
            .await?;
    }
    Ok(())
}

impl Counters {
    pub fn next_decision_id(&self) -> DecisionId {
        // Not taken yet: `record_arrival` takes the number if a decision was opened.
        DecisionId(self.last_number + 1)
    }

    pub fn record_arrival(&mut self, effect: HearEffect) {
        if effect.has_opened_decision {
            self.last_number = self.last_number.max(effect.decision.0);
        }
    }

    fn receipt(&self, effect: Option<HearEffect>) -> HearReceipt {
        let has_superseded = effect.is_some_and(|effect| effect.has_superseded);
        let decision = effect.map(|effect| effect.decision);
        HearReceipt { is_new: true, has_superseded, decision, revision: self.revision }
    }

    fn unchanged_receipt(&self) -> HearReceipt {
        HearReceipt {
            is_new: false,
            has_superseded: false,
            decision: None,
            revision: self.revision,
        }
    }

    fn change_receipt(&mut self, is_new: bool) -> HearReceipt {
        self.revision += u64::from(is_new);
        HearReceipt { is_new, has_superseded: false, decision: None, revision: self.revision }
    }
}
