//! What a memory is to be made from: talk in blocks, or entries of other memories.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::agent::{Agent, StepError};
use crate::chat::{ChannelId, ConversationId, Message, MessageId, UserId, Visibility, WorkspaceId};
use crate::context::{Context, ContextWindow};
use crate::memory::{
    Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm, MessageRef,
};
use crate::prompt::memory_input::{
    EntryOwner, KnownEntry, MAX_BLOCK_MESSAGES, MemorySource, MessageBlock,
};

/// The most lines of a channel or thread that are folded into a short-term memory.
const MAX_MESSAGES: usize = 1000;
/// Talk that pauses for so long goes on about something else.
const CONVERSATION_GAP: SignedDuration = SignedDuration::from_hours(1);

/// Of lines that lost their entry, so many are remembered anew.
const MAX_LOST_MESSAGES: usize = 1000;

/// What was found.
pub struct GatheredSources {
    /// What everybody may know.
    pub shared: Vec<MemorySource>,
    /// What only the channel may know.
    pub unshared: Vec<MemorySource>,
    pub channel_name: Arc<str>,
    pub names: BTreeMap<UserId, Arc<str>>,
    /// When the newest line behind it was said.
    pub newest_at: Timestamp,
    /// The revision of the store that it is of.
    pub considered: u64,
    pub merged: Vec<MemoryId>,
}

impl Agent {
    pub(super) async fn gather(&self, key: &MemoryKey) -> Result<GatheredSources, StepError> {
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

    /// The newest talk of a channel, threads included, or the whole of a thread.
    async fn gather_messages(
        &self,
        key: &MemoryKey,
        channel: &ChannelId,
        thread: Option<&MessageId>,
    ) -> Result<GatheredSources, StepError> {
        let window = self.settings.limits.window(self.now());
        // What was heard since the last time belongs to it, however long ago that was.
        let remembered = match thread {
            Some(_) => Timestamp::MIN,
            None => self.remembered_until(key).await?,
        };
        let since = remembered.min(window.recent_since);
        let context = self.memory_context(&key.workspace, channel, thread, since).await?;
        let mut lines: Vec<Arc<Message>> = match thread {
            Some(_) => context.target_messages().to_vec(),
            None => {
                let all = context.conversation_history.all_messages();
                let is_recent =
                    |line: &Arc<Message>| line.at >= window.recent_since || line.at > remembered;
                all.into_iter().filter(is_recent).collect()
            }
        };
        let surplus = lines.len().saturating_sub(MAX_MESSAGES);
        lines.drain(..surplus);
        let newest = lines.iter().map(|line| line.at).max().unwrap_or_default();
        if thread.is_some() && newest < window.threads_since {
            // Nobody would be told of it.
            lines.clear();
        }
        let is_unshared = |line: &Arc<Message>| context.restricted_messages.contains(&line.id);
        let (unshared, shared) = lines.into_iter().partition(is_unshared);
        Ok(GatheredSources {
            newest_at: newest,
            shared: split_into_blocks(shared),
            unshared: split_into_blocks(unshared),
            channel_name: context.conversation_history.channel_name.clone(),
            names: context.names,
            considered: context.revision,
            merged: Vec::new(),
        })
    }

    /// The newest line behind a memory.
    async fn remembered_until(&self, key: &MemoryKey) -> Result<Timestamp, StepError> {
        let memories = self.store.memories(&key.workspace).await?;
        let own = memories.iter().find(|memory| memory.key == *key);
        Ok(own.map_or(Timestamp::MIN, |own| own.newest_message_at))
    }

    /// A channel's long-term memory, and what it does not hold yet.
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
        let told: HashSet<&MessageRef> =
            fresh.iter().flat_map(|(_, entry)| &entry.messages).collect();
        let lost = own.map_or(&[][..], |own| &own.orphaned_messages);
        let lost: Vec<MessageRef> =
            lost.iter().filter(|line| !told.contains(line)).cloned().collect();
        let mut lost = match lost.is_empty() {
            true => Vec::new(),
            false => self.store.source_messages(&key.workspace, &lost).await?,
        };
        let surplus = lost.len().saturating_sub(MAX_LOST_MESSAGES);
        lost.drain(..surplus);
        let behind = [own, recent];
        let newest = behind
            .iter()
            .flatten()
            .map(|memory| memory.newest_message_at)
            .max()
            .unwrap_or_default();
        let merged = behind.iter().flatten().map(|memory| memory.id).collect();
        let is_new = !fresh.is_empty() || !lost.is_empty();
        let (mut shared, mut unshared) =
            if is_new { merge_entries(own, fresh) } else { Default::default() };
        let is_open = context.visibility == Visibility::Public;
        let (public, private): (Vec<_>, Vec<_>) = lost
            .into_iter()
            .partition(|(_, visibility)| is_open && *visibility == Visibility::Public);
        shared.extend(split_into_blocks(public.into_iter().map(|(line, _)| line).collect()));
        unshared.extend(split_into_blocks(private.into_iter().map(|(line, _)| line).collect()));
        let names = context.names;
        let considered = context.revision;
        Ok(GatheredSources {
            shared,
            unshared,
            channel_name: name,
            names,
            newest_at: newest,
            considered,
            merged,
        })
    }

    /// What everybody may know of all channels.
    async fn gather_workspace(
        &self,
        key: &MemoryKey,
        term: MemoryTerm,
    ) -> Result<GatheredSources, StepError> {
        let now = self.now();
        // From nowhere, only what is public can be seen.
        let nowhere = self.memory_context(&key.workspace, &ChannelId::new(""), None, now).await?;
        let memories = self.store.memories(&key.workspace).await?;
        let own = memories.iter().find(|memory| memory.key == *key && term == MemoryTerm::LongTerm);
        let since = self.settings.limits.window(now).recent_since;
        let is_of_now =
            |memory: &&Memory| term == MemoryTerm::LongTerm || memory.newest_message_at >= since;
        let mut fresh = Vec::new();
        let mut behind: Vec<&Memory> = own.into_iter().collect();
        for channel in &nowhere.channel_memories {
            let scope = MemoryScope::Channel(channel.channel_id.clone());
            let wanted = MemoryKey { workspace: key.workspace.clone(), scope, term };
            let theirs = memories.iter().find(|memory| memory.key == wanted).filter(is_of_now);
            let Some(theirs) = theirs else { continue };
            let (id, name) = (channel.channel_id.clone(), channel.channel_name.clone());
            let owner = EntryOwner::Channel { id, name, term };
            let public = new_entries(own, Some(theirs), &owner).into_iter();
            fresh.extend(public.filter(|(_, entry)| entry.is_public()));
            behind.push(theirs);
        }
        let (shared, _) =
            if fresh.is_empty() { Default::default() } else { merge_entries(own, fresh) };
        Ok(GatheredSources {
            shared,
            unshared: Vec::new(),
            channel_name: "".into(),
            names: BTreeMap::new(),
            newest_at: behind
                .iter()
                .map(|memory| memory.newest_message_at)
                .max()
                .unwrap_or_default(),
            considered: nowhere.revision,
            merged: behind.iter().map(|memory| memory.id).collect(),
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
            messages: MAX_MESSAGES,
            thread_messages: MAX_MESSAGES,
            since,
            ..window
        };
        Ok(self.store.context(&conversation, &window).await?)
    }
}

/// Entries that hold a line that `own` does not know.
fn new_entries<'a>(
    own: Option<&Memory>,
    other: Option<&'a Memory>,
    owner: &EntryOwner,
) -> Vec<(EntryOwner, &'a MemoryEntry)> {
    let known: HashSet<&MessageRef> =
        own.iter().flat_map(|own| &own.entries).flat_map(|entry| &entry.messages).collect();
    let entries = other.into_iter().flat_map(|other| &other.entries);
    let unknown = entries.filter(|entry| entry.messages.iter().any(|line| !known.contains(line)));
    unknown.map(|entry| (owner.clone(), entry)).collect()
}

/// What a memory holds already, before what is new: what everybody may know, and the rest.
fn merge_entries(
    own: Option<&Memory>,
    fresh: Vec<(EntryOwner, &MemoryEntry)>,
) -> (Vec<MemorySource>, Vec<MemorySource>) {
    let kept =
        own.into_iter().flat_map(|own| &own.entries).map(|entry| (EntryOwner::SameMemory, entry));
    let (shared, unshared): (Vec<_>, Vec<_>) =
        kept.chain(fresh).partition(|(_, entry)| entry.is_public());
    let sources = |entries: Vec<(EntryOwner, &MemoryEntry)>| {
        let known =
            |(owner, entry): (EntryOwner, &MemoryEntry)| KnownEntry { owner, entry: entry.clone() };
        entries.into_iter().map(known).map(MemorySource::Entry).collect()
    };
    (sources(shared), sources(unshared))
}

/// Lines, oldest first, as blocks of one conversation each that are neither long nor interrupted.
fn split_into_blocks(lines: Vec<Arc<Message>>) -> Vec<MemorySource> {
    let mut talks: Vec<MessageBlock> = Vec::new();
    let mut open: BTreeMap<ConversationId, usize> = BTreeMap::new();
    for line in lines {
        let conversation = line.conversation.clone();
        let place = open.get(&conversation).copied().filter(|place| {
            let last = talks[*place].messages.last();
            let is_near =
                last.is_some_and(|last| line.at.duration_since(last.at) < CONVERSATION_GAP);
            is_near && talks[*place].messages.len() < MAX_BLOCK_MESSAGES
        });
        match place {
            Some(place) => talks[place].messages.push(line),
            None => {
                open.insert(conversation.clone(), talks.len());
                talks.push(MessageBlock { conversation, messages: vec![line] });
            }
        }
    }
    talks.into_iter().map(MemorySource::Messages).collect()
}
