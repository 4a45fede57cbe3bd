//! Health checks for supervisors (`/live`, `/ready`) and `/metrics`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::web::{ApiProblem, Web};
use aizuchi_core::metrics::GaugeSnapshot;
use aizuchi_core::platform::backfill::BackfillProgress;
use aizuchi_core::store::StoreError;

/// The response of a process on standby.
pub async fn standby() -> ApiProblem {
    let why = "it stands by: another Aizuchi is active on the same database";
    ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, why.to_owned())
}

/// The process is running.
pub async fn live() -> Json<Value> {
    Json(json!({ "status": "live" }))
}

/// Ready means: the store can be read and its last write succeeded, all platforms are connected, and due steps are
/// being handled. A process that is still backfilling is ready and reports its progress.
pub async fn ready(State(web): State<Arc<Web>>) -> Result<Json<Value>, ApiProblem> {
    let unready = |why: String| ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, why);
    if web.shutdown.is_cancelled() {
        return Err(unready("it is shutting down".to_owned()));
    }
    web.archive.health().await?;
    if let Some(why) = web.platforms.0.values().find_map(|platform| platform.outage()) {
        return Err(unready(why));
    }
    // Due steps may wait for a free slot of the runner, as long as other steps are completed.
    let overdue = overdue(&web).await?;
    if overdue > SignedDuration::ZERO && web.heartbeat.is_stalled(web.clock.now()) {
        let seconds = overdue.as_secs();
        return Err(unready(format!("steps have been due for {seconds} s, and nothing is done")));
    }
    let to_json = |progress: BackfillProgress| {
        let description = progress.describe(web.persona.language);
        let BackfillProgress { platform, channels, channels_read: read, threads_read: threads } =
            progress;
        json!({ "platform": platform, "channels": channels, "read": read, "threads": threads, "told": description })
    };
    let backfills: Vec<Value> =
        web.platforms.backfill_progress().into_iter().map(to_json).collect();
    if backfills.is_empty() {
        return Ok(Json(json!({ "status": "ready" })));
    }
    Ok(Json(json!({ "status": "ready", "catching_up": backfills })))
}

/// The metrics in the OpenMetrics format. While the store cannot be read, the gauges that come from it keep their last
/// values: the other metrics matter most then, and `/ready` reports the error.
pub async fn metrics(State(web): State<Arc<Web>>) -> impl IntoResponse {
    let snapshot = snapshot(&web).await.ok();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], web.metrics.to_openmetrics(snapshot.as_ref()))
}

async fn snapshot(web: &Web) -> Result<GaugeSnapshot, StoreError> {
    let backlog = web.archive.backlog().await?;
    let overdue = overdue(web).await?;
    Ok(GaugeSnapshot { pending: backlog.pending, dead_letters: backlog.dead_letters, overdue })
}

/// How long the oldest due step has waited.
async fn overdue(web: &Web) -> Result<SignedDuration, StoreError> {
    let now = web.clock.now();
    let next = web.store.next_ready().await?;
    Ok(next.map_or(SignedDuration::ZERO, |next| now.duration_since(next)))
}
