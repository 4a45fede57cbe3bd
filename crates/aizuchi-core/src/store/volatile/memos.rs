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
    /// The messages that it was made from.
    sources: Vec<MessageRef>,
    /// The revision at which it was made or last changed.
    pub changed_at: u64,
}

impl VolatileState {
    pub(super) fn visible_memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Vec<(MemoryId, Memo)> {
        let in_workspace = self.memos.iter().filter(|record| record.workspace == *workspace);
        let visible = in_workspace.filter(|record| record.memo.is_visible_from(channel));
        let mut memos: Vec<(MemoryId, Memo)> =
            visible.map(|record| (record.id, record.memo.clone())).collect();
        memos.sort_by_key(|(id, memo)| {
            (Reverse((memo.priority, memo.updated)), memo.name.clone(), *id)
        });
        memos
    }

    /// Applies a reply's memo changes. In the draft's lineage the changed memos are then replaced by their source
    /// messages; otherwise the draft would become stale by its own changes.
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
        let lineage = &mut draft.metadata.lineage;
        let visibility = self.source_visibility(conversation, lineage);
        for change in &outcome.memo_changes {
            match change {
                MemoChange::Remove(id) => {
                    let removed = self.memos.extract_if(.., |record| record.id == *id).next();
                    let sources = removed.map(|record| record.sources).unwrap_or_default();
                    self.replace_memo_with_sources(*id, &sources);
                    lineage.replace_memory(*id, &sources);
                }
                MemoChange::Upsert { memo, replaces, messages: sources } => {
                    let sources = sources.iter().chain(&answered).cloned().collect();
                    let id = self.put_memo(conversation, visibility, memo, *replaces, sources);
                    let record = self.memos.iter().find(|record| record.id == id);
                    lineage.replace_memory(id, record.map_or(&[], |record| &record.sources));
                }
            }
        }
    }

    /// Whether a reply was made from public messages, memories and memos only.
    fn source_visibility(&self, conversation: &ConversationId, lineage: &Lineage) -> Visibility {
        let workspace = &conversation.workspace;
        let are_messages_public = !lineage.messages.is_empty()
            && lineage.messages.iter().all(|message| self.is_public_message(workspace, message));
        let versions = self.memories.values().flatten().map(|version| &version.memory);
        let mut own_memories = versions.filter(|memory| {
            lineage.memories.contains(&memory.id)
                && memory.key.channel() == Some(&conversation.channel)
        });
        let has_shown_entry =
            own_memories.any(|memory| !memory.entries.iter().all(MemoryEntry::is_public));
        let has_shown_memo = self.memos.iter().any(|record| {
            lineage.memories.contains(&record.id) && record.memo.scope() != MemoScope::Workspace
        });
        match are_messages_public && !has_shown_entry && !has_shown_memo {
            true => Visibility::Public,
            false => Visibility::Private,
        }
    }

    fn put_memo(
        &mut self,
        conversation: &ConversationId,
        visibility: Visibility,
        memo: &Memo,
        replaces: Option<MemoryId>,
        mut sources: Vec<MessageRef>,
    ) -> MemoryId {
        let workspace = &conversation.workspace;
        let is_replaced =
            |record: &MemoRecord| Some(record.id) == replaces && record.workspace == *workspace;
        let position = self.memos.iter().position(is_replaced);
        let replaced = position.map(|position| &self.memos[position]);
        let stored =
            memo.to_stored(replaced.map(|record| &record.memo), visibility, &conversation.channel);
        sources.extend(replaced.into_iter().flat_map(|record| record.sources.iter().cloned()));
        sources.sort();
        sources.dedup();
        let kept_position =
            position.filter(|position| self.memos[*position].memo.scope() == stored.scope());
        let id = match kept_position {
            Some(position) => self.memos[position].id,
            None => {
                self.last_number += 1;
                MemoryId(self.last_number)
            }
        };
        let memo = self.with_free_name(workspace, id, stored);
        let (workspace, changed_at) = (workspace.clone(), self.revision);
        let record = MemoRecord { id, workspace, memo, sources, changed_at };
        match kept_position {
            Some(position) => self.memos[position] = record,
            None => self.memos.push(record),
        }
        id
    }

    /// Imports a memo, unless there is one of its name.
    pub(super) fn import_memo(&mut self, workspace: WorkspaceId, memo: Memo) {
        let scope = memo.scope();
        let is_same = |record: &MemoRecord| {
            (&record.workspace, &record.memo.name) == (&workspace, &memo.name)
                && record.memo.scope() == scope
        };
        if self.memos.iter().any(is_same) {
            return;
        }
        self.revision += 1;
        self.last_number += 1;
        let (id, sources, changed_at) = (MemoryId(self.last_number), Vec::new(), self.revision);
        self.memos.push(MemoRecord { id, workspace, memo, sources, changed_at });
    }

    fn with_free_name(&self, workspace: &WorkspaceId, id: MemoryId, memo: Memo) -> Memo {
        let scope = memo.scope();
        let name = available_name(&memo.name, |name| {
            self.memos.iter().any(|record| {
                record.workspace == *workspace
                    && record.memo.scope() == scope
                    && record.memo.name == name
                    && record.id != id
            })
        });
        Memo { name, ..memo }
    }

    /// Prompts that held a memo get its source messages into their lineage instead.
    fn replace_memo_with_sources(&mut self, id: MemoryId, sources: &[MessageRef]) {
        for record in self.exchanges.values_mut().flatten().flatten() {
            if record.exchange.lineage.memories.contains(&id) {
                let messages = &mut Arc::make_mut(&mut record.exchange).lineage.messages;
                messages.extend(sources.iter().cloned());
                messages.sort();
                messages.dedup();
            }
        }
    }

    /// Removes the memos made from an edited or deleted message.
    pub(super) fn forget_memos(
        &mut self,
        workspace: &WorkspaceId,
        message: &MessageRef,
    ) -> Vec<MemoryId> {
        let removed = self.memos.extract_if(.., |record| {
            record.workspace == *workspace && record.sources.contains(message)
        });
        removed.map(|record| record.id).collect()
    }

    /// A public channel turned private: its memos become private to it. Returns the changed ones.
    pub(super) fn make_memos_private(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        now: Timestamp,
    ) -> Vec<MemoryId> {
        let is_affected = |record: &MemoRecord| {
            let channels = record.sources.iter().map(|source| &source.0);
            record.workspace == *workspace
                && channels.chain([&record.memo.channel]).any(|source| source == channel)
        };
        let affected = self.memos.iter().filter(|record| is_affected(record));
        let mut changed: Vec<(MemoryId, Option<Memo>)> =
            affected.map(|record| (record.id, record.memo.to_private(channel))).collect();
        changed.retain(|(id, moved)| {
            let record = self.memos.iter().find(|record| record.id == *id);
            record.map(|record| &record.memo) != moved.as_ref()
        });
        changed.sort_by_key(|(id, _)| *id);
        for (id, moved) in &changed {
            let Some(moved) = moved else {
                self.memos.retain(|record| record.id != *id);
                continue;
            };
            let moved = Memo { updated: now, ..moved.clone() };
            let memo = self.with_free_name(workspace, *id, moved);
            let changed_at = self.revision;
            let record = self.memos.iter_mut().find(|record| record.id == *id);
            record
                .into_iter()
                .for_each(|record| (record.memo, record.changed_at) = (memo.clone(), changed_at));
        }
        changed.into_iter().map(|(id, _)| id).collect()
    }

    /// Adds the memos that are visible from the context's channel.
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
