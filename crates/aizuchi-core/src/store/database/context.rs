//! A context, in one statement, however many channels there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use crate::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Mention, Message, MessageId, Role, UserId,
};
use crate::context::channel_messages::ChannelMessages;
use crate::context::state::ConversationState;
use crate::context::{
    ChannelMemory, Circumstances, CommandLine, Context, IMPORTANT, IMPORTANT_MEMOS, Intervention,
    Motive, RECENT_MEMOS, Spent, StateHash, ThreadMemory, Window,
};
use crate::decision::Judgment;
use crate::memo::Memo;
use crate::memory::MemoryId;
use crate::rhythm::delays::Delays;
use crate::rules::Mode;
use crate::store::StoreError;
use crate::store::database::connection::{Readers, Row, query};
use crate::store::database::rows;
use crate::store::database::sql::context as sql;

pub async fn read(
    readers: &Readers,
    conversation: &ConversationId,
    window: &Window,
) -> Result<Context, StoreError> {
    let head = row(readers, conversation, window).await?;
    let channel_name: Option<String> = rows::column(&head, "channel_name")?;
    let channel_name = channel_name.map_or(conversation.channel.0.clone(), Arc::from);
    let mut names = BTreeMap::new();
    let mut newest_heard = 0;
    let mut unshared = BTreeSet::new();
    let mut fresh = BTreeSet::new();
    let mut lines = Vec::new();
    let rows: Vec<LineRow> = rows::parsed(&rows::column::<String>(&head, "lines")?)?;
    for row in rows {
        let (heard, is_fresh) = (row.heard, row.is_fresh != 0);
        if is_fresh {
            fresh.insert(row.id.clone());
        }
        if row.is_shared == 0 {
            unshared.insert(row.id.clone());
        }
        let message = row.read(conversation, &mut names)?;
        if message.is_human() && message.conversation == *conversation && is_fresh {
            newest_heard = newest_heard.max(heard);
        }
        lines.push(Arc::new(message));
    }
    let circumstances: CircumstancesRow =
        rows::parsed(&rows::column::<String>(&head, "circumstances")?)?;
    let mut compared: Vec<Arc<Message>> = Vec::new();
    for row in rows::parsed::<Vec<LineRow>>(&rows::column::<String>(&head, "compared")?)? {
        compared.push(Arc::new(row.read(conversation, &mut names)?));
    }
    compared.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    let history = ChannelMessages::sort(conversation.channel.clone(), channel_name, lines);
    let mut context = Context::of(conversation.clone(), history);
    context.names = names;
    context.unshared = unshared;
    context.fresh = fresh;
    context.circumstances = circumstances.read(compared)?;
    context.newest_heard = newest_heard;
    context.owed = rows::parsed(&rows::column::<String>(&head, "owed")?)?;
    context.commands = commands(&rows::column::<String>(&head, "commands")?)?;
    context.silent_state = rows::column::<Option<i64>>(&head, "silent_state")?.map(StateHash);
    context.motive = motive(&head)?;
    context.revision = rows::unsigned(rows::column(&head, "revision")?)?;
    let visibility: Option<String> = rows::column(&head, "visibility")?;
    if let Some(visibility) = visibility {
        context.visibility = rows::named(&visibility)?;
    }
    remember(&mut context, rows::parsed(&rows::column::<String>(&head, "memories")?)?)?;
    context.memories.sort();
    context.memories.dedup();
    Ok(context)
}

async fn row(
    readers: &Readers,
    conversation: &ConversationId,
    window: &Window,
) -> Result<Row, StoreError> {
    let own = if conversation.thread.is_some() { window.thread_messages } else { window.messages };
    query(sql::CONTEXT)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(rows::thread(conversation))
        .bind(window.messages as i64)
        .bind(own as i64)
        .bind(window.since.as_millisecond())
        .bind(window.active_since.as_millisecond())
        .bind(window.threads_since.as_millisecond())
        .bind(window.recent_since.as_millisecond())
        .bind(IMPORTANT)
        .bind(IMPORTANT_MEMOS as i64)
        // Some of the newest may be important.
        .bind((IMPORTANT_MEMOS + RECENT_MEMOS) as i64)
        .bind(window.now.as_millisecond())
        // And what it said then.
        .bind(window.compared as i64 + 1)
        .fetch_one(readers)
        .await
}

fn commands(json: &str) -> Result<Vec<CommandLine>, StoreError> {
    type Row = (MessageId, UserId, Role, i64, Arc<str>);
    let rows: Vec<Row> = rows::parsed(json)?;
    let command = |(line, by, role, at_ms, text): Row| {
        Ok(CommandLine { line, by, role, at: rows::time(at_ms)?, text })
    };
    rows.into_iter().map(command).collect()
}

/// What the open decision has come to so far.
fn motive(head: &Row) -> Result<Option<Motive>, StoreError> {
    type Verdict = (Option<Judgment>, Option<ConversationState>, Option<u64>);
    let verdict: Option<Verdict> = rows::optional(head, "verdict")?;
    Ok(verdict.and_then(|(judgment, conversation_state, considered)| {
        let Judgment { reason, about, moment, .. } = judgment?;
        let considered = considered.unwrap_or(0);
        Some(Motive { reason, about, conversation_state, moment, considered })
    }))
}

/// The `circumstances` of [`sql::CONTEXT`].
#[derive(Deserialize)]
struct CircumstancesRow {
    muted_until_ms: Option<i64>,
    ordered_mode: Option<Mode>,
    intervened_ms: Option<i64>,
    interventions_lately: u64,
    /// In the channel, and anywhere.
    posts: (u64, u64),
    spoke_unasked_ms: Option<i64>,
    answers_in_hour: BTreeMap<UserId, u64>,
    has_said_so: u64,
    spent: Spent,
    spent_anywhere: Spent,
    delays: Option<Delays>,
}

impl CircumstancesRow {
    fn read(self, lines: Vec<Arc<Message>>) -> Result<Circumstances, StoreError> {
        let at = self.intervened_ms.map(rows::time).transpose()?;
        Ok(Circumstances {
            muted_until: self.muted_until_ms.map(rows::end).transpose()?,
            ordered_mode: self.ordered_mode,
            intervention: at.map(|at| Intervention { at, lines }),
            interventions_lately: self.interventions_lately,
            posts_in_hour: self.posts.0,
            posts_in_hour_anywhere: self.posts.1,
            spoke_unasked: self.spoke_unasked_ms.map(rows::time).transpose()?,
            answers_in_hour: self.answers_in_hour,
            has_said_so: self.has_said_so > 0,
            spent: self.spent,
            spent_anywhere: self.spent_anywhere,
            delays: self.delays.unwrap_or_default(),
        })
    }
}

fn memo(json: &Option<Arc<str>>) -> Result<Option<Memo>, StoreError> {
    json.as_deref().map(rows::parsed).transpose()
}

/// One line of the `lines` of [`sql::CONTEXT`].
#[derive(Deserialize)]
struct LineRow {
    id: MessageId,
    thread: String,
    at_ms: i64,
    author: UserId,
    author_kind: AuthorKind,
    text: Arc<str>,
    mentions: Vec<Mention>,
    edits: u32,
    heard: u64,
    is_shared: u8,
    name: Option<Arc<str>>,
    named: Option<BTreeMap<UserId, Arc<str>>>,
    is_fresh: u8,
}

impl LineRow {
    fn read(
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
            at: rows::time(self.at_ms)?,
            author: Author { id: self.author, kind: self.author_kind },
            text: self.text,
            mentions: self.mentions,
            edits: self.edits,
        })
    }
}

/// One row of the `memories` of [`sql::CONTEXT`].
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

fn remember(context: &mut Context, memories: Vec<MemoryRow>) -> Result<(), StoreError> {
    for row in memories {
        // Of the newest memos, those are left out that are important, too.
        let is_told = row.long_id.is_some_and(|id| context.memories.contains(&id));
        let is_full = context.recent_memos.len() == RECENT_MEMOS;
        if row.what == "recent" && (is_told || is_full) {
            continue;
        }
        let texts = [(row.long_id, &row.long_text), (row.short_id, &row.short_text)];
        let shown = texts.into_iter().filter(|(_, text)| text.is_some());
        context.memories.extend(shown.filter_map(|(id, _)| id));
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
            "important" => context.important_memos.extend(memo(&row.long_text)?),
            "recent" => context.recent_memos.extend(memo(&row.long_text)?),
            other => {
                return Err(StoreError::Broken(format!("an unknown kind of memory {other:?}")));
            }
        }
    }
    Ok(())
}
