//! Carries out users' orders in memory, and records them for the answers to commands.

use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::memory::asker::signer;
use jiff::Timestamp;

use crate::StoreError;
use crate::order::{Order, truncate_to_milliseconds};
use crate::order_journal::{GivenOrder, OrderJournalQuery, OrderRecord};
use crate::volatile::VolatileState;

impl VolatileState {
    pub(super) fn apply_order(&mut self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        if let Order::Signed { order, by } = order {
            let (workspace, record) = (order.workspace().clone(), order.to_record());
            self.apply_order(*order, now)?;
            record.into_iter().for_each(|it| self.record_order(workspace.clone(), it, &by, now));
            return Ok(());
        }
        if let Order::InChannels { orders, .. } = order {
            return orders.into_iter().try_for_each(|order| self.apply_order(order, now));
        }
        let workspace = order.workspace().clone();
        let orders = self.orders.entry(workspace.clone()).or_default();
        match &order {
            Order::OptOut { user, .. } => {
                orders.opted_out.retain(|other| other != user);
                orders.opted_out.push(user.clone());
            }
            Order::OptIn { user, .. } => orders.opted_out.retain(|other| other != user),
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::ChangeSetting { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::NoteStop { .. } => {}
            Order::Forget { .. }
            | Order::ForgetUser { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::GiveStandingOrder { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
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
            | Order::InChannels { .. }
            | Order::Note { .. }
            | Order::MakePlan(_)
            | Order::ChangePlan { .. }
            | Order::Signed { .. } => return Err(StoreError::unkept()),
        }
        orders.apply(&order, now);
        orders.opted_out.sort();
        self.revision += 1;
        if let Order::OptOut { user, .. } | Order::Redact { user, .. } = &order {
            self.redact_user(&workspace, user, now);
        }
        if let Order::Reset { conversation, until } = &order {
            self.reset_conversation(conversation, *until, now);
        }
        Ok(())
    }

    /// Records an order, unless it is a chat command that is recorded already.
    fn record_order(
        &mut self,
        workspace: WorkspaceId,
        record: OrderRecord,
        by: &Arc<str>,
        now: Timestamp,
    ) {
        let is_same = |given: &GivenOrder| {
            given.workspace == workspace && given.by == *by && given.record.kind == record.kind
        };
        if signer(by).is_some() && self.given_orders.iter().any(is_same) {
            return;
        }
        let number = self.given_orders.last().map_or(1, |last| last.number + 1);
        let until = record.until.map(truncate_to_milliseconds);
        let (record, at) = (OrderRecord { until, ..record }, truncate_to_milliseconds(now));
        self.given_orders.push(GivenOrder { number, workspace, at, by: by.clone(), record });
    }

    /// The newest orders before a given one, newest first.
    pub(super) fn order_journal(
        &self,
        OrderJournalQuery { workspace, kind, before, limit }: &OrderJournalQuery,
    ) -> Vec<GivenOrder> {
        let is_wanted = |given: &&GivenOrder| {
            workspace.as_ref().is_none_or(|wanted| *wanted == given.workspace)
                && kind.is_none_or(|kind| given.record.kind == kind)
                && before.is_none_or(|before| given.number < before)
        };
        self.given_orders.iter().rev().filter(is_wanted).take(*limit).cloned().collect()
    }
}
