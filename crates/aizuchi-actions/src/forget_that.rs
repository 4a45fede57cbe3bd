//! Resolves "forget that": the entry or memo that the command quotes, or else the one that is repeated by the message to
//! which it replies, or by the persona's last post.

use std::collections::BTreeSet;

use aizuchi_model::chat::{AuthorKind, ConversationId, Message, Role, to_single_line};
use aizuchi_model::memory::asker::{self, Asker};
use aizuchi_model::memory::change::{JournalEntry, JournalKind, MemoryChange};
use aizuchi_model::memory::duplicates::NormalizedText;
use aizuchi_model::memory::{MemoryId, MessageRef};
use aizuchi_model::overlap::is_unspaced;
use aizuchi_model::recall::content_words::content_words;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::rules::place::Place;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_store::{Store, StoreError};
use jiff::SignedDuration;

use crate::command::CommandRequest;
use crate::parse::is_confirmed;
use crate::quoted_text::Quoted;
use crate::visible_memories::{Item, known_in};

/// The maximum number of messages between the persona's post and the command.
const MAX_MESSAGES: usize = 20;
/// The maximum number of messages among which they are looked for, since a channel's threads are in between.
pub const MAX_SCANNED: usize = 500;
/// The maximum number of newest changes that are searched for those of a command.
const MAX_CHANGES: usize = 500;
/// The minimum length in characters of a quoted part of an entry; characters of a script without spaces count twice.
const MIN_PART: usize = 6;
/// A post repeats an entry if it contains this share of the entry's words, and at least this many.
const MIN_SHARE: f64 = 0.7;
const MIN_WORDS: usize = 3;
/// How many things that were made from words of others a member may have forgotten within this time.
pub const MAX_OF_OTHERS: usize = 3;
const OTHERS_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
/// The maximum number of different things to choose from; more are not looked for.
pub const MAX_CHOICES: usize = 10;

/// What the command refers to.
#[derive(Clone, Debug, PartialEq)]
pub enum ForgetTargets {
    /// No entry or memo that may be known here matches.
    Nothing,
    /// All of these say the same thing as the first one.
    One(Vec<Item>),
    /// Different things, each listed once, at most [`MAX_CHOICES`].
    Several(Vec<Item>),
    /// The entries that were already removed by this command. Empty for a memo, whose text is gone.
    Forgotten(Vec<Item>),
}

/// How closely a text matches an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchStrength {
    Words,
    Part,
    Whole,
}

/// The texts that a command refers to.
struct ReferredTexts {
    quotations: Vec<ComparedText>,
    /// The post referred to, if nothing is quoted.
    post: Option<ComparedText>,
}

/// A text that is prepared for comparison with entries.
struct ComparedText {
    text: NormalizedText,
    words: BTreeSet<String>,
}

/// Resolves what a command refers to, among what may be known in its conversation.
pub async fn meant(
    store: &dyn Store,
    archive: &dyn Archive,
    request: &CommandRequest,
) -> Result<ForgetTargets, StoreError> {
    let signature = signature(request);
    let removals = removals(archive, request, |by| by == signature).await?;
    if !removals.is_empty() {
        let removed = removed_entries(archive, request, removals).await?;
        return Ok(ForgetTargets::Forgotten(once_each(&removed)));
    }
    let known = known_in(store, archive, &request.conversation).await?;
    let referred = ReferredTexts::find(archive, request).await?;
    Ok(choose(&known, &referred))
}

/// Returns everything that says the same as this and that the user may have forgotten.
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

/// What keeps a user from having something forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It is pinned, and the user is no admin.
    Pinned,
    /// It is from what others said, too, and the user has not confirmed.
    Unconfirmed,
    /// The same, and the user has had [`MAX_OF_OTHERS`] such things forgotten within [`OTHERS_INTERVAL`].
    TooMany,
}

/// Finds what keeps the user from having these items forgotten. What others said concerns them, too: only keepers and
/// admins may have it forgotten without a question and a limit.
pub async fn obstacle(
    archive: &dyn Archive,
    rulebook: &Rulebook,
    request: &CommandRequest,
    items: &[Item],
) -> Result<Option<Obstacle>, StoreError> {
    if !items.iter().all(|item| may_forget(request, item)) {
        return Ok(Some(Obstacle::Pinned));
    }
    if request.role == Role::Admin || !are_of_others(archive, request, items).await? {
        return Ok(None);
    }
    let channels = archive.channels(&request.conversation.workspace).await?;
    let here = channels.iter().find(|channel| channel.id == request.conversation.channel);
    let name = here.map_or("", |channel| &*channel.name);
    let place = Place::of_conversation(&request.conversation, name, request.visibility);
    if rulebook.keeper(&place) == Some(&request.user) {
        return Ok(None);
    }
    if count_of_others(archive, request).await? >= MAX_OF_OTHERS {
        return Ok(Some(Obstacle::TooMany));
    }
    Ok((!is_confirmed(&request.text)).then_some(Obstacle::Unconfirmed))
}

/// Whether any of these items was made from words of others than the user and the persona, as far as the store knows.
async fn are_of_others(
    archive: &dyn Archive,
    request: &CommandRequest,
    items: &[Item],
) -> Result<bool, StoreError> {
    let workspace = &request.conversation.workspace;
    'items: for item in items {
        let entry = match item {
            Item::Memo { memo, .. } if memo.said_by.as_ref() == Some(&request.user) => continue,
            Item::Entry { entry, .. } if !entry.messages.is_empty() => entry,
            Item::Memo { .. } | Item::Entry { .. } => return Ok(true),
        };
        let mut is_own = true;
        for MessageRef(channel, id) in &entry.messages {
            let source = archive.message(workspace, channel, id).await?;
            let Some(source) = source else { return Ok(true) };
            let Message { author, text, .. } = &*source.message;
            let name = entry.text.strip_suffix(&*to_single_line(text));
            let name = name.and_then(|name| name.split_once(": "));
            // An entry may quote one message and yet be traced to all of that time.
            if author.id == request.user && name.is_some_and(|(_, more)| more.is_empty()) {
                continue 'items;
            }
            is_own &= author.id == request.user || author.kind == AuthorKind::Persona;
        }
        if !is_own {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Counts the user's earlier commands within [`OTHERS_INTERVAL`] that removed what was made from words of others.
async fn count_of_others(
    archive: &dyn Archive,
    request: &CommandRequest,
) -> Result<usize, StoreError> {
    let is_recent = |by: &str| {
        let age = asker::signed_at(by).map(|at| request.at.duration_since(at));
        let is_recent = age.is_some_and(|age| age.is_positive() && age < OTHERS_INTERVAL);
        is_recent && asker::signer(by) == Some(request.user.as_str())
    };
    let mut commands = BTreeSet::new();
    for removal in removals(archive, request, is_recent).await? {
        let by = removal.by.clone();
        let removed = removed_entries(archive, request, vec![removal]).await?;
        if removed.is_empty() || are_of_others(archive, request, &removed).await? {
            commands.insert(by);
        }
    }
    Ok(commands.len())
}

/// Whether the user may have an item forgotten. Pinned items are reserved for admins.
fn may_forget(request: &CommandRequest, item: &Item) -> bool {
    match item {
        Item::Entry { key, entry, .. } => asker(request).may_remove(key, entry),
        Item::Memo { .. } => true,
    }
}

/// Returns the order that removes an item, signed by the user.
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

/// Returns the signature that identifies this command and its user in the journal.
fn signature(request: &CommandRequest) -> String {
    asker::sign(&request.user, request.at)
}

fn asker(request: &CommandRequest) -> Asker {
    Asker { channel: request.conversation.channel.clone(), role: request.role }
}

/// Chooses what the referred texts match best. If different things match equally well, none is chosen.
fn choose(known: &[Item], referred: &ReferredTexts) -> ForgetTargets {
    let matches = known.iter().filter_map(|item| Some((referred.match_item(item)?, item)));
    let matches: Vec<(MatchStrength, &Item)> = matches.collect();
    let Some(best) = matches.iter().map(|(strength, _)| *strength).max() else {
        return ForgetTargets::Nothing;
    };
    let strongest = matches.iter().filter(|(strength, _)| *strength == best);
    let different = once_each(strongest.map(|(_, item)| *item));
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

impl ReferredTexts {
    async fn find(archive: &dyn Archive, request: &CommandRequest) -> Result<Self, StoreError> {
        let quotations = Quoted::split(&request.text).quotations;
        let post = match quotations.is_empty() {
            true => post_before(archive, request).await?,
            false => None,
        };
        let quotations = quotations.iter().map(|quotation| ComparedText::new(quotation)).collect();
        Ok(Self { quotations, post: post.map(|post| ComparedText::new(&post)) })
    }

    fn match_item(&self, item: &Item) -> Option<MatchStrength> {
        let texts = match item {
            Item::Entry { entry, .. } => [item.line(), entry.text.to_string()],
            Item::Memo { memo, .. } => [item.line(), memo.content.clone()],
        };
        let texts = texts.iter().map(|text| ComparedText::new(text));
        let strength = |text: ComparedText| {
            let quoted = self.quotations.iter().filter_map(|it| it.match_quotation(&text)).max();
            quoted.max(self.post.as_ref().and_then(|post| post.match_post(&text)))
        };
        texts.filter_map(strength).max()
    }
}

impl ComparedText {
    fn new(text: &str) -> Self {
        Self { text: NormalizedText::new(text), words: content_words(text) }
    }

    /// Returns how a quotation matches an entry's text.
    fn match_quotation(&self, entry: &Self) -> Option<MatchStrength> {
        match self.text == entry.text {
            true => Some(MatchStrength::Whole),
            false if entry.text.contains(&self.text) && is_long_enough(&self.text) => {
                Some(MatchStrength::Part)
            }
            false => self.match_post(entry).map(|strength| strength.min(MatchStrength::Part)),
        }
    }

    /// Returns how a post matches an entry's text.
    fn match_post(&self, entry: &Self) -> Option<MatchStrength> {
        if self.text.contains(&entry.text) && is_long_enough(&entry.text) {
            return Some(MatchStrength::Whole);
        }
        let shared = entry.words.intersection(&self.words).count();
        let shares_enough =
            shared >= MIN_WORDS && shared as f64 >= MIN_SHARE * entry.words.len() as f64;
        shares_enough.then_some(MatchStrength::Words)
    }
}

/// Whether a text is long enough to be searched for in others.
fn is_long_enough(text: &NormalizedText) -> bool {
    let characters = text.as_str().chars();
    characters.map(|character| 1 + usize::from(is_unspaced(character))).sum::<usize>() >= MIN_PART
}

/// Returns the message to which the command replies, or else the persona's last post before it, which may have several
/// parts.
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
        limit: if thread.is_some() { MAX_MESSAGES } else { MAX_SCANNED },
    };
    let mut earlier = archive.messages(query).await?;
    earlier
        .retain(|stored| stored.message.conversation == request.conversation && !stored.is_deleted);
    let is_post = |stored: &&StoredMessage| stored.message.author.kind == AuthorKind::Persona;
    let newest_first = earlier.iter().rev().take(MAX_MESSAGES);
    let posts = newest_first.skip_while(|stored| !is_post(stored)).take_while(is_post);
    let mut texts: Vec<&str> = posts.map(|stored| &*stored.message.text).collect();
    texts.reverse();
    Ok((!texts.is_empty()).then(|| texts.join("\n")))
}

/// Returns the removals with such signatures.
async fn removals(
    archive: &dyn Archive,
    request: &CommandRequest,
    is_signed: impl Fn(&str) -> bool,
) -> Result<Vec<JournalEntry>, StoreError> {
    let workspace = &request.conversation.workspace;
    let mut changes = archive.memory_journal(workspace, None, None, MAX_CHANGES).await?;
    changes.retain(|change| change.kind == JournalKind::Removed && is_signed(&change.by));
    Ok(changes)
}

/// Returns the removed entries that may be known where the command was given, as far as the versions that contain them
/// are kept.
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
