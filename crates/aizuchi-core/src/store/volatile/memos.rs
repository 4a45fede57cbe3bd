//! Memos, in memory.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ChannelId, ConversationId, Visibility, WorkspaceId};
use crate::context::{Context, IMPORTANT_PRIORITY, MAX_IMPORTANT_MEMOS, MAX_RECENT_MEMOS};
use crate::event::{Outcome, StepResult};
use crate::memo::{Memo, MemoChange, MemoScope, available_name};
use crate::memory::{Lineage, MemoryEntry, MemoryId, MessageRef};
use crate::store::volatile::VolatileState;

pub(super) struct MemoRecord {
    pub id: MemoryId,
    workspace: WorkspaceId,
    memo: Memo,
    /// The lines behind it.
    sources: Vec<MessageRef>,
    /// The revision that it came or changed with.
    pub changed_at: u64,
}

impl VolatileState {
    pub(super) fn visible_memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Vec<(MemoryId, Memo)> {
        let here = self.memos.iter().filter(|kept| kept.workspace == *workspace);
        let seen = here.filter(|kept| kept.memo.is_visible_from(channel));
        let mut memos: Vec<(MemoryId, Memo)> =
            seen.map(|kept| (kept.id, kept.memo.clone())).collect();
        memos.sort_by_key(|(id, memo)| {
            (Reverse((memo.priority, memo.updated)), memo.name.clone(), *id)
        });
        memos
    }

    /// Writes what a reply has noted. Its words then hang on the lines behind the memos that it has
    /// changed, and not on those memos, so that it does not change what it was made from itself.
    pub(super) fn apply_memo_changes(
        &mut self,
        conversation: &ConversationId,
        outcome: &mut Outcome,
    ) {
        let StepResult::Drafted { draft, .. } = &mut outcome.result else { return };
        if outcome.memo_changes.is_empty() {
            return;
        }
        let answered = draft.metadata.answered_message_refs(&conversation.channel);
        let made_from = &mut draft.metadata.lineage;
        let known = self.source_visibility(conversation, made_from);
        for change in &outcome.memo_changes {
            match change {
                MemoChange::Remove(id) => {
                    let gone = self.memos.extract_if(.., |kept| kept.id == *id).next();
                    let lines = gone.map(|kept| kept.sources).unwrap_or_default();
                    self.replace_memo_with_sources(*id, &lines);
                    made_from.replace_memory(*id, &lines);
                }
                MemoChange::Upsert { memo, replaces, messages: lines } => {
                    let lines = lines.iter().chain(&answered).cloned().collect();
                    let id = self.put_memo(conversation, known, memo, *replaces, lines);
                    let kept = self.memos.iter().find(|kept| kept.id == id);
                    made_from.replace_memory(id, kept.map_or(&[], |kept| &kept.sources));
                }
            }
        }
    }

    /// Who may know what a reply was made from.
    fn source_visibility(&self, conversation: &ConversationId, made_from: &Lineage) -> Visibility {
        let workspace = &conversation.workspace;
        let is_shared = !made_from.messages.is_empty()
            && made_from.messages.iter().all(|line| self.is_public_message(workspace, line));
        let versions = self.memories.values().flatten().map(|version| &version.memory);
        let mut own = versions.filter(|memory| {
            made_from.memories.contains(&memory.id)
                && memory.key.channel() == Some(&conversation.channel)
        });
        let has_shown_entry = own.any(|memory| !memory.entries.iter().all(MemoryEntry::is_public));
        let has_shown_memo = self.memos.iter().any(|kept| {
            made_from.memories.contains(&kept.id) && kept.memo.scope() != MemoScope::Workspace
        });
        match is_shared && !has_shown_entry && !has_shown_memo {
            true => Visibility::Public,
            false => Visibility::Private,
        }
    }

    fn put_memo(
        &mut self,
        conversation: &ConversationId,
        known: Visibility,
        memo: &Memo,
        replaces: Option<MemoryId>,
        mut lines: Vec<MessageRef>,
    ) -> MemoryId {
        let workspace = &conversation.workspace;
        let is_replaced =
            |kept: &MemoRecord| Some(kept.id) == replaces && kept.workspace == *workspace;
        let place = self.memos.iter().position(is_replaced);
        let replaced = place.map(|place| &self.memos[place]);
        let placed = memo.to_stored(replaced.map(|kept| &kept.memo), known, &conversation.channel);
        lines.extend(replaced.into_iter().flat_map(|kept| kept.sources.iter().cloned()));
        lines.sort();
        lines.dedup();
        let same = place.filter(|place| self.memos[*place].memo.scope() == placed.scope());
        let id = match same {
            Some(place) => self.memos[place].id,
            None => {
                self.last_number += 1;
                MemoryId(self.last_number)
            }
        };
        let memo = self.with_free_name(workspace, id, placed);
        let (workspace, touched) = (workspace.clone(), self.revision);
        let kept = MemoRecord { id, workspace, memo, sources: lines, changed_at: touched };
        match same {
            Some(place) => self.memos[place] = kept,
            None => self.memos.push(kept),
        }
        id
    }

    /// Keeps a memo that was made elsewhere, unless there is one of its name.
    pub(super) fn import_memo(&mut self, workspace: WorkspaceId, memo: Memo) {
        let realm = memo.scope();
        let is_same = |kept: &MemoRecord| {
            (&kept.workspace, &kept.memo.name) == (&workspace, &memo.name)
                && kept.memo.scope() == realm
        };
        if self.memos.iter().any(is_same) {
            return;
        }
        self.revision += 1;
        self.last_number += 1;
        let (id, lines, touched) = (MemoryId(self.last_number), Vec::new(), self.revision);
        self.memos.push(MemoRecord { id, workspace, memo, sources: lines, changed_at: touched });
    }

    fn with_free_name(&self, workspace: &WorkspaceId, id: MemoryId, memo: Memo) -> Memo {
        let realm = memo.scope();
        let name = available_name(&memo.name, |name| {
            self.memos.iter().any(|kept| {
                kept.workspace == *workspace
                    && kept.memo.scope() == realm
                    && kept.memo.name == name
                    && kept.id != id
            })
        });
        Memo { name, ..memo }
    }

    /// Prompts that held a memo hold its lines from now on.
    fn replace_memo_with_sources(&mut self, id: MemoryId, lines: &[MessageRef]) {
        for kept in self.exchanges.values_mut().flatten().flatten() {
            if kept.exchange.lineage.memories.contains(&id) {
                let held = &mut Arc::make_mut(&mut kept.exchange).lineage.messages;
                held.extend(lines.iter().cloned());
                held.sort();
                held.dedup();
            }
        }
    }

    /// A line was edited or deleted.
    pub(super) fn forget_memos(
        &mut self,
        workspace: &WorkspaceId,
        line: &MessageRef,
    ) -> Vec<MemoryId> {
        let gone = self
            .memos
            .extract_if(.., |kept| kept.workspace == *workspace && kept.sources.contains(line));
        gone.map(|kept| kept.id).collect()
    }

    /// A public channel is public no more: the memos that it is behind are its own. Says which these are.
    pub(super) fn make_memos_private(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        now: Timestamp,
    ) -> Vec<MemoryId> {
        let is_behind = |kept: &MemoRecord| {
            let lines = kept.sources.iter().map(|line| &line.0);
            kept.workspace == *workspace
                && lines.chain([&kept.memo.channel]).any(|behind| behind == channel)
        };
        let behind = self.memos.iter().filter(|kept| is_behind(kept));
        let mut changed: Vec<(MemoryId, Option<Memo>)> =
            behind.map(|kept| (kept.id, kept.memo.to_private(channel))).collect();
        changed.retain(|(id, moved)| {
            let kept = self.memos.iter().find(|kept| kept.id == *id);
            kept.map(|kept| &kept.memo) != moved.as_ref()
        });
        changed.sort_by_key(|(id, _)| *id);
        for (id, moved) in &changed {
            let Some(moved) = moved else {
                self.memos.retain(|kept| kept.id != *id);
                continue;
            };
            let moved = Memo { updated: now, ..moved.clone() };
            let memo = self.with_free_name(workspace, *id, moved);
            let touched = self.revision;
            let kept = self.memos.iter_mut().find(|kept| kept.id == *id);
            kept.into_iter()
                .for_each(|kept| (kept.memo, kept.changed_at) = (memo.clone(), touched));
        }
        changed.into_iter().map(|(id, _)| id).collect()
    }

    /// Adds the memos that may be seen from the context's channel.
    pub(super) fn add_memos(&self, context: &mut Context) {
        let (workspace, channel) = (&context.conversation.workspace, &context.conversation.channel);
        let mut memos = self.visible_memos(workspace, channel);
        let important = memos.iter().filter(|(_, memo)| memo.priority >= IMPORTANT_PRIORITY);
        let important: Vec<(MemoryId, Memo)> =
            important.take(MAX_IMPORTANT_MEMOS).cloned().collect();
        memos.sort_by_key(|(id, memo)| (Reverse(memo.updated), memo.name.clone(), *id));
        memos.retain(|memo| !important.contains(memo));
        memos.truncate(MAX_RECENT_MEMOS);
        context.memory_ids.extend(important.iter().chain(&memos).map(|(id, _)| *id));
        context.memory_ids.sort();
        context.important_memos = important.into_iter().map(|(_, memo)| memo).collect();
        context.recent_memos = memos.into_iter().map(|(_, memo)| memo).collect();
    }
}
