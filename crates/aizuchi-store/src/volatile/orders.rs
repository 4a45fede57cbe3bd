//! Carries out users' orders in memory, and records reads of private channels.

use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::rules::setting_override::{self, OrderedChange};
use jiff::Timestamp;

use crate::order::{Mute, Order};
use crate::order_journal::{OrderKind, OrderRecord};
use crate::private_reads::{PrivateRead, PrivateReads};
use crate::refusal_reason::RefusalReason;
use crate::volatile::records::truncate_to_milliseconds;
use crate::volatile::{VolatileState, refuse_memories, refuse_memos};
use crate::{FORGETTING_INTERVAL, FORGOTTEN_USER_ID, LOOK, PRIVATE_READ_RETENTION, StoreError};

impl VolatileState {
    pub(super) fn apply_order(&mut self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        let setting = order.setting_change(now);
        match order {
            Order::Signed { order, by } => return self.apply_signed_order(*order, by, now),
            Order::ImportMemory { .. } | Order::ChangeMemory { .. } => {
                return Err(refuse_memories());
            }
            Order::ImportMemo { .. } | Order::ChangeMemo { .. } | Order::RevertMemo { .. } => {
                return Err(refuse_memos());
            }
            Order::ForgetMoments { workspace } => {
                self.forget_moments(&workspace);
                return Ok(());
            }
            Order::DropDeadLetter { workspace, id } => {
                return self.drop_dead_letter(&workspace, id);
            }
            Order::RetryDeadLetter { workspace, id } => {
                return self.retry_dead_letter(&workspace, id, now);
            }
            Order::GiveStandingOrder { workspace, scope, text, by } => {
                return self.give_standing_order((workspace, scope), text, by, now);
            }
            Order::ChangeStandingOrder { workspace, number, text, by } => {
                return self.change_standing_order((workspace, number), text, by, now);
            }
            Order::DropStandingOrder { workspace, number } => {
                return self.drop_standing_order(&workspace, number, now);
            }
            Order::DraftStandingOrder { workspace, target, text, by } => {
                return self.draft_standing_order((workspace, target), text, by, now);
            }
            Order::KeepStandingOrder { workspace, number } => {
                return self.keep_standing_order(&workspace, number, now);
            }
            Order::DropOrderDraft { workspace, number } => {
                return self.drop_order_draft(&workspace, number);
            }
            Order::NotePrivateRead(read) => {
                self.note_private_read(read, truncate_to_milliseconds(now));
                return Ok(());
            }
            Order::MarkDecision { id, mark, by, .. } => {
                return self.mark_decision(id, mark, by, truncate_to_milliseconds(now));
            }
            Order::DecideProposal { workspace, id, choice, by } => {
                let now = truncate_to_milliseconds(now);
                return self.decide_proposal(&workspace, id, &choice, by, now);
            }
            Order::AnswerTrust { workspace, channel, id, least, choice, by } => {
                let now = truncate_to_milliseconds(now);
                let place = (workspace.clone(), channel, id);
                self.answer_trust(place, least, choice, by, now)?;
                if let Some(change) = setting {
                    self.change_setting(workspace, change);
                }
                return Ok(());
            }
            Order::TakeConsentStep { workspace, id, step } => {
                let now = truncate_to_milliseconds(now);
                return self.take_consent_step(&workspace, id, &step, now);
            }
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::ChangeSetting { .. }
            | Order::OptOut { .. }
            | Order::OptIn { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::NoteStop { .. }
            | Order::NoteModelChoice { .. } => self.revision += 1,
        }
        if let Order::Forget { workspace, user, asked } = &order {
            let begun = self.forgotten_at.get(&(workspace.clone(), user.clone()));
            if begun.is_some_and(|begun| now.duration_since(*begun) < FORGETTING_INTERVAL) {
                return Ok(());
            }
            self.forgotten_at.insert((workspace.clone(), user.clone()), now);
            let orders = self.orders.entry(workspace.clone()).or_default();
            orders.forgotten.retain(|(other, _)| other != user);
            orders.forgotten.push((user.clone(), truncate_to_milliseconds(*asked)));
            self.judge_calls.remove(&(workspace.clone(), user.clone()));
            self.erase_user_of_web_calls(workspace, user);
            self.forget_user(workspace, user, now);
            self.forget_orders_of(workspace, user);
            self.withdraw_standing_orders_of(workspace, user);
            let record = OrderRecord::new(OrderKind::Forget);
            self.record_order(workspace.clone(), record, FORGOTTEN_USER_ID.into(), now);
        }
        if let Order::OptOut { workspace, user } | Order::Redact { workspace, user } = &order {
            self.redact_user(workspace, user, now);
            self.withdraw_standing_orders_of(workspace, user);
        }
        if let Order::Reset { conversation, until } = &order {
            self.reset_conversation(conversation, *until, now);
        }
        if let Order::Mode { workspace, channel, mode } = &order {
            self.withdraw_trust((workspace, channel), *mode, truncate_to_milliseconds(now));
        }
        if let Some(change) = setting {
            self.change_setting(order.workspace().clone(), change);
        }
        let orders = self.orders.entry(order.workspace().clone()).or_default();
        match order {
            Order::Mute { channel, until, by, .. } => {
                orders.mutes.retain(|(muted, mute)| *muted != channel || mute.by != by);
                orders.mutes.push((channel, Mute { until: truncate_to_milliseconds(until), by }));
            }
            Order::Unmute { channel, by, .. } => {
                orders.mutes.retain(|(muted, mute)| *muted != channel || mute.by > by);
            }
            Order::Mode { channel, mode, .. } => {
                orders.modes.retain(|(ordered, _)| *ordered != channel);
                orders.modes.extend(mode.map(|mode| (channel, mode)));
            }
            Order::OptOut { user, .. } => {
                orders.opted_out.retain(|other| *other != user);
                orders.opted_out.push(user);
            }
            Order::OptIn { user, .. } => orders.opted_out.retain(|other| *other != user),
            Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::GiveStandingOrder { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::ChangeSetting { .. }
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
            | Order::NoteStop { .. }
            | Order::NoteModelChoice { .. }
            | Order::Signed { .. } => {}
        }
        orders.mutes.sort_by(|one, other| (&one.0, other.1.by).cmp(&(&other.0, one.1.by)));
        orders.modes.sort_by(|(one, _), (other, _)| one.cmp(other));
        orders.opted_out.sort();
        Ok(())
    }

    /// Marks a closed decision, or removes its mark.
    fn mark_decision(
        &mut self,
        id: DecisionId,
        mark: Option<Mark>,
        by: Arc<str>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if self.decisions.get(&id).is_none_or(|decision| decision.closed.is_none()) {
            return Err(StoreError::Refused(RefusalReason::NotDecided));
        }
        match mark {
            Some(mark) => {
                drop(self.marks.insert(id, DecisionMark { decision: id, mark, by, at }));
            }
            None => drop(self.marks.remove(&id)),
        }
        self.revision += 1;
        Ok(())
    }

    pub(super) fn drop_old_private_reads(&mut self, now: Timestamp) {
        let before = now.checked_sub(PRIVATE_READ_RETENTION).unwrap_or(Timestamp::MIN);
        self.private_reads.retain(|reads| reads.at >= before);
    }

    /// Counts a read in its hour. Drops reads past their retention.
    fn note_private_read(&mut self, read: PrivateRead, now: Timestamp) {
        const HOUR_MS: i64 = 3_600_000;
        self.drop_old_private_reads(now);
        let hour = |at: Timestamp| at.as_millisecond().div_euclid(HOUR_MS);
        let mut known = self.private_reads.iter_mut();
        match known.find(|reads| reads.read == read && hour(reads.at) == hour(now)) {
            Some(reads) => {
                reads.count += u64::from(now.duration_since(reads.at) >= LOOK);
                reads.at = now;
            }
            None => self.private_reads.push(PrivateReads { read, at: now, count: 1 }),
        }
    }

    /// Changes the settings that users ordered in a workspace.
    fn change_setting(&mut self, workspace: WorkspaceId, change: OrderedChange) {
        let orders = self.orders.entry(workspace).or_default();
        let known = std::mem::take(&mut orders.settings);
        let at = truncate_to_milliseconds(change.at);
        orders.settings = setting_override::changed(known, OrderedChange { at, ..change });
    }
}
