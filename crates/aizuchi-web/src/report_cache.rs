//! An in-memory cache of the most recently computed reports, so that a report that is viewed again is shown at once.
//!
//! A report quotes what users wrote. New messages and decisions only add to it, so a cached report stays valid: it is
//! shown with its time while a newer one is computed. Whatever removes or hides something (an edit, a deletion, each
//! page that is erased of a user who is forgotten or has opted out, retention, a channel that turns private) raises
//! the store's count of erasures. A report belongs to the count from before it was read. It is dropped as soon as the
//! count changes or when it is too old, even if nobody views it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use aizuchi_config::Config;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_past::report::figures::Report;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// A report covers the last days until now. For this long, a report to which nothing was added counts as current.
const CURRENT: SignedDuration = SignedDuration::from_mins(10);
/// The maximum age of a report that is shown, whatever happens.
const MOST_AGE: SignedDuration = SignedDuration::from_hours(1);
/// The minimum time between two computations of a report, however often it is viewed.
const RENEWAL_INTERVAL: SignedDuration = SignedDuration::from_mins(1);
const MOST_REPORTS: usize = 8;

/// What a report is about. All visitors who may request a subject may read the same report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSubject {
    pub workspace: WorkspaceId,
    pub days: i64,
    /// Whether it includes messages of private channels. Only admins may request that.
    pub has_private: bool,
}

/// The state that a report is computed from. It is read before anything else.
#[derive(Clone)]
pub struct ReportBasis {
    /// The store's count of erasures at that time.
    pub erasures: u64,
    /// The newest committed revision.
    pub revision: u64,
    pub config: Arc<Config>,
    pub now: Timestamp,
}

#[derive(Default)]
pub struct ComputedReport {
    /// `None` if nothing was decided.
    pub report: Option<Report>,
    /// The number of private channels that were left out.
    pub left_out: usize,
    /// The private channels whose messages it was made from: each view of the report is a read of them.
    pub private_messages: BTreeSet<ChannelId>,
    /// The private channels whose decisions it was made from.
    pub private_decisions: BTreeSet<ChannelId>,
}

/// A report that may be shown.
#[derive(Clone)]
pub struct FoundReport {
    pub computed: Arc<ComputedReport>,
    pub age: ReportAge,
}

/// Whether a report equals what would be computed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportAge {
    Current,
    /// Something may have been added since then.
    AsOf(Timestamp),
}

pub struct ReportCache {
    clock: Clock,
    kept: Mutex<Kept>,
    /// Notifies the task that drops reports that one was added.
    added: Notify,
    /// Notifies the task that recomputes reports that one is wanted.
    wanted: Notify,
}

#[derive(Default)]
struct Kept {
    /// The most recent one is last.
    reports: Vec<KeptReport>,
    /// The newest count of erasures for which reports were dropped. A report from before that count is not cached any
    /// more.
    newest: u64,
    /// The reports to recompute, in this order.
    wanted: VecDeque<ReportSubject>,
}

struct KeptReport {
    subject: ReportSubject,
    basis: ReportBasis,
    computed: Arc<ComputedReport>,
    /// When a recomputation was last requested. At first, this is when the report was computed.
    renewed: Timestamp,
}

impl ReportCache {
    pub fn new(clock: Clock) -> Self {
        Self { clock, kept: Mutex::default(), added: Notify::new(), wanted: Notify::new() }
    }

    /// Returns the cached report on a subject, unless something that it shows may have been erased.
    pub fn find(&self, subject: &ReportSubject, newest: &ReportBasis) -> Option<FoundReport> {
        let mut kept = self.kept.lock();
        kept.reports.retain(|report| report.basis.may_be_shown(newest));
        let found = kept.reports.iter().find(|report| report.subject == *subject)?;
        let age = match found.basis.is_current(newest) {
            true => ReportAge::Current,
            false => ReportAge::AsOf(found.basis.now),
        };
        Some(FoundReport { computed: found.computed.clone(), age })
    }

    /// Caches a report for other visitors who request the same subject.
    pub fn keep(&self, subject: ReportSubject, basis: ReportBasis, computed: Arc<ComputedReport>) {
        {
            let mut kept = self.kept.lock();
            if basis.erasures < kept.newest {
                return;
            }
            kept.reports.retain(|report| report.subject != subject);
            if kept.reports.len() == MOST_REPORTS {
                kept.reports.remove(0);
            }
            let renewed = basis.now;
            kept.reports.push(KeptReport { subject, basis, computed, renewed });
        }
        self.added.notify_one();
    }

    /// Requests that a cached report is recomputed in the background, unless that was done recently. Returns whether
    /// it is pending.
    pub fn renew(&self, subject: &ReportSubject) -> bool {
        let now = self.clock.now();
        let mut kept = self.kept.lock();
        let Kept { reports, wanted, .. } = &mut *kept;
        let Some(report) = reports.iter_mut().find(|report| report.subject == *subject) else {
            return false;
        };
        if wanted.contains(subject) {
            return true;
        }
        if distance(report.renewed, now) < RENEWAL_INTERVAL {
            return false;
        }
        report.renewed = now;
        wanted.push_back(subject.clone());
        drop(kept);
        self.wanted.notify_one();
        true
    }

    /// Waits for the next report to recompute. Only one task calls this.
    pub async fn next_wanted(&self) -> ReportSubject {
        loop {
            let next = self.kept.lock().wanted.pop_front();
            match next {
                Some(subject) => return subject,
                None => self.wanted.notified().await,
            }
        }
    }

    /// Drops reports when anything is erased and when they are too old, until the shutdown.
    pub async fn drop_outdated(
        &self,
        mut erasures: watch::Receiver<u64>,
        shutdown: CancellationToken,
    ) {
        loop {
            let newest = *erasures.borrow_and_update();
            let left = self.drop_before(newest);
            let is_changed = tokio::select! {
                () = shutdown.cancelled() => return,
                changed = erasures.changed() => changed.is_ok(),
                () = self.added.notified() => true,
                _ = self.clock.timeout(left, std::future::pending::<()>()) => true,
            };
            if !is_changed {
                // The store has been dropped. Wait for the shutdown, which ends the other tasks.
                return shutdown.cancelled().await;
            }
        }
    }

    /// Drops the reports from before this count of erasures, and those that are too old. Returns how long the rest may
    /// stay.
    fn drop_before(&self, erasures: u64) -> SignedDuration {
        let now = self.clock.now();
        let mut kept = self.kept.lock();
        kept.newest = kept.newest.max(erasures);
        let is_kept = |report: &KeptReport| {
            report.basis.erasures >= erasures && report.basis.age(now) < MOST_AGE
        };
        kept.reports.retain(is_kept);
        let oldest = kept.reports.iter().map(|report| report.basis.age(now)).max();
        MOST_AGE - oldest.unwrap_or_default()
    }
}

impl ReportBasis {
    /// Whether a report from this state may still be shown, because nothing of it was erased.
    fn may_be_shown(&self, newest: &Self) -> bool {
        self.erasures == newest.erasures
            && Arc::ptr_eq(&self.config, &newest.config)
            && self.age(newest.now) < MOST_AGE
    }

    /// Whether a report from this state equals one from `newest`.
    fn is_current(&self, newest: &Self) -> bool {
        self.revision == newest.revision && self.age(newest.now) < CURRENT
    }

    fn age(&self, now: Timestamp) -> SignedDuration {
        distance(self.now, now)
    }
}

/// Returns the absolute difference of two times, because a clock may be set back.
fn distance(one: Timestamp, other: Timestamp) -> SignedDuration {
    other.duration_since(one).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(workspace: &str, days: i64, has_private: bool) -> ReportSubject {
        ReportSubject { workspace: WorkspaceId::new(workspace), days, has_private }
    }

    fn basis() -> ReportBasis {
        let config = Arc::new(Config::parse("language: en").unwrap());
        ReportBasis { erasures: 7, revision: 70, config, now: Timestamp::UNIX_EPOCH }
    }

    fn computed() -> Arc<ComputedReport> {
        Arc::default()
    }

    fn report_cache() -> ReportCache {
        ReportCache::new(Clock::manual(basis().now))
    }

    fn count(kept: &ReportCache) -> usize {
        kept.kept.lock().reports.len()
    }

    #[test]
    fn a_report_is_found_by_those_who_ask_for_the_same() {
        let (kept, basis, computed) = (report_cache(), basis(), computed());
        kept.keep(subject("w", 7, true), basis.clone(), computed.clone());
        let found = kept.find(&subject("w", 7, true), &basis).unwrap();
        assert!(Arc::ptr_eq(&found.computed, &computed));
        assert_eq!(found.age, ReportAge::Current);
        for other in [subject("w", 7, false), subject("w", 1, true), subject("v", 7, true)] {
            assert!(kept.find(&other, &basis).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_report_is_dropped_when_something_was_taken_back() {
        let kept = report_cache();
        let first = basis();
        let one = subject("w", 7, false);
        let same_config = Arc::new(Config::parse("language: en").unwrap());
        for changed in [
            ReportBasis { erasures: 8, ..first.clone() },
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
    fn what_is_added_leaves_a_report_with_its_time() {
        let (kept, first, one) = (report_cache(), basis(), subject("w", 7, false));
        kept.keep(one.clone(), first.clone(), computed());
        let age = |newest: &ReportBasis| kept.find(&one, newest).unwrap().age;
        assert_eq!(age(&first), ReportAge::Current);
        let later = |minutes| ReportBasis {
            now: first.now + SignedDuration::from_mins(minutes),
            ..first.clone()
        };
        assert_eq!(age(&later(9)), ReportAge::Current);
        assert_eq!(age(&later(11)), ReportAge::AsOf(first.now));
        let added = ReportBasis { revision: 71, ..first.clone() };
        assert_eq!(age(&added), ReportAge::AsOf(first.now));
    }

    #[tokio::test]
    async fn a_report_is_computed_anew_once_a_minute_at_most() {
        let (kept, first, one) = (report_cache(), basis(), subject("w", 7, false));
        assert!(!kept.renew(&one), "there is none");
        kept.keep(one.clone(), first.clone(), computed());
        assert!(!kept.renew(&one), "it is young");
        let began = first.now;
        kept.clock.advance_to(began + RENEWAL_INTERVAL);
        assert!(kept.renew(&one) && kept.renew(&one), "others are told of the same");
        assert_eq!(kept.next_wanted().await, one);
        assert!(futures_util::poll!(Box::pin(kept.next_wanted())).is_pending(), "once is enough");
        assert!(!kept.renew(&one), "it is being computed, or that has failed");
        kept.clock.advance_to(began + RENEWAL_INTERVAL * 2);
        assert!(kept.renew(&one));
        assert_eq!(kept.next_wanted().await, one);
        let now = began + RENEWAL_INTERVAL * 2;
        kept.keep(one.clone(), ReportBasis { now, ..first }, computed());
        assert!(!kept.renew(&one), "it is young again");
    }

    #[test]
    fn the_newest_reports_are_kept() {
        let (kept, basis) = (report_cache(), basis());
        for days in 0..=MOST_REPORTS as i64 {
            kept.keep(subject("w", days, false), basis.clone(), computed());
        }
        assert!(kept.find(&subject("w", 0, false), &basis).is_none());
        assert!(kept.find(&subject("w", 1, false), &basis).is_some());
        kept.keep(subject("w", 1, false), basis.clone(), computed());
        assert_eq!(count(&kept), MOST_REPORTS);
    }

    #[tokio::test]
    async fn what_is_taken_back_drops_reports_that_nobody_looks_at() {
        let kept = report_cache();
        kept.keep(subject("w", 7, false), basis(), computed());
        let (sender, erasures) = watch::channel(7);
        let shutdown = CancellationToken::new();
        let mut dropping = Box::pin(kept.drop_outdated(erasures, shutdown.clone()));
        assert!(futures_util::poll!(&mut dropping).is_pending());
        assert_eq!(count(&kept), 1);
        sender.send_replace(8);
        assert!(futures_util::poll!(&mut dropping).is_pending());
        assert_eq!(count(&kept), 0);
        // A report that was computed before that arrives too late.
        kept.keep(subject("w", 7, false), basis(), computed());
        assert_eq!(count(&kept), 0);
        drop(sender);
        assert!(futures_util::poll!(&mut dropping).is_pending(), "it ends with the shutdown");
        shutdown.cancel();
        dropping.await;
    }

    #[tokio::test]
    async fn what_is_too_old_goes_though_nothing_happens() {
        let kept = report_cache();
        let (_sender, erasures) = watch::channel(7);
        let mut dropping = Box::pin(kept.drop_outdated(erasures, CancellationToken::new()));
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
