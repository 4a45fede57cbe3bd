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
use aizuchi_core::hear::{Ears, Waiting};
use aizuchi_core::memo::Memo;
use aizuchi_core::memory::{Entry, MemoryKey};
use aizuchi_core::store::{Archive, LineQuery, Order, Span, StoreError};

/// So many lines are heard at once, to be written together.
const AT_ONCE: usize = 256;
/// How far apart two programs' times of the same post may be.
const APART: SignedDuration = SignedDuration::from_mins(2);

/// What another program kept, in our words. Who may read a channel is not known, so each is private.
#[derive(Clone, Debug, PartialEq)]
pub struct Belongings {
    pub workspace: WorkspaceId,
    pub channels: Vec<Channel>,
    pub users: Vec<User>,
    /// Oldest first.
    pub lines: Vec<OldLine>,
    pub memories: Vec<OldMemory>,
    pub memos: Vec<Memo>,
    pub left_out: Vec<LeftOut>,
}

/// A line of talk.
#[derive(Clone, Debug, PartialEq)]
pub struct OldLine {
    pub message: Message,
    /// Its id is the platform's, so that the platform's history has the same line.
    pub has_platform_id: bool,
}

/// Something remembered, without the lines behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct OldMemory {
    pub key: MemoryKey,
    pub entries: Vec<Entry>,
    pub newest: Timestamp,
}

/// What is not brought along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub what: &'static str,
    pub count: usize,
    pub why: &'static str,
}

/// How much of one kind was new, and how much was here already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub new: usize,
    pub known: usize,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub channels: Tally,
    pub users: Tally,
    pub lines: Tally,
    pub memories: Tally,
    pub memos: Tally,
    pub left_out: Vec<LeftOut>,
}

impl Tally {
    fn count(&mut self, is_new: bool) {
        if is_new { self.new += 1 } else { self.known += 1 }
    }
}

impl LeftOut {
    /// Nothing, if it is none.
    pub fn of(what: &'static str, count: usize, why: &'static str) -> Option<Self> {
        (count > 0).then_some(Self { what, count, why })
    }
}

/// How whoever hears what is brought along waits: nothing is young enough to be owed an answer, not
/// even what a wrong clock dates ahead.
pub fn waiting() -> Waiting {
    const NEVER: f64 = -1e9;
    Waiting { max_message_age_seconds: NEVER, ..Waiting::default() }
}

/// Brings it along. The ears are to wait as [`waiting`] says. `history_from`: since when the platform's
/// own history will be read, which has what was said without a platform's id as well.
pub async fn bring(
    belongings: Belongings,
    ears: &Ears,
    archive: &dyn Archive,
    history_from: Option<Timestamp>,
) -> Result<Report, StoreError> {
    let Belongings { workspace, channels, users, lines, memories, memos, left_out } = belongings;
    let mut report = Report { left_out, ..Report::default() };
    let known: HashSet<ChannelId> =
        archive.channels(&workspace).await?.into_iter().map(|it| it.id).collect();
    for channel in channels {
        let is_new = !known.contains(&channel.id);
        report.channels.count(is_new);
        if is_new {
            ears.hear(Heard::Channel(channel)).await?;
        }
    }
    let known: HashSet<UserId> =
        archive.users(&workspace).await?.into_iter().map(|user| user.id).collect();
    for user in users {
        let is_new = !known.contains(&user.id);
        report.users.count(is_new);
        if is_new {
            ears.hear(Heard::User(user)).await?;
        }
    }
    let lines = sort_out(lines, archive, history_from, &mut report).await?;
    let heard = stream::iter(lines)
        .map(|message| ears.hear(Heard::Message(message, Arrival::CaughtUp)))
        .buffered(AT_ONCE);
    let receipts: Vec<_> = heard.try_collect().await?;
    receipts.iter().for_each(|receipt| report.lines.count(receipt.is_new));
    for OldMemory { key, entries, newest } in memories {
        report.memories.count(order(ears, Order::Remember { key, entries, newest }).await?);
    }
    for memo in memos {
        let (workspace, memo) = (workspace.clone(), Box::new(memo));
        report.memos.count(order(ears, Order::Note { workspace, memo }).await?);
    }
    Ok(report)
}

/// Whether it has changed anything.
async fn order(ears: &Ears, order: Order) -> Result<bool, StoreError> {
    let revision = *ears.store.revisions().borrow();
    ears.order(order).await?;
    Ok(*ears.store.revisions().borrow() != revision)
}

/// Leaves out what the platform's history has under another id: it is here already, or will be.
async fn sort_out(
    lines: Vec<OldLine>,
    archive: &dyn Archive,
    history_from: Option<Timestamp>,
    report: &mut Report,
) -> Result<Vec<Message>, StoreError> {
    let mut said = Said::default();
    for line in lines.iter().filter(|line| !line.has_platform_id) {
        said.look_from(&line.message);
    }
    said.read(archive).await?;
    let mut heard = Vec::with_capacity(lines.len());
    let mut young = 0;
    for OldLine { message, has_platform_id } in lines {
        if has_platform_id || said.has_id(&message) {
            heard.push(message);
        } else if said.has_words(&message) {
            report.lines.count(false);
        } else if history_from.is_some_and(|from| message.at >= from) {
            young += 1;
        } else {
            heard.push(message);
        }
    }
    report.left_out.extend(LeftOut::of(
        "the persona's newest messages",
        young,
        "the platform's own history has them, and it is read when Aizuchi connects",
    ));
    Ok(heard)
}

/// Lines that are here, where some of them may be known by another id.
#[derive(Default)]
struct Said {
    /// By channel: the earliest time that matters.
    from: BTreeMap<(WorkspaceId, ChannelId), Timestamp>,
    ids: HashSet<(ChannelId, MessageId)>,
    words: BTreeMap<(ConversationId, String), Vec<Timestamp>>,
}

impl Said {
    fn look_from(&mut self, message: &Message) {
        let place = &message.conversation;
        let key = (place.workspace.clone(), place.channel.clone());
        let from = self.from.entry(key).or_insert(message.at);
        *from = message.at.min(*from);
    }

    async fn read(&mut self, archive: &dyn Archive) -> Result<(), StoreError> {
        for ((workspace, channel), from) in &self.from {
            let query = LineQuery {
                workspace: workspace.clone(),
                channel: channel.clone(),
                thread: None,
                span: Span::AfterTime(*from - APART),
                limit: i32::MAX as usize,
            };
            for line in archive.lines(query).await? {
                let message = &line.message;
                self.ids.insert((channel.clone(), message.id.clone()));
                let words = (message.conversation.clone(), words(&message.text));
                self.words.entry(words).or_default().push(message.at);
            }
        }
        Ok(())
    }

    fn has_id(&self, message: &Message) -> bool {
        self.ids.contains(&(message.conversation.channel.clone(), message.id.clone()))
    }

    fn has_words(&self, message: &Message) -> bool {
        let key = (message.conversation.clone(), words(&message.text));
        let times = self.words.get(&key);
        times.is_some_and(|times| {
            times.iter().any(|at| at.duration_since(message.at).abs() <= APART)
        })
    }
}

/// However they are spaced.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
