//! Counts the web lookups of replies, in memory.

use aizuchi_model::chat::{UserId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::event::web_call::{WebCall, WebCallUsage, WebLimit, counted_since};
use jiff::Timestamp;

use crate::volatile::VolatileState;
use crate::volatile::records::truncate_to_milliseconds;

/// A web lookup.
pub(super) struct CountedWebCall {
    at: Timestamp,
    workspace: WorkspaceId,
    decision: Option<DecisionId>,
    /// `None` for no user, or for a forgotten one.
    user: Option<UserId>,
}

impl VolatileState {
    pub(super) fn count_web_call(&mut self, call: &WebCall, now: Timestamp) -> Option<WebLimit> {
        let limit = call.reached_limit(&self.web_call_usage(call, now));
        if limit.is_none() {
            self.drop_old_web_calls(now);
            let user = call.user.clone();
            let user =
                user.filter(|user| !self.is_forgotten_since(&call.workspace, user, call.began));
            self.web_calls.push(CountedWebCall {
                at: truncate_to_milliseconds(now),
                workspace: call.workspace.clone(),
                decision: call.decision,
                user,
            });
        }
        limit
    }

    /// Whether a user was forgotten since then: data that was read before may still be in use.
    pub(super) fn is_forgotten_since(
        &self,
        workspace: &WorkspaceId,
        user: &UserId,
        since: Timestamp,
    ) -> bool {
        let at = self.forgotten_at.get(&(workspace.clone(), user.clone()));
        at.is_some_and(|at| at.as_millisecond() >= since.as_millisecond())
    }

    fn web_call_usage(&self, call: &WebCall, now: Timestamp) -> WebCallUsage {
        let since = truncate_to_milliseconds(counted_since(now));
        let is_in_answer =
            |it: &&CountedWebCall| call.decision.is_some() && it.decision == call.decision;
        let in_day = || self.web_calls.iter().filter(|it| it.at > since);
        let is_of_user =
            |it: &&CountedWebCall| it.workspace == call.workspace && it.user == call.user;
        WebCallUsage {
            in_answer: self.web_calls.iter().filter(is_in_answer).count() as u64,
            by_user: in_day().filter(is_of_user).count() as u64,
            in_day: in_day().count() as u64,
        }
    }

    pub(super) fn drop_old_web_calls(&mut self, now: Timestamp) {
        let since = truncate_to_milliseconds(counted_since(now));
        self.web_calls.retain(|it| it.at > since);
    }

    /// Erases the user from their lookups, which still count for the day.
    pub(super) fn erase_user_of_web_calls(&mut self, workspace: &WorkspaceId, user: &UserId) {
        let theirs = self.web_calls.iter_mut();
        let theirs = theirs.filter(|it| it.workspace == *workspace);
        theirs.filter(|it| it.user.as_ref() == Some(user)).for_each(|it| it.user = None);
    }
}
