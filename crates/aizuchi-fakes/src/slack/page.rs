//! The web page of the fake Slack.

use std::collections::BTreeMap;

use crate::page::{
    self, FakePlatform, MAX_MESSAGES, PageBackend, PageForm, PageMessage, PageMessageKind,
    PageOption, PageQuery, PageReaction, PageView,
};
use crate::slack::FakeSlack;
use crate::slack::api_error::{ApiError, ApiResult, api_error};
use crate::slack::channel::{ChannelKind, FakeChannel};
use crate::slack::message::{FakeMessage, NewFakeMessage};
use crate::slack::workspace::{EphemeralMessage, Workspace};

const DEFAULT_REACTION: &str = "+1";

impl PageBackend for FakeSlack {
    const PLATFORM: FakePlatform = FakePlatform::Slack;
    type Error = ApiError;

    fn revision(&self) -> u64 {
        *self.subscribe().borrow()
    }

    fn page_view(&self, query: &PageQuery) -> PageView {
        self.read(|state| {
            let workspace = &state.workspace;
            let query = with_defaults(workspace, query.clone());
            let Ok(channel) = workspace.channel(&query.channel) else { return PageView::default() };
            let bot = workspace.users.get(&workspace.bot_user);
            PageView {
                place: workspace.name.clone(),
                users: user_options(workspace, channel),
                channels: channel_options(workspace),
                bot: bot.map_or("", |bot| bot.visible_name()).to_owned(),
                has_bot: channel.members.contains(&workspace.bot_user),
                commands: self.settings.commands.clone(),
                names: visible_names(workspace),
                messages: page_messages(workspace, channel, &query),
                user: query.user,
                channel: query.channel,
            }
        })
    }

    fn submit_form(&self, verb: &str, form: &PageForm) -> ApiResult {
        let PageForm { user, channel, text, .. } = form;
        let ts = form.message.parse().unwrap_or_default();
        // Slack's own clients escape text this way.
        let text = text.trim().replace('&', "&amp;").replace("\r\n", "\n");
        let text = text.replace('<', "&lt;").replace('>', "&gt;");
        let text = self.read(|state| page::resolve_mentions(&text, user_names(&state.workspace)));
        match verb {
            "say" if text.is_empty() => Ok(()),
            "say" if text.starts_with('/') => self.submit_command(form, &text),
            "say" => {
                let thread = form.thread.parse().ok();
                let message =
                    NewFakeMessage { thread, ..NewFakeMessage::new(channel, user, &text) };
                self.send_message_with(message).map(|_| ())
            }
            "edit" => self.edit_message(channel, ts, &text),
            "delete" => self.delete_message(channel, ts),
            "react" => {
                let name = if form.emoji.is_empty() { DEFAULT_REACTION } else { &form.emoji };
                match self.add_reaction(channel, ts, user, name) {
                    Err(error) if error.error == "already_reacted" => {
                        self.remove_reaction(channel, ts, user, name)
                    }
                    result => result,
                }
            }
            "invite" => self.join_channel(channel, &self.bot_user()),
            _ => Err(api_error("unknown_verb")),
        }
    }
}

impl FakeSlack {
    /// Runs a slash command that the app has, as Slack's clients do: they accept no other, and none in a thread.
    fn submit_command(&self, form: &PageForm, text: &str) -> ApiResult {
        let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if !self.settings.commands.iter().any(|known| known == command) {
            return Err(api_error("unknown_command"));
        }
        if !form.thread.is_empty() {
            return Err(api_error("not_supported_in_threads"));
        }
        self.run_command(&form.channel, &form.user, command, rest.trim())
    }
}

/// Returns the ids and names of all users.
fn user_names(workspace: &Workspace) -> impl Iterator<Item = (String, &str)> {
    workspace.users.values().map(|user| (user.id.clone(), user.visible_name()))
}

/// Defaults to the first channel if the query names none, and to its first member if it names none who is in it.
fn with_defaults(workspace: &Workspace, mut query: PageQuery) -> PageQuery {
    if !workspace.channels.contains_key(&query.channel) {
        query.channel = workspace.channels.keys().next().cloned().unwrap_or_default();
    }
    let Ok(channel) = workspace.channel(&query.channel) else { return query };
    if !channel.members.contains(&query.user) {
        let mut members = channel.members.iter().filter(|member| **member != workspace.bot_user);
        query.user = members.next().cloned().unwrap_or_default();
    }
    query
}

/// Returns the users who can speak in the channel.
fn user_options(workspace: &Workspace, channel: &FakeChannel) -> Vec<PageOption> {
    let users = channel.members.iter().filter_map(|member| workspace.users.get(member));
    let users = users.filter(|user| !user.is_deleted && user.id != workspace.bot_user);
    let option = |id: &str, name: &str| PageOption {
        id: id.to_owned(),
        name: name.to_owned(),
        is_thread: false,
    };
    users.map(|user| option(&user.id, user.visible_name())).collect()
}

fn channel_options(workspace: &Workspace) -> Vec<PageOption> {
    let option = |channel: &FakeChannel| PageOption {
        id: channel.id.clone(),
        name: channel_name(workspace, channel),
        is_thread: false,
    };
    workspace.channels.values().map(option).collect()
}

fn visible_names(workspace: &Workspace) -> BTreeMap<String, String> {
    let users = user_names(workspace).map(|(id, name)| (id, name.to_owned()));
    let channels = workspace.channels.values();
    let channels = channels.map(|channel| (channel.id.clone(), channel.name.clone()));
    users.chain(channels).collect()
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

/// Returns the newest messages, oldest first, with replies below their parents.
fn page_messages(
    workspace: &Workspace,
    channel: &FakeChannel,
    query: &PageQuery,
) -> Vec<PageMessage> {
    let mut messages: Vec<FakeMessage> =
        channel.messages.values().rev().take(MAX_MESSAGES).cloned().collect();
    messages.extend(ephemeral_messages(workspace, query));
    let thread_start = |message: &FakeMessage| message.thread.unwrap_or(message.ts);
    messages.sort_by_key(|message| (thread_start(message), message.ts));
    messages.iter().map(|message| page_message(workspace, message, query)).collect()
}

/// Returns the ephemeral messages that only the chosen user sees.
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
    let user_name = |user: &String| {
        workspace.users.get(user).map_or(user.clone(), |user| user.visible_name().to_owned())
    };
    let reactions = message.reactions.iter().map(|reaction| PageReaction {
        emoji: reaction.name.clone(),
        users: reaction.users.iter().map(user_name).collect(),
        is_own: reaction.users.contains(&query.user),
    });
    let at_ms = i64::try_from(message.ts.unix_seconds()).unwrap_or(0).saturating_mul(1000);
    PageMessage {
        id: message.ts.to_string(),
        thread: message.thread.unwrap_or(message.ts).to_string(),
        is_reply: message.thread.is_some_and(|thread| thread != message.ts),
        quote: None,
        opened: None,
        name,
        is_bot: message.bot_id.is_some() || author.is_some_and(|author| author.bot.is_some()),
        is_own: message.user.as_ref() == Some(&query.user),
        at_ms,
        text: message.text.clone(),
        source: display_text(workspace, &message.text),
        is_edited: message.edited.is_some(),
        kind: match message.subtype.as_deref() {
            Some("ephemeral") => PageMessageKind::Ephemeral,
            Some("channel_join" | "channel_leave" | "channel_name" | "tombstone") => {
                PageMessageKind::System
            }
            Some(_) | None => PageMessageKind::Regular,
        },
        reactions: reactions.collect(),
    }
}

/// Returns a text as users write it.
fn display_text(workspace: &Workspace, text: &str) -> String {
    let text = page::display_mentions(text, user_names(workspace));
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
