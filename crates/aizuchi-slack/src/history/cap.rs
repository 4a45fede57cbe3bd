//! Apps that are sold outside of Slack's Marketplace get little history: few lines, once a minute.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// So many lines are in a page of theirs.
pub const LITTLE: usize = 15;

/// Whether this app gets little history, and when it may have the next page of it.
pub struct Cap {
    is_on: AtomicBool,
    /// It may have changed since it was found out.
    is_doubted: AtomicBool,
    page: Mutex<Option<Timestamp>>,
    /// Between two pages.
    pace: SignedDuration,
}

/// What a page has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It gets little.
    Capped,
    /// It gets as much as others, whatever was thought before.
    Free,
}

impl Cap {
    pub fn new(pace: SignedDuration) -> Self {
        let (is_on, is_doubted) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { is_on, is_doubted, page: Mutex::new(None), pace }
    }

    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// It is to be found out anew.
    pub fn doubt(&self) {
        self.is_doubted.store(true, Ordering::Relaxed);
    }

    pub fn is_doubted(&self) -> bool {
        self.is_on() && self.is_doubted.load(Ordering::Relaxed)
    }

    /// It gets little. Says whether that is news.
    pub fn put(&self, now: Timestamp) -> bool {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        !self.is_on.swap(true, Ordering::Relaxed)
    }

    /// Learns from a page of so many lines that might have had many more. Slack says nowhere what an app
    /// gets: it gets little if a page is cut off where theirs are, and not if a page is longer than that. A
    /// short page at the end says nothing.
    pub fn learn(&self, found: usize, has_more: bool, now: Timestamp) -> Option<News> {
        let is_cut_off = found == LITTLE && has_more;
        if found > LITTLE || is_cut_off {
            self.is_doubted.store(false, Ordering::Relaxed);
        }
        if is_cut_off {
            return self.put(now).then_some(News::Capped);
        }
        let is_free = found > LITTLE && self.is_on.swap(false, Ordering::Relaxed);
        is_free.then_some(News::Free)
    }

    /// When the next page may be read; the one after it comes later. There is no hurry without a cap.
    pub fn next_page(&self, now: Timestamp) -> Timestamp {
        if !self.is_on() {
            return now;
        }
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = page.map_or(now, |last| now.max(last + self.pace));
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
        let cap = Cap::new(SignedDuration::from_secs(60));
        assert_eq!(cap.next_page(at(0)), at(0));
        assert_eq!(cap.next_page(at(0)), at(0));
        assert!(cap.put(at(0)));
        assert!(!cap.put(at(0)));
        assert_eq!(cap.next_page(at(1)), at(60));
        assert_eq!(cap.next_page(at(61)), at(120));
        assert_eq!(cap.next_page(at(500)), at(500));
    }

    #[test]
    fn only_a_page_that_is_cut_off_tells_of_a_cap_and_a_longer_one_takes_it_back() {
        let cap = Cap::new(SignedDuration::from_secs(60));
        for (found, has_more, news, is_on) in [
            (15, false, None, false),
            (14, true, None, false),
            (200, true, None, false),
            (15, true, Some(News::Capped), true),
            (15, true, None, true),
            (15, false, None, true),
            (3, false, None, true),
            (16, false, Some(News::Free), false),
            (999, true, None, false),
        ] {
            assert_eq!(cap.learn(found, has_more, at(0)), news, "{found} {has_more}");
            assert_eq!(cap.is_on(), is_on, "{found} {has_more}");
        }
        assert!(cap.put(at(0)) && !cap.is_doubted());
        cap.doubt();
        for found in [3, 15] {
            assert_eq!(cap.learn(found, false, at(0)), None);
            assert!(cap.is_doubted(), "a page that ends with {found} lines does not tell");
        }
        assert_eq!(cap.learn(15, true, at(0)), None);
        assert!(!cap.is_doubted());
    }
}
