//! Memos, in memory.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::{ChannelId, ConversationId, Visibility, WorkspaceId};
use crate::context::{Context, IMPORTANT, IMPORTANT_MEMOS, RECENT_MEMOS};
use crate::event::{End, Outcome};
use crate::memo::{Memo, MemoChange, Realm, free_name};
use crate::memory::{Entry, LineId, Lineage, MemoryId};
use crate::store::volatile::State;

pub(super) struct KeptMemo {
    pub id: MemoryId,
    workspace: WorkspaceId,
    memo: Memo,
    /// The lines behind it.
    lines: Vec<LineId>,
    /// The revision that it came or changed with.
    pub touched: u64,
}

impl State {
    pub(super) fn memos_from(
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
    pub(super) fn write_memos(&mut self, conversation: &ConversationId, outcome: &mut Outcome) {
        let End::Drafted { draft, .. } = &mut outcome.end else { return };
        if outcome.memos.is_empty() {
            return;
        }
        let answered = draft.notes.answered(&conversation.channel);
        let made_from = &mut draft.notes.made_from;
        let known = self.may_know(conversation, made_from);
        for change in &outcome.memos {
            match change {
                MemoChange::Remove(id) => {
                    let gone = self.memos.extract_if(.., |kept| kept.id == *id).next();
                    let lines = gone.map(|kept| kept.lines).unwrap_or_default();
                    self.trade_memo(*id, &lines);
                    made_from.trade(*id, &lines);
                }
                MemoChange::Put { memo, replaces, lines } => {
                    let lines = lines.iter().chain(&answered).cloned().collect();
                    let id = self.put_memo(conversation, known, memo, *replaces, lines);
                    let kept = self.memos.iter().find(|kept| kept.id == id);
                    made_from.trade(id, kept.map_or(&[], |kept| &kept.lines));
                }
            }
        }
    }

    /// Who may know what a reply was made from.
    fn may_know(&self, conversation: &ConversationId, made_from: &Lineage) -> Visibility {
        let workspace = &conversation.workspace;
        let is_shared = !made_from.lines.is_empty()
            && made_from.lines.iter().all(|line| self.is_shared(workspace, line));
        let versions = self.memories.values().flatten().map(|version| &version.memory);
        let mut own = versions.filter(|memory| {
            made_from.memories.contains(&memory.id)
                && memory.key.channel() == Some(&conversation.channel)
        });
        let has_shown_entry = own.any(|memory| !memory.entries.iter().all(Entry::is_public));
        let has_shown_memo = self.memos.iter().any(|kept| {
            made_from.memories.contains(&kept.id) && kept.memo.realm() != Realm::Workspace
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
        mut lines: Vec<LineId>,
    ) -> MemoryId {
        let workspace = &conversation.workspace;
        let is_replaced =
            |kept: &KeptMemo| Some(kept.id) == replaces && kept.workspace == *workspace;
        let place = self.memos.iter().position(is_replaced);
        let replaced = place.map(|place| &self.memos[place]);
        let placed = memo.placed(replaced.map(|kept| &kept.memo), known, &conversation.channel);
        lines.extend(replaced.into_iter().flat_map(|kept| kept.lines.iter().cloned()));
        lines.sort();
        lines.dedup();
        let same = place.filter(|place| self.memos[*place].memo.realm() == placed.realm());
        let id = match same {
            Some(place) => self.memos[place].id,
            None => {
                self.last_number += 1;
                MemoryId(self.last_number)
            }
        };
        let memo = self.with_free_name(workspace, id, placed);
        let (workspace, touched) = (workspace.clone(), self.revision);
        let kept = KeptMemo { id, workspace, memo, lines, touched };
        match same {
            Some(place) => self.memos[place] = kept,
            None => self.memos.push(kept),
        }
        id
    }

    /// Keeps a memo that was made elsewhere, unless there is one of its name.
    pub(super) fn bring_memo(&mut self, workspace: WorkspaceId, memo: Memo) {
        let realm = memo.realm();
        let is_same = |kept: &KeptMemo| {
            (&kept.workspace, &kept.memo.name) == (&workspace, &memo.name)
                && kept.memo.realm() == realm
        };
        if self.memos.iter().any(is_same) {
            return;
        }
        self.revision += 1;
        self.last_number += 1;
        let (id, lines, touched) = (MemoryId(self.last_number), Vec::new(), self.revision);
        self.memos.push(KeptMemo { id, workspace, memo, lines, touched });
    }

    fn with_free_name(&self, workspace: &WorkspaceId, id: MemoryId, memo: Memo) -> Memo {
        let realm = memo.realm();
        let name = free_name(&memo.name, |name| {
            self.memos.iter().any(|kept| {
                kept.workspace == *workspace
                    && kept.memo.realm() == realm
                    && kept.memo.name == name
                    && kept.id != id
            })
        });
        Memo { name, ..memo }
    }

    /// Prompts that held a memo hold its lines from now on.
    fn trade_memo(&mut self, id: MemoryId, lines: &[LineId]) {
        for kept in self.exchanges.values_mut().flatten().flatten() {
            if kept.exchange.made_from.memories.contains(&id) {
                let held = &mut Arc::make_mut(&mut kept.exchange).made_from.lines;
                held.extend(lines.iter().cloned());
                held.sort();
                held.dedup();
            }
        }
    }

    /// A line was edited or deleted.
    pub(super) fn forget_memos(&mut self, workspace: &WorkspaceId, line: &LineId) -> Vec<MemoryId> {
        let gone = self
            .memos
            .extract_if(.., |kept| kept.workspace == *workspace && kept.lines.contains(line));
        gone.map(|kept| kept.id).collect()
    }

    /// A public channel is public no more: the memos that it is behind are its own. Says which these are.
    pub(super) fn withdraw_memos(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        now: Timestamp,
    ) -> Vec<MemoryId> {
        let is_behind = |kept: &KeptMemo| {
            let lines = kept.lines.iter().map(|line| &line.0);
            kept.workspace == *workspace
                && lines.chain([&kept.memo.channel]).any(|behind| behind == channel)
        };
        let behind = self.memos.iter().filter(|kept| is_behind(kept));
        let mut changed: Vec<(MemoryId, Option<Memo>)> =
            behind.map(|kept| (kept.id, kept.memo.withdrawn(channel))).collect();
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
            kept.into_iter().for_each(|kept| (kept.memo, kept.touched) = (memo.clone(), touched));
        }
        changed.into_iter().map(|(id, _)| id).collect()
    }

    /// Adds the memos that may be seen from the context's channel.
    pub(super) fn recall_memos(&self, context: &mut Context) {
        let (workspace, channel) = (&context.conversation.workspace, &context.conversation.channel);
        let mut memos = self.memos_from(workspace, channel);
        let important = memos.iter().filter(|(_, memo)| memo.priority >= IMPORTANT);
        let important: Vec<(MemoryId, Memo)> = important.take(IMPORTANT_MEMOS).cloned().collect();
        memos.sort_by_key(|(id, memo)| (Reverse(memo.updated), memo.name.clone(), *id));
        memos.retain(|memo| !important.contains(memo));
        memos.truncate(RECENT_MEMOS);
        context.memories.extend(important.iter().chain(&memos).map(|(id, _)| *id));
        context.memories.sort();
        context.important_memos = important.into_iter().map(|(_, memo)| memo).collect();
        context.recent_memos = memos.into_iter().map(|(_, memo)| memo).collect();
    }
}
