//! Standing orders: those in force, and their earlier versions.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, UserId, Visibility, WorkspaceId};
use aizuchi_model::memory::asker::signer;
use aizuchi_model::standing_order::{
    DRAFT_LIFETIME, MAX_PER_SCOPE, StandingOrder, StandingOrderScope, StandingOrderText,
};
use jiff::Timestamp;

use crate::StoreError;
use crate::order_journal::ORDER_RETENTION;
use crate::refusal_reason::RefusalReason;
use crate::volatile::VolatileState;
use crate::volatile::ledger::forget_reasons;
use crate::volatile::records::truncate_to_milliseconds;

impl VolatileState {
    pub(super) fn standing_orders_in_force(
        &self,
        workspace: &WorkspaceId,
    ) -> impl Iterator<Item = &StandingOrder> {
        let orders = self.standing_orders.get(workspace).into_iter().flatten();
        orders.filter(|order| order.is_in_force())
    }

    pub(super) fn standing_orders_in(&self, conversation: &ConversationId) -> Vec<StandingOrder> {
        let orders = self.standing_orders_in_force(&conversation.workspace);
        let here = orders.filter(|order| order.scope.includes(conversation));
        here.filter(|order| self.shows_order(&conversation.workspace, order)).cloned().collect()
    }

    /// The orders in force, without those that were given in private for a channel that is public now.
    pub(super) fn shown_standing_orders(&self, workspace: &WorkspaceId) -> Vec<StandingOrder> {
        let orders = self.standing_orders_in_force(workspace);
        orders.filter(|order| self.shows_order(workspace, order)).cloned().collect()
    }

    pub(super) fn shows_order(&self, workspace: &WorkspaceId, order: &StandingOrder) -> bool {
        let now = self.visibility_of(workspace, &order.scope);
        order.visibility_in(now) == now
    }

    /// The visibility of an order that is given now with this scope.
    pub(super) fn visibility_of(
        &self,
        workspace: &WorkspaceId,
        scope: &StandingOrderScope,
    ) -> Visibility {
        let Some(channel) = scope.channel() else { return Visibility::Public };
        let known = self.channels.get(&(workspace.clone(), channel.clone()));
        known.map_or(Visibility::Private, |channel| channel.visibility)
    }

    /// Makes the standing orders of a channel that turned private private.
    pub(super) fn make_standing_orders_private(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) {
        let orders = self.standing_orders.get_mut(workspace).into_iter().flatten();
        let here = orders.filter(|order| order.scope.channel() == Some(channel));
        for order in here.filter(|order| order.visibility == Visibility::Public) {
            order.visibility = Visibility::Private;
        }
    }

    /// Gives an order. Idempotent for a chat command that is carried out again.
    pub(super) fn give_standing_order(
        &mut self,
        (workspace, scope): (WorkspaceId, StandingOrderScope),
        text: StandingOrderText,
        by: Arc<str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if self.was_given(&workspace, &by) {
            return Ok(());
        }
        let in_force = self.standing_orders_in_force(&workspace);
        if in_force.filter(|order| order.scope == scope).count() >= MAX_PER_SCOPE {
            return Err(StoreError::Refused(RefusalReason::TooManyStandingOrders));
        }
        let last = self.standing_order_numbers.entry(workspace.clone()).or_default();
        *last += 1;
        let number = *last;
        let given = truncate_to_milliseconds(now);
        let visibility = self.visibility_of(&workspace, &scope);
        let order = StandingOrder {
            number,
            version: 1,
            scope,
            text,
            visibility,
            by,
            given,
            ended: None,
            is_draft: false,
        };
        self.put_standing_order(workspace, order);
        Ok(())
    }

    /// Replaces an order with a new version.
    pub(super) fn change_standing_order(
        &mut self,
        (workspace, number): (WorkspaceId, i64),
        text: StandingOrderText,
        by: Arc<str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if self.was_given(&workspace, &by) {
            return Ok(());
        }
        let ended = self.end_standing_order(&workspace, number, now)?;
        self.discard_draft(&workspace, number);
        let (version, given) = (ended.version + 1, truncate_to_milliseconds(now));
        let visibility = self.visibility_of(&workspace, &ended.scope);
        let order = StandingOrder { version, text, visibility, by, given, ended: None, ..ended };
        self.put_standing_order(workspace, order);
        Ok(())
    }

    pub(super) fn drop_standing_order(
        &mut self,
        workspace: &WorkspaceId,
        number: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let ended = self.end_standing_order(workspace, number, now);
        if !self.discard_draft(workspace, number) {
            ended?;
        }
        self.revision += 1;
        Ok(())
    }

    /// Drops a user's orders in all versions, and the prompts that held them.
    pub(super) fn withdraw_standing_orders_of(&mut self, workspace: &WorkspaceId, user: &UserId) {
        let Some(orders) = self.standing_orders.get_mut(workspace) else { return };
        let is_theirs = |order: &mut StandingOrder| signer(&order.by) == Some(user.as_str());
        let theirs: HashSet<(i64, i64)> =
            orders.extract_if(.., is_theirs).map(|order| (order.number, order.version)).collect();
        let revision = self.revision;
        for (id, exchanges) in &mut self.exchanges {
            let decision = self.decisions.get_mut(id);
            let Some(decision) = decision.filter(|it| it.conversation.workspace == *workspace)
            else {
                continue;
            };
            for exchange in exchanges {
                let held = exchange.as_ref().is_some_and(|record| {
                    record.exchange.lineage.orders.iter().any(|order| theirs.contains(order))
                });
                if held {
                    *exchange = None;
                    forget_reasons(decision, revision);
                }
            }
        }
    }

    /// Whether an order with this number and version is stored.
    pub(super) fn has_standing_order(&self, workspace: &WorkspaceId, order: (i64, i64)) -> bool {
        let mut known = self.standing_orders.get(workspace).into_iter().flatten();
        known.any(|it| (it.number, it.version) == order)
    }

    /// Whether an order was given by this chat command.
    pub(super) fn was_given(&self, workspace: &WorkspaceId, by: &str) -> bool {
        let mut known = self.standing_orders.get(workspace).into_iter().flatten();
        signer(by).is_some() && known.any(|order| *order.by == *by)
    }

    /// Drops revoked orders past their retention, and lapsed drafts.
    pub(super) fn drop_old_standing_orders(&mut self, now: Timestamp) {
        let before = now.checked_sub(ORDER_RETENTION).unwrap_or(Timestamp::MIN);
        let lapsed = now.checked_sub(DRAFT_LIFETIME).unwrap_or(Timestamp::MIN);
        for orders in self.standing_orders.values_mut() {
            orders.retain(|order| order.ended.is_none_or(|ended| ended >= before));
            orders.retain(|order| !order.is_draft || order.given >= lapsed);
        }
    }

    pub(super) fn put_standing_order(&mut self, workspace: WorkspaceId, order: StandingOrder) {
        let orders = self.standing_orders.entry(workspace).or_default();
        orders.push(order);
        orders.sort_by_key(|order| (order.number, order.version));
        self.revision += 1;
    }

    /// Discards a draft. Returns whether it existed.
    pub(super) fn discard_draft(&mut self, workspace: &WorkspaceId, number: i64) -> bool {
        let Some(orders) = self.standing_orders.get_mut(workspace) else { return false };
        let count = orders.len();
        orders.retain(|order| order.number != number || !order.is_draft);
        orders.len() < count
    }

    /// Ends an order and returns its last version.
    pub(super) fn end_standing_order(
        &mut self,
        workspace: &WorkspaceId,
        number: i64,
        now: Timestamp,
    ) -> Result<StandingOrder, StoreError> {
        let orders = self.standing_orders.get_mut(workspace).into_iter().flatten();
        let mut in_force = orders.filter(|order| order.is_in_force());
        let Some(order) = in_force.find(|order| order.number == number) else {
            return Err(StoreError::Refused(RefusalReason::NoStandingOrder));
        };
        let known = order.clone();
        order.ended = Some(truncate_to_milliseconds(now));
        Ok(known)
    }
}
