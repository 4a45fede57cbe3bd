//! The local room in a browser, the console of all workspaces, their JSON API, a Model Context Protocol server, health
//! checks and web hooks. Without a token, the pages, the API and the protocol server answer only requests from this
//! machine.

pub mod status;
pub mod peer;
pub mod server;
mod failed_sign_ins;
pub mod computations;
pub mod report_cache;
pub mod shadow;
pub mod sign_in_link;
mod sessions;
mod access;
mod scoped_archive;
mod scoped_store;
mod language;
mod refusal;
mod compression;
mod own_page;
mod problem_page;
mod request_origin;
pub mod auth;
mod admission;
mod sign_in;
mod markdown;
pub mod views;
mod workspaces;
pub mod figures;
mod api;
mod actions;
mod private_reads;
mod order_journal;
mod orders;
mod standing_orders;
mod plans;
mod place_settings;
pub mod people;
pub mod configuration;
mod dead_letters;
mod failures;
mod deciders;
mod trust;
mod proposals;
mod consents;
mod memories;
mod models;
pub mod event_streams;
mod judge_again;
pub mod room;
mod console;
pub mod health;
mod mcp;
mod webhooks;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use aizuchi_actions::refusal::{ActionError, ActionRefusal};
use aizuchi_agent::inbox::Inbox;
use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::runner::Heartbeat;
use aizuchi_config::models::in_use::ModelsInUse;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::tolerance::WelcomeLabels;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::platform::Platforms;
use aizuchi_past::shadow::recent_answers::RecentAnswers;
use aizuchi_platform::demo::Demo;
use aizuchi_platform::local::LocalRoom;
use aizuchi_platform::remote::Remotes;
use aizuchi_store::archive::Archive;
use aizuchi_store::{Store, StoreError};
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::auth::Authenticator;
use crate::computations::Computations;
use crate::configuration::Configuration;
use crate::event_streams::EventStreams;
use crate::figures::day_cache::DayCache;
use crate::health::HealthStatus;
use crate::refusal::Refusal;
use crate::report_cache::ReportCache;
use crate::room::feed::RoomFeed;
use crate::scoped_archive::ScopedArchive;
use crate::scoped_store::ScopedStore;
use crate::server::{Server, ServerLimits};

/// What the request handlers need.
#[derive(Clone)]
pub struct Web {
    pub room: Arc<LocalRoom>,
    pub demo: Arc<Demo>,
    pub remotes: Remotes,
    pub platforms: Platforms,
    pub archive: Arc<dyn Archive>,
    pub store: Arc<dyn Store>,
    /// The places that can be reached with this.
    pub scope: AccessScope,
    /// Receives the visitors' orders.
    pub inbox: Arc<Inbox>,
    /// The changes of the room, for all open pages.
    pub room_feed: Arc<RoomFeed>,
    /// The store's newest committed revision.
    pub revisions: watch::Receiver<u64>,
    /// The store's count of erasures.
    pub erasures: watch::Receiver<u64>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    pub heartbeat: Heartbeat,
    pub persona: Arc<Persona>,
    /// The wait before a conversation of the local room is judged, in seconds.
    pub room_wait_seconds: f64,
    /// The wait on a chat platform, in seconds.
    pub platform_wait_seconds: f64,
    /// The models in use, and the others that could be selected.
    pub models: Arc<ModelsInUse>,
    /// Where the pages are served.
    pub address: SocketAddr,
    /// The currency of all prices.
    pub currency: String,
    /// Opens the pages to other machines. Without a token, only requests from this machine are answered.
    pub authenticator: Arc<Authenticator>,
    /// The time zone in which days begin.
    pub zone: TimeZone,
    /// The location of the database, without credentials.
    pub database: String,
    /// Runs long computations.
    pub computations: Computations,
    /// The recent answers of models that were asked in shadow.
    pub shadow_answers: Arc<RecentAnswers>,
    /// The most recently computed reports.
    pub report_cache: Arc<ReportCache>,
    /// How welcome posts were.
    pub welcome_labels: Arc<WelcomeLabels>,
    /// The cached figures of past days.
    pub day_cache: Arc<DayCache>,
    /// Whether the Model Context Protocol is served.
    pub serves_mcp: bool,
    /// The open event streams.
    pub event_streams: Arc<EventStreams>,
    /// The config in force.
    pub configuration: Arc<Configuration>,
    /// The status that the health port reports.
    pub health_status: Arc<HealthStatus>,
    /// Ends the event streams, so that a shutdown does not wait for browsers.
    pub shutdown: CancellationToken,
}

impl Web {
    /// Returns what the handlers need for a visitor who is limited to places. It reaches nothing else.
    fn within(&self, scope: &AccessScope) -> Self {
        // The one of all servers of Discord is a prefix of their ids.
        let has = |id: &str| {
            let belongs = |it: &WorkspaceId| it.as_str() == id || it.platform() == id;
            scope.places().any(|place| belongs(&place.workspace))
        };
        let remotes = self.remotes.read();
        let remotes = remotes.iter().filter(|(_, remote)| has(remote.workspace().as_str()));
        let remotes: BTreeMap<_, _> = remotes.map(|(name, it)| (*name, it.clone())).collect();
        let platforms = self.platforms.0.read();
        let platforms = platforms.iter().filter(|(id, _)| has(id.as_str()));
        let platforms: HashMap<_, _> =
            platforms.map(|(id, platform)| (id.clone(), platform.clone())).collect();
        let (archive, store) = (self.archive.clone(), self.store.clone());
        let mut limited = Self {
            archive: Arc::new(ScopedArchive { inner: archive, scope: scope.clone() }),
            store: Arc::new(ScopedStore { inner: store, scope: scope.clone() }),
            scope: scope.clone(),
            remotes: remotes.into(),
            platforms: Platforms(platforms.into()),
            health_status: Arc::default(),
            ..self.clone()
        };
        // Figures and reports of a whole workspace are the same for all who reach it.
        if scope.places().any(|place| place.channel.is_some()) {
            limited.day_cache = Arc::default();
            limited.report_cache = Arc::new(ReportCache::new(self.clock.clone()));
        }
        limited
    }
}

/// The path of a channel's page.
pub fn channel_page(workspace: &WorkspaceId, channel: &ChannelId) -> String {
    console::layout::channel_address(workspace, channel)
}

/// Percent-encodes a part of an address.
pub fn in_address(part: &str) -> String {
    console::layout::encode(part)
}

/// The maximum size of a request body. It is far above the limit of a message, so that a user who pastes too much
/// text gets an error message and not a broken connection.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The maximum size of a request body from a sender who is not authenticated yet.
const MAX_WEBHOOK_BYTES: usize = 1024 * 1024;
const MAX_FORM_BYTES: usize = 4 * 1024;
/// The maximum size of a form with free text: the longest is a persona's prompt, and a form needs nine bytes for most
/// Japanese characters, and twelve for an emoji.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Computes what pages show before anybody waits for it, until the shutdown: outdated reports that are being viewed, and
/// the week before each day.
pub async fn compute_ahead(web: Arc<Web>, shutdown: CancellationToken) {
    let reports = console::report::renew_wanted(web.clone(), shutdown.clone());
    let weeks = shutdown.run_until_cancelled_owned(figures::count_weeks(web));
    tokio::join!(reports, weeks);
}

/// The server for the pages, the API and the web hooks. Runs until `web.shutdown` is cancelled.
pub fn pages_server(listener: TcpListener, web: Arc<Web>, limits: ServerLimits) -> Server {
    let shutdown = web.shutdown.clone();
    Server::new(listener, router(web), limits, shutdown)
}

/// The server for health checks by supervisors on other machines, and for the metrics if that is configured. It
/// reveals only a status, whether platforms are connected, and how much is pending.
pub fn health_server(
    listener: TcpListener,
    web: Arc<Web>,
    limits: ServerLimits,
    has_metrics: bool,
) -> Server {
    let shutdown = web.shutdown.clone();
    let mut router = Router::new()
        .route("/live", get(health::live))
        .route("/ready", get(health::status))
        .route("/available", get(health::status))
        .route("/health", get(health::health))
        .route("/", get(health::health))
        .fallback(|| async { StatusCode::NOT_FOUND });
    if has_metrics {
        router = router.route("/metrics", get(health::open_metrics));
    }
    let router = router.with_state(web);
    Server::new(listener, router, limits, shutdown)
}

/// The server of a process on standby: `/live`, and for all other requests the error that another process is active.
pub fn standby_server(
    listener: TcpListener,
    limits: ServerLimits,
    shutdown: CancellationToken,
) -> Server {
    let router = Router::new().route("/live", get(health::live)).fallback(health::standby);
    Server::new(listener, router, limits, shutdown)
}

/// The health checks of a process on standby, and its metrics if that is configured.
pub fn standby_health_server(
    listener: TcpListener,
    limits: ServerLimits,
    shutdown: CancellationToken,
    can_look: Arc<AtomicBool>,
    metrics: Option<Arc<Metrics>>,
) -> Server {
    let mut router = Router::new()
        .route("/live", get(health::live))
        .route("/ready", get(health::unready))
        .route("/available", get(health::standing_by).with_state(can_look.clone()))
        .route("/health", get(health::starting))
        .route("/", get(health::starting))
        .fallback(|| async { StatusCode::NOT_FOUND });
    if let Some(metrics) = metrics {
        let metrics = get(health::standby_metrics).with_state((metrics, can_look));
        router = router.route("/metrics", metrics);
    }
    Server::new(listener, router, limits, shutdown)
}

fn router(web: Arc<Web>) -> Router {
    Router::new()
        .fallback_service(routes(web.clone()))
        .layer(middleware::from_fn_with_state(web.clone(), admission::require_access))
        // Web hooks come from other machines. They are authenticated by their signature.
        .route(
            "/slack/events",
            post(webhooks::slack).layer(DefaultBodyLimit::max(MAX_WEBHOOK_BYTES)),
        )
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn(compression::compress))
        .with_state(web)
}

/// What admitted visitors reach.
fn routes(web: Arc<Web>) -> Router {
    api::routes::router()
        .route("/", get(room::page::room))
        .route("/static/{*file}", get(room::page::file))
        .route("/console", get(console::home::page))
        .route(
            "/console/queue",
            get(console::queue::page)
                .post(console::queue::decide)
                .layer(DefaultBodyLimit::max(MAX_TEXT_BYTES)),
        )
        .route("/console/failures", get(console::failures::page))
        .route("/console/plans", get(console::plans::page))
        .route("/console/figures", get(console::figures::page))
        .route("/console/api", get(api::reference_page::page))
        .route("/api/openapi.json", get(api::openapi::serve))
        .route("/console/report", get(console::report::page))
        .route("/console/report.css", get(console::report::style))
        .route(
            "/console/memory",
            get(console::memory::page)
                .post(console::memory::order)
                .layer(DefaultBodyLimit::max(MAX_TEXT_BYTES)),
        )
        .route("/console/memory/versions", get(console::memory::versions::page))
        .route(
            "/console/persona",
            get(console::persona::page)
                .post(console::persona::order)
                .layer(DefaultBodyLimit::max(MAX_TEXT_BYTES)),
        )
        .route(
            "/console/channels",
            get(console::channels::page)
                .post(console::channels::order)
                .layer(DefaultBodyLimit::max(MAX_TEXT_BYTES)),
        )
        .route(
            "/console/people",
            get(console::people::page)
                .post(console::people::forget)
                .layer(DefaultBodyLimit::max(MAX_FORM_BYTES)),
        )
        .route("/console/people/{workspace}/{user}", get(console::people::person))
        .route(
            "/console/configuration",
            get(console::configuration::page).post(console::configuration::reload),
        )
        .route("/console/channels/{workspace}/{channel}", get(console::timeline::page))
        .route(
            "/console/channels/{workspace}/{channel}/what-if",
            get(console::what_if::page)
                .post(console::what_if::ask)
                .layer(DefaultBodyLimit::max(MAX_FORM_BYTES)),
        )
        .route(
            "/console/channels/{workspace}/{channel}/order-trial",
            post(console::standing_order_trial::order).layer(DefaultBodyLimit::max(MAX_FORM_BYTES)),
        )
        .route("/console/decisions/{workspace}/{id}", get(console::decision::page))
        .route(
            "/console/decisions/{workspace}/{id}/judge",
            get(console::judge_again::page)
                .post(console::judge_again::order)
                .layer(DefaultBodyLimit::max(MAX_FORM_BYTES)),
        )
        .route("/console/events", get(console::events::events))
        .route(
            "/console/orders",
            get(console::order_journal::page)
                .post(console::orders::order)
                .layer(DefaultBodyLimit::max(MAX_FORM_BYTES)),
        )
        .route("/decisions/{id}", get(room::decision::decision))
        .route("/events", get(room::events::events))
        .route(
            "/login",
            get(sign_in::page).post(sign_in::sign_in).layer(DefaultBodyLimit::max(MAX_FORM_BYTES)),
        )
        .route("/logout", post(sign_in::sign_out))
        .route("/live", get(health::live))
        .route("/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .merge(mcp::router(&web))
        .method_not_allowed_fallback(|| async { ApiProblem::from(Refusal::WrongMethod) })
        .fallback(|| async { ApiProblem::from(Refusal::NothingHere) })
        .layer(middleware::from_fn_with_state(web.clone(), console::mute_all::tell))
        .layer(middleware::from_fn(workspaces::expect_one))
        .with_state(web)
}

/// The result of an API handler.
type JsonResult<T> = Result<Json<T>, ApiProblem>;

/// The response header that names a refusal, for programs. The sentence in the body is for people, in their language.
pub const REFUSAL_HEADER: &str = "aizuchi-refusal";

/// An error response.
#[derive(Clone, Debug)]
pub(crate) struct ApiProblem(Arc<Refusal>);

impl ApiProblem {
    /// Builds the JSON response for programs.
    fn answer(self, language: Language) -> Response {
        let (status, id) = (self.0.status(), self.0.id());
        let json = self.to_json(language);
        (status, [(REFUSAL_HEADER, id)], Extension(self), json).into_response()
    }

    fn to_json(&self, language: Language) -> Json<Value> {
        Json(json!({ "error": self.0.describe(language) }))
    }
}

impl From<Refusal> for ApiProblem {
    fn from(refusal: Refusal) -> Self {
        Self(Arc::new(refusal))
    }
}

impl From<ActionRefusal> for ApiProblem {
    fn from(refusal: ActionRefusal) -> Self {
        Refusal::Action(refusal).into()
    }
}

impl From<ActionError> for ApiProblem {
    fn from(error: ActionError) -> Self {
        match error {
            ActionError::Refused(refusal) => refusal.into(),
            ActionError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for ApiProblem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(why) => return ActionRefusal::Order(why).into(),
            StoreError::Busy(_) => {
                tracing::warn!(%error, "the store was too busy to serve a request")
            }
            StoreError::Broken(_) => {
                tracing::error!(%error, "the store failed to serve a request");
            }
        }
        Refusal::Store(error).into()
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        // `RefusedRequest::translate` translates it into the reader's language, and renders it as a page for a browser.
        self.answer(Language::En)
    }
}
