//! The same hands and eyes over HTTP, for tests that are other programs.

use axum::Json;
use axum::extract::{Path, State};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::order::{self, Answer};
use crate::slack::channel::{Channel, NewChannel};
use crate::slack::fault::{Cap, FaultShape};
use crate::slack::hands::{Reason, Then};
use crate::slack::mail::{Delivery, Fate, Greeting, Receipt};
use crate::slack::message::Saying;
use crate::slack::people::Names;
use crate::slack::refusal::Refusal;
use crate::slack::state::Standing;
use crate::slack::ts::Ts;
use crate::slack::user::NewUser;
use crate::slack::{FakeSlack, Served};

/// What can be asked for: `POST /control/{verb}` with the rest as JSON.
#[derive(Debug, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
enum Order {
    Say(Saying),
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
    Tell {
        event: Value,
    },
    Disconnect {
        reason: Reason,
        #[serde(default)]
        then: Then,
    },
    Cut,
    HalfDead,
    Greet {
        greeting: Greeting,
    },
    Fault {
        method: String,
        fault: FaultShape,
        #[serde(default = "once")]
        times: usize,
    },
    ClearFaults,
    Release,
    CapHistory {
        objects: usize,
        seconds: i64,
    },
    UncapHistory,
    Standing {
        standing: Standing,
    },
    Uninstall,
    LimitEvents,
    Redeliver,
    SetTime {
        now: Timestamp,
    },
    MarkConnections,
    Push {
        url: String,
    },
}

fn once() -> usize {
    1
}

pub async fn order(
    State(served): State<Served>,
    Path(verb): Path<String>,
    body: Option<Json<Value>>,
) -> Answer {
    order::obey(&verb, body, |order| obey(&served.fake, order))
}

fn obey(fake: &FakeSlack, order: Order) -> Result<Value, Refusal> {
    match order {
        Order::Say(saying) => {
            return Ok(json!({ "ok": true, "ts": fake.say_with(saying)? }));
        }
        Order::AddUser(new) => return Ok(json!({ "ok": true, "user": fake.add_user_with(new) })),
        Order::AddChannel(new) => {
            return Ok(json!({ "ok": true, "channel": fake.add_channel(new)? }));
        }
        Order::OpenDirect { user } => {
            return Ok(json!({ "ok": true, "channel": fake.open_direct(&user)? }));
        }
        Order::Edit { channel, ts, text } => fake.edit(&channel, ts, &text)?,
        Order::Unfurl { channel, ts } => fake.unfurl(&channel, ts)?,
        Order::Delete { channel, ts } => fake.delete(&channel, ts)?,
        Order::React { channel, ts, user, name } => fake.react(&channel, ts, &user, &name)?,
        Order::Unreact { channel, ts, user, name } => fake.unreact(&channel, ts, &user, &name)?,
        Order::Join { channel, user } => fake.join(&channel, &user)?,
        Order::Leave { channel, user } => fake.leave(&channel, &user)?,
        Order::RenameChannel { channel, user, name } => {
            fake.rename_channel(&channel, &user, &name)?;
        }
        Order::Archive { channel, user } => fake.archive(&channel, &user)?,
        Order::Unarchive { channel, user } => fake.unarchive(&channel, &user)?,
        Order::MakePrivate { channel, user } => fake.make_private(&channel, &user)?,
        Order::DeleteChannel { channel, user } => fake.delete_channel(&channel, &user)?,
        Order::RenameUser { user, real_name, display_name } => {
            let names = Names { real_name: &real_name, display_name: &display_name };
            fake.rename_user(&user, names)?;
        }
        Order::DeactivateUser { user } => fake.deactivate_user(&user)?,
        Order::Command { channel, user, command, text } => {
            fake.command(&channel, &user, &command, &text)?;
        }
        Order::Interact { payload } => fake.interact(payload),
        Order::Tell { event } => fake.tell(event),
        Order::Disconnect { reason, then } => fake.disconnect(reason, then),
        Order::Cut => fake.cut(),
        Order::HalfDead => fake.half_dead(),
        Order::Greet { greeting } => fake.greet_with(greeting),
        Order::Fault { method, fault, times } => fake.fault_times(&method, &fault.into(), times),
        Order::ClearFaults => fake.clear_faults(),
        Order::Release => fake.release(),
        Order::CapHistory { objects, seconds } => {
            let interval = SignedDuration::from_secs(seconds);
            fake.cap_history(Some(Cap { objects, interval }));
        }
        Order::UncapHistory => fake.cap_history(None),
        Order::Standing { standing } => fake.set_standing(standing),
        Order::Uninstall => fake.uninstall(),
        Order::LimitEvents => fake.limit_events(),
        Order::Redeliver => fake.redeliver(),
        Order::SetTime { now } => fake.set_time(now),
        Order::MarkConnections => fake.mark_connections(),
        Order::Push { url } => fake.push_to(&url),
    }
    Ok(json!({ "ok": true }))
}

/// Everything that can be seen.
pub async fn state(State(served): State<Served>) -> Json<Value> {
    let connections = served.fake.connections();
    let seen = served.fake.read(|state| {
        let team = &state.workspace;
        let channel = |channel: &Channel| {
            let mut shape = channel.counted_shape(&team.id, &team.bot_user);
            let messages = channel.messages.values();
            shape["members"] = json!(channel.members);
            shape["messages"] =
                messages.map(|message| team.message_shape(channel, message)).collect();
            shape
        };
        let users: Vec<Value> = team.users.values().map(|user| team.user_shape(user)).collect();
        let channels: Vec<Value> = team.channels.values().map(channel).collect();
        let ephemeral = team.ephemeral.iter().map(|one| {
            json!({ "channel": one.channel, "user": one.user, "ts": one.ts, "text": one.text })
        });
        let posts = state.journal.posts.iter().map(|post| {
            json!({ "channel": post.channel, "ts": post.ts, "text": post.text, "arguments": post.arguments })
        });
        let calls = state.journal.calls.iter().map(|call| {
            json!({ "method": call.method, "at": call.at, "arguments": call.arguments, "answer": call.answer })
        });
        let dropped = state.mail.letters.iter().filter(|letter| letter.fate == Fate::Dropped);
        json!({
            "team": { "id": team.id, "name": team.name, "bot_user": team.bot_user, "bot": team.bot.id },
            "users": users,
            "channels": channels,
            "ephemeral": ephemeral.collect::<Vec<_>>(),
            "posts": posts.collect::<Vec<_>>(),
            "calls": calls.collect::<Vec<_>>(),
            "deliveries": state.mail.deliveries.iter().map(delivery_shape).collect::<Vec<_>>(),
            "dropped": dropped.count(),
            "connections": { "open": connections.open, "fewest": connections.fewest },
        })
    });
    Json(seen)
}

fn delivery_shape(delivery: &Delivery) -> Value {
    let (receipt, after) = match delivery.receipt {
        Receipt::Awaited => ("awaited", None),
        Receipt::Acked(after) => ("acked", Some(after)),
        Receipt::Missed => ("missed", None),
        Receipt::Late(after) => ("late", Some(after)),
    };
    json!({
        "envelope_id": delivery.envelope_id,
        "attempt": delivery.attempt,
        "connection": delivery.connection,
        "payload": delivery.payload,
        "receipt": receipt,
        "milliseconds": after.map(|after| after.as_secs_f64() * 1000.0),
    })
}
