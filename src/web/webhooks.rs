//! Web hooks of the platforms. A request is authenticated by its signature, and acknowledged after its events are
//! stored.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::web::{ApiProblem, Web};
use aizuchi_slack::SlackPlatform;
use aizuchi_slack::signature;

/// Slack's events and slash commands, if they come over HTTP and not over Socket Mode.
pub async fn slack(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiProblem> {
    let absent =
        || ApiProblem::new(StatusCode::NOT_FOUND, "Slack's events do not come this way here");
    let slack = web.slack.as_ref().ok_or_else(absent)?;
    let secret = slack.signing_secret().ok_or_else(absent)?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (time, signature) = (text("x-slack-request-timestamp"), text("x-slack-signature"));
    signature::verify(secret, time, signature, &body, web.clock.now()).map_err(|invalid| {
        slack.log_invalid_signature(invalid);
        ApiProblem::new(StatusCode::UNAUTHORIZED, invalid.to_string())
    })?;
    let kind = text(header::CONTENT_TYPE.as_str()).unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        return command(slack, &body).await;
    }
    let payload: Value = serde_json::from_slice(&body)
        .map_err(|_| ApiProblem::new(StatusCode::BAD_REQUEST, "the body is no JSON"))?;
    if payload["type"] == "url_verification" {
        return Ok(Json(json!({ "challenge": payload["challenge"] })).into_response());
    }
    match slack.ingest(&payload).await {
        true => Ok(StatusCode::OK.into_response()),
        false => Err(ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "it could not be kept")),
    }
}

/// Answers a slash command, which Slack sends as a form.
async fn command(slack: &SlackPlatform, body: &Bytes) -> Result<Response, ApiProblem> {
    let wrong = || ApiProblem::new(StatusCode::BAD_REQUEST, "the body is no form");
    let form = std::str::from_utf8(body).map_err(|_| wrong())?;
    let form: Uri = format!("/?{form}").parse().map_err(|_| wrong())?;
    let Query(form) = Query::<Map<String, Value>>::try_from_uri(&form).map_err(|_| wrong())?;
    Ok(Json(slack.answer_command(Value::Object(form)).await).into_response())
}
