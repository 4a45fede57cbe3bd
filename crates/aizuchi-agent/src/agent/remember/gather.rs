//! Gathers the sources of a memory: blocks of messages, or entries of other memories.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use aizuchi_llm::prompt::memory_input::{
    EntryOwner, KnownEntry, MAX_BLOCK_MESSAGES, MemorySource, MessageBlock,
};
use aizuchi_model::chat::{
    ChannelId, ConversationId, Message, MessageId, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::context::message_window::MessageWindow;
use aizuchi_model::context::{ChannelMemory, Context, ContextWindow};
use aizuchi_model::memory::change::KeptEntries;
use aizuchi_model::memory::{
    Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm, MessageRef,
};
use aizuchi_model::rules::place::Place;
use jiff::{SignedDuration, Timestamp};

use crate::agent::remember::parts::PartSize;
use crate::agent::remember::place_of_memory;
use crate::agent::{StepError, Worker};

/// The maximum number of messages of a channel or thread that are folded into a short-term memory.
const MAX_MESSAGES: usize = 1000;
/// A pause this long separates two blocks of messages.
const CONVERSATION_GAP: SignedDuration = SignedDuration::from_hours(1);

/// The maximum number of messages without an entry that are remembered again.
const MAX_LOST_MESSAGES: usize = 1000;

/// The sources of one memory.
pub struct GatheredSources {
    /// Sources that every member of the workspace may know.
    pub shared: Vec<MemorySource>,
    /// Sources that only members of the channel may know.
    pub unshared: Vec<MemorySource>,
    pub channel_name: Arc<str>,
    pub visibility: Visibility,
    pub names: BTreeMap<UserId, Arc<str>>,
    /// When the newest source message was posted.
    pub newest_at: Timestamp,
    /// The revision of the store that was read.
    pub seen_revision: u64,
    pub merged: Vec<MemoryId>,
    /// What users decided about the memory's entries.
    pub kept: KeptEntries,
}

impl GatheredSources {
    /// Returns the private and the public sources, which are folded separately so that nothing private gets into a
    /// public entry. Each group comes with what users decided about its entries.
    pub fn groups(&self) -> [(Vec<MemorySource>, KeptEntries); 2] {
        [(self.unshared.clone(), self.kept.clone()), (self.shared.clone(), self.kept.to_public())]
    }
}

impl Worker<'_> {
    /// Gathers the sources of a memory: none if the channel or thread is not remembered. A channel's memory takes
    /// nothing from threads that are not remembered.
    pub(super) async fn gather(&self, key: &MemoryKey) -> Result<GatheredSources, StepError> {
        let mut gathered = self.gather_all(key).await?;
        let (rulebook, name) = (&self.rulebook, gathered.channel_name.clone());
        let visibility = gathered.visibility;
        let place = place_of_memory(key, &name, visibility);
        let is_remembered = place.is_none_or(|place| rulebook.remembers(&place));
        let is_kept = |source: &MemorySource| match source {
            MemorySource::Messages(block) => {
                let place = Place::of_conversation(&block.conversation, &name, visibility);
                is_remembered && rulebook.remembers(&place)
            }
            MemorySource::Entry(_) => is_remembered,
        };
        gathered.shared.retain(is_kept);
        gathered.unshared.retain(is_kept);
        Ok(gathered)
    }

    async fn gather_all(&self, key: &MemoryKey) -> Result<GatheredSources, StepError> {
        match (&key.scope, key.term) {
            (MemoryScope::Channel(channel), MemoryTerm::ShortTerm) => {
                self.gather_messages(key, channel, None).await
            }
            (MemoryScope::Thread(channel, thread), _) => {
                self.gather_messages(key, channel, Some(thread)).await
            }
            (MemoryScope::Channel(channel), MemoryTerm::LongTerm) => {
                self.gather_channel(key, channel).await
            }
            (MemoryScope::Workspace, term) => self.gather_workspace(key, term).await,
        }
    }

    /// Gathers the newest messages of a channel with its threads, or a whole thread.
    async fn gather_messages(
        &self,
        key: &MemoryKey,
        channel: &ChannelId,
        thread: Option<&MessageId>,
    ) -> Result<GatheredSources, StepError> {
        let window = self.settings.limits.window(self.now());
        // Messages that arrived since the last update are included, however old they are.
        let own = match thread {
            Some(_) => None,
            None => self.current_memory(key).await?,
        };
        let remembered = own.as_ref().map_or(Timestamp::MIN, |own| own.newest_message_at);
        let kept = own.as_ref().map(Memory::kept).unwrap_or_default();
        let is_kept = kept != KeptEntries::default();
        let since = remembered.min(window.recent_since);
        let context = self.memory_context(&key.workspace, channel, thread, since).await?;
        let mut messages: Vec<Arc<Message>> = match thread {
            Some(_) => context.target_messages().to_vec(),
            None => {
                let all = context.conversation_history.all_messages();
                let is_recent = |message: &Arc<Message>| {
                    message.at >= window.recent_since || message.at > remembered
                };
                all.into_iter().filter(is_recent).collect()
            }
        };
        let part_size = self.part_size();
        let newest = messages.iter().rev().take(MAX_MESSAGES).map(|message| &**message);
        let kept_messages = part_size.count_that_fit(newest);
        messages.drain(..messages.len() - kept_messages);
        let newest_at = messages.iter().map(|message| message.at).max().unwrap_or_default();
        if thread.is_some() && newest_at < window.threads_since {
            // Contexts leave out the memories of inactive threads, so a new one would be wasted.
            messages.clear();
        }
        let is_unshared =
            |message: &Arc<Message>| context.restricted_messages.contains(&message.id);
        let (unshared, shared) = messages.into_iter().partition(is_unshared);
        Ok(GatheredSources {
            newest_at,
            shared: split_into_blocks(shared, part_size),
            unshared: split_into_blocks(unshared, part_size),
            channel_name: context.conversation_history.channel_name.clone(),
            visibility: context.visibility,
            names: context.names,
            seen_revision: context.revision,
            merged: own.iter().filter(|_| is_kept).map(|own| own.id).collect(),
            kept,
        })
    }

    /// Returns the current version of a memory.
    async fn current_memory(&self, key: &MemoryKey) -> Result<Option<Memory>, StepError> {
        let memories = self.store.memories(&key.workspace).await?;
        Ok(memories.into_iter().find(|memory| memory.key == *key))
    }

    /// Gathers a channel's long-term memory, and the short-term entries that are new to it.
    async fn gather_channel(
        &self,
        key: &MemoryKey,
        channel: &ChannelId,
    ) -> Result<GatheredSources, StepError> {
        let now = self.now();
        let context = self.memory_context(&key.workspace, channel, None, now).await?;
        let memories = self.store.memories(&key.workspace).await?;
        let find = |term: MemoryTerm| {
            let wanted = MemoryKey { term, ..key.clone() };
            memories.iter().find(|memory| memory.key == wanted)
        };
        let (own, recent) = (find(MemoryTerm::LongTerm), find(MemoryTerm::ShortTerm));
        let name = context.conversation_history.channel_name.clone();
        let id = channel.clone();
        let owner = EntryOwner::Channel { id, name: name.clone(), term: MemoryTerm::ShortTerm };
        let fresh = new_entries(own, recent, &owner);
        let fresh_messages: HashSet<&MessageRef> =
            fresh.iter().flat_map(|(_, entry)| &entry.messages).collect();
        let orphaned = own.map_or(&[][..], |own| &own.orphaned_messages);
        let orphaned: Vec<MessageRef> =
            orphaned.iter().filter(|message| !fresh_messages.contains(message)).cloned().collect();
        let mut orphaned = match orphaned.is_empty() {
            true => Vec::new(),
            false => self.store.source_messages(&key.workspace, &orphaned).await?,
        };
        let part_size = self.part_size();
        let newest = orphaned.iter().rev().take(MAX_LOST_MESSAGES).map(|(message, _)| &**message);
        let kept_messages = part_size.count_that_fit(newest);
        orphaned.drain(..orphaned.len() - kept_messages);
        let source_memories = [own, recent];
        let newest_at = source_memories
            .iter()
            .flatten()
            .map(|memory| memory.newest_message_at)
            .max()
            .unwrap_or_default();
        let merged = source_memories.iter().flatten().map(|memory| memory.id).collect();
        let is_new = !fresh.is_empty() || !orphaned.is_empty();
        let (mut shared, mut unshared) =
            if is_new { merge_entries(own, fresh) } else { Default::default() };
        let is_public = context.visibility == Visibility::Public;
        let (public, private): (Vec<_>, Vec<_>) = orphaned
            .into_iter()
            .partition(|(_, visibility)| is_public && *visibility == Visibility::Public);
        let blocks = |messages: Vec<(Arc<Message>, Visibility)>| {
            let messages = messages.into_iter().map(|(message, _)| message).collect();
            split_into_blocks(messages, part_size)
        };
        shared.extend(blocks(public));
        unshared.extend(blocks(private));
        let names = context.names;
        let seen_revision = context.revision;
        Ok(GatheredSources {
            shared,
            unshared,
            channel_name: name,
            visibility: context.visibility,
            names,
            newest_at,
            seen_revision,
            merged,
            kept: own.map(Memory::kept).unwrap_or_default(),
        })
    }

    /// Gathers the public entries of all channels.
    async fn gather_workspace(
        &self,
        key: &MemoryKey,
        term: MemoryTerm,
    ) -> Result<GatheredSources, StepError> {
        let now = self.now();
        // A context from no channel sees only what is public.
        let public_context =
            self.memory_context(&key.workspace, &ChannelId::new(""), None, now).await?;
        let memories = self.store.memories(&key.workspace).await?;
        let current = memories.iter().find(|memory| memory.key == *key);
        // A short-term memory is made anew each time, from those of the channels.
        let own = current.filter(|_| term == MemoryTerm::LongTerm);
        // If source messages have lost their entry, the memory is rebuilt from all entries.
        let known = own.filter(|own| own.orphaned_messages.is_empty());
        let since = self.settings.limits.window(now).recent_since;
        let is_current =
            |memory: &&Memory| term == MemoryTerm::LongTerm || memory.newest_message_at >= since;
        let mut fresh = Vec::new();
        let mut source_memories: Vec<&Memory> = own.into_iter().collect();
        let rulebook = &self.rulebook;
        let channels = public_context.channel_memories.iter();
        let is_remembered = |it: &&ChannelMemory| {
            let (id, name) = (&it.channel_id, &*it.channel_name);
            rulebook.remembers(&Place::new(&key.workspace, id, name, Visibility::Public))
        };
        for channel in channels.filter(is_remembered) {
            let scope = MemoryScope::Channel(channel.channel_id.clone());
            let wanted = MemoryKey { workspace: key.workspace.clone(), scope, term };
            let channel_memory =
                memories.iter().find(|memory| memory.key == wanted).filter(is_current);
            let Some(channel_memory) = channel_memory else { continue };
            let (id, name) = (channel.channel_id.clone(), channel.channel_name.clone());
            let owner = EntryOwner::Channel { id, name, term };
            let public = new_entries(known, Some(channel_memory), &owner).into_iter();
            fresh.extend(public.filter(|(_, entry)| entry.is_public()));
            source_memories.push(channel_memory);
        }
        let (shared, _) =
            if fresh.is_empty() { Default::default() } else { merge_entries(own, fresh) };
        Ok(GatheredSources {
            shared,
            unshared: Vec::new(),
            channel_name: "".into(),
            visibility: Visibility::Public,
            names: BTreeMap::new(),
            newest_at: source_memories
                .iter()
                .map(|memory| memory.newest_message_at)
                .max()
                .unwrap_or_default(),
            seen_revision: public_context.revision,
            merged: source_memories.iter().map(|memory| memory.id).collect(),
            kept: current.map(Memory::kept).unwrap_or_default(),
        })
    }

    async fn memory_context(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        thread: Option<&MessageId>,
        since: Timestamp,
    ) -> Result<Context, StepError> {
        let (workspace, channel) = (workspace.clone(), channel.clone());
        let conversation = ConversationId { workspace, channel, thread: thread.cloned() };
        let window = self.settings.limits.window(self.now());
        let window = ContextWindow {
            messages: MessageWindow::exact(MAX_MESSAGES),
            thread_messages: MessageWindow::exact(MAX_MESSAGES),
            since,
            ..window
        };
        Ok(self.store.context(&conversation, &window).await?)
    }
}

/// Returns the entries of `other` that have a source message unknown to `own`.
fn new_entries<'a>(
    own: Option<&Memory>,
    other: Option<&'a Memory>,
    owner: &EntryOwner,
) -> Vec<(EntryOwner, &'a MemoryEntry)> {
    let known: HashSet<&MessageRef> =
        own.iter().flat_map(|own| &own.entries).flat_map(|entry| &entry.messages).collect();
    let entries = other.into_iter().flat_map(|other| &other.entries);
    let unknown =
        entries.filter(|entry| entry.messages.iter().any(|message| !known.contains(message)));
    unknown.map(|entry| (owner.clone(), entry)).collect()
}

/// Merges the existing entries, except the pinned ones, with the new ones, and returns them as public and non-public
/// sources.
fn merge_entries(
    own: Option<&Memory>,
    fresh: Vec<(EntryOwner, &MemoryEntry)>,
) -> (Vec<MemorySource>, Vec<MemorySource>) {
    let existing = own.into_iter().flat_map(|own| &own.entries).filter(|entry| !entry.pinned);
    let existing = existing.map(|entry| (EntryOwner::SameMemory, entry));
    let (shared, unshared): (Vec<_>, Vec<_>) =
        existing.chain(fresh).partition(|(_, entry)| entry.is_public());
    let sources = |entries: Vec<(EntryOwner, &MemoryEntry)>| {
        let known =
            |(owner, entry): (EntryOwner, &MemoryEntry)| KnownEntry { owner, entry: entry.clone() };
        entries.into_iter().map(known).map(MemorySource::Entry).collect()
    };
    (sources(shared), sources(unshared))
}

/// Splits messages, oldest first, into blocks. A block belongs to one conversation, has at most [`MAX_BLOCK_MESSAGES`]
/// messages, fits into one part, and contains no long pause.
fn split_into_blocks(messages: Vec<Arc<Message>>, part_size: PartSize) -> Vec<MemorySource> {
    let mut blocks: Vec<MessageBlock> = Vec::new();
    // The open block of each conversation, and the tokens that it has room for.
    let mut open: BTreeMap<ConversationId, (usize, u64)> = BTreeMap::new();
    for message in messages {
        let conversation = message.conversation.clone();
        let tokens = part_size.message_tokens(&message);
        let block = open.get_mut(&conversation).filter(|(index, left)| {
            let last = blocks[*index].messages.last();
            let is_near =
                last.is_some_and(|last| message.at.duration_since(last.at) < CONVERSATION_GAP);
            is_near && tokens <= *left && blocks[*index].messages.len() < MAX_BLOCK_MESSAGES
        });
        match block {
            Some((index, left)) => {
                *left -= tokens;
                blocks[*index].messages.push(message);
            }
            None => {
                let left = part_size.max_tokens.saturating_sub(tokens);
                open.insert(conversation.clone(), (blocks.len(), left));
                blocks.push(MessageBlock { conversation, messages: vec![message] });
            }
        }
    }
    blocks.into_iter().map(MemorySource::Messages).collect()
}
