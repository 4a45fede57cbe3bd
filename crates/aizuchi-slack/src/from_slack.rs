//! Parses Slack's events and history leniently: a value of an unexpected type counts as absent. An event that lacks a
//! required value is malformed; nothing here returns an error.

use std::ops::RangeInclusive;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, MessageId, ReactionChange, Role, UserId, Visibility};
use jiff::Timestamp;
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq)]
pub enum SlackEvent {
    Message(SlackMessage),
    /// The text of a message was edited.
    MessageChanged {
        message: SlackMessage,
        at: Timestamp,
    },
    /// A message was deleted. `message` is its last content that Slack still has.
    MessageDeleted {
        message: SlackMessage,
        at: Timestamp,
    },
    Reaction(SlackReaction),
    MemberJoined {
        channel: ChannelId,
        user: UserId,
    },
    /// A user left a channel or was removed from it.
    MemberLeft {
        channel: ChannelId,
        user: UserId,
    },
    /// The bot left a channel, or the channel was deleted.
    ChannelLeft(ChannelId),
    /// A channel became private, or is shared with another workspace.
    ChannelRestricted(ChannelId),
    /// The name, the topic, the visibility or the archived flag of a channel changed.
    ChannelChanged(ChannelId),
    UserChanged(SlackUser),
    AppUninstalled,
    /// The tokens of these bots are no longer valid.
    TokensRevoked(Vec<UserId>),
    /// Slack drops events for a while because of its rate limit.
    RateLimited,
    /// An event that the bot does not need.
    Ignored,
    /// An event that lacks a required value of its type.
    Malformed,
}

/// A message as Slack describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct SlackMessage {
    pub channel: ChannelId,
    /// The channel's visibility, if the event names it.
    pub visibility: Option<Visibility>,
    pub id: MessageId,
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    pub author: UserId,
    /// Whether an app, a workflow or an integration posted it.
    pub is_bot: bool,
    /// In Slack's own markup.
    pub text: Arc<str>,
    /// The id that the author's client assigned.
    pub client_message_id: Option<Arc<str>>,
    /// The time of the last edit.
    pub edited_at: Option<Timestamp>,
    /// The idempotency key, on the bot's own posts.
    pub key: Option<Arc<str>>,
    /// What the bot's own posts answer, if they are marked.
    pub answers: Option<Vec<MessageId>>,
    /// The whole message: files, blocks, attachments, reactions.
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
    /// The IANA name of the time zone in the profile.
    pub zone: Option<Arc<str>>,
}

/// Slack's own ids have fewer than 20 characters. A longer id than this would not fit into a database index.
const MAX_ID_BYTES: usize = 200;
/// In seconds, until the year 3000, so that computations with such a time do not overflow.
const TIMES: RangeInclusive<i64> = 0..=32_503_680_000;

/// The `event_type` in the metadata of the bot's own posts.
pub const METADATA_EVENT_TYPE: &str = "aizuchi_post";

/// The `block_id` of the first block of a message that asks a keeper something.
pub const QUESTION_BLOCK: &str = "aizuchi_question";

/// The subtype of the notice that a channel became private.
pub const BECAME_PRIVATE: &str = "channel_convert_to_private";

/// Parses the event inside an Events API payload.
pub fn parse_event(payload: &Value) -> SlackEvent {
    let event = &payload["event"];
    // This type stands on the payload itself, which then contains no event.
    if [&payload["type"], &event["type"]].into_iter().any(|kind| kind == "app_rate_limited") {
        return SlackEvent::RateLimited;
    }
    let Some(kind) = non_empty_str(&event["type"]) else { return SlackEvent::Malformed };
    match kind {
        // A mention arrives as both events, with the same `ts`; the store keeps the message once.
        "message" | "app_mention" => parse_message_event(event),
        "reaction_added" => parse_reaction(event, ReactionChange::Added),
        "reaction_removed" => parse_reaction(event, ReactionChange::Removed),
        "member_joined_channel" => or_malformed(
            parse_membership(event)
                .map(|(channel, user)| SlackEvent::MemberJoined { channel, user }),
        ),
        "member_left_channel" => or_malformed(
            parse_membership(event).map(|(channel, user)| SlackEvent::MemberLeft { channel, user }),
        ),
        "channel_left" | "group_left" | "channel_deleted" | "group_deleted" => {
            or_malformed(parse_channel_id(event).map(SlackEvent::ChannelLeft))
        }
        "channel_rename" | "group_rename" | "channel_archive" | "group_archive"
        | "channel_unarchive" | "group_unarchive" | "channel_created" | "im_created"
        | "im_open" | "channel_unshared" | "channel_id_changed" => {
            or_malformed(parse_channel_id(event).map(SlackEvent::ChannelChanged))
        }
        "channel_shared" | BECAME_PRIVATE => {
            or_malformed(parse_channel_id(event).map(SlackEvent::ChannelRestricted))
        }
        "user_change" | "team_join" | "user_profile_changed" => {
            or_malformed(parse_user(&event["user"]).map(SlackEvent::UserChanged))
        }
        "app_uninstalled" => SlackEvent::AppUninstalled,
        "tokens_revoked" => {
            let bots = event["tokens"]["bot"].as_array().into_iter().flatten();
            SlackEvent::TokensRevoked(bots.filter_map(non_empty_str).map(UserId::new).collect())
        }
        _ => SlackEvent::Ignored,
    }
}

fn or_malformed(event: Option<SlackEvent>) -> SlackEvent {
    event.unwrap_or(SlackEvent::Malformed)
}

/// Whether a message is a notice about the channel (a join, a pin, a new topic) that no user wrote.
fn is_channel_notice(subtype: &str) -> bool {
    [
        "channel_", "group_", "pinned_", "unpinned_", "bot_add", "bot_remove", "reminder_", "ekm_",
        "sh_room_",
    ]
    .iter()
    .any(|prefix| subtype.starts_with(prefix))
}

/// Whether this is the bot's question to a keeper. It concerns another channel, so it is not stored.
fn is_question(raw: &Value) -> bool {
    raw["bot_id"].is_string() && raw["blocks"][0]["block_id"] == QUESTION_BLOCK
}

fn parse_message_event(event: &Value) -> SlackEvent {
    if [event, &event["message"], &event["previous_message"]].into_iter().any(is_question) {
        return SlackEvent::Ignored;
    }
    match non_empty_str(&event["subtype"]).unwrap_or_default() {
        "message_changed" => or_malformed(parse_changed_message(event)),
        "message_deleted" => or_malformed(parse_deleted_message(event)),
        // The reply itself arrives as a message of its own.
        "message_replied" => SlackEvent::Ignored,
        BECAME_PRIVATE => or_malformed(parse_channel_id(event).map(SlackEvent::ChannelRestricted)),
        "channel_name" | "group_name" | "channel_topic" | "group_topic" | "channel_purpose"
        | "group_purpose" => or_malformed(parse_channel_id(event).map(SlackEvent::ChannelChanged)),
        subtype if is_channel_notice(subtype) => SlackEvent::Ignored,
        _ => or_malformed(parse_message(event.clone()).map(SlackEvent::Message)),
    }
}

fn parse_changed_message(event: &Value) -> Option<SlackEvent> {
    let at = parse_event_time(event)?;
    let message = parse_message(nested_message(event, event["message"].as_object()?.clone()))?;
    // A message with replies is not deleted but edited into a tombstone.
    if is_tombstone(&message) {
        return Some(SlackEvent::MessageDeleted { message, at });
    }
    // Slack sends this event for link previews as well.
    let is_same = |key: &str| event["message"][key] == event["previous_message"][key];
    let is_shown_alone = message.text.is_empty() && !is_same("attachments");
    if ["text", "edited", "files"].into_iter().all(is_same) && !is_shown_alone {
        return Some(SlackEvent::Ignored);
    }
    Some(SlackEvent::MessageChanged { message, at })
}

fn parse_deleted_message(event: &Value) -> Option<SlackEvent> {
    let mut raw = event["previous_message"].as_object().cloned().unwrap_or_default();
    // `previous_message` may be missing, but the deletion must be recorded all the same.
    raw.insert("ts".to_owned(), event["deleted_ts"].clone());
    let message = parse_message(nested_message(event, raw))?;
    Some(SlackEvent::MessageDeleted { message, at: parse_event_time(event)? })
}

fn parse_event_time(event: &Value) -> Option<Timestamp> {
    parse_ts(&event["event_ts"]).or(parse_ts(&event["ts"]))
}

/// Returns the message inside an event, with the event's channel added to it.
fn nested_message(event: &Value, mut raw: Map<String, Value>) -> Value {
    for key in ["channel", "channel_type"] {
        raw.insert(key.to_owned(), event[key].clone());
    }
    Value::Object(raw)
}

/// Parses a message from a channel's history, where messages do not name their channel.
pub fn parse_history_message(channel: &ChannelId, mut raw: Value) -> Option<SlackMessage> {
    let is_notice = is_channel_notice(non_empty_str(&raw["subtype"]).unwrap_or_default());
    if is_notice || is_question(&raw) || !raw.is_object() {
        return None;
    }
    raw["channel"] = channel.as_str().into();
    parse_message(raw)
}

/// Whether this is the tombstone that Slack keeps of a deleted message with replies.
pub fn is_tombstone(message: &SlackMessage) -> bool {
    non_empty_str(&message.raw["subtype"]) == Some("tombstone")
}

fn parse_message(raw: Value) -> Option<SlackMessage> {
    let channel = parse_id(&raw["channel"])?;
    let id = parse_id(&raw["ts"])?;
    let at = parse_ts(&raw["ts"])?;
    // A message that has replies names itself as its thread.
    let thread = parse_id(&raw["thread_ts"]).filter(|thread| *thread != id);
    let bot = parse_id(&raw["bot_id"]);
    // Some integrations have no user, and some workflows have neither a user nor a bot.
    let author = parse_id(&raw["user"]).or(bot).map(str::to_owned);
    // The prefix keeps an integration from posing as a user by choosing that user's id as its name.
    let author = author.or_else(|| parse_id(&raw["username"]).map(|name| format!("name:{name}")));
    let author = author.unwrap_or_else(|| UserId::unknown().to_string());
    let is_bot = bot.is_some()
        || non_empty_str(&raw["user"]).is_none()
        || non_empty_str(&raw["subtype"]) == Some("bot_message")
        // Slack does not mark Slackbot as a bot.
        || author == "USLACKBOT";
    let metadata = &raw["metadata"];
    let payload = Some(&metadata["event_payload"])
        .filter(|_| metadata["event_type"].as_str() == Some(METADATA_EVENT_TYPE));
    let key = payload.and_then(|payload| non_empty_str(&payload["key"]));
    let answers = payload.and_then(|payload| payload["answers"].as_str());
    Some(SlackMessage {
        channel: ChannelId::new(channel),
        visibility: non_empty_str(&raw["channel_type"]).map(parse_visibility),
        id: MessageId::new(id),
        at,
        thread: thread.map(MessageId::new),
        author: UserId::new(author),
        is_bot,
        text: non_empty_str(&raw["text"]).unwrap_or_default().into(),
        client_message_id: parse_id(&raw["client_msg_id"]).map(Arc::from),
        edited_at: parse_ts(&raw["edited"]["ts"]),
        key: key.map(Arc::from),
        answers: answers
            .map(|ids| ids.split(' ').filter(|id| !id.is_empty()).map(MessageId::new).collect()),
        raw,
    })
}

/// A group direct message counts as private, not as direct: not every message there is addressed to the persona.
fn parse_visibility(kind: &str) -> Visibility {
    match kind {
        "channel" => Visibility::Public,
        "im" | "app_home" => Visibility::Direct,
        _ => Visibility::Private,
    }
}

fn parse_reaction(event: &Value, change: ReactionChange) -> SlackEvent {
    match non_empty_str(&event["item"]["type"]) {
        Some("message") => or_malformed(parse_message_reaction(event, change)),
        // Files can have reactions, too.
        Some(_) => SlackEvent::Ignored,
        None => SlackEvent::Malformed,
    }
}

fn parse_message_reaction(event: &Value, change: ReactionChange) -> Option<SlackEvent> {
    let item = &event["item"];
    Some(SlackEvent::Reaction(SlackReaction {
        channel: ChannelId::new(parse_id(&item["channel"])?),
        message: MessageId::new(parse_id(&item["ts"])?),
        user: UserId::new(parse_id(&event["user"])?),
        emoji_name: parse_id(&event["reaction"])?.to_owned(),
        at: parse_ts(&event["event_ts"])?,
        change,
    }))
}

/// Returns the reactions of a message in the history. Slack does not say when they were added, so they get the
/// message's time.
pub fn message_reactions(message: &SlackMessage) -> Vec<SlackReaction> {
    let reactions = message.raw["reactions"].as_array().into_iter().flatten();
    let reactions = reactions.flat_map(|reaction| {
        let name = parse_id(&reaction["name"]).unwrap_or_default();
        let users = reaction["users"].as_array().into_iter().flatten().filter_map(parse_id);
        users.map(move |user| SlackReaction {
            channel: message.channel.clone(),
            message: message.id.clone(),
            user: UserId::new(user),
            emoji_name: name.to_owned(),
            at: message.at,
            change: ReactionChange::Added,
        })
    });
    reactions.filter(|reaction| !reaction.emoji_name.is_empty()).collect()
}

fn parse_membership(event: &Value) -> Option<(ChannelId, UserId)> {
    Some((ChannelId::new(parse_id(&event["channel"])?), UserId::new(parse_id(&event["user"])?)))
}

/// Returns the channel of an event. Some events contain its id, others the whole channel.
pub fn parse_channel_id(event: &Value) -> Option<ChannelId> {
    let channel = &event["channel"];
    let id = parse_id(channel).or(parse_id(&channel["id"])).or(parse_id(&event["new_channel_id"]));
    id.map(ChannelId::new)
}

/// Parses a user, with the display name.
pub fn parse_user(user: &Value) -> Option<SlackUser> {
    let id = parse_id(&user["id"])?;
    let profile = &user["profile"];
    let names =
        [&profile["display_name"], &profile["real_name"], &user["real_name"], &user["name"]];
    let name = names.into_iter().find_map(non_empty_str).unwrap_or(id);
    let is_bot = user["is_bot"] == true || id == "USLACKBOT";
    let is_admin =
        ["is_admin", "is_owner", "is_primary_owner"].iter().any(|key| user[*key] == true);
    // Of one channel, of several, and of another company.
    let is_guest = ["is_ultra_restricted", "is_restricted", "is_stranger"]
        .iter()
        .any(|key| user[*key] == true);
    let role = match (is_admin, is_guest) {
        (true, _) => Role::Admin,
        (false, true) => Role::Guest,
        (false, false) => Role::Member,
    };
    Some(SlackUser {
        id: UserId::new(id),
        name: aizuchi_model::chat::to_single_line(name).into(),
        is_bot,
        role,
        zone: non_empty_str(&user["tz"]).map(Into::into),
    })
}

/// Parses a channel. A channel that is shared with other workspaces counts as private, and so does one whose flags are
/// not booleans.
pub fn parse_channel(channel: &Value) -> Option<(ChannelId, Arc<str>, Visibility)> {
    const RESTRICTIONS: [&str; 5] =
        ["is_private", "is_mpim", "is_group", "is_ext_shared", "is_pending_ext_shared"];
    let id = parse_id(&channel["id"])?;
    let may_be = |key: &str| !matches!(channel[key], Value::Null | Value::Bool(false));
    let visibility = if channel["is_im"] == true {
        Visibility::Direct
    } else if RESTRICTIONS.into_iter().any(may_be) || channel["is_channel"] != true {
        Visibility::Private
    } else {
        Visibility::Public
    };
    // A direct message has no name, only a user.
    let name = non_empty_str(&channel["name"]).or(non_empty_str(&channel["user"])).unwrap_or(id);
    Some((ChannelId::new(id), aizuchi_model::chat::to_single_line(name).into(), visibility))
}

/// Returns in mrkdwn what a channel is for: its topic, which stands over it, else the purpose that it was made for. A description
/// of a channel may leave both out.
pub fn topic_text(channel: &Value) -> Option<&str> {
    // What stands over direct messages was not written by their members.
    if channel["is_im"] == true || channel["is_mpim"] == true {
        return Some("");
    }
    let texts = [&channel["topic"]["value"], &channel["purpose"]["value"]];
    texts.into_iter().find_map(non_empty_str).or(texts.into_iter().find_map(Value::as_str))
}

/// Returns the string, unless it is missing or empty.
pub fn non_empty_str(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Returns the string if it can be an id.
pub fn parse_id(value: &Value) -> Option<&str> {
    non_empty_str(value).filter(|id| id.len() <= MAX_ID_BYTES)
}

/// Parses Slack's `ts`: seconds, a point, and exactly six digits.
pub fn parse_ts(ts: &Value) -> Option<Timestamp> {
    let (seconds, rest) = ts.as_str()?.split_once('.')?;
    let seconds: i64 = seconds.parse().ok().filter(|seconds| TIMES.contains(seconds))?;
    let micros: i32 = rest.parse().ok().filter(|_| rest.len() == 6)?;
    let at = Timestamp::new(seconds, micros.checked_mul(1000)?).ok()?;
    Some(aizuchi_model::clock::truncate_to_millisecond(at))
}

/// Formats a time as Slack's `ts`.
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

    fn message_of(event: SlackEvent) -> SlackMessage {
        match event {
            SlackEvent::Message(message) => message,
            event => panic!("{event:?}"),
        }
    }

    #[test]
    fn messages_of_users_and_apps_are_parsed() {
        let message = |more: Value| {
            let mut event = json!({"type": "message", "channel": "C1", "channel_type": "channel",
                "user": "U1", "text": "hi", "ts": "1700000000.000100"});
            for (key, value) in more.as_object().unwrap() {
                event[key] = value.clone();
            }
            event
        };
        let plain = message_of(event(message(json!({"client_msg_id": "m-1"}))));
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
            let message = message_of(event(message(more.clone())));
            let thread = thread.map(MessageId::new);
            let expected = (UserId::new(author), thread, is_bot);
            assert_eq!((message.author, message.thread, message.is_bot), expected, "{more}");
        }
    }

    #[test]
    fn edits_and_deletions_name_their_message() {
        let nested = json!({"type": "message", "user": "U1", "text": "new", "ts": "5.000000",
            "thread_ts": "1.000000", "edited": {"user": "U1", "ts": "9.000000"}});
        let changed =
            event(json!({"type": "message", "subtype": "message_changed", "hidden": true,
            "channel": "C1", "ts": "9.000100", "event_ts": "9.000100", "message": nested}));
        let SlackEvent::MessageChanged { message, at } = changed else { panic!("{changed:?}") };
        assert_eq!(
            (message.id.as_str(), &*message.text, message.channel.as_str()),
            ("5.000000", "new", "C1")
        );
        assert_eq!(message.thread, Some(MessageId::new("1.000000")));
        assert_eq!(at, Timestamp::from_second(9).unwrap());
        for previous in [nested.clone(), Value::Null] {
            let deleted = event(json!({"type": "message", "subtype": "message_deleted",
                "channel": "C1", "ts": "9.000200", "deleted_ts": "5.000000",
                "previous_message": previous}));
            let SlackEvent::MessageDeleted { message, .. } = deleted else { panic!("{deleted:?}") };
            assert_eq!(message.id.as_str(), "5.000000");
        }
        let mut tombstone = nested;
        tombstone["subtype"] = "tombstone".into();
        let gone = event(json!({"type": "message", "subtype": "message_changed", "channel": "C1",
            "ts": "9.000100", "message": tombstone}));
        assert!(matches!(gone, SlackEvent::MessageDeleted { .. }));
    }

    #[test]
    fn other_events_are_parsed() {
        let (channel, user) = (ChannelId::new("C1"), UserId::new("U1"));
        for (payload, expected) in [
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
                json!({"type": "user_change", "user": {"id": "U1", "name": "h", "tz": "Asia/Tokyo",
                    "profile": {"display_name": "", "real_name": "Hana\nko"}}}),
                SlackEvent::UserChanged(SlackUser {
                    id: user,
                    name: "Hana ko".into(),
                    is_bot: false,
                    role: Role::Member,
                    zone: Some("Asia/Tokyo".into()),
                }),
            ),
            (
                json!({"type": "message", "subtype": "channel_join", "channel": "C1"}),
                SlackEvent::Ignored,
            ),
            (
                json!({"type": "message", "channel": "C1", "ts": "soon", "user": "U1"}),
                SlackEvent::Malformed,
            ),
            (json!({"type": "reaction_added", "item": {"type": "file"}}), SlackEvent::Ignored),
            (json!({"type": "something_new", "channel": 7}), SlackEvent::Ignored),
            (json!(null), SlackEvent::Malformed),
        ] {
            assert_eq!(event(payload.clone()), expected, "{payload}");
        }
        // The payload of this event has no inner event.
        assert_eq!(
            parse_event(&json!({"type": "app_rate_limited", "minute_rate_limited": 1})),
            SlackEvent::RateLimited
        );
    }

    #[test]
    fn a_change_of_what_is_no_message_is_malformed() {
        for nested in [json!("text"), json!(7), json!([]), json!(true), json!(null)] {
            let changed = json!({"type": "message", "subtype": "message_changed", "channel": "C1",
                "ts": "9.000100", "message": nested});
            assert_eq!(event(changed), SlackEvent::Malformed, "{nested}");
        }
        let deleted = json!({"type": "message", "subtype": "message_deleted", "channel": "C1",
            "ts": "9.000100", "deleted_ts": {}, "previous_message": "text"});
        assert_eq!(event(deleted), SlackEvent::Malformed);
    }

    #[test]
    fn ids_and_times_have_bounds() {
        let message = |id: &str, ts: &str| {
            event(json!({"type": "message", "channel": "C1", "user": id, "client_msg_id": id,
                "text": "hi", "ts": ts}))
        };
        let long = "U".repeat(MAX_ID_BYTES + 1);
        let odd = message_of(message(&long, "1700000000.000100"));
        assert_eq!((odd.author, odd.client_message_id), (UserId::unknown(), None));
        for ts in ["253402207199.999999", "-1.000000", "32503680001.000000"] {
            assert_eq!(message("U1", ts), SlackEvent::Malformed, "{ts}");
        }
    }

    #[test]
    fn a_channels_flags_decide_its_visibility() {
        for (flags, visibility) in [
            (json!({"is_channel": true}), Visibility::Public),
            (json!({"is_channel": true, "is_private": true}), Visibility::Private),
            (json!({"is_channel": true, "is_ext_shared": true}), Visibility::Private),
            (json!({"is_group": true}), Visibility::Private),
            (json!({"is_mpim": true, "is_private": true}), Visibility::Private),
            (json!({"is_im": true, "user": "U1"}), Visibility::Direct),
            (json!({"is_channel": true, "is_private": "yes"}), Visibility::Private),
            (json!({"is_channel": "yes"}), Visibility::Private),
            (json!({}), Visibility::Private),
        ] {
            let mut channel = flags.clone();
            channel["id"] = "C1".into();
            assert_eq!(parse_channel(&channel).unwrap().2, visibility, "{flags}");
        }
    }

    #[test]
    fn timestamps_round_trip() {
        for text in ["1700000000.123000", "0.000000"] {
            assert_eq!(format_ts(parse_ts(&text.into()).unwrap()), text);
        }
        for text in ["", "1", "1.5", "x.000000", "1.00000a", "99999999999999999999.000000"] {
            assert_eq!(parse_ts(&text.into()), None, "{text}");
        }
    }
}
