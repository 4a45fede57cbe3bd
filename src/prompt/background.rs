//! What is known besides a context: memos that the persona keeps, and old lines that fit the talk.
//! Whoever gathers it has left out what may not be seen from there (invariant 9).

use std::cmp::Reverse;

use crate::memo::Memo;
use crate::recall::Recalled;

/// A memo of this priority matters.
const IMPORTANT: u8 = 4;
const MOST_IMPORTANT: usize = 20;
const MOST_RECENT: usize = 5;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Background {
    /// What matters most first.
    pub important_memos: Vec<Memo>,
    /// Others, the newest first.
    pub recent_memos: Vec<Memo>,
    /// What fits best first.
    pub recalled: Vec<Recalled>,
}

impl Background {
    /// Of all memos that may be seen, those that matter and a few that are new.
    pub fn of(mut memos: Vec<Memo>, recalled: Vec<Recalled>) -> Self {
        memos.sort_by(|one, other| {
            let key = |memo: &Memo| Reverse((memo.priority, memo.updated));
            key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
        });
        let important = memos.iter().take_while(|memo| memo.priority >= IMPORTANT).count();
        let mut recent_memos = memos.split_off(important.min(MOST_IMPORTANT));
        recent_memos.sort_by_key(|memo| Reverse(memo.updated));
        recent_memos.truncate(MOST_RECENT);
        Self { important_memos: memos, recent_memos, recalled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, Visibility};
    use jiff::Timestamp;

    #[test]
    fn what_matters_and_what_is_new_is_shown() {
        let memo = |number: u8| Memo {
            name: format!("{number}"),
            content: "x".to_owned(),
            priority: 1 + number % 5,
            tags: Vec::new(),
            detail: None,
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::from_second(i64::from(number)).unwrap(),
            channel: ChannelId::new("c"),
            visibility: Visibility::Public,
            said_by: None,
        };
        let names = |memos: &[Memo]| {
            memos.iter().map(|memo| memo.name.clone()).collect::<Vec<_>>().join(" ")
        };
        let few = Background::of((0..12).map(memo).collect(), Vec::new());
        assert_eq!(names(&few.important_memos), "9 4 8 3");
        assert_eq!(names(&few.recent_memos), "11 10 7 6 5");
        let many = Background::of((0..60).map(memo).collect(), Vec::new());
        assert_eq!(many.important_memos.len(), 20);
        assert_eq!(names(&many.recent_memos), "57 56 55 52 51");
    }
}
