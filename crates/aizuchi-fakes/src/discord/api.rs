//! REST: a request is read, met by its fault if there is one, and answered.

mod interactions;
mod body;
mod channels;
mod commands;
mod guilds;
mod history;
mod messages;
mod users;
mod reactions;
mod threads;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, Query, State as Reached};
use axum::http::{HeaderMap, HeaderValue, Method as Verb, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::discord::api::body::ApiResponse;
use crate::discord::api_error::{ApiError, ErrorCode, api_error};
use crate::discord::journal::RecordedCall;
use crate::discord::method::{Method, PathParameters, RouteError};
use crate::discord::rate_limit::BucketState;
use crate::discord::state::{FakeDiscordState, TokenStatus};
use crate::discord::{FakeDiscordSettings, ServerContext};
use crate::fault::{FaultTarget, Hang, respond};
use crate::tcp::ResetHandle;

/// What somebody asks for.
#[derive(Clone, Debug)]
pub struct ParsedRequest {
    pub method: Method,
    pub path_parameters: PathParameters,
    pub query: Vec<(String, String)>,
    pub body: Value,
    pub host: String,
}

pub fn request_host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or("127.0.0.1").to_owned()
}

/// Answers one request.
pub async fn handle_call(
    Reached(served): Reached<ServerContext>,
    ConnectInfo(cutter): ConnectInfo<ResetHandle>,
    Path(path): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
    verb: Verb,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let (method, parts) = match Method::from_route(verb.as_str(), &path) {
        Ok(found) => found,
        Err(RouteError::NotFound) => return error_response(&api_error(ErrorCode::NotFound)),
        Err(RouteError::MethodNotAllowed) => {
            return error_response(&api_error(ErrorCode::MethodNotAllowed));
        }
    };
    let Ok(body) = body::parse_body(&headers, &bytes) else {
        return error_response(&api_error(ErrorCode::InvalidJson));
    };
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let asked =
        ParsedRequest { method, path_parameters: parts, query, body, host: request_host(&headers) };
    let request = ApiCall {
        token: token.unwrap_or_default().to_owned(),
        journal_index: record_call(&served, &asked, path),
        served,
        reset_handle: cutter,
        request: asked,
    };
    let fault = request.served.fake.change(|state| state.faults.pop(&method));
    respond(&request, fault).await
}

/// Writes a request down, and says where.
fn record_call(served: &ServerContext, asked: &ParsedRequest, path: String) -> usize {
    let query: Vec<String> =
        asked.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let path = if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) };
    served.fake.change(|state| {
        state.journal.calls.push(RecordedCall {
            method: asked.method,
            path,
            at: state.world.now(),
            body: asked.body.clone(),
            answer: None,
            status: None,
        });
        state.journal.calls.len() - 1
    })
}

/// A request that is to be answered.
struct ApiCall {
    served: ServerContext,
    reset_handle: ResetHandle,
    request: ParsedRequest,
    token: String,
    /// Its place in the journal.
    journal_index: usize,
}

impl FaultTarget for ApiCall {
    type ApiError = ApiError;

    fn commit(&self) -> Response {
        let fake = &self.served.fake;
        let (answer, counted) = fake.change(|state| {
            let now = state.world.now();
            let ParsedRequest { method, path_parameters: parts, .. } = &self.request;
            let is_known = method.has_token_in_path()
                || self.token.starts_with("Bot ")
                    && state.check_token(&self.token, &fake.settings) == TokenStatus::Valid;
            if !is_known {
                return (Err(api_error(ErrorCode::Unauthorized)), None);
            }
            let counted = state.rate_limiter.count(&fake.settings.rate_limits, *method, parts, now);
            let answer = match counted.exceeded {
                Some(wait) => Err(ApiError::rate_limited(wait)),
                None => dispatch(state, &fake.settings, &self.request),
            };
            (answer, Some(counted))
        });
        let mut response = match answer {
            Ok(answer) => {
                self.record_response(answer.status, answer.body.clone());
                answer.into_response()
            }
            Err(refusal) => self.refuse(refusal),
        };
        if let Some(counted) = counted {
            set_rate_limit_headers(&mut response, &counted);
        }
        response
    }

    fn commit_later(&self, after: SignedDuration) {
        self.served.fake.change(|state| {
            let now = state.world.now();
            state.timers.schedule(now, after, self.request.clone());
        });
    }

    fn refuse(&self, refusal: ApiError) -> Response {
        self.record_response(refusal.status, refusal.to_json());
        error_response(&refusal)
    }

    async fn hang(&self, hang: Hang) {
        let ServerContext { fake, shutdown } = &self.served;
        let releases = |state: &FakeDiscordState| state.faults.releases;
        fake.state.hang(hang, releases, &fake.settings.clock, shutdown).await;
    }

    fn reset_handle(&self) -> &ResetHandle {
        &self.reset_handle
    }
}

impl ApiCall {
    /// Writes down what was answered.
    fn record_response(&self, status: u16, answer: Value) {
        self.served.fake.change(|state| {
            let call = &mut state.journal.calls[self.journal_index];
            call.status = Some(status);
            call.answer = Some(answer);
        });
    }
}

/// What a request returns, by its kind.
pub fn dispatch(
    state: &mut FakeDiscordState,
    settings: &FakeDiscordSettings,
    asked: &ParsedRequest,
) -> Result<ApiResponse, ApiError> {
    let world = &mut state.world;
    match asked.method {
        Method::GetGateway => Ok(users::gateway(asked)),
        Method::GetGatewayBot => Ok(users::gateway_bot(state, settings, asked)),
        Method::GetMe => Ok(ApiResponse::ok(world.bot_user_json())),
        Method::GetMyGuilds => users::my_guilds(world, asked),
        Method::LeaveGuild => users::leave_guild(world, asked),
        Method::CreateDirect => users::open_direct_message(world, asked),
        Method::GetUser => users::user(world, asked),
        Method::GetMyApplication | Method::GetMyOauthApplication => {
            Ok(ApiResponse::ok(world.application_json()))
        }
        Method::GetGuild => guilds::guild(world, asked),
        Method::GetGuildChannels => guilds::channels(world, asked),
        Method::GetActiveThreads => guilds::active_threads(world, asked),
        Method::GetRoles => guilds::roles(world, asked),
        Method::GetEmojis => guilds::emojis(world, asked),
        Method::GetMembers => guilds::members(world, asked),
        Method::SearchMembers => guilds::search_members(world, asked),
        Method::GetMember => guilds::member(world, asked),
        Method::ChangeMyMember => guilds::update_my_member(world, asked),
        Method::GetChannel => channels::channel(world, asked),
        Method::ChangeChannel => channels::update(world, asked),
        Method::DeleteChannel => channels::delete(world, asked),
        Method::RuleChannel => channels::put_overwrite(world, asked),
        Method::ForgetRule => channels::delete_overwrite(world, asked),
        Method::StartTyping => channels::start_typing(world, asked),
        Method::GetMessages => history::messages(world, asked),
        Method::GetMessage => history::message(world, asked),
        Method::CreateMessage => messages::create(state, settings, asked),
        Method::ChangeMessage => messages::update(world, asked),
        Method::DeleteMessage => messages::delete(world, asked),
        Method::DeleteMessages => messages::bulk_delete(world, asked),
        Method::GetReactions => reactions::list(world, asked),
        Method::CreateReaction => reactions::add(world, asked),
        Method::DeleteMyReaction => reactions::remove_own(world, asked),
        Method::DeleteReaction => reactions::remove(world, asked),
        Method::DeleteReactions => reactions::remove_all(world, asked),
        Method::StartThreadFrom => threads::start_from_message(world, asked),
        Method::StartThread => threads::start(state, asked),
        Method::GetArchivedThreads => threads::archived(world, asked),
        Method::GetPrivateArchivedThreads => threads::archived_private(world, asked),
        Method::GetThreadMember => threads::member(world, asked),
        Method::GetThreadMembers => threads::members(world, asked),
        Method::JoinThread => threads::join(world, asked, world.bot_user),
        Method::AddThreadMember => threads::join(world, asked, asked.path_id("user")?),
        Method::LeaveThread => threads::leave(world, asked, world.bot_user),
        Method::RemoveThreadMember => threads::leave(world, asked, asked.path_id("user")?),
        Method::GetCommands | Method::GetGuildCommands => commands::list(world, asked),
        Method::CreateCommand | Method::CreateGuildCommand => commands::create(world, asked),
        Method::SetCommands | Method::SetGuildCommands => commands::replace_all(world, asked),
        Method::DeleteCommand | Method::DeleteGuildCommand => commands::delete(world, asked),
        Method::AnswerInteraction => interactions::acknowledge(world, asked),
        Method::FollowUp => interactions::follow_up(world, asked),
        Method::GetAnswer => interactions::read(world, asked),
        Method::ChangeAnswer => interactions::update(world, asked),
        Method::DeleteAnswer => interactions::delete(world, asked),
    }
}

fn error_response(refusal: &ApiError) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = (status, axum::Json(refusal.to_json())).into_response();
    if let Some(wait) = refusal.retry_after {
        let headers = response.headers_mut();
        let mut put = |name: &'static str, value: String| {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        };
        put("retry-after", format!("{}", wait.seconds.ceil()));
        put("x-ratelimit-scope", wait.scope.name().to_owned());
        if wait.scope == crate::discord::api_error::RateLimitScope::Global {
            put("x-ratelimit-global", "true".to_owned());
        }
        put("via", "1.1 google".to_owned());
    }
    response
}

fn set_rate_limit_headers(response: &mut Response, counted: &BucketState) {
    let seconds = |at: Timestamp| at.as_millisecond() as f64 / 1000.0;
    for (name, value) in [
        ("x-ratelimit-limit", counted.limit.to_string()),
        ("x-ratelimit-remaining", counted.remaining.to_string()),
        ("x-ratelimit-reset", format!("{:.3}", seconds(counted.reset_at))),
        ("x-ratelimit-reset-after", format!("{:.3}", counted.reset_after.as_secs_f64())),
        ("x-ratelimit-bucket", counted.bucket.clone()),
    ] {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
}
