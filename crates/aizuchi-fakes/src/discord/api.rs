//! The REST API: parses a request, applies its fault if one was injected, and responds.

mod interactions;
mod response;
mod channels;
mod commands;
mod guilds;
mod history;
mod messages;
mod users;
mod reactions;
mod threads;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, Method as HttpMethod, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ApiResult, ErrorCode, RateLimitScope, api_error};
use crate::discord::journal::RecordedCall;
use crate::discord::method::{Method, RouteError};
use crate::discord::rate_limit::BucketState;
use crate::discord::request::{ParsedRequest, parse_body, request_host};
use crate::discord::state::{FakeDiscordState, TokenStatus};
use crate::discord::{FakeDiscordSettings, ServerContext};
use crate::fault::{FaultTarget, Hang, respond};
use crate::tcp::ResetHandle;

pub async fn handle_call(
    State(server): State<ServerContext>,
    ConnectInfo(reset_handle): ConnectInfo<ResetHandle>,
    Path(path): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
    http_method: HttpMethod,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let (method, path_parameters) = match Method::from_route(http_method.as_str(), &path) {
        Ok(found) => found,
        Err(RouteError::NotFound) => return error_response(&api_error(ErrorCode::NotFound)),
        Err(RouteError::MethodNotAllowed) => {
            return error_response(&api_error(ErrorCode::MethodNotAllowed));
        }
    };
    let Ok(body) = parse_body(&headers, &bytes) else {
        return error_response(&api_error(ErrorCode::InvalidJson));
    };
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let request =
        ParsedRequest { method, path_parameters, query, body, host: request_host(&headers) };
    let call = ApiCall {
        token: token.unwrap_or_default().to_owned(),
        journal_index: record_call(&server, &request, path),
        server,
        reset_handle,
        request,
    };
    let fault = call.server.fake.change(|state| {
        let of_history = match method {
            Method::GetMessages => state.faults.of_history(call.request.path_parameter("channel")),
            _ => None,
        };
        state.faults.pop(&method).or(of_history)
    });
    respond(&call, fault).await
}

/// Records a request and returns its index in the journal.
fn record_call(server: &ServerContext, request: &ParsedRequest, path: String) -> usize {
    let query: Vec<String> =
        request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let path = if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) };
    server.fake.change(|state| {
        state.journal.calls.push(RecordedCall {
            method: request.method,
            path,
            at: state.world.now(),
            body: request.body.clone(),
            answer: None,
            status: None,
        });
        state.journal.calls.len() - 1
    })
}

/// A request with the data that its response needs.
struct ApiCall {
    server: ServerContext,
    reset_handle: ResetHandle,
    request: ParsedRequest,
    token: String,
    /// The index of the request in the journal.
    journal_index: usize,
}

impl FaultTarget for ApiCall {
    type ApiError = ApiError;

    fn commit(&self) -> Response {
        let fake = &self.server.fake;
        let (result, bucket) = fake.change(|state| {
            let now = state.world.now();
            let ParsedRequest { method, path_parameters, .. } = &self.request;
            let is_authorized = method.has_token_in_path()
                || self.token.starts_with("Bot ")
                    && state.check_token(&self.token) == TokenStatus::Valid;
            if !is_authorized {
                return (Err(api_error(ErrorCode::Unauthorized)), None);
            }
            let bucket =
                state.rate_limiter.count(&fake.settings.rate_limits, *method, path_parameters, now);
            let result = match bucket.exceeded {
                Some(wait) => Err(ApiError::rate_limited(wait)),
                None => dispatch(state, &fake.settings, &self.request),
            };
            (result, Some(bucket))
        });
        let mut response = match result {
            Ok(response) => {
                self.record_response(response.status, response.body.clone());
                response.into_response()
            }
            Err(error) => self.refuse(error),
        };
        if let Some(bucket) = bucket {
            set_rate_limit_headers(&mut response, &bucket);
        }
        response
    }

    fn commit_later(&self, after: SignedDuration) {
        self.server.fake.change(|state| {
            let now = state.world.now();
            state.timers.schedule(now, after, self.request.clone());
        });
    }

    fn refuse(&self, error: ApiError) -> Response {
        self.record_response(error.status, error.to_json());
        error_response(&error)
    }

    async fn hang(&self, hang: Hang) {
        let ServerContext { fake, shutdown } = &self.server;
        fake.hang(hang, shutdown).await;
    }

    fn reset_handle(&self) -> &ResetHandle {
        &self.reset_handle
    }
}

impl ApiCall {
    /// Records the response to the request.
    fn record_response(&self, status: u16, body: Value) {
        self.server.fake.change(|state| {
            let call = &mut state.journal.calls[self.journal_index];
            call.status = Some(status);
            call.answer = Some(body);
        });
    }
}

/// Executes the delayed requests that are due.
pub fn run_due_timers(state: &mut FakeDiscordState, settings: &FakeDiscordSettings) {
    let now = settings.clock.now();
    while let Some(request) = state.timers.take_due(now) {
        // The client already has its response, or gets none.
        let _ = dispatch(state, settings, &request);
    }
}

/// Executes a request.
fn dispatch(
    state: &mut FakeDiscordState,
    settings: &FakeDiscordSettings,
    request: &ParsedRequest,
) -> ApiResult<ApiResponse> {
    let world = &mut state.world;
    match request.method {
        Method::GetGatewayBot => Ok(users::gateway_bot(state, settings, request)),
        Method::GetMe => Ok(ApiResponse::ok(world.bot_user_json())),
        Method::GetMyGuilds => users::my_guilds(world, request),
        Method::CreateDirect => users::open_direct_message(world, request),
        Method::GetUser => users::user(world, request),
        Method::GetMyApplication => Ok(ApiResponse::ok(world.application_json())),
        Method::GetGuild => guilds::guild(world, request),
        Method::GetGuildChannels => guilds::channels(world, request),
        Method::GetActiveThreads => guilds::active_threads(world, request),
        Method::GetRoles => guilds::roles(world, request),
        Method::GetMembers => guilds::members(world, request),
        Method::SearchMembers => guilds::search_members(world, request),
        Method::GetMember => guilds::member(world, request),
        Method::GetChannel => channels::channel(world, request),
        Method::PutOverwrite => channels::put_overwrite(world, request),
        Method::DeleteOverwrite => channels::delete_overwrite(world, request),
        Method::StartTyping => channels::start_typing(world, request),
        Method::GetMessages => history::messages(world, request),
        Method::GetMessage => history::message(world, request),
        Method::CreateMessage => messages::create(state, request),
        Method::ChangeMessage => messages::update(world, request),
        Method::DeleteMessage => messages::delete(world, request),
        Method::DeleteMessages => messages::bulk_delete(world, request),
        Method::GetReactions => reactions::list(world, request),
        Method::CreateReaction => reactions::add(world, request),
        Method::DeleteMyReaction => reactions::remove(world, request),
        Method::StartThreadFrom => threads::start_from_message(world, request),
        Method::StartThread => threads::start(state, request),
        Method::GetArchivedThreads => threads::archived(world, request),
        Method::GetThreadMembers => threads::members(world, request),
        Method::GetCommands | Method::GetGuildCommands => commands::list(world, request),
        Method::SetCommands | Method::SetGuildCommands => commands::replace_all(world, request),
        Method::AnswerInteraction => interactions::acknowledge(world, request),
        Method::FollowUp => interactions::follow_up(world, request),
        Method::ChangeAnswer => interactions::update(world, request),
        Method::DeleteAnswer => interactions::delete(world, request),
    }
}

fn error_response(error: &ApiError) -> Response {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = (status, axum::Json(error.to_json())).into_response();
    if let Some(wait) = error.retry_after {
        let headers = response.headers_mut();
        let mut insert = |name: &'static str, value: String| {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        };
        insert("retry-after", format!("{}", wait.seconds.ceil()));
        insert("x-ratelimit-scope", wait.scope.name().to_owned());
        if wait.scope == RateLimitScope::Global {
            insert("x-ratelimit-global", "true".to_owned());
        }
        insert("via", "1.1 google".to_owned());
    }
    response
}

fn set_rate_limit_headers(response: &mut Response, bucket: &BucketState) {
    let unix_seconds = |at: Timestamp| at.as_millisecond() as f64 / 1000.0;
    for (name, value) in [
        ("x-ratelimit-limit", bucket.limit.to_string()),
        ("x-ratelimit-remaining", bucket.remaining.to_string()),
        ("x-ratelimit-reset", format!("{:.3}", unix_seconds(bucket.reset_at))),
        ("x-ratelimit-reset-after", format!("{:.3}", bucket.reset_after.as_secs_f64())),
        ("x-ratelimit-bucket", bucket.bucket.clone()),
    ] {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
}
