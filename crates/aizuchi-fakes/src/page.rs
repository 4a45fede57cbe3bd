//! The web page of a fake platform, for reading and writing as any user in any channel. The page is a small program in
//! the browser that requests a [`PageView`] whenever something has changed. Chat text is sent to it as text.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The platform that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakePlatform {
    Slack,
    Discord,
}

/// A fake platform that a page can show.
pub trait PageBackend: Send + Sync + 'static {
    const PLATFORM: FakePlatform;
    type Error: Display;

    /// Returns a counter that increases with every change.
    fn revision(&self) -> u64;

    /// Returns the page's view for this query.
    fn page_view(&self, query: &PageQuery) -> PageView;

    /// Executes a form: `say`, `edit`, `delete`, `react` or `invite`.
    fn submit_form(&self, verb: &str, form: &PageForm) -> Result<(), Self::Error>;
}

/// The maximum number of messages that the page shows.
pub const MAX_MESSAGES: usize = 200;

/// The view that the page requests.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PageQuery {
    /// The user to speak as.
    pub user: String,
    pub channel: String,
    /// The revision that the page already shows.
    pub seen: Option<u64>,
}

/// A submitted form.
#[derive(Debug, Deserialize)]
pub struct PageForm {
    pub user: String,
    pub channel: String,
    /// The message that this one replies to.
    #[serde(default)]
    pub thread: String,
    #[serde(default)]
    pub text: String,
    /// The message that the form acts on.
    #[serde(rename = "line", default)]
    pub message: String,
    /// The name of a reaction, by default a thumbs up.
    #[serde(default)]
    pub emoji: String,
}

/// A channel with its messages, and the users and channels to choose from.
#[derive(Debug, Default, Serialize)]
pub struct PageView {
    /// The workspace or server.
    pub place: String,
    /// The user and channel shown, even if the query named none.
    pub user: String,
    pub channel: String,
    pub users: Vec<PageOption>,
    pub channels: Vec<PageOption>,
    /// The app's user, who is not in every channel.
    pub bot: String,
    pub has_bot: bool,
    /// The available slash commands.
    pub commands: Vec<String>,
    /// The visible names of users and channels by id, for the mentions in texts.
    pub names: BTreeMap<String, String>,
    /// Oldest first; replies come below their parents.
    pub messages: Vec<PageMessage>,
}

/// A user or channel to choose from.
#[derive(Debug, Serialize)]
pub struct PageOption {
    pub id: String,
    pub name: String,
    /// Whether it is a thread, which is listed below its channel.
    pub is_thread: bool,
}

#[derive(Debug, Default, Serialize)]
pub struct PageMessage {
    pub id: String,
    /// The message that a reply to this one replies to.
    pub thread: String,
    /// Whether it is shown below the message that opened its thread.
    pub is_reply: bool,
    /// The message that it replies to, if that is shown elsewhere.
    pub quote: Option<PageQuote>,
    /// The thread that was started from it, which is a channel of its own.
    pub opened: Option<String>,
    pub name: String,
    pub is_bot: bool,
    pub is_own: bool,
    /// The time of sending, in milliseconds of Unix time.
    pub at_ms: i64,
    /// In the platform's own markup.
    pub text: String,
    /// The text as its author would edit it.
    pub source: String,
    pub is_edited: bool,
    pub kind: PageMessageKind,
    pub reactions: Vec<PageReaction>,
}

/// The audience of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageMessageKind {
    #[default]
    Regular,
    /// Visible to the chosen user only.
    Ephemeral,
    /// From the platform itself.
    System,
}

#[derive(Debug, Serialize)]
pub struct PageQuote {
    pub name: String,
    pub text: String,
}

#[derive(Debug, Serialize)]
pub struct PageReaction {
    /// A name, or the emoji itself.
    pub emoji: String,
    pub users: Vec<String>,
    pub is_own: bool,
}

#[derive(Template)]
#[template(path = "stand_in.html")]
struct StandInPage<'a> {
    language: &'a str,
    title: &'a str,
    needs_script: &'a str,
    /// JSON inside a `script` element.
    settings: String,
}

/// Returns the routes of the page.
pub fn router<P: PageBackend>(backend: Arc<P>) -> Router {
    const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
    const CSS: &str = "text/css; charset=utf-8";
    let file = |kind: &'static str, text: &'static str| {
        get(async move || {
            ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text)
        })
    };
    Router::new()
        .route("/", get(page::<P>))
        .route("/page/view", get(view::<P>))
        .route("/page/{verb}", post(submit::<P>))
        .route("/static/stand_in.js", file(JAVASCRIPT, include_str!("page/stand_in.js")))
        .route("/static/markup.js", file(JAVASCRIPT, include_str!("page/markup.js")))
        .route("/static/stand_in.css", file(CSS, include_str!("page/stand_in.css")))
        .with_state(backend)
}

async fn page<P: PageBackend>(headers: HeaderMap) -> Response {
    let language = preferred_language(&headers);
    let platform = format!("{:?}", P::PLATFORM);
    let texts = page_texts(P::PLATFORM, language);
    let settings = json!({ "platform": platform.to_lowercase(), "texts": texts }).to_string();
    let page = StandInPage {
        language: language.tag(),
        title: &texts::fakes::title(language, &platform),
        needs_script: texts::fakes::needs_script(language),
        settings: settings.replace('<', "\\u003c"),
    };
    let policy =
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";
    match page.render() {
        Ok(html) => ([(header::CONTENT_SECURITY_POLICY, policy)], Html(html)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns the texts of the page, by the names that its script uses.
fn page_texts(platform: FakePlatform, language: Language) -> BTreeMap<&'static str, String> {
    let name = format!("{platform:?}");
    let in_thread = match platform {
        FakePlatform::Slack => texts::fakes::in_thread(language),
        FakePlatform::Discord => texts::fakes::in_reply(language),
    };
    macro_rules! fixed_texts {
        ($($name:ident)*) => {
            [$((stringify!($name), texts::fakes::$name(language))),*]
        };
    }
    let fixed = fixed_texts! {
        speak_as channels channel message messages send save cancel reply edit delete react changing
        edited ephemeral app open_thread invite keys unreachable
    };
    let others = [("nothing", texts::fakes::nothing_said(language)), ("in_thread", in_thread)];
    let texts = fixed.into_iter().chain(others).map(|(key, text)| (key, text.to_owned()));
    let named = [
        ("title", texts::fakes::title(language, &name)),
        ("local", texts::fakes::local(language, &name)),
        ("refused", texts::fakes::refused(language, &name)),
        ("absent", texts::fakes::absent(language, "{name}")),
        ("commands", texts::fakes::commands(language, "{commands}")),
        ("no_command", texts::fakes::no_command(language, "{command}")),
    ];
    texts.chain(named).collect()
}

/// Returns the view of the page, unless the page already shows it.
async fn view<P: PageBackend>(
    State(backend): State<Arc<P>>,
    Query(query): Query<PageQuery>,
) -> Response {
    // Read before the view, which is then at least as recent.
    let revision = backend.revision();
    if query.seen == Some(revision) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let view = backend.page_view(&query);
    Json(json!({ "revision": revision, "view": view })).into_response()
}

/// Executes a form, or returns the platform's reason for refusing it.
async fn submit<P: PageBackend>(
    State(backend): State<Arc<P>>,
    Path(verb): Path<String>,
    Form(form): Form<PageForm>,
) -> Response {
    match backend.submit_form(&verb, &form) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()).into_response(),
    }
}

/// Turns each `@name` into a mention, as selecting a name does in the platform's clients. `users` are ids and names.
pub fn resolve_mentions<'a>(text: &str, users: impl Iterator<Item = (String, &'a str)>) -> String {
    users.fold(text.to_owned(), |text, (id, name)| {
        text.replace(&format!("@{name}"), &format!("<@{id}>"))
    })
}

/// Turns mentions into `@name`, as users write them.
pub fn display_mentions<'a>(text: &str, users: impl Iterator<Item = (String, &'a str)>) -> String {
    users.fold(text.to_owned(), |text, (id, name)| {
        text.replace(&format!("<@{id}>"), &format!("@{name}"))
    })
}

fn preferred_language(headers: &HeaderMap) -> Language {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.starts_with("ja")) {
        Language::Ja
    } else {
        Language::En
    }
}
