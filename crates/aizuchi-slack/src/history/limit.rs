//! The limit on the history of apps that are distributed outside of Slack's Marketplace: 15 messages per minute.

use std::sync::atomic::{AtomicBool, Ordering};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// The page size of a rate-limited app.
pub const LIMITED_PAGE_SIZE: usize = 15;

/// Whether this app is rate-limited, and when it may read the next page. Its times are those of
/// `SlackPlatform::steady_now`.
pub struct HistoryLimit {
    is_limited: AtomicBool,
    /// Whether `is_limited` may have changed since it was observed.
    is_stale: AtomicBool,
    next_page_at: Mutex<Option<Timestamp>>,
    /// No page is read before this time, because Slack asked to wait.
    held_until: Mutex<Timestamp>,
    page_interval: SignedDuration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitChange {
    Limited,
    Lifted,
}

impl HistoryLimit {
    pub fn new(page_interval: SignedDuration) -> Self {
        Self {
            is_limited: AtomicBool::new(false),
            is_stale: AtomicBool::new(false),
            next_page_at: Mutex::new(None),
            held_until: Mutex::new(Timestamp::MIN),
            page_interval,
        }
    }

    pub fn is_limited(&self) -> bool {
        self.is_limited.load(Ordering::Relaxed)
    }

    /// Requests a new observation.
    pub fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    pub fn is_stale(&self) -> bool {
        self.is_limited() && self.is_stale.load(Ordering::Relaxed)
    }

    /// Records that the history is rate-limited. Returns whether this is a change.
    pub fn set_limited(&self, now: Timestamp) -> bool {
        // The page that revealed the limit has used up its minute.
        *self.next_page_at.lock() = Some(now);
        !self.is_limited.swap(true, Ordering::Relaxed)
    }

    /// Infers the limit from a page of `found` messages, because Slack does not report it: the app is rate-limited if a
    /// page that is not the last has exactly [`LIMITED_PAGE_SIZE`] messages, and is not if a page has more. A shorter
    /// last page shows nothing.
    pub fn observe_page(
        &self,
        found: usize,
        has_more: bool,
        now: Timestamp,
    ) -> Option<LimitChange> {
        let is_cut_off = found == LIMITED_PAGE_SIZE && has_more;
        if found > LIMITED_PAGE_SIZE || is_cut_off {
            self.is_stale.store(false, Ordering::Relaxed);
        }
        if is_cut_off {
            return self.set_limited(now).then_some(LimitChange::Limited);
        }
        let is_free = found > LIMITED_PAGE_SIZE && self.is_limited.swap(false, Ordering::Relaxed);
        is_free.then_some(LimitChange::Lifted)
    }

    /// Blocks the reading of pages until this time.
    pub fn hold_until(&self, at: Timestamp) {
        let mut held_until = self.held_until.lock();
        // A shorter `Retry-After` of a concurrent call must not end a longer wait.
        *held_until = at.max(*held_until);
    }

    /// Reserves the next page and returns when it may be read: now, unless Slack asked to wait or the history is
    /// rate-limited.
    pub fn reserve_page(&self, now: Timestamp) -> Timestamp {
        let now = now.max(*self.held_until.lock());
        if !self.is_limited() {
            return now;
        }
        let mut next_page_at = self.next_page_at.lock();
        let page_at = next_page_at.map_or(now, |last| now.max(last + self.page_interval));
        *next_page_at = Some(page_at);
        page_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_limited_history_is_read_one_page_an_interval() {
        let limit = HistoryLimit::new(SignedDuration::from_secs(60));
        assert_eq!(limit.reserve_page(at(0)), at(0));
        assert_eq!(limit.reserve_page(at(0)), at(0));
        assert!(limit.set_limited(at(0)));
        assert!(!limit.set_limited(at(0)));
        assert_eq!(limit.reserve_page(at(1)), at(60));
        assert_eq!(limit.reserve_page(at(61)), at(120));
        assert_eq!(limit.reserve_page(at(500)), at(500));
    }

    #[test]
    fn all_pages_wait_when_slack_asks_to_wait() {
        let limit = HistoryLimit::new(SignedDuration::from_secs(60));
        limit.hold_until(at(30));
        limit.hold_until(at(20));
        assert_eq!([limit.reserve_page(at(5)), limit.reserve_page(at(31))], [at(30), at(31)]);
    }

    #[test]
    fn a_cut_off_page_shows_the_limit_and_a_longer_page_lifts_it() {
        let limit = HistoryLimit::new(SignedDuration::from_secs(60));
        for (found, has_more, change, is_limited) in [
            (15, false, None, false),
            (14, true, None, false),
            (200, true, None, false),
            (15, true, Some(LimitChange::Limited), true),
            (15, true, None, true),
            (15, false, None, true),
            (3, false, None, true),
            (16, false, Some(LimitChange::Lifted), false),
            (999, true, None, false),
        ] {
            assert_eq!(limit.observe_page(found, has_more, at(0)), change, "{found} {has_more}");
            assert_eq!(limit.is_limited(), is_limited, "{found} {has_more}");
        }
        assert!(limit.set_limited(at(0)) && !limit.is_stale());
        limit.mark_stale();
        for found in [3, 15] {
            assert_eq!(limit.observe_page(found, false, at(0)), None);
            assert!(limit.is_stale(), "a last page of {found} messages shows nothing");
        }
        assert_eq!(limit.observe_page(15, true, at(0)), None);
        assert!(!limit.is_stale());
    }
}
