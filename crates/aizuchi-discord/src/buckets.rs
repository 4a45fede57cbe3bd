//! Whose turn is when. Discord counts calls in buckets, which it names in its answers: a bucket is full of
//! calls again after a while, and one that is empty holds up nobody else.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// So many calls a second are answered at all.
const EVERYWHERE: u32 = 50;
const SECOND: SignedDuration = SignedDuration::from_secs(1);

#[derive(Default)]
pub struct Buckets(Mutex<Known>);

#[derive(Default)]
struct Known {
    everywhere: Option<Bucket>,
    /// Which bucket a route's calls are in, by the name that Discord gives it.
    names: HashMap<String, String>,
    buckets: HashMap<(String, String), Bucket>,
}

/// What a call is counted as.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The method and the path, without ids.
    pub shape: String,
    /// The channel or the server, which has buckets of its own.
    pub of: String,
}

/// So many calls are left until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub limit: u32,
    pub left: u32,
    pub full_again: Timestamp,
}

impl Bucket {
    fn turn(&mut self, now: Timestamp) -> Timestamp {
        if self.full_again <= now {
            self.left = self.limit.max(1);
            // Until Discord says how long it takes this time.
            self.full_again = now + SECOND;
        }
        if self.left == 0 { self.full_again } else { now }
    }
}

impl Buckets {
    /// Takes the next turn, unless it is too far away. The error is how far.
    pub fn turn(
        &self,
        route: &Route,
        now: Timestamp,
        longest: SignedDuration,
    ) -> Result<Timestamp, SignedDuration> {
        let mut known = self.lock();
        let known = &mut *known;
        known.buckets.retain(|_, bucket| now.duration_since(bucket.full_again) < SECOND * 60);
        let full = Bucket { limit: EVERYWHERE, left: EVERYWHERE, full_again: now + SECOND };
        let everywhere = known.everywhere.get_or_insert(full);
        let own = known.buckets.get_mut(&key(&known.names, route));
        let turns = [everywhere.turn(now)];
        let own_turn = own.map(|own| (own.turn(now), own));
        let turn = own_turn.iter().map(|(turn, _)| *turn).chain(turns).max().unwrap_or(now);
        let wait = turn.duration_since(now);
        if wait > longest {
            return Err(wait);
        }
        everywhere.left = everywhere.left.saturating_sub(1);
        if let Some((_, own)) = own_turn {
            own.left = own.left.saturating_sub(1);
        }
        Ok(turn)
    }

    /// Discord has told how full a route's bucket is.
    pub fn learn(&self, route: &Route, name: &str, told: Bucket) {
        let mut known = self.lock();
        known.rename(&route.shape, name);
        let bucket = known.buckets.entry((name.to_owned(), route.of.clone())).or_insert(told);
        // Answers come in any order: within one filling, the lowest is the newest.
        let is_same_filling = bucket.full_again.duration_since(told.full_again).abs() < SECOND;
        let left = if is_same_filling { bucket.left.min(told.left) } else { told.left };
        *bucket = Bucket { left, ..told };
    }

    /// Discord wants no such call before then.
    pub fn hold(&self, route: &Route, until: Timestamp) {
        let mut known = self.lock();
        let key = key(&known.names, route);
        let empty = Bucket { limit: 1, left: 0, full_again: until };
        let bucket = known.buckets.entry(key).or_insert(empty);
        *bucket = Bucket { left: 0, full_again: until.max(bucket.full_again), ..*bucket };
    }

    /// Discord wants no call at all before then.
    pub fn hold_all(&self, until: Timestamp) {
        let empty = Bucket { limit: EVERYWHERE, left: 0, full_again: until };
        self.lock().everywhere = Some(empty);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// What is held stays so under another name.
    fn rename(&mut self, shape: &str, name: &str) {
        let before = self.names.insert(shape.to_owned(), name.to_owned());
        let before = before.unwrap_or_else(|| shape.to_owned());
        if before == name {
            return;
        }
        let moved = self.buckets.extract_if(|(known, _), _| *known == before);
        let moved: Vec<_> =
            moved.map(|((_, of), bucket)| ((name.to_owned(), of), bucket)).collect();
        for (key, bucket) in moved {
            self.buckets.entry(key).or_insert(bucket);
        }
    }
}

/// Routes may share a bucket.
fn key(names: &HashMap<String, String>, route: &Route) -> (String, String) {
    let name = names.get(&route.shape).unwrap_or(&route.shape);
    (name.clone(), route.of.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn route(of: &str) -> Route {
        Route { shape: "POST /channels/*/messages".to_owned(), of: of.to_owned() }
    }

    #[test]
    fn an_empty_bucket_holds_up_nobody_else() {
        let buckets = Buckets::default();
        let (tea, attic, short) = (route("1"), route("2"), SignedDuration::from_secs(2));
        assert_eq!(buckets.turn(&tea, at(10), short), Ok(at(10)));
        buckets.learn(&tea, "abc", Bucket { limit: 2, left: 1, full_again: at(15) });
        assert_eq!(buckets.turn(&tea, at(10), short), Ok(at(10)));
        assert_eq!(buckets.turn(&tea, at(10), short), Err(SignedDuration::from_secs(5)));
        assert_eq!(buckets.turn(&tea, at(13), short), Ok(at(15)));
        assert_eq!(buckets.turn(&attic, at(10), short), Ok(at(10)));
        assert_eq!(buckets.turn(&tea, at(16), short), Ok(at(16)));
    }

    #[test]
    fn an_answer_that_comes_late_fills_no_bucket() {
        let (buckets, tea) = (Buckets::default(), route("1"));
        buckets.learn(&tea, "abc", Bucket { limit: 5, left: 0, full_again: at(15) });
        buckets.learn(&tea, "abc", Bucket { limit: 5, left: 1, full_again: at(15) });
        let turn = buckets.turn(&tea, at(10), SignedDuration::ZERO);
        assert_eq!(turn, Err(SignedDuration::from_secs(5)));
    }

    #[test]
    fn what_discord_wants_held_is_held() {
        let (buckets, tea) = (Buckets::default(), route("1"));
        let turn = |second| buckets.turn(&tea, at(second), SignedDuration::ZERO);
        buckets.hold(&tea, at(17));
        assert_eq!(turn(10), Err(SignedDuration::from_secs(7)));
        assert_eq!(turn(17), Ok(at(17)));
        // What another channel tells of the bucket changes nothing.
        buckets.hold(&tea, at(25));
        buckets.learn(&route("2"), "abc", Bucket { limit: 5, left: 4, full_again: at(19) });
        assert_eq!(turn(18), Err(SignedDuration::from_secs(7)));
        buckets.hold_all(at(30));
        assert_eq!(turn(20), Err(SignedDuration::from_secs(10)));
        assert_eq!(turn(30), Ok(at(30)));
        // So many a second and no more.
        let others = (0..).map(|of| route(&of.to_string()));
        let soon = others
            .take(60)
            .filter(|other| buckets.turn(other, at(40), SignedDuration::ZERO).is_ok());
        assert_eq!(soon.count(), 50);
    }
}
