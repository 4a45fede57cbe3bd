//! A Slack of one's own: the Web API, Socket Mode and a team that remembers, for tests and for people
//! without a workspace. It is written from Slack's documentation and knows nothing of our adapter.

pub mod ts;
pub mod api_error;
pub mod user;
pub mod message;
pub mod channel;
pub mod workspace;
mod message_actions;
mod channel_actions;
pub mod user_actions;
pub mod delivery;
pub mod fault;
pub mod journal;
pub mod state;
mod arguments;
pub mod driver;
mod api;
mod socket;
pub mod push;
mod control;
mod page;
mod seed;

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::routing::{any, get, post};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::shared_state::SharedState;
use crate::slack::state::FakeSlackState;
use crate::tcp;
use aizuchi_core::clock::Clock;

/// What a fake Slack is like.
#[derive(Clone, Debug)]
pub struct FakeSlackSettings {
    pub team: String,
    /// The first part of the team's address.
    pub domain: String,
    pub bot: String,
    pub bot_token: String,
    pub app_token: String,
    /// What events over HTTP are signed with.
    pub signing_secret: String,
    /// What the bot's token may do.
    pub scopes: Vec<String>,
    /// Tells the time and the ends of all waits.
    pub clock: Clock,
    /// How long an envelope may stay without an acknowledgment.
    pub ack_deadline: SignedDuration,
    /// How long after each failed try an event is brought again; then it is dropped.
    pub retry_delays: Vec<SignedDuration>,
    /// Between two pings on a socket.
    pub ping_interval: SignedDuration,
    pub max_connections: usize,
}

/// What an app of our kind asks for.
const DEFAULT_SCOPES: &[&str] = &[
    "app_mentions:read",
    "channels:history",
    "channels:join",
    "channels:read",
    "chat:write",
    "commands",
    "emoji:read",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "metadata.message:read",
    "mpim:history",
    "mpim:read",
    "mpim:write",
    "reactions:read",
    "reactions:write",
    "team:read",
    "usergroups:read",
    "users:read",
];

impl Default for FakeSlackSettings {
    fn default() -> Self {
        Self {
            team: "Dev Team".to_owned(),
            domain: "dev-team".to_owned(),
            bot: "Aizuchi".to_owned(),
            bot_token: "xoxb-dev".to_owned(),
            app_token: "xapp-dev".to_owned(),
            signing_secret: "dev-signing-secret".to_owned(),
            scopes: DEFAULT_SCOPES.iter().map(|scope| (*scope).to_owned()).collect(),
            clock: Clock::system(),
            ack_deadline: SignedDuration::from_secs(3),
            retry_delays: [0, 60, 300].map(SignedDuration::from_secs).to_vec(),
            ping_interval: SignedDuration::from_secs(10),
            max_connections: 10,
        }
    }
}

/// A fake Slack. What it is told to do by its methods happens at once; the sockets are served by
/// [`serve`].
pub struct FakeSlack {
    pub settings: FakeSlackSettings,
    state: SharedState<FakeSlackState>,
}

impl FakeSlack {
    pub fn new(settings: FakeSlackSettings) -> Arc<Self> {
        let state = SharedState::new(FakeSlackState::new(&settings));
        Arc::new(Self { settings, state })
    }

    /// Looks at everything there is.
    pub fn read<T>(&self, look: impl FnOnce(&FakeSlackState) -> T) -> T {
        self.state.read(look)
    }

    /// Changes something, and sends out what the app is to be told of it.
    pub fn change<T>(&self, work: impl FnOnce(&mut FakeSlackState) -> T) -> T {
        self.state.change(|state| {
            let done = work(state);
            state.flush_events(&self.settings);
            done
        })
    }

    /// Counts changes of any kind.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.state.subscribe()
    }

    /// Does what has become due, as it becomes due.
    async fn run_timers(&self) -> anyhow::Result<()> {
        let client = push::http_client().context("preparing to push events")?;
        let mut changed = self.subscribe();
        let mut pushed = FuturesUnordered::new();
        loop {
            changed.mark_unchanged();
            let (pushes, due) =
                self.read(|state| (!state.pending_pushes.is_empty(), state.next_timer()));
            if pushes {
                let pushes = self.change(|state| std::mem::take(&mut state.pending_pushes));
                pushed.extend(pushes.into_iter().map(|push| self.push(client.clone(), push)));
                continue;
            }
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
                Some(()) = pushed.next() => {}
            }
        }
    }
}

/// What each request can reach.
#[derive(Clone)]
struct ServerContext {
    fake: Arc<FakeSlack>,
    shutdown: CancellationToken,
}

/// Serves a fake Slack until `shutdown`.
pub async fn serve(
    listener: TcpListener,
    fake: Arc<FakeSlack>,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let served = ServerContext { fake: fake.clone(), shutdown: shutdown.clone() };
    tcp::serve(listener, router(served), fake.run_timers(), shutdown).await
}

fn router(served: ServerContext) -> Router {
    Router::new()
        .route("/api/{method}", any(api::handle_call))
        .route("/commands/{channel}/{user}", post(api::delayed_command_response))
        .route("/link", get(socket::connect))
        .route("/link/", get(socket::connect))
        .route("/control/state", get(control::state))
        .route("/control/{verb}", post(control::handle_command))
        .route("/", get(page::frame))
        .route("/lines", get(page::messages))
        .route("/page/{verb}", post(page::submit))
        .with_state(served)
}
