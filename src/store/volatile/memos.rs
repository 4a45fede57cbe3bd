//! Memos, in memory.

use std::cmp::Reverse;

use jiff::Timestamp;

use crate::chat::{ChannelId, MessageId, Visibility, WorkspaceId};
use crate::context::{Context, IMPORTANT, IMPORTANT_MEMOS, RECENT_MEMOS};
use crate::memo::{Memo, MemoChange, Realm, free_name};
use crate::memory::{LineId, MemoryId};
use crate::store::volatile::State;

pub(super) struct KeptMemo {
    id: MemoryId,
    workspace: WorkspaceId,
    memo: Memo,
    /// The lines of its channel that it was made for.
    lines: Vec<MessageId>,
}

impl State {
    pub(super) fn memos_from(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Vec<Memo> {
        let mut memos: Vec<Memo> =
            self.seen_from(workspace, channel).map(|(_, memo)| memo).collect();
        memos.sort_by_key(|memo| (Reverse((memo.priority, memo.updated)), memo.name.clone()));
        memos
    }

    fn seen_from(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> impl Iterator<Item = (MemoryId, Memo)> {
        let seen = self.memos.iter().filter(move |kept| kept.workspace == *workspace);
        let seen = seen.filter(move |kept| kept.memo.is_visible_from(channel));
        seen.map(|kept| (kept.id, kept.memo.clone()))
    }

    /// Writes what a reply has noted. `lines` are those that it answers.
    pub(super) fn write_memos(
        &mut self,
        workspace: &WorkspaceId,
        changes: &[MemoChange],
        lines: &[MessageId],
    ) {
        for change in changes {
            match change {
                MemoChange::Remove { realm, name } => self.memos.retain(|kept| {
                    (&kept.workspace, &kept.memo.realm(), &kept.memo.name)
                        != (workspace, realm, name)
                }),
                MemoChange::Put(memo) => self.put_memo(workspace, memo, lines),
            }
        }
    }

    fn put_memo(&mut self, workspace: &WorkspaceId, memo: &Memo, lines: &[MessageId]) {
        let realm = memo.realm();
        let name = self.free_memo_name(workspace, &realm, memo);
        let memo = Memo { name, ..memo.clone() };
        self.last_number += 1;
        let id = MemoryId(self.last_number);
        let same = self.memos.iter_mut().find(|kept| {
            (&kept.workspace, &kept.memo.realm(), &kept.memo.name)
                == (workspace, &realm, &memo.name)
        });
        match same {
            Some(kept) => {
                kept.memo = memo;
                kept.lines.extend(lines.iter().cloned());
            }
            None => {
                let (workspace, lines) = (workspace.clone(), lines.to_vec());
                self.memos.push(KeptMemo { id, workspace, memo, lines });
            }
        }
    }

    fn free_memo_name(&self, workspace: &WorkspaceId, realm: &Realm, memo: &Memo) -> String {
        free_name(&memo.name, |name| {
            self.memos.iter().any(|kept| {
                kept.workspace == *workspace
                    && kept.memo.realm() == *realm
                    && kept.memo.name == name
                    && kept.memo.created.as_millisecond() != memo.created.as_millisecond()
            })
        })
    }

    /// A line was edited or deleted.
    pub(super) fn forget_memos(&mut self, workspace: &WorkspaceId, line: &LineId) -> Vec<MemoryId> {
        let gone = self.memos.extract_if(.., |kept| {
            kept.workspace == *workspace
                && kept.memo.channel == line.0
                && kept.lines.contains(&line.1)
        });
        gone.map(|kept| kept.id).collect()
    }

    /// A public channel is public no more: its memos are its own.
    pub(super) fn withdraw_memos(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        now: Timestamp,
    ) {
        for place in 0..self.memos.len() {
            let kept = &self.memos[place];
            let is_public = kept.memo.realm() == Realm::Workspace;
            if kept.workspace == *workspace && kept.memo.channel == *channel && is_public {
                let own = Realm::Channel(channel.clone());
                let name = self.free_memo_name(workspace, &own, &self.memos[place].memo);
                let memo = &mut self.memos[place].memo;
                *memo =
                    Memo { name, visibility: Visibility::Private, updated: now, ..memo.clone() };
            }
        }
    }

    /// Adds the memos that may be seen from the context's channel.
    pub(super) fn recall_memos(&self, context: &mut Context) {
        let (workspace, channel) = (&context.conversation.workspace, &context.conversation.channel);
        let mut memos: Vec<(MemoryId, Memo)> = self.seen_from(workspace, channel).collect();
        memos.sort_by_key(|(_, memo)| (Reverse((memo.priority, memo.updated)), memo.name.clone()));
        let important = memos.iter().filter(|(_, memo)| memo.priority >= IMPORTANT);
        let important: Vec<(MemoryId, Memo)> = important.take(IMPORTANT_MEMOS).cloned().collect();
        memos.sort_by_key(|(_, memo)| (Reverse(memo.updated), memo.name.clone()));
        memos.retain(|memo| !important.contains(memo));
        memos.truncate(RECENT_MEMOS);
        context.memories.extend(important.iter().chain(&memos).map(|(id, _)| *id));
        context.memories.sort();
        context.important_memos = important.into_iter().map(|(_, memo)| memo).collect();
        context.recent_memos = memos.into_iter().map(|(_, memo)| memo).collect();
    }
}
