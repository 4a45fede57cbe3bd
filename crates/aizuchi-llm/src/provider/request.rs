//! Sends one request to a provider, in a shape that its server accepts and without parameters that its model
//! refuses. What works is remembered for later requests.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use reqwest::{RequestBuilder, Url};
use secrecy::ExposeSecret;
use serde_json::Value;
use tracing::{info, warn};

use crate::provider::chat::ChatRequest;
use crate::provider::error::{CallError, UNSENDABLE, from_json};
use crate::provider::remedy::Remedy;
use crate::provider::response::ReportedResponse;
use crate::provider::transport::{ProviderResponse, send};
use crate::provider::usage::{bounded_usage, complete_usage, reported_thinking, reported_usage};
use crate::provider::{DEFAULT_MAX_TOKENS, ProviderMind};

/// The shape of a request. OpenAI-compatible servers differ: some models' chat templates need a user turn, and some
/// servers do not support schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestShape {
    has_user_turn: bool,
    has_schema: bool,
}

/// After this many internal errors that another shape avoids, the server is assumed not to support the earlier
/// shape.
const SHAPE_FAILURES: usize = 2;

/// The shapes, from the preferred one to the one that every server accepts.
const REQUEST_SHAPES: [RequestShape; 3] = [
    RequestShape { has_user_turn: false, has_schema: true },
    RequestShape { has_user_turn: true, has_schema: true },
    RequestShape { has_user_turn: true, has_schema: false },
];

impl ProviderMind {
    /// Sends a request in a shape that this server accepts.
    pub(super) async fn call_in_accepted_shape(
        &self,
        request: &ChatRequest<'_>,
    ) -> Result<ReportedResponse, CallError> {
        let first = self.request_shape.load(Ordering::Relaxed);
        let mut rejection = None;
        let mut may_have_passed = false;
        let mut last_shape = None;
        for (number, shape) in REQUEST_SHAPES.iter().enumerate().skip(first) {
            let has_schema = shape.has_schema && request.schema.is_some();
            // A picture is sent as a user turn.
            let has_user_turn = shape.has_user_turn || request.picture.is_some();
            let shape = RequestShape { has_user_turn, has_schema };
            if last_shape.replace(shape) == Some(shape) {
                continue;
            }
            let schema = request.schema.clone().filter(|_| has_schema);
            let shaped = ChatRequest { has_user_turn, schema, ..request.clone() };
            match self.call_with_remedies(&shaped).await {
                Err(rejected @ CallError::RequestRejected { .. }) => {
                    let may_pass =
                        matches!(rejected, CallError::RequestRejected { may_pass: true, .. });
                    may_have_passed |= may_pass;
                    rejection.get_or_insert(rejected);
                }
                Ok(response) => {
                    let failures = &self.shape_failures;
                    if may_have_passed {
                        let count = failures.fetch_add(1, Ordering::Relaxed) + 1;
                        may_have_passed = count < SHAPE_FAILURES;
                    } else if has_schema {
                        // A request without a schema proves nothing about one with a schema.
                        failures.store(0, Ordering::Relaxed);
                    }
                    if !may_have_passed {
                        self.request_shape.store(number, Ordering::Relaxed);
                    }
                    return Ok(response);
                }
                Err(other) => return Err(other),
            }
        }
        Err(rejection.unwrap_or_else(|| CallError::rejected("no other request is left to try")))
    }

    /// Sends a request, and retries it with each change that a refusal asks for. Changes that help are kept.
    async fn call_with_remedies(
        &self,
        request: &ChatRequest<'_>,
    ) -> Result<ReportedResponse, CallError> {
        let mut remedies = self.remedies.lock().clone();
        loop {
            let lowers =
                |remedy: &Remedy| matches!(remedy, Remedy::LowerLimit | Remedy::LowerLimitOnce);
            let most = if remedies.iter().any(lowers) { DEFAULT_MAX_TOKENS } else { u32::MAX };
            let changed = ChatRequest {
                params: self.parameters.accepted(&remedies),
                max_tokens: request.max_tokens.min(most),
                is_limit_renamed: remedies.contains(&Remedy::RenameLimit),
                ..request.clone()
            };
            match self.call_once(&changed).await {
                Err(CallError::RequestRejected { remedy: Some(remedy), .. })
                    if remedies.insert(remedy.clone()) => {}
                Ok(response) => {
                    self.keep(remedies);
                    return Ok(response);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Keeps these changes for all requests, and logs each of them once.
    fn keep(&self, remedies: BTreeSet<Remedy>) {
        let mut known = self.remedies.lock();
        let model = &*self.model;
        let kept = remedies.into_iter().filter(|remedy| *remedy != Remedy::LowerLimitOnce);
        for remedy in kept.filter(|remedy| known.insert(remedy.clone())) {
            match remedy {
                Remedy::LeaveOut(parameter) => warn!(
                    model,
                    parameter, "the model does not take a parameter, so it is left out from now on"
                ),
                Remedy::RenameLimit => {
                    info!(model, "the model takes max_completion_tokens in place of max_tokens");
                }
                Remedy::LowerLimit => warn!(
                    model,
                    tokens = DEFAULT_MAX_TOKENS,
                    "the model does not allow as many tokens as it was given to think, so it gets fewer from now \
                     on; params.thinking_tokens sets another number"
                ),
                Remedy::LowerLimitOnce => {}
            }
        }
    }

    /// The parameters in the settings that the model has refused so far.
    pub fn refused_parameters(&self) -> Vec<String> {
        let known = self.remedies.lock();
        let names = known.iter().filter_map(|remedy| match remedy {
            Remedy::LeaveOut(name) => Some(name.clone()),
            Remedy::RenameLimit | Remedy::LowerLimit | Remedy::LowerLimitOnce => None,
        });
        names.collect()
    }

    async fn call_once(&self, request: &ChatRequest<'_>) -> Result<ReportedResponse, CallError> {
        // An accepted request may be charged, whatever happens to the response.
        let unreported = complete_usage(Usage::default(), request.tokens, "");
        let response = send(self.http_request(request)?, unreported).await?;
        let body = serde_json::from_slice::<Value>(&response.body);
        let reported = body.as_ref().map(reported_usage).unwrap_or_default();
        let (reported, usage) = match response.is_charged {
            true => {
                let reported = self.plausible(reported, request.tokens, request.max_tokens.into());
                (reported, complete_usage(reported, request.tokens, ""))
            }
            false => (Usage::default(), Usage::default()),
        };
        if let Some(error) = response.error(self.clock.now()) {
            return Err(self.with_remedy(error, &response, request).with_usage(usage));
        }
        let body = body.map_err(|error| from_json(&error).with_usage(usage))?;
        if reported.input_tokens == 0 && !self.has_warned_of_usage.swap(true, Ordering::Relaxed) {
            warn!(
                model = self.model,
                "the model does not report the tokens that it uses; estimates are booked"
            );
        }
        let response = self.settings.provider.wire_format().parse(&body);
        let has_thought = !response.thinking.trim().is_empty() || reported_thinking(&body) > 0;
        Ok(ReportedResponse { response, reported, has_thought })
    }

    pub(super) fn http_request(
        &self,
        request: &ChatRequest<'_>,
    ) -> Result<RequestBuilder, CallError> {
        let settings = &self.settings;
        let format = settings.provider.wire_format();
        let unsendable = |_| CallError::permanent(ModelProblem::RequestRejected, UNSENDABLE);
        let base = Url::parse(&settings.api_base).map_err(unsendable)?;
        let url = base.join(&format.path(&settings.model_name)).map_err(unsendable)?;
        // Self-hosted servers need no key, but some expect the header.
        let key = settings.api_key.as_ref().map_or("none", |key| key.expose_secret());
        let http_request = format.authorize(self.http.post(url), key);
        Ok(http_request.headers(settings.extra_headers()?).json(&format.body(request)))
    }

    /// What may help after a refused request: the change that the server asks for, or a request in another shape.
    fn with_remedy(
        &self,
        error: CallError,
        response: &ProviderResponse,
        request: &ChatRequest<'_>,
    ) -> CallError {
        let said = response.text();
        let error = if request.is_check { error.with_words(&said) } else { error };
        let status = response.status.as_u16();
        let is_about_request = matches!(status, 400 | 422);
        let remedy = self.parameters.remedy(&said, request.max_tokens);
        let remedy = remedy.filter(|_| is_about_request);
        match error {
            // Gateways return this for models without tool support.
            CallError::Permanent { why, .. } if status == 404 && !request.tools.is_empty() => {
                CallError::rejected(why)
            }
            CallError::RequestRejected { why, .. } | CallError::Permanent { why, .. }
                if remedy.is_some() =>
            {
                CallError::RequestRejected { why, remedy, may_pass: false }
            }
            other => other,
        }
    }

    /// Returns the reported usage within what the request can have used, and logs once if it was more.
    fn plausible(&self, reported: Usage, prompt_tokens: u64, max_output: u64) -> Usage {
        let Some(bounded) = bounded_usage(reported, prompt_tokens, max_output) else {
            return reported;
        };
        if !self.has_warned_of_excess.swap(true, Ordering::Relaxed) {
            warn!(
                model = self.model,
                input_tokens = reported.input_tokens,
                output_tokens = reported.output_tokens,
                most_input_tokens = bounded.input_tokens,
                most_output_tokens = bounded.output_tokens,
                "the model reports more tokens than its request can have used; no more than that is booked"
            );
        }
        bounded
    }
}
