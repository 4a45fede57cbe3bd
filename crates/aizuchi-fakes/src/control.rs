//! The control API of a fake, for tests in other processes: `POST /control/{verb}` with the arguments as JSON.

use anyhow::{Context as _, anyhow};
use axum::Json;
use axum::http::StatusCode;
use jiff::SignedDuration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fault::{Fault, Hang};

/// The arguments of a command.
pub struct ControlArguments(Value);

impl ControlArguments {
    /// Parses all arguments at once.
    pub fn parse<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        Ok(serde_json::from_value(self.0.clone())?)
    }

    /// Parses one argument. An absent one counts as null.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<T> {
        serde_json::from_value(self.0[name].clone()).map_err(|error| anyhow!("{name}: {error}"))
    }

    pub fn text(&self, name: &str) -> anyhow::Result<&str> {
        self.0[name].as_str().with_context(|| format!("{name} is not a text"))
    }

    /// Parses the fault to inject, such as `{ "kind": "status", "status": 503 }`. `api_error` parses the platform's own
    /// errors, by their kind.
    pub fn fault<E>(
        &self,
        api_error: impl FnOnce(&str, &Self) -> anyhow::Result<E>,
    ) -> anyhow::Result<Fault<E>> {
        let fault = Self(self.0["fault"].clone());
        let wait = || fault.get("milliseconds").map(SignedDuration::from_millis);
        let hang =
            || {
                let wait = fault.get::<Option<i64>>("milliseconds")?;
                anyhow::Ok(wait.map_or(Hang::UntilReleased, |wait| {
                    Hang::For(SignedDuration::from_millis(wait))
                }))
            };
        Ok(match fault.text("kind")? {
            "reset_before" => Fault::ResetBefore,
            "reset_after" => Fault::ResetAfter,
            "hang_before" => Fault::HangBefore(hang()?),
            "hang_after" => Fault::HangAfter(hang()?),
            "commit_later" => Fault::CommitLater { after: wait()?, status: fault.get("status")? },
            "status" => Fault::Status(fault.get("status")?),
            "status_after" => Fault::StatusAfter(fault.get("status")?),
            "garbage" => Fault::Garbage,
            kind => Fault::ApiError(api_error(kind, &fault)?),
        })
    }
}

/// Runs a command and responds with what it has created, under the name of its field, or with its error.
pub fn respond<T: Serialize>(
    body: Option<Json<Value>>,
    run: impl FnOnce(&ControlArguments) -> anyhow::Result<Option<(&'static str, T)>>,
) -> (StatusCode, Json<Value>) {
    let arguments = ControlArguments(body.map_or_else(|| json!({}), |Json(body)| body));
    match run(&arguments) {
        Ok(None) => (StatusCode::OK, Json(json!({ "ok": true }))),
        Ok(Some((name, created))) => (StatusCode::OK, Json(json!({ "ok": true, name: created }))),
        Err(error) => {
            let error = error.to_string();
            (StatusCode::BAD_REQUEST, Json(json!({ "ok": false, "error": error })))
        }
    }
}
