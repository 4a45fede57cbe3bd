//! The journal of orders.

use std::sync::Arc;

use aizuchi_model::chat::{UserId, WorkspaceId};
use aizuchi_model::memory::asker::signer;
use jiff::Timestamp;

use crate::order::Order;
use crate::order_journal::{GivenOrder, ORDER_RETENTION, OrderJournalQuery, OrderRecord};
use crate::volatile::VolatileState;
use crate::volatile::records::truncate_to_milliseconds;
use crate::{FORGOTTEN_USER_ID, StoreError};

impl VolatileState {
    /// Carries out an order and records it. A refused order is not recorded.
    pub(super) fn apply_signed_order(
        &mut self,
        order: Order,
        by: Arc<str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (workspace, record) = (order.workspace().clone(), order.to_record());
        let letter = match order {
            Order::DropDeadLetter { id, .. } | Order::RetryDeadLetter { id, .. } => {
                self.dead_letters.iter().find(|letter| letter.id == id).cloned()
            }
            _ => None,
        };
        let consent = match &order {
            Order::TakeConsentStep { id, .. } => Some(self.find_consent(&workspace, *id)?.clone()),
            _ => None,
        };
        self.apply_order(order, now)?;
        if let Some(record) = record {
            let record = match consent {
                Some(consent) => record.of_consent(&consent),
                None => record,
            };
            let record = match letter {
                Some(letter) => record.of_letter(&letter),
                None => record,
            };
            self.record_order(workspace, record, by, now);
        }
        Ok(())
    }

    /// Records an order, unless it is a chat command that is recorded already. Drops orders past their retention.
    pub(super) fn record_order(
        &mut self,
        workspace: WorkspaceId,
        record: OrderRecord,
        by: Arc<str>,
        now: Timestamp,
    ) {
        let is_same = |given: &GivenOrder| {
            given.workspace == workspace && given.by == by && given.record.kind == record.kind
        };
        if signer(&by).is_some() && self.given_orders.iter().any(is_same) {
            return;
        }
        let number = self.given_orders.last().map_or(1, |last| last.number + 1);
        let until = record.until.map(truncate_to_milliseconds);
        let (record, at) = (OrderRecord { until, ..record }, truncate_to_milliseconds(now));
        self.given_orders.push(GivenOrder { number, workspace, at, by, record });
        self.drop_old_orders(now);
    }

    pub(super) fn drop_old_orders(&mut self, now: Timestamp) {
        let before = now.checked_sub(ORDER_RETENTION).unwrap_or(Timestamp::MIN);
        self.given_orders.retain(|given| given.at >= before);
    }

    /// Keeps the user's orders and decisions, and the orders about them, without their name.
    pub(super) fn forget_orders_of(&mut self, workspace: &WorkspaceId, user: &UserId) {
        for given in self.given_orders.iter_mut().filter(|given| given.workspace == *workspace) {
            if signer(&given.by) == Some(user.as_str()) {
                given.by = FORGOTTEN_USER_ID.into();
            }
            if given.record.user.as_ref() == Some(user) {
                given.record.user = Some(UserId::new(FORGOTTEN_USER_ID));
            }
        }
        let settings = self.orders.get_mut(workspace).map(|orders| &mut orders.settings);
        for setting in settings.into_iter().flatten() {
            if signer(&setting.by) == Some(user.as_str()) {
                setting.by = FORGOTTEN_USER_ID.into();
            }
        }
        self.forget_consents_of(workspace, user);
        self.forget_trust_answers_of(workspace, user);
        let proposals = self.proposals.values_mut().map(|record| &mut record.proposal);
        for proposal in proposals.filter(|it| it.conversation.workspace == *workspace) {
            let Some((by, _)) = &mut proposal.decided else { continue };
            if signer(by) == Some(user.as_str()) {
                *by = FORGOTTEN_USER_ID.into();
                if let Some(mark) = self.marks.get_mut(&proposal.decision)
                    && signer(&mark.by) == Some(user.as_str())
                {
                    mark.by = FORGOTTEN_USER_ID.into();
                }
            }
        }
    }

    /// The newest orders before a given one, newest first.
    pub(super) fn order_journal(
        &self,
        OrderJournalQuery { workspace, before, limit }: &OrderJournalQuery,
    ) -> Vec<GivenOrder> {
        let is_wanted = |given: &&GivenOrder| {
            workspace.as_ref().is_none_or(|wanted| *wanted == given.workspace)
                && before.is_none_or(|before| given.number < before)
        };
        self.given_orders.iter().rev().filter(is_wanted).take(*limit).cloned().collect()
    }
}
