//! The web page of the fake Slack.

use std::cmp::Reverse;

use crate::page::{
    self, FakePlatform, MAX_MESSAGES, PageBackend, PageForm, PageMessage, PageOptions, PageQuery,
    SelectOption,
};
use crate::slack::FakeSlack;
use crate::slack::api_error::{ApiError, api_error};
use crate::slack::channel::{ChannelKind, FakeChannel};
use crate::slack::message::{FakeMessage, NewFakeMessage};
use crate::slack::ts::Ts;
use crate::slack::workspace::{EphemeralMessage, Workspace};

impl PageBackend for FakeSlack {
    const PLATFORM: FakePlatform = FakePlatform::Slack;
    type Error = ApiError;

    fn page_options(&self, query: PageQuery) -> (PageQuery, PageOptions) {
        self.read(|state| {
            let workspace = &state.workspace;
            let query = with_defaults(workspace, query);
            let edited = query.edit.parse().ok();
            let edited = edited.and_then(|ts: Ts| workspace.message(&query.channel, ts).ok());
            let options = PageOptions {
                users: user_options(workspace, &query),
                channels: channel_options(workspace, &query),
                edited_text: edited.map(|message| message.text.clone()).unwrap_or_default(),
            };
            (query, options)
        })
    }

    fn page_messages(&self, query: &PageQuery) -> Vec<PageMessage> {
        self.read(|state| {
            let workspace = &state.workspace;
            let channel = workspace.channel(&query.channel);
            channel.map(|channel| page_messages(workspace, channel, query)).unwrap_or_default()
        })
    }

    fn submit_form(&self, verb: &str, form: &PageForm) -> Result<(), ApiError> {
        let PageForm { user, channel, text, .. } = form;
        let ts = form.message.parse().unwrap_or_default();
        // Slack's own clients escape text this way.
        let text = text.trim().replace('&', "&amp;").replace("\r\n", "\n");
        let text = text.replace('<', "&lt;").replace('>', "&gt;");
        let text = self.read(|state| page::resolve_mentions(&text, user_names(&state.workspace)));
        match verb {
            "say" if text.is_empty() => Ok(()),
            "say" => {
                let thread = form.thread.parse().ok();
                let message =
                    NewFakeMessage { thread, ..NewFakeMessage::new(channel, user, &text) };
                self.send_message_with(message).map(|_| ())
            }
            "edit" => self.edit_message(channel, ts, &text),
            "delete" => self.delete_message(channel, ts),
            "react" => match self.add_reaction(channel, ts, user, "+1") {
                Err(error) if error.error == "already_reacted" => {
                    self.remove_reaction(channel, ts, user, "+1")
                }
                result => result,
            },
            _ => Err(api_error("unknown_verb")),
        }
    }
}

/// The ids and names of all users.
fn user_names(workspace: &Workspace) -> impl Iterator<Item = (String, &str)> {
    workspace.users.values().map(|user| (user.id.clone(), user.visible_name()))
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
    users.map(|user| SelectOption::new(&user.id, user.visible_name(), &query.user)).collect()
}

fn channel_options(workspace: &Workspace, query: &PageQuery) -> Vec<SelectOption> {
    let option = |channel: &FakeChannel| {
        SelectOption::new(&channel.id, &channel_name(workspace, channel), &query.channel)
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
    let mut messages: Vec<FakeMessage> =
        channel.messages.values().rev().take(MAX_MESSAGES).cloned().collect();
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
    let text = page::display_mentions(text, user_names(workspace));
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
