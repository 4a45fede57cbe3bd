//! The answers of the last minutes, in memory only, so that a question that is repeated is not paid for twice. The key
//! is the whole request.
//!
//! Answers may quote chat. They are dropped after some minutes and whenever anything is erased, even if nothing is
//! asked any more.

use std::sync::Arc;

use aizuchi_model::clock::Clock;
use jiff::SignedDuration;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::replay::judge::answer_cache::AnswerCache;

const MOST_AGE: SignedDuration = SignedDuration::from_mins(10);
const MOST_ANSWERS: usize = 2000;

pub struct RecentAnswers {
    clock: Clock,
    /// The answers, and from when on they were given, in the clock's elapsed time.
    kept: Mutex<Option<(SignedDuration, Arc<AnswerCache>)>>,
    /// Notifies the task that drops answers that there may be some.
    begun: Notify,
}

impl RecentAnswers {
    pub fn new(clock: Clock) -> Self {
        Self { clock, kept: Mutex::default(), begun: Notify::new() }
    }

    /// Returns the cache to ask with. Call this before the chat is read that is asked about: if any of it is erased
    /// from then on, the cache is not used again.
    pub fn current(&self) -> Arc<AnswerCache> {
        let now = self.clock.elapsed();
        let mut kept = self.kept.lock();
        if let Some((since, answers)) = &*kept
            && now - *since < MOST_AGE
            && answers.count() < MOST_ANSWERS
        {
            return answers.clone();
        }
        let answers = Arc::<AnswerCache>::default();
        *kept = Some((now, answers.clone()));
        drop(kept);
        self.begun.notify_one();
        answers
    }

    /// Drops the answers when anything is erased and when they are too old, until the shutdown.
    pub async fn drop_outdated(
        &self,
        mut erasures: watch::Receiver<u64>,
        shutdown: CancellationToken,
    ) {
        loop {
            let left = self.drop_old();
            tokio::select! {
                () = shutdown.cancelled() => return,
                changed = erasures.changed() => {
                    *self.kept.lock() = None;
                    if changed.is_err() {
                        // The store has been dropped. Wait for the shutdown, which ends the other tasks.
                        return shutdown.cancelled().await;
                    }
                }
                () = self.begun.notified() => {}
                _ = self.clock.timeout(left, std::future::pending::<()>()) => {}
            }
        }
    }

    /// Drops the answers if they are too old. Returns how long the next ones may stay.
    fn drop_old(&self) -> SignedDuration {
        let now = self.clock.elapsed();
        let mut kept = self.kept.lock();
        let age = kept.as_ref().map_or(SignedDuration::ZERO, |(since, _)| now - *since);
        if age < MOST_AGE {
            return MOST_AGE - age;
        }
        *kept = None;
        MOST_AGE
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use jiff::Timestamp;

    use super::*;

    const BEGIN: Timestamp = Timestamp::UNIX_EPOCH;

    fn recent_answers() -> RecentAnswers {
        RecentAnswers::new(Clock::manual(BEGIN))
    }

    fn is_kept(recent: &RecentAnswers) -> bool {
        recent.kept.lock().is_some()
    }

    #[test]
    fn answers_are_found_again_and_do_not_stay() {
        let recent = recent_answers();
        let first = recent.current();
        recent.clock.advance_to(BEGIN + SignedDuration::from_mins(9));
        assert!(Arc::ptr_eq(&first, &recent.current()));
        recent.clock.advance_to(BEGIN + MOST_AGE);
        assert!(!Arc::ptr_eq(&first, &recent.current()));
    }

    #[tokio::test]
    async fn what_is_taken_back_drops_answers_though_nothing_is_asked() {
        let recent = recent_answers();
        let (sender, erasures) = watch::channel(7);
        let shutdown = CancellationToken::new();
        let mut dropping = Box::pin(recent.drop_outdated(erasures, shutdown.clone()));
        assert!(poll!(&mut dropping).is_pending());
        let first = recent.current();
        assert!(poll!(&mut dropping).is_pending());
        assert!(is_kept(&recent));
        sender.send_replace(8);
        assert!(poll!(&mut dropping).is_pending());
        assert!(!is_kept(&recent));
        assert!(!Arc::ptr_eq(&first, &recent.current()));
        drop(sender);
        assert!(poll!(&mut dropping).is_pending(), "it ends with the shutdown");
        shutdown.cancel();
        dropping.await;
    }

    #[tokio::test]
    async fn what_is_too_old_goes_though_nothing_happens() {
        let recent = recent_answers();
        let (_sender, erasures) = watch::channel(7);
        let mut dropping = Box::pin(recent.drop_outdated(erasures, CancellationToken::new()));
        assert!(poll!(&mut dropping).is_pending());
        recent.clock.advance_to(BEGIN + MOST_AGE / 2);
        recent.current();
        for (at, expected) in [(BEGIN + MOST_AGE, true), (BEGIN + MOST_AGE / 2 + MOST_AGE, false)] {
            assert!(poll!(&mut dropping).is_pending());
            recent.clock.advance_to(at);
            assert!(poll!(&mut dropping).is_pending());
            assert_eq!(is_kept(&recent), expected);
        }
    }
}
