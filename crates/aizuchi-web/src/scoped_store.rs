//! The store as a visitor reads it who is limited to places, and the orders that they may give there.

use std::sync::Arc;

use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::{ChannelId, ConversationId, Message, MessageId, Visibility, WorkspaceId};
use aizuchi_model::context::{Context, ContextWindow};
use aizuchi_model::flow::memory_job::MemoryJob;
use aizuchi_model::flow::planned_call::{PlannedCall, ReservationResult, UnclaimedCall};
use aizuchi_model::flow::{Claim, Outcome};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{Lineage, Memory, MemoryId, MessageRef};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_model::standing_order::DraftTarget;
use aizuchi_store::order::{Order, OrdersInForce};
use aizuchi_store::order_journal::ChangedChannel;
use aizuchi_store::{CompletionReceipt, HearReceipt, InboxEntry, Store, StoreError};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

pub struct ScopedStore {
    pub inner: Arc<dyn Store>,
    pub scope: AccessScope,
}

/// Whether an order stays within a scope. One whose record names no channel concerns the whole workspace, unless its
/// request has found what it names in the scope.
pub fn allows(scope: &AccessScope, order: &Order) -> bool {
    let (order, _) = order.unsigned();
    let workspace = order.workspace();
    if let Order::InChannels { orders, record, .. } = order {
        let is_within = |it: &ChangedChannel| scope.includes(workspace, Some(&it.channel));
        return orders.iter().all(|order| allows(scope, order))
            && record.changed.iter().all(is_within);
    }
    let is_found = matches!(
        order,
        Order::DraftStandingOrder { target: DraftTarget::Change(_), .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::DropDeadLetter { .. }
            | Order::RetryDeadLetter { .. }
            | Order::MarkDecision { .. }
            | Order::DecideProposal { .. }
            | Order::AnswerTrust { .. }
            | Order::TakeConsentStep { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. }
            | Order::NotePrivateRead(_)
    );
    let channel = order.to_record().and_then(|record| record.channel);
    scope.includes(workspace, channel.as_ref()) || is_found && scope.touches(workspace)
}

/// Declares a store: first the methods that are written out, then those that only the message flow uses.
macro_rules! limited {
    (
        { $($written:tt)* }
        $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*
    ) => {
        #[async_trait]
        impl Store for ScopedStore {
            $($written)*
            $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                Err(StoreError::unkept())
            })*
        }
    };
}

limited! {
    {
        fn revisions(&self) -> watch::Receiver<u64> {
            self.inner.revisions()
        }

        fn erasures(&self) -> watch::Receiver<u64> {
            self.inner.erasures()
        }

        async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
            self.inner.next_ready().await
        }

        async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
            if self.scope.includes(&query.workspace, query.channel.as_ref()) {
                return self.inner.recall(query).await;
            }
            let mut found = Vec::new();
            let here = self.scope.places().filter(|place| place.workspace == query.workspace);
            for place in here.filter(|_| query.channel.is_none()) {
                let query = RecallQuery { channel: place.channel.clone(), ..query.clone() };
                found.extend(self.inner.recall(&query).await?);
            }
            found.sort_by(|one, other| other.score.total_cmp(&one.score));
            found.truncate(query.limit);
            Ok(found)
        }

        async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError> {
            let mut memories = self.inner.memories(workspace).await?;
            memories.retain(|memory| self.scope.includes(workspace, memory.key.channel()));
            Ok(memories)
        }

        async fn memos(
            &self,
            workspace: &WorkspaceId,
            channel: &ChannelId,
        ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
            let mut memos = self.inner.memos(workspace, channel).await?;
            memos.retain(|(_, memo)| self.scope.includes(workspace, Some(&memo.channel)));
            Ok(memos)
        }

        async fn source_messages(
            &self,
            workspace: &WorkspaceId,
            messages: &[MessageRef],
        ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
            let mut messages = messages.to_vec();
            messages.retain(|MessageRef(channel, _)| self.scope.includes(workspace, Some(channel)));
            self.inner.source_messages(workspace, &messages).await
        }

        async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
            match allows(&self.scope, &order) {
                true => self.inner.order(order, now).await,
                false => Err(StoreError::unkept()),
            }
        }

        /// Mutes and settings of a whole workspace apply in each of its channels.
        async fn orders(&self, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError> {
            if !self.scope.touches(workspace) {
                return Ok(OrdersInForce::default());
            }
            let mut orders = self.inner.orders(workspace).await?;
            let has = |channel: Option<&ChannelId>| self.scope.includes(workspace, channel);
            if !has(None) {
                orders.opted_out.clear();
                orders.forgotten.clear();
            }
            orders.mutes.retain(|(channel, _)| channel.is_none() || has(channel.as_ref()));
            orders.modes.retain(|(channel, _)| has(Some(channel)));
            orders.standing.retain(|order| has(order.scope.channel()));
            orders.drafts.retain(|order| has(order.scope.channel()));
            orders.settings.retain(|it| it.scope.channel().is_none_or(|channel| has(Some(channel))));
            Ok(orders)
        }
    }
    hear(_hearing: InboxEntry) -> HearReceipt;
    claim(_now: Timestamp, _lease: SignedDuration, _most: usize) -> Vec<Claim>;
    reserve(_call: &PlannedCall, _now: Timestamp) -> ReservationResult;
    book(_call: &UnclaimedCall) -> ();
    complete(_claim: &Claim, _outcome: Outcome, _now: Timestamp) -> CompletionReceipt;
    has_changed_since(_of: &ConversationId, _revision: u64, _lineage: &Lineage) -> bool;
    context(_conversation: &ConversationId, _window: &ContextWindow) -> Context;
    has_heard(_of: &WorkspaceId, _in: &ChannelId, _it: &MessageId, _client_id: Option<&str>) -> bool;
    claim_memory_jobs(_now: Timestamp, _lease: SignedDuration, _most: usize) -> Vec<MemoryJob>;
    next_memory_job() -> Option<Timestamp>;
}
