//! What a supervisor and an operator ask: does it live, is it ready, what are the figures?

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

/// Another one does the work; it waits for its place.
pub async fn standby() -> ApiProblem {
    let why = "it stands by: another Aizuchi is active on the same database";
    ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, why.to_owned())
}

/// The process runs and answers.
pub async fn live() -> Json<Value> {
    Json(json!({ "status": "live" }))
}

/// The store can be read and, as far as was tried last, written; all platforms are heard; and due steps are
/// worked at. Whoever reads what it missed is ready all the same, and tells how far it is.
pub async fn ready(State(web): State<Arc<Web>>) -> Result<Json<Value>, ApiProblem> {
    let unready = |why: String| ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, why);
    if web.shutdown.is_cancelled() {
        return Err(unready("it is shutting down".to_owned()));
    }
    web.archive.health().await?;
    if let Some(why) = web.platforms.0.values().find_map(|platform| platform.outage()) {
        return Err(unready(why));
    }
    // Due steps may wait while all hands are busy, as long as something gets done.
    let overdue = overdue(&web).await?;
    if overdue > SignedDuration::ZERO && web.pulse.is_stalled(web.clock.now()) {
        let seconds = overdue.as_secs();
        return Err(unready(format!("steps have been due for {seconds} s, and nothing is done")));
    }
    let told = |progress: BackfillProgress| {
        let told = progress.describe(web.persona.language);
        let BackfillProgress { platform, channels, channels_read: read, threads_read: threads } =
            progress;
        json!({ "platform": platform, "channels": channels, "read": read, "threads": threads, "told": told })
    };
    let catching_up: Vec<Value> = web.platforms.backfill_progress().into_iter().map(told).collect();
    if catching_up.is_empty() {
        return Ok(Json(json!({ "status": "ready" })));
    }
    Ok(Json(json!({ "status": "ready", "catching_up": catching_up })))
}

/// The figures, in OpenMetrics. Those that have to be looked up stay as they were while the store
/// cannot be read: then the others matter most, and `/ready` tells.
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

/// How long the oldest step has been due.
async fn overdue(web: &Web) -> Result<SignedDuration, StoreError> {
    let now = web.clock.now();
    let next = web.store.next_ready().await?;
    Ok(next.map_or(SignedDuration::ZERO, |next| now.duration_since(next)))
}
