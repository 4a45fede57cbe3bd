//! Hearing many lines in one transaction, with one set-based statement per table.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chat::{
    Channel, ConversationId, Cursor, Deletion, Edit, Message, MessageId, Reaction, ReactionChange,
    User, Visibility,
};
use crate::decision::DecisionId;
use crate::decision::gate::Gate;
use crate::event::Disposition;
use crate::event::step::{EditedMessage, HearEffect, PendingState};
use crate::memory::MessageRef;
use crate::store::database::connection::{Connection, query};
use crate::store::database::pending_states::PendingStates;
use crate::store::database::reply_delays::LearnedDelays;
use crate::store::database::{Counters, memory, rows, sql};
use crate::store::{HearReceipt, StoreError};

/// What arrivals did besides moving steps, gathered for one statement per table.
#[derive(Default)]
struct ArrivalEffects {
    opened: Vec<Value>,
    /// By decision, with the revision of the line that did it.
    superseded: BTreeMap<i64, u64>,
    addressed: BTreeMap<i64, u64>,
    replaced_drafts: Vec<Value>,
}

impl ArrivalEffects {
    fn record(
        &mut self,
        message: &Message,
        at: Timestamp,
        arrived: HearEffect,
        standing: &PendingState,
        revision: u64,
    ) {
        let conversation = &message.conversation;
        let is_owed = standing.owed.iter().any(|owed| owed.message == message.id);
        if arrived.has_opened_decision {
            self.opened.push(json!([
                arrived.decision,
                conversation.workspace,
                conversation.channel,
                rows::thread_column(conversation),
                at.as_millisecond(),
                i64::from(is_owed),
                revision,
            ]));
        } else if is_owed {
            self.addressed.entry(arrived.decision.0).or_insert(revision);
        }
        if arrived.has_superseded {
            self.superseded.insert(arrived.decision.0, revision);
            self.replaced_drafts.push(rows::conversation_columns(conversation));
        }
    }

    async fn write(self, connection: &mut Connection) -> Result<(), StoreError> {
        if !self.opened.is_empty() {
            let opened = Value::Array(self.opened).to_string();
            query(sql::OPEN_DECISIONS).bind(opened).execute(&mut *connection).await?;
        }
        if !self.addressed.is_empty() {
            let addressed = revision_pairs(&self.addressed);
            query(sql::ADDRESS_DECISIONS).bind(addressed).execute(&mut *connection).await?;
        }
        if !self.superseded.is_empty() {
            let overtaken = revision_pairs(&self.superseded);
            let statement = query(sql::SUPERSEDE_DECISIONS).bind(&overtaken);
            statement.execute(&mut *connection).await?;
            query(sql::SUPERSEDE_ATTEMPTS).bind(overtaken).execute(&mut *connection).await?;
            let replaced = Value::Array(self.replaced_drafts).to_string();
            query(sql::REPLACE_DRAFTS).bind(replaced).execute(&mut *connection).await?;
        }
        Ok(())
    }
}

fn revision_pairs(revisions: &BTreeMap<i64, u64>) -> String {
    revisions
        .iter()
        .map(|(decision, revision)| json!([decision, revision]))
        .collect::<Value>()
        .to_string()
}

/// A line that was heard.
pub struct IncomingMessage<'a> {
    pub message: &'a Message,
    pub client_message_id: Option<&'a str>,
    pub disposition: Disposition,
    pub remember_at: Option<Timestamp>,
}

pub async fn hear_messages(
    connection: &mut Connection,
    counters: &mut Counters,
    messages: &[IncomingMessage<'_>],
) -> Result<Vec<HearReceipt>, StoreError> {
    let conversations = messages.iter().map(|spoken| &spoken.message.conversation).collect();
    let (mut standings, known) =
        PendingStates::read_with_known(connection, &conversations, messages).await?;
    let told = messages.iter().filter(|spoken| !spoken.disposition.is_redacted());
    let people = told.map(|spoken| spoken.message).filter(|message| message.is_human());
    let people = people.map(|message| &message.conversation).collect();
    let mut learned = LearnedDelays::read(connection, &people).await?;
    let mut effects = ArrivalEffects::default();
    let mut lines = Vec::new();
    let mut receipts = Vec::new();
    let (mut heard, mut sent) = (HashSet::new(), HashSet::new());
    let mut fresh = Vec::new();
    for (
        place,
        IncomingMessage { message, client_message_id: sent_as, disposition: follows, .. },
    ) in messages.iter().enumerate()
    {
        let channel = (&message.conversation.workspace, &message.conversation.channel);
        let is_known = known.contains(&place)
            || !heard.insert((channel, message.id.as_str()))
            || sent_as.is_some_and(|sent_as| !sent.insert((channel, sent_as)));
        if is_known {
            receipts.push(HearReceipt {
                is_new: false,
                has_superseded: false,
                revision: counters.revision,
            });
            continue;
        }
        counters.revision += 1;
        let standing = standings.entry(&message.conversation);
        let arrived = standing.hear(message, *follows, counters.next_decision_id());
        if let Some(arrived) = arrived {
            counters.record_arrival(arrived);
            effects.record(message, message.at, arrived, standing, counters.revision);
        }
        if !follows.is_redacted() {
            learned.hear(message);
            fresh.push(*message);
        }
        lines.push(message_values(message, *sent_as, *follows, arrived, counters.revision));
        receipts.push(counters.receipt(arrived));
    }
    if lines.is_empty() {
        return Ok(receipts);
    }
    let lines = Value::Array(lines).to_string();
    query(sql::PUT_MESSAGES).bind(lines).execute(&mut *connection).await?;
    effects.write(connection).await?;
    learned.write(connection).await?;
    if let Some(due) = messages.iter().filter_map(|spoken| spoken.remember_at).min() {
        memory::schedule_for_messages(connection, fresh.into_iter(), due).await?;
    }
    let newest = messages.iter().map(|spoken| spoken.message.at).max();
    standings.write(connection, newest.map_or(0, |at| at.as_millisecond())).await?;
    Ok(receipts)
}

pub async fn hear_edit(
    connection: &mut Connection,
    counters: &mut Counters,
    edit: &Edit,
    follows: Disposition,
) -> Result<HearReceipt, StoreError> {
    let before = read_message(connection, &edit.conversation, &edit.message).await?;
    let (Disposition::Judge(rest), Some((before, edited_ms, attention))) = (follows, before) else {
        return Ok(counters.unchanged_receipt());
    };
    let edit = &match attention {
        EditEligibility::Eligible => edit.clone(),
        // A command stays as it was obeyed, and what it might become is not to be listened to.
        EditEligibility::Command => return Ok(counters.unchanged_receipt()),
        // Where its text is not kept, none is kept now.
        EditEligibility::Redacted if before.text.is_empty() => {
            return Ok(counters.unchanged_receipt());
        }
        EditEligibility::Redacted => Edit { mentions: Vec::new(), ..edit.clone() },
    };
    let is_old = edited_ms.is_some_and(|edited_ms| edited_ms >= edit.at.as_millisecond());
    if before.text == edit.text || is_old {
        return Ok(counters.unchanged_receipt());
    }
    counters.revision += 1;
    let after = Message {
        text: edit.text.clone(),
        mentions: edit.mentions.clone(),
        edits: before.edits + 1,
        ..before.clone()
    };
    let mut standings =
        PendingStates::read(connection, &HashSet::from([&edit.conversation])).await?;
    let standing = standings.entry(&edit.conversation);
    let edited = EditedMessage { before: &before, after: &after };
    let arrived = match attention {
        EditEligibility::Eligible => {
            standing.hear_edit(edited, edit.at, rest, counters.next_decision_id())
        }
        EditEligibility::Redacted | EditEligibility::Command => None,
    };
    // An edit that is owed an answer belongs to the decision that answers it.
    let is_owed = standing.owed.iter().any(|owed| owed.message == edit.message);
    let decision = arrived.filter(|_| is_owed).map(|arrived| arrived.decision.0);
    let mut effects = ArrivalEffects::default();
    if let Some(arrived) = arrived {
        counters.record_arrival(arrived);
        effects.record(&after, edit.at, arrived, standing, counters.revision);
    }
    let line = MessageRef(edit.conversation.channel.clone(), edit.message.clone());
    memory::forget_message(
        connection,
        counters,
        &edit.conversation.workspace,
        &line,
        before.at,
        edit.at,
    )
    .await?;
    // Bots edit their lines all the time; that costs no prompt.
    if before.is_human() {
        forget_exchanges(connection, counters, &edit.conversation, &edit.message).await?;
    }
    query(sql::EDIT_MESSAGE)
        .bind(edit.conversation.workspace.as_str())
        .bind(edit.conversation.channel.as_str())
        .bind(edit.message.as_str())
        .bind(&*edit.text)
        .bind(json!(edit.mentions).to_string())
        .bind(counters.revision as i64)
        .bind(decision)
        .bind(edit.at.as_millisecond())
        .execute(&mut *connection)
        .await?;
    effects.write(connection).await?;
    standings.write(connection, edit.at.as_millisecond()).await?;
    Ok(counters.receipt(arrived))
}

pub async fn hear_deletion(
    connection: &mut Connection,
    counters: &mut Counters,
    deletion: &Deletion,
    follows: Disposition,
) -> Result<HearReceipt, StoreError> {
    let before = read_message(connection, &deletion.conversation, &deletion.message).await?;
    let (Disposition::Judge(rest), Some((before, _, attention))) = (follows, before) else {
        return Ok(counters.unchanged_receipt());
    };
    counters.revision += 1;
    let mut standings =
        PendingStates::read(connection, &HashSet::from([&deletion.conversation])).await?;
    let standing = standings.entry(&deletion.conversation);
    let arrived = match attention {
        EditEligibility::Eligible => standing.hear_deletion(&before, deletion.at, rest),
        EditEligibility::Redacted | EditEligibility::Command => None,
    };
    let mut effects = ArrivalEffects::default();
    if let Some(arrived) = arrived {
        effects.record(&before, deletion.at, arrived, standing, counters.revision);
    }
    query(sql::DELETE_MESSAGE)
        .bind(deletion.conversation.workspace.as_str())
        .bind(deletion.conversation.channel.as_str())
        .bind(deletion.message.as_str())
        .bind(deletion.at.as_millisecond())
        .bind(counters.revision as i64)
        .execute(&mut *connection)
        .await?;
    let line = MessageRef(deletion.conversation.channel.clone(), deletion.message.clone());
    memory::forget_message(
        connection,
        counters,
        &deletion.conversation.workspace,
        &line,
        before.at,
        deletion.at,
    )
    .await?;
    forget_exchanges(connection, counters, &deletion.conversation, &deletion.message).await?;
    let letters = query(sql::FORGET_DEAD_LETTERS)
        .bind(deletion.conversation.workspace.as_str())
        .bind(deletion.conversation.channel.as_str())
        .bind(rows::thread_column(&deletion.conversation));
    letters.execute(&mut *connection).await?;
    effects.write(connection).await?;
    standings.write(connection, deletion.at.as_millisecond()).await?;
    Ok(counters.receipt(arrived))
}

pub async fn hear_channel(
    connection: &mut Connection,
    counters: &mut Counters,
    channel: &Channel,
    now: Timestamp,
) -> Result<HearReceipt, StoreError> {
    let known = query(sql::CHANNEL).bind(channel.workspace.as_str()).bind(channel.id.as_str());
    let known = known.fetch_optional(&mut *connection).await?;
    let was_public = match known {
        Some(row) => rows::channel_from_row(&row)?.visibility == Visibility::Public,
        None => false,
    };
    let put = query(sql::PUT_CHANNEL)
        .bind(channel.workspace.as_str())
        .bind(channel.id.as_str())
        .bind(&*channel.name)
        .bind(rows::visibility_name(channel.visibility));
    let put = put.execute(&mut *connection).await?;
    let receipt = counters.change_receipt(put > 0);
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
) -> Result<HearReceipt, StoreError> {
    let put = query(sql::PUT_USER)
        .bind(user.workspace.as_str())
        .bind(user.id.as_str())
        .bind(&*user.name)
        .bind(rows::kind_name(user.kind))
        .bind(user.role.name());
    let put = put.execute(&mut *connection).await?;
    Ok(counters.change_receipt(put > 0))
}

pub async fn hear_cursor(
    connection: &mut Connection,
    counters: &Counters,
    bookmark: &Cursor,
) -> Result<HearReceipt, StoreError> {
    let put = query(sql::PUT_CURSOR)
        .bind(bookmark.workspace.as_str())
        .bind(&*bookmark.stream)
        .bind(&*bookmark.value);
    let put = put.execute(connection).await?;
    // Nobody waits for it, so it wakes nobody.
    Ok(HearReceipt { is_new: put > 0, ..counters.unchanged_receipt() })
}

/// Nothing follows from a reaction: it is no edit, and no word. One to a line that is not known yet is kept
/// until the line comes, and nobody sees it before.
pub async fn hear_reaction(
    connection: &mut Connection,
    counters: &mut Counters,
    reaction: &Reaction,
) -> Result<HearReceipt, StoreError> {
    let workspace = reaction.workspace.as_str();
    let (channel, message) = (reaction.channel.as_str(), reaction.message.as_str());
    let change = query(match reaction.change {
        ReactionChange::Added => sql::ADD_REACTION,
        ReactionChange::Removed => sql::REMOVE_REACTION,
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
    let mark = query(sql::MARK_REACTED).bind(workspace).bind(channel).bind(message);
    let mark = mark.bind(counters.revision as i64 + 1);
    let marked = mark.execute(connection).await?;
    Ok(counters.change_receipt(marked > 0))
}

/// What was edited or deleted must not live on in prompts, nor in what models wrote about it.
async fn forget_exchanges(
    connection: &mut Connection,
    counters: &Counters,
    conversation: &ConversationId,
    message: &MessageId,
) -> Result<(), StoreError> {
    let (workspace, channel) = (conversation.workspace.as_str(), conversation.channel.as_str());
    let reasons = query(sql::FORGET_REASONS)
        .bind(workspace)
        .bind(channel)
        .bind(message.as_str())
        .bind(counters.revision as i64);
    reasons.execute(&mut *connection).await?;
    for statement in [sql::FORGET_VERDICTS, sql::FORGET_EXCHANGES] {
        let forget = query(statement).bind(workspace).bind(channel).bind(message.as_str());
        forget.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Whether a line may move anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EditEligibility {
    Eligible,
    /// Its author, or its room, is not listened to.
    Redacted,
    /// It was an order, and no part of the talk.
    Command,
}

/// A line that is not deleted, when it was edited last, and whether it is listened to.
async fn read_message(
    connection: &mut Connection,
    conversation: &ConversationId,
    message: &MessageId,
) -> Result<Option<(Message, Option<i64>, EditEligibility)>, StoreError> {
    let row = query(sql::UNDELETED_MESSAGE)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(message.as_str())
        .bind(rows::thread_column(conversation))
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let attention = rows::column::<i64>(&row, "attention")?;
    let attention = match attention {
        0 => EditEligibility::Eligible,
        1 => EditEligibility::Redacted,
        _ => EditEligibility::Command,
    };
    Ok(Some((rows::message_from_row(&row)?, rows::column(&row, "edited_ms")?, attention)))
}

/// The row of `messages` for a line, in the order of [`sql::PUT_LINES`].
fn message_values(
    message: &Message,
    sent_as: Option<&str>,
    follows: Disposition,
    arrived: Option<HearEffect>,
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
        follows.gate().map(Gate::name),
        arrived.map(|arrived| arrived.decision),
        revision,
        i64::from(follows.is_redacted()),
        sent_as,
    ])
}

/// Puts one own line into the room, as [`hear_messages`] does for others' lines.
pub async fn put_own_message(
    connection: &mut Connection,
    counters: &mut Counters,
    message: &Message,
    gate: Gate,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let follows = Disposition::Settled(gate);
    let line = Value::Array(vec![message_values(message, None, follows, None, counters.revision)])
        .to_string();
    query(sql::PUT_MESSAGES).bind(line).execute(connection).await?;
    Ok(())
}

impl Counters {
    pub fn next_decision_id(&self) -> DecisionId {
        DecisionId(self.last_number + 1)
    }

    pub fn record_arrival(&mut self, arrived: HearEffect) {
        if arrived.has_opened_decision {
            self.last_number = self.last_number.max(arrived.decision.0);
        }
    }

    fn receipt(&self, arrived: Option<HearEffect>) -> HearReceipt {
        let has_overtaken = arrived.is_some_and(|arrived| arrived.has_superseded);
        HearReceipt { is_new: true, has_superseded: has_overtaken, revision: self.revision }
    }

    fn unchanged_receipt(&self) -> HearReceipt {
        HearReceipt { is_new: false, has_superseded: false, revision: self.revision }
    }

    fn change_receipt(&mut self, is_new: bool) -> HearReceipt {
        self.revision += u64::from(is_new);
        HearReceipt { is_new, has_superseded: false, revision: self.revision }
    }
}
