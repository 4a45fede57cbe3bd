//! The page on the fake Discord's own address.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;

use crate::discord::channel::Channel;
use crate::discord::command::Interaction;
use crate::discord::guild::User;
use crate::discord::id::{ChannelId, MessageId, UserId, made_at};
use crate::discord::message::{Author, Message, Saying};
use crate::discord::refusal::{Reason, Refusal, refuse};
use crate::discord::world::World;
use crate::discord::{FakeDiscord, Served};
use crate::page::{self, Choice, Choices, Filled, Here, Line, Replica};

pub async fn frame(
    State(served): State<Served>,
    headers: HeaderMap,
    Query(here): Query<Here>,
) -> Response {
    served.fake.read(|state| {
        let world = &state.world;
        let here = completed(world, here);
        let changed = here.channel.parse().ok().zip(here.edit.parse().ok());
        let changed = changed.and_then(|(channel, line)| world.message(channel, line).ok());
        let old = changed.map(|message| readable(world, &message.content)).unwrap_or_default();
        let choices = Choices { users: users(world, &here), channels: channels(world, &here), old };
        page::frame(Replica::Discord, &headers, &here, choices)
    })
}

pub async fn lines(
    State(served): State<Served>,
    headers: HeaderMap,
    Query(here): Query<Here>,
) -> Response {
    served.fake.read(|state| {
        let world = &state.world;
        let channel = here.channel.parse().ok().and_then(|id: ChannelId| world.channels.get(&id));
        let lines = channel.map(|channel| told(world, channel, &here)).unwrap_or_default();
        page::lines(Replica::Discord, &headers, &here, lines)
    })
}

/// Does what a form asks for, and shows the page again.
pub async fn obey(
    State(served): State<Served>,
    Path(verb): Path<String>,
    Form(filled): Form<Filled>,
) -> Response {
    let done = done(&served.fake, &verb, &filled);
    let error = done.err().map(|refusal| refusal.to_string()).unwrap_or_default();
    let Filled { user, channel, .. } = filled;
    page::back(&verb, &Here { user, channel, error, ..Here::default() })
}

fn done(fake: &FakeDiscord, verb: &str, filled: &Filled) -> Result<(), Refusal> {
    let channel: ChannelId = filled.channel.parse().map_err(|_| refuse(Reason::UnknownChannel))?;
    let user: UserId = filled.user.parse().map_err(|_| refuse(Reason::UnknownUser))?;
    let line = || filled.line.parse::<MessageId>().map_err(|_| refuse(Reason::UnknownMessage));
    let text = mentions(fake, &filled.text.trim().replace("\r\n", "\n"));
    match verb {
        "say" if text.is_empty() => Ok(()),
        "say" => say(fake, channel, user, &text, filled.thread.parse().ok()),
        "edit" => fake.edit(channel, line()?, &text),
        "delete" => fake.delete(channel, line()?),
        "react" => toggle(fake, channel, line()?, user),
        _ => Err(Reason::NotFound.into()),
    }
}

/// In a forum one posts, with the first line as the title; after a slash, one commands.
fn say(
    fake: &FakeDiscord,
    channel: ChannelId,
    user: UserId,
    text: &str,
    reply_to: Option<MessageId>,
) -> Result<(), Refusal> {
    let (is_forum, guild) =
        fake.read(|state| state.world.channel(channel).map(|one| (one.is_forum(), one.guild)))?;
    if is_forum {
        let title: String = text.lines().next().unwrap_or_default().chars().take(100).collect();
        return fake.post_in_forum(channel, user, &title, text).map(|_| ());
    }
    if let Some(command) = text.strip_prefix('/') {
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or_default();
        let known = fake.read(|state| state.world.commands.find(guild, name).cloned());
        let options = options(&known.ok_or(Reason::UnknownCommand)?["options"], words);
        return fake.command(channel, user, name, options).map(|_| ());
    }
    let saying = Saying { reply_to, ..Saying::new(channel, user, text) };
    fake.say_with(saying).map(|_| ())
}

/// What stands behind a command: the name of a subcommand, or values in the order of its options.
fn options<'a>(known: &Value, mut words: impl Iterator<Item = &'a str>) -> Value {
    let known = known.as_array().map(Vec::as_slice).unwrap_or_default();
    // 1 is a subcommand, 2 a group of them.
    if known.iter().any(|option| matches!(option["type"].as_u64(), Some(1 | 2))) {
        let word = words.next().unwrap_or_default();
        let chosen = known.iter().find(|option| option["name"] == word);
        return chosen.map_or(json!([]), |chosen| {
            let inner = options(&chosen["options"], words);
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

fn toggle(
    fake: &FakeDiscord,
    channel: ChannelId,
    message: MessageId,
    user: UserId,
) -> Result<(), Refusal> {
    let has_reacted = fake.read(|state| {
        let reactions = &state.world.message(channel, message)?.reactions;
        let thumbs = reactions.iter().find(|one| one.emoji.name == "👍");
        Ok::<_, Refusal>(thumbs.is_some_and(|one| one.users.contains(&user)))
    })?;
    match has_reacted {
        true => fake.unreact(channel, message, user, "👍"),
        false => fake.react(channel, message, user, "👍"),
    }
}

/// `@name` becomes a mention, as it does when one chooses it in Discord.
fn mentions(fake: &FakeDiscord, text: &str) -> String {
    fake.read(|state| {
        let users = state.world.users.values();
        users.fold(text.to_owned(), |text, user| {
            text.replace(&format!("@{}", user.shown()), &format!("<@{}>", user.id))
        })
    })
}

/// What was not said where one is, is the first there is.
fn completed(world: &World, mut here: Here) -> Here {
    let is_known = |id: ChannelId| world.channels.contains_key(&id);
    if !here.channel.parse().is_ok_and(is_known) {
        here.channel = world.channels.keys().next().map(ToString::to_string).unwrap_or_default();
    }
    let is_known = |id: UserId| world.users.contains_key(&id);
    if !here.user.parse().is_ok_and(is_known) {
        let person = world.users.keys().find(|user| **user != world.me);
        here.user = person.map(ToString::to_string).unwrap_or_default();
    }
    here
}

fn users(world: &World, here: &Here) -> Vec<Choice> {
    let users = world.users.values().filter(|user| user.id != world.me);
    let choice = |user: &User| Choice {
        id: user.id.to_string(),
        name: user.shown().to_owned(),
        is_chosen: user.id.to_string() == here.user,
    };
    users.map(choice).collect()
}

/// Each channel, with its threads below it.
fn channels(world: &World, here: &Here) -> Vec<Choice> {
    let choice = |channel: &Channel| Choice {
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

fn channel_name(world: &World, channel: &Channel) -> String {
    let name = &channel.name;
    match channel.kind {
        ChannelType::Private => {
            let other = channel.recipient.and_then(|other| world.users.get(&other));
            format!("✉ {}", other.map_or("", User::shown))
        }
        ChannelType::GuildForum => format!("💬 {name}"),
        _ if channel.thread.is_some() => format!("— {name}"),
        _ if channel.overwrites.is_empty() => format!("#{name}"),
        _ => format!("🔒 {name}"),
    }
}

/// The newest lines, and what only the one who is speaking sees.
fn told(world: &World, channel: &Channel, here: &Here) -> Vec<Line> {
    const SHOWN: usize = 200;
    let messages = channel.messages.values().rev().take(SHOWN);
    let interactions = world.commands.interactions.values();
    let is_theirs =
        |one: &&Interaction| one.channel == channel.id && one.user.to_string() == here.user;
    let hidden = interactions.filter(is_theirs).flat_map(|one| &one.answers);
    let hidden = hidden.filter(|answer| answer.is_ephemeral).map(|answer| &answer.message);
    let mut all: Vec<&Message> = messages.chain(hidden).collect();
    all.sort_by_key(|message| std::cmp::Reverse(message.id));
    all.iter().map(|message| line(world, message, here)).collect()
}

fn line(world: &World, message: &Message, here: &Here) -> Line {
    let name = match &message.author {
        Author::User(user) => world.users.get(user).map_or("", User::shown),
        Author::Webhook { name, .. } => name,
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
    Line {
        id: message.id.to_string(),
        thread: message.id.to_string(),
        name: name.to_owned(),
        at: made_at(message.id).strftime("%H:%M:%S").to_string(),
        text: readable(world, &message.content),
        note: notes.into_iter().flatten().collect::<Vec<_>>().join(", "),
        reactions: reactions.collect::<Vec<_>>().join("  "),
        is_reply: false,
        is_own: message.author.user().is_some_and(|user| user.to_string() == here.user),
    }
}

/// A text as people see it.
fn readable(world: &World, text: &str) -> String {
    world.users.values().fold(text.to_owned(), |text, user| {
        text.replace(&format!("<@{}>", user.id), &format!("@{}", user.shown()))
    })
}
