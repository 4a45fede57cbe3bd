//! Sends spans to the collector. The SDK's thread blocks while the program's runtime makes the request.

use std::time::Duration;

use aizuchi_llm::provider::http_client;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::context::TokioContext;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// The minimum time between two warnings.
const WARNING_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
const CONNECT_TIMEOUT: SignedDuration = SignedDuration::from_secs(5);
/// The timeout of a request, whatever the SDK allows.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Sender {
    http: reqwest::Client,
    runtime: Handle,
    last_warning: Mutex<Option<Timestamp>>,
    /// Ends the request in flight.
    stop: CancellationToken,
}

impl Sender {
    pub fn new(runtime: Handle, stop: CancellationToken) -> anyhow::Result<Self> {
        let http = http_client(CONNECT_TIMEOUT)?;
        Ok(Self { http, runtime, last_warning: Mutex::default(), stop })
    }

    async fn send(&self, request: Request<Bytes>) -> reqwest::Result<Response<Bytes>> {
        let (head, body) = request.into_parts();
        let request = self.http.request(head.method, head.uri.to_string());
        let request = request.headers(head.headers).timeout(TIMEOUT).body(body);
        let answer = request.send().await?;
        let status = answer.status();
        // The response body is not needed and may be long.
        drop(answer);
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status;
        Ok(response)
    }

    fn warn(&self, error: &str) {
        let now = Timestamp::now();
        let mut last = self.last_warning.lock();
        if last.is_none_or(|last| now.duration_since(last) >= WARNING_INTERVAL) {
            *last = Some(now);
            warn!(error, "traces cannot be sent to the collector; spans are lost until they can");
        }
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sending = TokioContext::new(self.send(request), self.runtime.clone());
        let sent = tokio::select! {
            // Checked first, because the runtime may already be gone.
            biased;
            () = self.stop.cancelled() => return Err("the program ends".into()),
            sent = sending => sent,
        };
        // The endpoint may contain a secret.
        let sent = sent.map_err(reqwest::Error::without_url);
        match &sent {
            Ok(answer) if !answer.status().is_success() => {
                self.warn(&format!("it answered {}", answer.status()));
            }
            Ok(_) => {}
            Err(error) => self.warn(&error.to_string()),
        }
        Ok(sent?)
    }
}
