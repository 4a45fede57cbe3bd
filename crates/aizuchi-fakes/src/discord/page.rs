//! The page on the fake Discord's own address.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;

use crate::discord::api_error::{ApiError, ErrorCode, api_error};
use crate::discord::channel::FakeChannel;
use crate::discord::command::Interaction;
use crate::discord::guild::FakeUser;
use crate::discord::id::{ChannelId, MessageId, UserId, created_at};
use crate::discord::message::{FakeAuthor, FakeMessage, NewFakeMessage};
use crate::discord::world::World;
use crate::discord::{FakeDiscord, ServerContext};
use crate::page::{
    self, FakePlatform, PageForm, PageMessage, PageOptions, PageQuery, SelectOption,
};

pub async fn frame(
    State(served): State<ServerContext>,
    headers: HeaderMap,
    Query(here): Query<PageQuery>,
) -> Response {
    served.fake.read(|state| {
        let world = &state.world;
        let here = with_defaults(world, here);
        let changed = here.channel.parse().ok().zip(here.edit.parse().ok());
        let changed = changed.and_then(|(channel, line)| world.message(channel, line).ok());
        let old = changed.map(|message| display_text(world, &message.content)).unwrap_or_default();
        let choices = PageOptions {
            users: user_options(world, &here),
            channels: channel_options(world, &here),
            old,
        };
        page::render_frame(FakePlatform::Discord, &headers, &here, choices)
    })
}

pub async fn messages(
    State(served): State<ServerContext>,
    headers: HeaderMap,
    Query(here): Query<PageQuery>,
) -> Response {
    served.fake.read(|state| {
        let world = &state.world;
        let channel = here.channel.parse().ok().and_then(|id: ChannelId| world.channels.get(&id));
        let lines = channel.map(|channel| page_messages(world, channel, &here)).unwrap_or_default();
        page::render_messages(FakePlatform::Discord, &headers, &here, lines)
    })
}

/// Does what a form asks for, and shows the page again.
pub async fn submit(
    State(served): State<ServerContext>,
    Path(verb): Path<String>,
    Form(filled): Form<PageForm>,
) -> Response {
    let done = apply(&served.fake, &verb, &filled);
    let error = done.err().map(|refusal| refusal.to_string()).unwrap_or_default();
    let PageForm { user, channel, .. } = filled;
    page::redirect_back(&verb, &PageQuery { user, channel, error, ..PageQuery::default() })
}

fn apply(fake: &FakeDiscord, verb: &str, filled: &PageForm) -> Result<(), ApiError> {
    let channel: ChannelId =
        filled.channel.parse().map_err(|_| api_error(ErrorCode::UnknownChannel))?;
    let user: UserId = filled.user.parse().map_err(|_| api_error(ErrorCode::UnknownUser))?;
    let line =
        || filled.message.parse::<MessageId>().map_err(|_| api_error(ErrorCode::UnknownMessage));
    let text = resolve_mentions(fake, &filled.text.trim().replace("\r\n", "\n"));
    match verb {
        "say" if text.is_empty() => Ok(()),
        "say" => send_message(fake, channel, user, &text, filled.thread.parse().ok()),
        "edit" => fake.edit_message(channel, line()?, &text),
        "delete" => fake.delete_message(channel, line()?),
        "react" => toggle_reaction(fake, channel, line()?, user),
        _ => Err(ErrorCode::NotFound.into()),
    }
}

/// In a forum one posts, with the first line as the title; after a slash, one commands.
fn send_message(
    fake: &FakeDiscord,
    channel: ChannelId,
    user: UserId,
    text: &str,
    reply_to: Option<MessageId>,
) -> Result<(), ApiError> {
    let (is_forum, guild) =
        fake.read(|state| state.world.channel(channel).map(|one| (one.is_forum(), one.guild)))?;
    if is_forum {
        let title: String = text.lines().next().unwrap_or_default().chars().take(100).collect();
        return fake.create_forum_post(channel, user, &title, text).map(|_| ());
    }
    if let Some(command) = text.strip_prefix('/') {
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or_default();
        let known = fake.read(|state| state.world.commands.find(guild, name).cloned());
        let options = command_options(&known.ok_or(ErrorCode::UnknownCommand)?["options"], words);
        return fake.run_command(channel, user, name, options).map(|_| ());
    }
    let saying = NewFakeMessage { reply_to, ..NewFakeMessage::new(channel, user, text) };
    fake.send_message_with(saying).map(|_| ())
}

/// What stands behind a command: the name of a subcommand, or values in the order of its options.
fn command_options<'a>(known: &Value, mut words: impl Iterator<Item = &'a str>) -> Value {
    let known = known.as_array().map(Vec::as_slice).unwrap_or_default();
    // 1 is a subcommand, 2 a group of them.
    if known.iter().any(|option| matches!(option["type"].as_u64(), Some(1 | 2))) {
        let word = words.next().unwrap_or_default();
        let chosen = known.iter().find(|option| option["name"] == word);
        return chosen.map_or(json!([]), |chosen| {
            let inner = command_options(&chosen["options"], words);
            json!([{ "name": word, "type": chosen["type"], "options": inner }])
        });
    }
    let given = known.iter().zip(words);
    given
        .map(|(option, word)| {
            json!({ "name": option["name"], "type": option["type"], "value": word })
        })
        .collect()
}

fn toggle_reaction(
    fake: &FakeDiscord,
    channel: ChannelId,
    message: MessageId,
    user: UserId,
) -> Result<(), ApiError> {
    let has_reacted = fake.read(|state| {
        let reactions = &state.world.message(channel, message)?.reactions;
        let thumbs = reactions.iter().find(|one| one.emoji.name == "👍");
        Ok::<_, ApiError>(thumbs.is_some_and(|one| one.users.contains(&user)))
    })?;
    match has_reacted {
        true => fake.remove_reaction(channel, message, user, "👍"),
        false => fake.add_reaction(channel, message, user, "👍"),
    }
}

/// `@name` becomes a mention, as it does when one chooses it in Discord.
fn resolve_mentions(fake: &FakeDiscord, text: &str) -> String {
    fake.read(|state| {
        let users = state.world.users.values();
        users.fold(text.to_owned(), |text, user| {
            text.replace(&format!("@{}", user.visible_name()), &format!("<@{}>", user.id))
        })
    })
}

/// What was not said where one is, is the first there is.
fn with_defaults(world: &World, mut here: PageQuery) -> PageQuery {
    let is_known = |id: ChannelId| world.channels.contains_key(&id);
    if !here.channel.parse().is_ok_and(is_known) {
        here.channel = world.channels.keys().next().map(ToString::to_string).unwrap_or_default();
    }
    let is_known = |id: UserId| world.users.contains_key(&id);
    if !here.user.parse().is_ok_and(is_known) {
        let person = world.users.keys().find(|user| **user != world.bot_user);
        here.user = person.map(ToString::to_string).unwrap_or_default();
    }
    here
}

fn user_options(world: &World, here: &PageQuery) -> Vec<SelectOption> {
    let users = world.users.values().filter(|user| user.id != world.bot_user);
    let choice = |user: &FakeUser| SelectOption {
        id: user.id.to_string(),
        name: user.visible_name().to_owned(),
        is_chosen: user.id.to_string() == here.user,
    };
    users.map(choice).collect()
}

/// Each channel, with its threads below it.
fn channel_options(world: &World, here: &PageQuery) -> Vec<SelectOption> {
    let choice = |channel: &FakeChannel| SelectOption {
        id: channel.id.to_string(),
        name: channel_name(world, channel),
        is_chosen: channel.id.to_string() == here.channel,
    };
    let mut choices = Vec::new();
    for channel in world.channels.values().filter(|channel| channel.thread.is_none()) {
        choices.push(choice(channel));
        let threads = world.channels.values();
        let threads = threads.filter(|one| one.thread.is_some() && one.parent == Some(channel.id));
        choices.extend(threads.map(choice));
    }
    choices
}

fn channel_name(world: &World, channel: &FakeChannel) -> String {
    let name = &channel.name;
    match channel.kind {
        ChannelType::Private => {
            let other = channel.recipient.and_then(|other| world.users.get(&other));
            format!("✉ {}", other.map_or("", FakeUser::visible_name))
        }
        ChannelType::GuildForum => format!("💬 {name}"),
        _ if channel.thread.is_some() => format!("— {name}"),
        _ if channel.overwrites.is_empty() => format!("#{name}"),
        _ => format!("🔒 {name}"),
    }
}

/// The newest lines, and what only the one who is speaking sees.
fn page_messages(world: &World, channel: &FakeChannel, here: &PageQuery) -> Vec<PageMessage> {
    const SHOWN: usize = 200;
    let messages = channel.messages.values().rev().take(SHOWN);
    let interactions = world.commands.interactions.values();
    let is_theirs =
        |one: &&Interaction| one.channel == channel.id && one.user.to_string() == here.user;
    let hidden = interactions.filter(is_theirs).flat_map(|one| &one.responses);
    let hidden = hidden.filter(|answer| answer.is_ephemeral).map(|answer| &answer.message);
    let mut all: Vec<&FakeMessage> = messages.chain(hidden).collect();
    all.sort_by_key(|message| std::cmp::Reverse(message.id));
    all.iter().map(|message| page_message(world, message, here)).collect()
}

fn page_message(world: &World, message: &FakeMessage, here: &PageQuery) -> PageMessage {
    let name = match &message.author {
        FakeAuthor::User(user) => world.users.get(user).map_or("", FakeUser::visible_name),
        FakeAuthor::Webhook { name, .. } => name,
    };
    let reactions = message.reactions.iter();
    let reactions = reactions.map(|one| format!("{} {}", one.emoji.name, one.users.len()));
    let is_hidden =
        message.flags.contains(twilight_model::channel::message::MessageFlags::EPHEMERAL);
    let notes = [
        is_hidden.then_some("ephemeral"),
        message.edited.map(|_| "edited"),
        message.reference.map(|_| "reply"),
        message.kind.is_system().then_some("system"),
    ];
    PageMessage {
        id: message.id.to_string(),
        thread: message.id.to_string(),
        name: name.to_owned(),
        at: created_at(message.id).strftime("%H:%M:%S").to_string(),
        text: display_text(world, &message.content),
        note: notes.into_iter().flatten().collect::<Vec<_>>().join(", "),
        reactions: reactions.collect::<Vec<_>>().join("  "),
        is_reply: false,
        is_own: message.author.user().is_some_and(|user| user.to_string() == here.user),
    }
}

/// A text as people see it.
fn display_text(world: &World, text: &str) -> String {
    world.users.values().fold(text.to_owned(), |text, user| {
        text.replace(&format!("<@{}>", user.id), &format!("@{}", user.visible_name()))
    })
}
