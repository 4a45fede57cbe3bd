//! Reads a context with one statement, whatever the number of channels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Mention, Message, MessageId, Role, UserId,
    Visibility,
};
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::context::links::{LinkSource, MessageLinks};
use aizuchi_model::context::seen_revision::SeenRevision;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::context::{
    BudgetUsage, ChannelMemory, Circumstances, Context, ContextWindow, IMPORTANT_PRIORITY, Intent,
    Intervention, MAX_IMPORTANT_MEMOS, MAX_RECENT_MEMOS, PendingCommand, StateHash, ThreadMemory,
    newest_message_revision,
};
use aizuchi_model::decision::Judgment;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::MemoryId;
use aizuchi_model::rules::Mode;
use aizuchi_model::standing_order::{StandingOrder, StandingOrderScope, StandingOrderText};
use aizuchi_structure::LINKS_VERSION;
use serde::Deserialize;

use crate::StoreError;
use crate::database::connection::{Readers, Row, query};
use crate::database::rows;
use crate::database::sql::context as sql;

pub async fn read(
    readers: &Readers,
    conversation: &ConversationId,
    window: &ContextWindow,
) -> Result<Context, StoreError> {
    let row = read_row(readers, conversation, window).await?;
    let channel_name: Option<String> = rows::column(&row, "channel_name")?;
    let channel_name = channel_name.map_or(conversation.channel.0.clone(), Arc::from);
    let mut names = BTreeMap::new();
    let (mut covered, mut backfilled) = (Vec::new(), Vec::new());
    let mut restricted = BTreeSet::new();
    let mut new_messages = BTreeSet::new();
    let mut undecided = BTreeSet::new();
    let mut links = BTreeMap::new();
    let mut heard_messages = BTreeMap::new();
    let mut messages = Vec::new();
    let rows: Vec<ContextMessageRow> = rows::parse_json(&rows::column::<String>(&row, "lines")?)?;
    for message_row in rows {
        let (heard, is_new) = (message_row.heard, message_row.is_new != 0);
        let is_undecided = message_row.is_undecided != 0;
        if is_new {
            new_messages.insert(message_row.id.clone());
        }
        if message_row.is_shared == 0 {
            restricted.insert(message_row.id.clone());
        }
        if is_undecided {
            undecided.insert(message_row.id.clone());
        }
        if let Some(message_links) = message_row.links() {
            links.insert(message_row.id.clone(), Arc::new(message_links));
        }
        let message = message_row.into_message(conversation, &mut names)?;
        if message.is_human() && message.conversation == *conversation {
            heard_messages.insert(message.id.clone(), heard);
            // Not the message's revision: an edit is no new message.
            if is_new {
                covered.push((message.at, heard));
            } else if is_undecided {
                backfilled.push((message.at, heard));
            }
        }
        messages.push(Arc::new(message));
    }
    let circumstances: CircumstancesRow =
        rows::parse_json(&rows::column::<String>(&row, "circumstances")?)?;
    let mut before_intervention: Vec<Arc<Message>> = Vec::new();
    for message_row in
        rows::parse_json::<Vec<ContextMessageRow>>(&rows::column::<String>(&row, "compared")?)?
    {
        before_intervention.push(Arc::new(message_row.into_message(conversation, &mut names)?));
    }
    // A list that SQL has aggregated has no order.
    before_intervention.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    let channel_messages =
        ChannelMessages::from_messages(conversation.channel.clone(), channel_name, messages);
    let mut context = Context::new(conversation.clone(), channel_messages);
    context.names = names;
    context.restricted_messages = restricted;
    context.new_messages = new_messages;
    context.heard = heard_messages;
    context.undecided = undecided;
    context.links = links;
    context.circumstances = circumstances.into_circumstances(before_intervention)?;
    context.newest_message_revision = newest_message_revision(&covered, &backfilled);
    context.owed = rows::parse_json(&rows::column::<String>(&row, "owed")?)?;
    context.pending_commands = parse_commands(&rows::column::<String>(&row, "commands")?)?;
    let last_verdict: Option<(Option<i64>, i64)> = rows::parse_optional(&row, "last_verdict")?;
    if let Some((silent_state, judged_ms)) = last_verdict {
        context.last_silent_state = silent_state.map(StateHash);
        context.last_judged = Some(rows::to_timestamp(judged_ms)?);
    }
    context.intent = intent(&row)?;
    context.revision = rows::to_unsigned(rows::column(&row, "revision")?)?;
    context.standing_orders = parse_orders(&rows::column::<String>(&row, "orders")?)?;
    let visibility: Option<String> = rows::column(&row, "visibility")?;
    if let Some(visibility) = visibility {
        context.visibility = rows::parse_name(&visibility)?;
    }
    let topic: Option<String> = rows::column(&row, "topic")?;
    context.channel_topic = topic.unwrap_or_default().into();
    add_memories(&mut context, rows::parse_json(&rows::column::<String>(&row, "memories")?)?)?;
    context.memory_ids.sort();
    context.memory_ids.dedup();
    Ok(context)
}

async fn read_row(
    readers: &Readers,
    conversation: &ConversationId,
    window: &ContextWindow,
) -> Result<Row, StoreError> {
    let own = if conversation.thread.is_some() { window.thread_messages } else { window.messages };
    let shared = window.messages;
    query(sql::CONTEXT)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(rows::thread_column(conversation))
        .bind(shared.least as i64)
        .bind(own.least as i64)
        .bind(window.since.as_millisecond())
        .bind(window.active_since.as_millisecond())
        .bind(window.threads_since.as_millisecond())
        .bind(window.recent_since.as_millisecond())
        .bind(IMPORTANT_PRIORITY)
        .bind(MAX_IMPORTANT_MEMOS as i64)
        // Some of the newest memos may be among the important ones.
        .bind((MAX_IMPORTANT_MEMOS + MAX_RECENT_MEMOS) as i64)
        .bind(window.now.as_millisecond())
        // One more for the intervention itself.
        .bind(window.intervention_messages as i64 + 1)
        .bind(i64::from(LINKS_VERSION))
        .bind(shared.step as i64)
        .bind(shared.reach() as i64)
        .bind(own.step as i64)
        .bind(own.reach() as i64)
        .fetch_one(readers)
        .await
}

fn parse_commands(json: &str) -> Result<Vec<PendingCommand>, StoreError> {
    type Row = (Owed, UserId, Role, i64, Arc<str>);
    let rows: Vec<Row> = rows::parse_json(json)?;
    let command = |(owed, user, role, at_ms, text): Row| {
        Ok(PendingCommand { owed, user, role, at: rows::to_timestamp(at_ms)?, text })
    };
    rows.into_iter().map(command).collect()
}

fn parse_orders(json: &str) -> Result<Vec<StandingOrder>, StoreError> {
    type Row = (i64, i64, String, String, String, Arc<str>, i64, Visibility);
    let rows: Vec<Row> = rows::parse_json(json)?;
    let order = |(number, version, channel, thread, text, by, given_ms, visibility): Row| {
        Ok(StandingOrder {
            number,
            version,
            scope: StandingOrderScope::from_columns(&channel, &thread),
            text: StandingOrderText::from_stored(text),
            visibility,
            by,
            given: rows::to_timestamp(given_ms)?,
            ended: None,
            is_draft: false,
        })
    };
    rows.into_iter().map(order).collect()
}

/// The result of the open decision so far.
fn intent(row: &Row) -> Result<Option<Intent>, StoreError> {
    type StoredVerdict = (Option<Judgment>, Option<ConversationState>, Option<SeenRevision>);
    let verdict: Option<StoredVerdict> = rows::parse_optional(row, "verdict")?;
    Ok(verdict.and_then(|(judgment, conversation_state, seen_revision)| {
        let Judgment { reason, about, post_at, .. } = judgment?;
        let seen_revision = seen_revision.unwrap_or_default();
        Some(Intent { reason, about, conversation_state, post_at, seen_revision, occasion: None })
    }))
}

/// The `circumstances` of [`sql::CONTEXT`].
#[derive(Deserialize)]
struct CircumstancesRow {
    muted_until_ms: Option<i64>,
    ordered_mode: Option<Mode>,
    intervened_ms: Option<i64>,
    intervened_state: Option<ConversationState>,
    interventions_lately: u64,
    /// The posts in the channel, and in the whole workspace.
    posts: (u64, u64),
    spoke_unasked_ms: Option<i64>,
    said_unasked: Vec<Arc<str>>,
    answers_in_hour: BTreeMap<UserId, u64>,
    has_said_so: u64,
    spent: BudgetUsage,
    spent_anywhere: BudgetUsage,
}

impl CircumstancesRow {
    fn into_circumstances(
        self,
        messages_before: Vec<Arc<Message>>,
    ) -> Result<Circumstances, StoreError> {
        let (at, state) = (self.intervened_ms.map(rows::to_timestamp), self.intervened_state);
        let at = at.transpose()?;
        let mut said_unasked = self.said_unasked;
        said_unasked.sort_unstable();
        Ok(Circumstances {
            muted_until: self.muted_until_ms.map(rows::to_end_timestamp).transpose()?,
            ordered_mode: self.ordered_mode,
            last_intervention: at.map(|at| Intervention { at, state, messages_before }),
            recent_interventions: self.interventions_lately,
            posts_in_hour: self.posts.0,
            workspace_posts_in_hour: self.posts.1,
            last_unsolicited_post: self.spoke_unasked_ms.map(rows::to_timestamp).transpose()?,
            said_unasked,
            answers_in_hour: self.answers_in_hour,
            has_announced_over_budget: self.has_said_so > 0,
            channel_usage: self.spent,
            workspace_usage: self.spent_anywhere,
        })
    }
}

fn parse_memo(json: &Option<Arc<str>>) -> Result<Option<Memo>, StoreError> {
    json.as_deref().map(rows::parse_json).transpose()
}

/// One element of the `lines` of [`sql::CONTEXT`].
#[derive(Deserialize)]
struct ContextMessageRow {
    id: MessageId,
    thread: String,
    at_ms: i64,
    author: UserId,
    author_kind: AuthorKind,
    text: Arc<str>,
    mentions: Vec<Mention>,
    attachments: Vec<Attachment>,
    edits: u32,
    heard: u64,
    is_shared: u8,
    name: Option<Arc<str>>,
    named: Option<BTreeMap<UserId, Arc<str>>>,
    is_new: u8,
    is_undecided: u8,
    /// The version, the parent and the probability of each link.
    links: Option<Vec<(u32, String, f32)>>,
}

impl ContextMessageRow {
    fn links(&self) -> Option<MessageLinks> {
        let rows = self.links.as_deref()?;
        // Version 0 is what the platform says, which outranks what a model has found.
        let version = rows.iter().map(|(version, ..)| *version).min()?;
        let source = LinkSource::from_version(version);
        let mut links = MessageLinks { begins: 0.0, parents: BTreeMap::new(), source };
        for (_, parent, probability) in rows.iter().filter(|(other, ..)| *other == version) {
            match parent.as_str() {
                "" => links.begins = *probability,
                parent => drop(links.parents.insert(MessageId::new(parent), *probability)),
            }
        }
        Some(links)
    }

    fn into_message(
        self,
        conversation: &ConversationId,
        names: &mut BTreeMap<UserId, Arc<str>>,
    ) -> Result<Message, StoreError> {
        names.extend(self.named.into_iter().flatten());
        if let Some(name) = self.name {
            names.insert(self.author.clone(), name);
        }
        Ok(Message {
            conversation: ConversationId {
                thread: (!self.thread.is_empty()).then(|| MessageId::new(self.thread)),
                ..conversation.clone()
            },
            id: self.id,
            at: rows::to_timestamp(self.at_ms)?,
            author: Author { id: self.author, kind: self.author_kind },
            text: self.text,
            mentions: self.mentions,
            attachments: self.attachments,
            edits: self.edits,
        })
    }
}

/// One element of the `memories` of [`sql::CONTEXT`].
#[derive(Deserialize)]
struct MemoryRow {
    what: String,
    channel: ChannelId,
    thread: MessageId,
    name: Arc<str>,
    long_id: Option<MemoryId>,
    long_text: Option<Arc<str>>,
    short_id: Option<MemoryId>,
    short_text: Option<Arc<str>>,
}

fn add_memories(context: &mut Context, memories: Vec<MemoryRow>) -> Result<(), StoreError> {
    for row in memories {
        // A recent memo that is also important is listed once, as important.
        let is_listed = row.long_id.is_some_and(|id| context.memory_ids.contains(&id));
        let is_full = context.recent_memos.len() == MAX_RECENT_MEMOS;
        if row.what == "recent" && (is_listed || is_full) {
            continue;
        }
        let texts = [(row.long_id, &row.long_text), (row.short_id, &row.short_text)];
        let shown = texts.into_iter().filter(|(_, text)| text.is_some());
        context.memory_ids.extend(shown.filter_map(|(id, _)| id));
        match row.what.as_str() {
            "workspace" => {
                context.workspace_long_term_memory = row.long_text;
                context.workspace_short_term_memory = row.short_text;
            }
            "channel" => context.channel_memories.push(ChannelMemory {
                channel_id: row.channel,
                channel_name: row.name,
                long_term_memory: row.long_text,
                short_term_memory: row.short_text,
            }),
            "thread" => context
                .thread_memories
                .extend(row.long_text.map(|memory| ThreadMemory { thread: row.thread, memory })),
            "important" => context.important_memos.extend(parse_memo(&row.long_text)?),
            "recent" => context.recent_memos.extend(parse_memo(&row.long_text)?),
            other => {
                return Err(StoreError::Broken(format!("an unknown kind of memory {other:?}")));
            }
        }
    }
    Ok(())
}
