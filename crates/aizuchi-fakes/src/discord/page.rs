//! The web page of the fake Discord.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::channel::message::MessageFlags;
use twilight_model::guild::Permissions;

use crate::discord::FakeDiscord;
use crate::discord::api_error::{ApiError, ApiResult, ErrorCode, api_error};
use crate::discord::channel::FakeChannel;
use crate::discord::command::Interaction;
use crate::discord::guild::FakeUser;
use crate::discord::id::{ChannelId, MessageId, UserId, created_at};
use crate::discord::message::{FakeAuthor, FakeMessage, MessageReference, NewFakeMessage};
use crate::discord::world::World;
use crate::page::{
    self, FakePlatform, MAX_MESSAGES, PageBackend, PageForm, PageMessage, PageMessageKind,
    PageOption, PageQuery, PageQuote, PageReaction, PageView,
};

const DEFAULT_REACTION: &str = "👍";

impl PageBackend for FakeDiscord {
    const PLATFORM: FakePlatform = FakePlatform::Discord;
    type Error = ApiError;

    fn revision(&self) -> u64 {
        *self.subscribe().borrow()
    }

    fn page_view(&self, query: &PageQuery) -> PageView {
        self.read(|state| {
            let world = &state.world;
            let query = with_defaults(world, query.clone());
            let id = query.channel.parse().ok();
            let channel = id.and_then(|id: ChannelId| world.channels.get(&id));
            let Some(channel) = channel else { return PageView::default() };
            let guild = channel.guild.or(world.guilds.keys().next().copied());
            let guild = guild.and_then(|guild| world.guilds.get(&guild));
            PageView {
                place: guild.map_or("", |guild| guild.name.as_str()).to_owned(),
                users: user_options(world, channel),
                channels: channel_options(world),
                bot: world.users.get(&world.bot_user).map_or("", FakeUser::visible_name).to_owned(),
                has_bot: can_speak(world, channel, world.bot_user),
                commands: command_names(world, channel),
                names: visible_names(world),
                messages: page_messages(world, channel, &query),
                user: query.user,
                channel: query.channel,
            }
        })
    }

    fn submit_form(&self, verb: &str, form: &PageForm) -> ApiResult {
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
            "react" => {
                let emoji = if form.emoji.is_empty() { DEFAULT_REACTION } else { &form.emoji };
                toggle_reaction(self, channel, message()?, user, emoji)
            }
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
) -> ApiResult {
    let (is_forum, guild) = fake.read(|state| {
        state.world.channel(channel).map(|channel| (channel.is_forum(), channel.guild))
    })?;
    if is_forum {
        let title: String = text.lines().next().unwrap_or_default().chars().take(100).collect();
        return fake.create_forum_post(channel, user, &title, text).map(|_| ());
    }
    if let Some(command) = text.strip_prefix('/') {
        let words: Vec<&str> = command.split_whitespace().collect();
        let (name, words) = words.split_first().map_or(("", &[][..]), |(name, rest)| (*name, rest));
        let known = fake.read(|state| state.world.commands.find(guild, name).cloned());
        let options = command_options(&known.ok_or(ErrorCode::UnknownCommand)?["options"], words);
        return fake.run_command(channel, user, name, options).map(|_| ());
    }
    let message = NewFakeMessage { reply_to, ..NewFakeMessage::new(channel, user, text) };
    fake.send_message_with(message).map(|_| ())
}

/// Parses the options of a command from the words after its name: a subcommand, or values. A switch is set by its name;
/// the other options take one word each, and the last one takes the rest.
fn command_options(known: &Value, words: &[&str]) -> Value {
    let known = known.as_array().map(Vec::as_slice).unwrap_or_default();
    // Type 1 is a subcommand, 2 a group of subcommands, 5 a switch.
    if known.iter().any(|option| matches!(option["type"].as_u64(), Some(1 | 2))) {
        let (word, rest) = words.split_first().map_or(("", words), |(word, rest)| (*word, rest));
        let chosen = known.iter().find(|option| is_called(option, word));
        return chosen.map_or(json!([{ "name": word }]), |chosen| {
            let inner = command_options(&chosen["options"], rest);
            json!([{ "name": chosen["name"], "type": chosen["type"], "options": inner }])
        });
    }
    let (switches, others): (Vec<&Value>, Vec<&Value>) =
        known.iter().partition(|option| option["type"] == 5);
    let switch = |word: &&str| switches.iter().find(|option| is_called(option, word));
    let (set, words): (Vec<&str>, Vec<&str>) =
        words.iter().copied().partition(|word| switch(word).is_some());
    let set = set.iter().filter_map(switch);
    let set = set.map(|option| json!({ "name": option["name"], "type": 5, "value": true }));
    let most = others.len();
    let values = others.iter().enumerate().filter_map(|(place, option)| {
        let end = if place + 1 == most { words.len() } else { place + 1 };
        let value = words.get(place..end).filter(|value| !value.is_empty())?.join(" ");
        Some(json!({ "name": option["name"], "type": option["type"], "value": value }))
    });
    values.chain(set).collect()
}

/// Whether this is the option's name in any language.
fn is_called(option: &Value, word: &str) -> bool {
    let localized = option["name_localizations"].as_object();
    option["name"] == word || localized.into_iter().flatten().any(|(_, name)| name == word)
}

fn toggle_reaction(
    fake: &FakeDiscord,
    channel: ChannelId,
    message: MessageId,
    user: UserId,
    emoji: &str,
) -> ApiResult {
    let has_reacted = fake.read(|state| {
        let reactions = &state.world.message(channel, message)?.reactions;
        let given = reactions.iter().find(|reaction| reaction.emoji.name == emoji);
        Ok::<_, ApiError>(given.is_some_and(|reaction| reaction.users.contains(&user)))
    })?;
    match has_reacted {
        true => fake.remove_reaction(channel, message, user, emoji),
        false => fake.add_reaction(channel, message, user, emoji),
    }
}

/// Returns the ids and names of all users.
fn user_names(world: &World) -> impl Iterator<Item = (String, &str)> {
    world.users.values().map(|user| (user.id.to_string(), user.visible_name()))
}

/// Defaults to the first channel if the query names none, and to the first user who can speak there if it names none
/// who can.
fn with_defaults(world: &World, mut query: PageQuery) -> PageQuery {
    let is_known = |id: ChannelId| world.channels.contains_key(&id);
    if !query.channel.parse().is_ok_and(is_known) {
        query.channel = world.channels.keys().next().map(ToString::to_string).unwrap_or_default();
    }
    let channel = query.channel.parse().ok();
    let Some(channel) = channel.and_then(|id: ChannelId| world.channels.get(&id)) else {
        return query;
    };
    if !query.user.parse().is_ok_and(|user| can_speak(world, channel, user)) {
        let mut users = world.users.keys().filter(|user| **user != world.bot_user);
        let user = users.find(|user| can_speak(world, channel, **user));
        query.user = user.map(ToString::to_string).unwrap_or_default();
    }
    query
}

/// Returns the users who can speak in the channel.
fn user_options(world: &World, channel: &FakeChannel) -> Vec<PageOption> {
    let is_shown =
        |user: &&FakeUser| user.id != world.bot_user && can_speak(world, channel, user.id);
    let users = world.users.values().filter(is_shown);
    let option = |user: &FakeUser| PageOption {
        id: user.id.to_string(),
        name: user.visible_name().to_owned(),
        is_thread: false,
    };
    users.map(option).collect()
}

fn can_speak(world: &World, channel: &FakeChannel, user: UserId) -> bool {
    world.permissions(user, channel).contains(Permissions::VIEW_CHANNEL)
}

/// Returns the channels, each with its threads below it.
fn channel_options(world: &World) -> Vec<PageOption> {
    let option = |channel: &FakeChannel| PageOption {
        id: channel.id.to_string(),
        name: channel_name(world, channel),
        is_thread: channel.thread.is_some(),
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

/// Returns the commands that can be used in the channel, each with its slash.
fn command_names(world: &World, channel: &FakeChannel) -> Vec<String> {
    let registered = &world.commands.registered;
    let lists = [channel.guild, None].into_iter().filter_map(|scope| registered.get(&scope));
    let names = lists.flatten().filter_map(|command| command["name"].as_str());
    names.map(|name| format!("/{name}")).collect()
}

fn visible_names(world: &World) -> BTreeMap<String, String> {
    let users = user_names(world).map(|(id, name)| (id, name.to_owned()));
    let channels = world.channels.values();
    let channels = channels.map(|channel| (channel.id.to_string(), channel.name.clone()));
    users.chain(channels).collect()
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

/// Returns the newest messages, and the ephemeral ones that only the chosen user sees.
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
    all.sort_by_key(|message| message.id);
    all.iter().map(|message| page_message(world, channel, message, query)).collect()
}

fn page_message(
    world: &World,
    channel: &FakeChannel,
    message: &FakeMessage,
    query: &PageQuery,
) -> PageMessage {
    let user_name = |user: &UserId| world.users.get(user).map_or("", FakeUser::visible_name);
    let reactions = message.reactions.iter().map(|reaction| PageReaction {
        emoji: reaction.emoji.name.clone(),
        users: reaction.users.iter().map(|user| user_name(user).to_owned()).collect(),
        is_own: reaction.users.iter().any(|user| user.to_string() == query.user),
    });
    let author = message.author.user().and_then(|user| world.users.get(&user));
    let is_ephemeral = message.flags.contains(MessageFlags::EPHEMERAL);
    // A thread has the id of the message that it was started from.
    let opened = message.id.to_string().parse().ok();
    let opened = opened.and_then(|id: ChannelId| world.channels.get(&id));
    let is_elsewhere = |opened: &&FakeChannel| opened.thread.is_some() && opened.id != channel.id;
    PageMessage {
        id: message.id.to_string(),
        thread: message.id.to_string(),
        is_reply: false,
        quote: message.reference.and_then(|reference| quote(world, reference)),
        opened: opened.filter(is_elsewhere).map(|opened| opened.id.to_string()),
        name: author_name(world, message),
        is_bot: author.is_none_or(|author| author.is_bot),
        is_own: author.is_some_and(|author| author.id.to_string() == query.user),
        at_ms: created_at(message.id).as_millisecond(),
        text: message.content.clone(),
        source: display_text(world, &message.content),
        is_edited: message.edited.is_some(),
        kind: match () {
            () if is_ephemeral => PageMessageKind::Ephemeral,
            () if message.kind.is_system() => PageMessageKind::System,
            () => PageMessageKind::Regular,
        },
        reactions: reactions.collect(),
    }
}

fn author_name(world: &World, message: &FakeMessage) -> String {
    match &message.author {
        FakeAuthor::User(user) => world.users.get(user).map_or("", FakeUser::visible_name),
        FakeAuthor::Webhook { name, .. } => name,
    }
    .to_owned()
}

fn quote(world: &World, reference: MessageReference) -> Option<PageQuote> {
    let message = world.message(reference.channel, reference.message?).ok()?;
    Some(PageQuote { name: author_name(world, message), text: message.content.clone() })
}

/// Returns a text as users write it.
fn display_text(world: &World, text: &str) -> String {
    page::display_mentions(text, user_names(world))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_words() {
        let length = json!({ "name": "length", "type": 3 });
        let names = json!({ "ja": "どこでも" });
        let everywhere = json!({ "name": "everywhere", "type": 5, "name_localizations": names });
        let names = json!({ "ja": "ミュート" });
        let options = json!([length, everywhere]);
        let mute =
            json!({ "name": "mute", "type": 1, "options": options, "name_localizations": names });
        let length = json!({ "name": "length", "type": 3, "value": "2 hours" });
        let everywhere = json!({ "name": "everywhere", "type": 5, "value": true });
        for (text, expected) in [
            ("mute 2 hours everywhere", json!([length, everywhere])),
            ("ミュート どこでも", json!([everywhere])),
            ("mute", json!([])),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            let expected = json!([{ "name": "mute", "type": 1, "options": expected }]);
            assert_eq!(command_options(&json!([mute]), &words), expected, "{text}");
        }
        assert_eq!(command_options(&json!([mute]), &["dance"]), json!([{ "name": "dance" }]));
    }
}
