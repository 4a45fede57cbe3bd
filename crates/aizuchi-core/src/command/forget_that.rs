//! What "forget that" means: the entry or memo that the command quotes, or else that is told by the message to which it
//! replies, or by what the persona said last.

use std::collections::BTreeSet;

use crate::chat::{AuthorKind, ConversationId};
use crate::command::CommandRequest;
use crate::command::quoted::Quoted;
use crate::command::remembered::{Item, known_in};
use crate::memory::MemoryId;
use crate::memory::asker::{self, Asker};
use crate::memory::change::{JournalEntry, JournalKind, MemoryChange};
use crate::memory::duplicates::NormalizedText;
use crate::overlap::is_unspaced;
use crate::recall::content_words::content_words;
use crate::store::archive::Archive;
use crate::store::order::Order;
use crate::store::query::{MessageQuery, MessageRange};
use crate::store::stored_message::StoredMessage;
use crate::store::{Store, StoreError};

/// How many messages before the command the persona's post may be.
const MAX_MESSAGES: usize = 20;
/// How many of the newest changes are searched for those of a command.
const MAX_CHANGES: usize = 500;
/// A quotation of a part of an entry has this many characters; those of a script without spaces count twice.
const MIN_PART: usize = 6;
/// A post says an entry if it has this share of the entry's words, and that many.
const MIN_SHARE: f64 = 0.7;
const MIN_WORDS: usize = 3;
/// So many different things are too many to choose from; more are not looked for.
pub const MAX_CHOICES: usize = 10;

/// What is to be forgotten.
#[derive(Clone, Debug, PartialEq)]
pub enum ForgetTargets {
    /// Nothing that may be known here says it.
    Nothing,
    /// All of these say what the first one says.
    One(Vec<Item>),
    /// Different things, each once, [`MAX_CHOICES`] at most.
    Several(Vec<Item>),
    /// These were removed for this very command. Empty: a memo, whose words are gone.
    Forgotten(Vec<Item>),
}

/// How surely a text says what an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Words,
    Part,
    Whole,
}

/// What the command refers to.
struct Reference {
    quotations: Vec<ComparedText>,
    /// If nothing is quoted.
    post: Option<ComparedText>,
}

/// A text as entries are compared with it.
struct ComparedText {
    text: NormalizedText,
    words: BTreeSet<String>,
}

/// What a command means, among what may be known in its conversation.
pub async fn meant(
    store: &dyn Store,
    archive: &dyn Archive,
    request: &CommandRequest,
) -> Result<ForgetTargets, StoreError> {
    let removals = removals(archive, request).await?;
    if !removals.is_empty() {
        let removed = removed_entries(archive, request, removals).await?;
        return Ok(ForgetTargets::Forgotten(once_each(&removed)));
    }
    let known = known_in(store, archive, &request.conversation).await?;
    let reference = Reference::find(archive, request).await?;
    Ok(choose(&known, &reference))
}

/// What of all that is known says the same as this, and may be forgotten by the user.
pub async fn doubles_of(
    store: &dyn Store,
    archive: &dyn Archive,
    request: &CommandRequest,
    item: &Item,
) -> Result<Vec<Item>, StoreError> {
    let mut known = known_in(store, archive, &request.conversation).await?;
    known.retain(|other| other.is_duplicate_of(item) && may_forget(request, other));
    Ok(known)
}

/// What is pinned is for admins.
pub fn may_forget(request: &CommandRequest, item: &Item) -> bool {
    match item {
        Item::Entry { key, entry, .. } => asker(request).may_remove(key, entry),
        Item::Memo { .. } => true,
    }
}

/// The order that removes something, in the user's name.
pub fn order(request: &CommandRequest, item: Item) -> Order {
    let by = signature(request).into();
    match item {
        Item::Entry { key, version, entry } => {
            let change = MemoryChange::Forget(entry, asker(request));
            Order::ChangeMemory { key, version, change, by }
        }
        Item::Memo { id, .. } => {
            let workspace = request.conversation.workspace.clone();
            Order::ChangeMemo { workspace, id, edit: None, by }
        }
    }
}

/// How the journal names who gave this command, and which it was.
fn signature(request: &CommandRequest) -> String {
    asker::sign(&request.user, request.at)
}

fn asker(request: &CommandRequest) -> Asker {
    Asker { channel: request.conversation.channel.clone(), role: request.role }
}

/// What the reference is most like. Of two things that are equally like it, neither is taken.
fn choose(known: &[Item], reference: &Reference) -> ForgetTargets {
    let like = known.iter().filter_map(|item| Some((reference.likeness(item)?, item)));
    let like: Vec<(Likeness, &Item)> = like.collect();
    let Some(best) = like.iter().map(|(likeness, _)| *likeness).max() else {
        return ForgetTargets::Nothing;
    };
    let most_like = like.iter().filter(|(likeness, _)| *likeness == best);
    let different = once_each(most_like.map(|(_, item)| *item));
    match &different[..] {
        [one] => {
            let same = known.iter().filter(|item| *item != one && item.is_duplicate_of(one));
            ForgetTargets::One([one].into_iter().chain(same).cloned().collect())
        }
        _ => ForgetTargets::Several(different),
    }
}

fn once_each<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<Item> {
    let mut once: Vec<Item> = Vec::new();
    for item in items {
        if once.len() < MAX_CHOICES && !once.iter().any(|known| item.is_duplicate_of(known)) {
            once.push(item.clone());
        }
    }
    once
}

impl Reference {
    async fn find(archive: &dyn Archive, request: &CommandRequest) -> Result<Self, StoreError> {
        let quotations = Quoted::split(&request.text).quotations;
        let post = match quotations.is_empty() {
            true => post_before(archive, request).await?,
            false => None,
        };
        let quotations = quotations.iter().map(|quotation| ComparedText::new(quotation)).collect();
        Ok(Self { quotations, post: post.map(|post| ComparedText::new(&post)) })
    }

    fn likeness(&self, item: &Item) -> Option<Likeness> {
        let texts = match item {
            Item::Entry { entry, .. } => [item.line(), entry.text.to_string()],
            Item::Memo { memo, .. } => [item.line(), memo.content.clone()],
        };
        let texts = texts.iter().map(|text| ComparedText::new(text));
        let likeness = |text: ComparedText| {
            let quoted = self.quotations.iter().filter_map(|it| it.quotes(&text)).max();
            quoted.max(self.post.as_ref().and_then(|post| post.tells(&text)))
        };
        texts.filter_map(likeness).max()
    }
}

impl ComparedText {
    fn new(text: &str) -> Self {
        Self { text: NormalizedText::new(text), words: content_words(text) }
    }

    /// How a quotation is like the text of an entry.
    fn quotes(&self, entry: &Self) -> Option<Likeness> {
        match self.text == entry.text {
            true => Some(Likeness::Whole),
            false if entry.text.contains(&self.text) && is_telling(&self.text) => {
                Some(Likeness::Part)
            }
            false => self.tells(entry).map(|likeness| likeness.min(Likeness::Part)),
        }
    }

    /// How a post tells what an entry says.
    fn tells(&self, entry: &Self) -> Option<Likeness> {
        if self.text.contains(&entry.text) && is_telling(&entry.text) {
            return Some(Likeness::Whole);
        }
        let shared = entry.words.intersection(&self.words).count();
        let is_told = shared >= MIN_WORDS && shared as f64 >= MIN_SHARE * entry.words.len() as f64;
        is_told.then_some(Likeness::Words)
    }
}

/// Whether a text is long enough to be found within others.
fn is_telling(text: &NormalizedText) -> bool {
    let characters = text.as_str().chars();
    characters.map(|character| 1 + usize::from(is_unspaced(character))).sum::<usize>() >= MIN_PART
}

/// The message to which the command replies, or else what the persona said last before it, which may be several posts.
async fn post_before(
    archive: &dyn Archive,
    request: &CommandRequest,
) -> Result<Option<String>, StoreError> {
    let ConversationId { workspace, channel, thread } = &request.conversation;
    if let Some(reply_to) = &request.reply_to {
        let found = archive.message(workspace, channel, reply_to).await?;
        let found = found.filter(|stored| !stored.is_deleted);
        return Ok(found.map(|stored| stored.message.text.to_string()));
    }
    let query = MessageQuery {
        workspace: workspace.clone(),
        channel: channel.clone(),
        thread: thread.clone(),
        range: MessageRange::BeforeTime(request.at),
        limit: MAX_MESSAGES,
    };
    let mut earlier = archive.messages(query).await?;
    earlier
        .retain(|stored| stored.message.conversation == request.conversation && !stored.is_deleted);
    let is_post = |stored: &&StoredMessage| stored.message.author.kind == AuthorKind::Persona;
    let newest_first = earlier.iter().rev();
    let posts = newest_first.skip_while(|stored| !is_post(stored)).take_while(is_post);
    let mut texts: Vec<&str> = posts.map(|stored| &*stored.message.text).collect();
    texts.reverse();
    Ok((!texts.is_empty()).then(|| texts.join("\n")))
}

/// What was removed for the command.
async fn removals(
    archive: &dyn Archive,
    request: &CommandRequest,
) -> Result<Vec<JournalEntry>, StoreError> {
    let (workspace, signature) = (&request.conversation.workspace, signature(request));
    let mut changes = archive.memory_journal(workspace, None, None, MAX_CHANGES).await?;
    changes.retain(|change| change.kind == JournalKind::Removed && *change.by == *signature);
    Ok(changes)
}

/// The entries that were removed and may be known where the command was given, as far as versions that hold them are
/// kept.
async fn removed_entries(
    archive: &dyn Archive,
    request: &CommandRequest,
    removals: Vec<JournalEntry>,
) -> Result<Vec<Item>, StoreError> {
    let mut removed = Vec::new();
    for change in removals {
        let Some((key, before)) = change.key.zip(change.before) else { continue };
        let versions = archive.memory_versions(&key).await?;
        let version = |id: MemoryId| versions.iter().find(|version| version.id == id);
        let Some((before, after)) = version(before).zip(version(change.after)) else { continue };
        let gone = before.entries.iter().filter(|entry| !after.entries.contains(entry));
        let seen = gone.filter(|entry| asker(request).may_see(&key, entry));
        removed.extend(seen.map(|entry| Item::Entry {
            key: key.clone(),
            version: before.id,
            entry: entry.clone(),
        }));
    }
    Ok(removed)
}
