//! The page on the fake Slack's own address.

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
    State(served): State<ServerContext>,
    headers: HeaderMap,
    Query(here): Query<PageQuery>,
) -> Response {
    served.fake.read(|state| {
        let team = &state.workspace;
        let here = with_defaults(team, here);
        let old = (here.edit.parse().ok())
            .and_then(|ts: Ts| team.message(&here.channel, ts).ok())
            .map(|message| message.text.clone())
            .unwrap_or_default();
        let choices = PageOptions {
            users: user_options(team, &here),
            channels: channel_options(team, &here),
            old,
        };
        page::render_frame(FakePlatform::Slack, &headers, &here, choices)
    })
}

pub async fn messages(
    State(served): State<ServerContext>,
    headers: HeaderMap,
    Query(here): Query<PageQuery>,
) -> Response {
    served.fake.read(|state| {
        let team = &state.workspace;
        let lines = team.channel(&here.channel).map(|channel| page_messages(team, channel, &here));
        page::render_messages(FakePlatform::Slack, &headers, &here, lines.unwrap_or_default())
    })
}

/// Does what a form asks for, and shows the page again.
pub async fn submit(
    State(served): State<ServerContext>,
    Path(verb): Path<String>,
    Form(filled): Form<PageForm>,
) -> Response {
    let done = apply(&served.fake, &verb, &filled);
    let error = done.err().map(|refusal| refusal.error).unwrap_or_default();
    let PageForm { user, channel, thread, .. } = filled;
    // One stays in the thread in which one speaks.
    let thread = if verb == "say" { thread } else { String::new() };
    page::redirect_back(&verb, &PageQuery { user, channel, thread, edit: String::new(), error })
}

fn apply(fake: &FakeSlack, verb: &str, filled: &PageForm) -> Result<(), ApiError> {
    let PageForm { user, channel, text, .. } = filled;
    let ts = filled.message.parse().unwrap_or_default();
    // As Slack's own clients write it.
    let text = text.trim().replace('&', "&amp;").replace("\r\n", "\n");
    let text = resolve_mentions(fake, &text.replace('<', "&lt;").replace('>', "&gt;"));
    match verb {
        "say" if text.is_empty() => Ok(()),
        "say" => {
            let thread = filled.thread.parse().ok();
            let saying = NewFakeMessage { thread, ..NewFakeMessage::new(channel, user, &text) };
            fake.send_message_with(saying).map(|_| ())
        }
        "edit" => fake.edit_message(channel, ts, &text),
        "delete" => fake.delete_message(channel, ts),
        "react" => match fake.add_reaction(channel, ts, user, "+1") {
            Err(refusal) if refusal.error == "already_reacted" => {
                fake.remove_reaction(channel, ts, user, "+1")
            }
            done => done,
        },
        _ => Err(api_error("unknown_verb")),
    }
}

/// `@name` becomes a mention, as it does when one chooses it in Slack.
fn resolve_mentions(fake: &FakeSlack, text: &str) -> String {
    fake.read(|state| {
        let users = state.workspace.users.values();
        users.fold(text.to_owned(), |text, user| {
            text.replace(&format!("@{}", user.visible_name()), &format!("<@{}>", user.id))
        })
    })
}

/// What was not said where one is, is the first there is.
fn with_defaults(team: &Workspace, mut here: PageQuery) -> PageQuery {
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

fn user_options(team: &Workspace, here: &PageQuery) -> Vec<SelectOption> {
    let users = team.users.values().filter(|user| !user.is_deleted && user.id != team.bot_user);
    let choice = |user: &FakeUser| SelectOption {
        id: user.id.clone(),
        name: user.visible_name().to_owned(),
        is_chosen: user.id == here.user,
    };
    users.map(choice).collect()
}

fn channel_options(team: &Workspace, here: &PageQuery) -> Vec<SelectOption> {
    let choice = |channel: &FakeChannel| SelectOption {
        id: channel.id.clone(),
        name: channel_name(team, channel),
        is_chosen: channel.id == here.channel,
    };
    team.channels.values().map(choice).collect()
}

fn channel_name(team: &Workspace, channel: &FakeChannel) -> String {
    match channel.kind {
        ChannelKind::Public => format!("#{}", channel.name),
        ChannelKind::Private => format!("🔒 {}", channel.name),
        ChannelKind::Group => channel.name.clone(),
        ChannelKind::Direct => {
            let other =
                channel.other_member(&team.bot_user).and_then(|other| team.users.get(other));
            format!("✉ {}", other.map_or("", |other| other.visible_name()))
        }
    }
}

/// The newest lines: what was begun last comes first, threads stand below their parents.
fn page_messages(team: &Workspace, channel: &FakeChannel, here: &PageQuery) -> Vec<PageMessage> {
    const SHOWN: usize = 200;
    let mut messages: Vec<FakeMessage> =
        channel.messages.values().rev().take(SHOWN).cloned().collect();
    messages.extend(ephemeral_messages(team, here));
    let begun = |message: &FakeMessage| message.thread.unwrap_or(message.ts);
    messages.sort_by_key(|message| (Reverse(begun(message)), message.ts));
    messages.iter().map(|message| page_message(team, message, here)).collect()
}

/// What only the one who is speaking sees.
fn ephemeral_messages<'a>(
    team: &'a Workspace,
    here: &'a PageQuery,
) -> impl Iterator<Item = FakeMessage> + 'a {
    let is_seen = |one: &&EphemeralMessage| one.channel == here.channel && one.user == here.user;
    team.ephemeral.iter().filter(is_seen).map(|one| FakeMessage {
        ts: one.ts,
        user: Some(team.bot_user.clone()),
        text: one.text.clone(),
        thread: one.thread,
        subtype: Some("ephemeral".to_owned()),
        ..FakeMessage::default()
    })
}

fn page_message(team: &Workspace, message: &FakeMessage, here: &PageQuery) -> PageMessage {
    let author = message.user.as_ref().and_then(|user| team.users.get(user));
    let named = author.map(|author| author.visible_name().to_owned());
    let name = named.or(message.user.clone()).or(message.bot_id.clone()).unwrap_or_default();
    let reactions = message.reactions.iter();
    let reactions = reactions.map(|one| format!(":{}: {}", one.name, one.users.len()));
    let edited = message.edited.as_ref().map(|_| "edited");
    let notes: Vec<&str> = message.subtype.as_deref().into_iter().chain(edited).collect();
    let at = jiff::Timestamp::from_second(i64::try_from(message.ts.unix_seconds()).unwrap_or(0));
    PageMessage {
        id: message.ts.to_string(),
        thread: message.thread.unwrap_or(message.ts).to_string(),
        name,
        at: at.map(|at| at.strftime("%H:%M:%S").to_string()).unwrap_or_default(),
        text: display_text(team, &message.text),
        note: notes.join(", "),
        reactions: reactions.collect::<Vec<_>>().join("  "),
        is_reply: message.thread.is_some_and(|thread| thread != message.ts),
        is_own: message.user.as_ref() == Some(&here.user),
    }
}

/// A text as people see it.
fn display_text(team: &Workspace, text: &str) -> String {
    let named = team.users.values().fold(text.to_owned(), |text, user| {
        text.replace(&format!("<@{}>", user.id), &format!("@{}", user.visible_name()))
    });
    named.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
