//! The test driver over HTTP, for tests in other processes.

use anyhow::bail;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::control::{ControlArguments, respond};
use crate::slack::api_error::{ApiError, api_error};
use crate::slack::channel::FakeChannel;
use crate::slack::delivery::EnvelopeStatus;
use crate::slack::driver::AfterDisconnect;
use crate::slack::fault::HistoryCap;
use crate::slack::state::FakeSlackState;
use crate::slack::ts::Ts;
use crate::slack::user_actions::NameChange;
use crate::slack::{FakeSlack, ServerContext};

pub async fn handle_command(
    State(server): State<ServerContext>,
    Path(verb): Path<String>,
    body: Option<Json<Value>>,
) -> impl IntoResponse {
    respond(body, |arguments| run_command(&server.fake, &verb, arguments))
}

/// Runs a command. Returns the id of what it has created, with its name.
fn run_command(
    fake: &FakeSlack,
    verb: &str,
    arguments: &ControlArguments,
) -> anyhow::Result<Option<(&'static str, String)>> {
    let text = |name: &str| arguments.text(name);
    let (channel, user) = (|| text("channel"), || text("user"));
    let ts = || arguments.get::<Ts>("ts");
    match verb {
        "say" => {
            let ts = fake.send_message_with(arguments.parse()?)?;
            return Ok(Some(("ts", ts.to_string())));
        }
        "add_user" => return Ok(Some(("user", fake.add_user_with(arguments.parse()?)))),
        "add_channel" => return Ok(Some(("channel", fake.add_channel(arguments.parse()?)?))),
        "open_direct" => return Ok(Some(("channel", fake.open_direct_message(user()?)?))),
        "edit" => fake.edit_message(channel()?, ts()?, text("text")?)?,
        "unfurl" => fake.unfurl(channel()?, ts()?)?,
        "delete" => fake.delete_message(channel()?, ts()?)?,
        "react" => fake.add_reaction(channel()?, ts()?, user()?, text("name")?)?,
        "unreact" => fake.remove_reaction(channel()?, ts()?, user()?, text("name")?)?,
        "join" => fake.join_channel(channel()?, user()?)?,
        "leave" => fake.leave_channel(channel()?, user()?)?,
        "rename_channel" => fake.rename_channel(channel()?, user()?, text("name")?)?,
        "archive" => fake.archive_channel(channel()?, user()?)?,
        "unarchive" => fake.unarchive_channel(channel()?, user()?)?,
        "make_private" => fake.make_private(channel()?, user()?)?,
        "delete_channel" => fake.delete_channel(channel()?, user()?)?,
        "rename_user" => {
            let display_name = text("display_name").unwrap_or_default();
            let names = NameChange { real_name: text("real_name")?, display_name };
            fake.rename_user(user()?, names)?;
        }
        "deactivate_user" => fake.deactivate_user(user()?)?,
        "command" => {
            let rest = text("text").unwrap_or_default();
            fake.run_command(channel()?, user()?, text("command")?, rest)?;
        }
        "interact" => fake.interact(arguments.get("payload")?),
        "tell" => fake.emit_event(arguments.get("event")?),
        "disconnect" => {
            let then: Option<AfterDisconnect> = arguments.get("then")?;
            fake.request_disconnect(arguments.get("reason")?, then.unwrap_or_default());
        }
        "cut" => fake.reset_connections(),
        "half_dead" => fake.stall_connections(),
        "greet" => fake.set_connect_behavior(arguments.get("greeting")?),
        "fault" => {
            let fault = arguments.fault(parse_error)?;
            let times: Option<usize> = arguments.get("times")?;
            fake.inject_fault_times(text("method")?, &fault, times.unwrap_or(1));
        }
        "clear_faults" => fake.clear_faults(),
        "release" => fake.release_hanging(),
        "cap_history" => {
            let interval = SignedDuration::from_secs(arguments.get("seconds")?);
            fake.cap_history(Some(HistoryCap { objects: arguments.get("objects")?, interval }));
        }
        "uncap_history" => fake.cap_history(None),
        "standing" => fake.set_token_status(arguments.get("standing")?),
        "uninstall" => fake.uninstall(),
        "limit_events" => fake.send_app_rate_limited(),
        "redeliver" => fake.redeliver(),
        "set_time" => fake.set_time(arguments.get("now")?),
        "mark_connections" => fake.reset_min_open(),
        "push" => fake.set_request_url(text("url")?),
        _ => bail!("unknown verb: {verb}"),
    }
    Ok(None)
}

fn parse_error(kind: &str, fault: &ControlArguments) -> anyhow::Result<ApiError> {
    match kind {
        "rate_limited" => Ok(ApiError::rate_limited(fault.get("seconds")?)),
        "error" => Ok(api_error(fault.text("error")?)),
        _ => bail!("unknown fault: {kind}"),
    }
}

/// Returns a snapshot of the whole state.
pub async fn state(State(server): State<ServerContext>) -> Json<Value> {
    Json(server.fake.read(state_json))
}

fn state_json(state: &FakeSlackState) -> Value {
    let FakeSlackState { workspace, dispatcher, journal, .. } = state;
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
        "ephemeral": workspace.ephemeral,
        "posts": journal.posts,
        "calls": journal.calls,
        "deliveries": dispatcher.deliveries,
        "dropped": dropped.count(),
        "connections": { "open": dispatcher.open_connections(), "fewest": dispatcher.min_open },
    })
}
