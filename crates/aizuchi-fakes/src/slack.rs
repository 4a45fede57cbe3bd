//! A fake Slack: the Web API, Socket Mode, events over HTTP and one workspace, in memory. It is written from Slack's
//! documentation and shares no code with the adapter.

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
mod arguments;
pub mod request_url;
pub mod view;
pub mod state;
pub mod driver;
mod files;
mod api;
mod socket;
mod push;
mod control;
mod page;
mod seed;

use std::sync::Arc;

use aizuchi_model::clock::Clock;
use anyhow::Context as _;
use axum::Router;
use axum::routing::{any, get, post};
use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::fake::Fake;
use crate::slack::state::FakeSlackState;
use crate::tcp;

#[derive(Clone, Debug)]
pub struct FakeSlackSettings {
    pub team: String,
    pub bot: String,
    pub bot_token: String,
    pub app_token: String,
    /// The key that signs events over HTTP.
    pub signing_secret: String,
    /// The scopes of the bot token.
    pub scopes: Vec<String>,
    /// The slash commands of the app, each with its slash.
    pub commands: Vec<String>,
    /// Whether responses list the scopes. Some proxies drop such headers.
    pub names_scopes: bool,
    pub clock: Clock,
    /// How long an envelope may stay unacknowledged.
    pub ack_deadline: SignedDuration,
    /// The delay after each failed delivery of an event. After the last one, the event is dropped.
    pub retry_delays: Vec<SignedDuration>,
    pub ping_interval: SignedDuration,
    pub max_connections: usize,
}

/// The scopes that Aizuchi's Slack app requests.
const DEFAULT_SCOPES: &[&str] = &[
    "app_mentions:read", "channels:history", "channels:join", "channels:read", "chat:write",
    "commands", "emoji:read", "files:read", "groups:history", "groups:read", "im:history",
    "im:read", "im:write", "metadata.message:read", "mpim:history", "mpim:read", "mpim:write",
    "reactions:read", "reactions:write", "team:read", "usergroups:read", "users:read",
];

impl Default for FakeSlackSettings {
    fn default() -> Self {
        Self {
            team: "Dev Team".to_owned(),
            bot: "Aizuchi".to_owned(),
            bot_token: "xoxb-dev".to_owned(),
            app_token: "xapp-dev".to_owned(),
            signing_secret: "dev-signing-secret".to_owned(),
            scopes: DEFAULT_SCOPES.iter().map(|scope| (*scope).to_owned()).collect(),
            commands: vec!["/aizuchi".to_owned()],
            names_scopes: true,
            clock: Clock::system(),
            ack_deadline: SignedDuration::from_secs(3),
            retry_delays: [0, 60, 300].map(SignedDuration::from_secs).to_vec(),
            ping_interval: SignedDuration::from_secs(10),
            max_connections: 10,
        }
    }
}

/// A fake Slack. [`serve`] serves its HTTP API and sockets.
pub type FakeSlack = Fake<FakeSlackState>;

/// What the request handlers share.
type ServerContext = crate::fake::ServerContext<FakeSlackState>;

pub async fn serve(
    listener: TcpListener,
    fake: Arc<FakeSlack>,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let client = push::http_client().context("cannot prepare to push events")?;
    let context = ServerContext { fake: fake.clone(), shutdown: shutdown.clone() };
    let background = async {
        tokio::join!(fake.run_timers(api::run_due_timers), fake.run_pushes(&client));
    };
    tcp::serve(listener, router(context), background, shutdown).await
}

fn router(context: ServerContext) -> Router {
    let page = crate::page::router(context.fake.clone());
    Router::new()
        .route("/api/{method}", any(api::handle_call))
        .route("/commands/{channel}/{user}", post(api::delayed_command_response))
        .route("/files-pri/{key}/{name}", get(files::download))
        .route("/link", get(socket::connect))
        .route("/link/", get(socket::connect))
        .route("/control/state", get(control::state))
        .route("/control/{verb}", post(control::handle_command))
        .with_state(context)
        .merge(page)
}
