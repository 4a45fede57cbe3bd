//! The limits of a budget. Each has the name of its setting, which the ledger shows when the limit is reached.

use crate::context::BudgetUsage;
use crate::rules::BudgetLimits;

named_enum! {
    /// A limit that can be reached.
    pub enum Limit {
        /// Tokens per day.
        TokensPerDay,
        /// The share of the tokens that unsolicited work may use; the rest is reserved for mentions.
        MentionShare,
        MoneyPerDay,
        MoneyPerMonth,
        /// Unsolicited posts in the whole workspace.
        PostsPerHour,
        /// Unsolicited posts in one channel.
        PostsPerChannelPerHour,
        AnswersPerPersonPerHour,
        /// Judge calls about one user's messages.
        JudgeCallsPerPersonPerHour,
        /// Model calls for one decision.
        CallsPerDecision,
    }
}

impl BudgetUsage {
    /// Returns the limit that is used up at this share, if any. Unsolicited work has its own share of the tokens.
    pub fn reached_limit(
        &self,
        limits: &BudgetLimits,
        share: f64,
        unsolicited_share: Option<f64>,
    ) -> Option<Limit> {
        let has_reached = |used: u64, limit: Option<u64>, share: f64| {
            limit.is_some_and(|limit| used as f64 >= limit as f64 * share)
        };
        let (tokens, unsolicited) = (self.tokens_in_day, self.unsolicited_tokens_in_day);
        let is_mention_share_left = unsolicited_share
            .is_none_or(|share| !has_reached(unsolicited, limits.tokens_per_day, share));
        match () {
            () if !is_mention_share_left => Some(Limit::MentionShare),
            () if has_reached(tokens, limits.tokens_per_day, share) => Some(Limit::TokensPerDay),
            () if has_reached(self.micros_in_day, limits.micros_per_day, share) => {
                Some(Limit::MoneyPerDay)
            }
            () if has_reached(self.micros_in_month, limits.micros_per_month, share) => {
                Some(Limit::MoneyPerMonth)
            }
            () => None,
        }
    }
}
