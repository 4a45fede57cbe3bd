//! REST: a request is read, met by its fault if there is one, and answered.

mod answers;
mod body;
mod channels;
mod commands;
mod guilds;
mod history;
mod messages;
mod people;
mod reactions;
mod threads;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, Query, State as Reached};
use axum::http::{HeaderMap, HeaderValue, Method as Verb, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::discord::api::body::Answer;
use crate::discord::journal::Call;
use crate::discord::limits::Counted;
use crate::discord::method::{Astray, Method, Parts};
use crate::discord::refusal::{Reason, Refusal, refuse};
use crate::discord::state::{State, Token};
use crate::discord::{Served, Settings};
use crate::fault::{Faulty, Hang, meet};
use crate::wire::Cutter;

/// What somebody asks for.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: Method,
    pub parts: Parts,
    pub query: Vec<(String, String)>,
    pub body: Value,
    pub host: String,
}

pub fn host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or("127.0.0.1").to_owned()
}

/// Answers one request.
pub async fn call(
    Reached(served): Reached<Served>,
    ConnectInfo(cutter): ConnectInfo<Cutter>,
    Path(path): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
    verb: Verb,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let (method, parts) = match Method::find(verb.as_str(), &path) {
        Ok(found) => found,
        Err(Astray::NoSuchPath) => return refused(&refuse(Reason::NotFound)),
        Err(Astray::OtherVerb) => return refused(&refuse(Reason::MethodNotAllowed)),
    };
    let Ok(body) = body::read(&headers, &bytes) else {
        return refused(&refuse(Reason::InvalidJson));
    };
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let asked = Asked { method, parts, query, body, host: host(&headers) };
    let request = Request {
        token: token.unwrap_or_default().to_owned(),
        number: note(&served, &asked, path),
        served,
        cutter,
        asked,
    };
    let fault = request.served.fake.change(|state| state.faults.take(&method));
    meet(&request, fault).await
}

/// Writes a request down, and says where.
fn note(served: &Served, asked: &Asked, path: String) -> usize {
    let query: Vec<String> =
        asked.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let path = if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) };
    served.fake.change(|state| {
        state.journal.calls.push(Call {
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
struct Request {
    served: Served,
    cutter: Cutter,
    asked: Asked,
    token: String,
    /// Its place in the journal.
    number: usize,
}

impl Faulty for Request {
    type Refusal = Refusal;

    fn commit(&self) -> Response {
        let fake = &self.served.fake;
        let (answer, counted) = fake.change(|state| {
            let now = state.world.now();
            let Asked { method, parts, .. } = &self.asked;
            let is_known = method.is_open()
                || self.token.starts_with("Bot ")
                    && state.token_of(&self.token, &fake.settings) == Token::Good;
            if !is_known {
                return (Err(refuse(Reason::Unauthorized)), None);
            }
            let counted = state.limits.count(&fake.settings.bounds, *method, parts, now);
            let answer = match counted.exceeded {
                Some(wait) => Err(Refusal::rate_limited(wait)),
                None => answer(state, &fake.settings, &self.asked),
            };
            (answer, Some(counted))
        });
        let mut response = match answer {
            Ok(answer) => {
                self.keep(answer.status, answer.body.clone());
                answer.into_response()
            }
            Err(refusal) => self.refuse(refusal),
        };
        if let Some(counted) = counted {
            tell_limits(&mut response, &counted);
        }
        response
    }

    fn commit_later(&self, after: SignedDuration) {
        self.served.fake.change(|state| {
            let now = state.world.now();
            state.chores.add(now, after, self.asked.clone());
        });
    }

    fn refuse(&self, refusal: Refusal) -> Response {
        self.keep(refusal.status, refusal.shape());
        refused(&refusal)
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

impl Request {
    /// Writes down what was answered.
    fn keep(&self, status: u16, answer: Value) {
        self.served.fake.change(|state| {
            let call = &mut state.journal.calls[self.number];
            call.status = Some(status);
            call.answer = Some(answer);
        });
    }
}

/// What a request returns, by its kind.
pub fn answer(state: &mut State, settings: &Settings, asked: &Asked) -> Result<Answer, Refusal> {
    let world = &mut state.world;
    match asked.method {
        Method::GetGateway => Ok(people::gateway(asked)),
        Method::GetGatewayBot => Ok(people::gateway_bot(state, settings, asked)),
        Method::GetMe => Ok(Answer::of(world.my_shape())),
        Method::GetMyGuilds => people::my_guilds(world, asked),
        Method::LeaveGuild => people::leave_guild(world, asked),
        Method::CreateDirect => people::create_direct(world, asked),
        Method::GetUser => people::user(world, asked),
        Method::GetMyApplication | Method::GetMyOauthApplication => {
            Ok(Answer::of(world.application_shape()))
        }
        Method::GetGuild => guilds::guild(world, asked),
        Method::GetGuildChannels => guilds::channels(world, asked),
        Method::GetActiveThreads => guilds::active_threads(world, asked),
        Method::GetRoles => guilds::roles(world, asked),
        Method::GetEmojis => guilds::emojis(world, asked),
        Method::GetMembers => guilds::members(world, asked),
        Method::SearchMembers => guilds::search(world, asked),
        Method::GetMember => guilds::member(world, asked),
        Method::ChangeMyMember => guilds::change_my_member(world, asked),
        Method::GetChannel => channels::channel(world, asked),
        Method::ChangeChannel => channels::change(world, asked),
        Method::DeleteChannel => channels::delete(world, asked),
        Method::RuleChannel => channels::rule(world, asked),
        Method::ForgetRule => channels::forget_rule(world, asked),
        Method::StartTyping => channels::start_typing(world, asked),
        Method::GetMessages => history::messages(world, asked),
        Method::GetMessage => history::message(world, asked),
        Method::CreateMessage => messages::create(state, settings, asked),
        Method::ChangeMessage => messages::change(world, asked),
        Method::DeleteMessage => messages::delete(world, asked),
        Method::DeleteMessages => messages::delete_bulk(world, asked),
        Method::GetReactions => reactions::list(world, asked),
        Method::CreateReaction => reactions::create(world, asked),
        Method::DeleteMyReaction => reactions::delete_mine(world, asked),
        Method::DeleteReaction => reactions::delete(world, asked),
        Method::DeleteReactions => reactions::delete_all(world, asked),
        Method::StartThreadFrom => threads::start_from(world, asked),
        Method::StartThread => threads::start(state, asked),
        Method::GetArchivedThreads => threads::archived(world, asked),
        Method::GetPrivateArchivedThreads => threads::archived_in_private(world, asked),
        Method::GetThreadMember => threads::member(world, asked),
        Method::GetThreadMembers => threads::members(world, asked),
        Method::JoinThread => threads::join(world, asked, world.me),
        Method::AddThreadMember => threads::join(world, asked, asked.id("user")?),
        Method::LeaveThread => threads::leave(world, asked, world.me),
        Method::RemoveThreadMember => threads::leave(world, asked, asked.id("user")?),
        Method::GetCommands | Method::GetGuildCommands => commands::list(world, asked),
        Method::CreateCommand | Method::CreateGuildCommand => commands::create(world, asked),
        Method::SetCommands | Method::SetGuildCommands => commands::set(world, asked),
        Method::DeleteCommand | Method::DeleteGuildCommand => commands::delete(world, asked),
        Method::AnswerInteraction => answers::acknowledge(world, asked),
        Method::FollowUp => answers::follow_up(world, asked),
        Method::GetAnswer => answers::read(world, asked),
        Method::ChangeAnswer => answers::change(world, asked),
        Method::DeleteAnswer => answers::delete(world, asked),
    }
}

fn refused(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = (status, axum::Json(refusal.shape())).into_response();
    if let Some(wait) = refusal.wait {
        let headers = response.headers_mut();
        let mut put = |name: &'static str, value: String| {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        };
        put("retry-after", format!("{}", wait.seconds.ceil()));
        put("x-ratelimit-scope", wait.scope.name().to_owned());
        if wait.scope == crate::discord::refusal::Scope::Global {
            put("x-ratelimit-global", "true".to_owned());
        }
        put("via", "1.1 google".to_owned());
    }
    response
}

fn tell_limits(response: &mut Response, counted: &Counted) {
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
