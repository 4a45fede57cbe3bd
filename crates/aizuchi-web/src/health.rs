//! Health checks for supervisors (`/live`, `/ready`, and `/health` in the format of kotonoha) and `/metrics`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::metrics::gauges::{BudgetPeriod, GaugeSnapshot, Readiness};
use aizuchi_model::chat::ChannelId;
use aizuchi_model::persona::Language;
use aizuchi_model::platform::backfill_progress::BackfillProgress;
use aizuchi_store::StoreError;
use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::access::Visitor;
use crate::console::health::failing_models;
use crate::language::language_of;
use crate::refusal::Refusal;
use crate::request_origin::is_from_here;
use crate::{ApiProblem, Web, models};

/// The last status that the health port found, cached so that many requests cost the store few reads.
#[derive(Default)]
pub struct HealthStatus {
    told: Mutex<Option<KnownStatus>>,
    /// When the figures of `/metrics` were read from the store.
    measured: Mutex<Option<Timestamp>>,
}

/// The status that the health port reports.
#[derive(Clone, Copy)]
struct KnownStatus {
    at: Timestamp,
    is_ready: bool,
    /// The number of conversations in which something is pending.
    pending: u64,
}

/// The media types that clients of the older metrics format and of OpenMetrics accept.
const PLAIN_TEXT: &str = "text/plain";
const OPENMETRICS: &str = "application/openmetrics-text";
/// The maximum number of channel ids that are shown.
const MAX_CHANNELS_SHOWN: usize = 50;
/// How long the database may take to answer a readiness check.
const READINESS_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);
/// How long a status is reused.
const STATUS_AGE: SignedDuration = SignedDuration::from_millis(500);

/// The response of a process on standby. Only clients on this machine learn why it is not ready.
pub async fn standby(request: Request) -> Response {
    if !is_from_here(&request) {
        return unready().await.into_response();
    }
    let language = language_of(request.headers()).unwrap_or(Language::En);
    ApiProblem::from(Refusal::StandingBy).answer(language)
}

/// Reports that the process is running.
pub async fn live() -> Json<Value> {
    Json(json!({ "status": "live" }))
}

/// Reports that the program is not ready, and nothing else.
pub async fn unready() -> (StatusCode, Json<Value>) {
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "unready" })))
}

/// Reports whether the program is ready, and nothing else.
pub async fn status(State(web): State<Arc<Web>>) -> Response {
    if known_status(&web).await.is_ready {
        Json(json!({ "status": "ready" })).into_response()
    } else {
        unready().await.into_response()
    }
}

/// Reports whether the process can be used as soon as the active one ends.
pub async fn standing_by(State(can_look): State<Arc<AtomicBool>>) -> Response {
    match can_look.load(Ordering::Relaxed) {
        true => Json(json!({ "status": "standing by" })).into_response(),
        false => unready().await.into_response(),
    }
}

/// Reports the status in the format of kotonoha: whether the program is healthy, whether each platform is connected,
/// and the number of conversations in which something is pending.
pub async fn health(State(web): State<Arc<Web>>) -> Response {
    let status = known_status(&web).await;
    let (code, word) = match status.is_ready {
        true => (StatusCode::OK, "healthy"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "starting"),
    };
    let mut health = json!({ "status": word, "sessions": status.pending });
    for remote in web.remotes.read().values() {
        let is_connected = remote.outage().is_none();
        let word = if is_connected { "connected" } else { "disconnected" };
        health[remote.account().platform.to_lowercase()] = json!(word);
    }
    (code, Json(health)).into_response()
}

/// The response of kotonoha before it is healthy.
pub async fn starting() -> (StatusCode, Json<Value>) {
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "starting", "sessions": 0 })))
}

/// Returns the cached status if it is recent, else the current one.
async fn known_status(web: &Web) -> KnownStatus {
    let now = web.clock.now();
    let known = *web.health_status.told.lock();
    let known = known.filter(|known| now.duration_since(known.at).abs() < STATUS_AGE);
    if let Some(known) = known {
        // A cached status must not hide that the shutdown has begun.
        let is_ready = known.is_ready && !web.shutdown.is_cancelled();
        return KnownStatus { is_ready, ..known };
    }
    let is_ready = outage(web).await.is_none();
    // If the store cannot be read, do not ask it again.
    let backlog = if is_ready { web.archive.backlog().await.ok() } else { None };
    let pending = backlog.map_or(0, |backlog| backlog.pending.iter().map(|(_, it)| it).sum());
    let known = KnownStatus { at: now, is_ready, pending };
    *web.health_status.told.lock() = Some(known);
    known
}

/// Reports whether the program is ready. Clients on this machine and those with the token also get the reason why not,
/// or the progress of a backfill and the problems of the models.
pub async fn ready(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    if !visitor.is_trusted {
        return status(State(web)).await;
    }
    if let Some(outage) = outage(&web).await {
        return outage.into_response();
    }
    let to_json = |progress: BackfillProgress| backfill_json(&progress, web.persona.language);
    let backfills: Vec<Value> =
        web.platforms.backfill_progress().into_iter().map(to_json).collect();
    let mut ready = json!({ "status": "ready" });
    if !backfills.is_empty() {
        ready["catching_up"] = json!(backfills);
    }
    // The program is ready without its model: it still hears, remembers and carries out commands.
    let problems = models::problems(&web, web.persona.language);
    if !problems.is_empty() {
        ready["models"] = json!(problems);
    }
    Json(ready).into_response()
}

/// What has been read, and which channels are behind. Only ids are shown, because operators do not need the names of
/// private channels.
fn backfill_json(progress: &BackfillProgress, language: Language) -> Value {
    let first = |channels: &[ChannelId]| -> Vec<String> {
        channels.iter().take(MAX_CHANNELS_SHOWN).map(ToString::to_string).collect()
    };
    let checks = &progress.deletion_checks;
    let checked: Vec<ChannelId> = checks.iter().map(|(channel, _)| channel.clone()).collect();
    let failing: Vec<ChannelId> = progress.failing.keys().cloned().collect();
    json!({
        "platform": progress.platform,
        "channels": progress.channels,
        "read": progress.channels_read(),
        "threads": progress.threads_read,
        "told": progress.describe(language),
        "behind": { "count": progress.behind.len(), "channels": first(&progress.behind) },
        "failing": { "count": failing.len(), "channels": first(&failing) },
        "deletions": {
            "count": checked.len(),
            "channels": first(&checked),
            "compared": checks.iter().map(|(_, found)| found.compared).sum::<usize>(),
            "deleted": checks.iter().map(|(_, found)| found.deleted).sum::<usize>(),
        },
    })
}

/// Returns why the program is not ready, if so. It is ready if the store can be read and its last write succeeded, all
/// platforms are connected, and due steps are being handled. A process that is still backfilling is ready.
async fn outage(web: &Web) -> Option<ApiProblem> {
    let checked = tokio::time::timeout(READINESS_TIMEOUT, find_outage(web)).await;
    checked.unwrap_or_else(|_| Some(StoreError::Busy("it does not answer".to_owned()).into()))
}

async fn find_outage(web: &Web) -> Option<ApiProblem> {
    let unready = |why: Refusal| Some(ApiProblem::from(why));
    if web.shutdown.is_cancelled() {
        return unready(Refusal::ShuttingDown);
    }
    if let Err(error) = web.archive.health().await {
        return Some(error.into());
    }
    if let Some(why) = web.platforms.0.read().values().find_map(|platform| platform.outage()) {
        return unready(Refusal::NotConnected(why));
    }
    // Due steps may wait for a free slot of the runner, as long as other steps are completed.
    let overdue = match overdue(web).await {
        Ok(overdue) => overdue,
        Err(error) => return Some(error.into()),
    };
    if overdue > SignedDuration::ZERO && web.heartbeat.is_stalled(web.clock.now()) {
        return unready(Refusal::StepsStalled { seconds: overdue.as_secs() });
    }
    None
}

/// Returns the metrics in the OpenMetrics format, or in the older one for clients that accept no other. While the
/// store cannot be read, the gauges that come from it keep their last values: the other metrics matter most then, and
/// `/ready` reports the error.
pub async fn metrics(State(web): State<Arc<Web>>, headers: HeaderMap) -> impl IntoResponse {
    let snapshot = snapshot(&web).await.ok();
    web.metrics.set_readiness(&readiness(&web).await);
    encode(&web.metrics, snapshot.as_ref(), &headers)
}

/// Returns the metrics on the health port, where any client may send any number of requests, so values from the store
/// are reused for a moment.
pub async fn open_metrics(State(web): State<Arc<Web>>, headers: HeaderMap) -> Response {
    let now = web.clock.now();
    let is_fresh = {
        let mut measured = web.health_status.measured.lock();
        let is_fresh = measured.is_some_and(|at| now.duration_since(at).abs() < STATUS_AGE);
        *measured = measured.filter(|_| is_fresh).or(Some(now));
        is_fresh
    };
    match is_fresh {
        true => encode(&web.metrics, None, &headers).into_response(),
        false => metrics(State(web), headers).await.into_response(),
    }
}

/// The metrics of a process on standby.
pub async fn standby_metrics(
    State((metrics, can_look)): State<(Arc<Metrics>, Arc<AtomicBool>)>,
    headers: HeaderMap,
) -> impl IntoResponse {
    metrics.set_standing_by(can_look.load(Ordering::Relaxed));
    encode(&metrics, None, &headers)
}

fn encode(
    metrics: &Metrics,
    snapshot: Option<&GaugeSnapshot>,
    headers: &HeaderMap,
) -> impl IntoResponse + use<> {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    let accepted = accepted.unwrap_or_default();
    let wants_plain = accepted.contains(PLAIN_TEXT) && !accepted.contains(OPENMETRICS);
    let (kind, text) = match wants_plain {
        true => (format!("{PLAIN_TEXT}; version=0.0.4"), metrics.to_plain_text(snapshot)),
        false => (format!("{OPENMETRICS}; version=1.0.0"), metrics.to_openmetrics(snapshot)),
    };
    ([(header::CONTENT_TYPE, format!("{kind}; charset=utf-8"))], text)
}

async fn snapshot(web: &Web) -> Result<GaugeSnapshot, StoreError> {
    let backlog = web.archive.backlog().await?;
    let overdue = overdue(web).await?;
    let marks = web.archive.mark_counts().await?;
    let now = web.clock.now();
    let waiting =
        |since: Option<Timestamp>| since.map_or(SignedDuration::ZERO, |at| now.duration_since(at));
    let mut spent = Vec::new();
    for workspace in web.archive.workspaces().await? {
        let spending = web.archive.spending(&workspace, now).await?;
        let whole = spending.into_iter().find(|spending| spending.channel.is_none());
        let whole = whole.map(|whole| whole.spent).unwrap_or_default();
        spent.push((workspace.clone(), BudgetPeriod::Day, whole.micros_in_day));
        spent.push((workspace, BudgetPeriod::Month, whole.micros_in_month));
    }
    let limits = web.room.rulebook().workspace_limits;
    let limits = [
        (BudgetPeriod::Day, limits.micros_per_day),
        (BudgetPeriod::Month, limits.micros_per_month),
    ];
    let limits = limits.into_iter().filter_map(|(period, limit)| Some((period, limit?)));
    Ok(GaugeSnapshot {
        oldest_owed: waiting(backlog.oldest_owed),
        pending: backlog.pending,
        dead_letters: backlog.dead_letters,
        marks,
        overdue,
        spent,
        limits: limits.collect(),
    })
}

async fn readiness(web: &Web) -> Readiness {
    let platforms = web.platforms.0.read();
    let connected = platforms
        .iter()
        .map(|(workspace, platform)| (workspace.clone(), platform.outage().is_none()));
    let backfills = web.platforms.backfill_progress().into_iter();
    let backfills = backfills
        .map(|progress| (progress.platform, progress.behind.len(), progress.failing.len()));
    // What cannot be read now is told by `is_ready`.
    let failing = failing_models(web).await.unwrap_or_default();
    Readiness {
        is_ready: outage(web).await.is_none(),
        connected: connected.collect(),
        backfills: backfills.collect(),
        failing_models: failing.iter().map(ToString::to_string).collect(),
    }
}

/// Returns how long the oldest due step has waited.
async fn overdue(web: &Web) -> Result<SignedDuration, StoreError> {
    let now = web.clock.now();
    let next = web.store.next_ready().await?;
    Ok(next.map_or(SignedDuration::ZERO, |next| now.duration_since(next)))
}
