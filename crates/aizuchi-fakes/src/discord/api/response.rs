//! Successful responses.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::wire::json_response;

/// A successful response. With the status 204, it has no body.
#[derive(Debug)]
pub struct ApiResponse {
    pub status: u16,
    pub body: Value,
}

impl ApiResponse {
    pub fn ok(body: Value) -> Self {
        Self { status: 200, body }
    }

    pub fn created(body: Value) -> Self {
        Self { status: 201, body }
    }

    pub fn no_content() -> Self {
        Self { status: 204, body: Value::Null }
    }
}

impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        if status == StatusCode::NO_CONTENT {
            return status.into_response();
        }
        (status, json_response(&self.body)).into_response()
    }
}
