//! Sends one request to a provider, in a shape that its server accepts and without parameters that its model
//! refuses. What works is remembered for later requests.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use genai::ServiceTarget;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponse, ContentPart, JsonSpec, Tool,
};
use genai::resolver::Endpoint;
use reqwest::Url;
use serde_json::Value;
use tracing::{info, warn};

use crate::prompt::picture::Picture;
use crate::prompt::tool::CallFields;
use crate::provider::amend::{Remedy, RequestChanges};
use crate::provider::caching::marked_parts;
use crate::provider::error::{
    CallError, UNSENDABLE, from_genai, from_transfer, is_not_found, refusal, rejection,
};
use crate::provider::relay::{Relay, Transfer, TransferError};
use crate::provider::response::ReportedResponse;
use crate::provider::usage::{bounded_usage, complete_usage, reported_usage};
use crate::provider::{DEFAULT_MAX_TOKENS, ProviderMind, tools};

/// The user turn for providers that reject a request with only a system message.
const MINIMAL_USER_TURN: &str = ".";

/// A request, independent of the shape that a server accepts.
#[derive(Default)]
pub struct ModelRequest {
    pub system: String,
    /// Where the provider's cache is told to store the prefix.
    pub cache_marks: Vec<usize>,
    pub schema: Option<JsonSpec>,
    pub tools: Vec<Tool>,
    /// Tool calls and their results.
    pub turns: Vec<ChatMessage>,
    pub call_fields: CallFields,
    pub picture: Option<Picture>,
    /// The estimated number of input tokens.
    pub tokens: u64,
    /// Whether it holds no chat text, so that its errors may have the server's words.
    pub is_check: bool,
}

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
        model_request: &ModelRequest,
        options: &ChatOptions,
    ) -> Result<ReportedResponse, CallError> {
        let first = self.request_shape.load(Ordering::Relaxed);
        let mut rejection = None;
        let mut may_have_passed = false;
        let mut last_shape = None;
        for (number, shape) in REQUEST_SHAPES.iter().enumerate().skip(first) {
            let has_schema = shape.has_schema && model_request.schema.is_some();
            // A picture is sent as a user turn.
            let has_user_turn = shape.has_user_turn || model_request.picture.is_some();
            let shape = RequestShape { has_user_turn, has_schema };
            if last_shape.replace(shape) == Some(shape) {
                continue;
            }
            match self.call_with_remedies(shape, model_request, options).await {
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
        shape: RequestShape,
        model_request: &ModelRequest,
        options: &ChatOptions,
    ) -> Result<ReportedResponse, CallError> {
        let mut remedies = self.remedies.lock().clone();
        loop {
            let called =
                self.call_with_shape(shape, model_request, options.clone(), &remedies).await;
            match called {
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

    async fn call_with_shape(
        &self,
        shape: RequestShape,
        model_request: &ModelRequest,
        mut options: ChatOptions,
        remedies: &BTreeSet<Remedy>,
    ) -> Result<ReportedResponse, CallError> {
        let ModelRequest { system, cache_marks, .. } = model_request;
        let mut request = match &**cache_marks {
            [] => ChatRequest::default().with_system(system),
            marks => ChatRequest::from_messages(marked_parts(system, marks)),
        };
        if let Some(picture) = &model_request.picture {
            request = request.append_message(ChatMessage::user(picture_turn(picture)));
        } else if shape.has_user_turn {
            request = request.append_message(ChatMessage::user(MINIMAL_USER_TURN));
        }
        if let Some(schema) = model_request.schema.clone().filter(|_| shape.has_schema) {
            options = options.with_response_format(schema);
        }
        let has_tools = !model_request.tools.is_empty();
        if has_tools {
            request = request.with_tools(model_request.tools.clone());
            request = request.append_messages(model_request.turns.clone());
        }
        let call_fields = model_request.call_fields.clone();
        let changes = self.parameters.changes(remedies.clone(), call_fields);
        let (result, transfer) = self.carry(request, &options, changes).await?;
        let reported = transfer.body.as_deref().map(serde_json::from_slice::<Value>);
        let reported = reported.and_then(Result::ok).as_ref().map(reported_usage);
        let limit = options.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        let reported =
            self.plausible(reported.unwrap_or_default(), model_request.tokens, limit.into());
        // An accepted request may be charged, whatever happened to the response.
        let usage = match transfer.is_accepted {
            true => complete_usage(reported, model_request.tokens, ""),
            false => Usage::default(),
        };
        if let Some(failure) = transfer.failure {
            return Err(from_transfer(failure).with_usage(usage));
        }
        let result = result.ok_or_else(|| from_transfer(TransferError::Unsent))?;
        let response = result.or_else(tools::recover_tool_calls).map_err(|error| {
            let may_be_tools = has_tools && is_not_found(&error);
            let limit = options.max_tokens.unwrap_or_default();
            let remedy = rejection(&error).and_then(|body| self.parameters.remedy(body, limit));
            let is_check = model_request.is_check;
            let said = refusal(&error).filter(|_| is_check).map(|(_, body)| body.to_owned());
            let failed = from_genai(error, self.clock.now());
            match failed.with_words(said.as_deref().unwrap_or_default()) {
                CallError::Permanent { why, .. } if may_be_tools => CallError::rejected(why),
                CallError::RequestRejected { why, .. } | CallError::Permanent { why, .. }
                    if remedy.is_some() =>
                {
                    CallError::RequestRejected { why, remedy, may_pass: false }
                }
                other => other.with_usage(usage),
            }
        })?;
        if reported.input_tokens == 0 && !self.has_warned_of_usage.swap(true, Ordering::Relaxed) {
            warn!(
                model = self.model,
                "the model does not report the tokens that it uses; estimates are booked"
            );
        }
        Ok(ReportedResponse { response, reported })
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

    /// Makes one call through its own relay.
    async fn carry(
        &self,
        request: ChatRequest,
        options: &ChatOptions,
        changes: RequestChanges,
    ) -> Result<(Option<genai::Result<ChatResponse>>, Transfer), CallError> {
        let unsendable = || CallError::permanent(ModelProblem::RequestRejected, UNSENDABLE);
        let base = Url::parse(&self.api_base).map_err(|_| unsendable())?;
        let relay = Relay::open(base, changes).await;
        let relay = relay.map_err(|_| from_transfer(TransferError::Unsent))?;
        let endpoint = relay.endpoint().map_err(|_| unsendable())?;
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(endpoint.to_string()),
            ..self.target.clone()
        };
        let call = self.client.exec_chat(target, request, Some(options));
        Ok(relay.carry(&self.http, call).await)
    }
}

/// A user turn with a picture. Some providers require a text in each turn.
fn picture_turn(picture: &Picture) -> Vec<ContentPart> {
    let encoded = STANDARD.encode(&picture.bytes);
    let picture = ContentPart::from_binary_base64(picture.media_type, encoded, None);
    vec![picture, ContentPart::from_text(MINIMAL_USER_TURN)]
}
