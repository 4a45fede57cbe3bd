//! The control API of a fake, for tests in other processes: `POST /control/{verb}` with the arguments as JSON.

use axum::Json;
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub type ControlResponse = (StatusCode, Json<Value>);

/// Parses the command from `verb` and `body`, and executes it.
pub fn run_command<C: DeserializeOwned, E: ToString>(
    verb: &str,
    body: Option<Json<Value>>,
    execute: impl FnOnce(C) -> Result<Value, E>,
) -> ControlResponse {
    let mut command = body.map_or_else(|| json!({}), |Json(body)| body);
    if let Some(fields) = command.as_object_mut() {
        fields.insert("verb".to_owned(), json!(verb));
    }
    let parsed = serde_json::from_value(command).map_err(|error| error.to_string());
    match parsed.and_then(|command| execute(command).map_err(|error| error.to_string())) {
        Ok(response) => (StatusCode::OK, Json(response)),
        Err(error) => (StatusCode::BAD_REQUEST, Json(json!({ "ok": false, "error": error }))),
    }
}
