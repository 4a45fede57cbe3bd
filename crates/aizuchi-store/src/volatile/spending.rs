//! The cost of model calls, in memory: for their channel and its workspace, by hour and by day.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::context::BudgetUsage;
use jiff::Timestamp;

use crate::Spending;
use crate::volatile::VolatileState;

const HOUR_MS: i64 = 3_600_000;

const DAY_MS: i64 = 24 * HOUR_MS;

/// A whole hour or day, as in the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SpendingBucket {
    Hour(i64),
    Day(i64),
}

impl SpendingBucket {
    /// When it begins, in milliseconds.
    pub(super) fn begin_ms(self) -> i64 {
        match self {
            SpendingBucket::Hour(begin) | SpendingBucket::Day(begin) => begin,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpendingSum {
    tokens: u64,
    unsolicited_tokens: u64,
    /// The tokens whose price is unknown.
    unpriced_tokens: u64,
    micros: u64,
}

impl SpendingSum {
    /// Converts the usage of one call. `micros` is `None` if the price of its model is unknown.
    pub(super) fn from_call(tokens: u64, micros: Option<u64>, is_unsolicited: bool) -> Self {
        Self {
            tokens,
            unsolicited_tokens: if is_unsolicited { tokens } else { 0 },
            unpriced_tokens: if micros.is_none() { tokens } else { 0 },
            micros: micros.unwrap_or(0),
        }
    }

    fn add(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.unsolicited_tokens += other.unsolicited_tokens;
        self.unpriced_tokens += other.unpriced_tokens;
        self.micros += other.micros;
    }
}

impl VolatileState {
    pub(super) fn recent_spent(
        &self,
        workspace: &WorkspaceId,
        channel: &str,
        now: Timestamp,
    ) -> BudgetUsage {
        let buckets = self.spending.get(&(workspace.clone(), ChannelId::new(channel)));
        buckets.map_or(BudgetUsage::default(), |buckets| recent_spending(None, buckets, now).spent)
    }

    pub(super) fn spending(&self, workspace: &WorkspaceId, now: Timestamp) -> Vec<Spending> {
        let in_workspace = self.spending.iter().filter(|((other, _), _)| other == workspace);
        let spendings = in_workspace.map(|((_, channel), buckets)| {
            let channel = (!channel.as_str().is_empty()).then(|| channel.clone());
            recent_spending(channel, buckets, now)
        });
        let is_any = |spending: &Spending| {
            spending.spent != BudgetUsage::default() || spending.tokens_in_month > 0
        };
        let mut spendings: Vec<Spending> = spendings.filter(is_any).collect();
        spendings.sort_by(|one, other| one.channel.cmp(&other.channel));
        spendings
    }

    /// Records the usage of a model call, whatever its result.
    pub(super) fn record_spending(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        at: Timestamp,
        used: SpendingSum,
    ) {
        let at = at.as_millisecond();
        let buckets = [
            SpendingBucket::Hour(at - at.rem_euclid(HOUR_MS)),
            SpendingBucket::Day(at - at.rem_euclid(DAY_MS)),
        ];
        for channel in BTreeSet::from([channel, &ChannelId::new("")]) {
            let spending = self.spending.entry((workspace.clone(), channel.clone())).or_default();
            for bucket in buckets {
                spending.entry(bucket).or_default().add(used);
            }
        }
    }
}

/// The spending of the last day and month.
fn recent_spending(
    channel: Option<ChannelId>,
    buckets: &BTreeMap<SpendingBucket, SpendingSum>,
    now: Timestamp,
) -> Spending {
    let now = now.as_millisecond();
    let after = |bucket| (Bound::Excluded(bucket), Bound::Unbounded);
    let hours = buckets.range(after(SpendingBucket::Hour(now - DAY_MS)));
    let hours = hours.take_while(|(bucket, _)| matches!(bucket, SpendingBucket::Hour(_)));
    let (mut day, mut month) = (SpendingSum::default(), SpendingSum::default());
    hours.for_each(|(_, sum)| day.add(*sum));
    let days = buckets.range(after(SpendingBucket::Day(now - 30 * DAY_MS)));
    days.for_each(|(_, sum)| month.add(*sum));
    Spending {
        channel,
        spent: BudgetUsage {
            tokens_in_day: day.tokens,
            unsolicited_tokens_in_day: day.unsolicited_tokens,
            micros_in_day: day.micros,
            micros_in_month: month.micros,
        },
        tokens_in_month: month.tokens,
        unpriced_tokens_in_day: day.unpriced_tokens,
        unpriced_tokens_in_month: month.unpriced_tokens,
    }
}
