//! Drafts of standing orders.

use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::standing_order::{
    DraftTarget, MAX_PER_SCOPE, StandingOrder, StandingOrderScope, StandingOrderText,
};
use jiff::Timestamp;

use crate::StoreError;
use crate::refusal_reason::RefusalReason;
use crate::volatile::VolatileState;
use crate::volatile::records::truncate_to_milliseconds;

impl VolatileState {
    /// The drafts, without those that were made in private for a channel that is public now.
    pub(super) fn shown_standing_order_drafts(
        &self,
        workspace: &WorkspaceId,
    ) -> Vec<StandingOrder> {
        let drafts = self.standing_order_drafts(workspace);
        drafts.filter(|draft| self.shows_order(workspace, draft)).cloned().collect()
    }

    fn standing_order_drafts(
        &self,
        workspace: &WorkspaceId,
    ) -> impl Iterator<Item = &StandingOrder> {
        let orders = self.standing_orders.get(workspace).into_iter().flatten();
        orders.filter(|order| order.is_pending())
    }

    /// Drafts an order. Idempotent for a chat command that is carried out again.
    pub(super) fn draft_standing_order(
        &mut self,
        (workspace, target): (WorkspaceId, DraftTarget),
        text: StandingOrderText,
        by: Arc<str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if self.was_given(&workspace, &by) {
            return Ok(());
        }
        let (number, version, scope) = match target {
            DraftTarget::New(scope) => {
                self.check_place(&workspace, &scope)?;
                let last = self.standing_order_numbers.entry(workspace.clone()).or_default();
                *last += 1;
                (*last, 1, scope)
            }
            DraftTarget::Change(number) => {
                let is_changed = |order: &&StandingOrder| order.number == number;
                let known = self.standing_orders_in_force(&workspace).find(is_changed).cloned();
                let known = known.ok_or(StoreError::Refused(RefusalReason::NoStandingOrder))?;
                self.discard_draft(&workspace, number);
                (number, known.version + 1, known.scope)
            }
        };
        let given = truncate_to_milliseconds(now);
        let visibility = self.visibility_of(&workspace, &scope);
        let (ended, is_draft) = (None, true);
        let draft =
            StandingOrder { number, version, scope, text, visibility, by, given, ended, is_draft };
        self.put_standing_order(workspace, draft);
        Ok(())
    }

    /// Puts a draft in force, replacing the order that it changes.
    pub(super) fn keep_standing_order(
        &mut self,
        workspace: &WorkspaceId,
        number: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let draft =
            self.standing_order_drafts(workspace).find(|draft| draft.number == number).cloned();
        let draft = draft.ok_or(StoreError::Refused(RefusalReason::NoOrderDraft))?;
        if draft.version == 1 && self.count_in_force(workspace, &draft.scope) >= MAX_PER_SCOPE {
            return Err(StoreError::Refused(RefusalReason::TooManyStandingOrders));
        }
        if draft.version > 1 {
            // The author of the order that it changes may be forgotten by now, and the order with them.
            self.end_standing_order(workspace, number, now).ok();
        }
        self.discard_draft(workspace, number);
        let given = truncate_to_milliseconds(now);
        let kept = StandingOrder { is_draft: false, given, ..draft };
        self.put_standing_order(workspace.clone(), kept);
        Ok(())
    }

    /// Discards a draft.
    pub(super) fn drop_order_draft(
        &mut self,
        workspace: &WorkspaceId,
        number: i64,
    ) -> Result<(), StoreError> {
        if !self.discard_draft(workspace, number) {
            return Err(StoreError::Refused(RefusalReason::NoOrderDraft));
        }
        self.revision += 1;
        Ok(())
    }

    /// Checks that neither the orders of a scope nor the drafts for it exceed their maximum.
    fn check_place(
        &self,
        workspace: &WorkspaceId,
        scope: &StandingOrderScope,
    ) -> Result<(), StoreError> {
        let drafts =
            self.standing_order_drafts(workspace).filter(|draft| draft.scope == *scope).count();
        match drafts.max(self.count_in_force(workspace, scope)) >= MAX_PER_SCOPE {
            true => Err(StoreError::Refused(RefusalReason::TooManyStandingOrders)),
            false => Ok(()),
        }
    }

    fn count_in_force(&self, workspace: &WorkspaceId, scope: &StandingOrderScope) -> usize {
        let in_force = self.standing_orders_in_force(workspace);
        in_force.filter(|order| order.scope == *scope).count()
    }
}
