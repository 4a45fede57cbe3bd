//! Reserves what model calls may cost, in memory.

use jiff::{SignedDuration, Timestamp};

use crate::context::BudgetUsage;
use crate::event::planned_call::{Admission, CallUsage, PlannedCall};
use crate::store::volatile::VolatileState;

impl VolatileState {
    pub(super) fn reserve(&mut self, call: &PlannedCall, now: Timestamp) -> Admission {
        let admission = call.admission(&self.call_usage(call, now));
        if admission != Admission::Admitted {
            return admission;
        }
        self.reservations.insert(call.owner.token, call.clone());
        if let Some(author) = call.counted_author() {
            let key = (call.owner.workspace.clone(), author.clone());
            let calls = self.judge_calls.entry(key).or_default();
            calls.retain(|at| *at > now - SignedDuration::from_hours(1));
            calls.push(now);
        }
        admission
    }

    fn call_usage(&self, call: &PlannedCall, now: Timestamp) -> CallUsage {
        let workspace = &call.owner.workspace;
        let channel = call.owner.channel.as_ref().map_or("", |channel| channel.as_str());
        let others = || {
            self.reservations.values().filter(|other| {
                other.owner.workspace == *workspace
                    && other.owner.token != call.owner.token
                    && other.until > now
            })
        };
        let decision = call.owner.decision.and_then(|decision| self.decisions.get(&decision));
        let judge_calls = call.owner.sole_author.as_ref().and_then(|author| {
            let calls = self.judge_calls.get(&(workspace.clone(), author.clone()))?;
            let hour_ago = now - SignedDuration::from_hours(1);
            Some(calls.iter().filter(|at| **at > hour_ago).count() as u64)
        });
        CallUsage {
            workspace: self.recent_spent(workspace, "", now),
            channel: self.recent_spent(workspace, channel, now),
            workspace_reserved: total_reserved(others()),
            channel_reserved: total_reserved(
                others().filter(|other| other.owner.channel == call.owner.channel),
            ),
            decision_calls: decision.map_or(0, |decision| decision.attempts.len() as u64),
            author_judge_calls: judge_calls.unwrap_or(0),
        }
    }
}

fn total_reserved<'c>(calls: impl Iterator<Item = &'c PlannedCall>) -> BudgetUsage {
    calls.fold(BudgetUsage::default(), |total, call| {
        let reserved = call.reserved();
        total.plus(&BudgetUsage::of_call(
            reserved.tokens,
            reserved.micros,
            call.owner.is_unsolicited,
        ))
    })
}
