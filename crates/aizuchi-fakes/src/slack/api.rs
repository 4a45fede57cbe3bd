//! The Web API: a call is read, met by its fault if there is one, and answered.

mod access;
mod chat;
mod conversations;
mod history;
mod pages;
mod people;
mod reactions;

use axum::Json;
use axum::extract::{ConnectInfo, Path, Request, State as Reached};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::fault::{Faulty, Hang, meet};
use crate::slack::Served;
use crate::slack::arguments::Arguments;
use crate::slack::journal::Call;
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::state::{Chore, State};
use crate::wire::Cutter;

/// Answers one call.
pub async fn call(
    Reached(served): Reached<Served>,
    ConnectInfo(cutter): ConnectInfo<Cutter>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    let host = host(request.headers());
    let (arguments, token) = match Arguments::read(request).await {
        Ok(read) => read,
        Err(refusal) => return Answer::from(Err(refusal)).into_response(),
    };
    let (number, fault) = served.fake.change(|state| {
        state.host.clone_from(&host);
        state.journal.calls.push(Call {
            method: method.clone(),
            at: state.workspace.now(),
            arguments: Value::Object(arguments.0.clone()),
            answer: None,
        });
        (state.journal.calls.len() - 1, state.faults.take(&method))
    });
    let call = Asked { served, cutter, method, arguments, token, host, number };
    meet(&call, fault).await
}

/// What the app tells whoever gave a slash command, later than in its first answer.
pub async fn answer_later(
    Reached(served): Reached<Served>,
    Path((channel, user)): Path<(String, String)>,
    Json(said): Json<Value>,
) -> Result<&'static str, StatusCode> {
    let text = said["text"].as_str().ok_or(StatusCode::BAD_REQUEST)?;
    served.fake.change(|state| match state.faults.take(&"response_url".to_owned()) {
        Some(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
        None => {
            state.workspace.whisper(&channel, &user, text);
            Ok("ok")
        }
    })
}

fn host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or("127.0.0.1").to_owned()
}

/// A call that is to be answered.
struct Asked {
    served: Served,
    cutter: Cutter,
    method: String,
    arguments: Arguments,
    token: Option<String>,
    host: String,
    /// Its place in the journal.
    number: usize,
}

impl Faulty for Asked {
    type Refusal = Refusal;

    fn commit(&self) -> Response {
        self.answered().into_response()
    }

    fn commit_later(&self, after: SignedDuration) {
        let fake = &self.served.fake;
        let (method, arguments) = (self.method.clone(), self.arguments.clone());
        let chore = Chore::Commit { method, arguments };
        fake.change(|state| state.later(&fake.settings, after, chore));
    }

    fn refuse(&self, refusal: Refusal) -> Response {
        let answer = Answer::from(Err(refusal));
        self.served.fake.change(|state| {
            state.journal.calls[self.number].answer = Some(answer.body.clone());
        });
        answer.into_response()
    }

    async fn hang(&self, hang: Hang) {
        let Served { fake, shutdown } = &self.served;
        let releases = |state: &State| state.faults.releases;
        fake.state.hang(hang, releases, &fake.settings.clock, shutdown).await;
    }

    fn cutter(&self) -> &Cutter {
        &self.cutter
    }
}

impl Asked {
    /// Does what is asked for.
    fn answered(&self) -> Answer {
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
                method => answer(state, method, &self.arguments),
            });
            let answer = Answer::from(answer);
            state.journal.calls[self.number].answer = Some(answer.body.clone());
            answer.scoped(&fake.settings.scopes.join(","))
        })
    }

    fn open_connection(&self, state: &mut State) -> Value {
        let ticket = crate::slack::workspace::unique("");
        let app = &state.workspace.bot.app_id;
        let url = format!("ws://{}/link?ticket={ticket}&app_id={app}", self.host);
        state.mail.tickets.push(ticket);
        json!({ "ok": true, "url": url })
    }
}

/// What a method returns, by its name.
pub fn answer(state: &mut State, method: &str, arguments: &Arguments) -> Result<Value, Refusal> {
    let team = &mut state.workspace;
    match method {
        "api.test" => Ok(json!({ "ok": true, "args": arguments.0 })),
        "auth.test" => people::auth_test(team),
        "team.info" => people::team_info(team),
        "emoji.list" => Ok(json!({ "ok": true, "emoji": team.emoji, "cache_ts": "1" })),
        "usergroups.list" => Ok(json!({ "ok": true, "usergroups": team.usergroups })),
        "users.list" => people::users_list(team, arguments),
        "users.info" => people::users_info(team, arguments),
        "users.conversations" => conversations::of_user(team, arguments),
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
        _ => Err(refuse("unknown_method").with("req_method", method)),
    }
}

/// What goes back over HTTP.
struct Answer {
    body: Value,
    retry_after: Option<u64>,
    scopes: Option<String>,
}

impl From<Result<Value, Refusal>> for Answer {
    fn from(answer: Result<Value, Refusal>) -> Self {
        match answer {
            Ok(body) => Self { body, retry_after: None, scopes: None },
            Err(refusal) => {
                Self { body: refusal.shape(), retry_after: refusal.retry_after, scopes: None }
            }
        }
    }
}

impl Answer {
    fn scoped(self, scopes: &str) -> Self {
        Self { scopes: Some(scopes.to_owned()), ..self }
    }
}

impl IntoResponse for Answer {
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
