//! The test driver over HTTP, for tests in other processes.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::control::{self, ControlResponse};
use crate::discord::api_error::ApiError;
use crate::discord::channel::{FakeChannel, NewChannel};
use crate::discord::command::NewInteraction;
use crate::discord::driver::setup::PermissionEffect;
use crate::discord::fault::FaultSpec;
use crate::discord::guild::{FakeGuild, FakeUser, NewUser};
use crate::discord::id::{ChannelId, GuildId, MessageId, RoleId, UserId};
use crate::discord::message::NewFakeMessage;
use crate::discord::method::Method;
use crate::discord::serialize::Transport;
use crate::discord::session::{ConnectBehavior, HeartbeatBehavior, SessionRefusal};
use crate::discord::state::{FakeDiscordState, TokenStatus};
use crate::discord::{FakeDiscord, ServerContext};

/// A command of the control API: `POST /control/{verb}` with the fields as JSON.
#[derive(Debug, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
enum ControlCommand {
    #[serde(rename = "say")]
    SendMessage(NewFakeMessage),
    Edit {
        channel: ChannelId,
        message: MessageId,
        text: String,
    },
    #[serde(rename = "embed")]
    Unfurl {
        channel: ChannelId,
        message: MessageId,
    },
    Delete {
        channel: ChannelId,
        message: MessageId,
    },
    DeleteBulk {
        channel: ChannelId,
        messages: Vec<MessageId>,
    },
    React {
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: String,
    },
    Unreact {
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        emoji: String,
    },
    #[serde(rename = "type")]
    StartTyping {
        channel: ChannelId,
        user: UserId,
    },
    StartThreadFrom {
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        name: String,
    },
    PostInForum {
        channel: ChannelId,
        user: UserId,
        name: String,
        text: String,
    },
    JoinThread {
        channel: ChannelId,
        user: UserId,
    },
    Archive {
        channel: ChannelId,
    },
    Lock {
        channel: ChannelId,
    },
    #[serde(rename = "use_app")]
    Interact(NewInteraction),
    AddUser(NewUser),
    AddGuild {
        name: String,
        user: UserId,
    },
    AddMember {
        guild: GuildId,
        user: UserId,
    },
    RemoveMember {
        guild: GuildId,
        user: UserId,
    },
    SetNick {
        guild: GuildId,
        user: UserId,
        nick: String,
    },
    GiveRole {
        guild: GuildId,
        user: UserId,
        role: RoleId,
    },
    AddChannel(NewChannel),
    RenameChannel {
        channel: ChannelId,
        name: String,
    },
    DeleteChannel {
        channel: ChannelId,
    },
    OpenDirect {
        user: UserId,
    },
    CloseDirect {
        user: UserId,
    },
    #[serde(rename = "rule")]
    SetPermissions {
        channel: ChannelId,
        #[serde(rename = "rule")]
        effect: PermissionEffect,
        permissions: Permissions,
    },
    #[serde(rename = "rule_intent")]
    SetPrivilegedIntents {
        #[serde(rename = "rule")]
        effect: PermissionEffect,
        intents: Intents,
    },
    Reconnect,
    Invalidate {
        #[serde(rename = "refused")]
        refusal: SessionRefusal,
    },
    RefuseSession {
        #[serde(rename = "refused")]
        refusal: SessionRefusal,
    },
    Close {
        code: u16,
    },
    #[serde(rename = "cut")]
    ResetConnections,
    #[serde(rename = "half_dead")]
    StallConnections,
    #[serde(rename = "set_pulse")]
    SetHeartbeatBehavior {
        #[serde(rename = "pulse")]
        behavior: HeartbeatBehavior,
    },
    #[serde(rename = "greet")]
    SetConnectBehavior {
        #[serde(rename = "greeting")]
        behavior: ConnectBehavior,
    },
    ExpireSessions,
    #[serde(rename = "set_budget")]
    SetRemainingSessionStarts {
        remaining: u32,
    },
    #[serde(rename = "set_token")]
    SetTokenStatus {
        #[serde(rename = "token")]
        status: TokenStatus,
    },
    Fault {
        method: Method,
        fault: FaultSpec,
        #[serde(default = "default_times")]
        times: usize,
    },
    ClearFaults,
    Release,
}

fn default_times() -> usize {
    1
}

pub async fn handle_command(
    State(server): State<ServerContext>,
    Path(verb): Path<String>,
    body: Option<Json<Value>>,
) -> ControlResponse {
    control::run_command(&verb, body, |command| run_command(&server.fake, command))
}

fn run_command(fake: &FakeDiscord, command: ControlCommand) -> Result<Value, ApiError> {
    let created = |id: Value| Ok(json!({ "ok": true, "id": id }));
    match command {
        ControlCommand::SendMessage(message) => {
            return created(json!(fake.send_message_with(message)?));
        }
        ControlCommand::StartThreadFrom { channel, message, user, name } => {
            return created(json!(fake.start_thread_from_message(channel, message, user, &name)?));
        }
        ControlCommand::PostInForum { channel, user, name, text } => {
            return created(json!(fake.create_forum_post(channel, user, &name, &text)?));
        }
        ControlCommand::Interact(interaction) => {
            return created(json!(fake.interact(interaction)?));
        }
        ControlCommand::AddUser(new) => return created(json!(fake.add_user_with(new))),
        ControlCommand::AddGuild { name, user } => {
            return created(json!(fake.add_guild(&name, user)));
        }
        ControlCommand::AddChannel(new) => return created(json!(fake.add_channel(new)?)),
        ControlCommand::OpenDirect { user } => {
            return created(json!(fake.open_direct_message(user)?));
        }
        ControlCommand::Edit { channel, message, text } => {
            fake.edit_message(channel, message, &text)?
        }
        ControlCommand::Unfurl { channel, message } => fake.unfurl(channel, message)?,
        ControlCommand::Delete { channel, message } => fake.delete_message(channel, message)?,
        ControlCommand::DeleteBulk { channel, messages } => {
            fake.bulk_delete_messages(channel, &messages)?
        }
        ControlCommand::React { channel, message, user, emoji } => {
            fake.add_reaction(channel, message, user, &emoji)?;
        }
        ControlCommand::Unreact { channel, message, user, emoji } => {
            fake.remove_reaction(channel, message, user, &emoji)?;
        }
        ControlCommand::StartTyping { channel, user } => fake.start_typing(channel, user)?,
        ControlCommand::JoinThread { channel, user } => fake.join_thread(channel, user)?,
        ControlCommand::Archive { channel } => fake.archive_thread(channel)?,
        ControlCommand::Lock { channel } => fake.lock_thread(channel)?,
        ControlCommand::AddMember { guild, user } => fake.add_member(guild, user)?,
        ControlCommand::RemoveMember { guild, user } => fake.remove_member(guild, user)?,
        ControlCommand::SetNick { guild, user, nick } => fake.set_nick(guild, user, &nick)?,
        ControlCommand::GiveRole { guild, user, role } => fake.give_role(guild, user, role)?,
        ControlCommand::RenameChannel { channel, name } => fake.rename_channel(channel, &name)?,
        ControlCommand::DeleteChannel { channel } => fake.delete_channel(channel)?,
        ControlCommand::CloseDirect { user } => fake.close_direct_messages(user)?,
        ControlCommand::SetPermissions { channel, effect, permissions } => {
            fake.set_permissions(channel, effect, permissions)?
        }
        ControlCommand::SetPrivilegedIntents { effect, intents } => {
            fake.set_privileged_intents(effect, intents)
        }
        ControlCommand::Reconnect => fake.request_reconnect(),
        ControlCommand::Invalidate { refusal } => fake.invalidate_sessions(refusal),
        ControlCommand::RefuseSession { refusal } => fake.refuse_next_session(refusal),
        ControlCommand::Close { code } => fake.close_connections(code),
        ControlCommand::ResetConnections => fake.reset_connections(),
        ControlCommand::StallConnections => fake.stall_connections(),
        ControlCommand::SetHeartbeatBehavior { behavior } => fake.set_heartbeat_behavior(behavior),
        ControlCommand::SetConnectBehavior { behavior } => fake.set_connect_behavior(behavior),
        ControlCommand::ExpireSessions => fake.expire_sessions(),
        ControlCommand::SetRemainingSessionStarts { remaining } => {
            fake.set_remaining_session_starts(remaining)
        }
        ControlCommand::SetTokenStatus { status } => fake.set_token_status(status),
        ControlCommand::Fault { method, fault, times } => {
            fake.inject_fault_times(method, &fault.into(), times)
        }
        ControlCommand::ClearFaults => fake.clear_faults(),
        ControlCommand::Release => fake.release_hanging(),
    }
    Ok(json!({ "ok": true }))
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
    let world = &state.world;
    let channel = |channel: &FakeChannel| {
        let mut object = world.channel_json(channel);
        let messages = channel.messages.values();
        object["messages"] =
            messages.map(|message| world.message_json(channel, message, Transport::Rest)).collect();
        object
    };
    let posts = state.journal.posts.iter().map(|post| {
        json!({ "channel": post.channel, "id": post.id, "text": post.text, "body": post.body })
    });
    let calls = state.journal.calls.iter().map(|call| {
        json!({
            "method": call.method,
            "path": call.path,
            "body": call.body,
            "status": call.status,
            "answer": call.answer,
        })
    });
    let payloads = state
        .journal
        .payloads
        .iter()
        .map(|payload| json!({ "connection": payload.connection, "op": payload.op, "data": payload.data }));
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
        "posts": posts.collect::<Vec<_>>(),
        "calls": calls.collect::<Vec<_>>(),
        "said": payloads.collect::<Vec<_>>(),
        "closes": state.journal.close_codes,
        "remaining": state.gateway.session_start_quota.remaining,
    })
}
