//! Rows of the database as the words of the program, and back.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::chat::{
    Author, AuthorKind, Bookmark, Channel, ChannelId, ConversationId, Message, MessageId, Role,
    User, UserId, Visibility, WorkspaceId,
};
use crate::context::StateHash;
use crate::decision::{
    Answered, Attempt, AttemptEnd, Decision, DecisionId, Exchange, Judgment, LeftOut, Next, Price,
    Usage, Weighed,
};
use crate::event::step::{Lease, Owed, Step};
use crate::event::{DeadLetter, Event, Piece, PieceId};
use crate::memory::Lineage;
use crate::recall::Recalled;
use crate::store::database::connection::{Cell, Row};
use crate::store::{Line, Reacted, StoreError};

type Read<T> = Result<T, StoreError>;

/// The column `thread` of a conversation.
pub fn thread(conversation: &ConversationId) -> &str {
    conversation.thread.as_ref().map_or("", |thread| thread.as_str())
}

pub fn place(conversation: &ConversationId) -> Value {
    json!([conversation.workspace, conversation.channel, thread(conversation)])
}

pub fn conversation(row: &Row) -> Read<ConversationId> {
    let workspace = WorkspaceId::new(column::<String>(row, "workspace")?);
    let channel = ChannelId::new(column::<String>(row, "channel")?);
    Ok(in_thread(workspace, channel, column(row, "thread")?))
}

/// The conversation that three columns name.
fn in_thread(workspace: WorkspaceId, channel: ChannelId, thread: String) -> ConversationId {
    let thread = (!thread.is_empty()).then(|| MessageId::new(thread));
    ConversationId { workspace, channel, thread }
}

pub fn message(row: &Row) -> Read<Message> {
    Ok(Message {
        conversation: conversation(row)?,
        id: MessageId::new(column::<String>(row, "id")?),
        at: time(column(row, "at_ms")?)?,
        author: Author {
            id: UserId::new(column::<String>(row, "author")?),
            kind: named(&column::<String>(row, "author_kind")?)?,
        },
        text: column::<String>(row, "text")?.into(),
        mentions: parsed(&column::<String>(row, "mentions")?)?,
        edits: column(row, "edits")?,
    })
}

pub fn line(row: &Row) -> Read<Line> {
    let message = message(row)?;
    let name: Option<String> = column(row, "name")?;
    Ok(Line {
        name: name.map_or(message.author.id.0.clone(), Arc::from),
        message: Arc::new(message),
        is_deleted: column::<Option<i64>>(row, "deleted_ms")?.is_some(),
        gate: optional_name(column(row, "gate")?)?,
        reactions: reactions(row)?,
        revision: unsigned(column(row, "revision")?)?,
    })
}

fn reactions(row: &Row) -> Read<Vec<Reacted>> {
    type ReactionRow = (Arc<str>, UserId, AuthorKind, Option<Arc<str>>);
    let rows: Vec<ReactionRow> = parsed(&column::<String>(row, "reactions")?)?;
    let workspace = WorkspaceId::new(column::<String>(row, "workspace")?);
    Ok(Reacted::gather(rows.into_iter().map(|(emoji, id, kind, name)| {
        let name = name.unwrap_or_else(|| id.0.clone());
        let role = Role::default();
        (emoji, User { workspace: workspace.clone(), id, name, kind, role })
    })))
}

/// A list of lines as [`super::recall::sql::RECALLED_BY_NUMBER`] gives it.
pub fn recalled(json: &str) -> Read<Vec<Recalled>> {
    let rows: Vec<RecalledRow> = parsed(json)?;
    rows.into_iter().map(RecalledRow::read).collect()
}

pub fn channel(row: &Row) -> Read<Channel> {
    Ok(Channel {
        workspace: WorkspaceId::new(column::<String>(row, "workspace")?),
        id: ChannelId::new(column::<String>(row, "id")?),
        name: column::<String>(row, "name")?.into(),
        visibility: named::<Visibility>(&column::<String>(row, "visibility")?)?,
    })
}

pub fn bookmark(row: &Row) -> Read<Bookmark> {
    Ok(Bookmark {
        workspace: WorkspaceId::new(column::<String>(row, "workspace")?),
        place: column::<String>(row, "place")?.into(),
        value: column::<String>(row, "value")?.into(),
    })
}

/// A thread, and when something was said in it last.
pub fn thread_since(row: &Row) -> Read<(MessageId, Timestamp)> {
    Ok((MessageId::new(column::<String>(row, "thread")?), time(column(row, "at_ms")?)?))
}

pub fn user(row: &Row) -> Read<User> {
    Ok(User {
        workspace: WorkspaceId::new(column::<String>(row, "workspace")?),
        id: UserId::new(column::<String>(row, "id")?),
        name: column::<String>(row, "name")?.into(),
        kind: named(&column::<String>(row, "kind")?)?,
        role: named(&column::<String>(row, "role")?)?,
    })
}

/// A list of steps as [`super::sql::STEPS`] gives it.
pub fn steps(json: &str) -> Read<Vec<Step>> {
    let rows: Vec<StepRow> = parsed(json)?;
    rows.into_iter().map(StepRow::read).collect()
}

/// A list of open owed lines as [`super::sql::STANDINGS`] gives it.
pub fn owed(json: &str) -> Read<Vec<(ConversationId, Owed)>> {
    let rows: Vec<OwedRow> = parsed(json)?;
    rows.into_iter().map(OwedRow::read).collect()
}

/// The row of `steps` for a step, in the order of [`super::sql::PUT_STEPS`].
pub fn step_values(step: &Step) -> Value {
    let conversation = step.event.conversation();
    let piece = match &step.event {
        Event::Post(piece) => Some(piece.id),
        Event::Judge(_) | Event::Reply(_) => None,
    };
    json!([
        conversation.workspace,
        conversation.channel,
        thread(conversation),
        step.event.verb(),
        piece,
        step.due.as_millisecond(),
        step.ready().as_millisecond(),
        step.decision,
        i64::from(step.is_owed),
        step.redrafts,
        step.follow.map(Timestamp::as_millisecond),
        step.generation,
        step.attempts,
        step.lease.map(|lease| lease.token),
        step.lease.map(|lease| lease.until.as_millisecond()),
        step.since.as_millisecond(),
    ])
}

/// A row of `outbox`.
pub fn piece(row: &Row) -> Read<Piece> {
    Ok(Piece {
        id: PieceId(column(row, "id")?),
        first: PieceId(column(row, "draft")?),
        conversation: conversation(row)?,
        key: column::<String>(row, "key")?.into(),
        text: column::<String>(row, "text")?.into(),
        on: column::<Option<String>>(row, "reaction_on")?.map(MessageId::new),
        draft: Arc::new(parsed(&column::<String>(row, "notes")?)?),
        dispatched: column::<Option<i64>>(row, "dispatched_ms")?.map(time).transpose()?,
    })
}

pub fn decision(row: &Row) -> Read<Decision> {
    let judgment: Option<String> = column(row, "judgment")?;
    let attempts: Vec<AttemptRow> = parsed(&column::<String>(row, "attempts")?)?;
    Ok(Decision {
        id: DecisionId(column(row, "id")?),
        conversation: conversation(row)?,
        opened: time(column(row, "opened_ms")?)?,
        closed: column::<Option<i64>>(row, "closed_ms")?.map(time).transpose()?,
        messages: parsed(&column::<String>(row, "messages")?)?,
        addressed: column(row, "is_addressed")?,
        weighed: weighed(row)?,
        gate: optional_name(column(row, "gate")?)?,
        judgment: judgment.map(|judgment| parsed(&judgment)).transpose()?,
        state: column::<Option<i64>>(row, "state")?.map(StateHash),
        ended: optional_name(column(row, "ended")?)?,
        why: column(row, "why")?,
        said: parsed(&column::<String>(row, "said")?)?,
        reacted: optional(row, "reacted")?,
        next: Next { answered: answered(row)?, reactions: unsigned(column(row, "reactions")?)? },
        attempts: attempts.into_iter().map(AttemptRow::read).collect::<Read<_>>()?,
        revision: unsigned(column(row, "revision")?)?,
    })
}

fn weighed(row: &Row) -> Read<Option<Weighed>> {
    let Some(mode) = column::<Option<String>>(row, "mode")? else { return Ok(None) };
    Ok(Some(Weighed {
        mode: named(&mode)?,
        passed: optional(row, "passed")?.unwrap_or_default(),
        conversation_state: optional_name(column(row, "conversation_state")?)?,
    }))
}

fn answered(row: &Row) -> Read<Option<Answered>> {
    let answered: Option<(MessageId, i64)> = optional(row, "answered")?;
    Ok(answered.map(|(message, after_ms)| Answered {
        message,
        after: SignedDuration::from_millis(after_ms),
    }))
}

/// A JSON column that may be empty.
pub fn optional<T: DeserializeOwned>(row: &Row, name: &str) -> Read<Option<T>> {
    column::<Option<String>>(row, name)?.map(|json| parsed(&json)).transpose()
}

/// A row of [`super::sql::EXCHANGES`].
pub fn exchange(row: &Row) -> Read<Option<Exchange>> {
    let Some(prompt) = column::<Option<String>>(row, "prompt")? else { return Ok(None) };
    let lines: Vec<String> = parsed(&column::<String>(row, "lines")?)?;
    Ok(Some(Exchange {
        prompt: prompt.into(),
        answer: column::<Option<String>>(row, "answer")?.map(Arc::from),
        made_from: Lineage {
            lines: lines.iter().map(|line| parsed(line)).collect::<Read<_>>()?,
            memories: parsed(&column::<String>(row, "memories")?)?,
        },
        considered: 0,
    }))
}

pub fn dead_letter(row: &Row) -> Read<DeadLetter> {
    Ok(DeadLetter {
        conversation: conversation(row)?,
        verb: column::<String>(row, "verb")?.into(),
        at: time(column(row, "at_ms")?)?,
        attempts: column(row, "attempts")?,
        error: column(row, "error")?,
        text: column::<Option<String>>(row, "text")?.map(Arc::from),
    })
}

pub fn column<T: Cell>(row: &Row, name: &str) -> Read<T> {
    T::of(row, name).map_err(|error| StoreError::Broken(format!("column {name}: {error}")))
}

pub fn unsigned(value: i64) -> Read<u64> {
    u64::try_from(value)
        .map_err(|_| StoreError::Broken(format!("{value} where no negative number can be")))
}

pub fn time(milliseconds: i64) -> Read<Timestamp> {
    Timestamp::from_millisecond(milliseconds)
        .map_err(|_| StoreError::Broken(format!("{milliseconds} is no time in milliseconds")))
}

/// When something ends; the last moment there is stands for never.
pub fn end(milliseconds: i64) -> Read<Timestamp> {
    if milliseconds >= Timestamp::MAX.as_millisecond() {
        return Ok(Timestamp::MAX);
    }
    time(milliseconds)
}

pub fn parsed<T: DeserializeOwned>(json: &str) -> Read<T> {
    serde_json::from_str(json)
        .map_err(|error| StoreError::Broken(format!("a JSON column: {error}")))
}

/// A value of a closed list, by the name that serde knows it by.
pub fn named<T: DeserializeOwned>(name: &str) -> Read<T> {
    serde_json::from_value(Value::String(name.to_owned())).map_err(|error| {
        StoreError::Broken(format!("a column with a fixed list of words: {error}"))
    })
}

/// The name of an author's kind or a channel's visibility, as [`named`] reads it.
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

fn optional_name<T: DeserializeOwned>(name: Option<String>) -> Read<Option<T>> {
    name.map(|name| named(&name)).transpose()
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
    fn read(self) -> Read<Step> {
        let due = time(self.due_ms)?;
        let follow = self.follow_ms.map(time).transpose()?;
        let lease = match (self.token, self.lease_until_ms) {
            (Some(token), Some(until)) => Some(Lease { token, until: time(until)? }),
            (None, _) | (_, None) => None,
        };
        let (decision, generation, attempts) = (self.decision, self.generation, self.attempts);
        let (is_owed, redrafts) = (self.is_owed != 0, self.redrafts);
        let since = time(self.since_ms)?;
        let event = self.event()?;
        Ok(Step {
            event,
            due,
            decision,
            is_owed,
            redrafts,
            follow,
            since,
            generation,
            attempts,
            lease,
        })
    }

    fn event(self) -> Read<Event> {
        let conversation = in_thread(self.workspace, self.channel, self.thread);
        match self.verb.as_str() {
            "judge" => return Ok(Event::Judge(conversation)),
            "reply" => return Ok(Event::Reply(conversation)),
            "post" => {}
            other => {
                return Err(StoreError::Broken(format!(
                    "steps.verb holds the unknown word {other:?}"
                )));
            }
        }
        let absent = || StoreError::Broken("a post's step has no row in the outbox".to_owned());
        Ok(Event::Post(Piece {
            id: PieceId(self.piece.ok_or_else(absent)?),
            first: PieceId(self.draft.ok_or_else(absent)?),
            conversation,
            key: self.key.ok_or_else(absent)?,
            text: self.text.ok_or_else(absent)?,
            on: self.reaction_on,
            draft: Arc::new(parsed(&self.notes.ok_or_else(absent)?)?),
            dispatched: self.dispatched_ms.map(time).transpose()?,
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
    edits: u32,
    name: Option<Arc<str>>,
    channel_name: Option<Arc<str>>,
}

impl RecalledRow {
    fn read(self) -> Read<Recalled> {
        let name = self.name.unwrap_or_else(|| self.author.0.clone());
        let channel_name = self.channel_name.unwrap_or_else(|| self.channel.0.clone());
        let message = Message {
            conversation: in_thread(self.workspace, self.channel, self.thread),
            id: self.id,
            at: time(self.at_ms)?,
            author: Author { id: self.author, kind: self.author_kind },
            text: self.text,
            mentions: parsed(&self.mentions)?,
            edits: self.edits,
        };
        Ok(Recalled { message: Arc::new(message), name, channel_name, score: 0.0 })
    }
}

#[derive(Deserialize)]
struct OwedRow {
    workspace: WorkspaceId,
    channel: ChannelId,
    thread: String,
    at_ms: i64,
    message: MessageId,
    asker: UserId,
}

impl OwedRow {
    fn read(self) -> Read<(ConversationId, Owed)> {
        let owed = Owed { at: time(self.at_ms)?, message: self.message, asker: self.asker };
        Ok((in_thread(self.workspace, self.channel, self.thread), owed))
    }
}

/// An element of the JSON list that [`super::sql::DECISIONS_OF_CHANNEL`] makes of `attempts`.
#[derive(Deserialize)]
struct AttemptRow {
    verb: Arc<str>,
    at_ms: i64,
    model: Arc<str>,
    prompt_hash: Arc<str>,
    prompt_bytes: u64,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    price_micros: Option<u64>,
    latency_ms: i64,
    result: AttemptEnd,
    judgment: Option<Judgment>,
    error: Option<String>,
    left_out: Vec<LeftOut>,
}

impl AttemptRow {
    fn read(self) -> Read<Attempt> {
        Ok(Attempt {
            verb: self.verb,
            at: time(self.at_ms)?,
            model: self.model,
            prompt_hash: self.prompt_hash,
            prompt_bytes: self.prompt_bytes,
            usage: Usage {
                input_tokens: self.input_tokens,
                cached_tokens: self.cached_tokens,
                output_tokens: self.output_tokens,
            },
            price: self.price_micros.map(|micros| Price { micros }),
            latency: SignedDuration::from_millis(self.latency_ms),
            end: self.result,
            judgment: self.judgment,
            error: self.error,
            left_out: self.left_out,
            exchange: None,
        })
    }
}
