//! Apps that are sold outside of Slack's Marketplace get little history: few lines, once a minute.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// So many lines are in a page of theirs.
pub const LIMITED_PAGE_SIZE: usize = 15;

/// Whether this app gets little history, and when it may have the next page of it.
pub struct HistoryLimit {
    is_limited: AtomicBool,
    /// It may have changed since it was found out.
    is_stale: AtomicBool,
    next_page_at: Mutex<Option<Timestamp>>,
    /// Between two pages.
    page_interval: SignedDuration,
}

/// What a page has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitChange {
    /// It gets little.
    Limited,
    /// It gets as much as others, whatever was thought before.
    Lifted,
}

impl HistoryLimit {
    pub fn new(pace: SignedDuration) -> Self {
        let (is_on, is_doubted) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            is_limited: is_on,
            is_stale: is_doubted,
            next_page_at: Mutex::new(None),
            page_interval: pace,
        }
    }

    pub fn is_limited(&self) -> bool {
        self.is_limited.load(Ordering::Relaxed)
    }

    /// It is to be found out anew.
    pub fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    pub fn is_stale(&self) -> bool {
        self.is_limited() && self.is_stale.load(Ordering::Relaxed)
    }

    /// It gets little. Says whether that is news.
    pub fn set_limited(&self, now: Timestamp) -> bool {
        *self.next_page_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        !self.is_limited.swap(true, Ordering::Relaxed)
    }

    /// Learns from a page of so many lines that might have had many more. Slack says nowhere what an app
    /// gets: it gets little if a page is cut off where theirs are, and not if a page is longer than that. A
    /// short page at the end says nothing.
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

    /// When the next page may be read; the one after it comes later. There is no hurry without a cap.
    pub fn reserve_page(&self, now: Timestamp) -> Timestamp {
        if !self.is_limited() {
            return now;
        }
        let mut page = self.next_page_at.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = page.map_or(now, |last| now.max(last + self.page_interval));
        *page = Some(turn);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_capped_history_is_read_page_by_page() {
        let cap = HistoryLimit::new(SignedDuration::from_secs(60));
        assert_eq!(cap.reserve_page(at(0)), at(0));
        assert_eq!(cap.reserve_page(at(0)), at(0));
        assert!(cap.set_limited(at(0)));
        assert!(!cap.set_limited(at(0)));
        assert_eq!(cap.reserve_page(at(1)), at(60));
        assert_eq!(cap.reserve_page(at(61)), at(120));
        assert_eq!(cap.reserve_page(at(500)), at(500));
    }

    #[test]
    fn only_a_page_that_is_cut_off_tells_of_a_cap_and_a_longer_one_takes_it_back() {
        let cap = HistoryLimit::new(SignedDuration::from_secs(60));
        for (found, has_more, news, is_on) in [
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
            assert_eq!(cap.observe_page(found, has_more, at(0)), news, "{found} {has_more}");
            assert_eq!(cap.is_limited(), is_on, "{found} {has_more}");
        }
        assert!(cap.set_limited(at(0)) && !cap.is_stale());
        cap.mark_stale();
        for found in [3, 15] {
            assert_eq!(cap.observe_page(found, false, at(0)), None);
            assert!(cap.is_stale(), "a page that ends with {found} lines does not tell");
        }
        assert_eq!(cap.observe_page(15, true, at(0)), None);
        assert!(!cap.is_stale());
    }
}
