//! Which connections to the gateway there are to be, and which can be heard. A server's events come over one
//! of them; what is said of all servers counts only where all can be heard.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::Deserialize;
use twilight_gateway::ShardId;

use crate::Discord;
use crate::api::ApiError;
use aizuchi_core::clock::seconds;
use aizuchi_core::platform::air::{Air, State};

/// Where the gateway is, where Discord does not say.
const USUAL_GATEWAY: &str = "wss://gateway.discord.gg";
/// Discord counts how often a bot introduces itself. The last ones are left alone.
const LEFT_ALONE: u32 = 100;

#[derive(Default)]
pub struct Shards(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Since when each can be heard without a gap.
    since: Vec<Option<Timestamp>>,
    /// Before then, nobody introduces themselves.
    not_before: Option<Timestamp>,
}

/// How the gateway is to be joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub url: String,
    pub shards: u32,
}

/// What Discord answers to `/gateway/bot`.
#[derive(Deserialize)]
struct Gateway {
    url: String,
    shards: u32,
    session_start_limit: Option<Limit>,
}

#[derive(Deserialize)]
struct Limit {
    remaining: u32,
    /// In milliseconds.
    reset_after: u64,
}

impl Shards {
    fn begin(&self, count: u32) {
        self.lock().since = vec![None; count as usize];
    }

    /// One can be heard, and could without a gap since then.
    pub fn on(&self, shard: ShardId, since: Timestamp, air: &Air) {
        self.put(shard, Some(since), air);
    }

    pub fn off(&self, shard: ShardId, air: &Air) {
        self.put(shard, None, air);
    }

    fn put(&self, shard: ShardId, since: Option<Timestamp>, air: &Air) {
        let mut known = self.lock();
        if let Some(place) = known.since.get_mut(shard.number() as usize) {
            *place = since;
        }
        air.put(state(&known.since));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gap of one is a gap.
fn state(shards: &[Option<Timestamp>]) -> State {
    let open = shards.iter().flatten().count();
    let since = if open == shards.len() { shards.iter().flatten().max().copied() } else { None };
    State { open, since }
}

impl Discord {
    /// Asks Discord how to join, unless the settings say it all.
    pub(super) async fn plan(&self) -> Result<Plan, ApiError> {
        let (url, shards) = (self.settings.gateway_url.clone(), self.settings.shards);
        let plan = match (url, shards) {
            (Some(url), Some(shards)) => Plan { url, shards },
            (url, shards) => match self.read::<Gateway>("/gateway/bot").await {
                Ok(told) => {
                    self.heed(&told);
                    Plan {
                        url: url.unwrap_or(told.url),
                        shards: shards.unwrap_or(told.shards.max(1)),
                    }
                }
                Err(error @ ApiError::Refused(_)) => return Err(error),
                Err(ApiError::Limited(_) | ApiError::Unreachable(_) | ApiError::Unknown(_)) => {
                    let url = url.unwrap_or_else(|| USUAL_GATEWAY.to_owned());
                    Plan { url, shards: shards.unwrap_or(1) }
                }
            },
        };
        self.shards.begin(plan.shards);
        Ok(plan)
    }

    fn heed(&self, told: &Gateway) {
        if let Some(limit) = &told.session_start_limit
            && limit.remaining <= LEFT_ALONE
        {
            let wait = seconds(limit.reset_after as f64 / 1000.0);
            self.shards.lock().not_before = Some(self.now() + wait);
        }
    }

    /// When Discord lets it introduce itself again.
    pub(super) fn not_before(&self) -> Timestamp {
        self.shards.lock().not_before.unwrap_or(Timestamp::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_heard_where_all_shards_are() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (shards, open, since) in [
            (vec![None], 0, None),
            (vec![Some(at(5))], 1, Some(at(5))),
            (vec![Some(at(5)), None], 1, None),
            (vec![Some(at(5)), Some(at(9))], 2, Some(at(9))),
        ] {
            assert_eq!(state(&shards), State { open, since }, "{shards:?}");
        }
    }
}
