//! The local room in a browser, its JSON API and health. Everything here is for this machine only.

mod api;
mod decision;
mod events;
mod health;
mod markdown;
mod page;
mod shapes;

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::persona::Persona;
use crate::platform::local::LocalRoom;
use crate::store::{Archive, Store, StoreError};

/// What the pages need.
pub struct Web {
    pub room: Arc<LocalRoom>,
    pub archive: Arc<dyn Archive>,
    pub store: Arc<dyn Store>,
    /// The store's newest committed revision.
    pub revisions: watch::Receiver<u64>,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    pub persona: Arc<Persona>,
    /// How long the room's talk rests before it is judged, in seconds.
    pub wait_seconds: f64,
    /// Ends the event streams, so that a stop need not wait for browsers.
    pub shutdown: CancellationToken,
}

/// How long a stop waits for clients that are in the middle of something.
const DRAIN: std::time::Duration = std::time::Duration::from_secs(3);
/// A body may be this large. Far more than a line may have, so that whoever pastes too much gets a
/// sentence about it and not a connection that breaks in the middle.
const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// Serves the room until its `shutdown`.
pub async fn serve(listener: TcpListener, web: Arc<Web>) -> anyhow::Result<()> {
    let shutdown = web.shutdown.clone();
    let served = axum::serve(listener, router(web))
        .with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let too_long = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        served = served => served.context("serving the room"),
        () = too_long => {
            tracing::info!("connections that did not end are cut");
            Ok(())
        }
    }
}

fn router(web: Arc<Web>) -> Router {
    Router::new()
        .route("/", get(page::room))
        .route("/static/{*file}", get(page::file))
        .route("/api/channels", get(api::channels).post(api::add_channel))
        .route("/api/people", get(api::people).post(api::add_person))
        .route("/api/messages", get(api::messages).post(api::say))
        .route("/api/messages/{id}", patch(api::edit).delete(api::delete))
        .route("/api/decisions", get(api::decisions))
        .route("/api/dead-letters", get(api::dead_letters))
        .route("/decisions/{id}", get(decision::decision))
        .route("/events", get(events::events))
        .route("/live", get(health::live))
        .route("/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not take that method")
        })
        .fallback(|| async {
            Problem::new(StatusCode::NOT_FOUND, "there is nothing at this address")
        })
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn(only_from_here))
        .with_state(web)
}

/// An answer that says what is wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    sentence: String,
}

impl Problem {
    fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self { status, sentence: sentence.into() }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(_) => tracing::warn!("a page could not be served: {error}"),
            StoreError::Refused(_) | StoreError::Broken(_) => {
                tracing::error!("a page could not be served: {error}");
            }
        }
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, axum::Json(json!({ "error": self.sentence }))).into_response()
    }
}

/// A foreign page must not reach the room through somebody's browser: neither by a name of its own
/// that resolves to this machine, nor by a request across origins.
async fn only_from_here(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = text(headers, header::HOST);
    let is_local = host.is_some_and(|host| is_local(host_name(host)));
    let origin = text(headers, header::ORIGIN);
    let is_same =
        origin.is_none_or(|origin| origin.split_once("://").map(|(_, host)| host) == host);
    if !is_local || !is_same {
        let sentence = "the room answers only pages of its own on this machine";
        return Problem::new(StatusCode::FORBIDDEN, sentence).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let policy =
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";
    headers.insert(header::CONTENT_SECURITY_POLICY, header::HeaderValue::from_static(policy));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, header::HeaderValue::from_static("no-referrer"));
    response
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A `Host` without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

fn is_local(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        for (host, expected) in [
            ("localhost", true),
            ("localhost:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("example.org:8080", false),
            ("127.0.0.1.example.org", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_local(host_name(host)), expected, "{host}");
        }
    }
}
