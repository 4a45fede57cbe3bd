//! The plain page of a fake platform, on which one person is everybody: reads and writes as anyone,
//! anywhere. The lines are in a frame of their own that loads itself again, so that what is being
//! written stays.

use askama::Template;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use aizuchi_core::persona::Language;

/// Which platform is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakePlatform {
    Slack,
    Discord,
}

/// Where on the page one is, as its addresses and forms carry it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PageQuery {
    /// Who is speaking.
    pub user: String,
    pub channel: String,
    /// What is being answered.
    pub thread: String,
    /// The line that is being changed.
    pub edit: String,
    pub error: String,
}

/// What a form was filled with.
#[derive(Debug, Deserialize)]
pub struct PageForm {
    pub user: String,
    pub channel: String,
    #[serde(default)]
    pub thread: String,
    #[serde(default)]
    pub text: String,
    /// The line that it is about.
    #[serde(rename = "line", default)]
    pub message: String,
}

/// Something to choose from.
pub struct SelectOption {
    pub id: String,
    pub name: String,
    pub is_chosen: bool,
}

/// What one can choose, and what the line that is being changed says now.
#[derive(Default)]
pub struct PageOptions {
    pub users: Vec<SelectOption>,
    pub channels: Vec<SelectOption>,
    pub old: String,
}

pub struct PageMessage {
    pub id: String,
    /// What a reply to it belongs to.
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
    words: PageTexts,
    here: &'a PageQuery,
    choices: PageOptions,
}

#[derive(Template)]
#[template(path = "dev_lines.html")]
struct MessagesPage<'a> {
    language: &'a str,
    words: PageTexts,
    here: &'a PageQuery,
    lines: Vec<PageMessage>,
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
    lines: &'static str,
}

impl PageTexts {
    fn new(replica: FakePlatform, language: Language) -> Self {
        let pick = |english, japanese| language.pick(english, japanese);
        Self {
            title: match language {
                Language::En => format!("A fake {replica:?}"),
                Language::Ja => format!("開発用の {replica:?} もどき"),
            },
            speak_as: pick("Speak as", "話す人"),
            channel: pick("Channel", "チャンネル"),
            go: pick("Go", "移動"),
            message: pick("Message", "メッセージ"),
            send: pick("Send", "送信"),
            save: pick("Save", "保存"),
            cancel: pick("Cancel", "やめる"),
            reply: pick("Reply", "返信"),
            edit: pick("Edit", "編集"),
            delete: pick("Delete", "削除"),
            nothing: pick("Nobody has said anything here yet.", "まだ発言はありません。"),
            in_thread: match replica {
                FakePlatform::Slack => pick("In a thread", "スレッドに返信中"),
                FakePlatform::Discord => pick("In reply to a line", "発言に返信中"),
            },
            changing: pick("Changing a line", "発言を編集中"),
            lines: pick("Lines", "発言"),
        }
    }
}

/// The page without its lines.
pub fn render_frame(
    replica: FakePlatform,
    headers: &HeaderMap,
    here: &PageQuery,
    choices: PageOptions,
) -> Response {
    let language = preferred_language(headers);
    let words = PageTexts::new(replica, language);
    render(&FramePage { language: language.tag(), words, here, choices })
}

pub fn render_messages(
    replica: FakePlatform,
    headers: &HeaderMap,
    here: &PageQuery,
    lines: Vec<PageMessage>,
) -> Response {
    let language = preferred_language(headers);
    let words = PageTexts::new(replica, language);
    render(&MessagesPage { language: language.tag(), words, here, lines })
}

/// Back to where a form was filled, with what went wrong.
pub fn redirect_back(verb: &str, here: &PageQuery) -> Response {
    let page = if matches!(verb, "say" | "edit") { "/" } else { "/lines" };
    let mut address =
        format!("{page}?user={}&channel={}", url_escape(&here.user), url_escape(&here.channel));
    for (name, value) in [("thread", &here.thread), ("error", &here.error)] {
        if !value.is_empty() {
            address.push_str(&format!("&{name}={}", url_escape(value)));
        }
    }
    Redirect::to(&address).into_response()
}

fn preferred_language(headers: &HeaderMap) -> Language {
    let wanted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    if wanted.is_some_and(|wanted| wanted.starts_with("ja")) { Language::Ja } else { Language::En }
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
