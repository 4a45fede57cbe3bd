//! Every request of the program in these tests is valid for Discord's API, and so is every response of the fake. Both
//! are parsed with twilight's types, an unknown field is an error, and `twilight-validate` checks lengths. The harness
//! runs these checks at the end of each test.

use aizuchi_fakes::discord::journal::RecordedCall;
use aizuchi_fakes::discord::method::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use twilight_model::application::command::Command;
use twilight_model::channel::message::{
    AllowedMentions, Component, MessageFlags, MessageReference,
};
use twilight_model::channel::thread::AutoArchiveDuration;
use twilight_model::channel::{Channel, Message};
use twilight_model::http::interaction::{InteractionResponse, InteractionResponseType};
use twilight_model::id::Id;
use twilight_model::id::marker::UserMarker;
use twilight_model::user::User;
use twilight_validate::{channel, command, component, message, request};

/// The body of a new message, with the fields that the program uses.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMessage {
    content: String,
    nonce: String,
    enforce_nonce: bool,
    allowed_mentions: AllowedMentions,
    flags: MessageFlags,
    message_reference: Option<MessageReference>,
    #[serde(default)]
    components: Vec<Component>,
}

/// The body of an edit of a bot's message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangedMessage {
    content: String,
    allowed_mentions: AllowedMentions,
    flags: MessageFlags,
    components: Vec<Component>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditedMessage {
    content: String,
    allowed_mentions: AllowedMentions,
    flags: MessageFlags,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewThread {
    name: String,
    auto_archive_duration: Option<AutoArchiveDuration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewDirectMessage {
    #[serde(rename = "recipient_id")]
    _recipient: Id<UserMarker>,
}

pub fn are_valid(calls: &[RecordedCall]) {
    calls.iter().for_each(is_valid);
}

fn is_valid(call: &RecordedCall) {
    match call.method {
        Method::CreateMessage => {
            let body: NewMessage = sent(call);
            message::content(&body.content).unwrap();
            assert!(!body.content.trim().is_empty() && body.enforce_nonce);
            assert!((1..=25).contains(&body.nonce.len()), "{}", body.nonce);
            assert_eq!(body.allowed_mentions, AllowedMentions::default());
            assert_eq!(body.flags, MessageFlags::SUPPRESS_EMBEDS);
            assert!(body.message_reference.is_none_or(|it| it.message_id.is_some()));
            body.components.iter().for_each(|it| component::component_v1(it).unwrap());
            answered::<Message>(call);
        }
        Method::ChangeMessage => {
            let body: ChangedMessage = sent(call);
            message::content(&body.content).unwrap();
            assert_eq!(body.allowed_mentions, AllowedMentions::default());
            assert_eq!(body.flags, MessageFlags::SUPPRESS_EMBEDS);
            body.components.iter().for_each(|it| component::component_v1(it).unwrap());
            answered::<Message>(call);
        }
        Method::StartThreadFrom => {
            let body: NewThread = sent(call);
            channel::name(&body.name).unwrap();
            let hours = body.auto_archive_duration;
            assert!(!matches!(hours, Some(AutoArchiveDuration::Unknown { .. })), "{hours:?}");
            answered::<Channel>(call);
        }
        Method::CreateDirect => {
            sent::<NewDirectMessage>(call);
            answered::<Channel>(call);
        }
        Method::SetCommands => {
            for mut subcommand in sent::<Vec<Value>>(call) {
                subcommand["version"] = "1".into();
                command::command(&serde_json::from_value(subcommand).unwrap()).unwrap();
            }
            answered::<Vec<Command>>(call);
        }
        Method::SetGuildCommands => assert_eq!(call.body, serde_json::json!([])),
        Method::AnswerInteraction => answers(&sent(call)),
        Method::ChangeAnswer | Method::FollowUp => {
            let body: EditedMessage = sent(call);
            message::content(&body.content).unwrap();
            assert_eq!(body.allowed_mentions, AllowedMentions::default());
            // The flag of an ephemeral message cannot be changed, so it is set in new ones only.
            let new = if call.method == Method::FollowUp {
                MessageFlags::EPHEMERAL
            } else {
                MessageFlags::empty()
            };
            assert_eq!(body.flags, MessageFlags::SUPPRESS_EMBEDS | new);
            answered::<Message>(call);
        }
        Method::GetMessages => {
            asks_for(call, |limit| request::get_channel_messages_limit(limit).unwrap());
            answered::<Vec<Message>>(call);
        }
        Method::GetMessage => answered::<Message>(call),
        Method::GetReactions => {
            asks_for(call, |limit| request::get_reactions_limit(limit).unwrap());
            answered::<Vec<User>>(call);
        }
        Method::GetMyGuilds => {
            asks_for(call, |limit| request::get_current_user_guilds_limit(limit).unwrap());
        }
        _ => assert!(is_empty(&call.body), "{:?} {}", call.method, call.body),
    }
}

fn answers(response: &InteractionResponse) {
    if response.kind == InteractionResponseType::DeferredUpdateMessage {
        return;
    }
    let data = response.data.as_ref().unwrap();
    match response.kind {
        InteractionResponseType::ApplicationCommandAutocompleteResult => {
            let choices = data.choices.as_ref().unwrap();
            assert!(choices.len() <= 25);
            choices.iter().for_each(|choice| command::choice(choice).unwrap());
        }
        InteractionResponseType::ChannelMessageWithSource => {
            message::content(data.content.as_ref().unwrap()).unwrap();
            assert_eq!(data.allowed_mentions, Some(AllowedMentions::default()));
            let ephemeral = MessageFlags::EPHEMERAL | MessageFlags::SUPPRESS_EMBEDS;
            assert_eq!(data.flags, Some(ephemeral));
        }
        InteractionResponseType::DeferredChannelMessageWithSource => {
            assert_eq!(data.flags, Some(MessageFlags::EPHEMERAL));
        }
        InteractionResponseType::Modal => {
            assert!(data.title.is_some() && data.custom_id.is_some());
            let components = data.components.as_ref().unwrap();
            components.iter().for_each(|it| component::component_v1(it).unwrap());
        }
        kind => panic!("unexpected response {kind:?}"),
    }
}

/// Parses the body of a call.
fn sent<T: DeserializeOwned>(call: &RecordedCall) -> T {
    let read = serde_json::from_value(call.body.clone());
    read.unwrap_or_else(|error| panic!("{:?}: {error}: {}", call.method, call.body))
}

/// Checks the response to a call, if the call succeeded.
fn answered<T: DeserializeOwned>(call: &RecordedCall) {
    let Some(answer) = call.answer.as_ref().filter(|_| matches!(call.status, Some(200..300)))
    else {
        return;
    };
    let read = serde_json::from_value::<T>(answer.clone());
    assert!(read.is_ok(), "{:?}: {:?}: {answer}", call.method, read.err());
}

fn asks_for(call: &RecordedCall, check: impl Fn(u16)) {
    let query = call.path.split_once('?').map_or("", |(_, query)| query);
    let limit = query.split('&').find_map(|part| part.strip_prefix("limit="));
    limit.into_iter().for_each(|limit| check(limit.parse().unwrap()));
    assert!(is_empty(&call.body));
}

fn is_empty(body: &Value) -> bool {
    body.is_null() || body.as_object().is_some_and(serde_json::Map::is_empty)
}

#[test]
#[should_panic(expected = "unknown field `allowed_mention`")]
fn an_unknown_field_is_an_error() {
    let body = serde_json::json!({"content": "hi", "nonce": "1", "enforce_nonce": true, "flags": 4,
        "allowed_mention": {"parse": []}});
    let (path, at) = (String::new(), jiff::Timestamp::UNIX_EPOCH);
    let method = Method::CreateMessage;
    is_valid(&RecordedCall { method, path, at, body, answer: None, status: None });
}
