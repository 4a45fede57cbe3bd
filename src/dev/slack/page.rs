//! A plain page on which one person is everybody: reads and writes as anyone, anywhere. The lines
//! are in a frame of their own that loads itself again, so that what is being written stays.

use std::cmp::Reverse;

use askama::Template;
use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::dev::slack::channel::{Channel, Kind};
use crate::dev::slack::message::{Message, Saying};
use crate::dev::slack::refusal::{Refusal, refuse};
use crate::dev::slack::ts::Ts;
use crate::dev::slack::user::User;
use crate::dev::slack::workspace::{Ephemeral, Workspace};
use crate::dev::slack::{FakeSlack, Served};
use crate::persona::Language;

/// Where on the page one is, as its addresses and forms carry it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Here {
    /// Who is speaking.
    user: String,
    channel: String,
    thread: String,
    /// The line that is being changed.
    edit: String,
    error: String,
}

#[derive(Template)]
#[template(path = "slack_page.html")]
struct FramePage<'a> {
    language: &'a str,
    words: Words,
    here: &'a Here,
    users: Vec<Choice>,
    channels: Vec<Choice>,
    /// What the line that is being changed says now.
    old: String,
}

#[derive(Template)]
#[template(path = "slack_lines.html")]
struct LinesPage<'a> {
    language: &'a str,
    words: Words,
    here: &'a Here,
    lines: Vec<Line>,
}

/// Something to choose from.
struct Choice {
    id: String,
    name: String,
    is_chosen: bool,
}

struct Line {
    ts: String,
    /// What a reply to it belongs to.
    thread: String,
    name: String,
    at: String,
    text: String,
    note: String,
    reactions: String,
    is_reply: bool,
    is_own: bool,
}

struct Words {
    title: &'static str,
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

impl Words {
    fn of(language: Language) -> Self {
        let pick = |english, japanese| language.pick(english, japanese);
        Self {
            title: pick("A fake Slack", "開発用の Slack もどき"),
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
            in_thread: pick("In a thread", "スレッドに返信中"),
            changing: pick("Changing a line", "発言を編集中"),
            lines: pick("Lines", "発言"),
        }
    }
}

pub async fn frame(
    State(served): State<Served>,
    headers: HeaderMap,
    Query(here): Query<Here>,
) -> Response {
    let language = language(&headers);
    served.fake.read(|state| {
        let team = &state.workspace;
        let here = completed(team, here);
        let old = (here.edit.parse().ok())
            .and_then(|ts: Ts| team.message(&here.channel, ts).ok())
            .map(|message| message.text.clone())
            .unwrap_or_default();
        shown(&FramePage {
            language: language.tag(),
            words: Words::of(language),
            users: users(team, &here),
            channels: channels(team, &here),
            here: &here,
            old,
        })
    })
}

pub async fn lines(
    State(served): State<Served>,
    headers: HeaderMap,
    Query(here): Query<Here>,
) -> Response {
    let language = language(&headers);
    served.fake.read(|state| {
        let team = &state.workspace;
        let lines = team.channel(&here.channel).map(|channel| told(team, channel, &here));
        shown(&LinesPage {
            language: language.tag(),
            words: Words::of(language),
            here: &here,
            lines: lines.unwrap_or_default(),
        })
    })
}

#[derive(Debug, Deserialize)]
pub struct Filled {
    user: String,
    channel: String,
    #[serde(default)]
    thread: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    ts: String,
}

/// Does what a form asks for, and shows the page again.
pub async fn obey(
    State(served): State<Served>,
    Path(verb): Path<String>,
    Form(filled): Form<Filled>,
) -> Response {
    let done = done(&served.fake, &verb, &filled);
    let page = if matches!(verb.as_str(), "say" | "edit") { "/" } else { "/lines" };
    let mut address =
        format!("{page}?user={}&channel={}", escaped(&filled.user), escaped(&filled.channel));
    if verb == "say" && !filled.thread.is_empty() {
        address.push_str(&format!("&thread={}", escaped(&filled.thread)));
    }
    if let Err(refusal) = done {
        address.push_str(&format!("&error={}", escaped(&refusal.error)));
    }
    Redirect::to(&address).into_response()
}

fn done(fake: &FakeSlack, verb: &str, filled: &Filled) -> Result<(), Refusal> {
    let Filled { user, channel, text, .. } = filled;
    let ts = filled.ts.parse().unwrap_or_default();
    // As Slack's own clients write it.
    let text = text.trim().replace('&', "&amp;").replace("\r\n", "\n");
    let text = mentions(fake, &text.replace('<', "&lt;").replace('>', "&gt;"));
    match verb {
        "say" if text.is_empty() => Ok(()),
        "say" => {
            let thread = filled.thread.parse().ok();
            let saying = Saying { thread, ..Saying::new(channel, user, &text) };
            fake.say_with(saying).map(|_| ())
        }
        "edit" => fake.edit(channel, ts, &text),
        "delete" => fake.delete(channel, ts),
        "react" => match fake.react(channel, ts, user, "+1") {
            Err(refusal) if refusal.error == "already_reacted" => {
                fake.unreact(channel, ts, user, "+1")
            }
            done => done,
        },
        _ => Err(refuse("unknown_verb")),
    }
}

/// `@name` becomes a mention, as it does when one chooses it in Slack.
fn mentions(fake: &FakeSlack, text: &str) -> String {
    fake.read(|state| {
        let users = state.workspace.users.values();
        users.fold(text.to_owned(), |text, user| {
            text.replace(&format!("@{}", user.shown()), &format!("<@{}>", user.id))
        })
    })
}

/// What was not said where one is, is the first there is.
fn completed(team: &Workspace, mut here: Here) -> Here {
    if !team.channels.contains_key(&here.channel) {
        here.channel = team.channels.keys().next().cloned().unwrap_or_default();
    }
    if !team.users.contains_key(&here.user) {
        let members = team.channel(&here.channel).map(|channel| channel.members.clone());
        let people = members.unwrap_or_default().into_iter();
        let mut people = people.filter(|member| *member != team.bot_user);
        here.user = people.next().unwrap_or_default();
    }
    here
}

fn users(team: &Workspace, here: &Here) -> Vec<Choice> {
    let users = team.users.values().filter(|user| !user.is_deleted && user.id != team.bot_user);
    let choice = |user: &User| Choice {
        id: user.id.clone(),
        name: user.shown().to_owned(),
        is_chosen: user.id == here.user,
    };
    users.map(choice).collect()
}

fn channels(team: &Workspace, here: &Here) -> Vec<Choice> {
    let choice = |channel: &Channel| Choice {
        id: channel.id.clone(),
        name: channel_name(team, channel),
        is_chosen: channel.id == here.channel,
    };
    team.channels.values().map(choice).collect()
}

fn channel_name(team: &Workspace, channel: &Channel) -> String {
    match channel.kind {
        Kind::Public => format!("#{}", channel.name),
        Kind::Private => format!("🔒 {}", channel.name),
        Kind::Group => channel.name.clone(),
        Kind::Direct => {
            let other = channel.other(&team.bot_user).and_then(|other| team.users.get(other));
            format!("✉ {}", other.map_or("", |other| other.shown()))
        }
    }
}

/// The newest lines: what was begun last comes first, threads stand below their parents.
fn told(team: &Workspace, channel: &Channel, here: &Here) -> Vec<Line> {
    const SHOWN: usize = 200;
    let mut messages: Vec<Message> = channel.messages.values().rev().take(SHOWN).cloned().collect();
    messages.extend(ephemeral(team, here));
    let begun = |message: &Message| message.thread.unwrap_or(message.ts);
    messages.sort_by_key(|message| (Reverse(begun(message)), message.ts));
    messages.iter().map(|message| line(team, message, here)).collect()
}

/// What only the one who is speaking sees.
fn ephemeral<'a>(team: &'a Workspace, here: &'a Here) -> impl Iterator<Item = Message> + 'a {
    let is_seen = |one: &&Ephemeral| one.channel == here.channel && one.user == here.user;
    team.ephemeral.iter().filter(is_seen).map(|one| Message {
        ts: one.ts,
        user: Some(team.bot_user.clone()),
        text: one.text.clone(),
        thread: one.thread,
        subtype: Some("ephemeral".to_owned()),
        ..Message::default()
    })
}

fn line(team: &Workspace, message: &Message, here: &Here) -> Line {
    let author = message.user.as_ref().and_then(|user| team.users.get(user));
    let named = author.map(|author| author.shown().to_owned());
    let name = named.or(message.user.clone()).or(message.bot_id.clone()).unwrap_or_default();
    let reactions = message.reactions.iter();
    let reactions = reactions.map(|one| format!(":{}: {}", one.name, one.users.len()));
    let edited = message.edited.as_ref().map(|_| "edited");
    let notes: Vec<&str> = message.subtype.as_deref().into_iter().chain(edited).collect();
    let at = jiff::Timestamp::from_second(i64::try_from(message.ts.unix_seconds()).unwrap_or(0));
    Line {
        ts: message.ts.to_string(),
        thread: message.thread.unwrap_or(message.ts).to_string(),
        name,
        at: at.map(|at| at.strftime("%H:%M:%S").to_string()).unwrap_or_default(),
        text: readable(team, &message.text),
        note: notes.join(", "),
        reactions: reactions.collect::<Vec<_>>().join("  "),
        is_reply: message.thread.is_some_and(|thread| thread != message.ts),
        is_own: message.user.as_ref() == Some(&here.user),
    }
}

/// A text as people see it.
fn readable(team: &Workspace, text: &str) -> String {
    let named = team.users.values().fold(text.to_owned(), |text, user| {
        text.replace(&format!("<@{}>", user.id), &format!("@{}", user.shown()))
    });
    named.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn language(headers: &HeaderMap) -> Language {
    let wanted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    if wanted.is_some_and(|wanted| wanted.starts_with("ja")) { Language::Ja } else { Language::En }
}

fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let escape = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

fn shown(page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => Html(html).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
