//! Apps that are sold outside of Slack's Marketplace get little history: few lines, once a minute.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// Whether this app gets little history, and when it may have the next page of it.
#[derive(Default)]
pub struct Cap {
    is_on: AtomicBool,
    page: Mutex<Option<Timestamp>>,
}

impl Cap {
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// It gets little. Says whether that is news.
    pub fn put(&self, now: Timestamp) -> bool {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        !self.is_on.swap(true, Ordering::Relaxed)
    }

    /// When the next page may be read; the one after it comes a `step` later.
    pub fn next_page(&self, now: Timestamp, step: SignedDuration) -> Timestamp {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = page.map_or(now, |last| now.max(last + step));
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
        let (cap, step) = (Cap::default(), SignedDuration::from_secs(60));
        assert!(cap.put(at(0)));
        assert!(!cap.put(at(0)));
        assert_eq!(cap.next_page(at(1), step), at(60));
        assert_eq!(cap.next_page(at(61), step), at(120));
        assert_eq!(cap.next_page(at(500), step), at(500));
    }
}
