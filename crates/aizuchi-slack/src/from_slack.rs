//! What Slack's events and histories tell, read leniently: a shape that is not known tells nothing, and
//! nothing here fails.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use aizuchi_core::chat::{ChannelId, MessageId, ReactionChange, Role, UserId, Visibility};

/// What an event is about.
#[derive(Clone, Debug, PartialEq)]
pub enum SlackEvent {
    Message(SlackMessage),
    /// A line that was there has another text now.
    MessageChanged {
        message: SlackMessage,
        at: Timestamp,
    },
    /// What is left of a line that was deleted.
    MessageDeleted {
        message: SlackMessage,
        at: Timestamp,
    },
    Reaction(SlackReaction),
    /// Somebody came into a channel.
    MemberJoined {
        channel: ChannelId,
        user: UserId,
    },
    /// Somebody left a channel, or was made to.
    MemberLeft {
        channel: ChannelId,
        user: UserId,
    },
    /// The app's own bot left a channel.
    ChannelLeft(ChannelId),
    /// A channel may be read by fewer, or by others, than before.
    ChannelRestricted(ChannelId),
    /// Something about a channel has changed: its name, who may read it, whether it is open.
    ChannelChanged(ChannelId),
    UserChanged(SlackUser),
    /// The app is in this workspace no more.
    AppUninstalled,
    /// These bots' tokens are worth nothing any more.
    TokensRevoked(Vec<UserId>),
    /// Slack leaves events out for a while.
    RateLimited,
    Ignored,
}

/// A line as Slack writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct SlackMessage {
    pub channel: ChannelId,
    /// Who may read the channel, where the event says so.
    pub visibility: Option<Visibility>,
    pub id: MessageId,
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    pub author: UserId,
    /// An app, a workflow or an integration wrote it.
    pub is_bot: bool,
    /// In Slack's own markup.
    pub text: Arc<str>,
    /// What the writer's own app calls it.
    pub client_message_id: Option<Arc<str>>,
    /// When its author changed it last.
    pub edited_at: Option<Timestamp>,
    /// The key that one of our posts carries.
    pub key: Option<Arc<str>>,
    /// All of it, for what is beside the text.
    pub raw: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SlackReaction {
    pub channel: ChannelId,
    pub message: MessageId,
    pub user: UserId,
    /// Slack's name for the emoji.
    pub emoji_name: String,
    pub at: Timestamp,
    pub change: ReactionChange,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SlackUser {
    pub id: UserId,
    pub name: Arc<str>,
    pub is_bot: bool,
    pub role: Role,
}

/// The kind of metadata that our posts carry.
pub const METADATA_EVENT_TYPE: &str = "aizuchi_post";

/// The event inside of a payload.
pub fn parse_event(payload: &Value) -> SlackEvent {
    let event = &payload["event"];
    let tell = |told: Option<SlackEvent>| told.unwrap_or(SlackEvent::Ignored);
    if [&payload["type"], &event["type"]].into_iter().any(|kind| kind == "app_rate_limited") {
        return SlackEvent::RateLimited;
    }
    match non_empty_str(&event["type"]).unwrap_or_default() {
        "message" | "app_mention" => tell(parse_message_event(event)),
        "reaction_added" => tell(parse_reaction(event, ReactionChange::Added)),
        "reaction_removed" => tell(parse_reaction(event, ReactionChange::Removed)),
        "member_joined_channel" => tell(
            parse_membership(event)
                .map(|(channel, user)| SlackEvent::MemberJoined { channel, user }),
        ),
        "member_left_channel" => tell(
            parse_membership(event).map(|(channel, user)| SlackEvent::MemberLeft { channel, user }),
        ),
        "channel_left" | "group_left" | "channel_deleted" | "group_deleted" => {
            tell(parse_channel_id(event).map(SlackEvent::ChannelLeft))
        }
        "channel_rename" | "group_rename" | "channel_archive" | "group_archive"
        | "channel_unarchive" | "group_unarchive" | "channel_created" | "im_created"
        | "im_open" | "channel_unshared" | "channel_id_changed" => {
            tell(parse_channel_id(event).map(SlackEvent::ChannelChanged))
        }
        "channel_shared" | "channel_convert_to_private" => {
            tell(parse_channel_id(event).map(SlackEvent::ChannelRestricted))
        }
        "user_change" | "team_join" | "user_profile_changed" => {
            tell(parse_user(&event["user"]).map(SlackEvent::UserChanged))
        }
        "app_uninstalled" => SlackEvent::AppUninstalled,
        "tokens_revoked" => {
            let bots = event["tokens"]["bot"].as_array().into_iter().flatten();
            SlackEvent::TokensRevoked(bots.filter_map(non_empty_str).map(UserId::new).collect())
        }
        _ => SlackEvent::Ignored,
    }
}

/// Lines that say something about the channel and nothing in it.
fn is_channel_notice(subtype: &str) -> bool {
    [
        "channel_",
        "group_",
        "pinned_",
        "unpinned_",
        "bot_add",
        "bot_remove",
        "reminder_",
        "ekm_",
        "sh_room_",
    ]
    .iter()
    .any(|beginning| subtype.starts_with(beginning))
}

fn parse_message_event(event: &Value) -> Option<SlackEvent> {
    let at = parse_ts(&event["event_ts"]).or(parse_ts(&event["ts"]));
    let nested = |which: &str| {
        let mut whole = event[which].clone();
        // What is nested says neither where it is, nor who may read it.
        whole["channel"] = event["channel"].clone();
        whole["channel_type"] = event["channel_type"].clone();
        parse_message(whole)
    };
    match non_empty_str(&event["subtype"]).unwrap_or_default() {
        "message_changed" => {
            let at = at?;
            let line = nested("message")?;
            if non_empty_str(&line.raw["subtype"]) == Some("tombstone") {
                return Some(SlackEvent::MessageDeleted { message: line, at });
            }
            // A preview that appears below a line changes nothing that anybody said.
            let is_same = |key: &str| event["message"][key] == event["previous_message"][key];
            if ["text", "edited", "files"].into_iter().all(is_same) {
                return None;
            }
            Some(SlackEvent::MessageChanged { message: line, at })
        }
        "message_deleted" => {
            let mut whole = event["previous_message"].clone();
            if !whole.is_object() {
                whole = Value::Object(serde_json::Map::new());
            }
            whole["ts"] = event["deleted_ts"].clone();
            whole["channel"] = event["channel"].clone();
            whole["channel_type"] = event["channel_type"].clone();
            Some(SlackEvent::MessageDeleted { message: parse_message(whole)?, at: at? })
        }
        "message_replied" => None,
        "channel_convert_to_private" => parse_channel_id(event).map(SlackEvent::ChannelRestricted),
        "channel_name" | "group_name" => parse_channel_id(event).map(SlackEvent::ChannelChanged),
        subtype if is_channel_notice(subtype) => None,
        _ => parse_message(event.clone()).map(SlackEvent::Message),
    }
}

/// A line out of a channel's history, which does not say where it is.
pub fn parse_history_message(channel: &ChannelId, mut whole: Value) -> Option<SlackMessage> {
    if is_channel_notice(non_empty_str(&whole["subtype"]).unwrap_or_default()) || !whole.is_object()
    {
        return None;
    }
    whole["channel"] = channel.as_str().into();
    parse_message(whole)
}

/// Of a deleted line that others have answered, Slack keeps the place.
pub fn is_tombstone(line: &SlackMessage) -> bool {
    non_empty_str(&line.raw["subtype"]) == Some("tombstone")
}

fn parse_message(whole: Value) -> Option<SlackMessage> {
    let channel = non_empty_str(&whole["channel"])?;
    let id = non_empty_str(&whole["ts"])?;
    let at = parse_ts(&whole["ts"])?;
    let thread = non_empty_str(&whole["thread_ts"]).filter(|thread| *thread != id);
    let bot = non_empty_str(&whole["bot_id"]);
    // Some integrations have no user; a workflow has no id at all.
    let author = non_empty_str(&whole["user"]).or(bot).map(str::to_owned);
    // A name is no id: whoever chooses somebody's id for a name is not them.
    let author =
        author.or_else(|| non_empty_str(&whole["username"]).map(|name| format!("name:{name}")));
    let author = author.unwrap_or_else(|| "unknown".to_owned());
    let is_bot = bot.is_some()
        || non_empty_str(&whole["user"]).is_none()
        || non_empty_str(&whole["subtype"]) == Some("bot_message")
        || author == "USLACKBOT";
    let metadata = &whole["metadata"];
    let key = non_empty_str(&metadata["event_type"])
        .filter(|kind| *kind == METADATA_EVENT_TYPE)
        .and_then(|_| non_empty_str(&metadata["event_payload"]["key"]));
    Some(SlackMessage {
        channel: ChannelId::new(channel),
        visibility: non_empty_str(&whole["channel_type"]).map(parse_visibility),
        id: MessageId::new(id),
        at,
        thread: thread.map(MessageId::new),
        author: UserId::new(author),
        is_bot,
        text: non_empty_str(&whole["text"]).unwrap_or_default().into(),
        client_message_id: non_empty_str(&whole["client_msg_id"]).map(Arc::from),
        edited_at: parse_ts(&whole["edited"]["ts"]),
        key: key.map(Arc::from),
        raw: whole,
    })
}

/// A group of people who write to each other beside the channels is a private room: not every line there
/// is for the persona.
fn parse_visibility(kind: &str) -> Visibility {
    match kind {
        "channel" => Visibility::Public,
        "im" | "app_home" => Visibility::Direct,
        _ => Visibility::Private,
    }
}

fn parse_reaction(event: &Value, change: ReactionChange) -> Option<SlackEvent> {
    let item = &event["item"];
    if non_empty_str(&item["type"]) != Some("message") {
        return None;
    }
    Some(SlackEvent::Reaction(SlackReaction {
        channel: ChannelId::new(non_empty_str(&item["channel"])?),
        message: MessageId::new(non_empty_str(&item["ts"])?),
        user: UserId::new(non_empty_str(&event["user"])?),
        emoji_name: non_empty_str(&event["reaction"])?.to_owned(),
        at: parse_ts(&event["event_ts"])?,
        change,
    }))
}

/// The reactions that a history shows below a line. It does not say when they came.
pub fn message_reactions(line: &SlackMessage) -> Vec<SlackReaction> {
    let shown = line.raw["reactions"].as_array().into_iter().flatten();
    let each = shown.flat_map(|shown| {
        let name = non_empty_str(&shown["name"]).unwrap_or_default();
        let users = shown["users"].as_array().into_iter().flatten().filter_map(non_empty_str);
        users.map(move |user| SlackReaction {
            channel: line.channel.clone(),
            message: line.id.clone(),
            user: UserId::new(user),
            emoji_name: name.to_owned(),
            at: line.at,
            change: ReactionChange::Added,
        })
    });
    each.filter(|reaction| !reaction.emoji_name.is_empty()).collect()
}

fn parse_membership(event: &Value) -> Option<(ChannelId, UserId)> {
    Some((
        ChannelId::new(non_empty_str(&event["channel"])?),
        UserId::new(non_empty_str(&event["user"])?),
    ))
}

/// A channel, which some events name by its id and some by more.
pub fn parse_channel_id(event: &Value) -> Option<ChannelId> {
    let channel = &event["channel"];
    let id = non_empty_str(channel)
        .or(non_empty_str(&channel["id"]))
        .or(non_empty_str(&event["new_channel_id"]));
    id.map(ChannelId::new)
}

/// A member, by the name that others see.
pub fn parse_user(user: &Value) -> Option<SlackUser> {
    let id = non_empty_str(&user["id"])?;
    let profile = &user["profile"];
    let names =
        [&profile["display_name"], &profile["real_name"], &user["real_name"], &user["name"]];
    let name = names.into_iter().find_map(non_empty_str).unwrap_or(id);
    let is_bot = user["is_bot"] == true || id == "USLACKBOT";
    let is_admin =
        ["is_admin", "is_owner", "is_primary_owner"].iter().any(|key| user[*key] == true);
    let role = if is_admin { Role::Admin } else { Role::Member };
    Some(SlackUser {
        id: UserId::new(id),
        name: aizuchi_core::chat::to_single_line(name).into(),
        is_bot,
        role,
    })
}

/// A channel as a list shows it. One that people of other workspaces can read is not public to this one.
pub fn parse_channel(channel: &Value) -> Option<(ChannelId, Arc<str>, Visibility)> {
    let id = non_empty_str(&channel["id"])?;
    let is = |key: &str| channel[key] == true;
    let visibility = if is("is_im") {
        Visibility::Direct
    } else if is("is_private")
        || is("is_mpim")
        || is("is_group")
        || is("is_ext_shared")
        || is("is_pending_ext_shared")
        || !is("is_channel")
    {
        Visibility::Private
    } else {
        Visibility::Public
    };
    let name = non_empty_str(&channel["name"]).or(non_empty_str(&channel["user"])).unwrap_or(id);
    Some((ChannelId::new(id), aizuchi_core::chat::to_single_line(name).into(), visibility))
}

/// Text that is there.
pub fn non_empty_str(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Slack's `ts`: seconds, a point, and six digits that count.
pub fn parse_ts(ts: &Value) -> Option<Timestamp> {
    let (seconds, rest) = ts.as_str()?.split_once('.')?;
    let seconds: i64 = seconds.parse().ok()?;
    let micros: i32 = rest.parse().ok().filter(|_| rest.len() == 6)?;
    let at = Timestamp::new(seconds, micros.checked_mul(1000)?).ok()?;
    Some(aizuchi_core::clock::truncate_to_millisecond(at))
}

/// A moment as Slack writes it.
pub fn format_ts(at: Timestamp) -> String {
    let micros = at.as_microsecond();
    format!("{}.{:06}", micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(event: Value) -> SlackEvent {
        parse_event(&json!({"type": "event_callback", "event": event}))
    }

    fn of(told: SlackEvent) -> SlackMessage {
        match told {
            SlackEvent::Message(line) => line,
            told => panic!("{told:?}"),
        }
    }

    #[test]
    fn lines_are_read_from_all_that_people_and_apps_send() {
        let message = |more: Value| {
            let mut event = json!({"type": "message", "channel": "C1", "channel_type": "channel",
                "user": "U1", "text": "hi", "ts": "1700000000.000100"});
            for (key, value) in more.as_object().unwrap() {
                event[key] = value.clone();
            }
            event
        };
        let plain = of(event(message(json!({"client_msg_id": "m-1"}))));
        assert_eq!(plain.id.as_str(), "1700000000.000100");
        assert_eq!(plain.at, Timestamp::from_second(1_700_000_000).unwrap());
        assert_eq!((plain.thread, plain.is_bot), (None, false));
        assert_eq!(plain.visibility, Some(Visibility::Public));
        assert_eq!(plain.client_message_id.as_deref(), Some("m-1"));
        for (more, author, thread, is_bot) in [
            (json!({"subtype": "file_share", "files": []}), "U1", None, false),
            (json!({"subtype": "me_message"}), "U1", None, false),
            (json!({"thread_ts": "1700000000.000100"}), "U1", None, false),
            (
                json!({"subtype": "thread_broadcast", "thread_ts": "1.000000"}),
                "U1",
                Some("1.000000"),
                false,
            ),
            (json!({"bot_id": "B1"}), "U1", None, true),
            (json!({"subtype": "bot_message", "user": null, "bot_id": "B1"}), "B1", None, true),
            (json!({"user": null, "username": "deploys"}), "name:deploys", None, true),
            (json!({"user": null}), "unknown", None, true),
            (json!({"user": "USLACKBOT"}), "USLACKBOT", None, true),
            (json!({"type": "app_mention", "channel_type": null}), "U1", None, false),
        ] {
            let line = of(event(message(more.clone())));
            let thread = thread.map(MessageId::new);
            let expected = (UserId::new(author), thread, is_bot);
            assert_eq!((line.author, line.thread, line.is_bot), expected, "{more}");
        }
    }

    #[test]
    fn edits_and_deletions_name_the_line_that_they_are_about() {
        let nested = json!({"type": "message", "user": "U1", "text": "new", "ts": "5.000000",
            "thread_ts": "1.000000", "edited": {"user": "U1", "ts": "9.000000"}});
        let changed =
            event(json!({"type": "message", "subtype": "message_changed", "hidden": true,
            "channel": "C1", "ts": "9.000100", "event_ts": "9.000100", "message": nested}));
        let SlackEvent::MessageChanged { message: line, at } = changed else {
            panic!("{changed:?}")
        };
        assert_eq!(
            (line.id.as_str(), &*line.text, line.channel.as_str()),
            ("5.000000", "new", "C1")
        );
        assert_eq!(line.thread, Some(MessageId::new("1.000000")));
        assert_eq!(at, Timestamp::from_second(9).unwrap());
        for previous in [nested.clone(), Value::Null] {
            let deleted = event(json!({"type": "message", "subtype": "message_deleted",
                "channel": "C1", "ts": "9.000200", "deleted_ts": "5.000000",
                "previous_message": previous}));
            let SlackEvent::MessageDeleted { message: line, .. } = deleted else {
                panic!("{deleted:?}")
            };
            assert_eq!(line.id.as_str(), "5.000000");
        }
        let mut tombstone = nested;
        tombstone["subtype"] = "tombstone".into();
        let gone = event(json!({"type": "message", "subtype": "message_changed", "channel": "C1",
            "ts": "9.000100", "message": tombstone}));
        assert!(matches!(gone, SlackEvent::MessageDeleted { .. }));
    }

    #[test]
    fn other_events_tell_what_they_are_about() {
        let (channel, user) = (ChannelId::new("C1"), UserId::new("U1"));
        for (tells, expected) in [
            (
                json!({"type": "member_joined_channel", "channel": "C1", "user": "U1"}),
                SlackEvent::MemberJoined { channel: channel.clone(), user: user.clone() },
            ),
            (
                json!({"type": "member_left_channel", "channel": "C1", "user": "U1"}),
                SlackEvent::MemberLeft { channel: channel.clone(), user: user.clone() },
            ),
            (
                json!({"type": "channel_left", "channel": "C1"}),
                SlackEvent::ChannelLeft(channel.clone()),
            ),
            (
                json!({"type": "channel_rename", "channel": {"id": "C1", "name": "new"}}),
                SlackEvent::ChannelChanged(channel.clone()),
            ),
            (
                json!({"type": "message", "subtype": "channel_convert_to_private", "channel": "C1"}),
                SlackEvent::ChannelRestricted(channel),
            ),
            (
                json!({"type": "user_change", "user": {"id": "U1", "name": "h",
                    "profile": {"display_name": "", "real_name": "Hana\nko"}}}),
                SlackEvent::UserChanged(SlackUser {
                    id: user,
                    name: "Hana ko".into(),
                    is_bot: false,
                    role: Role::Member,
                }),
            ),
            (
                json!({"type": "message", "subtype": "channel_join", "channel": "C1"}),
                SlackEvent::Ignored,
            ),
            (
                json!({"type": "message", "channel": "C1", "ts": "soon", "user": "U1"}),
                SlackEvent::Ignored,
            ),
            (json!({"type": "reaction_added", "item": {"type": "file"}}), SlackEvent::Ignored),
            (json!({"type": "something_new", "channel": 7}), SlackEvent::Ignored),
            (json!(null), SlackEvent::Ignored),
        ] {
            assert_eq!(event(tells.clone()), expected, "{tells}");
        }
        // This one has no event inside.
        assert_eq!(
            parse_event(&json!({"type": "app_rate_limited", "minute_rate_limited": 1})),
            SlackEvent::RateLimited
        );
    }

    #[test]
    fn who_may_read_a_channel_is_told_by_its_flags() {
        for (flags, visibility) in [
            (json!({"is_channel": true}), Visibility::Public),
            (json!({"is_channel": true, "is_private": true}), Visibility::Private),
            (json!({"is_channel": true, "is_ext_shared": true}), Visibility::Private),
            (json!({"is_group": true}), Visibility::Private),
            (json!({"is_mpim": true, "is_private": true}), Visibility::Private),
            (json!({"is_im": true, "user": "U1"}), Visibility::Direct),
            (json!({}), Visibility::Private),
        ] {
            let mut told = flags.clone();
            told["id"] = "C1".into();
            assert_eq!(parse_channel(&told).unwrap().2, visibility, "{flags}");
        }
    }

    #[test]
    fn times_are_written_as_they_were_read() {
        for text in ["1700000000.123000", "0.000000"] {
            assert_eq!(format_ts(parse_ts(&text.into()).unwrap()), text);
        }
        for text in ["", "1", "1.5", "x.000000", "1.00000a", "99999999999999999999.000000"] {
            assert_eq!(parse_ts(&text.into()), None, "{text}");
        }
    }
}
