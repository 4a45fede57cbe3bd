//! The web page of the fake Discord.

use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::channel::message::MessageFlags;

use crate::discord::FakeDiscord;
use crate::discord::api_error::{ApiError, ErrorCode, api_error};
use crate::discord::channel::FakeChannel;
use crate::discord::command::Interaction;
use crate::discord::guild::FakeUser;
use crate::discord::id::{ChannelId, MessageId, UserId, created_at};
use crate::discord::message::{FakeAuthor, FakeMessage, NewFakeMessage};
use crate::discord::world::World;
use crate::page::{
    self, FakePlatform, MAX_MESSAGES, PageBackend, PageForm, PageMessage, PageOptions, PageQuery,
    SelectOption,
};

impl PageBackend for FakeDiscord {
    const PLATFORM: FakePlatform = FakePlatform::Discord;
    type Error = ApiError;

    fn page_options(&self, query: PageQuery) -> (PageQuery, PageOptions) {
        self.read(|state| {
            let world = &state.world;
            let query = with_defaults(world, query);
            let edited = query.channel.parse().ok().zip(query.edit.parse().ok());
            let edited = edited.and_then(|(channel, id)| world.message(channel, id).ok());
            let edited_text = edited.map(|message| display_text(world, &message.content));
            let options = PageOptions {
                users: user_options(world, &query),
                channels: channel_options(world, &query),
                edited_text: edited_text.unwrap_or_default(),
            };
            (query, options)
        })
    }

    fn page_messages(&self, query: &PageQuery) -> Vec<PageMessage> {
        self.read(|state| {
            let world = &state.world;
            let id = query.channel.parse().ok();
            let channel = id.and_then(|id: ChannelId| world.channels.get(&id));
            channel.map(|channel| page_messages(world, channel, query)).unwrap_or_default()
        })
    }

    fn submit_form(&self, verb: &str, form: &PageForm) -> Result<(), ApiError> {
        let channel: ChannelId =
            form.channel.parse().map_err(|_| api_error(ErrorCode::UnknownChannel))?;
        let user: UserId = form.user.parse().map_err(|_| api_error(ErrorCode::UnknownUser))?;
        let message =
            || form.message.parse::<MessageId>().map_err(|_| api_error(ErrorCode::UnknownMessage));
        let text = form.text.trim().replace("\r\n", "\n");
        let text = self.read(|state| page::resolve_mentions(&text, user_names(&state.world)));
        match verb {
            "say" if text.is_empty() => Ok(()),
            "say" => send_message(self, channel, user, &text, form.thread.parse().ok()),
            "edit" => self.edit_message(channel, message()?, &text),
            "delete" => self.delete_message(channel, message()?),
            "react" => toggle_reaction(self, channel, message()?, user),
            _ => Err(ErrorCode::NotFound.into()),
        }
    }
}

/// Sends a message. In a forum it becomes a post with its first line as the title; a text that starts with a slash
/// runs a command.
fn send_message(
    fake: &FakeDiscord,
    channel: ChannelId,
    user: UserId,
    text: &str,
    reply_to: Option<MessageId>,
) -> Result<(), ApiError> {
    let (is_forum, guild) = fake.read(|state| {
        state.world.channel(channel).map(|channel| (channel.is_forum(), channel.guild))
    })?;
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
    let message = NewFakeMessage { reply_to, ..NewFakeMessage::new(channel, user, text) };
    fake.send_message_with(message).map(|_| ())
}

/// The options of a command from the words behind its name: a subcommand, or values in the order of its options.
fn command_options<'a>(known: &Value, mut words: impl Iterator<Item = &'a str>) -> Value {
    let known = known.as_array().map(Vec::as_slice).unwrap_or_default();
    // Type 1 is a subcommand, 2 a group of subcommands.
    if known.iter().any(|option| matches!(option["type"].as_u64(), Some(1 | 2))) {
        let word = words.next().unwrap_or_default();
        let chosen = known.iter().find(|option| option["name"] == word);
        return chosen.map_or(json!([]), |chosen| {
            let inner = command_options(&chosen["options"], words);
            json!([{ "name": word, "type": chosen["type"], "options": inner }])
        });
    }
    let values = known.iter().zip(words);
    values
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
        let thumbs_up = reactions.iter().find(|reaction| reaction.emoji.name == "👍");
        Ok::<_, ApiError>(thumbs_up.is_some_and(|reaction| reaction.users.contains(&user)))
    })?;
    match has_reacted {
        true => fake.remove_reaction(channel, message, user, "👍"),
        false => fake.add_reaction(channel, message, user, "👍"),
    }
}

/// The ids and names of all users.
fn user_names(world: &World) -> impl Iterator<Item = (String, &str)> {
    world.users.values().map(|user| (user.id.to_string(), user.visible_name()))
}

/// Fills in the first channel and the first user where the query names none.
fn with_defaults(world: &World, mut query: PageQuery) -> PageQuery {
    let is_known = |id: ChannelId| world.channels.contains_key(&id);
    if !query.channel.parse().is_ok_and(is_known) {
        query.channel = world.channels.keys().next().map(ToString::to_string).unwrap_or_default();
    }
    let is_known = |id: UserId| world.users.contains_key(&id);
    if !query.user.parse().is_ok_and(is_known) {
        let user = world.users.keys().find(|user| **user != world.bot_user);
        query.user = user.map(ToString::to_string).unwrap_or_default();
    }
    query
}

fn user_options(world: &World, query: &PageQuery) -> Vec<SelectOption> {
    let users = world.users.values().filter(|user| user.id != world.bot_user);
    users.map(|user| SelectOption::new(&user.id, user.visible_name(), &query.user)).collect()
}

/// The channels, each with its threads below it.
fn channel_options(world: &World, query: &PageQuery) -> Vec<SelectOption> {
    let option = |channel: &FakeChannel| {
        SelectOption::new(&channel.id, &channel_name(world, channel), &query.channel)
    };
    let mut options = Vec::new();
    for channel in world.channels.values().filter(|channel| channel.thread.is_none()) {
        options.push(option(channel));
        let threads = world.channels.values();
        let threads =
            threads.filter(|thread| thread.thread.is_some() && thread.parent == Some(channel.id));
        options.extend(threads.map(option));
    }
    options
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

/// The newest messages, and the ephemeral ones that only the chosen user sees.
fn page_messages(world: &World, channel: &FakeChannel, query: &PageQuery) -> Vec<PageMessage> {
    let messages = channel.messages.values().rev().take(MAX_MESSAGES);
    let interactions = world.commands.interactions.values();
    let is_visible = |interaction: &&Interaction| {
        interaction.channel == channel.id && interaction.user.to_string() == query.user
    };
    let responses = interactions.filter(is_visible).flat_map(|interaction| &interaction.responses);
    let ephemeral =
        responses.filter(|response| response.is_ephemeral).map(|response| &response.message);
    let mut all: Vec<&FakeMessage> = messages.chain(ephemeral).collect();
    all.sort_by_key(|message| std::cmp::Reverse(message.id));
    all.iter().map(|message| page_message(world, message, query)).collect()
}

fn page_message(world: &World, message: &FakeMessage, query: &PageQuery) -> PageMessage {
    let name = match &message.author {
        FakeAuthor::User(user) => world.users.get(user).map_or("", FakeUser::visible_name),
        FakeAuthor::Webhook { name, .. } => name,
    };
    let reactions = message.reactions.iter();
    let reactions =
        reactions.map(|reaction| format!("{} {}", reaction.emoji.name, reaction.users.len()));
    let is_ephemeral = message.flags.contains(MessageFlags::EPHEMERAL);
    let notes = [
        is_ephemeral.then_some("ephemeral"),
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
        is_own: message.author.user().is_some_and(|user| user.to_string() == query.user),
    }
}

/// A text as users see it.
fn display_text(world: &World, text: &str) -> String {
    page::display_mentions(text, user_names(world))
}
