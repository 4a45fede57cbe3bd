//! A fake Discord: the REST API, the gateway and guilds, in memory. It is written from Discord's documentation and
//! shares no code with the adapter.

pub mod id;
pub mod api_error;
pub mod guild;
pub mod message;
pub mod channel;
pub mod mention;
mod nonce;
pub mod command;
pub mod world;
mod serialize;
mod application;
pub mod permission;
pub mod message_actions;
pub mod thread;
mod channel_actions;
mod command_actions;
pub mod method;
mod request;
pub mod rate_limit;
pub mod fault;
pub mod journal;
pub mod session;
pub mod state;
mod protocol;
pub mod driver;
mod files;
mod api;
mod gateway;
mod control;
mod page;
mod seed;

use std::sync::Arc;

use aizuchi_model::clock::Clock;
use axum::Router;
use axum::routing::{any, get, post};
use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use twilight_model::guild::Permissions;

use crate::discord::rate_limit::RateLimits;
use crate::discord::state::FakeDiscordState;
use crate::fake::Fake;
use crate::tcp;

#[derive(Clone, Debug)]
pub struct FakeDiscordSettings {
    pub bot: String,
    pub token: String,
    /// The permissions that the app was invited with.
    pub permissions: Permissions,
    pub clock: Clock,
    pub heartbeat_interval: SignedDuration,
    /// The minimum interval between two IDENTIFYs with the same rate limit key.
    pub identify_interval: SignedDuration,
    /// The number of rate limit keys.
    pub max_concurrency: u64,
    /// The minimum number of shards that the gateway accepts.
    pub min_shards: u64,
    pub rate_limits: RateLimits,
}

/// Returns the permissions that Aizuchi's Discord app requests.
fn default_permissions() -> Permissions {
    Permissions::VIEW_CHANNEL
        | Permissions::SEND_MESSAGES
        | Permissions::SEND_MESSAGES_IN_THREADS
        | Permissions::CREATE_PUBLIC_THREADS
        | Permissions::READ_MESSAGE_HISTORY
        | Permissions::ADD_REACTIONS
}

impl Default for FakeDiscordSettings {
    fn default() -> Self {
        Self {
            bot: "Aizuchi".to_owned(),
            token: "dev-discord-token".to_owned(),
            permissions: default_permissions(),
            clock: Clock::system(),
            heartbeat_interval: SignedDuration::from_millis(41_250),
            identify_interval: SignedDuration::from_secs(5),
            max_concurrency: 1,
            min_shards: 1,
            rate_limits: RateLimits::default(),
        }
    }
}

/// A fake Discord. At first its only user is the app; [`FakeDiscord::add_guild`] adds a guild that the app is in.
/// [`serve`] serves its HTTP API and gateway.
pub type FakeDiscord = Fake<FakeDiscordState>;

/// What the request handlers share.
type ServerContext = crate::fake::ServerContext<FakeDiscordState>;

pub async fn serve(
    listener: TcpListener,
    fake: Arc<FakeDiscord>,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let context = ServerContext { fake: fake.clone(), shutdown: shutdown.clone() };
    let timers = fake.run_timers(api::run_due_timers);
    tcp::serve(listener, router(context), timers, shutdown).await
}

fn router(context: ServerContext) -> Router {
    let page = crate::page::router(context.fake.clone());
    Router::new()
        .route("/api/v10/{*path}", any(api::handle_call))
        .route("/attachments/{channel}/{id}/{name}", get(files::download))
        .route("/gateway", get(gateway::connect))
        .route("/gateway/", get(gateway::connect))
        .route("/control/state", get(control::state))
        .route("/control/{verb}", post(control::handle_command))
        .with_state(context)
        .merge(page)
}
