//! Whose turn is when. Discord counts calls in buckets, which it names in its answers: a bucket is full of
//! calls again after a while, and one that is empty holds up nobody else.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// So many calls a second are answered at all.
const GLOBAL_LIMIT: u32 = 50;
const SECOND: SignedDuration = SignedDuration::from_secs(1);

#[derive(Default)]
pub struct RateLimiter(Mutex<RateLimiterState>);

#[derive(Default)]
struct RateLimiterState {
    global: Option<RateLimitBucket>,
    /// Which bucket a route's calls are in, by the name that Discord gives it.
    names: HashMap<String, String>,
    buckets: HashMap<(String, String), RateLimitBucket>,
}

/// What a call is counted as.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RateLimitRoute {
    /// The method and the path, without ids.
    pub template: String,
    /// The channel or the server, which has buckets of its own.
    pub major_parameter: String,
}

/// So many calls are left until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitBucket {
    pub limit: u32,
    pub remaining: u32,
    pub resets_at: Timestamp,
}

impl RateLimitBucket {
    fn next_turn(&mut self, now: Timestamp) -> Timestamp {
        if self.resets_at <= now {
            self.remaining = self.limit.max(1);
            // Until Discord says how long it takes this time.
            self.resets_at = now + SECOND;
        }
        if self.remaining == 0 { self.resets_at } else { now }
    }
}

impl RateLimiter {
    /// Takes the next turn, unless it is too far away. The error is how far.
    pub fn reserve_turn(
        &self,
        route: &RateLimitRoute,
        now: Timestamp,
        longest: SignedDuration,
    ) -> Result<Timestamp, SignedDuration> {
        let mut known = self.lock();
        let known = &mut *known;
        known.buckets.retain(|_, bucket| now.duration_since(bucket.resets_at) < SECOND * 60);
        let full = RateLimitBucket {
            limit: GLOBAL_LIMIT,
            remaining: GLOBAL_LIMIT,
            resets_at: now + SECOND,
        };
        let everywhere = known.global.get_or_insert(full);
        let own = known.buckets.get_mut(&bucket_key(&known.names, route));
        let turns = [everywhere.next_turn(now)];
        let own_turn = own.map(|own| (own.next_turn(now), own));
        let turn = own_turn.iter().map(|(turn, _)| *turn).chain(turns).max().unwrap_or(now);
        let wait = turn.duration_since(now);
        if wait > longest {
            return Err(wait);
        }
        everywhere.remaining = everywhere.remaining.saturating_sub(1);
        if let Some((_, own)) = own_turn {
            own.remaining = own.remaining.saturating_sub(1);
        }
        Ok(turn)
    }

    /// Discord has told how full a route's bucket is.
    pub fn update(&self, route: &RateLimitRoute, name: &str, told: RateLimitBucket) {
        let mut known = self.lock();
        known.rename(&route.template, name);
        let bucket =
            known.buckets.entry((name.to_owned(), route.major_parameter.clone())).or_insert(told);
        // Answers come in any order: within one filling, the lowest is the newest.
        let is_same_filling = bucket.resets_at.duration_since(told.resets_at).abs() < SECOND;
        let left =
            if is_same_filling { bucket.remaining.min(told.remaining) } else { told.remaining };
        *bucket = RateLimitBucket { remaining: left, ..told };
    }

    /// Discord wants no such call before then.
    pub fn block(&self, route: &RateLimitRoute, until: Timestamp) {
        let mut known = self.lock();
        let key = bucket_key(&known.names, route);
        let empty = RateLimitBucket { limit: 1, remaining: 0, resets_at: until };
        let bucket = known.buckets.entry(key).or_insert(empty);
        *bucket =
            RateLimitBucket { remaining: 0, resets_at: until.max(bucket.resets_at), ..*bucket };
    }

    /// Discord wants no call at all before then.
    pub fn block_all(&self, until: Timestamp) {
        let empty = RateLimitBucket { limit: GLOBAL_LIMIT, remaining: 0, resets_at: until };
        self.lock().global = Some(empty);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RateLimiterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RateLimiterState {
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
fn bucket_key(names: &HashMap<String, String>, route: &RateLimitRoute) -> (String, String) {
    let name = names.get(&route.template).unwrap_or(&route.template);
    (name.clone(), route.major_parameter.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn route(of: &str) -> RateLimitRoute {
        RateLimitRoute {
            template: "POST /channels/*/messages".to_owned(),
            major_parameter: of.to_owned(),
        }
    }

    #[test]
    fn an_empty_bucket_holds_up_nobody_else() {
        let buckets = RateLimiter::default();
        let (tea, attic, short) = (route("1"), route("2"), SignedDuration::from_secs(2));
        assert_eq!(buckets.reserve_turn(&tea, at(10), short), Ok(at(10)));
        buckets.update(&tea, "abc", RateLimitBucket { limit: 2, remaining: 1, resets_at: at(15) });
        assert_eq!(buckets.reserve_turn(&tea, at(10), short), Ok(at(10)));
        assert_eq!(buckets.reserve_turn(&tea, at(10), short), Err(SignedDuration::from_secs(5)));
        assert_eq!(buckets.reserve_turn(&tea, at(13), short), Ok(at(15)));
        assert_eq!(buckets.reserve_turn(&attic, at(10), short), Ok(at(10)));
        assert_eq!(buckets.reserve_turn(&tea, at(16), short), Ok(at(16)));
    }

    #[test]
    fn an_answer_that_comes_late_fills_no_bucket() {
        let (buckets, tea) = (RateLimiter::default(), route("1"));
        buckets.update(&tea, "abc", RateLimitBucket { limit: 5, remaining: 0, resets_at: at(15) });
        buckets.update(&tea, "abc", RateLimitBucket { limit: 5, remaining: 1, resets_at: at(15) });
        let turn = buckets.reserve_turn(&tea, at(10), SignedDuration::ZERO);
        assert_eq!(turn, Err(SignedDuration::from_secs(5)));
    }

    #[test]
    fn what_discord_wants_held_is_held() {
        let (buckets, tea) = (RateLimiter::default(), route("1"));
        let turn = |second| buckets.reserve_turn(&tea, at(second), SignedDuration::ZERO);
        buckets.block(&tea, at(17));
        assert_eq!(turn(10), Err(SignedDuration::from_secs(7)));
        assert_eq!(turn(17), Ok(at(17)));
        // What another channel tells of the bucket changes nothing.
        buckets.block(&tea, at(25));
        buckets.update(
            &route("2"),
            "abc",
            RateLimitBucket { limit: 5, remaining: 4, resets_at: at(19) },
        );
        assert_eq!(turn(18), Err(SignedDuration::from_secs(7)));
        buckets.block_all(at(30));
        assert_eq!(turn(20), Err(SignedDuration::from_secs(10)));
        assert_eq!(turn(30), Ok(at(30)));
        // So many a second and no more.
        let others = (0..).map(|of| route(&of.to_string()));
        let soon = others
            .take(60)
            .filter(|other| buckets.reserve_turn(other, at(40), SignedDuration::ZERO).is_ok());
        assert_eq!(soon.count(), 50);
    }
}
