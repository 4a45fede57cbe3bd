//! The reports that were computed last, kept in memory, so that one that is looked at again is not computed again.
//!
//! A report quotes what people wrote, so a kept one is shown only as long as it is what would be computed now. Whatever
//! changes a message, a decision, a channel or a name raises the store's revision: so do each page that is erased of a
//! user who is forgotten or has opted out, and a channel that turns private. So a report belongs to the revision from
//! before it was read, and is dropped as soon as there is another or when it is too old, also if nobody looks.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::report::figures::Report;
use aizuchi_core::chat::{ChannelId, WorkspaceId};
use aizuchi_core::clock::Clock;

/// A report is of the last days until now. Until this time has passed, that is near enough.
const MOST_AGE: SignedDuration = SignedDuration::from_mins(10);
const MOST_REPORTS: usize = 8;

/// What a report is about. Whoever asks for the same may read the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSubject {
    pub workspace: WorkspaceId,
    pub days: i64,
    /// With what was said in private channels: only admins may ask for it.
    pub has_private: bool,
}

/// What a report is computed with. It is read before anything else.
#[derive(Clone)]
pub struct ReportBasis {
    /// The newest committed revision.
    pub revision: u64,
    pub config: Arc<Config>,
    pub now: Timestamp,
}

/// What was computed.
#[derive(Default)]
pub struct ComputedReport {
    /// `None`: nothing was decided.
    pub report: Option<Report>,
    /// How many private channels were left out.
    pub left_out: usize,
    /// The private channels whose messages it was made from: each look at it is a look at them.
    pub private_messages: BTreeSet<ChannelId>,
    /// Those whose decisions it was made from.
    pub private_decisions: BTreeSet<ChannelId>,
}

pub struct KeptReports {
    clock: Clock,
    kept: Mutex<Kept>,
    /// Tells the task that drops them of a new one.
    added: Notify,
}

#[derive(Default)]
struct Kept {
    /// The last one at the end.
    reports: Vec<KeptReport>,
    /// The newest revision for which older ones were dropped: an older one that comes later is not kept.
    newest: u64,
}

struct KeptReport {
    subject: ReportSubject,
    basis: ReportBasis,
    computed: Arc<ComputedReport>,
}

impl KeptReports {
    pub fn new(clock: Clock) -> Self {
        Self { clock, kept: Mutex::default(), added: Notify::new() }
    }

    /// The report on this, if it was computed and would be the same now.
    pub fn find(
        &self,
        subject: &ReportSubject,
        newest: &ReportBasis,
    ) -> Option<Arc<ComputedReport>> {
        let mut kept = self.kept.lock();
        kept.reports.retain(|report| report.basis.is_current(newest));
        let found = kept.reports.iter().find(|report| report.subject == *subject);
        found.map(|report| report.computed.clone())
    }

    /// Keeps a report for those who ask for the same while `basis` holds.
    pub fn keep(&self, subject: ReportSubject, basis: ReportBasis, computed: Arc<ComputedReport>) {
        {
            let mut kept = self.kept.lock();
            if basis.revision < kept.newest {
                return;
            }
            kept.reports.retain(|report| report.subject != subject);
            if kept.reports.len() == MOST_REPORTS {
                kept.reports.remove(0);
            }
            kept.reports.push(KeptReport { subject, basis, computed });
        }
        self.added.notify_one();
    }

    /// Drops reports when anything is committed and when they are too old, until the shutdown.
    pub async fn drop_outdated(
        &self,
        mut revisions: watch::Receiver<u64>,
        shutdown: CancellationToken,
    ) {
        loop {
            let newest = *revisions.borrow_and_update();
            let left = self.drop_before(newest);
            let is_changed = tokio::select! {
                () = shutdown.cancelled() => return,
                changed = revisions.changed() => changed.is_ok(),
                () = self.added.notified() => true,
                _ = self.clock.timeout(left, std::future::pending::<()>()) => true,
            };
            if !is_changed {
                // The store is gone; whoever ends with it ends the rest.
                return shutdown.cancelled().await;
            }
        }
    }

    /// Drops those of an earlier revision and those that are too old. Returns for how long the rest may stay.
    fn drop_before(&self, revision: u64) -> SignedDuration {
        let now = self.clock.now();
        let mut kept = self.kept.lock();
        kept.newest = kept.newest.max(revision);
        let is_kept = |report: &KeptReport| {
            report.basis.revision >= revision && report.basis.age(now) < MOST_AGE
        };
        kept.reports.retain(is_kept);
        let oldest = kept.reports.iter().map(|report| report.basis.age(now)).max();
        MOST_AGE - oldest.unwrap_or_default()
    }
}

impl ReportBasis {
    /// Whether what was computed with this is what would be computed with that.
    fn is_current(&self, newest: &Self) -> bool {
        self.revision == newest.revision
            && Arc::ptr_eq(&self.config, &newest.config)
            && self.age(newest.now) < MOST_AGE
    }

    /// How far its time is from this one: a clock may be set back.
    fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.now).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(workspace: &str, days: i64, has_private: bool) -> ReportSubject {
        ReportSubject { workspace: WorkspaceId::new(workspace), days, has_private }
    }

    fn basis() -> ReportBasis {
        let config = Arc::new(Config::parse("language: en").unwrap());
        ReportBasis { revision: 7, config, now: Timestamp::UNIX_EPOCH }
    }

    fn computed() -> Arc<ComputedReport> {
        Arc::default()
    }

    fn kept_reports() -> KeptReports {
        KeptReports::new(Clock::manual(basis().now))
    }

    fn count(kept: &KeptReports) -> usize {
        kept.kept.lock().reports.len()
    }

    #[test]
    fn a_report_is_found_by_those_who_ask_for_the_same() {
        let (kept, basis, computed) = (kept_reports(), basis(), computed());
        kept.keep(subject("w", 7, true), basis.clone(), computed.clone());
        let found = kept.find(&subject("w", 7, true), &basis).unwrap();
        assert!(Arc::ptr_eq(&found, &computed));
        for other in [subject("w", 7, false), subject("w", 1, true), subject("v", 7, true)] {
            assert!(kept.find(&other, &basis).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_report_is_dropped_when_it_would_be_another_one() {
        let kept = kept_reports();
        let first = basis();
        let one = subject("w", 7, false);
        let same_config = Arc::new(Config::parse("language: en").unwrap());
        for changed in [
            ReportBasis { revision: 8, ..first.clone() },
            ReportBasis { now: first.now + MOST_AGE, ..first.clone() },
            ReportBasis { now: first.now - MOST_AGE, ..first.clone() },
            ReportBasis { config: same_config, ..first.clone() },
        ] {
            kept.keep(one.clone(), first.clone(), computed());
            let soon = ReportBasis { now: first.now + MOST_AGE / 2, ..first.clone() };
            assert!(kept.find(&one, &soon).is_some());
            assert!(kept.find(&one, &changed).is_none());
            assert_eq!(count(&kept), 0, "nothing of it stays");
        }
    }

    #[test]
    fn the_newest_reports_are_kept() {
        let (kept, basis) = (kept_reports(), basis());
        for days in 0..=MOST_REPORTS as i64 {
            kept.keep(subject("w", days, false), basis.clone(), computed());
        }
        assert!(kept.find(&subject("w", 0, false), &basis).is_none());
        assert!(kept.find(&subject("w", 1, false), &basis).is_some());
        kept.keep(subject("w", 1, false), basis.clone(), computed());
        assert_eq!(count(&kept), MOST_REPORTS);
    }

    #[tokio::test]
    async fn what_is_committed_drops_reports_that_nobody_looks_at() {
        let kept = kept_reports();
        kept.keep(subject("w", 7, false), basis(), computed());
        let (sender, revisions) = watch::channel(7);
        let shutdown = CancellationToken::new();
        let mut dropping = Box::pin(kept.drop_outdated(revisions, shutdown.clone()));
        assert!(futures_util::poll!(&mut dropping).is_pending());
        assert_eq!(count(&kept), 1);
        sender.send_replace(8);
        assert!(futures_util::poll!(&mut dropping).is_pending());
        assert_eq!(count(&kept), 0);
        // What was computed before that comes too late.
        kept.keep(subject("w", 7, false), basis(), computed());
        assert_eq!(count(&kept), 0);
        drop(sender);
        assert!(futures_util::poll!(&mut dropping).is_pending(), "it ends with the shutdown");
        shutdown.cancel();
        dropping.await;
    }

    #[tokio::test]
    async fn what_is_too_old_goes_though_nothing_happens() {
        let kept = kept_reports();
        let (_sender, revisions) = watch::channel(7);
        let mut dropping = Box::pin(kept.drop_outdated(revisions, CancellationToken::new()));
        assert!(futures_util::poll!(&mut dropping).is_pending());
        let began = basis().now;
        let half = began + MOST_AGE / 2;
        kept.clock.advance_to(half);
        for (workspace, now) in [("w", began), ("v", half)] {
            kept.keep(subject(workspace, 7, false), ReportBasis { now, ..basis() }, computed());
        }
        for (at, left) in [(began + MOST_AGE, 1), (half + MOST_AGE, 0)] {
            assert!(futures_util::poll!(&mut dropping).is_pending());
            kept.clock.advance_to(at);
            assert!(futures_util::poll!(&mut dropping).is_pending());
            assert_eq!(count(&kept), left);
        }
    }
}
