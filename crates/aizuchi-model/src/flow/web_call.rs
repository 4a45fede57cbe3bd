//! A web request before it is made: it is counted, or a limit forbids it. Every store applies these rules inside a
//! transaction and persists the counts, so a restart does not reset the limits.

use jiff::{SignedDuration, Timestamp};

use crate::chat::{UserId, WorkspaceId};
use crate::decision::DecisionId;

/// How long a web request counts toward the limits.
pub const WEB_CALL_WINDOW: SignedDuration = SignedDuration::from_hours(24);

/// The maximum numbers of web requests for replies. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebLimits {
    /// For all drafts of one answer together.
    pub per_answer: Option<u64>,
    /// For answers to one user, within 24 hours.
    pub per_user_per_day: Option<u64>,
    /// In total, within 24 hours.
    pub per_day: Option<u64>,
}

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebLimit {
    Answer,
    User,
    Day,
}

/// A web request that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebCall {
    pub workspace: WorkspaceId,
    /// The decision of the answer. `None` if it is for no answer.
    pub decision: Option<DecisionId>,
    /// The user whom the answer is for.
    pub user: Option<UserId>,
    /// When the draft was begun. Users who are forgotten later are not named.
    pub began: Timestamp,
    pub limits: WebLimits,
}

/// The store's counts when a web request is planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebCallUsage {
    /// The number of requests for the decision.
    pub in_answer: u64,
    /// The numbers of requests within the last 24 hours, for the user and in total.
    pub by_user: u64,
    pub in_day: u64,
}

impl WebLimits {
    /// Whether there is no limit, so that the counts are not needed.
    pub fn is_unlimited(&self) -> bool {
        self.per_answer.or(self.per_user_per_day).or(self.per_day).is_none()
    }
}

impl WebCall {
    /// Returns the limit that forbids the request, if any.
    pub fn reached_limit(&self, usage: &WebCallUsage) -> Option<WebLimit> {
        let limits = &self.limits;
        let is_reached = |used: u64, limit: Option<u64>| limit.is_some_and(|limit| used >= limit);
        if is_reached(usage.in_answer, limits.per_answer) {
            return Some(WebLimit::Answer);
        }
        if is_reached(usage.in_day, limits.per_day) {
            return Some(WebLimit::Day);
        }
        let has_user = self.user.is_some();
        (has_user && is_reached(usage.by_user, limits.per_user_per_day)).then_some(WebLimit::User)
    }

    /// Returns the user's id, or an empty string if there is none.
    pub fn user_name(&self) -> &str {
        self.user.as_ref().map_or("", UserId::as_str)
    }
}

/// Returns the time from which requests count.
pub fn counted_since(now: Timestamp) -> Timestamp {
    now.checked_sub(WEB_CALL_WINDOW).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(limits: WebLimits, user: Option<&str>) -> WebCall {
        WebCall {
            workspace: WorkspaceId::new("w"),
            decision: None,
            user: user.map(UserId::new),
            began: Timestamp::UNIX_EPOCH,
            limits,
        }
    }

    #[test]
    fn an_answer_a_user_and_a_day_have_their_limits() {
        let limits = WebLimits { per_answer: Some(2), per_user_per_day: Some(3), per_day: Some(4) };
        for (in_answer, by_user, in_day, user, expected) in [
            (0, 0, 0, Some("alice"), None),
            (1, 2, 3, Some("alice"), None),
            (2, 2, 3, Some("alice"), Some(WebLimit::Answer)),
            (1, 3, 3, Some("alice"), Some(WebLimit::User)),
            (1, 3, 4, Some("alice"), Some(WebLimit::Day)),
            (1, 9, 3, None, None),
        ] {
            let usage = WebCallUsage { in_answer, by_user, in_day };
            assert_eq!(call(limits, user).reached_limit(&usage), expected, "{usage:?}");
        }
    }

    #[test]
    fn a_limit_of_nothing_allows_nothing_and_no_limit_allows_all() {
        let nothing = WebLimits { per_day: Some(0), ..WebLimits::default() };
        let unused = WebCallUsage::default();
        assert_eq!(call(nothing, None).reached_limit(&unused), Some(WebLimit::Day));
        let much = WebCallUsage { in_answer: 1_000, by_user: 1_000, in_day: 1_000 };
        assert_eq!(call(WebLimits::default(), Some("alice")).reached_limit(&much), None);
        assert!(WebLimits::default().is_unlimited());
        assert!(!nothing.is_unlimited());
    }
}
