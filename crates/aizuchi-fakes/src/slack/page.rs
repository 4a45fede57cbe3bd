//! The page on the fake Slack's own address.

use std::cmp::Reverse;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;

use crate::page::{self, Choice, Choices, Filled, Here, Line, Replica};
use crate::slack::channel::{Channel, Kind};
use crate::slack::message::{Message, Saying};
use crate::slack::refusal::{Refusal, refuse};
use crate::slack::ts::Ts;
use crate::slack::user::User;
use crate::slack::workspace::{Ephemeral, Workspace};
use crate::slack::{FakeSlack, Served};

pub async fn frame(
    State(served): State<Served>,
    headers: HeaderMap,
    Query(here): Query<Here>,
) -> Response {
    served.fake.read(|state| {
        let team = &state.workspace;
        let here = completed(team, here);
        let old = (here.edit.parse().ok())
            .and_then(|ts: Ts| team.message(&here.channel, ts).ok())
            .map(|message| message.text.clone())
            .unwrap_or_default();
        let choices = Choices { users: users(team, &here), channels: channels(team, &here), old };
        page::frame(Replica::Slack, &headers, &here, choices)
    })
}

pub async fn lines(
    State(served): State<Served>,
    headers: HeaderMap,
    Query(here): Query<Here>,
) -> Response {
    served.fake.read(|state| {
        let team = &state.workspace;
        let lines = team.channel(&here.channel).map(|channel| told(team, channel, &here));
        page::lines(Replica::Slack, &headers, &here, lines.unwrap_or_default())
    })
}

/// Does what a form asks for, and shows the page again.
pub async fn obey(
    State(served): State<Served>,
    Path(verb): Path<String>,
    Form(filled): Form<Filled>,
) -> Response {
    let done = done(&served.fake, &verb, &filled);
    let error = done.err().map(|refusal| refusal.error).unwrap_or_default();
    let Filled { user, channel, thread, .. } = filled;
    // One stays in the thread in which one speaks.
    let thread = if verb == "say" { thread } else { String::new() };
    page::back(&verb, &Here { user, channel, thread, edit: String::new(), error })
}

fn done(fake: &FakeSlack, verb: &str, filled: &Filled) -> Result<(), Refusal> {
    let Filled { user, channel, text, .. } = filled;
    let ts = filled.line.parse().unwrap_or_default();
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
        id: message.ts.to_string(),
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
