//! What is remembered, in memory.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ChannelId, Message, Visibility, WorkspaceId};
use crate::context::{ChannelMemory, Context, ThreadMemory, Window};
use crate::event::chore::{Chore, ChoreEnd, ChoreOutcome, REWRITING, Turn, follow_ups, turn};
use crate::memory::{Entry, LineId, Lineage, Memory, MemoryId, MemoryKey, NewMemory, Scope, Term};
use crate::store::volatile::{State, forget_reasons};

/// A version of a memory.
pub(super) struct Version {
    pub memory: Memory,
    /// The revision at which an entry was last dropped from it.
    touched: Option<u64>,
}

/// A chore that waits or is worked at.
pub(super) struct Waiting {
    due: Timestamp,
    ready: Timestamp,
    attempts: u32,
    token: Option<i64>,
    /// When it is due once more, if it was armed while it was worked at.
    again: Option<Timestamp>,
}

impl State {
    pub(super) fn arm_for_line(&mut self, message: &Message, due: Timestamp) {
        let place = &message.conversation;
        let thread = place.thread.clone();
        let thread = thread.map(|thread| Scope::Thread(place.channel.clone(), thread));
        let scopes = [Some(Scope::Channel(place.channel.clone())), thread];
        for scope in scopes.into_iter().flatten() {
            let workspace = place.workspace.clone();
            self.arm(MemoryKey { workspace, scope, term: Term::ShortTerm }, due);
        }
    }

    fn arm(&mut self, key: MemoryKey, due: Timestamp) {
        let fresh = || Waiting { due, ready: due, attempts: 0, token: None, again: None };
        let waiting = self.chores.entry(key).or_insert_with(fresh);
        if waiting.token.is_some() {
            waiting.again = Some(waiting.again.map_or(due, |again| again.min(due)));
        } else if due < waiting.due {
            (waiting.due, waiting.ready) = (due, due);
        }
    }

    pub(super) fn next_chore(&self) -> Option<Timestamp> {
        self.chores.values().map(|waiting| waiting.ready).min()
    }

    pub(super) fn claim_chores(
        &mut self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Vec<Chore> {
        let ready = self.chores.iter_mut().filter(|(_, waiting)| waiting.ready <= now);
        let mut ready: Vec<_> = ready.collect();
        ready.sort_by_key(|(key, waiting)| (waiting.ready, key.scope.name()));
        let mut chores = Vec::new();
        for (key, waiting) in ready.into_iter().take(most) {
            self.last_number += 1;
            waiting.token = Some(self.last_number);
            waiting.ready = now + lease;
            waiting.attempts += 1;
            waiting.again = None;
            let (token, attempt) = (self.last_number, waiting.attempts);
            chores.push(Chore { key: key.clone(), due: waiting.due, token, attempt });
        }
        self.revision += u64::from(!chores.is_empty());
        chores
    }

    pub(super) fn complete_chore(&mut self, chore: &Chore, outcome: ChoreOutcome, now: Timestamp) {
        self.revision += 1;
        let key = &chore.key;
        for attempt in &outcome.attempts {
            self.spend(&key.workspace, key.channel(), attempt);
        }
        let waiting = self.chores.get(key).and_then(|waiting| waiting.token);
        if waiting != Some(chore.token) {
            return;
        }
        let is_stale = outcome.attempts.iter().filter_map(|attempt| attempt.exchange.as_ref()).any(
            |exchange| {
                let (revision, made_from) = (exchange.considered, &exchange.made_from);
                self.has_changed_since(&key.workspace, key.channel(), revision, made_from)
            },
        );
        match outcome.end {
            ChoreEnd::Again(turn) => self.put_off(key, outcome.next, turn == Turn::Same),
            ChoreEnd::Nothing => self.end_chore(key),
            ChoreEnd::Made(new) => {
                let lines = new.entries.iter().flat_map(|entry| entry.lines.iter().cloned());
                let lineage = Lineage { lines: lines.collect(), memories: new.merged.clone() };
                let (workspace, channel) = (&key.workspace, key.channel());
                if is_stale || self.has_changed_since(workspace, channel, new.considered, &lineage)
                {
                    return self.put_off(key, now + REWRITING, true);
                }
                let is_public = self.keep(key, new, now, outcome.keeps);
                self.end_chore(key);
                let interval = outcome.next.duration_since(now);
                for (next, due) in follow_ups(key, is_public, now) {
                    let made = self.memories.get(&next).and_then(|versions| versions.last());
                    let made = made.map(|version| version.memory.made);
                    let due = turn(made, due, interval, &next);
                    self.arm(next, due);
                }
            }
        }
    }

    fn put_off(&mut self, key: &MemoryKey, due: Timestamp, is_same_try: bool) {
        if let Some(waiting) = self.chores.get_mut(key) {
            let attempts = if is_same_try { waiting.attempts } else { 0 };
            *waiting = Waiting { due, ready: due, attempts, token: None, again: None };
        }
    }

    fn end_chore(&mut self, key: &MemoryKey) {
        match self.chores.get(key).and_then(|waiting| waiting.again) {
            Some(again) => self.put_off(key, again, false),
            None => {
                self.chores.remove(key);
            }
        }
    }

    /// What was remembered elsewhere is remembered here, if nothing is yet.
    pub(super) fn bring_memory(
        &mut self,
        key: MemoryKey,
        entries: Vec<Entry>,
        newest: Timestamp,
        now: Timestamp,
    ) {
        if self.memories.contains_key(&key) {
            return;
        }
        self.revision += 1;
        let (considered, merged) = (self.revision, Vec::new());
        self.keep(&key, NewMemory { entries, newest, considered, merged }, now, 1);
    }

    fn keep(&mut self, key: &MemoryKey, new: NewMemory, now: Timestamp, keeps: usize) -> bool {
        let mut entries = new.entries;
        for entry in &mut entries {
            let is_public = !entry.lines.is_empty()
                && entry.lines.iter().all(|line| self.is_shared(&key.workspace, line));
            entry.visibility = if is_public { Visibility::Public } else { Visibility::Private };
        }
        let is_public = entries.iter().any(Entry::is_public);
        self.last_number += 1;
        let (id, newest) = (MemoryId(self.last_number), new.newest);
        let memory = Memory { id, key: key.clone(), entries, lost: Vec::new(), newest, made: now };
        let versions = self.memories.entry(key.clone()).or_default();
        versions.push(Version { memory, touched: None });
        // Of versions that are kept no more, the lines behind them are still known: prompts held them.
        let surplus = versions.len().saturating_sub(keeps);
        for entry in versions[..surplus].iter_mut().flat_map(|old| &mut old.memory.entries) {
            entry.text = "".into();
        }
        is_public
    }

    /// Everybody could read it.
    pub(super) fn is_shared(&self, workspace: &WorkspaceId, line: &LineId) -> bool {
        let channel = self.channels.get(&(workspace.clone(), line.0.clone()));
        let place = (workspace.clone(), line.0.clone(), line.1.clone());
        let talk = self.heard.get(&place).and_then(|place| self.talks.get(place));
        let line = talk.and_then(|talk| talk.lines.iter().find(|other| other.message.id == line.1));
        channel.is_some_and(|channel| channel.visibility == Visibility::Public)
            && line.is_some_and(|line| line.visibility == Visibility::Public)
    }

    /// A line was edited or deleted.
    pub(super) fn forget_memories(
        &mut self,
        workspace: &WorkspaceId,
        line: &LineId,
        now: Timestamp,
    ) {
        let memos = self.forget_memos(workspace, line);
        self.forget_prompts(&memos);
        let change = |memory: &mut Memory| memory.forget(line);
        for key in self.change_memories(|key| key.workspace == *workspace, change) {
            self.arm(key, now + REWRITING);
        }
    }

    /// A public channel is public no more.
    pub(super) fn withdraw(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        now: Timestamp,
    ) {
        for (place, talk) in &mut self.talks {
            if (&place.workspace, &place.channel) == (workspace, channel) {
                let public = |visibility: &&mut Visibility| **visibility == Visibility::Public;
                let lines = talk.lines.iter_mut().map(|line| &mut line.visibility);
                lines.filter(public).for_each(|visibility| *visibility = Visibility::Private);
            }
        }
        self.changed = self.revision;
        self.withdrawn.insert((workspace.clone(), channel.clone()), self.revision);
        self.withdraw_prompts(workspace, channel);
        let memos = self.withdraw_memos(workspace, channel, now);
        self.forget_prompts(&memos);
        let of_workspace =
            |key: &MemoryKey| key.workspace == *workspace && key.scope == Scope::Workspace;
        for key in self.change_memories(of_workspace, |memory| memory.forget_channel(channel)) {
            self.arm(key, now + REWRITING);
        }
        let of_channel =
            |key: &MemoryKey| key.workspace == *workspace && key.channel() == Some(channel);
        self.change_memories(of_channel, Memory::withdraw);
    }

    /// What was asked elsewhere with lines of a channel that is public no more goes, and what models
    /// wrote about it.
    fn withdraw_prompts(&mut self, workspace: &WorkspaceId, channel: &ChannelId) {
        let revision = self.revision;
        let elsewhere = self.decisions.iter_mut().filter(|(_, decision)| {
            let place = &decision.conversation;
            place.workspace == *workspace && place.channel != *channel
        });
        for (id, decision) in elsewhere {
            let kept = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let held = kept
                .iter_mut()
                .flatten()
                .filter(|kept| kept.exchange.made_from.lines.iter().any(|line| line.0 == *channel));
            let mut has_seen = false;
            for kept in held {
                kept.forget_words();
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
                    version.touched = Some(revision);
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
                    kept.exchange.made_from.memories.iter().any(|id| changed.contains(id))
                })
            });
            let mut has_seen = false;
            for kept in held.flatten() {
                kept.forget_words();
                has_seen = true;
            }
            if has_seen {
                forget_reasons(decision, revision);
            }
        }
    }

    pub(super) fn have_changed_since(&self, memories: &[MemoryId], revision: u64) -> bool {
        if memories.is_empty() {
            return false;
        }
        let versions = self.memories.values().flatten();
        let versions = versions.map(|version| (version.memory.id, version.touched));
        let memos = self.memos.iter().map(|kept| (kept.id, Some(kept.touched)));
        let known = versions.chain(memos).filter(|(id, _)| memories.contains(id));
        let known: BTreeMap<MemoryId, Option<u64>> = known.collect();
        let has_changed = |touched: &Option<u64>| touched.is_some_and(|touched| touched > revision);
        known.values().any(has_changed) || memories.iter().any(|id| !known.contains_key(id))
    }

    pub(super) fn current_memories(&self, workspace: &WorkspaceId) -> Vec<Memory> {
        let here = self.memories.iter().filter(|(key, _)| {
            key.workspace == *workspace && !matches!(key.scope, Scope::Thread(..))
        });
        here.filter_map(|(_, versions)| versions.last()).map(|kept| kept.memory.clone()).collect()
    }

    /// Adds what may be known in the context's channel.
    pub(super) fn remember(&self, context: &mut Context, window: &Window) {
        let workspace = context.conversation.workspace.clone();
        let here = context.conversation.channel.clone();
        let read = |scope: Scope, term: Term, is_own: bool, since: Timestamp| {
            let key = MemoryKey { workspace: workspace.clone(), scope, term };
            let memory = &self.memories.get(&key)?.last()?.memory;
            let text = Memory::text(&memory.entries, |entry| is_own || entry.is_public())?;
            (memory.newest >= since).then_some((memory.id, text))
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
            note(read(Scope::Workspace, Term::LongTerm, false, always));
        context.workspace_short_term_memory =
            note(read(Scope::Workspace, Term::ShortTerm, false, recent));
        let mut channels: Vec<_> = self.channels.values().collect();
        channels.sort_by_key(|channel| (channel.name.clone(), channel.id.clone()));
        for channel in channels {
            let is_own = channel.id == here;
            let is_known = is_own || channel.visibility == Visibility::Public;
            let place = (channel.workspace.clone(), channel.id.clone());
            let newest = self.order.get(&place).and_then(|order| order.last());
            let is_active = newest.is_some_and(|place| place.at >= window.active_since);
            if channel.workspace != workspace || !is_known || !is_active {
                continue;
            }
            let scope = || Scope::Channel(channel.id.clone());
            context.channel_memories.push(ChannelMemory {
                channel_id: channel.id.clone(),
                channel_name: channel.name.clone(),
                long_term_memory: note(read(scope(), Term::LongTerm, is_own, always)),
                short_term_memory: note(read(scope(), Term::ShortTerm, is_own, recent)),
            });
        }
        let mut threads: Vec<&Memory> = self
            .memories
            .values()
            .filter_map(|versions| versions.last())
            .map(|version| &version.memory)
            .filter(|memory| memory.key.workspace == workspace)
            .filter(|memory| memory.newest >= window.threads_since)
            .collect();
        threads.sort_by_key(|memory| memory.newest);
        for memory in threads {
            if let Scope::Thread(channel, thread) = &memory.key.scope
                && *channel == here
                && let Some(text) = Memory::text(&memory.entries, |_| true)
            {
                ids.push(memory.id);
                let (thread, memory) = (thread.clone(), text.into());
                context.thread_memories.push(ThreadMemory { thread, memory });
            }
        }
        context.memories = ids;
        self.recall_memos(context);
    }
}
