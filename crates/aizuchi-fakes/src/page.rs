//! The web page of a fake platform, on which one developer reads and writes as any user in any channel. The messages
//! are in an iframe that reloads itself, so that a draft in the form survives.

use std::fmt::Display;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use serde::Deserialize;

use aizuchi_core::persona::Language;
use aizuchi_core::texts;

/// Which platform is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakePlatform {
    Slack,
    Discord,
}

/// A fake platform, as its page shows it.
pub trait PageBackend: Send + Sync + 'static {
    const PLATFORM: FakePlatform;
    type Error: Display;

    /// Fills in a channel and a user where the query names none, and returns what can be chosen instead.
    fn page_options(&self, query: PageQuery) -> (PageQuery, PageOptions);

    /// The newest messages of the query's channel, as its user sees them.
    fn page_messages(&self, query: &PageQuery) -> Vec<PageMessage>;

    /// Executes a form: `say`, `edit`, `delete` or `react`.
    fn submit_form(&self, verb: &str, form: &PageForm) -> Result<(), Self::Error>;
}

/// The most messages that the page shows.
pub const MAX_MESSAGES: usize = 200;

/// What the page shows, as its URLs carry it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PageQuery {
    /// The user that the developer speaks as.
    pub user: String,
    pub channel: String,
    /// The message that the draft replies to.
    pub thread: String,
    /// The message that is being edited.
    pub edit: String,
    pub error: String,
}

/// A submitted form.
#[derive(Debug, Deserialize)]
pub struct PageForm {
    pub user: String,
    pub channel: String,
    #[serde(default)]
    pub thread: String,
    #[serde(default)]
    pub text: String,
    /// The message that the form acts on.
    #[serde(rename = "line", default)]
    pub message: String,
}

/// An `<option>` of a `<select>`.
pub struct SelectOption {
    id: String,
    name: String,
    is_selected: bool,
}

impl SelectOption {
    pub fn new(id: &impl ToString, name: &str, selected_id: &str) -> Self {
        let id = id.to_string();
        Self { is_selected: id == selected_id, id, name: name.to_owned() }
    }
}

/// The users and channels to choose from, and the present text of the message that is being edited.
#[derive(Default)]
pub struct PageOptions {
    pub users: Vec<SelectOption>,
    pub channels: Vec<SelectOption>,
    pub edited_text: String,
}

pub struct PageMessage {
    pub id: String,
    /// The thread that a reply to it belongs to.
    pub thread: String,
    pub name: String,
    pub at: String,
    pub text: String,
    pub note: String,
    pub reactions: String,
    pub is_reply: bool,
    pub is_own: bool,
}

#[derive(Template)]
#[template(path = "dev_page.html")]
struct FramePage<'a> {
    language: &'a str,
    texts: PageTexts,
    query: &'a PageQuery,
    options: PageOptions,
}

#[derive(Template)]
#[template(path = "dev_lines.html")]
struct MessagesPage<'a> {
    language: &'a str,
    texts: PageTexts,
    query: &'a PageQuery,
    messages: Vec<PageMessage>,
}

struct PageTexts {
    title: String,
    speak_as: &'static str,
    channel: &'static str,
    go: &'static str,
    message: &'static str,
    send: &'static str,
    save: &'static str,
    cancel: &'static str,
    reply: &'static str,
    edit: &'static str,
    delete: &'static str,
    nothing: &'static str,
    in_thread: &'static str,
    changing: &'static str,
    messages: &'static str,
}

impl PageTexts {
    fn new(platform: FakePlatform, language: Language) -> Self {
        Self {
            title: texts::fakes::title(language, &format!("{platform:?}")),
            speak_as: texts::fakes::speak_as(language),
            channel: texts::fakes::channel(language),
            go: texts::fakes::go(language),
            message: texts::fakes::message(language),
            send: texts::fakes::send(language),
            save: texts::fakes::save(language),
            cancel: texts::fakes::cancel(language),
            reply: texts::fakes::reply(language),
            edit: texts::fakes::edit(language),
            delete: texts::fakes::delete(language),
            nothing: texts::fakes::nothing_said(language),
            in_thread: match platform {
                FakePlatform::Slack => texts::fakes::in_thread(language),
                FakePlatform::Discord => texts::fakes::in_reply(language),
            },
            changing: texts::fakes::changing(language),
            messages: texts::fakes::messages(language),
        }
    }
}

/// The routes of the page.
pub fn router<P: PageBackend>(backend: Arc<P>) -> Router {
    Router::new()
        .route("/", get(frame::<P>))
        .route("/lines", get(messages::<P>))
        .route("/page/{verb}", post(submit::<P>))
        .with_state(backend)
}

/// The page around the iframe.
async fn frame<P: PageBackend>(
    State(backend): State<Arc<P>>,
    headers: HeaderMap,
    Query(query): Query<PageQuery>,
) -> Response {
    let (query, options) = backend.page_options(query);
    let language = preferred_language(&headers);
    let texts = PageTexts::new(P::PLATFORM, language);
    render(&FramePage { language: language.tag(), texts, query: &query, options })
}

/// The iframe with the messages.
async fn messages<P: PageBackend>(
    State(backend): State<Arc<P>>,
    headers: HeaderMap,
    Query(query): Query<PageQuery>,
) -> Response {
    let messages = backend.page_messages(&query);
    let language = preferred_language(&headers);
    let texts = PageTexts::new(P::PLATFORM, language);
    render(&MessagesPage { language: language.tag(), texts, query: &query, messages })
}

/// Executes a form and shows the page again.
async fn submit<P: PageBackend>(
    State(backend): State<Arc<P>>,
    Path(verb): Path<String>,
    Form(form): Form<PageForm>,
) -> Response {
    let result = backend.submit_form(&verb, &form);
    let error = result.err().map(|error| error.to_string()).unwrap_or_default();
    let PageForm { user, channel, thread, .. } = form;
    // On Slack the form stays in its thread, so that several replies can follow each other.
    let keeps_thread = P::PLATFORM == FakePlatform::Slack && verb == "say";
    let thread = if keeps_thread { thread } else { String::new() };
    redirect_back(&verb, &PageQuery { user, channel, thread, edit: String::new(), error })
}

/// Turns each `@name` into a mention, as choosing a name does in the platform's clients. `users` are ids and names.
pub fn resolve_mentions<'a>(text: &str, users: impl Iterator<Item = (String, &'a str)>) -> String {
    users.fold(text.to_owned(), |text, (id, name)| {
        text.replace(&format!("@{name}"), &format!("<@{id}>"))
    })
}

/// Turns mentions into `@name`, as users see them.
pub fn display_mentions<'a>(text: &str, users: impl Iterator<Item = (String, &'a str)>) -> String {
    users.fold(text.to_owned(), |text, (id, name)| {
        text.replace(&format!("<@{id}>"), &format!("@{name}"))
    })
}

/// Redirects back to the page that a form was on, with an error to show.
fn redirect_back(verb: &str, query: &PageQuery) -> Response {
    let page = if matches!(verb, "say" | "edit") { "/" } else { "/lines" };
    let mut address =
        format!("{page}?user={}&channel={}", url_escape(&query.user), url_escape(&query.channel));
    for (name, value) in [("thread", &query.thread), ("error", &query.error)] {
        if !value.is_empty() {
            address.push_str(&format!("&{name}={}", url_escape(value)));
        }
    }
    Redirect::to(&address).into_response()
}

fn preferred_language(headers: &HeaderMap) -> Language {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.starts_with("ja")) {
        Language::Ja
    } else {
        Language::En
    }
}

fn url_escape(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let escape = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

fn render(page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => Html(html).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
