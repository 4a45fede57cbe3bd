//! Rate limits. Discord counts calls in buckets, which it names in its responses. A bucket refills after a while, and
//! an empty bucket does not delay calls of other buckets.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};

/// The total number of calls per second that Discord allows a bot.
const GLOBAL_LIMIT: u32 = 50;
const SECOND: SignedDuration = SignedDuration::from_secs(1);

#[derive(Default)]
pub struct RateLimiter(Mutex<RateLimiterState>);

#[derive(Default)]
struct RateLimiterState {
    global: Option<RateLimitBucket>,
    /// No call at all is made before this time.
    blocked_until: Timestamp,
    /// The bucket of each route, by Discord's name for it.
    names: HashMap<String, String>,
    buckets: HashMap<(String, String), RateLimitBucket>,
}

/// The route that a call counts against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RateLimitRoute {
    /// The method and the path, without ids.
    pub template: String,
    /// The id of the channel or server. Each has buckets of its own.
    pub major_parameter: String,
}

impl RateLimitRoute {
    /// Whether its calls count against the global limit. Discord exempts responses to interactions, which users wait
    /// for and which must not wait for a backfill.
    fn is_global(&self) -> bool {
        !["/interactions/", "/webhooks/"].iter().any(|path| self.template.contains(path))
    }
}

/// The number of calls left until the bucket refills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitBucket {
    pub limit: u32,
    pub remaining: u32,
    pub resets_at: Timestamp,
}

impl RateLimitBucket {
    fn next_turn(&mut self, now: Timestamp) -> Timestamp {
        if self.resets_at <= now {
            // A reported limit of 0 would block the route forever.
            self.remaining = self.limit.max(1);
            // An estimate, until the next response contains the real time.
            self.resets_at = now + SECOND;
        }
        if self.remaining == 0 { self.resets_at } else { now }
    }
}

impl RateLimiter {
    /// Reserves the next slot. Returns the wait as an error if it is longer than `longest`.
    pub fn reserve_turn(
        &self,
        route: &RateLimitRoute,
        now: Timestamp,
        longest: SignedDuration,
    ) -> Result<Timestamp, SignedDuration> {
        let mut state = self.lock();
        let state = &mut *state;
        // Each interaction has buckets of its own, which would accumulate.
        state.buckets.retain(|_, bucket| now.duration_since(bucket.resets_at) < SECOND * 60);
        let full = RateLimitBucket {
            limit: GLOBAL_LIMIT,
            remaining: GLOBAL_LIMIT,
            resets_at: now + SECOND,
        };
        let global = Some(state.global.get_or_insert(full)).filter(|_| route.is_global());
        let own_bucket = state.buckets.get_mut(&bucket_key(&state.names, route));
        let mut buckets: Vec<&mut RateLimitBucket> = global.into_iter().chain(own_bucket).collect();
        let turns = buckets.iter_mut().map(|bucket| bucket.next_turn(now));
        let turn = turns.fold(now.max(state.blocked_until), Timestamp::max);
        let wait = turn.duration_since(now);
        // Checked before the counts are reduced: a call that is not made must not use up a slot.
        if wait > longest {
            return Err(wait);
        }
        for bucket in buckets {
            bucket.remaining = bucket.remaining.saturating_sub(1);
        }
        Ok(turn)
    }

    /// Applies the state of a route's bucket that a response reports.
    pub fn update(&self, route: &RateLimitRoute, name: &str, reported: RateLimitBucket) {
        let mut state = self.lock();
        state.rename(&route.template, name);
        let bucket = state
            .buckets
            .entry((name.to_owned(), route.major_parameter.clone()))
            .or_insert(reported);
        // Responses arrive in any order, so the lowest count until the refill is the newest.
        let is_same_window = bucket.resets_at.duration_since(reported.resets_at).abs() < SECOND;
        let remaining = if is_same_window {
            bucket.remaining.min(reported.remaining)
        } else {
            reported.remaining
        };
        *bucket = RateLimitBucket { remaining, ..reported };
    }

    /// Blocks a route until a time.
    pub fn block(&self, route: &RateLimitRoute, until: Timestamp) {
        let mut state = self.lock();
        let key = bucket_key(&state.names, route);
        let empty = RateLimitBucket { limit: 1, remaining: 0, resets_at: until };
        let bucket = state.buckets.entry(key).or_insert(empty);
        *bucket =
            RateLimitBucket { remaining: 0, resets_at: until.max(bucket.resets_at), ..*bucket };
    }

    /// Blocks all calls until a time. Of several blocks the longest holds: responses to calls made at the same time
    /// arrive in any order.
    pub fn block_all(&self, until: Timestamp) {
        let mut state = self.lock();
        state.blocked_until = state.blocked_until.max(until);
    }

    fn lock(&self) -> MutexGuard<'_, RateLimiterState> {
        self.0.lock()
    }
}

impl RateLimiterState {
    /// Renames a route's buckets. Their counts and blocks are kept.
    fn rename(&mut self, template: &str, name: &str) {
        let old_name = self.names.insert(template.to_owned(), name.to_owned());
        let old_name = old_name.unwrap_or_else(|| template.to_owned());
        if old_name == name {
            return;
        }
        let moved = self.buckets.extract_if(|(known, _), _| *known == old_name);
        let moved: Vec<_> = moved
            .map(|((_, major_parameter), bucket)| ((name.to_owned(), major_parameter), bucket))
            .collect();
        for (key, bucket) in moved {
            self.buckets.entry(key).or_insert(bucket);
        }
    }
}

/// Returns the key of a route's bucket. Several routes may share one.
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

    fn route(channel: &str) -> RateLimitRoute {
        RateLimitRoute {
            template: "POST /channels/*/messages".to_owned(),
            major_parameter: channel.to_owned(),
        }
    }

    #[test]
    fn an_empty_bucket_does_not_delay_other_channels() {
        let limiter = RateLimiter::default();
        let (tea, attic, short) = (route("1"), route("2"), SignedDuration::from_secs(2));
        assert_eq!(limiter.reserve_turn(&tea, at(10), short), Ok(at(10)));
        limiter.update(&tea, "abc", RateLimitBucket { limit: 2, remaining: 1, resets_at: at(15) });
        assert_eq!(limiter.reserve_turn(&tea, at(10), short), Ok(at(10)));
        assert_eq!(limiter.reserve_turn(&tea, at(10), short), Err(SignedDuration::from_secs(5)));
        assert_eq!(limiter.reserve_turn(&tea, at(13), short), Ok(at(15)));
        assert_eq!(limiter.reserve_turn(&attic, at(10), short), Ok(at(10)));
        assert_eq!(limiter.reserve_turn(&tea, at(16), short), Ok(at(16)));
    }

    #[test]
    fn a_late_response_does_not_refill_a_bucket() {
        let (limiter, tea) = (RateLimiter::default(), route("1"));
        limiter.update(&tea, "abc", RateLimitBucket { limit: 5, remaining: 0, resets_at: at(15) });
        limiter.update(&tea, "abc", RateLimitBucket { limit: 5, remaining: 1, resets_at: at(15) });
        let turn = limiter.reserve_turn(&tea, at(10), SignedDuration::ZERO);
        assert_eq!(turn, Err(SignedDuration::from_secs(5)));
    }

    #[test]
    fn a_busy_bot_still_answers_interactions() {
        let limiter = RateLimiter::default();
        let turn = |route: &RateLimitRoute, second| {
            limiter.reserve_turn(route, at(second), SignedDuration::ZERO)
        };
        for channel in 0..50 {
            assert_eq!(turn(&route(&channel.to_string()), 10), Ok(at(10)));
        }
        let second = SignedDuration::from_secs(1);
        assert_eq!(turn(&route("50"), 10), Err(second));
        for template in ["POST /interactions/*", "PATCH /webhooks/*"] {
            let interaction =
                RateLimitRoute { template: template.to_owned(), major_parameter: "5".to_owned() };
            assert_eq!(turn(&interaction, 10), Ok(at(10)), "{template}");
        }
        // They use up no slots, and honor what Discord asks of all calls.
        assert_eq!(turn(&route("51"), 11), Ok(at(11)));
        limiter.block_all(at(13));
        let interaction = RateLimitRoute {
            template: "POST /interactions/*".to_owned(),
            major_parameter: "6".to_owned(),
        };
        assert_eq!(turn(&interaction, 12), Err(second));
    }

    #[test]
    fn blocks_are_honored() {
        let (limiter, tea) = (RateLimiter::default(), route("1"));
        let turn = |second| limiter.reserve_turn(&tea, at(second), SignedDuration::ZERO);
        limiter.block(&tea, at(17));
        assert_eq!(turn(10), Err(SignedDuration::from_secs(7)));
        assert_eq!(turn(17), Ok(at(17)));
        // A response for another channel of the bucket changes nothing.
        limiter.block(&tea, at(25));
        limiter.update(
            &route("2"),
            "abc",
            RateLimitBucket { limit: 5, remaining: 4, resets_at: at(19) },
        );
        assert_eq!(turn(18), Err(SignedDuration::from_secs(7)));
        limiter.block_all(at(30));
        limiter.block_all(at(23));
        assert_eq!(turn(20), Err(SignedDuration::from_secs(10)));
        assert_eq!(turn(30), Ok(at(30)));
        // At most 50 calls a second in total.
        let others = (0..).map(|channel| route(&channel.to_string()));
        let soon = others
            .take(60)
            .filter(|other| limiter.reserve_turn(other, at(40), SignedDuration::ZERO).is_ok());
        assert_eq!(soon.count(), 50);
    }
}
