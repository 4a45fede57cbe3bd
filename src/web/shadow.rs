//! What models were asked in shadow: their answers for a while, so that a setting that is moved to and fro costs nothing
//! twice.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::replay::judge::answer_cache::AnswerCache;

/// Answers may quote chat, so they do not stay.
const MOST_AGE: SignedDuration = SignedDuration::from_mins(10);
const MOST_ANSWERS: usize = 2000;

/// The answers of the last minutes, in memory only. They are found by the whole request, so what was changed or
/// forgotten since finds none.
#[derive(Default)]
pub struct RecentAnswers(Mutex<Option<(Timestamp, Arc<AnswerCache>)>>);

impl RecentAnswers {
    pub fn at(&self, now: Timestamp) -> Arc<AnswerCache> {
        let mut recent = self.0.lock();
        if let Some((since, answers)) = &*recent
            && now.duration_since(*since) < MOST_AGE
            && answers.count() < MOST_ANSWERS
        {
            return answers.clone();
        }
        let answers = Arc::<AnswerCache>::default();
        *recent = Some((now, answers.clone()));
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_do_not_stay() {
        let (recent, now) = (RecentAnswers::default(), Timestamp::UNIX_EPOCH);
        let first = recent.at(now);
        assert!(Arc::ptr_eq(&first, &recent.at(now + SignedDuration::from_mins(9))));
        assert!(!Arc::ptr_eq(&first, &recent.at(now + MOST_AGE)));
    }
}
