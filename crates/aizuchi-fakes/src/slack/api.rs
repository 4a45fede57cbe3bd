//! The Web API: parses a call, applies its fault if one was injected, and responds.

mod access;
mod chat;
mod conversations;
mod history;
mod pagination;
mod users;
mod reactions;
mod views;

use axum::Json;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::fault::{FaultTarget, Hang, respond};
use crate::slack::api_error::{ApiError, ApiResult, api_error};
use crate::slack::arguments::Arguments;
use crate::slack::journal::RecordedCall;
use crate::slack::state::{FakeSlackState, TimerTask};
use crate::slack::{FakeSlackSettings, ServerContext};
use crate::tcp::ResetHandle;
use crate::wire::json_response;

pub async fn handle_call(
    State(server): State<ServerContext>,
    ConnectInfo(reset_handle): ConnectInfo<ResetHandle>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    let host = request_host(request.headers());
    let (arguments, token) = match Arguments::from_request(request).await {
        Ok(parsed) => parsed,
        Err(error) => return ApiResponse::from(Err(error)).into_response(),
    };
    let (journal_index, fault) = server.fake.change(|state| {
        state.host.clone_from(&host);
        state.journal.calls.push(RecordedCall {
            method: method.clone(),
            at: state.workspace.now(),
            arguments: Value::Object(arguments.0.clone()),
            answer: None,
        });
        let history = match method.as_str() {
            "conversations.history" | "conversations.replies" => arguments.text("channel"),
            _ => None,
        };
        let of_history = history.and_then(|channel| state.faults.of_history(channel));
        (state.journal.calls.len() - 1, state.faults.pop(&method).or(of_history))
    });
    let call = ApiCall { server, reset_handle, method, arguments, token, host, journal_index };
    respond(&call, fault).await
}

/// Serves the `response_url` of a slash command: a response after the first one.
pub async fn delayed_command_response(
    State(server): State<ServerContext>,
    Path((channel, user)): Path<(String, String)>,
    Json(body): Json<Value>,
) -> Result<&'static str, StatusCode> {
    if !body["text"].is_string() {
        return Err(StatusCode::BAD_REQUEST);
    }
    server.fake.change(|state| match state.faults.pop(&"response_url".to_owned()) {
        Some(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
        None => {
            state.workspace.post_command_response(&channel, &user, &body);
            Ok("ok")
        }
    })
}

fn request_host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or("127.0.0.1").to_owned()
}

/// A parsed call.
struct ApiCall {
    server: ServerContext,
    reset_handle: ResetHandle,
    method: String,
    arguments: Arguments,
    token: Option<String>,
    host: String,
    /// The index of the call in the journal.
    journal_index: usize,
}

impl FaultTarget for ApiCall {
    type ApiError = ApiError;

    fn commit(&self) -> Response {
        self.execute().into_response()
    }

    fn commit_later(&self, after: SignedDuration) {
        let fake = &self.server.fake;
        let (method, arguments) = (self.method.clone(), self.arguments.clone());
        let task = TimerTask::Commit { method, arguments };
        fake.change(|state| state.schedule(&fake.settings, after, task));
    }

    fn refuse(&self, error: ApiError) -> Response {
        let response = ApiResponse::from(Err(error));
        self.server.fake.change(|state| {
            state.journal.calls[self.journal_index].answer = Some(response.body.clone());
        });
        response.into_response()
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
    fn execute(&self) -> ApiResponse {
        let fake = &self.server.fake;
        fake.change(|state| {
            let access = access::check(
                state,
                &fake.settings,
                &self.method,
                self.token.as_deref(),
                &self.arguments,
            );
            let result = access.and_then(|()| match self.method.as_str() {
                "apps.connections.open" => Ok(self.open_connection(state)),
                method => dispatch(state, method, &self.arguments),
            });
            let response = ApiResponse::from(result);
            state.journal.calls[self.journal_index].answer = Some(response.body.clone());
            match fake.settings.names_scopes {
                true => response.with_scopes(&fake.settings.scopes.join(",")),
                false => response,
            }
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

/// Runs the scheduled tasks that are due.
pub fn run_due_timers(state: &mut FakeSlackState, settings: &FakeSlackSettings) {
    let now = settings.clock.now();
    while let Some(task) = state.timers.take_due(now) {
        match task {
            TimerTask::Delivery(task) => state.run_delivery_task(task, settings),
            TimerTask::Commit { method, arguments } => {
                // The client already has its response, or gets none.
                let _ = dispatch(state, &method, &arguments);
            }
        }
    }
}

/// Executes the method of this name.
fn dispatch(state: &mut FakeSlackState, method: &str, arguments: &Arguments) -> ApiResult<Value> {
    let workspace = &mut state.workspace;
    match method {
        "api.test" => Ok(json!({ "ok": true, "args": arguments.0 })),
        "auth.test" => users::auth_test(workspace),
        "team.info" => users::team_info(workspace),
        "usergroups.list" => Ok(json!({ "ok": true, "usergroups": workspace.usergroups })),
        "users.list" => users::users_list(workspace, arguments),
        "users.info" => users::users_info(workspace, arguments),
        "users.conversations" => conversations::list_for_user(workspace, arguments),
        "conversations.list" => conversations::list(workspace, arguments),
        "conversations.info" => conversations::info(workspace, arguments),
        "conversations.members" => conversations::members(workspace, arguments),
        "conversations.join" => conversations::join(workspace, arguments),
        "conversations.open" => conversations::open(workspace, arguments),
        "conversations.history" => history::history(state, arguments),
        "conversations.replies" => history::replies(state, arguments),
        "chat.postMessage" => chat::post(state, arguments),
        "chat.update" => chat::update(workspace, arguments),
        "chat.delete" => chat::delete(workspace, arguments),
        "chat.postEphemeral" => chat::post_ephemeral(workspace, arguments),
        "chat.getPermalink" => chat::permalink(workspace, arguments),
        "views.open" => views::open(state, arguments),
        "reactions.add" => reactions::add(workspace, arguments),
        "reactions.remove" => reactions::remove(workspace, arguments),
        "reactions.get" => reactions::list(workspace, arguments),
        _ => Err(api_error("unknown_method").with("req_method", method)),
    }
}

/// The response to a call, before its conversion to HTTP.
struct ApiResponse {
    body: Value,
    retry_after: Option<u64>,
    scopes: Option<String>,
}

impl From<ApiResult<Value>> for ApiResponse {
    fn from(result: ApiResult<Value>) -> Self {
        match result {
            Ok(body) => Self { body, retry_after: None, scopes: None },
            Err(error) => {
                Self { body: error.to_json(), retry_after: error.retry_after, scopes: None }
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
        let mut response = (status, json_response(&self.body)).into_response();
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
