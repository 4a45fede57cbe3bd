//! The Web API: a call is read, met by its fault if there is one, and answered.

mod access;
mod chat;
mod conversations;
mod history;
mod pagination;
mod users;
mod reactions;

use axum::Json;
use axum::extract::{ConnectInfo, Path, Request, State as Reached};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::fault::{FaultTarget, Hang, respond};
use crate::slack::ServerContext;
use crate::slack::api_error::{ApiError, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::journal::RecordedCall;
use crate::slack::state::{FakeSlackState, TimerTask};
use crate::tcp::ResetHandle;

/// Answers one call.
pub async fn handle_call(
    Reached(served): Reached<ServerContext>,
    ConnectInfo(cutter): ConnectInfo<ResetHandle>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    let host = request_host(request.headers());
    let (arguments, token) = match Arguments::from_request(request).await {
        Ok(read) => read,
        Err(refusal) => return ApiResponse::from(Err(refusal)).into_response(),
    };
    let (number, fault) = served.fake.change(|state| {
        state.host.clone_from(&host);
        state.journal.calls.push(RecordedCall {
            method: method.clone(),
            at: state.workspace.now(),
            arguments: Value::Object(arguments.0.clone()),
            answer: None,
        });
        (state.journal.calls.len() - 1, state.faults.pop(&method))
    });
    let call = ApiCall {
        served,
        reset_handle: cutter,
        method,
        arguments,
        token,
        host,
        journal_index: number,
    };
    respond(&call, fault).await
}

/// What the app tells whoever gave a slash command, later than in its first answer.
pub async fn delayed_command_response(
    Reached(served): Reached<ServerContext>,
    Path((channel, user)): Path<(String, String)>,
    Json(said): Json<Value>,
) -> Result<&'static str, StatusCode> {
    let text = said["text"].as_str().ok_or(StatusCode::BAD_REQUEST)?;
    served.fake.change(|state| match state.faults.pop(&"response_url".to_owned()) {
        Some(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
        None => {
            state.workspace.post_ephemeral(&channel, &user, text);
            Ok("ok")
        }
    })
}

fn request_host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or("127.0.0.1").to_owned()
}

/// A call that is to be answered.
struct ApiCall {
    served: ServerContext,
    reset_handle: ResetHandle,
    method: String,
    arguments: Arguments,
    token: Option<String>,
    host: String,
    /// Its place in the journal.
    journal_index: usize,
}

impl FaultTarget for ApiCall {
    type ApiError = ApiError;

    fn commit(&self) -> Response {
        self.execute().into_response()
    }

    fn commit_later(&self, after: SignedDuration) {
        let fake = &self.served.fake;
        let (method, arguments) = (self.method.clone(), self.arguments.clone());
        let chore = TimerTask::Commit { method, arguments };
        fake.change(|state| state.schedule(&fake.settings, after, chore));
    }

    fn refuse(&self, refusal: ApiError) -> Response {
        let answer = ApiResponse::from(Err(refusal));
        self.served.fake.change(|state| {
            state.journal.calls[self.journal_index].answer = Some(answer.body.clone());
        });
        answer.into_response()
    }

    async fn hang(&self, hang: Hang) {
        let ServerContext { fake, shutdown } = &self.served;
        let releases = |state: &FakeSlackState| state.faults.releases;
        fake.state.hang(hang, releases, &fake.settings.clock, shutdown).await;
    }

    fn reset_handle(&self) -> &ResetHandle {
        &self.reset_handle
    }
}

impl ApiCall {
    /// Does what is asked for.
    fn execute(&self) -> ApiResponse {
        let fake = &self.served.fake;
        fake.change(|state| {
            let checked = access::check(
                state,
                &fake.settings,
                &self.method,
                self.token.as_deref(),
                &self.arguments,
            );
            let answer = checked.and_then(|()| match self.method.as_str() {
                "apps.connections.open" => Ok(self.open_connection(state)),
                method => dispatch(state, method, &self.arguments),
            });
            let answer = ApiResponse::from(answer);
            state.journal.calls[self.journal_index].answer = Some(answer.body.clone());
            answer.with_scopes(&fake.settings.scopes.join(","))
        })
    }

    fn open_connection(&self, state: &mut FakeSlackState) -> Value {
        let ticket = crate::slack::workspace::unique_id("");
        let app = &state.workspace.bot.app_id;
        let url = format!("ws://{}/link?ticket={ticket}&app_id={app}", self.host);
        state.dispatcher.tickets.push(ticket);
        json!({ "ok": true, "url": url })
    }
}

/// What a method returns, by its name.
pub fn dispatch(
    state: &mut FakeSlackState,
    method: &str,
    arguments: &Arguments,
) -> Result<Value, ApiError> {
    let team = &mut state.workspace;
    match method {
        "api.test" => Ok(json!({ "ok": true, "args": arguments.0 })),
        "auth.test" => users::auth_test(team),
        "team.info" => users::team_info(team),
        "emoji.list" => Ok(json!({ "ok": true, "emoji": team.emoji, "cache_ts": "1" })),
        "usergroups.list" => Ok(json!({ "ok": true, "usergroups": team.usergroups })),
        "users.list" => users::users_list(team, arguments),
        "users.info" => users::users_info(team, arguments),
        "users.conversations" => conversations::list_for_user(team, arguments),
        "conversations.list" => conversations::list(team, arguments),
        "conversations.info" => conversations::info(team, arguments),
        "conversations.members" => conversations::members(team, arguments),
        "conversations.join" => conversations::join(team, arguments),
        "conversations.leave" => conversations::leave(team, arguments),
        "conversations.open" => conversations::open(team, arguments),
        "conversations.history" => history::history(state, arguments),
        "conversations.replies" => history::replies(state, arguments),
        "chat.postMessage" => chat::post(state, arguments),
        "chat.update" => chat::update(team, arguments),
        "chat.delete" => chat::delete(team, arguments),
        "chat.postEphemeral" => chat::post_ephemeral(team, arguments),
        "chat.getPermalink" => chat::permalink(team, arguments),
        "reactions.add" => reactions::add(team, arguments),
        "reactions.remove" => reactions::remove(team, arguments),
        "reactions.get" => reactions::list(team, arguments),
        _ => Err(api_error("unknown_method").with("req_method", method)),
    }
}

/// What goes back over HTTP.
struct ApiResponse {
    body: Value,
    retry_after: Option<u64>,
    scopes: Option<String>,
}

impl From<Result<Value, ApiError>> for ApiResponse {
    fn from(answer: Result<Value, ApiError>) -> Self {
        match answer {
            Ok(body) => Self { body, retry_after: None, scopes: None },
            Err(refusal) => {
                Self { body: refusal.to_json(), retry_after: refusal.retry_after, scopes: None }
            }
        }
    }
}

impl ApiResponse {
    fn with_scopes(self, scopes: &str) -> Self {
        Self { scopes: Some(scopes.to_owned()), ..self }
    }
}

impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        let status = match self.retry_after {
            Some(_) => StatusCode::TOO_MANY_REQUESTS,
            None => StatusCode::OK,
        };
        let mut response = (status, Json(self.body)).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(scopes) = self.scopes.and_then(|scopes| HeaderValue::try_from(scopes).ok()) {
            headers.insert("x-oauth-scopes", scopes);
        }
        response
    }
}
