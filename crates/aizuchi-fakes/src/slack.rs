//! A Slack of one's own: the Web API, Socket Mode and a team that remembers, for tests and for people
//! without a workspace. It is written from Slack's documentation and knows nothing of our adapter.

pub mod ts;
pub mod refusal;
pub mod user;
pub mod message;
pub mod channel;
pub mod workspace;
mod talk;
mod rooms;
pub mod people;
pub mod mail;
pub mod fault;
pub mod journal;
pub mod state;
mod arguments;
pub mod hands;
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

use crate::slack::state::State;
use crate::watched::Watched;
use crate::wire;
use aizuchi_core::clock::Clock;

/// What a fake Slack is like.
#[derive(Clone, Debug)]
pub struct Settings {
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
    pub retries: Vec<SignedDuration>,
    /// Between two pings on a socket.
    pub ping_interval: SignedDuration,
    pub most_connections: usize,
}

/// What an app of our kind asks for.
const SCOPES: &[&str] = &[
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

impl Default for Settings {
    fn default() -> Self {
        Self {
            team: "Dev Team".to_owned(),
            domain: "dev-team".to_owned(),
            bot: "Aizuchi".to_owned(),
            bot_token: "xoxb-dev".to_owned(),
            app_token: "xapp-dev".to_owned(),
            signing_secret: "dev-signing-secret".to_owned(),
            scopes: SCOPES.iter().map(|scope| (*scope).to_owned()).collect(),
            clock: Clock::system(),
            ack_deadline: SignedDuration::from_secs(3),
            retries: [0, 60, 300].map(SignedDuration::from_secs).to_vec(),
            ping_interval: SignedDuration::from_secs(10),
            most_connections: 10,
        }
    }
}

/// A fake Slack. What it is told to do by its methods happens at once; the sockets are served by
/// [`serve`].
pub struct FakeSlack {
    pub settings: Settings,
    state: Watched<State>,
}

impl FakeSlack {
    pub fn new(settings: Settings) -> Arc<Self> {
        let state = Watched::new(State::new(&settings));
        Arc::new(Self { settings, state })
    }

    /// Looks at everything there is.
    pub fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.state.read(look)
    }

    /// Changes something, and sends out what the app is to be told of it.
    pub fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        self.state.change(|state| {
            let done = work(state);
            state.send_out(&self.settings);
            done
        })
    }

    /// Counts changes of any kind.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.state.changed()
    }

    /// Does what has become due, as it becomes due.
    async fn tend(&self) -> anyhow::Result<()> {
        let client = push::client().context("preparing to push events")?;
        let mut changed = self.changed();
        let mut pushed = FuturesUnordered::new();
        loop {
            changed.mark_unchanged();
            let (pushes, due) = self.read(|state| (!state.pushes.is_empty(), state.next_chore()));
            if pushes {
                let pushes = self.change(|state| std::mem::take(&mut state.pushes));
                pushed.extend(pushes.into_iter().map(|push| self.push(client.clone(), push)));
                continue;
            }
            if due.is_some_and(|due| due <= self.settings.clock.now()) {
                self.change(|state| state.do_chores(&self.settings));
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
struct Served {
    fake: Arc<FakeSlack>,
    shutdown: CancellationToken,
}

/// Serves a fake Slack until `shutdown`.
pub async fn serve(
    listener: TcpListener,
    fake: Arc<FakeSlack>,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let served = Served { fake: fake.clone(), shutdown: shutdown.clone() };
    wire::serve(listener, router(served), fake.tend(), shutdown).await
}

fn router(served: Served) -> Router {
    Router::new()
        .route("/api/{method}", any(api::call))
        .route("/commands/{channel}/{user}", post(api::answer_later))
        .route("/link", get(socket::link))
        .route("/link/", get(socket::link))
        .route("/control/state", get(control::state))
        .route("/control/{verb}", post(control::order))
        .route("/", get(page::frame))
        .route("/lines", get(page::lines))
        .route("/page/{verb}", post(page::obey))
        .with_state(served)
}
