//! Reserves the maximum cost of model calls, in memory.

use aizuchi_model::chat::ChannelId;
use aizuchi_model::context::BudgetUsage;
use aizuchi_model::flow::planned_call::{
    CallCost, CallUsage, JUDGE_CALL_WINDOW, PlannedCall, ReservationResult, UnclaimedCall,
};
use jiff::Timestamp;

use crate::volatile::VolatileState;
use crate::volatile::spending::SpendingSum;

impl VolatileState {
    pub(super) fn reserve(&mut self, call: &PlannedCall, now: Timestamp) -> ReservationResult {
        self.book_lapsed(call.owner.token, now);
        let admission = call.admission(&self.call_usage(call, now));
        if admission != ReservationResult::Admitted {
            return admission;
        }
        self.reservations.insert(call.owner.token, call.clone());
        if let Some(author) = call.counted_author() {
            let key = (call.owner.workspace.clone(), author.clone());
            let calls = self.judge_calls.entry(key).or_default();
            calls.retain(|at| *at > now - JUDGE_CALL_WINDOW);
            calls.push(now);
        }
        admission
    }

    /// Records the cost of calls without a claim, and releases the reservation for them.
    pub(super) fn book(&mut self, call: &UnclaimedCall) {
        if let Some(token) = call.reservation {
            self.reservations.remove(&token);
        }
        let micros = call.price.map(|price| price.micros);
        let used = SpendingSum::from_call(call.cost().tokens, micros, false);
        let channel = call.channel.clone().unwrap_or_else(|| ChannelId::new(""));
        self.record_spending(&call.workspace, &channel, call.at, used);
    }

    /// Records the lapsed reservations of other claims as usage.
    fn book_lapsed(&mut self, token: i64, now: Timestamp) {
        let lapsed = self.reservations.values();
        let lapsed = lapsed.filter(|other| other.owner.token != token && other.until <= now);
        let lapsed: Vec<PlannedCall> = lapsed.cloned().collect();
        for call in lapsed {
            self.reservations.remove(&call.owner.token);
            let CallCost { tokens, micros } = call.reserved();
            let micros = (micros > 0).then_some(micros);
            let used = SpendingSum::from_call(tokens, micros, call.owner.is_unsolicited);
            let channel = ChannelId::new(call.owner.channel_name());
            self.record_spending(&call.owner.workspace, &channel, call.until, used);
        }
    }

    fn call_usage(&self, call: &PlannedCall, now: Timestamp) -> CallUsage {
        let owner = &call.owner;
        let workspace = &owner.workspace;
        let others = || {
            self.reservations.values().filter(|other| {
                other.owner.workspace == *workspace && other.owner.token != owner.token
            })
        };
        let decision = owner.decision.and_then(|decision| self.decisions.get(&decision));
        let judge_calls = owner.sole_author.as_ref().and_then(|author| {
            let calls = self.judge_calls.get(&(workspace.clone(), author.clone()))?;
            Some(calls.iter().filter(|at| **at > now - JUDGE_CALL_WINDOW).count() as u64)
        });
        CallUsage {
            workspace: self.recent_spent(workspace, "", now),
            channel: self.recent_spent(workspace, owner.channel_name(), now),
            workspace_reserved: total_reserved(others()),
            channel_reserved: total_reserved(
                others().filter(|other| other.owner.channel == owner.channel),
            ),
            decision_calls: decision.map_or(0, |decision| {
                decision.attempts.iter().filter(|attempt| attempt.is_model_call()).count() as u64
            }),
            author_judge_calls: judge_calls.unwrap_or(0),
        }
    }
}

fn total_reserved<'c>(calls: impl Iterator<Item = &'c PlannedCall>) -> BudgetUsage {
    calls.fold(BudgetUsage::default(), |total, call| {
        let reserved = call.reserved();
        let is_unsolicited = call.owner.is_unsolicited;
        total.plus(&BudgetUsage::from_call(reserved.tokens, reserved.micros, is_unsolicited))
    })
}
