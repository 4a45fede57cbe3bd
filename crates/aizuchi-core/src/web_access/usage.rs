//! How often something was looked up on the web within the last 24 hours. Only in memory: a restart begins anew.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::chat::{UserId, WorkspaceId};
use crate::web_access::{WebLimit, WebLimits};

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A user of one workspace.
pub type Person = (WorkspaceId, UserId);

/// The calls of the last day.
#[derive(Debug, Default)]
pub struct WebUsage(Mutex<VecDeque<WebCall>>);

#[derive(Debug)]
struct WebCall {
    at: Timestamp,
    person: Option<Person>,
}

impl WebUsage {
    /// Counts a call that answers this person, unless a limit is reached.
    pub fn count(
        &self,
        person: Option<&Person>,
        limits: &WebLimits,
        now: Timestamp,
    ) -> Result<(), WebLimit> {
        let mut calls = self.0.lock();
        while calls.front().is_some_and(|call| now.duration_since(call.at) >= DAY) {
            calls.pop_front();
        }
        let is_reached = |limit: Option<u64>, count: usize| {
            limit.is_some_and(|limit| u64::try_from(count).is_ok_and(|count| count >= limit))
        };
        if is_reached(limits.per_day, calls.len()) {
            return Err(WebLimit::Day);
        }
        let theirs = calls.iter().filter(|call| call.person.as_ref() == person).count();
        if person.is_some() && is_reached(limits.per_person_per_day, theirs) {
            return Err(WebLimit::Person);
        }
        // Without limits nobody needs the figures.
        if limits.per_day.or(limits.per_person_per_day).is_some() {
            calls.push_back(WebCall { at: now, person: person.cloned() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(name: &str) -> Person {
        (WorkspaceId::new("w"), UserId::new(name))
    }

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hour * 3_600).unwrap()
    }

    #[test]
    fn a_person_and_a_day_have_their_limits() {
        let usage = WebUsage::default();
        let limits = WebLimits { per_reply: None, per_person_per_day: Some(2), per_day: Some(3) };
        let (alice, bob) = (person("alice"), person("bob"));
        let count = |person: Option<&Person>, hour| usage.count(person, &limits, at(hour));
        assert_eq!(count(Some(&alice), 0), Ok(()));
        assert_eq!(count(Some(&alice), 1), Ok(()));
        assert_eq!(count(Some(&alice), 2), Err(WebLimit::Person));
        assert_eq!(count(Some(&bob), 2), Ok(()));
        assert_eq!(count(Some(&bob), 3), Err(WebLimit::Day));
        assert_eq!(count(None, 3), Err(WebLimit::Day));
        // A day later the first call no longer counts.
        assert_eq!(count(Some(&alice), 24), Ok(()));
        assert_eq!(count(Some(&alice), 24), Err(WebLimit::Day));
    }

    #[test]
    fn a_limit_of_nothing_allows_nothing_and_no_limit_keeps_no_figures() {
        let usage = WebUsage::default();
        let nothing = WebLimits { per_day: Some(0), ..WebLimits::default() };
        assert_eq!(usage.count(None, &nothing, at(0)), Err(WebLimit::Day));
        for _ in 0..1_000 {
            assert_eq!(usage.count(None, &WebLimits::default(), at(0)), Ok(()));
        }
        assert!(usage.0.lock().is_empty());
    }
}
