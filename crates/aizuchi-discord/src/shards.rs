//! The number of gateway connections (shards), and which of them are connected. A server's events arrive over one
//! shard, so the adapter counts as connected only while all shards are.

use aizuchi_model::clock::duration_from_seconds;
use aizuchi_platform::connection_tracker::{ConnectionState, ConnectionTracker};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;
use twilight_model::gateway::ShardId;

use crate::DiscordPlatform;
use crate::api::DiscordApiError;

/// The gateway's URL if Discord does not provide one.
const DEFAULT_GATEWAY_URL: &str = "wss://gateway.discord.gg";
/// Enough for a million servers.
const MAX_SHARDS: u32 = 1_000;
/// The longest time for which Discord can forbid identifying.
const MAX_RESET_SECONDS: f64 = 86_400.0;
/// Discord limits how often a bot may identify per day. This many are kept in reserve.
const RESERVED_IDENTIFIES: u32 = 100;

#[derive(Default)]
pub struct Shards(Mutex<ShardStates>);

#[derive(Default)]
struct ShardStates {
    /// The time since which each shard has missed no event, or `None` if it is not connected.
    since: Vec<Option<Timestamp>>,
    /// No shard identifies before this time.
    not_before: Option<Timestamp>,
}

/// How to connect to the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayPlan {
    pub url: String,
    pub shards: u32,
}

/// Discord's response to `/gateway/bot`.
#[derive(Deserialize)]
struct GatewayInfo {
    url: String,
    shards: u32,
    /// A [`SessionStartLimit`].
    #[serde(default)]
    session_start_limit: Value,
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

    /// Marks a shard as connected without a missed event since this time.
    pub fn mark_connected(&self, shard: ShardId, since: Timestamp, connection: &ConnectionTracker) {
        self.set_unbroken_since(shard, Some(since), connection);
    }

    pub fn mark_disconnected(&self, shard: ShardId, connection: &ConnectionTracker) {
        self.set_unbroken_since(shard, None, connection);
    }

    fn set_unbroken_since(
        &self,
        shard: ShardId,
        since: Option<Timestamp>,
        connection: &ConnectionTracker,
    ) {
        let mut state = self.lock();
        if let Some(shard_since) = state.since.get_mut(shard.number() as usize) {
            *shard_since = since;
        }
        // Within the lock, so that the states are published in order.
        connection.set(combined_status(&state.since));
    }

    fn lock(&self) -> MutexGuard<'_, ShardStates> {
        self.0.lock()
    }
}

/// Returns the gateway URL that Discord sent, if a connection can be opened to it.
pub fn gateway_url(url: &str) -> Option<String> {
    let parsed = Url::parse(url).ok()?;
    let is_gateway = matches!(parsed.scheme(), "ws" | "wss") && parsed.has_host();
    // The parser tolerates blanks; the gateway's client does not.
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
    (is_gateway && is_plain).then(|| url.to_owned())
}

fn default_url() -> String {
    DEFAULT_GATEWAY_URL.to_owned()
}

/// Combines the states of the shards. A gap in one shard is a gap in all.
fn combined_status(shards: &[Option<Timestamp>]) -> ConnectionState {
    let open_connections = shards.iter().flatten().count();
    let since = if open_connections == shards.len() {
        shards.iter().flatten().max().copied()
    } else {
        None
    };
    ConnectionState { open_connections, connected_since: since }
}

impl DiscordPlatform {
    /// Asks Discord how to connect, unless the settings are complete.
    pub(super) async fn plan_gateway(&self) -> Result<GatewayPlan, DiscordApiError> {
        let (url, shards) = (self.settings.gateway_url.clone(), self.settings.shards);
        let plan = match (url, shards) {
            (Some(url), Some(shards)) => GatewayPlan { url, shards },
            (url, shards) => match self.read_with_retries::<GatewayInfo>("/gateway/bot").await {
                Ok(info) => {
                    self.apply_limits(&info);
                    GatewayPlan {
                        url: url.or(gateway_url(&info.url)).unwrap_or_else(default_url),
                        // Bounded, because each shard takes a connection.
                        shards: shards.unwrap_or(info.shards.clamp(1, MAX_SHARDS)),
                    }
                }
                Err(error @ DiscordApiError::Refused(_)) => return Err(error),
                Err(
                    DiscordApiError::RateLimited(_)
                    | DiscordApiError::Unreachable(_)
                    | DiscordApiError::OutcomeUnknown(_)
                    | DiscordApiError::Malformed(_),
                ) => GatewayPlan {
                    url: url.unwrap_or_else(default_url),
                    shards: shards.unwrap_or(1),
                },
            },
        };
        self.shards.reset(plan.shards);
        Ok(plan)
    }

    fn apply_limits(&self, info: &GatewayInfo) {
        if let Ok(limit) = SessionStartLimit::deserialize(&info.session_start_limit)
            && limit.remaining <= RESERVED_IDENTIFIES
        {
            let seconds = limit.reset_after as f64 / 1000.0;
            let wait = duration_from_seconds(seconds.min(MAX_RESET_SECONDS));
            self.shards.lock().not_before = Some(self.now() + wait);
        }
    }

    /// Returns the time before which Discord accepts no further Identify.
    pub(super) fn identify_not_before(&self) -> Timestamp {
        self.shards.lock().not_before.unwrap_or(Timestamp::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adapter_is_connected_if_all_shards_are() {
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

    #[test]
    fn a_gateway_has_a_websocket_url() {
        for url in ["wss://gateway.discord.gg", "ws://127.0.0.1:4000/gateway"] {
            assert_eq!(gateway_url(url).as_deref(), Some(url));
        }
        for url in ["", "gateway", "https://gateway.discord.gg", "wss://", "wss://a b", "wss://é"]
        {
            assert_eq!(gateway_url(url), None, "{url}");
        }
    }
}
