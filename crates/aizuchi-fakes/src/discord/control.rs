//! The test driver over HTTP, for tests in other processes.

use anyhow::bail;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::control::{ControlArguments, respond};
use crate::discord::api_error::{ApiError, RateLimitScope, RetryAfter, api_error};
use crate::discord::channel::FakeChannel;
use crate::discord::guild::{FakeGuild, FakeUser};
use crate::discord::id::{ChannelId, GuildId, MessageId, UserId};
use crate::discord::method::Method;
use crate::discord::serialize::Transport;
use crate::discord::state::FakeDiscordState;
use crate::discord::{FakeDiscord, ServerContext};

pub async fn handle_command(
    State(server): State<ServerContext>,
    Path(verb): Path<String>,
    body: Option<Json<Value>>,
) -> impl IntoResponse {
    respond(body, |arguments| {
        let created = run_command(&server.fake, &verb, arguments)?;
        Ok(created.map(|id| ("id", id)))
    })
}

/// Runs a command. Returns the id of what it has created.
fn run_command(
    fake: &FakeDiscord,
    verb: &str,
    arguments: &ControlArguments,
) -> anyhow::Result<Option<String>> {
    let text = |name: &str| arguments.text(name);
    let channel = || arguments.get::<ChannelId>("channel");
    let message = || arguments.get::<MessageId>("message");
    let user = || arguments.get::<UserId>("user");
    let guild = || arguments.get::<GuildId>("guild");
    match verb {
        "say" => return created(fake.send_message_with(arguments.parse()?)?),
        "start_thread_from" => {
            let (channel, message, name) = (channel()?, message()?, text("name")?);
            return created(fake.start_thread_from_message(channel, message, user()?, name)?);
        }
        "post_in_forum" => {
            let (channel, title) = (channel()?, text("name")?);
            return created(fake.create_forum_post(channel, user()?, title, text("text")?)?);
        }
        "use_app" => return created(fake.interact(arguments.parse()?)?),
        "add_user" => return created(fake.add_user_with(arguments.parse()?)),
        "add_guild" => return created(fake.add_guild(text("name")?, user()?)),
        "add_channel" => return created(fake.add_channel(arguments.parse()?)?),
        "open_direct" => return created(fake.open_direct_message(user()?)?),
        "edit" => fake.edit_message(channel()?, message()?, text("text")?)?,
        "embed" => fake.unfurl(channel()?, message()?)?,
        "delete" => fake.delete_message(channel()?, message()?)?,
        "delete_bulk" => {
            let messages: Vec<MessageId> = arguments.get("messages")?;
            fake.bulk_delete_messages(channel()?, &messages)?;
        }
        "react" => fake.add_reaction(channel()?, message()?, user()?, text("emoji")?)?,
        "unreact" => fake.remove_reaction(channel()?, message()?, user()?, text("emoji")?)?,
        "type" => fake.start_typing(channel()?, user()?)?,
        "join_thread" => fake.join_thread(channel()?, user()?)?,
        "archive" => fake.archive_thread(channel()?)?,
        "lock" => fake.lock_thread(channel()?)?,
        "add_member" => fake.add_member(guild()?, user()?)?,
        "remove_member" => fake.remove_member(guild()?, user()?)?,
        "set_nick" => fake.set_nick(guild()?, user()?, text("nick")?)?,
        "give_role" => fake.give_role(guild()?, user()?, arguments.get("role")?)?,
        "rename_channel" => fake.rename_channel(channel()?, text("name")?)?,
        "delete_channel" => fake.delete_channel(channel()?)?,
        "close_direct" => fake.close_direct_messages(user()?)?,
        "rule" => {
            let (effect, permissions) = (arguments.get("rule")?, arguments.get("permissions")?);
            fake.set_permissions(channel()?, effect, permissions)?;
        }
        "rule_intent" => {
            fake.set_privileged_intents(arguments.get("rule")?, arguments.get("intents")?);
        }
        "reconnect" => fake.request_reconnect(),
        "invalidate" => fake.invalidate_sessions(arguments.get("refused")?),
        "refuse_session" => fake.refuse_next_session(arguments.get("refused")?),
        "close" => fake.close_connections(arguments.get("code")?),
        "cut" => fake.reset_connections(),
        "half_dead" => fake.stall_connections(),
        "set_pulse" => fake.set_heartbeat_behavior(arguments.get("pulse")?),
        "greet" => fake.set_connect_behavior(arguments.get("greeting")?),
        "expire_sessions" => fake.expire_sessions(),
        "set_budget" => fake.set_remaining_session_starts(arguments.get("remaining")?),
        "set_token" => fake.set_token_status(arguments.get("token")?),
        "fault" => {
            let fault = arguments.fault(parse_error)?;
            let times: Option<usize> = arguments.get("times")?;
            let method: Method = arguments.get("method")?;
            fake.inject_fault_times(method, &fault, times.unwrap_or(1));
        }
        "clear_faults" => fake.clear_faults(),
        "release" => fake.release_hanging(),
        _ => bail!("unknown verb: {verb}"),
    }
    Ok(None)
}

fn created(id: impl ToString) -> anyhow::Result<Option<String>> {
    Ok(Some(id.to_string()))
}

fn parse_error(kind: &str, fault: &ControlArguments) -> anyhow::Result<ApiError> {
    match kind {
        "rate_limited" => {
            let scope: Option<RateLimitScope> = fault.get("scope")?;
            let (seconds, scope) = (fault.get("seconds")?, scope.unwrap_or_default());
            Ok(ApiError::rate_limited(RetryAfter { seconds, scope }))
        }
        "error" => Ok(api_error(fault.get("error")?)),
        _ => bail!("unknown fault: {kind}"),
    }
}

/// Returns a snapshot of the whole state.
pub async fn state(State(server): State<ServerContext>) -> Json<Value> {
    let (connections, sessions) = (server.fake.connection_count(), server.fake.session_count());
    let mut snapshot = server.fake.read(state_json);
    snapshot["connections"] = json!(connections);
    snapshot["sessions"] = json!(sessions);
    Json(snapshot)
}

fn state_json(state: &FakeDiscordState) -> Value {
    let FakeDiscordState { world, journal, .. } = state;
    let channel = |channel: &FakeChannel| {
        let mut object = world.channel_json(channel);
        let messages = channel.messages.values();
        object["messages"] =
            messages.map(|message| world.message_json(channel, message, Transport::Rest)).collect();
        object
    };
    let interactions = world.commands.interactions.values().map(|interaction| {
        let responses = interaction.responses.iter().map(
            |response| json!({ "text": response.message.content, "is_ephemeral": response.is_ephemeral }),
        );
        json!({
            "id": interaction.id,
            "name": interaction.name,
            "answers": responses.collect::<Vec<_>>(),
            "choices": interaction.choices,
        })
    });
    json!({
        "bot": world.bot_user,
        "users": world.users.values().map(FakeUser::to_json).collect::<Vec<_>>(),
        "guilds": world.guilds.values().map(FakeGuild::to_json).collect::<Vec<_>>(),
        "channels": world.channels.values().map(channel).collect::<Vec<_>>(),
        "interactions": interactions.collect::<Vec<_>>(),
        "posts": journal.posts,
        "calls": journal.calls,
        "said": journal.payloads,
        "closes": journal.close_codes,
        "remaining": state.gateway.session_start_quota.remaining,
    })
}
