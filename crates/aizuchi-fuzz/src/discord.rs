//! Targets for what Discord delivers, and for posts to it.

use std::sync::Arc;

use aizuchi_discord::files::parse_files;
use aizuchi_discord::from_discord::message::{
    parse_channel_ref, parse_history_message, parse_message,
};
use aizuchi_discord::from_discord::{emoji_name, parse_event};
use aizuchi_discord::message_text::read_message_text;
use aizuchi_discord::text::read::parse_discord_markdown;
use aizuchi_discord::text::write::{
    MAX_MESSAGE_LENGTH, MentionLookup, to_discord_markdown, to_markdown_without_names,
};
use aizuchi_discord::text::{NameLookup, RoleName};
use aizuchi_model::chat::UserId;
use aizuchi_model::persona::Language;
use aizuchi_model::split::utf16_length;
use jiff::tz::TimeZone;
use serde_json::Value;

const EVENTS: [&str; 24] = [
    "MESSAGE_CREATE",
    "MESSAGE_UPDATE",
    "MESSAGE_DELETE",
    "MESSAGE_DELETE_BULK",
    "MESSAGE_REACTION_ADD",
    "MESSAGE_REACTION_REMOVE",
    "MESSAGE_REACTION_REMOVE_ALL",
    "GUILD_CREATE",
    "GUILD_UPDATE",
    "GUILD_DELETE",
    "GUILD_ROLE_CREATE",
    "GUILD_ROLE_DELETE",
    "GUILD_MEMBER_ADD",
    "GUILD_MEMBER_UPDATE",
    "GUILD_MEMBERS_CHUNK",
    "GUILD_EMOJIS_UPDATE",
    "CHANNEL_CREATE",
    "CHANNEL_DELETE",
    "THREAD_CREATE",
    "THREAD_LIST_SYNC",
    "THREAD_DELETE",
    "THREAD_MEMBERS_UPDATE",
    "INTERACTION_CREATE",
    "READY",
];

fn with_names<T>(read: impl FnOnce(&NameLookup<'_>) -> T) -> T {
    let name = |id: &str| id.len().is_multiple_of(2).then(|| Arc::from("rose @here"));
    read(&NameLookup {
        persona: &UserId::new("100000000000000001"),
        persona_name: "Aizuchi",
        user: &|id| name(id.as_str()),
        channel: &|id| name(id.as_str()),
        role: &|id| name(id).map(RoleName::Named),
        time_zone: &TimeZone::UTC,
    })
}

/// Parses a frame of the gateway, whose data may belong to any event, and a message of the history.
pub fn events(bytes: &[u8]) {
    let Ok(frame) = serde_json::from_slice::<Value>(bytes) else { return };
    let data = &frame["d"];
    let named = frame["t"].as_str();
    for name in EVENTS.into_iter().chain(named) {
        parse_event(name, data);
    }
    emoji_name(data);
    if let Some(channel_ref) = parse_channel_ref(data) {
        parse_history_message(&channel_ref, data.clone());
    }
    parse_message(data);
    parse_files(data);
    for language in [Language::En, Language::Ja] {
        with_names(|names| read_message_text(data, names, language));
    }
}

/// Converts markup in both directions. A text that fits must not become too long.
pub fn markdown(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    with_names(|names| parse_discord_markdown(&text, names));
    let lookup = MentionLookup {
        find_user: &|name| (name == "bob").then(|| UserId::new("100000000000000002")),
        find_emoji: &|_| None,
    };
    let written = to_discord_markdown(&text, &lookup);
    let plain = to_markdown_without_names(&text).map(|text| utf16_length(&text));
    assert!(
        utf16_length(&written) <= plain[1].max(MAX_MESSAGE_LENGTH),
        "{text:?} becomes {written:?}"
    );
}
