//! The test driver over HTTP, for tests in other processes.

use axum::Json;
use axum::extract::{Path, State};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::control::{self, ControlResponse};
use crate::slack::api_error::ApiError;
use crate::slack::channel::{FakeChannel, NewChannel};
use crate::slack::delivery::{AckStatus, ConnectBehavior, EnvelopeDelivery, EnvelopeStatus};
use crate::slack::driver::{AfterDisconnect, DisconnectReason};
use crate::slack::fault::{FaultSpec, HistoryCap};
use crate::slack::message::NewFakeMessage;
use crate::slack::state::{FakeSlackState, TokenStatus};
use crate::slack::ts::Ts;
use crate::slack::user::NewUser;
use crate::slack::user_actions::NameChange;
use crate::slack::{FakeSlack, ServerContext};

/// A command of the control API: `POST /control/{verb}` with the fields as JSON.
#[derive(Debug, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
enum ControlCommand {
    #[serde(rename = "say")]
    SendMessage(NewFakeMessage),
    Edit {
        channel: String,
        ts: Ts,
        text: String,
    },
    Unfurl {
        channel: String,
        ts: Ts,
    },
    Delete {
        channel: String,
        ts: Ts,
    },
    React {
        channel: String,
        ts: Ts,
        user: String,
        name: String,
    },
    Unreact {
        channel: String,
        ts: Ts,
        user: String,
        name: String,
    },
    Join {
        channel: String,
        user: String,
    },
    Leave {
        channel: String,
        user: String,
    },
    RenameChannel {
        channel: String,
        user: String,
        name: String,
    },
    Archive {
        channel: String,
        user: String,
    },
    Unarchive {
        channel: String,
        user: String,
    },
    MakePrivate {
        channel: String,
        user: String,
    },
    DeleteChannel {
        channel: String,
        user: String,
    },
    AddUser(NewUser),
    RenameUser {
        user: String,
        real_name: String,
        #[serde(default)]
        display_name: String,
    },
    DeactivateUser {
        user: String,
    },
    AddChannel(NewChannel),
    OpenDirect {
        user: String,
    },
    Command {
        channel: String,
        user: String,
        command: String,
        #[serde(default)]
        text: String,
    },
    Interact {
        payload: Value,
    },
    #[serde(rename = "tell")]
    EmitEvent {
        event: Value,
    },
    Disconnect {
        reason: DisconnectReason,
        #[serde(default)]
        then: AfterDisconnect,
    },
    #[serde(rename = "cut")]
    ResetConnections,
    #[serde(rename = "half_dead")]
    StallConnections,
    #[serde(rename = "greet")]
    SetConnectBehavior {
        #[serde(rename = "greeting")]
        behavior: ConnectBehavior,
    },
    Fault {
        method: String,
        fault: FaultSpec,
        #[serde(default = "default_times")]
        times: usize,
    },
    ClearFaults,
    Release,
    CapHistory {
        objects: usize,
        seconds: i64,
    },
    UncapHistory,
    #[serde(rename = "standing")]
    SetTokenStatus {
        #[serde(rename = "standing")]
        status: TokenStatus,
    },
    Uninstall,
    #[serde(rename = "limit_events")]
    SendAppRateLimited,
    Redeliver,
    SetTime {
        now: Timestamp,
    },
    #[serde(rename = "mark_connections")]
    ResetMinOpen,
    #[serde(rename = "push")]
    SetRequestUrl {
        url: String,
    },
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

fn run_command(fake: &FakeSlack, command: ControlCommand) -> Result<Value, ApiError> {
    match command {
        ControlCommand::SendMessage(message) => {
            return Ok(json!({ "ok": true, "ts": fake.send_message_with(message)? }));
        }
        ControlCommand::AddUser(new) => {
            return Ok(json!({ "ok": true, "user": fake.add_user_with(new) }));
        }
        ControlCommand::AddChannel(new) => {
            return Ok(json!({ "ok": true, "channel": fake.add_channel(new)? }));
        }
        ControlCommand::OpenDirect { user } => {
            return Ok(json!({ "ok": true, "channel": fake.open_direct_message(&user)? }));
        }
        ControlCommand::Edit { channel, ts, text } => fake.edit_message(&channel, ts, &text)?,
        ControlCommand::Unfurl { channel, ts } => fake.unfurl(&channel, ts)?,
        ControlCommand::Delete { channel, ts } => fake.delete_message(&channel, ts)?,
        ControlCommand::React { channel, ts, user, name } => {
            fake.add_reaction(&channel, ts, &user, &name)?
        }
        ControlCommand::Unreact { channel, ts, user, name } => {
            fake.remove_reaction(&channel, ts, &user, &name)?
        }
        ControlCommand::Join { channel, user } => fake.join_channel(&channel, &user)?,
        ControlCommand::Leave { channel, user } => fake.leave_channel(&channel, &user)?,
        ControlCommand::RenameChannel { channel, user, name } => {
            fake.rename_channel(&channel, &user, &name)?;
        }
        ControlCommand::Archive { channel, user } => fake.archive_channel(&channel, &user)?,
        ControlCommand::Unarchive { channel, user } => fake.unarchive_channel(&channel, &user)?,
        ControlCommand::MakePrivate { channel, user } => fake.make_private(&channel, &user)?,
        ControlCommand::DeleteChannel { channel, user } => fake.delete_channel(&channel, &user)?,
        ControlCommand::RenameUser { user, real_name, display_name } => {
            let names = NameChange { real_name: &real_name, display_name: &display_name };
            fake.rename_user(&user, names)?;
        }
        ControlCommand::DeactivateUser { user } => fake.deactivate_user(&user)?,
        ControlCommand::Command { channel, user, command, text } => {
            fake.run_command(&channel, &user, &command, &text)?;
        }
        ControlCommand::Interact { payload } => fake.interact(payload),
        ControlCommand::EmitEvent { event } => fake.emit_event(event),
        ControlCommand::Disconnect { reason, then } => fake.request_disconnect(reason, then),
        ControlCommand::ResetConnections => fake.reset_connections(),
        ControlCommand::StallConnections => fake.stall_connections(),
        ControlCommand::SetConnectBehavior { behavior } => fake.set_connect_behavior(behavior),
        ControlCommand::Fault { method, fault, times } => {
            fake.inject_fault_times(&method, &fault.into(), times)
        }
        ControlCommand::ClearFaults => fake.clear_faults(),
        ControlCommand::Release => fake.release_hanging(),
        ControlCommand::CapHistory { objects, seconds } => {
            let interval = SignedDuration::from_secs(seconds);
            fake.cap_history(Some(HistoryCap { objects, interval }));
        }
        ControlCommand::UncapHistory => fake.cap_history(None),
        ControlCommand::SetTokenStatus { status } => fake.set_token_status(status),
        ControlCommand::Uninstall => fake.uninstall(),
        ControlCommand::SendAppRateLimited => fake.send_app_rate_limited(),
        ControlCommand::Redeliver => fake.redeliver(),
        ControlCommand::SetTime { now } => fake.set_time(now),
        ControlCommand::ResetMinOpen => fake.reset_min_open(),
        ControlCommand::SetRequestUrl { url } => fake.set_request_url(&url),
    }
    Ok(json!({ "ok": true }))
}

/// Returns a snapshot of the whole state.
pub async fn state(State(server): State<ServerContext>) -> Json<Value> {
    Json(server.fake.read(state_json))
}

fn state_json(state: &FakeSlackState) -> Value {
    let workspace = &state.workspace;
    let dispatcher = &state.dispatcher;
    let channel = |channel: &FakeChannel| {
        let mut object = channel.to_json_with_member_count(&workspace.id, &workspace.bot_user);
        let messages = channel.messages.values();
        object["members"] = json!(channel.members);
        object["messages"] =
            messages.map(|message| workspace.message_json(channel, message)).collect();
        object
    };
    let users = workspace.users.values().map(|user| workspace.user_json(user));
    let channels = workspace.channels.values().map(channel);
    let ephemeral = workspace.ephemeral.iter().map(|message| {
        json!({
            "channel": message.channel,
            "user": message.user,
            "ts": message.ts,
            "text": message.text,
        })
    });
    let posts = state.journal.posts.iter().map(|post| {
        json!({
            "channel": post.channel,
            "ts": post.ts,
            "text": post.text,
            "arguments": post.arguments,
        })
    });
    let calls = state.journal.calls.iter().map(|call| {
        json!({
            "method": call.method,
            "at": call.at,
            "arguments": call.arguments,
            "answer": call.answer,
        })
    });
    let dropped =
        dispatcher.envelopes.iter().filter(|envelope| envelope.status == EnvelopeStatus::Dropped);
    json!({
        "team": {
            "id": workspace.id,
            "name": workspace.name,
            "bot_user": workspace.bot_user,
            "bot": workspace.bot.id,
        },
        "users": users.collect::<Vec<_>>(),
        "channels": channels.collect::<Vec<_>>(),
        "ephemeral": ephemeral.collect::<Vec<_>>(),
        "posts": posts.collect::<Vec<_>>(),
        "calls": calls.collect::<Vec<_>>(),
        "deliveries": dispatcher.deliveries.iter().map(delivery_json).collect::<Vec<_>>(),
        "dropped": dropped.count(),
        "connections": { "open": dispatcher.open_connections(), "fewest": dispatcher.min_open },
    })
}

fn delivery_json(delivery: &EnvelopeDelivery) -> Value {
    let (ack_status, latency) = match delivery.ack_status {
        AckStatus::Pending => ("awaited", None),
        AckStatus::Acked(latency) => ("acked", Some(latency)),
        AckStatus::TimedOut => ("missed", None),
        AckStatus::Late(latency) => ("late", Some(latency)),
    };
    json!({
        "envelope_id": delivery.envelope_id,
        "attempt": delivery.retry_attempt,
        "connection": delivery.connection,
        "payload": delivery.payload,
        "receipt": ack_status,
        "milliseconds": latency.map(|latency| latency.as_secs_f64() * 1000.0),
    })
}
