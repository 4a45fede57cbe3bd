//! A model call before it is made: its maximum cost is reserved, or a limit forbids it. Every store applies these rules
//! inside a transaction, so calls that are planned concurrently count against each other.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::chat::{ChannelId, UserId, WorkspaceId};
use crate::context::BudgetUsage;
use crate::decision::limit::Limit;
use crate::decision::{DecisionId, Price, Usage};
use crate::rules::BudgetLimits;

/// How long a judge call about a user counts.
pub const JUDGE_CALL_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// What the model calls of a claim are for.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOwner {
    /// The claim's token. A claim has one reservation: that of its next call replaces that of its last.
    pub token: i64,
    pub workspace: WorkspaceId,
    /// `None` if the calls are for the whole workspace.
    pub channel: Option<ChannelId>,
    /// `None` for a memory.
    pub decision: Option<DecisionId>,
    /// Whether no user waits for the result.
    pub is_unsolicited: bool,
    /// The author of all messages that a judge is asked about, if there is only one.
    pub sole_author: Option<UserId>,
    /// When the messages that the calls are about were read. An author who is forgotten later is not counted.
    pub began: Timestamp,
    pub limits: CallLimits,
}

/// A model call that is about to be made for a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCall {
    pub owner: CallOwner,
    /// The number and cost of the calls that the claim has made. They are recorded with its outcome.
    pub calls_made: u64,
    pub spent: CallCost,
    /// The most that this call may cost.
    pub estimate: CallCost,
    /// When the claim will certainly have ended, however it ends. A reservation that still exists then is counted as
    /// spent: its process died during the call.
    pub until: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCost {
    pub tokens: u64,
    /// In millionths of the price table's currency.
    pub micros: u64,
}

/// The cost of calls that were made without a claim, at an operator's request: of one call, or of those of one order.
#[derive(Clone, Debug, PartialEq)]
pub struct UnclaimedCall {
    pub workspace: WorkspaceId,
    /// `None` if they were for the whole workspace.
    pub channel: Option<ChannelId>,
    pub model: Arc<str>,
    pub calls: u64,
    pub usage: Usage,
    /// `None` if the price of the model is unknown.
    pub price: Option<Price>,
    pub at: Timestamp,
    /// The token of the reservation that this replaces.
    pub reservation: Option<i64>,
}

impl UnclaimedCall {
    pub fn cost(&self) -> CallCost {
        CallCost {
            tokens: self.usage.input_tokens + self.usage.output_tokens,
            micros: self.price.map_or(0, |price| price.micros),
        }
    }
}

/// The limits of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallLimits {
    pub workspace: BudgetLimits,
    pub channel: BudgetLimits,
    /// The share of the limits that this call may use.
    pub share: f64,
    /// The share of the tokens that all unsolicited calls may use.
    pub unsolicited_share: f64,
    pub calls_per_decision: Option<u64>,
    pub judge_calls_per_user: Option<u64>,
}

/// The store's figures when a call is planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct CallUsage {
    pub workspace: BudgetUsage,
    pub channel: BudgetUsage,
    /// What the calls of other claims have reserved.
    pub workspace_reserved: BudgetUsage,
    pub channel_reserved: BudgetUsage,
    /// The number of calls recorded for the decision.
    pub decision_calls: u64,
    /// The number of judge calls about the decision's sole author within the last hour.
    pub author_judge_calls: u64,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationResult {
    /// Its cost is reserved.
    Admitted,
    /// Calls in flight may use up the rest of the budget. Once they have ended, the call may be admitted.
    Busy(Limit),
    Refused(Limit),
}

impl CallOwner {
    /// Returns the channel's id, or an empty string for the whole workspace.
    pub fn channel_name(&self) -> &str {
        self.channel.as_ref().map_or("", ChannelId::as_str)
    }
}

impl PlannedCall {
    /// Returns what the claim will have cost after this call.
    pub fn reserved(&self) -> CallCost {
        CallCost {
            tokens: self.spent.tokens + self.estimate.tokens,
            micros: self.spent.micros + self.estimate.micros,
        }
    }

    /// Returns the user whose judge calls this one counts among. The calls of one claim count once.
    pub fn counted_author(&self) -> Option<&UserId> {
        self.owner.sole_author.as_ref().filter(|_| self.calls_made == 0)
    }

    /// Decides whether the call may be made. A call is admitted while its limits are not reached, so the last one may
    /// exceed them, by at most its own cost.
    pub fn admission(&self, usage: &CallUsage) -> ReservationResult {
        let limits = &self.owner.limits;
        let has_reached = |used: u64, limit: Option<u64>| limit.is_some_and(|limit| used >= limit);
        // The calls of this claim are not recorded before its outcome, so they are added.
        if has_reached(usage.decision_calls + self.calls_made, limits.calls_per_decision) {
            return ReservationResult::Refused(Limit::CallsPerDecision);
        }
        if self.counted_author().is_some()
            && has_reached(usage.author_judge_calls, limits.judge_calls_per_user)
        {
            return ReservationResult::Refused(Limit::JudgeCallsPerPersonPerHour);
        }
        // Without reservations first: if what was spent reaches a limit already, waiting for other calls would not
        // help.
        let nothing = BudgetUsage::default();
        if let Some(limit) = self.reached_limit(usage, &nothing, &nothing) {
            return ReservationResult::Refused(limit);
        }
        let (workspace, channel) = (&usage.workspace_reserved, &usage.channel_reserved);
        match self.reached_limit(usage, workspace, channel) {
            Some(limit) => ReservationResult::Busy(limit),
            None => ReservationResult::Admitted,
        }
    }

    fn reached_limit(
        &self,
        usage: &CallUsage,
        workspace_reserved: &BudgetUsage,
        channel_reserved: &BudgetUsage,
    ) -> Option<Limit> {
        let limits = &self.owner.limits;
        let share = limits.share;
        let unsolicited_share = self.owner.is_unsolicited.then_some(limits.unsolicited_share);
        let reached = |booked: &BudgetUsage, reserved: &BudgetUsage, limits: &BudgetLimits| {
            let used = booked.plus(reserved).plus(&self.own_usage());
            used.reached_limit(limits, share, unsolicited_share)
        };
        reached(&usage.channel, channel_reserved, &limits.channel)
            .or_else(|| reached(&usage.workspace, workspace_reserved, &limits.workspace))
    }

    /// Returns what the claim's calls so far have used.
    fn own_usage(&self) -> BudgetUsage {
        let CallCost { tokens, micros } = self.spent;
        BudgetUsage::from_call(tokens, micros, self.owner.is_unsolicited)
    }
}
