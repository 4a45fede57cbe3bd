//! Health checks for supervisors (`/live`, `/ready`, and `/health` as kotonoha has it) and `/metrics`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::web::access::Visitor;
use crate::web::auth::is_from_here;
use crate::web::language::language_of;
use crate::web::refusal::Refusal;
use crate::web::{ApiProblem, Web, models};
use aizuchi_core::chat::ChannelId;
use aizuchi_core::metrics::Metrics;
use aizuchi_core::metrics::gauges::{BudgetPeriod, GaugeSnapshot, Readiness};
use aizuchi_core::persona::Language;
use aizuchi_core::platform::backfill::BackfillProgress;
use aizuchi_core::store::StoreError;

/// The last status that the health port found, so that many requests cost the store few reads.
#[derive(Default)]
pub struct HealthStatus {
    told: Mutex<Option<KnownStatus>>,
    /// When the figures of `/metrics` were read from the store.
    measured: Mutex<Option<Timestamp>>,
}

/// What the health port tells.
#[derive(Clone, Copy)]
struct KnownStatus {
    at: Timestamp,
    is_ready: bool,
    /// How much is pending, each in a conversation of its own.
    pending: u64,
}

/// What a reader accepts that knows the format, and one that knows only the older one.
const PLAIN_TEXT: &str = "text/plain";
const OPENMETRICS: &str = "application/openmetrics-text";
/// How many ids of channels are shown at most.
const MAX_CHANNELS_SHOWN: usize = 50;
/// How long `/metrics` waits for what `/ready` would say.
const READINESS_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);
/// How long a status is repeated.
const STATUS_AGE: SignedDuration = SignedDuration::from_millis(500);

/// The response of a process on standby. Only this machine learns why.
pub async fn standby(request: Request) -> Response {
    if !is_from_here(&request) {
        return unready().await.into_response();
    }
    let language = language_of(request.headers()).unwrap_or(Language::En);
    ApiProblem::from(Refusal::StandingBy).answer(language)
}

/// The process is running.
pub async fn live() -> Json<Value> {
    Json(json!({ "status": "live" }))
}

/// It is not ready, and nothing else.
pub async fn unready() -> (StatusCode, Json<Value>) {
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "unready" })))
}

/// Whether it is ready, and nothing else.
pub async fn status(State(web): State<Arc<Web>>) -> Response {
    if known_status(&web).await.is_ready {
        Json(json!({ "status": "ready" })).into_response()
    } else {
        unready().await.into_response()
    }
}

/// Whether it could be used, now or as soon as the one ends that it stands by for.
pub async fn standing_by() -> Json<Value> {
    Json(json!({ "status": "standing by" }))
}

/// The same in the words of kotonoha: whether it is healthy, whether each platform is connected, and the number of
/// conversations in which something is pending.
pub async fn health(State(web): State<Arc<Web>>) -> Response {
    let status = known_status(&web).await;
    let (code, word) = match status.is_ready {
        true => (StatusCode::OK, "healthy"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "starting"),
    };
    let mut health = json!({ "status": word, "sessions": status.pending });
    for remote in &web.remotes {
        let is_connected = remote.outage().is_none();
        let word = if is_connected { "connected" } else { "disconnected" };
        health[remote.account().platform.to_lowercase()] = json!(word);
    }
    (code, Json(health)).into_response()
}

/// What kotonoha answers before it is healthy.
pub async fn starting() -> (StatusCode, Json<Value>) {
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "starting", "sessions": 0 })))
}

/// The status of a moment ago, or of now.
async fn known_status(web: &Web) -> KnownStatus {
    let now = web.clock.now();
    let known = *web.health_status.told.lock();
    let known = known.filter(|known| now.duration_since(known.at).abs() < STATUS_AGE);
    if let Some(known) = known {
        let is_ready = known.is_ready && !web.shutdown.is_cancelled();
        return KnownStatus { is_ready, ..known };
    }
    let is_ready = outage(web).await.is_none();
    // Where the store cannot be read, it is not asked again.
    let backlog = if is_ready { web.archive.backlog().await.ok() } else { None };
    let pending = backlog.map_or(0, |backlog| backlog.pending.iter().map(|(_, it)| it).sum());
    let known = KnownStatus { at: now, is_ready, pending };
    *web.health_status.told.lock() = Some(known);
    known
}

/// Whether it is ready; for this machine and for those who have the token with the reason why not, or with the
/// progress of a backfill and with what is wrong with the models.
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
    // Without its model it still hears, remembers and carries out commands.
    let problems = models::problems(&web.models, web.persona.language);
    if !problems.is_empty() {
        ready["models"] = json!(problems);
    }
    Json(ready).into_response()
}

/// What has been read, and which channels are behind. Only ids: a private channel's name is no matter of operation.
fn backfill_json(progress: &BackfillProgress, language: Language) -> Value {
    let first = |channels: &[ChannelId]| -> Vec<String> {
        channels.iter().take(MAX_CHANNELS_SHOWN).map(ToString::to_string).collect()
    };
    let checks = &progress.deletion_checks;
    let checked: Vec<ChannelId> = checks.iter().map(|(channel, _)| channel.clone()).collect();
    json!({
        "platform": progress.platform,
        "channels": progress.channels,
        "read": progress.channels_read(),
        "threads": progress.threads_read,
        "told": progress.describe(language),
        "behind": { "count": progress.behind.len(), "channels": first(&progress.behind) },
        "failing": { "count": progress.failing.len(), "channels": first(&progress.failing) },
        "deletions": {
            "count": checked.len(),
            "channels": first(&checked),
            "compared": checks.iter().map(|(_, found)| found.compared).sum::<usize>(),
            "deleted": checks.iter().map(|(_, found)| found.deleted).sum::<usize>(),
        },
    })
}

/// Why it is not ready. Ready means: the store can be read and its last write succeeded, all platforms are connected,
/// and due steps are being handled. A process that is still backfilling is ready.
async fn outage(web: &Web) -> Option<ApiProblem> {
    let unready = |why: Refusal| Some(ApiProblem::from(why));
    if web.shutdown.is_cancelled() {
        return unready(Refusal::ShuttingDown);
    }
    if let Err(error) = web.archive.health().await {
        return Some(error.into());
    }
    if let Some(why) = web.platforms.0.values().find_map(|platform| platform.outage()) {
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

/// The metrics in the OpenMetrics format, or in the older one for those who ask for no other. While the store cannot be
/// read, the gauges that come from it keep their last values: the other metrics matter most then, and `/ready` reports the
/// error.
pub async fn metrics(State(web): State<Arc<Web>>, headers: HeaderMap) -> impl IntoResponse {
    let snapshot = snapshot(&web).await.ok();
    web.metrics.set_readiness(&readiness(&web).await);
    encode(&web.metrics, snapshot.as_ref(), &headers)
}

/// The same on the health port, where anybody may ask as often as they like: what the store is asked for is repeated for a
/// moment.
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
    State(metrics): State<Arc<Metrics>>,
    headers: HeaderMap,
) -> impl IntoResponse {
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
    let connected = web.platforms.0.iter();
    let connected =
        connected.map(|(workspace, platform)| (workspace.clone(), platform.outage().is_none()));
    let backfills = web.platforms.backfill_progress().into_iter();
    let backfills = backfills
        .map(|progress| (progress.platform, progress.behind.len(), progress.failing.len()));
    // A store that hangs must not keep the other figures away.
    let outage = tokio::time::timeout(READINESS_TIMEOUT, outage(web)).await;
    Readiness {
        is_ready: matches!(outage, Ok(None)),
        connected: connected.collect(),
        backfills: backfills.collect(),
        failing_models: web.models.problems().into_iter().map(|(model, _)| model).collect(),
    }
}

/// How long the oldest due step has waited.
async fn overdue(web: &Web) -> Result<SignedDuration, StoreError> {
    let now = web.clock.now();
    let next = web.store.next_ready().await?;
    Ok(next.map_or(SignedDuration::ZERO, |next| now.duration_since(next)))
}
