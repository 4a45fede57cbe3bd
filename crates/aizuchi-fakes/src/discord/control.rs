//! The same hands and eyes over HTTP, for tests that are other programs.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::channel::{Channel, NewChannel};
use crate::discord::command::Use;
use crate::discord::fault::FaultShape;
use crate::discord::guild::{Guild, NewUser, User};
use crate::discord::hands::arrange::Rule;
use crate::discord::id::{ChannelId, GuildId, MessageId, RoleId, UserId};
use crate::discord::message::Saying;
use crate::discord::method::Method;
use crate::discord::refusal::Refusal;
use crate::discord::session::{Greeting, Pulse, Refused};
use crate::discord::shape::Way;
use crate::discord::state::{State as Everything, Token};
use crate::discord::{FakeDiscord, Served};
use crate::order::{self, Answer};

/// What can be asked for: `POST /control/{verb}` with the rest as JSON.
#[derive(Debug, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
enum Order {
    Say(Saying),
    Edit {
        channel: ChannelId,
        message: MessageId,
        text: String,
    },
    Embed {
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
    Type {
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
    UseApp(Use),
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
    Rule {
        channel: ChannelId,
        rule: Rule,
        permissions: Permissions,
    },
    RuleIntent {
        rule: Rule,
        intents: Intents,
    },
    Reconnect,
    Invalidate {
        refused: Refused,
    },
    RefuseSession {
        refused: Refused,
    },
    Close {
        code: u16,
    },
    Cut,
    HalfDead,
    SetPulse {
        pulse: Pulse,
    },
    Greet {
        greeting: Greeting,
    },
    ExpireSessions,
    SetBudget {
        remaining: u32,
    },
    SetToken {
        token: Token,
    },
    Fault {
        method: Method,
        fault: FaultShape,
        #[serde(default = "once")]
        times: usize,
    },
    ClearFaults,
    Release,
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

fn obey(fake: &FakeDiscord, order: Order) -> Result<Value, Refusal> {
    let made = |id: Value| Ok(json!({ "ok": true, "id": id }));
    match order {
        Order::Say(saying) => return made(json!(fake.say_with(saying)?)),
        Order::StartThreadFrom { channel, message, user, name } => {
            return made(json!(fake.start_thread_from(channel, message, user, &name)?));
        }
        Order::PostInForum { channel, user, name, text } => {
            return made(json!(fake.post_in_forum(channel, user, &name, &text)?));
        }
        Order::UseApp(using) => return made(json!(fake.use_app(using)?)),
        Order::AddUser(new) => return made(json!(fake.add_user_with(new))),
        Order::AddGuild { name, user } => return made(json!(fake.add_guild(&name, user))),
        Order::AddChannel(new) => return made(json!(fake.add_channel(new)?)),
        Order::OpenDirect { user } => return made(json!(fake.open_direct(user)?)),
        Order::Edit { channel, message, text } => fake.edit(channel, message, &text)?,
        Order::Embed { channel, message } => fake.embed(channel, message)?,
        Order::Delete { channel, message } => fake.delete(channel, message)?,
        Order::DeleteBulk { channel, messages } => fake.delete_bulk(channel, &messages)?,
        Order::React { channel, message, user, emoji } => {
            fake.react(channel, message, user, &emoji)?;
        }
        Order::Unreact { channel, message, user, emoji } => {
            fake.unreact(channel, message, user, &emoji)?;
        }
        Order::Type { channel, user } => fake.type_in(channel, user)?,
        Order::JoinThread { channel, user } => fake.join_thread(channel, user)?,
        Order::Archive { channel } => fake.archive(channel)?,
        Order::Lock { channel } => fake.lock(channel)?,
        Order::AddMember { guild, user } => fake.add_member(guild, user)?,
        Order::RemoveMember { guild, user } => fake.remove_member(guild, user)?,
        Order::SetNick { guild, user, nick } => fake.set_nick(guild, user, &nick)?,
        Order::GiveRole { guild, user, role } => fake.give_role(guild, user, role)?,
        Order::RenameChannel { channel, name } => fake.rename_channel(channel, &name)?,
        Order::DeleteChannel { channel } => fake.delete_channel(channel)?,
        Order::CloseDirect { user } => fake.close_direct(user)?,
        Order::Rule { channel, rule, permissions } => fake.rule(channel, rule, permissions)?,
        Order::RuleIntent { rule, intents } => fake.rule_intent(rule, intents),
        Order::Reconnect => fake.reconnect(),
        Order::Invalidate { refused } => fake.invalidate(refused),
        Order::RefuseSession { refused } => fake.refuse_session(refused),
        Order::Close { code } => fake.close(code),
        Order::Cut => fake.cut(),
        Order::HalfDead => fake.half_dead(),
        Order::SetPulse { pulse } => fake.set_pulse(pulse),
        Order::Greet { greeting } => fake.greet_with(greeting),
        Order::ExpireSessions => fake.expire_sessions(),
        Order::SetBudget { remaining } => fake.set_budget(remaining),
        Order::SetToken { token } => fake.set_token(token),
        Order::Fault { method, fault, times } => fake.fault_times(method, &fault.into(), times),
        Order::ClearFaults => fake.clear_faults(),
        Order::Release => fake.release(),
    }
    Ok(json!({ "ok": true }))
}

/// Everything that can be seen.
pub async fn state(State(served): State<Served>) -> Json<Value> {
    let (connections, sessions) = (served.fake.connections(), served.fake.sessions());
    let mut seen = served.fake.read(seen);
    seen["connections"] = json!(connections);
    seen["sessions"] = json!(sessions);
    Json(seen)
}

fn seen(state: &Everything) -> Value {
    let world = &state.world;
    let channel = |channel: &Channel| {
        let mut shape = world.channel_shape(channel);
        let messages = channel.messages.values();
        shape["messages"] =
            messages.map(|message| world.message_shape(channel, message, Way::Rest)).collect();
        shape
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
    let said = state
        .journal
        .said
        .iter()
        .map(|said| json!({ "connection": said.connection, "op": said.op, "data": said.data }));
    let interactions = world.commands.interactions.values().map(|one| {
        let answers = one.answers.iter().map(
            |answer| json!({ "text": answer.message.content, "is_ephemeral": answer.is_ephemeral }),
        );
        json!({
            "id": one.id,
            "name": one.name,
            "answers": answers.collect::<Vec<_>>(),
            "choices": one.choices,
        })
    });
    json!({
        "bot": world.me,
        "users": world.users.values().map(User::shape).collect::<Vec<_>>(),
        "guilds": world.guilds.values().map(Guild::shape).collect::<Vec<_>>(),
        "channels": world.channels.values().map(channel).collect::<Vec<_>>(),
        "interactions": interactions.collect::<Vec<_>>(),
        "posts": posts.collect::<Vec<_>>(),
        "calls": calls.collect::<Vec<_>>(),
        "said": said.collect::<Vec<_>>(),
        "closes": state.journal.closes,
        "remaining": state.gateway.budget.remaining,
    })
}
