//! Hearing many lines in one transaction, with one set-based statement per table.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chat::{
    Bookmark, Channel, ConversationId, Deletion, Edit, Message, MessageId, Reaction,
    ReactionChange, User, Visibility,
};
use crate::decision::DecisionId;
use crate::decision::gate::Gate;
use crate::event::Follows;
use crate::event::step::{Arrived, Edited, Standing};
use crate::memory::LineId;
use crate::store::database::connection::{Connection, query};
use crate::store::database::delays::Learned;
use crate::store::database::standings::Standings;
use crate::store::database::{Counters, memory, rows, sql};
use crate::store::{Receipt, StoreError};

/// What arrivals did besides moving steps, gathered for one statement per table.
#[derive(Default)]
struct Effects {
    opened: Vec<Value>,
    /// By decision, with the revision of the line that did it.
    overtaken: BTreeMap<i64, u64>,
    addressed: BTreeMap<i64, u64>,
    replaced: Vec<Value>,
}

impl Effects {
    fn note(
        &mut self,
        message: &Message,
        at: Timestamp,
        arrived: Arrived,
        standing: &Standing,
        revision: u64,
    ) {
        let conversation = &message.conversation;
        let is_owed = standing.owed.iter().any(|owed| owed.message == message.id);
        if arrived.has_opened {
            self.opened.push(json!([
                arrived.decision,
                conversation.workspace,
                conversation.channel,
                rows::thread(conversation),
                at.as_millisecond(),
                i64::from(is_owed),
                revision,
            ]));
        } else if is_owed {
            self.addressed.entry(arrived.decision.0).or_insert(revision);
        }
        if arrived.has_overtaken {
            self.overtaken.insert(arrived.decision.0, revision);
            self.replaced.push(rows::place(conversation));
        }
    }

    async fn write(self, connection: &mut Connection) -> Result<(), StoreError> {
        if !self.opened.is_empty() {
            let opened = Value::Array(self.opened).to_string();
            query(sql::OPEN_DECISIONS).bind(opened).execute(&mut *connection).await?;
        }
        if !self.addressed.is_empty() {
            let addressed = pairs(&self.addressed);
            query(sql::ADDRESS_DECISIONS).bind(addressed).execute(&mut *connection).await?;
        }
        if !self.overtaken.is_empty() {
            let overtaken = pairs(&self.overtaken);
            let statement = query(sql::OVERTAKE_DECISIONS).bind(&overtaken);
            statement.execute(&mut *connection).await?;
            query(sql::SUPERSEDE_ATTEMPTS).bind(overtaken).execute(&mut *connection).await?;
            let replaced = Value::Array(self.replaced).to_string();
            query(sql::REPLACE_DRAFTS).bind(replaced).execute(&mut *connection).await?;
        }
        Ok(())
    }
}

fn pairs(revisions: &BTreeMap<i64, u64>) -> String {
    revisions
        .iter()
        .map(|(decision, revision)| json!([decision, revision]))
        .collect::<Value>()
        .to_string()
}

/// A line that was heard.
pub struct Spoken<'a> {
    pub message: &'a Message,
    pub sent_as: Option<&'a str>,
    pub follows: Follows,
    pub remember: Option<Timestamp>,
}

pub async fn hear_messages(
    connection: &mut Connection,
    counters: &mut Counters,
    messages: &[Spoken<'_>],
) -> Result<Vec<Receipt>, StoreError> {
    let conversations = messages.iter().map(|spoken| &spoken.message.conversation).collect();
    let (mut standings, known) =
        Standings::read_with_known(connection, &conversations, messages).await?;
    let told = messages.iter().filter(|spoken| !spoken.follows.is_withheld());
    let people = told.map(|spoken| spoken.message).filter(|message| message.is_human());
    let people = people.map(|message| &message.conversation).collect();
    let mut learned = Learned::read(connection, &people).await?;
    let mut effects = Effects::default();
    let mut lines = Vec::new();
    let mut receipts = Vec::new();
    let (mut heard, mut sent) = (HashSet::new(), HashSet::new());
    let mut fresh = Vec::new();
    for (place, Spoken { message, sent_as, follows, .. }) in messages.iter().enumerate() {
        let channel = (&message.conversation.workspace, &message.conversation.channel);
        let is_known = known.contains(&place)
            || !heard.insert((channel, message.id.as_str()))
            || sent_as.is_some_and(|sent_as| !sent.insert((channel, sent_as)));
        if is_known {
            receipts.push(Receipt {
                is_new: false,
                has_overtaken: false,
                revision: counters.revision,
            });
            continue;
        }
        counters.revision += 1;
        let standing = standings.of(&message.conversation);
        let arrived = standing.hear(message, *follows, counters.next_decision());
        if let Some(arrived) = arrived {
            counters.note(arrived);
            effects.note(message, message.at, arrived, standing, counters.revision);
        }
        if !follows.is_withheld() {
            learned.hear(message);
            fresh.push(*message);
        }
        lines.push(line_values(message, *sent_as, *follows, arrived, counters.revision));
        receipts.push(counters.receipt(arrived));
    }
    if lines.is_empty() {
        return Ok(receipts);
    }
    let lines = Value::Array(lines).to_string();
    query(sql::PUT_LINES).bind(lines).execute(&mut *connection).await?;
    effects.write(connection).await?;
    learned.write(connection).await?;
    if let Some(due) = messages.iter().filter_map(|spoken| spoken.remember).min() {
        memory::arm_for_lines(connection, fresh.into_iter(), due).await?;
    }
    let newest = messages.iter().map(|spoken| spoken.message.at).max();
    standings.write(connection, newest.map_or(0, |at| at.as_millisecond())).await?;
    Ok(receipts)
}

pub async fn hear_edit(
    connection: &mut Connection,
    counters: &mut Counters,
    edit: &Edit,
    follows: Follows,
) -> Result<Receipt, StoreError> {
    let before = read_line(connection, &edit.conversation, &edit.message).await?;
    let (Follows::Judge(rest), Some((before, edited_ms, attention))) = (follows, before) else {
        return Ok(counters.nothing_new());
    };
    let edit = &match attention {
        Attention::Given => edit.clone(),
        // A command stays as it was obeyed, and what it might become is not to be listened to.
        Attention::Command => return Ok(counters.nothing_new()),
        // Where its text is not kept, none is kept now.
        Attention::Withheld if before.text.is_empty() => return Ok(counters.nothing_new()),
        Attention::Withheld => Edit { mentions: Vec::new(), ..edit.clone() },
    };
    let is_old = edited_ms.is_some_and(|edited_ms| edited_ms >= edit.at.as_millisecond());
    if before.text == edit.text || is_old {
        return Ok(counters.nothing_new());
    }
    counters.revision += 1;
    let after = Message {
        text: edit.text.clone(),
        mentions: edit.mentions.clone(),
        edits: before.edits + 1,
        ..before.clone()
    };
    let mut standings = Standings::read(connection, &HashSet::from([&edit.conversation])).await?;
    let standing = standings.of(&edit.conversation);
    let edited = Edited { before: &before, after: &after };
    let arrived = match attention {
        Attention::Given => standing.hear_edit(edited, edit.at, rest, counters.next_decision()),
        Attention::Withheld | Attention::Command => None,
    };
    // An edit that is owed an answer belongs to the decision that answers it.
    let is_owed = standing.owed.iter().any(|owed| owed.message == edit.message);
    let decision = arrived.filter(|_| is_owed).map(|arrived| arrived.decision.0);
    let mut effects = Effects::default();
    if let Some(arrived) = arrived {
        counters.note(arrived);
        effects.note(&after, edit.at, arrived, standing, counters.revision);
    }
    let line = LineId(edit.conversation.channel.clone(), edit.message.clone());
    memory::forget(connection, counters, &edit.conversation.workspace, &line, before.at, edit.at)
        .await?;
    // Bots edit their lines all the time; that costs no prompt.
    if before.is_human() {
        forget(connection, counters, &edit.conversation, &edit.message).await?;
    }
    query(sql::EDIT_LINE)
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
    follows: Follows,
) -> Result<Receipt, StoreError> {
    let before = read_line(connection, &deletion.conversation, &deletion.message).await?;
    let (Follows::Judge(rest), Some((before, _, attention))) = (follows, before) else {
        return Ok(counters.nothing_new());
    };
    counters.revision += 1;
    let mut standings =
        Standings::read(connection, &HashSet::from([&deletion.conversation])).await?;
    let standing = standings.of(&deletion.conversation);
    let arrived = match attention {
        Attention::Given => standing.hear_deletion(&before, deletion.at, rest),
        Attention::Withheld | Attention::Command => None,
    };
    let mut effects = Effects::default();
    if let Some(arrived) = arrived {
        effects.note(&before, deletion.at, arrived, standing, counters.revision);
    }
    query(sql::DELETE_LINE)
        .bind(deletion.conversation.workspace.as_str())
        .bind(deletion.conversation.channel.as_str())
        .bind(deletion.message.as_str())
        .bind(deletion.at.as_millisecond())
        .bind(counters.revision as i64)
        .execute(&mut *connection)
        .await?;
    let line = LineId(deletion.conversation.channel.clone(), deletion.message.clone());
    memory::forget(
        connection,
        counters,
        &deletion.conversation.workspace,
        &line,
        before.at,
        deletion.at,
    )
    .await?;
    forget(connection, counters, &deletion.conversation, &deletion.message).await?;
    let letters = query(sql::FORGET_LETTERS)
        .bind(deletion.conversation.workspace.as_str())
        .bind(deletion.conversation.channel.as_str())
        .bind(rows::thread(&deletion.conversation));
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
) -> Result<Receipt, StoreError> {
    let known = query(sql::CHANNEL).bind(channel.workspace.as_str()).bind(channel.id.as_str());
    let known = known.fetch_optional(&mut *connection).await?;
    let was_public = match known {
        Some(row) => rows::channel(&row)?.visibility == Visibility::Public,
        None => false,
    };
    let put = query(sql::PUT_CHANNEL)
        .bind(channel.workspace.as_str())
        .bind(channel.id.as_str())
        .bind(&*channel.name)
        .bind(rows::visibility_name(channel.visibility));
    let put = put.execute(&mut *connection).await?;
    let receipt = counters.changed(put > 0);
    if was_public && channel.visibility != Visibility::Public {
        memory::withdraw(connection, counters, &channel.workspace, &channel.id, now).await?;
    }
    Ok(receipt)
}

pub async fn hear_user(
    connection: &mut Connection,
    counters: &mut Counters,
    user: &User,
) -> Result<Receipt, StoreError> {
    let put = query(sql::PUT_USER)
        .bind(user.workspace.as_str())
        .bind(user.id.as_str())
        .bind(&*user.name)
        .bind(rows::kind_name(user.kind))
        .bind(user.role.name());
    let put = put.execute(&mut *connection).await?;
    Ok(counters.changed(put > 0))
}

pub async fn hear_bookmark(
    connection: &mut Connection,
    counters: &Counters,
    bookmark: &Bookmark,
) -> Result<Receipt, StoreError> {
    let put = query(sql::PUT_BOOKMARK)
        .bind(bookmark.workspace.as_str())
        .bind(&*bookmark.place)
        .bind(&*bookmark.value);
    let put = put.execute(connection).await?;
    // Nobody waits for it, so it wakes nobody.
    Ok(Receipt { is_new: put > 0, ..counters.nothing_new() })
}

/// Nothing follows from a reaction: it is no edit, and no word. One to a line that is not known yet is kept
/// until the line comes, and nobody sees it before.
pub async fn hear_reaction(
    connection: &mut Connection,
    counters: &mut Counters,
    reaction: &Reaction,
) -> Result<Receipt, StoreError> {
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
        return Ok(counters.nothing_new());
    }
    let mark = query(sql::MARK_REACTED).bind(workspace).bind(channel).bind(message);
    let mark = mark.bind(counters.revision as i64 + 1);
    let marked = mark.execute(connection).await?;
    Ok(counters.changed(marked > 0))
}

/// What was edited or deleted must not live on in prompts, nor in what models wrote about it.
async fn forget(
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
enum Attention {
    Given,
    /// Its author, or its room, is not listened to.
    Withheld,
    /// It was an order, and no part of the talk.
    Command,
}

/// A line that is not deleted, when it was edited last, and whether it is listened to.
async fn read_line(
    connection: &mut Connection,
    conversation: &ConversationId,
    message: &MessageId,
) -> Result<Option<(Message, Option<i64>, Attention)>, StoreError> {
    let row = query(sql::LINE)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(message.as_str())
        .bind(rows::thread(conversation))
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let attention = rows::column::<i64>(&row, "attention")?;
    let attention = match attention {
        0 => Attention::Given,
        1 => Attention::Withheld,
        _ => Attention::Command,
    };
    Ok(Some((rows::message(&row)?, rows::column(&row, "edited_ms")?, attention)))
}

/// The row of `messages` for a line, in the order of [`sql::PUT_LINES`].
fn line_values(
    message: &Message,
    sent_as: Option<&str>,
    follows: Follows,
    arrived: Option<Arrived>,
    revision: u64,
) -> Value {
    json!([
        message.conversation.workspace,
        message.conversation.channel,
        message.id,
        rows::thread(&message.conversation),
        message.at.as_millisecond(),
        message.author.id,
        rows::kind_name(message.author.kind),
        message.text,
        json!(message.mentions).to_string(),
        follows.gate().map(Gate::name),
        arrived.map(|arrived| arrived.decision),
        revision,
        i64::from(follows.is_withheld()),
        sent_as,
    ])
}

/// Puts one own line into the room, as [`hear_messages`] does for others' lines.
pub async fn put_own_line(
    connection: &mut Connection,
    counters: &mut Counters,
    message: &Message,
    gate: Gate,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let follows = Follows::Nothing(gate);
    let line = Value::Array(vec![line_values(message, None, follows, None, counters.revision)])
        .to_string();
    query(sql::PUT_LINES).bind(line).execute(connection).await?;
    Ok(())
}

impl Counters {
    pub fn next_decision(&self) -> DecisionId {
        DecisionId(self.last_number + 1)
    }

    pub fn note(&mut self, arrived: Arrived) {
        if arrived.has_opened {
            self.last_number = self.last_number.max(arrived.decision.0);
        }
    }

    fn receipt(&self, arrived: Option<Arrived>) -> Receipt {
        let has_overtaken = arrived.is_some_and(|arrived| arrived.has_overtaken);
        Receipt { is_new: true, has_overtaken, revision: self.revision }
    }

    fn nothing_new(&self) -> Receipt {
        Receipt { is_new: false, has_overtaken: false, revision: self.revision }
    }

    fn changed(&mut self, is_new: bool) -> Receipt {
        self.revision += u64::from(is_new);
        Receipt { is_new, has_overtaken: false, revision: self.revision }
    }
}
