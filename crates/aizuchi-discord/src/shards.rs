//! Which connections to the gateway there are to be, and which can be heard. A server's events come over one
//! of them; what is said of all servers counts only where all can be heard.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::Deserialize;
use twilight_gateway::ShardId;

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use aizuchi_core::clock::duration_from_seconds;
use aizuchi_core::platform::connection_status::{ConnectionState, ConnectionStatus};

/// Where the gateway is, where Discord does not say.
const DEFAULT_GATEWAY_URL: &str = "wss://gateway.discord.gg";
/// Discord counts how often a bot introduces itself. The last ones are left alone.
const RESERVED_IDENTIFIES: u32 = 100;

#[derive(Default)]
pub struct Shards(Mutex<ShardStates>);

#[derive(Default)]
struct ShardStates {
    /// Since when each can be heard without a gap.
    since: Vec<Option<Timestamp>>,
    /// Before then, nobody introduces themselves.
    not_before: Option<Timestamp>,
}

/// How the gateway is to be joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayPlan {
    pub url: String,
    pub shards: u32,
}

/// What Discord answers to `/gateway/bot`.
#[derive(Deserialize)]
struct GatewayInfo {
    url: String,
    shards: u32,
    session_start_limit: Option<SessionStartLimit>,
}

#[derive(Deserialize)]
struct SessionStartLimit {
    remaining: u32,
    /// In milliseconds.
    reset_after: u64,
}

impl Shards {
    fn reset(&self, count: u32) {
        self.lock().since = vec![None; count as usize];
    }

    /// One can be heard, and could without a gap since then.
    pub fn mark_connected(&self, shard: ShardId, since: Timestamp, air: &ConnectionStatus) {
        self.set_unbroken_since(shard, Some(since), air);
    }

    pub fn mark_disconnected(&self, shard: ShardId, air: &ConnectionStatus) {
        self.set_unbroken_since(shard, None, air);
    }

    fn set_unbroken_since(&self, shard: ShardId, since: Option<Timestamp>, air: &ConnectionStatus) {
        let mut known = self.lock();
        if let Some(place) = known.since.get_mut(shard.number() as usize) {
            *place = since;
        }
        air.set(combined_status(&known.since));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ShardStates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gap of one is a gap.
fn combined_status(shards: &[Option<Timestamp>]) -> ConnectionState {
    let open = shards.iter().flatten().count();
    let since = if open == shards.len() { shards.iter().flatten().max().copied() } else { None };
    ConnectionState { open_connections: open, connected_since: since }
}

impl DiscordPlatform {
    /// Asks Discord how to join, unless the settings say it all.
    pub(super) async fn plan_gateway(&self) -> Result<GatewayPlan, DiscordApiError> {
        let (url, shards) = (self.settings.gateway_url.clone(), self.settings.shards);
        let plan = match (url, shards) {
            (Some(url), Some(shards)) => GatewayPlan { url, shards },
            (url, shards) => match self.read_with_retries::<GatewayInfo>("/gateway/bot").await {
                Ok(told) => {
                    self.apply_limits(&told);
                    GatewayPlan {
                        url: url.unwrap_or(told.url),
                        shards: shards.unwrap_or(told.shards.max(1)),
                    }
                }
                Err(error @ DiscordApiError::Refused(_)) => return Err(error),
                Err(
                    DiscordApiError::RateLimited(_)
                    | DiscordApiError::Unreachable(_)
                    | DiscordApiError::OutcomeUnknown(_),
                ) => {
                    let url = url.unwrap_or_else(|| DEFAULT_GATEWAY_URL.to_owned());
                    GatewayPlan { url, shards: shards.unwrap_or(1) }
                }
            },
        };
        self.shards.reset(plan.shards);
        Ok(plan)
    }

    fn apply_limits(&self, told: &GatewayInfo) {
        if let Some(limit) = &told.session_start_limit
            && limit.remaining <= RESERVED_IDENTIFIES
        {
            let wait = duration_from_seconds(limit.reset_after as f64 / 1000.0);
            self.shards.lock().not_before = Some(self.now() + wait);
        }
    }

    /// When Discord lets it introduce itself again.
    pub(super) fn identify_not_before(&self) -> Timestamp {
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
            assert_eq!(
                combined_status(&shards),
                ConnectionState { open_connections: open, connected_since: since },
                "{shards:?}"
            );
        }
    }
}
