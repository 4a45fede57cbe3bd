//! The web page of the fake Slack.

use std::cmp::Reverse;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;

use crate::page::{
    self, FakePlatform, PageForm, PageMessage, PageOptions, PageQuery, SelectOption,
};
use crate::slack::api_error::{ApiError, api_error};
use crate::slack::channel::{ChannelKind, FakeChannel};
use crate::slack::message::{FakeMessage, NewFakeMessage};
use crate::slack::ts::Ts;
use crate::slack::user::FakeUser;
use crate::slack::workspace::{EphemeralMessage, Workspace};
use crate::slack::{FakeSlack, ServerContext};

pub async fn frame(
    State(server): State<ServerContext>,
    headers: HeaderMap,
    Query(query): Query<PageQuery>,
) -> Response {
    server.fake.read(|state| {
        let workspace = &state.workspace;
        let query = with_defaults(workspace, query);
        let edited_text = (query.edit.parse().ok())
            .and_then(|ts: Ts| workspace.message(&query.channel, ts).ok())
            .map(|message| message.text.clone())
            .unwrap_or_default();
        let options = PageOptions {
            users: user_options(workspace, &query),
            channels: channel_options(workspace, &query),
            edited_text,
        };
        page::render_frame(FakePlatform::Slack, &headers, &query, options)
    })
}

pub async fn messages(
    State(server): State<ServerContext>,
    headers: HeaderMap,
    Query(query): Query<PageQuery>,
) -> Response {
    server.fake.read(|state| {
        let workspace = &state.workspace;
        let messages = workspace
            .channel(&query.channel)
            .map(|channel| page_messages(workspace, channel, &query));
        page::render_messages(FakePlatform::Slack, &headers, &query, messages.unwrap_or_default())
    })
}

/// Executes a form and shows the page again.
pub async fn submit(
    State(server): State<ServerContext>,
    Path(verb): Path<String>,
    Form(form): Form<PageForm>,
) -> Response {
    let result = apply(&server.fake, &verb, &form);
    let error = result.err().map(|error| error.error).unwrap_or_default();
    let PageForm { user, channel, thread, .. } = form;
    // The form stays in its thread, so that several replies can follow each other.
    let thread = if verb == "say" { thread } else { String::new() };
    page::redirect_back(&verb, &PageQuery { user, channel, thread, edit: String::new(), error })
}

fn apply(fake: &FakeSlack, verb: &str, form: &PageForm) -> Result<(), ApiError> {
    let PageForm { user, channel, text, .. } = form;
    let ts = form.message.parse().unwrap_or_default();
    // Slack's own clients escape text this way.
    let text = text.trim().replace('&', "&amp;").replace("\r\n", "\n");
    let text = resolve_mentions(fake, &text.replace('<', "&lt;").replace('>', "&gt;"));
    match verb {
        "say" if text.is_empty() => Ok(()),
        "say" => {
            let thread = form.thread.parse().ok();
            let message = NewFakeMessage { thread, ..NewFakeMessage::new(channel, user, &text) };
            fake.send_message_with(message).map(|_| ())
        }
        "edit" => fake.edit_message(channel, ts, &text),
        "delete" => fake.delete_message(channel, ts),
        "react" => match fake.add_reaction(channel, ts, user, "+1") {
            Err(error) if error.error == "already_reacted" => {
                fake.remove_reaction(channel, ts, user, "+1")
            }
            result => result,
        },
        _ => Err(api_error("unknown_verb")),
    }
}

/// Turns `@name` into a mention, as choosing a name does in Slack's clients.
fn resolve_mentions(fake: &FakeSlack, text: &str) -> String {
    fake.read(|state| {
        let users = state.workspace.users.values();
        users.fold(text.to_owned(), |text, user| {
            text.replace(&format!("@{}", user.visible_name()), &format!("<@{}>", user.id))
        })
    })
}

/// Fills in the first channel and its first member where the query names none.
fn with_defaults(workspace: &Workspace, mut query: PageQuery) -> PageQuery {
    if !workspace.channels.contains_key(&query.channel) {
        query.channel = workspace.channels.keys().next().cloned().unwrap_or_default();
    }
    if !workspace.users.contains_key(&query.user) {
        let members = workspace.channel(&query.channel).map(|channel| channel.members.clone());
        let members = members.unwrap_or_default().into_iter();
        let mut members = members.filter(|member| *member != workspace.bot_user);
        query.user = members.next().unwrap_or_default();
    }
    query
}

fn user_options(workspace: &Workspace, query: &PageQuery) -> Vec<SelectOption> {
    let users =
        workspace.users.values().filter(|user| !user.is_deleted && user.id != workspace.bot_user);
    let option = |user: &FakeUser| SelectOption {
        id: user.id.clone(),
        name: user.visible_name().to_owned(),
        is_selected: user.id == query.user,
    };
    users.map(option).collect()
}

fn channel_options(workspace: &Workspace, query: &PageQuery) -> Vec<SelectOption> {
    let option = |channel: &FakeChannel| SelectOption {
        id: channel.id.clone(),
        name: channel_name(workspace, channel),
        is_selected: channel.id == query.channel,
    };
    workspace.channels.values().map(option).collect()
}

fn channel_name(workspace: &Workspace, channel: &FakeChannel) -> String {
    match channel.kind {
        ChannelKind::Public => format!("#{}", channel.name),
        ChannelKind::Private => format!("🔒 {}", channel.name),
        ChannelKind::Group => channel.name.clone(),
        ChannelKind::Direct => {
            let other = channel
                .other_member(&workspace.bot_user)
                .and_then(|other| workspace.users.get(other));
            format!("✉ {}", other.map_or("", |other| other.visible_name()))
        }
    }
}

/// The newest messages: the latest top-level message comes first, replies stand below their parents.
fn page_messages(
    workspace: &Workspace,
    channel: &FakeChannel,
    query: &PageQuery,
) -> Vec<PageMessage> {
    const SHOWN: usize = 200;
    let mut messages: Vec<FakeMessage> =
        channel.messages.values().rev().take(SHOWN).cloned().collect();
    messages.extend(ephemeral_messages(workspace, query));
    let thread_start = |message: &FakeMessage| message.thread.unwrap_or(message.ts);
    messages.sort_by_key(|message| (Reverse(thread_start(message)), message.ts));
    messages.iter().map(|message| page_message(workspace, message, query)).collect()
}

/// The ephemeral messages that only the chosen user sees.
fn ephemeral_messages<'a>(
    workspace: &'a Workspace,
    query: &'a PageQuery,
) -> impl Iterator<Item = FakeMessage> + 'a {
    let is_visible = |message: &&EphemeralMessage| {
        message.channel == query.channel && message.user == query.user
    };
    workspace.ephemeral.iter().filter(is_visible).map(|message| FakeMessage {
        ts: message.ts,
        user: Some(workspace.bot_user.clone()),
        text: message.text.clone(),
        thread: message.thread,
        subtype: Some("ephemeral".to_owned()),
        ..FakeMessage::default()
    })
}

fn page_message(workspace: &Workspace, message: &FakeMessage, query: &PageQuery) -> PageMessage {
    let author = message.user.as_ref().and_then(|user| workspace.users.get(user));
    let visible_name = author.map(|author| author.visible_name().to_owned());
    let name = visible_name.or(message.user.clone()).or(message.bot_id.clone()).unwrap_or_default();
    let reactions = message.reactions.iter();
    let reactions =
        reactions.map(|reaction| format!(":{}: {}", reaction.name, reaction.users.len()));
    let edited = message.edited.as_ref().map(|_| "edited");
    let notes: Vec<&str> = message.subtype.as_deref().into_iter().chain(edited).collect();
    let at = jiff::Timestamp::from_second(i64::try_from(message.ts.unix_seconds()).unwrap_or(0));
    PageMessage {
        id: message.ts.to_string(),
        thread: message.thread.unwrap_or(message.ts).to_string(),
        name,
        at: at.map(|at| at.strftime("%H:%M:%S").to_string()).unwrap_or_default(),
        text: display_text(workspace, &message.text),
        note: notes.join(", "),
        reactions: reactions.collect::<Vec<_>>().join("  "),
        is_reply: message.thread.is_some_and(|thread| thread != message.ts),
        is_own: message.user.as_ref() == Some(&query.user),
    }
}

/// A text as users see it.
fn display_text(workspace: &Workspace, text: &str) -> String {
    let with_names = workspace.users.values().fold(text.to_owned(), |text, user| {
        text.replace(&format!("<@{}>", user.id), &format!("@{}", user.visible_name()))
    });
    with_names.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
