//! A Discord of one's own: REST, the gateway and guilds that remember, for tests and for people
//! without a server. It is written from Discord's documentation and knows nothing of our adapter.

pub mod id;
pub mod api_error;
pub mod guild;
pub mod message;
pub mod channel;
pub mod mention;
mod nonce;
pub mod world;
mod serialize;
mod application;
pub mod permission;
pub mod message_actions;
pub mod thread;
mod channel_actions;
pub mod command;
pub mod method;
pub mod rate_limit;
pub mod fault;
pub mod journal;
pub mod session;
pub mod state;
mod protocol;
pub mod driver;
mod api;
mod gateway;
mod control;
mod page;
mod seed;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get, post};
use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use twilight_model::guild::Permissions;

use crate::discord::rate_limit::RateLimits;
use crate::discord::state::FakeDiscordState;
use crate::shared_state::SharedState;
use crate::tcp;
use aizuchi_core::clock::Clock;

/// What a fake Discord is like.
#[derive(Clone, Debug)]
pub struct FakeDiscordSettings {
    pub bot: String,
    pub token: String,
    /// What the app was invited with.
    pub permissions: Permissions,
    /// Tells the time and the ends of all waits.
    pub clock: Clock,
    pub heartbeat_interval: SignedDuration,
    /// How long a session waits to be resumed.
    pub session_ttl: SignedDuration,
    /// Between the beginnings of two sessions of one rate-limit key.
    pub identify_interval: SignedDuration,
    /// How many keys there are.
    pub max_concurrency: u64,
    /// How many sessions may begin in a day.
    pub max_sessions_per_day: u32,
    /// The fewest shards that will do.
    pub min_shards: u64,
    /// How long the same nonce stands for the same message.
    pub nonce_ttl: SignedDuration,
    pub rate_limits: RateLimits,
}

/// What an app of our kind asks for.
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
            session_ttl: SignedDuration::from_mins(3),
            identify_interval: SignedDuration::from_secs(5),
            max_concurrency: 1,
            max_sessions_per_day: 1000,
            min_shards: 1,
            nonce_ttl: SignedDuration::from_mins(3),
            rate_limits: RateLimits::default(),
        }
    }
}

/// A fake Discord. What it is told to do by its methods happens at once; the sockets are served by
/// [`serve`].
pub struct FakeDiscord {
    pub settings: FakeDiscordSettings,
    state: SharedState<FakeDiscordState>,
}

impl FakeDiscord {
    /// A Discord on which nobody is but the app. [`Self::add_guild`] gives it somewhere to be.
    pub fn new(settings: FakeDiscordSettings) -> Arc<Self> {
        let state = SharedState::new(FakeDiscordState::new(&settings));
        Arc::new(Self { settings, state })
    }

    /// Looks at everything there is.
    pub fn read<T>(&self, look: impl FnOnce(&FakeDiscordState) -> T) -> T {
        self.state.read(look)
    }

    /// Changes something, and tells the app of it.
    pub fn change<T>(&self, work: impl FnOnce(&mut FakeDiscordState) -> T) -> T {
        self.state.change(|state| {
            let done = work(state);
            state.flush_events();
            done
        })
    }

    /// Counts changes of any kind.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.state.subscribe()
    }

    /// Does what has become due, as it becomes due.
    async fn run_timers(&self) -> anyhow::Result<()> {
        let mut changed = self.subscribe();
        loop {
            changed.mark_unchanged();
            let due = self.read(|state| state.timers.next_due_at());
            if due.is_some_and(|due| due <= self.settings.clock.now()) {
                self.change(|state| state.run_due_timers(&self.settings));
                continue;
            }
            let at_due = async {
                match due {
                    Some(due) => self.settings.clock.sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = at_due => {}
                _ = changed.changed() => {}
            }
        }
    }
}

/// What each request can reach.
#[derive(Clone)]
struct ServerContext {
    fake: Arc<FakeDiscord>,
    shutdown: CancellationToken,
}

/// Serves a fake Discord until `shutdown`.
pub async fn serve(
    listener: TcpListener,
    fake: Arc<FakeDiscord>,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let served = ServerContext { fake: fake.clone(), shutdown: shutdown.clone() };
    tcp::serve(listener, router(served), fake.run_timers(), shutdown).await
}

fn router(served: ServerContext) -> Router {
    Router::new()
        .route("/api/v10/{*path}", any(api::handle_call))
        .route("/gateway", get(gateway::connect))
        .route("/gateway/", get(gateway::connect))
        .route("/control/state", get(control::state))
        .route("/control/{verb}", post(control::handle_command))
        .route("/", get(page::frame))
        .route("/lines", get(page::messages))
        .route("/page/{verb}", post(page::submit))
        .with_state(served)
}
