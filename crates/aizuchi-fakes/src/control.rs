//! What another program asks of a fake: `POST /control/{verb}` with the rest as JSON.

use axum::Json;
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub type ControlResponse = (StatusCode, Json<Value>);

/// Obeys an order, if it can be understood.
pub fn run_command<O: DeserializeOwned, R: ToString>(
    verb: &str,
    body: Option<Json<Value>>,
    obey: impl FnOnce(O) -> Result<Value, R>,
) -> ControlResponse {
    let mut order = body.map_or_else(|| json!({}), |Json(body)| body);
    if let Some(fields) = order.as_object_mut() {
        fields.insert("verb".to_owned(), json!(verb));
    }
    let done = serde_json::from_value(order).map_err(|error| error.to_string());
    match done.and_then(|order| obey(order).map_err(|refusal| refusal.to_string())) {
        Ok(answer) => (StatusCode::OK, Json(answer)),
        Err(error) => (StatusCode::BAD_REQUEST, Json(json!({ "ok": false, "error": error }))),
    }
}
