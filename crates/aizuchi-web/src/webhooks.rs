//! Web hooks of the platforms. A call is authenticated by its signature, and acknowledged after its events are stored.

use std::sync::Arc;

use aizuchi_http::form::parse_form;
use aizuchi_platform::remote::{Webhook, WebhookError};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::refusal::Refusal;
use crate::{ApiProblem, Web};

/// Slack's events and slash commands, if they come over HTTP and not over Socket Mode.
pub async fn slack(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiProblem> {
    receive(&web, "Slack", &headers, &body).await
}

async fn receive(
    web: &Web,
    platform: &str,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Response, ApiProblem> {
    let not_used = || Refusal::WebhookUnused { platform: platform.to_owned() };
    let remotes = web.remotes.read();
    let mut remotes = remotes.values();
    let remote =
        remotes.find(|remote| remote.account().platform == platform).ok_or_else(not_used)?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let call = Webhook { header: &header, body, parse_form, now: web.clock.now() };
    match remote.receive_webhook(call).await {
        Ok(Some(answer)) => Ok(Json(answer).into_response()),
        Ok(None) => Ok(StatusCode::OK.into_response()),
        Err(WebhookError::NotUsed) => Err(not_used().into()),
        Err(WebhookError::NotAuthentic(why)) => Err(Refusal::WebhookNotAuthentic(why).into()),
        Err(WebhookError::Malformed(why)) => Err(Refusal::WebhookMalformed(why).into()),
        Err(WebhookError::Unavailable(why)) => Err(Refusal::WebhookNotKept(why).into()),
    }
}
