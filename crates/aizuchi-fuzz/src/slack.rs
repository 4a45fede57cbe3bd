//! Targets for what Slack delivers, and for posts to it.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId};
use aizuchi_slack::files::parse_files;
use aizuchi_slack::from_slack::{self, SlackEvent};
use aizuchi_slack::mrkdwn::message::read_message;
use aizuchi_slack::mrkdwn::read::parse_mrkdwn;
use aizuchi_slack::mrkdwn::write::to_mrkdwn;
use aizuchi_slack::mrkdwn::{NameLookup, is_id};
use serde_json::Value;

fn with_names<T>(read: impl FnOnce(&NameLookup<'_>) -> T) -> T {
    let name = |id: &str| id.len().is_multiple_of(2).then(|| Arc::from("rose <b>"));
    read(&NameLookup {
        persona: &UserId::new("U0000000001"),
        persona_name: "Aizuchi",
        user: &|id| name(id.as_str()),
        channel: &|id| name(id.as_str()),
        group: &name,
    })
}

/// Parses an envelope, its payload or its event; a message of the history; a user; a channel.
pub fn events(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    for part in [&value, &value["payload"], &value["payload"]["event"], &value["event"]] {
        let event = from_slack::parse_event(part);
        if let SlackEvent::Message(message) = &event {
            from_slack::is_tombstone(message);
            from_slack::message_reactions(message);
        }
        let channel = ChannelId::new("C1");
        if let Some(message) = from_slack::parse_history_message(&channel, part.clone()) {
            from_slack::message_reactions(&message);
        }
        from_slack::parse_channel_id(part);
        from_slack::parse_user(part);
        from_slack::parse_channel(part);
        parse_files(part);
        with_names(|names| read_message(part, names));
    }
    if let Some(at) = from_slack::parse_ts(&value["event_ts"]) {
        from_slack::format_ts(at);
    }
}

/// Converts markup in both directions. A post must never notify a group, whatever a model wrote.
pub fn mrkdwn(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    with_names(|names| parse_mrkdwn(&text, names));
    let user = |name: &str| (name == "bob").then(|| UserId::new("U0000000002"));
    let written = to_mrkdwn(&text, &user);
    for called in ["<!channel", "<!here", "<!everyone", "<!subteam"] {
        assert!(!written.contains(called), "{text:?} becomes {written:?}");
    }
    for mention in written.split("<@").skip(1) {
        let id = mention.split(['>', '|']).next().unwrap_or_default();
        assert!(!is_id(id) || id == "U0000000002", "{text:?} mentions {id}");
    }
}
