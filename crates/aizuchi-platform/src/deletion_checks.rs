//! The deletion checks of all channels, whether a backfill runs them itself or they run in the background.

use std::collections::BTreeMap;

use aizuchi_model::chat::{ChannelId, Cursor, WorkspaceId};
use aizuchi_model::platform::backfill_progress::CheckProgress;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::deletion_check::DeletionCheck;

/// The delay after which a failed check is retried.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

#[derive(Default)]
pub struct DeletionChecks {
    pending: Mutex<BTreeMap<ChannelId, PendingCheck>>,
    /// Notified when a check waits to be run.
    pub added: Notify,
}

struct PendingCheck {
    workspace: WorkspaceId,
    rest: DeletionCheck,
    progress: CheckProgress,
    /// When it may be run. `None` while it is running.
    run_at: Option<Timestamp>,
}

/// The task that runs a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckRunner {
    /// The caller that begins it, unless it is already running.
    Caller,
    Background,
}

impl DeletionChecks {
    /// Loads the unfinished checks of an earlier process.
    pub fn load(&self, cursors: &[Cursor]) {
        for cursor in cursors {
            if let Some((channel, check)) = DeletionCheck::from_cursor(cursor) {
                self.begin(&cursor.workspace, &channel, check, CheckRunner::Background);
            }
        }
    }

    /// Adds a check to the rest of an earlier one. Returns the merged check, and whether the caller has to run it.
    pub fn begin(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        check: DeletionCheck,
        runner: CheckRunner,
    ) -> (DeletionCheck, bool) {
        let mut all = self.lock();
        let is_running = all.get(channel).is_some_and(|pending| pending.run_at.is_none());
        let pending = all.entry(channel.clone()).or_insert_with(|| PendingCheck {
            workspace: workspace.clone(),
            rest: check,
            progress: CheckProgress::default(),
            run_at: Some(Timestamp::MIN),
        });
        pending.rest = check.merge(Some(pending.rest));
        let is_callers = runner == CheckRunner::Caller && !is_running;
        if is_callers {
            pending.run_at = None;
        }
        self.added.notify_one();
        (pending.rest, is_callers)
    }

    /// Claims a check that is due.
    pub fn claim_next(&self, now: Timestamp) -> Option<(WorkspaceId, ChannelId)> {
        let mut all = self.lock();
        let is_due = |pending: &PendingCheck| pending.run_at.is_some_and(|at| at <= now);
        let (channel, pending) = all.iter_mut().find(|(_, pending)| is_due(pending))?;
        pending.run_at = None;
        Some((pending.workspace.clone(), channel.clone()))
    }

    /// Returns when the next check is due.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.lock().values().filter_map(|pending| pending.run_at).min()
    }

    /// Returns the rest of a channel's check.
    pub fn rest(&self, channel: &ChannelId) -> Option<DeletionCheck> {
        self.lock().get(channel).map(|pending| pending.rest)
    }

    /// Records that a part of `before` has been checked, with this rest. Returns what to continue with, which is more
    /// if another check was added in the meantime.
    pub fn advance(
        &self,
        channel: &ChannelId,
        before: DeletionCheck,
        rest: Option<DeletionCheck>,
        found: CheckProgress,
    ) -> Option<DeletionCheck> {
        let mut all = self.lock();
        let pending = all.get_mut(channel)?;
        pending.progress.compared += found.compared;
        pending.progress.deleted += found.deleted;
        if pending.rest != before {
            return Some(pending.rest);
        }
        match rest {
            Some(rest) => pending.rest = rest,
            None => drop(all.remove(channel)),
        }
        rest
    }

    /// Releases a claimed check that failed. It is run again later.
    pub fn release(&self, channel: &ChannelId, now: Timestamp) {
        if let Some(pending) = self.lock().get_mut(channel) {
            pending.run_at = Some(now + RETRY_DELAY);
        }
        self.added.notify_one();
    }

    /// Returns those channels that have a check, with its findings.
    pub fn progress(&self, channels: &[ChannelId]) -> Vec<(ChannelId, CheckProgress)> {
        let all = self.lock();
        let known = all.iter().filter(|(channel, _)| channels.contains(channel));
        known.map(|(channel, pending)| (channel.clone(), pending.progress)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ChannelId, PendingCheck>> {
        self.pending.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn check(from: i64, until: i64) -> DeletionCheck {
        DeletionCheck { from: at(from), until: at(until) }
    }

    #[test]
    fn a_check_that_grows_while_it_runs_starts_over() {
        let checks = DeletionChecks::default();
        let (workspace, tea) = (WorkspaceId::new("w"), ChannelId::new("tea"));
        let begin = |span, runner| checks.begin(&workspace, &tea, span, runner);
        let none = CheckProgress::default();
        assert_eq!(begin(check(5, 9), CheckRunner::Caller), (check(5, 9), true));
        assert_eq!(checks.claim_next(at(0)), None);
        let rest = checks.advance(&tea, check(5, 9), Some(check(7, 9)), none);
        assert_eq!(rest, Some(check(7, 9)));
        // It runs already, so the second caller does not run it.
        assert_eq!(begin(check(1, 20), CheckRunner::Caller), (check(1, 20), false));
        let found = CheckProgress { compared: 3, deleted: 1 };
        assert_eq!(checks.advance(&tea, check(7, 9), None, found), Some(check(1, 20)));
        assert_eq!(checks.progress(std::slice::from_ref(&tea)), [(tea.clone(), found)]);
        assert_eq!(checks.advance(&tea, check(1, 20), None, none), None);
        assert_eq!((checks.rest(&tea), checks.progress(&[tea])), (None, Vec::new()));
    }

    #[test]
    fn an_unfinished_check_is_loaded_and_claimed() {
        let checks = DeletionChecks::default();
        let (workspace, tea) = (WorkspaceId::new("w"), ChannelId::new("tea"));
        checks.load(&[DeletionCheck::to_cursor(Some(check(5, 9)), &workspace, &tea)]);
        assert_eq!(checks.claim_next(at(0)), Some((workspace.clone(), tea.clone())));
        assert_eq!((checks.claim_next(at(0)), checks.next_at()), (None, None));
        checks.release(&tea, at(0));
        assert_eq!((checks.claim_next(at(59)), checks.next_at()), (None, Some(at(60))));
        assert_eq!(checks.claim_next(at(60)), Some((workspace, tea)));
    }
}
