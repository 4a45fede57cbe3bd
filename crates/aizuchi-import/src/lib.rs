//! What another program kept is brought along: talk as history that is heard late and owes nothing,
//! what was remembered as an order. What is here already stays, so doing it twice changes nothing.

pub mod kotonoha;
pub mod myao2;

use std::collections::{BTreeMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::{SignedDuration, Timestamp};

use aizuchi_core::chat::{
    Arrival, Channel, ChannelId, ConversationId, Heard, Message, MessageId, User, UserId,
    WorkspaceId,
};
use aizuchi_core::inbox::{Inbox, WaitSettings};
use aizuchi_core::memo::Memo;
use aizuchi_core::memory::{MemoryEntry, MemoryKey};
use aizuchi_core::store::{Archive, MessageQuery, MessageRange, Order, StoreError};

/// So many lines are heard at once, to be written together.
const MAX_CONCURRENT_HEARS: usize = 256;
/// How far apart two programs' times of the same post may be.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(2);

/// What another program kept, in our words. Who may read a channel is not known, so each is private.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportData {
    pub workspace: WorkspaceId,
    pub channels: Vec<Channel>,
    pub users: Vec<User>,
    /// Oldest first.
    pub messages: Vec<ImportedMessage>,
    pub memories: Vec<ImportedMemory>,
    pub memos: Vec<Memo>,
    pub skipped: Vec<SkippedItems>,
}

/// A line of talk.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMessage {
    pub message: Message,
    /// Its id is the platform's, so that the platform's history has the same line.
    pub has_platform_id: bool,
}

/// Something remembered, without the lines behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMemory {
    pub key: MemoryKey,
    pub entries: Vec<MemoryEntry>,
    pub newest: Timestamp,
}

/// What is not brought along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedItems {
    pub kind: &'static str,
    pub count: usize,
    pub reason: &'static str,
}

/// How much of one kind was new, and how much was here already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCount {
    pub new: usize,
    pub existing: usize,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    pub channels: ImportCount,
    pub users: ImportCount,
    pub messages: ImportCount,
    pub memories: ImportCount,
    pub memos: ImportCount,
    pub skipped: Vec<SkippedItems>,
}

impl ImportCount {
    fn count(&mut self, is_new: bool) {
        if is_new { self.new += 1 } else { self.existing += 1 }
    }
}

impl SkippedItems {
    /// Nothing, if it is none.
    pub fn new_if_any(what: &'static str, count: usize, why: &'static str) -> Option<Self> {
        (count > 0).then_some(Self { kind: what, count, reason: why })
    }
}

/// How whoever hears what is brought along waits: nothing is young enough to be owed an answer, not
/// even what a wrong clock dates ahead.
pub fn wait_settings() -> WaitSettings {
    const NEVER: f64 = -1e9;
    WaitSettings { max_message_age_seconds: NEVER, ..WaitSettings::default() }
}

/// Brings it along. The inbox are to wait as [`waiting`] says. `history_from`: since when the platform's
/// own history will be read, which has what was said without a platform's id as well.
pub async fn import_data(
    belongings: ImportData,
    inbox: &Inbox,
    archive: &dyn Archive,
    history_from: Option<Timestamp>,
) -> Result<ImportReport, StoreError> {
    let ImportData {
        workspace,
        channels,
        users,
        messages: lines,
        memories,
        memos,
        skipped: left_out,
    } = belongings;
    let mut report = ImportReport { skipped: left_out, ..ImportReport::default() };
    let known: HashSet<ChannelId> =
        archive.channels(&workspace).await?.into_iter().map(|it| it.id).collect();
    for channel in channels {
        let is_new = !known.contains(&channel.id);
        report.channels.count(is_new);
        if is_new {
            inbox.hear(Heard::Channel(channel)).await?;
        }
    }
    let known: HashSet<UserId> =
        archive.users(&workspace).await?.into_iter().map(|user| user.id).collect();
    for user in users {
        let is_new = !known.contains(&user.id);
        report.users.count(is_new);
        if is_new {
            inbox.hear(Heard::User(user)).await?;
        }
    }
    let lines = skip_duplicates(lines, archive, history_from, &mut report).await?;
    let heard = stream::iter(lines)
        .map(|message| inbox.hear(Heard::Message(message, Arrival::Backfilled)))
        .buffered(MAX_CONCURRENT_HEARS);
    let receipts: Vec<_> = heard.try_collect().await?;
    receipts.iter().for_each(|receipt| report.messages.count(receipt.is_new));
    for ImportedMemory { key, entries, newest } in memories {
        report
            .memories
            .count(carry_out(inbox, Order::ImportMemory { key, entries, newest }).await?);
    }
    for memo in memos {
        let (workspace, memo) = (workspace.clone(), Box::new(memo));
        report.memos.count(carry_out(inbox, Order::ImportMemo { workspace, memo }).await?);
    }
    Ok(report)
}

/// Whether it has changed anything.
async fn carry_out(inbox: &Inbox, order: Order) -> Result<bool, StoreError> {
    let revision = *inbox.store.revisions().borrow();
    inbox.apply_order(order).await?;
    Ok(*inbox.store.revisions().borrow() != revision)
}

/// Leaves out what the platform's history has under another id: it is here already, or will be.
async fn skip_duplicates(
    lines: Vec<ImportedMessage>,
    archive: &dyn Archive,
    history_from: Option<Timestamp>,
    report: &mut ImportReport,
) -> Result<Vec<Message>, StoreError> {
    let mut said = ExistingMessages::default();
    for line in lines.iter().filter(|line| !line.has_platform_id) {
        said.extend_range_to(&line.message);
    }
    said.load(archive).await?;
    let mut heard = Vec::with_capacity(lines.len());
    let mut young = 0;
    for ImportedMessage { message, has_platform_id } in lines {
        if has_platform_id || said.has_id(&message) {
            heard.push(message);
        } else if said.has_text(&message) {
            report.messages.count(false);
        } else if history_from.is_some_and(|from| message.at >= from) {
            young += 1;
        } else {
            heard.push(message);
        }
    }
    report.skipped.extend(SkippedItems::new_if_any(
        "the persona's newest messages",
        young,
        "the platform's own history has them, and it is read when Aizuchi connects",
    ));
    Ok(heard)
}

/// Lines that are here, where some of them may be known by another id.
#[derive(Default)]
struct ExistingMessages {
    /// By channel: the earliest time that matters.
    since: BTreeMap<(WorkspaceId, ChannelId), Timestamp>,
    ids: HashSet<(ChannelId, MessageId)>,
    texts: BTreeMap<(ConversationId, String), Vec<Timestamp>>,
}

impl ExistingMessages {
    fn extend_range_to(&mut self, message: &Message) {
        let place = &message.conversation;
        let key = (place.workspace.clone(), place.channel.clone());
        let from = self.since.entry(key).or_insert(message.at);
        *from = message.at.min(*from);
    }

    async fn load(&mut self, archive: &dyn Archive) -> Result<(), StoreError> {
        for ((workspace, channel), from) in &self.since {
            let query = MessageQuery {
                workspace: workspace.clone(),
                channel: channel.clone(),
                thread: None,
                range: MessageRange::AfterTime(*from - CLOCK_TOLERANCE),
                limit: i32::MAX as usize,
            };
            for line in archive.messages(query).await? {
                let message = &line.message;
                self.ids.insert((channel.clone(), message.id.clone()));
                let words = (message.conversation.clone(), normalize_whitespace(&message.text));
                self.texts.entry(words).or_default().push(message.at);
            }
        }
        Ok(())
    }

    fn has_id(&self, message: &Message) -> bool {
        self.ids.contains(&(message.conversation.channel.clone(), message.id.clone()))
    }

    fn has_text(&self, message: &Message) -> bool {
        let key = (message.conversation.clone(), normalize_whitespace(&message.text));
        let times = self.texts.get(&key);
        times.is_some_and(|times| {
            times.iter().any(|at| at.duration_since(message.at).abs() <= CLOCK_TOLERANCE)
        })
    }
}

/// However they are spaced.
fn normalize_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
