//! Reads recorded chat, for a replay or an import, and imports the data of another bot. Messages are heard as backfill,
//! which is owed no answers; memories and memos are stored through orders. Existing data stays unchanged, so an import is
//! idempotent.

pub mod json_lines;
pub mod export_lines;
pub mod rows;
pub mod history;
pub mod input;
pub mod record_sorter;
pub mod message_ids;
pub mod streamed;
mod quoted_messages;
mod existing;
mod opening;
mod restrict;
mod forgotten;
mod opted_out;
mod withdrawn;
pub mod kotonoha;
pub mod myao2;
pub mod to_import;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::pin::pin;

use aizuchi_agent::inbox::{Inbox, WaitSettings};
use aizuchi_model::chat::{
    Arrival, Channel, ChannelId, ConversationId, Heard, Message, Reaction, User, UserId,
    Visibility, WorkspaceId,
};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MessageRef};
use aizuchi_model::rules::setting_override::{SettingChange, SettingOverride};
use aizuchi_store::archive::Archive;
use aizuchi_store::order::{Mute, Order, OrdersInForce};
use aizuchi_store::{Cursors, StoreError};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use jiff::Timestamp;

use crate::existing::HistoryCheck;
use crate::kotonoha::threads::SeparateThreads;
use crate::message_ids::MessageIds;
use crate::opening::OpeningChannels;
use crate::opted_out::WithheldSources;
use crate::restrict::restrict;
use crate::streamed::{BatchLimits, StreamedAuthors, StreamedMessage, next_batch};
use crate::withdrawn::WithdrawnSources;

/// The number of messages in flight. Many are heard at once, so that the store commits them in groups.
const MAX_CONCURRENT_HEARS: usize = 256;
/// The maximum number of unreadable lines that are listed.
const MAX_NAMED_LINES: usize = 5;

/// The data of another bot or installation except for its messages, which are too many to hold in memory. A channel
/// whose visibility is unknown is private.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportData {
    pub workspace: WorkspaceId,
    pub channels: Vec<Channel>,
    pub users: Vec<User>,
    /// What is known about the streamed messages as a whole.
    pub streamed: StreamedAuthors,
    /// Where the ids of the messages come from.
    pub ids: MessageIds,
    pub memories: Vec<ImportedMemory>,
    pub memos: Vec<ImportedMemo>,
    /// Whether the data says who may see its memories and memos. Otherwise each is visible where it is said to belong.
    pub knows_visibility: bool,
    /// The conversations of all messages, if some of their threads may be private and therefore channels of their own.
    /// The channels are then derived from these.
    pub unsorted_conversations: BTreeSet<ConversationId>,
    /// Opt-outs, mutes, modes, settings and standing orders.
    pub orders: Vec<Order>,
    pub skipped: Vec<SkippedItems>,
}

/// An imported memory. The messages it was made from are not known.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMemory {
    pub key: MemoryKey,
    pub entries: Vec<MemoryEntry>,
    pub newest: Timestamp,
}

/// An imported memo.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMemo {
    pub memo: Memo,
    /// The messages that it was made from, if they are known.
    pub messages: Vec<MessageRef>,
}

/// Data that is not imported, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedItems {
    pub kind: &'static str,
    pub count: usize,
    pub reason: Cow<'static, str>,
}

/// How many items of one kind were new, and how many existed already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCount {
    pub new: usize,
    pub existing: usize,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    pub channels: ImportCount,
    pub users: ImportCount,
    pub messages: ImportCount,
    pub reactions: ImportCount,
    pub memories: ImportCount,
    pub memos: ImportCount,
    pub orders: ImportCount,
    pub skipped: Vec<SkippedItems>,
}

impl ImportCount {
    fn count(&mut self, is_new: bool) {
        if is_new { self.new += 1 } else { self.existing += 1 }
    }
}

impl SkippedItems {
    /// Returns `None` if the count is zero.
    pub fn new_if_any(
        kind: &'static str,
        count: usize,
        reason: impl Into<Cow<'static, str>>,
    ) -> Option<Self> {
        (count > 0).then(|| Self { kind, count, reason: reason.into() })
    }
}

/// Formats the first line numbers in parentheses: ` (lines 3, 8, 12, …)`.
pub fn name_lines(numbers: &[usize]) -> String {
    let named = numbers.iter().take(MAX_NAMED_LINES).map(usize::to_string);
    let more = (numbers.len() > MAX_NAMED_LINES).then(|| "…".to_owned());
    let named: Vec<String> = named.chain(more).collect();
    match numbers.len() {
        0 => String::new(),
        1 => format!(" (line {})", named[0]),
        _ => format!(" (lines {})", named.join(", ")),
    }
}

impl ImportData {
    /// Data of this workspace, without any content.
    pub fn new(workspace: WorkspaceId) -> Self {
        Self {
            workspace,
            channels: Vec::new(),
            users: Vec::new(),
            streamed: StreamedAuthors::default(),
            ids: MessageIds::default(),
            memories: Vec::new(),
            memos: Vec::new(),
            knows_visibility: false,
            unsorted_conversations: BTreeSet::new(),
            orders: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

/// The wait settings for the inbox of an import. No message is recent enough to be owed an answer, not even one that a
/// wrong clock dates in the future.
pub fn wait_settings() -> WaitSettings {
    const NEVER: f64 = -1e9;
    WaitSettings { max_message_age_seconds: NEVER, ..WaitSettings::default() }
}

/// Imports the data, and its messages in batches. Messages that were not public come first: they stay private even if
/// their channel is public now. The inbox must use [`wait_settings`]. `history_from` is the time from which the
/// platform's own history will be read. Later messages without a platform id are skipped, because the history contains
/// them, too. If the import is interrupted, everything that was heard stays, and the next import continues from there.
pub async fn import_stream(
    data: ImportData,
    streamed: impl Stream<Item = anyhow::Result<StreamedMessage>>,
    inbox: &Inbox,
    archive: &dyn Archive,
    cursors: &dyn Cursors,
    history_from: Option<Timestamp>,
) -> anyhow::Result<ImportReport> {
    let limits = BatchLimits::default();
    import_stream_within(data, streamed, inbox, archive, cursors, history_from, limits).await
}

/// Imports like [`import_stream`], in batches of this size.
pub async fn import_stream_within(
    mut data: ImportData,
    streamed: impl Stream<Item = anyhow::Result<StreamedMessage>>,
    inbox: &Inbox,
    archive: &dyn Archive,
    cursors: &dyn Cursors,
    history_from: Option<Timestamp>,
    limits: BatchLimits,
) -> anyhow::Result<ImportReport> {
    let mut opening = OpeningChannels::read(&data.workspace, cursors).await?;
    let mut known: HashMap<ChannelId, Visibility> = archive
        .channels(&data.workspace)
        .await?
        .into_iter()
        .map(|channel| (channel.id, channel.visibility))
        .collect();
    // A channel that is private only because an import was interrupted does not count as private.
    opening.leave_out_of(&mut known);
    if data.knows_visibility {
        restrict(&mut data, &known, archive).await?;
    }
    data.leave_out_opted_out(&inbox.channel_cache);
    let mut sources = WithheldSources::cited_by(&data.memories);
    let separate = SeparateThreads::find(&mut data, &known, archive).await?;
    let streamed = streamed.map(|next| next.map(|streamed| separate.moved(streamed)));
    let mut streamed = pin!(streamed.peekable());
    let ImportData {
        workspace,
        channels,
        users,
        streamed: _,
        ids,
        mut memories,
        mut memos,
        knows_visibility: _,
        unsorted_conversations: _,
        orders,
        skipped,
    } = data;
    let mut report = ImportReport { skipped, ..ImportReport::default() };
    let channels: Vec<Channel> = channels
        .into_iter()
        .inspect(|channel| report.channels.count(!known.contains_key(&channel.id)))
        .filter(|channel| !known.contains_key(&channel.id))
        .collect();
    let known_users: HashSet<UserId> =
        archive.users(&workspace).await?.into_iter().map(|user| user.id).collect();
    for user in users {
        let is_new = !known_users.contains(&user.id);
        report.users.count(is_new);
        if is_new {
            inbox.hear(Heard::User(user)).await?;
        }
    }
    let mut private = PrivateMessages {
        new_channels: &channels,
        known: &known,
        opening: &mut opening,
        too_late: 0,
    };
    loop {
        let (messages, reactions) = next_batch(streamed.as_mut(), true, limits).await?;
        if messages.is_empty() {
            break;
        }
        sources.note(&messages, &inbox.channel_cache);
        private.hear(messages, inbox, archive, &mut report).await?;
        hear_reactions(reactions, inbox, &mut report).await?;
    }
    report.skipped.extend(SkippedItems::new_if_any(
        "messages from when their channel was private",
        private.too_late,
        "the channel is known as public, so everybody would see them",
    ));
    for channel in channels {
        let id = channel.id.clone();
        inbox.hear(Heard::Channel(channel)).await?;
        opening.end(&id).await?;
    }
    let mut history = HistoryCheck::new(archive, ids, history_from);
    loop {
        let (messages, reactions) = next_batch(streamed.as_mut(), false, limits).await?;
        if messages.is_empty() {
            break;
        }
        sources.note(&messages, &inbox.channel_cache);
        let messages = history.keep(messages, &mut report.messages).await?;
        hear_all(messages, inbox, &mut report).await?;
        hear_reactions(reactions, inbox, &mut report).await?;
    }
    // A message that was private must not follow, because its channel is known as public by now.
    let next = streamed.as_mut().peek().await;
    anyhow::ensure!(next.is_none(), "messages that were private come after others");
    report.skipped.extend(history.skipped());
    report.skipped.extend(sources.leave_out(&mut memories));
    let withdrawn = WithdrawnSources::find(&workspace, &memories, &memos, archive).await?;
    report.skipped.extend(withdrawn.leave_out(&mut memories, &mut memos));
    for ImportedMemory { key, entries, newest } in memories {
        report
            .memories
            .count(apply_order(inbox, Order::ImportMemory { key, entries, newest }).await?);
    }
    for ImportedMemo { memo, messages } in memos {
        let (workspace, memo) = (workspace.clone(), Box::new(memo));
        let order = Order::ImportMemo { workspace, memo, messages };
        report.memos.count(apply_order(inbox, order).await?);
    }
    let standing = inbox.store.orders(&workspace).await?;
    let mut refused = 0;
    for order in orders {
        if is_in_force(&order, &standing) {
            report.orders.count(false);
            continue;
        }
        match inbox.apply_order(order).await {
            Ok(()) => report.orders.count(true),
            Err(StoreError::Refused(_)) => refused += 1,
            Err(error) => return Err(error.into()),
        }
    }
    report.skipped.extend(SkippedItems::new_if_any(
        "standing orders",
        refused,
        "there are as many in their place as there may be",
    ));
    Ok(report)
}

/// Hears messages concurrently, and counts them.
async fn hear_all(
    messages: Vec<Message>,
    inbox: &Inbox,
    report: &mut ImportReport,
) -> Result<(), StoreError> {
    let heard = stream::iter(messages)
        .map(|message| inbox.hear(Heard::Message(message, Arrival::Backfilled)))
        .buffered(MAX_CONCURRENT_HEARS);
    let receipts: Vec<_> = heard.try_collect().await?;
    receipts.iter().for_each(|receipt| report.messages.count(receipt.is_new));
    Ok(())
}

async fn hear_reactions(
    reactions: Vec<Reaction>,
    inbox: &Inbox,
    report: &mut ImportReport,
) -> Result<(), StoreError> {
    for reaction in reactions {
        report.reactions.count(inbox.hear(Heard::Reaction(reaction)).await?.is_new);
    }
    Ok(())
}

/// Hears the messages that were not public before their channels are known as public, since a message is as private as
/// its channel is when it is heard.
struct PrivateMessages<'a, 'c> {
    new_channels: &'a [Channel],
    /// The channels that existed before the import.
    known: &'a HashMap<ChannelId, Visibility>,
    opening: &'a mut OpeningChannels<'c>,
    /// Messages that are not heard, because everyone would see them.
    too_late: usize,
}

impl PrivateMessages<'_, '_> {
    async fn hear(
        &mut self,
        messages: Vec<Message>,
        inbox: &Inbox,
        archive: &dyn Archive,
        report: &mut ImportReport,
    ) -> Result<(), StoreError> {
        let concerned: HashSet<ChannelId> =
            messages.iter().map(|message| message.conversation.channel.clone()).collect();
        for channel in self.new_channels.iter().filter(|it| concerned.contains(&it.id)) {
            let visibility = match channel.visibility {
                Visibility::Public => {
                    self.opening.begin(&channel.id).await?;
                    Visibility::Private
                }
                other @ (Visibility::Private | Visibility::Direct) => other,
            };
            inbox.hear(Heard::Channel(Channel { visibility, ..channel.clone() })).await?;
        }
        let mut heard = Vec::new();
        for message in messages {
            let ConversationId { workspace, channel, .. } = &message.conversation;
            if self.known.get(channel) != Some(&Visibility::Public) {
                heard.push(message);
                continue;
            }
            match archive.message(workspace, channel, &message.id).await? {
                Some(_) => report.messages.count(false),
                None => self.too_late += 1,
            }
        }
        hear_all(heard, inbox, report).await
    }
}

/// Leaves out entries, and memories that lose all of theirs. Returns the number of entries.
fn leave_out_entries(
    memories: &mut Vec<ImportedMemory>,
    is_left_out: impl Fn(&MemoryKey, &MemoryEntry) -> bool,
) -> usize {
    let mut left_out = 0;
    memories.retain_mut(|ImportedMemory { key, entries, .. }| {
        let before = entries.len();
        entries.retain(|entry| !is_left_out(key, entry));
        left_out += before - entries.len();
        !entries.is_empty()
    });
    left_out
}

/// Whether an equivalent order is in force already.
fn is_in_force(order: &Order, standing: &OrdersInForce) -> bool {
    match order {
        Order::OptOut { user, .. } => standing.opted_out.contains(user),
        Order::Mute { channel, until, by, .. } => {
            let is_longer = |mute: &Mute| mute.by == *by && mute.until >= *until;
            standing.mutes.iter().any(|(muted, mute)| muted == channel && is_longer(mute))
        }
        // An order that was given here takes precedence.
        Order::Mode { channel, .. } => standing.modes.iter().any(|(known, _)| known == channel),
        Order::ChangeSetting { scope, change: SettingChange::Set(setting), role, .. } => {
            let is_same = |known: &SettingOverride| {
                let is_there = known.scope == *scope && known.role == *role;
                is_there && known.setting.kind() == setting.kind()
            };
            standing.settings.iter().any(is_same)
        }
        Order::GiveStandingOrder { scope, text, .. } => {
            standing.standing.iter().any(|known| known.scope == *scope && known.text == *text)
        }
        _ => false,
    }
}

/// Applies an order and returns whether it changed anything.
async fn apply_order(inbox: &Inbox, order: Order) -> Result<bool, StoreError> {
    let revision = *inbox.store.revisions().borrow();
    inbox.apply_order(order).await?;
    Ok(*inbox.store.revisions().borrow() != revision)
}
