//! Memories and memory jobs, in memory.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{Message, Visibility, WorkspaceId};
use crate::context::{ChannelMemory, Context, ContextWindow, ThreadMemory};
use crate::event::memory_job::{
    MemoryJob, MemoryJobOutcome, MemoryJobResult, REWRITE_DELAY, RetryTiming, follow_up_jobs,
    job_due,
};
use crate::memory::{
    Lineage, Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm, MessageRef,
    NewMemory,
};
use crate::store::volatile::{VolatileState, forget_reasons};

/// A version of a memory.
pub(super) struct MemoryVersion {
    pub memory: Memory,
    /// The revision at which an entry was last dropped from it.
    changed_at: Option<u64>,
}

/// A memory job that is waiting or in flight.
pub(super) struct MemoryJobRecord {
    due: Timestamp,
    ready: Timestamp,
    attempts: u32,
    token: Option<i64>,
    /// When it is due again, if it was scheduled while in flight.
    due_again: Option<Timestamp>,
}

impl VolatileState {
    pub(super) fn schedule_for_message(&mut self, message: &Message, due: Timestamp) {
        let conversation = &message.conversation;
        let thread = conversation.thread.clone();
        let thread = thread.map(|thread| MemoryScope::Thread(conversation.channel.clone(), thread));
        let scopes = [Some(MemoryScope::Channel(conversation.channel.clone())), thread];
        for scope in scopes.into_iter().flatten() {
            let workspace = conversation.workspace.clone();
            self.schedule_memory_job(
                MemoryKey { workspace, scope, term: MemoryTerm::ShortTerm },
                due,
            );
        }
    }

    pub(super) fn schedule_memory_job(&mut self, key: MemoryKey, due: Timestamp) {
        let new_job =
            || MemoryJobRecord { due, ready: due, attempts: 0, token: None, due_again: None };
        let job = self.memory_jobs.entry(key).or_insert_with(new_job);
        if job.token.is_some() {
            job.due_again = Some(job.due_again.map_or(due, |again| again.min(due)));
        } else if due < job.due {
            (job.due, job.ready) = (due, due);
        }
    }

    pub(super) fn next_memory_job(&self) -> Option<Timestamp> {
        self.memory_jobs.values().map(|job| job.ready).min()
    }

    pub(super) fn claim_memory_jobs(
        &mut self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Vec<MemoryJob> {
        let ready = self.memory_jobs.iter_mut().filter(|(_, job)| job.ready <= now);
        let mut ready: Vec<_> = ready.collect();
        ready.sort_by_key(|(key, job)| (job.ready, key.scope.name()));
        let mut claimed = Vec::new();
        for (key, job) in ready.into_iter().take(most) {
            self.last_number += 1;
            job.token = Some(self.last_number);
            job.ready = now + lease;
            job.attempts += 1;
            job.due_again = None;
            let (token, attempt) = (self.last_number, job.attempts);
            claimed.push(MemoryJob { key: key.clone(), due: job.due, token, attempt });
        }
        self.revision += u64::from(!claimed.is_empty());
        claimed
    }

    pub(super) fn complete_memory_job(
        &mut self,
        job: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) {
        self.revision += 1;
        let key = &job.key;
        for attempt in &outcome.attempts {
            self.record_spending(&key.workspace, key.channel(), attempt);
        }
        let current_token = self.memory_jobs.get(key).and_then(|record| record.token);
        if current_token != Some(job.token) {
            return;
        }
        let is_stale = outcome.attempts.iter().filter_map(|attempt| attempt.exchange.as_ref()).any(
            |exchange| {
                let (revision, exchange_lineage) = (exchange.seen_revision, &exchange.lineage);
                self.has_changed_since(&key.workspace, key.channel(), revision, exchange_lineage)
            },
        );
        match outcome.result {
            MemoryJobResult::Retry(timing) => {
                self.postpone_memory_job(key, outcome.next_due, timing == RetryTiming::Soon)
            }
            MemoryJobResult::NothingNew => self.finish_memory_job(key),
            MemoryJobResult::Remembered(new) => {
                let messages = new.entries.iter().flat_map(|entry| entry.messages.iter().cloned());
                let lineage =
                    Lineage { messages: messages.collect(), memories: new.source_memories.clone() };
                let (workspace, channel) = (&key.workspace, key.channel());
                if is_stale
                    || self.has_changed_since(workspace, channel, new.seen_revision, &lineage)
                {
                    return self.postpone_memory_job(key, now + REWRITE_DELAY, true);
                }
                let is_public = self.save_memory_version(key, new, now, outcome.versions_kept);
                self.finish_memory_job(key);
                let interval = outcome.next_due.duration_since(now);
                for (next, due) in follow_up_jobs(key, is_public, now) {
                    let newest = self.memories.get(&next).and_then(|versions| versions.last());
                    let newest_created = newest.map(|version| version.memory.created);
                    let due = job_due(newest_created, due, interval, &next);
                    self.schedule_memory_job(next, due);
                }
            }
        }
    }

    fn postpone_memory_job(&mut self, key: &MemoryKey, due: Timestamp, keeps_attempts: bool) {
        if let Some(job) = self.memory_jobs.get_mut(key) {
            let attempts = if keeps_attempts { job.attempts } else { 0 };
            *job = MemoryJobRecord { due, ready: due, attempts, token: None, due_again: None };
        }
    }

    fn finish_memory_job(&mut self, key: &MemoryKey) {
        match self.memory_jobs.get(key).and_then(|job| job.due_again) {
            Some(again) => self.postpone_memory_job(key, again, false),
            None => {
                self.memory_jobs.remove(key);
            }
        }
    }

    /// Imports a memory, unless there is one already.
    pub(super) fn import_memory(
        &mut self,
        key: MemoryKey,
        entries: Vec<MemoryEntry>,
        newest_message_at: Timestamp,
        now: Timestamp,
    ) {
        if self.memories.contains_key(&key) {
            return;
        }
        self.revision += 1;
        let (seen_revision, source_memories) = (self.revision, Vec::new());
        self.save_memory_version(
            &key,
            NewMemory { entries, newest_message_at, seen_revision, source_memories },
            now,
            1,
        );
    }

    fn save_memory_version(
        &mut self,
        key: &MemoryKey,
        new: NewMemory,
        now: Timestamp,
        versions_kept: usize,
    ) -> bool {
        let mut entries = new.entries;
        for entry in &mut entries {
            let is_public = !entry.messages.is_empty()
                && entry
                    .messages
                    .iter()
                    .all(|message| self.is_public_message(&key.workspace, message));
            entry.visibility = if is_public { Visibility::Public } else { Visibility::Private };
        }
        let is_public = entries.iter().any(MemoryEntry::is_public);
        self.last_number += 1;
        let (id, newest) = (MemoryId(self.last_number), new.newest_message_at);
        let memory = Memory {
            id,
            key: key.clone(),
            entries,
            orphaned_messages: Vec::new(),
            newest_message_at: newest,
            created: now,
        };
        let versions = self.memories.entry(key.clone()).or_default();
        versions.push(MemoryVersion { memory, changed_at: None });
        // Old versions lose their text. Their source messages stay, since prompts held them.
        let surplus = versions.len().saturating_sub(versions_kept);
        for entry in versions[..surplus].iter_mut().flat_map(|old| &mut old.memory.entries) {
            entry.text = "".into();
        }
        is_public
    }

    /// Whether the message and its channel are public.
    fn is_public_message(&self, workspace: &WorkspaceId, message: &MessageRef) -> bool {
        let channel = self.channels.get(&(workspace.clone(), message.0.clone()));
        let key = (workspace.clone(), message.0.clone(), message.1.clone());
        let record = self.conversation_of.get(&key).and_then(|key| self.conversations.get(key));
        let message = record
            .and_then(|record| record.messages.iter().find(|other| other.message.id == message.1));
        channel.is_some_and(|channel| channel.visibility == Visibility::Public)
            && message.is_some_and(|message| message.visibility == Visibility::Public)
    }

    /// Forgets an edited or deleted message.
    pub(super) fn forget_memories(
        &mut self,
        workspace: &WorkspaceId,
        message: &MessageRef,
        now: Timestamp,
    ) {
        let change = |memory: &mut Memory| memory.forget_message(message);
        for key in self.change_memories(|key| key.workspace == *workspace, change) {
            self.schedule_memory_job(key, now + REWRITE_DELAY);
        }
    }

    pub(super) fn change_memories(
        &mut self,
        is_meant: impl Fn(&MemoryKey) -> bool,
        change: impl Fn(&mut Memory) -> bool,
    ) -> Vec<MemoryKey> {
        let revision = self.revision;
        let mut changed = BTreeMap::new();
        for (key, versions) in self.memories.iter_mut().filter(|(key, _)| is_meant(key)) {
            let current = versions.last().map(|version| version.memory.id);
            for version in versions {
                if change(&mut version.memory) {
                    version.changed_at = Some(revision);
                    let is_current = Some(version.memory.id) == current;
                    changed.insert(version.memory.id, is_current.then(|| key.clone()));
                }
            }
        }
        let ids: Vec<MemoryId> = changed.keys().copied().collect();
        self.forget_prompts(&ids);
        let mut keys: Vec<MemoryKey> = changed.into_values().flatten().collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// Drops the prompts that held memories that have changed, and what models wrote about them.
    fn forget_prompts(&mut self, changed: &[MemoryId]) {
        let revision = self.revision;
        for (id, decision) in &mut self.decisions {
            let exchanges = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let affected = exchanges.iter_mut().filter(|record| {
                record.as_ref().is_some_and(|record| {
                    record.exchange.lineage.memories.iter().any(|id| changed.contains(id))
                })
            });
            let mut is_affected = false;
            for record in affected.flatten() {
                record.clear_text();
                is_affected = true;
            }
            if is_affected {
                forget_reasons(decision, revision);
            }
        }
    }

    pub(super) fn has_memory_changed_since(&self, memories: &[MemoryId], revision: u64) -> bool {
        if memories.is_empty() {
            return false;
        }
        let versions = self.memories.values().flatten();
        let versions = versions.map(|version| (version.memory.id, version.changed_at));
        let known = versions.filter(|(id, _)| memories.contains(id));
        let known: BTreeMap<MemoryId, Option<u64>> = known.collect();
        let has_changed =
            |changed_at: &Option<u64>| changed_at.is_some_and(|changed_at| changed_at > revision);
        known.values().any(has_changed) || memories.iter().any(|id| !known.contains_key(id))
    }

    pub(super) fn current_memories(&self, workspace: &WorkspaceId) -> Vec<Memory> {
        let in_workspace = self.memories.iter().filter(|(key, _)| {
            key.workspace == *workspace && !matches!(key.scope, MemoryScope::Thread(..))
        });
        in_workspace
            .filter_map(|(_, versions)| versions.last())
            .map(|version| version.memory.clone())
            .collect()
    }

    /// Adds the memories that are visible from the context's channel.
    pub(super) fn add_memories(&self, context: &mut Context, window: &ContextWindow) {
        let workspace = context.conversation.workspace.clone();
        let own_channel = context.conversation.channel.clone();
        let find = |scope: MemoryScope, term: MemoryTerm, is_own: bool, since: Timestamp| {
            let key = MemoryKey { workspace: workspace.clone(), scope, term };
            let memory = &self.memories.get(&key)?.last()?.memory;
            let text =
                Memory::render_entries(&memory.entries, |entry| is_own || entry.is_public())?;
            (memory.newest_message_at >= since).then_some((memory.id, text))
        };
        let mut ids = Vec::new();
        let mut record = |found: Option<(MemoryId, String)>| {
            let (id, text) = found?;
            ids.push(id);
            Some(text.into())
        };
        let always = Timestamp::MIN;
        let recent = window.recent_since;
        context.workspace_long_term_memory =
            record(find(MemoryScope::Workspace, MemoryTerm::LongTerm, false, always));
        context.workspace_short_term_memory =
            record(find(MemoryScope::Workspace, MemoryTerm::ShortTerm, false, recent));
        let mut channels: Vec<_> = self.channels.values().collect();
        channels.sort_by_key(|channel| (channel.name.clone(), channel.id.clone()));
        for channel in channels {
            let is_own = channel.id == own_channel;
            let is_visible = is_own || channel.visibility == Visibility::Public;
            let key = (channel.workspace.clone(), channel.id.clone());
            let newest = self.channel_order.get(&key).and_then(|order| order.last());
            let is_active = newest.is_some_and(|position| position.at >= window.active_since);
            if channel.workspace != workspace || !is_visible || !is_active {
                continue;
            }
            let scope = || MemoryScope::Channel(channel.id.clone());
            context.channel_memories.push(ChannelMemory {
                channel_id: channel.id.clone(),
                channel_name: channel.name.clone(),
                long_term_memory: record(find(scope(), MemoryTerm::LongTerm, is_own, always)),
                short_term_memory: record(find(scope(), MemoryTerm::ShortTerm, is_own, recent)),
            });
        }
        let mut threads: Vec<&Memory> = self
            .memories
            .values()
            .filter_map(|versions| versions.last())
            .map(|version| &version.memory)
            .filter(|memory| memory.key.workspace == workspace)
            .filter(|memory| memory.newest_message_at >= window.threads_since)
            .collect();
        threads.sort_by_key(|memory| memory.newest_message_at);
        for memory in threads {
            if let MemoryScope::Thread(channel, thread) = &memory.key.scope
                && *channel == own_channel
                && let Some(text) = Memory::render_entries(&memory.entries, |_| true)
            {
                ids.push(memory.id);
                let (thread, memory) = (thread.clone(), text.into());
                context.thread_memories.push(ThreadMemory { thread, memory });
            }
        }
        ids.sort();
        context.memory_ids = ids;
    }
}
