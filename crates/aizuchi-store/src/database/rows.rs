//! Conversions between database rows and the types of `chat`, `flow`, `decision` and `memory`.

use std::sync::Arc;

use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Cursor, Message, MessageId, Role, User,
    UserId, Visibility, WorkspaceId,
};
use aizuchi_model::context::StateHash;
use aizuchi_model::decision::{
    Attempt, AttemptResult, Decision, DecisionFollowUp, DecisionId, Evaluation, FirstReply,
    Judgment, ModelExchange, Price, PromptOmission, Usage,
};
use aizuchi_model::flow::found_posts::{AskedMessage, FoundPost};
use aizuchi_model::flow::outbox::{OutboxItem, OutboxItemId};
use aizuchi_model::flow::step::{Lease, OwedAnswer, Step};
use aizuchi_model::flow::{DeadLetter, DeadLetterId, Work};
use aizuchi_model::memory::Lineage;
use aizuchi_model::recall::RecalledMessage;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::StoreError;
use crate::database::connection::{FromColumn, Row};
use crate::database::exchange_text::unpack;
use crate::stored_message::{ReactionGroup, StoredMessage};

type RowResult<T> = Result<T, StoreError>;

/// The value of a conversation's `thread` column.
pub fn thread_column(conversation: &ConversationId) -> &str {
    conversation.thread.as_ref().map_or("", |thread| thread.as_str())
}

pub fn conversation_columns(conversation: &ConversationId) -> Value {
    json!([conversation.workspace, conversation.channel, thread_column(conversation)])
}

pub fn conversation_from_row(row: &Row) -> RowResult<ConversationId> {
    let workspace = WorkspaceId::new(column::<String>(row, "workspace")?);
    let channel = ChannelId::new(column::<String>(row, "channel")?);
    Ok(in_thread(workspace, channel, column(row, "thread")?))
}

/// The conversation with these column values.
fn in_thread(workspace: WorkspaceId, channel: ChannelId, thread: String) -> ConversationId {
    let thread = (!thread.is_empty()).then(|| MessageId::new(thread));
    ConversationId { workspace, channel, thread }
}

pub fn message_from_row(row: &Row) -> RowResult<Message> {
    Ok(Message {
        conversation: conversation_from_row(row)?,
        id: MessageId::new(column::<String>(row, "id")?),
        at: to_timestamp(column(row, "at_ms")?)?,
        author: Author {
            id: UserId::new(column::<String>(row, "author")?),
            kind: parse_name(&column::<String>(row, "author_kind")?)?,
        },
        text: column::<String>(row, "text")?.into(),
        mentions: parse_json(&column::<String>(row, "mentions")?)?,
        attachments: parse_json(&column::<String>(row, "attachments")?)?,
        edits: column(row, "edits")?,
    })
}

pub fn stored_message_from_row(row: &Row) -> RowResult<StoredMessage> {
    let message = message_from_row(row)?;
    let name: Option<String> = column(row, "name")?;
    Ok(StoredMessage {
        author_name: name.map_or(message.author.id.0.clone(), Arc::from),
        message: Arc::new(message),
        visibility: parse_name::<Visibility>(&column::<String>(row, "visibility")?)?,
        is_deleted: column::<Option<i64>>(row, "deleted_ms")?.is_some(),
        is_expired: column(row, "is_expired")?,
        is_withheld: column::<i64>(row, "withheld")? != 0,
        gate: parse_optional_name(column(row, "gate")?)?,
        reactions: reactions_from_row(row)?,
        revision: to_unsigned(column(row, "revision")?)?,
    })
}

fn reactions_from_row(row: &Row) -> RowResult<Vec<ReactionGroup>> {
    type ReactionRow = (Arc<str>, UserId, AuthorKind, Option<Arc<str>>);
    let rows: Vec<ReactionRow> = parse_json(&column::<String>(row, "reactions")?)?;
    let workspace = WorkspaceId::new(column::<String>(row, "workspace")?);
    Ok(ReactionGroup::group(rows.into_iter().map(|(emoji, id, kind, name)| {
        let name = name.unwrap_or_else(|| id.0.clone());
        let role = Role::default();
        (emoji, User { workspace: workspace.clone(), id, name, kind, role, zone: None })
    })))
}

/// Parses a list of messages as returned by [`super::sql::recall::RECALLED_BY_NUMBER`].
pub fn parse_recalled(json: &str) -> RowResult<Vec<RecalledMessage>> {
    let rows: Vec<RecalledRow> = parse_json(json)?;
    rows.into_iter().map(RecalledRow::into_recalled).collect()
}

pub fn channel_from_row(row: &Row) -> RowResult<Channel> {
    Ok(Channel {
        workspace: WorkspaceId::new(column::<String>(row, "workspace")?),
        id: ChannelId::new(column::<String>(row, "id")?),
        name: column::<String>(row, "name")?.into(),
        visibility: parse_name::<Visibility>(&column::<String>(row, "visibility")?)?,
        topic: Some(column::<String>(row, "topic")?.into()),
    })
}

pub fn cursor_from_row(row: &Row) -> RowResult<Cursor> {
    Ok(Cursor {
        workspace: WorkspaceId::new(column::<String>(row, "workspace")?),
        stream: column::<String>(row, "place")?.into(),
        value: column::<String>(row, "value")?.into(),
    })
}

/// Converts a row with a thread and the time of its newest message.
/// Reads posts that were found in a history. A post has a row for each message that it is marked to answer.
pub fn found_posts_from_rows(rows: &[Row]) -> RowResult<Vec<FoundPost>> {
    let mut found: Vec<(String, FoundPost)> = Vec::new();
    for row in rows {
        let (id, answers) =
            (column::<String>(row, "id")?, column::<Option<String>>(row, "answers")?);
        if found.last().is_none_or(|(last, _)| *last != id) {
            let (at, thread) = (to_timestamp(column(row, "at_ms")?)?, thread_from_row(row)?);
            let (is_reaction, answers) = (id.is_empty(), answers.as_ref().map(|_| Vec::new()));
            found.push((id, FoundPost { at, thread, answers, is_reaction }));
        }
        // An empty id marks a post that answers nothing.
        let message = answers.filter(|id| !id.is_empty()).map(MessageId::new);
        if let Some((_, FoundPost { answers: Some(answers), .. })) = found.last_mut() {
            answers.extend(message);
        }
    }
    Ok(found.into_iter().map(|(_, post)| post).collect())
}

pub fn asked_message_from_row(row: &Row) -> RowResult<AskedMessage> {
    Ok(AskedMessage {
        id: MessageId::new(column::<String>(row, "id")?),
        at: to_timestamp(column(row, "at_ms")?)?,
        thread: thread_from_row(row)?,
    })
}

fn thread_from_row(row: &Row) -> RowResult<Option<MessageId>> {
    let thread: String = column(row, "thread")?;
    Ok((!thread.is_empty()).then(|| MessageId::new(thread)))
}

pub fn thread_activity_from_row(row: &Row) -> RowResult<(MessageId, Timestamp)> {
    Ok((MessageId::new(column::<String>(row, "thread")?), to_timestamp(column(row, "at_ms")?)?))
}

pub fn user_from_row(row: &Row) -> RowResult<User> {
    Ok(User {
        workspace: WorkspaceId::new(column::<String>(row, "workspace")?),
        id: UserId::new(column::<String>(row, "id")?),
        name: column::<String>(row, "name")?.into(),
        kind: parse_name(&column::<String>(row, "kind")?)?,
        role: parse_name(&column::<String>(row, "role")?)?,
        zone: column::<Option<String>>(row, "zone")?.map(Into::into),
    })
}

/// Parses a list of steps as returned by [`super::sql::steps::STEPS`].
pub fn parse_steps(json: &str) -> RowResult<Vec<Step>> {
    let rows: Vec<StepRow> = parse_json(json)?;
    rows.into_iter().map(StepRow::into_step).collect()
}

/// Parses a list of open owed answers as returned by [`super::sql::steps::PENDING_STATES`].
pub fn parse_owed(json: &str) -> RowResult<Vec<(ConversationId, OwedAnswer)>> {
    let rows: Vec<OwedRow> = parse_json(json)?;
    rows.into_iter().map(OwedRow::into_owed).collect()
}

/// The row of `steps` for a step, in the order of [`super::sql::steps::PUT_STEPS`].
pub fn step_values(step: &Step) -> Value {
    let conversation = step.work.conversation();
    let outbox_item = match &step.work {
        Work::Post(outbox_item) => Some(outbox_item.id),
        Work::Judge(_) | Work::Reply(_) => None,
    };
    json!([
        conversation.workspace,
        conversation.channel,
        thread_column(conversation),
        step.work.verb(),
        outbox_item,
        step.due.as_millisecond(),
        // Stored, although it follows from the others, because claims find steps by an index on it.
        step.ready_at().as_millisecond(),
        step.decision,
        i64::from(step.is_owed),
        step.redrafts,
        step.follow_up_due.map(Timestamp::as_millisecond),
        step.generation,
        step.attempts,
        step.lease.map(|lease| lease.token),
        step.lease.map(|lease| lease.until.as_millisecond()),
        step.waiting_since.as_millisecond(),
        step.second_looks,
    ])
}

/// Converts a row of `outbox`.
pub fn outbox_item_from_row(row: &Row) -> RowResult<OutboxItem> {
    Ok(OutboxItem {
        id: OutboxItemId(column(row, "id")?),
        first_in_draft: OutboxItemId(column(row, "draft")?),
        conversation: conversation_from_row(row)?,
        key: column::<String>(row, "key")?.into(),
        text: column::<String>(row, "text")?.into(),
        reaction_to: column::<Option<String>>(row, "reaction_on")?.map(MessageId::new),
        metadata: Arc::new(parse_json(&column::<String>(row, "notes")?)?),
        dispatched_at: optional_time(row, "dispatched_ms")?,
    })
}

pub fn decision_from_row(row: &Row) -> RowResult<Decision> {
    let judgment: Option<String> = column(row, "judgment")?;
    let attempts: Vec<AttemptRow> = parse_json(&column::<String>(row, "attempts")?)?;
    Ok(Decision {
        id: DecisionId(column(row, "id")?),
        conversation: conversation_from_row(row)?,
        opened: to_timestamp(column(row, "opened_ms")?)?,
        closed: column::<Option<i64>>(row, "closed_ms")?.map(to_timestamp).transpose()?,
        messages: parse_json(&column::<String>(row, "messages")?)?,
        is_addressed: column(row, "is_addressed")?,
        evaluation: evaluation_from_row(row)?,
        gate: parse_optional_name(column(row, "gate")?)?,
        judgment: judgment.map(|judgment| parse_json(&judgment)).transpose()?,
        state_hash: column::<Option<i64>>(row, "state")?.map(StateHash),
        ended: parse_optional_name(column(row, "ended")?)?,
        why: column(row, "why")?,
        is_expired: column(row, "is_expired")?,
        posted_messages: parse_json(&column::<String>(row, "said")?)?,
        reaction: parse_optional(row, "reacted")?,
        follow_up: DecisionFollowUp {
            first_reply: answered_from_row(row)?,
            reactions: to_unsigned(column(row, "reactions")?)?,
        },
        attempts: attempts.into_iter().map(AttemptRow::into_attempt).collect::<RowResult<_>>()?,
        revision: to_unsigned(column(row, "revision")?)?,
    })
}

fn evaluation_from_row(row: &Row) -> RowResult<Option<Evaluation>> {
    let Some(mode) = column::<Option<String>>(row, "mode")? else { return Ok(None) };
    Ok(Some(Evaluation {
        mode: parse_name(&mode)?,
        passed_gates: parse_optional(row, "passed")?.unwrap_or_default(),
        conversation_state: parse_optional_name(column(row, "conversation_state")?)?,
        needed_confidence: column(row, "needed_confidence")?,
    }))
}

fn answered_from_row(row: &Row) -> RowResult<Option<FirstReply>> {
    let answered: Option<(MessageId, i64)> = parse_optional(row, "answered")?;
    Ok(answered.map(|(message, after_ms)| FirstReply {
        message,
        delay: SignedDuration::from_millis(after_ms),
    }))
}

/// Reads a nullable JSON column.
pub fn parse_optional<T: DeserializeOwned>(row: &Row, name: &str) -> RowResult<Option<T>> {
    column::<Option<String>>(row, name)?.map(|json| parse_json(&json)).transpose()
}

/// Converts a row of [`super::sql::decisions::EXCHANGES`].
pub fn exchange_from_row(row: &Row) -> RowResult<Option<ModelExchange>> {
    let Some(prompt) = column::<Option<String>>(row, "prompt")? else { return Ok(None) };
    let (prompt, answer) = match column::<Option<Vec<u8>>>(row, "packed")? {
        Some(packed) => unpack(&packed)?,
        // Stored uncompressed by an earlier version.
        None => (prompt, column(row, "answer")?),
    };
    let messages: Vec<String> = parse_json(&column::<String>(row, "lines")?)?;
    Ok(Some(ModelExchange {
        prompt: prompt.into(),
        answer: answer.map(Arc::from),
        lineage: Lineage {
            messages: messages
                .iter()
                .map(|message| parse_json(message))
                .collect::<RowResult<_>>()?,
            memories: parse_json(&column::<String>(row, "memories")?)?,
            orders: parse_json(&column::<String>(row, "orders")?)?,
        },
        seen_revision: None,
    }))
}

pub fn dead_letter_from_row(row: &Row) -> RowResult<DeadLetter> {
    Ok(DeadLetter {
        id: DeadLetterId(column(row, "id")?),
        decision: column::<Option<i64>>(row, "decision")?.map(DecisionId),
        conversation: conversation_from_row(row)?,
        verb: column::<String>(row, "verb")?.into(),
        at: to_timestamp(column(row, "at_ms")?)?,
        attempts: column(row, "attempts")?,
        error: column(row, "error")?,
        text: column::<Option<String>>(row, "text")?.map(Arc::from),
    })
}

pub fn column<T: FromColumn>(row: &Row, name: &str) -> RowResult<T> {
    T::from_column(row, name).map_err(|error| StoreError::Broken(format!("column {name}: {error}")))
}

pub fn to_unsigned(value: i64) -> RowResult<u64> {
    u64::try_from(value)
        .map_err(|_| StoreError::Broken(format!("{value} where no negative number can be")))
}

/// Reads a nullable column of milliseconds.
pub fn optional_time(row: &Row, name: &str) -> RowResult<Option<Timestamp>> {
    column::<Option<i64>>(row, name)?.map(to_timestamp).transpose()
}

pub fn to_timestamp(milliseconds: i64) -> RowResult<Timestamp> {
    Timestamp::from_millisecond(milliseconds)
        .map_err(|_| StoreError::Broken(format!("{milliseconds} is not a time in milliseconds")))
}

/// Converts the end of an order; the greatest timestamp means never.
pub fn to_end_timestamp(milliseconds: i64) -> RowResult<Timestamp> {
    if milliseconds >= Timestamp::MAX.as_millisecond() {
        return Ok(Timestamp::MAX);
    }
    to_timestamp(milliseconds)
}

pub fn parse_json<T: DeserializeOwned>(json: &str) -> RowResult<T> {
    serde_json::from_str(json)
        .map_err(|error| StoreError::Broken(format!("a JSON column: {error}")))
}

/// Parses an enum variant by its serde name.
pub fn parse_name<T: DeserializeOwned>(name: &str) -> RowResult<T> {
    serde_json::from_value(Value::String(name.to_owned())).map_err(|error| {
        StoreError::Broken(format!("a column with a fixed list of words: {error}"))
    })
}

/// The column value of an author's kind, as [`parse_name`] reads it.
pub fn kind_name(kind: AuthorKind) -> &'static str {
    match kind {
        AuthorKind::Human => "human",
        AuthorKind::Bot => "bot",
        AuthorKind::Persona => "persona",
    }
}

pub fn visibility_name(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Public => "public",
        Visibility::Private => "private",
        Visibility::Direct => "direct",
    }
}

pub fn parse_optional_name<T: DeserializeOwned>(name: Option<String>) -> RowResult<Option<T>> {
    name.map(|name| parse_name(&name)).transpose()
}

#[derive(Deserialize)]
struct StepRow {
    workspace: WorkspaceId,
    channel: ChannelId,
    thread: String,
    verb: String,
    due_ms: i64,
    decision: DecisionId,
    is_owed: i64,
    redrafts: u32,
    second_looks: u32,
    follow_ms: Option<i64>,
    since_ms: i64,
    generation: u64,
    attempts: u32,
    token: Option<i64>,
    lease_until_ms: Option<i64>,
    piece: Option<i64>,
    draft: Option<i64>,
    key: Option<Arc<str>>,
    text: Option<Arc<str>>,
    reaction_on: Option<MessageId>,
    notes: Option<String>,
    dispatched_ms: Option<i64>,
}

impl StepRow {
    fn into_step(self) -> RowResult<Step> {
        let due = to_timestamp(self.due_ms)?;
        let follow_up_due = self.follow_ms.map(to_timestamp).transpose()?;
        let lease = match (self.token, self.lease_until_ms) {
            (Some(token), Some(until)) => Some(Lease { token, until: to_timestamp(until)? }),
            (None, _) | (_, None) => None,
        };
        let (decision, generation, attempts) = (self.decision, self.generation, self.attempts);
        let (is_owed, redrafts, second_looks) =
            (self.is_owed != 0, self.redrafts, self.second_looks);
        let waiting_since = to_timestamp(self.since_ms)?;
        let work = self.into_work()?;
        Ok(Step {
            work,
            due,
            decision,
            is_owed,
            redrafts,
            second_looks,
            follow_up_due,
            waiting_since,
            generation,
            attempts,
            lease,
        })
    }

    fn into_work(self) -> RowResult<Work> {
        let conversation = in_thread(self.workspace, self.channel, self.thread);
        match self.verb.as_str() {
            "judge" => return Ok(Work::Judge(conversation)),
            "reply" => return Ok(Work::Reply(conversation)),
            "post" => {}
            other => {
                return Err(StoreError::Broken(format!(
                    "steps.verb holds the unknown word {other:?}"
                )));
            }
        }
        let missing = || StoreError::Broken("a post's step has no row in the outbox".to_owned());
        Ok(Work::Post(OutboxItem {
            id: OutboxItemId(self.piece.ok_or_else(missing)?),
            first_in_draft: OutboxItemId(self.draft.ok_or_else(missing)?),
            conversation,
            key: self.key.ok_or_else(missing)?,
            text: self.text.ok_or_else(missing)?,
            reaction_to: self.reaction_on,
            metadata: Arc::new(parse_json(&self.notes.ok_or_else(missing)?)?),
            dispatched_at: self.dispatched_ms.map(to_timestamp).transpose()?,
        }))
    }
}

#[derive(Deserialize)]
struct RecalledRow {
    workspace: WorkspaceId,
    channel: ChannelId,
    id: MessageId,
    thread: String,
    at_ms: i64,
    author: UserId,
    author_kind: AuthorKind,
    text: Arc<str>,
    mentions: String,
    attachments: String,
    edits: u32,
    name: Option<Arc<str>>,
    channel_name: Option<Arc<str>>,
}

impl RecalledRow {
    fn into_recalled(self) -> RowResult<RecalledMessage> {
        let name = self.name.unwrap_or_else(|| self.author.0.clone());
        let channel_name = self.channel_name.unwrap_or_else(|| self.channel.0.clone());
        let message = Message {
            conversation: in_thread(self.workspace, self.channel, self.thread),
            id: self.id,
            at: to_timestamp(self.at_ms)?,
            author: Author { id: self.author, kind: self.author_kind },
            text: self.text,
            mentions: parse_json(&self.mentions)?,
            attachments: parse_json(&self.attachments)?,
            edits: self.edits,
        };
        Ok(RecalledMessage {
            message: Arc::new(message),
            author_name: name,
            channel_name,
            score: 0.0,
        })
    }
}

#[derive(Deserialize)]
struct OwedRow {
    workspace: WorkspaceId,
    channel: ChannelId,
    thread: String,
    at_ms: i64,
    message: Owed,
    asker: UserId,
}

impl OwedRow {
    fn into_owed(self) -> RowResult<(ConversationId, OwedAnswer)> {
        let at = to_timestamp(self.at_ms)?;
        let owed = OwedAnswer { at, to: self.message, asker: self.asker };
        Ok((in_thread(self.workspace, self.channel, self.thread), owed))
    }
}

/// An element of the JSON list `attempts` of [`super::sql::decisions::DECISIONS_OF_CHANNEL`].
#[derive(Deserialize)]
struct AttemptRow {
    verb: Arc<str>,
    at_ms: i64,
    model: Arc<str>,
    prompt_hash: Arc<str>,
    prompt_bytes: u64,
    input_tokens: u64,
    cached_tokens: u64,
    cache_write_tokens: u64,
    output_tokens: u64,
    usage_is_estimated: u64,
    price_micros: Option<u64>,
    latency_ms: i64,
    result: AttemptResult,
    judgment: Option<Judgment>,
    error: Option<String>,
    left_out: Vec<PromptOmission>,
}

impl AttemptRow {
    fn into_attempt(self) -> RowResult<Attempt> {
        Ok(Attempt {
            verb: self.verb,
            at: to_timestamp(self.at_ms)?,
            model: self.model,
            prompt_hash: self.prompt_hash,
            prompt_bytes: self.prompt_bytes,
            usage: Usage {
                input_tokens: self.input_tokens,
                cached_tokens: self.cached_tokens,
                cache_write_tokens: self.cache_write_tokens,
                output_tokens: self.output_tokens,
                is_estimated: self.usage_is_estimated != 0,
            },
            price: self.price_micros.map(|micros| Price { micros }),
            latency: SignedDuration::from_millis(self.latency_ms),
            result: self.result,
            judgment: self.judgment,
            error: self.error,
            omissions: self.left_out,
            exchange: None,
        })
    }
}
