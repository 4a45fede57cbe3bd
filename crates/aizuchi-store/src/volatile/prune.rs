//! Drops data far older than the newest messages, so that a replay of any length takes constant memory.

use std::collections::HashSet;

use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use jiff::{SignedDuration, Timestamp};

use crate::volatile::VolatileState;
use crate::volatile::records::OutboxRecord;

/// How long the ledger is kept: rate limits look back an hour, and unsolicited posts are known for a day.
const LOOKBACK: SignedDuration = SignedDuration::from_hours(24);
/// How long spending is kept: budgets look back a month.
const SPENDING_LOOKBACK: SignedDuration = SignedDuration::from_hours(31 * 24);

impl VolatileState {
    /// Drops a channel's older messages once there are twice as many as the minimum. Messages that are owed an answer,
    /// or still to be judged, are kept.
    pub(super) fn prune(&mut self, workspace: &WorkspaceId, channel: &ChannelId) {
        let Some(kept) = self.kept_messages else { return };
        let key = (workspace.clone(), channel.clone());
        let Some(positions) = self.channel_order.get_mut(&key) else { return };
        if positions.len() < 2 * kept.max(1) {
            return;
        }
        let dropped: Vec<_> = positions.drain(..positions.len() - kept).collect();
        let Some(newest) = dropped.last().map(|position| position.at) else { return };
        self.drop_search_index(workspace, channel);
        let threads: HashSet<_> = dropped.into_iter().map(|position| position.thread).collect();
        for thread in threads {
            let conversation =
                ConversationId { workspace: workspace.clone(), channel: channel.clone(), thread };
            self.prune_conversation(&conversation, newest);
        }
        self.prune_ledger(newest.checked_sub(LOOKBACK).unwrap_or(Timestamp::MIN));
    }

    fn prune_conversation(&mut self, conversation: &ConversationId, newest: Timestamp) {
        let Some(record) = self.conversations.get_mut(conversation) else { return };
        let is_pending = record.pending.step.is_some() || !record.pending.owed.is_empty();
        if is_pending && conversation.thread.is_some() {
            return;
        }
        let end = record.messages.partition_point(|message| message.message.at < newest);
        let open = record.pending.step.as_ref().map(|step| step.decision);
        let owed = |id: &MessageId| record.pending.owed.iter().any(|owed| owed.to == *id);
        let is_needed = record.messages[..end].iter().position(|message| {
            (open.is_some() && message.decision == open) || owed(&message.message.id)
        });
        let dropped: Vec<_> = record.messages.drain(..is_needed.unwrap_or(end)).collect();
        let last_post = record.unsolicited_posts.pop();
        record.unsolicited_posts.retain(|at| *at >= newest);
        record.unsolicited_posts.extend(last_post);
        let is_empty = record.messages.is_empty() && !is_pending;
        for message in dropped {
            let ConversationId { workspace, channel, .. } = conversation.clone();
            self.conversation_of.remove(&(workspace, channel, message.message.id.clone()));
        }
        if is_empty {
            self.conversations.remove(conversation);
            if let Some(thread) = &conversation.thread {
                self.threads.remove(thread);
            }
        }
    }

    fn prune_ledger(&mut self, before: Timestamp) {
        self.decisions.retain(|_, decision| decision.closed.is_none_or(|closed| closed >= before));
        let is_there = |id: &DecisionId| self.decisions.contains_key(id);
        self.exchanges.retain(|id, _| is_there(id));
        self.judged_revision.retain(|id, _| is_there(id));
        self.unsolicited_posts.retain(|post| post.at >= before);
        for of_asker in self.once_owed.values_mut() {
            of_asker.retain(|_, once_owed| once_owed.closed.is_none_or(|at| at >= before));
        }
        self.once_owed.retain(|_, of_asker| !of_asker.is_empty());
        // A posted item is stored as a message by now.
        let is_past = |record: &OutboxRecord| {
            record.is_posted && record.item.dispatched_at.is_some_and(|at| at < before)
        };
        self.outbox.retain(|_, record| !is_past(record));
        let oldest = before.checked_sub(SPENDING_LOOKBACK).unwrap_or(Timestamp::MIN);
        for buckets in self.spending.values_mut() {
            buckets.retain(|bucket, _| bucket.begin_ms() >= oldest.as_millisecond());
        }
        self.judge_calls.retain(|_, calls| calls.last().is_some_and(|at| *at >= before));
    }
}
