//! What is remembered, in memory.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ChannelId, Message, Visibility, WorkspaceId};
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

/// A chore that waits or is worked at.
pub(super) struct MemoryJobRecord {
    due: Timestamp,
    ready: Timestamp,
    attempts: u32,
    token: Option<i64>,
    /// When it is due once more, if it was armed while it was worked at.
    due_again: Option<Timestamp>,
}

impl VolatileState {
    pub(super) fn schedule_for_message(&mut self, message: &Message, due: Timestamp) {
        let place = &message.conversation;
        let thread = place.thread.clone();
        let thread = thread.map(|thread| MemoryScope::Thread(place.channel.clone(), thread));
        let scopes = [Some(MemoryScope::Channel(place.channel.clone())), thread];
        for scope in scopes.into_iter().flatten() {
            let workspace = place.workspace.clone();
            self.schedule_memory_job(
                MemoryKey { workspace, scope, term: MemoryTerm::ShortTerm },
                due,
            );
        }
    }

    fn schedule_memory_job(&mut self, key: MemoryKey, due: Timestamp) {
        let fresh =
            || MemoryJobRecord { due, ready: due, attempts: 0, token: None, due_again: None };
        let waiting = self.memory_jobs.entry(key).or_insert_with(fresh);
        if waiting.token.is_some() {
            waiting.due_again = Some(waiting.due_again.map_or(due, |again| again.min(due)));
        } else if due < waiting.due {
            (waiting.due, waiting.ready) = (due, due);
        }
    }

    pub(super) fn next_memory_job(&self) -> Option<Timestamp> {
        self.memory_jobs.values().map(|waiting| waiting.ready).min()
    }

    pub(super) fn claim_memory_jobs(
        &mut self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Vec<MemoryJob> {
        let ready = self.memory_jobs.iter_mut().filter(|(_, waiting)| waiting.ready <= now);
        let mut ready: Vec<_> = ready.collect();
        ready.sort_by_key(|(key, waiting)| (waiting.ready, key.scope.name()));
        let mut chores = Vec::new();
        for (key, waiting) in ready.into_iter().take(most) {
            self.last_number += 1;
            waiting.token = Some(self.last_number);
            waiting.ready = now + lease;
            waiting.attempts += 1;
            waiting.due_again = None;
            let (token, attempt) = (self.last_number, waiting.attempts);
            chores.push(MemoryJob { key: key.clone(), due: waiting.due, token, attempt });
        }
        self.revision += u64::from(!chores.is_empty());
        chores
    }

    pub(super) fn complete_memory_job(
        &mut self,
        chore: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) {
        self.revision += 1;
        let key = &chore.key;
        for attempt in &outcome.attempts {
            self.record_spending(&key.workspace, key.channel(), attempt);
        }
        let waiting = self.memory_jobs.get(key).and_then(|waiting| waiting.token);
        if waiting != Some(chore.token) {
            return;
        }
        let is_stale = outcome.attempts.iter().filter_map(|attempt| attempt.exchange.as_ref()).any(
            |exchange| {
                let (revision, made_from) = (exchange.seen_revision, &exchange.lineage);
                self.has_changed_since(&key.workspace, key.channel(), revision, made_from)
            },
        );
        match outcome.result {
            MemoryJobResult::Retry(turn) => {
                self.postpone_memory_job(key, outcome.next_due, turn == RetryTiming::Soon)
            }
            MemoryJobResult::NothingNew => self.finish_memory_job(key),
            MemoryJobResult::Remembered(new) => {
                let lines = new.entries.iter().flat_map(|entry| entry.messages.iter().cloned());
                let lineage =
                    Lineage { messages: lines.collect(), memories: new.source_memories.clone() };
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
                    let made = self.memories.get(&next).and_then(|versions| versions.last());
                    let made = made.map(|version| version.memory.created);
                    let due = job_due(made, due, interval, &next);
                    self.schedule_memory_job(next, due);
                }
            }
        }
    }

    fn postpone_memory_job(&mut self, key: &MemoryKey, due: Timestamp, is_same_try: bool) {
        if let Some(waiting) = self.memory_jobs.get_mut(key) {
            let attempts = if is_same_try { waiting.attempts } else { 0 };
            *waiting = MemoryJobRecord { due, ready: due, attempts, token: None, due_again: None };
        }
    }

    fn finish_memory_job(&mut self, key: &MemoryKey) {
        match self.memory_jobs.get(key).and_then(|waiting| waiting.due_again) {
            Some(again) => self.postpone_memory_job(key, again, false),
            None => {
                self.memory_jobs.remove(key);
            }
        }
    }

    /// What was remembered elsewhere is remembered here, if nothing is yet.
    pub(super) fn import_memory(
        &mut self,
        key: MemoryKey,
        entries: Vec<MemoryEntry>,
        newest: Timestamp,
        now: Timestamp,
    ) {
        if self.memories.contains_key(&key) {
            return;
        }
        self.revision += 1;
        let (considered, merged) = (self.revision, Vec::new());
        self.save_memory_version(
            &key,
            NewMemory {
                entries,
                newest_message_at: newest,
                seen_revision: considered,
                source_memories: merged,
            },
            now,
            1,
        );
    }

    fn save_memory_version(
        &mut self,
        key: &MemoryKey,
        new: NewMemory,
        now: Timestamp,
        keeps: usize,
    ) -> bool {
        let mut entries = new.entries;
        for entry in &mut entries {
            let is_public = !entry.messages.is_empty()
                && entry.messages.iter().all(|line| self.is_public_message(&key.workspace, line));
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
        // Of versions that are kept no more, the lines behind them are still known: prompts held them.
        let surplus = versions.len().saturating_sub(keeps);
        for entry in versions[..surplus].iter_mut().flat_map(|old| &mut old.memory.entries) {
            entry.text = "".into();
        }
        is_public
    }

    /// Everybody could read it.
    pub(super) fn is_public_message(&self, workspace: &WorkspaceId, line: &MessageRef) -> bool {
        let channel = self.channels.get(&(workspace.clone(), line.0.clone()));
        let place = (workspace.clone(), line.0.clone(), line.1.clone());
        let talk = self.conversation_of.get(&place).and_then(|place| self.conversations.get(place));
        let line =
            talk.and_then(|talk| talk.messages.iter().find(|other| other.message.id == line.1));
        channel.is_some_and(|channel| channel.visibility == Visibility::Public)
            && line.is_some_and(|line| line.visibility == Visibility::Public)
    }

    /// A line was edited or deleted.
    pub(super) fn forget_memories(
        &mut self,
        workspace: &WorkspaceId,
        line: &MessageRef,
        now: Timestamp,
    ) {
        let memos = self.forget_memos(workspace, line);
        self.forget_prompts(&memos);
        let change = |memory: &mut Memory| memory.forget_message(line);
        for key in self.change_memories(|key| key.workspace == *workspace, change) {
            self.schedule_memory_job(key, now + REWRITE_DELAY);
        }
    }

    /// A public channel is public no more.
    pub(super) fn make_channel_private(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        now: Timestamp,
    ) {
        for (place, talk) in &mut self.conversations {
            if (&place.workspace, &place.channel) == (workspace, channel) {
                let public = |visibility: &&mut Visibility| **visibility == Visibility::Public;
                let lines = talk.messages.iter_mut().map(|line| &mut line.visibility);
                lines.filter(public).for_each(|visibility| *visibility = Visibility::Private);
            }
        }
        self.last_change = self.revision;
        self.made_private_at.insert((workspace.clone(), channel.clone()), self.revision);
        self.forget_prompts_of_channel(workspace, channel);
        let memos = self.make_memos_private(workspace, channel, now);
        self.forget_prompts(&memos);
        let of_workspace =
            |key: &MemoryKey| key.workspace == *workspace && key.scope == MemoryScope::Workspace;
        for key in self.change_memories(of_workspace, |memory| memory.forget_channel(channel)) {
            self.schedule_memory_job(key, now + REWRITE_DELAY);
        }
        let of_channel =
            |key: &MemoryKey| key.workspace == *workspace && key.channel() == Some(channel);
        self.change_memories(of_channel, Memory::make_private);
    }

    /// What was asked elsewhere with lines of a channel that is public no more goes, and what models
    /// wrote about it.
    fn forget_prompts_of_channel(&mut self, workspace: &WorkspaceId, channel: &ChannelId) {
        let revision = self.revision;
        let elsewhere = self.decisions.iter_mut().filter(|(_, decision)| {
            let place = &decision.conversation;
            place.workspace == *workspace && place.channel != *channel
        });
        for (id, decision) in elsewhere {
            let kept = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let held = kept.iter_mut().flatten().filter(|kept| {
                kept.exchange.lineage.messages.iter().any(|line| line.0 == *channel)
            });
            let mut has_seen = false;
            for kept in held {
                kept.clear_text();
                has_seen = true;
            }
            if has_seen {
                forget_reasons(decision, revision);
            }
        }
    }

    fn change_memories(
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

    /// What was asked with the help of memories or memos that have changed goes, and what models wrote
    /// about it.
    fn forget_prompts(&mut self, changed: &[MemoryId]) {
        let revision = self.revision;
        for (id, decision) in &mut self.decisions {
            let kept = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let held = kept.iter_mut().filter(|kept| {
                kept.as_ref().is_some_and(|kept| {
                    kept.exchange.lineage.memories.iter().any(|id| changed.contains(id))
                })
            });
            let mut has_seen = false;
            for kept in held.flatten() {
                kept.clear_text();
                has_seen = true;
            }
            if has_seen {
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
        let memos = self.memos.iter().map(|kept| (kept.id, Some(kept.changed_at)));
        let known = versions.chain(memos).filter(|(id, _)| memories.contains(id));
        let known: BTreeMap<MemoryId, Option<u64>> = known.collect();
        let has_changed = |touched: &Option<u64>| touched.is_some_and(|touched| touched > revision);
        known.values().any(has_changed) || memories.iter().any(|id| !known.contains_key(id))
    }

    pub(super) fn current_memories(&self, workspace: &WorkspaceId) -> Vec<Memory> {
        let here = self.memories.iter().filter(|(key, _)| {
            key.workspace == *workspace && !matches!(key.scope, MemoryScope::Thread(..))
        });
        here.filter_map(|(_, versions)| versions.last()).map(|kept| kept.memory.clone()).collect()
    }

    /// Adds what may be known in the context's channel.
    pub(super) fn add_memories(&self, context: &mut Context, window: &ContextWindow) {
        let workspace = context.conversation.workspace.clone();
        let here = context.conversation.channel.clone();
        let read = |scope: MemoryScope, term: MemoryTerm, is_own: bool, since: Timestamp| {
            let key = MemoryKey { workspace: workspace.clone(), scope, term };
            let memory = &self.memories.get(&key)?.last()?.memory;
            let text =
                Memory::render_entries(&memory.entries, |entry| is_own || entry.is_public())?;
            (memory.newest_message_at >= since).then_some((memory.id, text))
        };
        let mut ids = Vec::new();
        let mut note = |read: Option<(MemoryId, String)>| {
            let (id, text) = read?;
            ids.push(id);
            Some(text.into())
        };
        let always = Timestamp::MIN;
        let recent = window.recent_since;
        context.workspace_long_term_memory =
            note(read(MemoryScope::Workspace, MemoryTerm::LongTerm, false, always));
        context.workspace_short_term_memory =
            note(read(MemoryScope::Workspace, MemoryTerm::ShortTerm, false, recent));
        let mut channels: Vec<_> = self.channels.values().collect();
        channels.sort_by_key(|channel| (channel.name.clone(), channel.id.clone()));
        for channel in channels {
            let is_own = channel.id == here;
            let is_known = is_own || channel.visibility == Visibility::Public;
            let place = (channel.workspace.clone(), channel.id.clone());
            let newest = self.channel_order.get(&place).and_then(|order| order.last());
            let is_active = newest.is_some_and(|place| place.at >= window.active_since);
            if channel.workspace != workspace || !is_known || !is_active {
                continue;
            }
            let scope = || MemoryScope::Channel(channel.id.clone());
            context.channel_memories.push(ChannelMemory {
                channel_id: channel.id.clone(),
                channel_name: channel.name.clone(),
                long_term_memory: note(read(scope(), MemoryTerm::LongTerm, is_own, always)),
                short_term_memory: note(read(scope(), MemoryTerm::ShortTerm, is_own, recent)),
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
                && *channel == here
                && let Some(text) = Memory::render_entries(&memory.entries, |_| true)
            {
                ids.push(memory.id);
                let (thread, memory) = (thread.clone(), text.into());
                context.thread_memories.push(ThreadMemory { thread, memory });
            }
        }
        context.memory_ids = ids;
        self.add_memos(context);
    }
}
