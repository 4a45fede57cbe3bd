//! The test driver: acts as the users and as Slack itself, and inspects the app's actions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::slack::FakeSlack;
use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::channel::NewChannel;
use crate::slack::delivery::{
    AckStatus, ConnectBehavior, Envelope, EnvelopeDelivery, EnvelopeStatus, PayloadKind,
    SocketCommand, app_rate_limited,
};
use crate::slack::fault::HistoryCap;
use crate::slack::journal::{RecordedCall, RecordedPost};
use crate::slack::message::NewFakeMessage;
use crate::slack::state::{FakeSlackState, TokenStatus};
use crate::slack::ts::Ts;
use crate::slack::user::NewUser;
use crate::slack::user_actions::NameChange;
use crate::slack::view::FakeView;
use crate::slack::workspace::unique_id;

/// Slack's reason to request a reconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DisconnectReason {
    /// Slack will close the socket in about ten seconds.
    Warning,
    RefreshRequested,
    LinkDisabled,
    TooManyWebsockets,
}

/// What happens to the sockets after a disconnect request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterDisconnect {
    /// They stay open until the app closes them.
    #[default]
    Stay,
    Close,
}

/// The number of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionCounts {
    pub open: usize,
    /// The minimum number since [`FakeSlack::reset_min_open`].
    pub min_open: usize,
}

pub fn disconnect_frame(reason: DisconnectReason) -> Value {
    json!({ "type": "disconnect", "reason": reason, "debug_info": { "host": "applink-dev" } })
}

/// Actions of users.
impl FakeSlack {
    delegate! { workspace:
        fn send_message_with(message: NewFakeMessage) -> ApiResult<Ts>;
        /// Edits a message as its author.
        fn edit_message(channel: &str, ts: Ts, text: &str) -> ApiResult;
        /// Attaches a link preview to a message, whose text does not change.
        fn unfurl(channel: &str, ts: Ts) -> ApiResult;
        fn delete_message(channel: &str, ts: Ts) -> ApiResult;
        fn add_reaction(channel: &str, ts: Ts, user: &str, name: &str) -> ApiResult;
        fn remove_reaction(channel: &str, ts: Ts, user: &str, name: &str) -> ApiResult;
        fn join_channel(channel: &str, user: &str) -> ApiResult;
        fn leave_channel(channel: &str, user: &str) -> ApiResult;
        fn rename_channel(channel: &str, user: &str, name: &str) -> ApiResult;
        fn set_topic(channel: &str, user: &str, topic: &str) -> ApiResult;
        fn archive_channel(channel: &str, user: &str) -> ApiResult;
        fn unarchive_channel(channel: &str, user: &str) -> ApiResult;
        fn make_private(channel: &str, user: &str) -> ApiResult;
        fn delete_channel(channel: &str, user: &str) -> ApiResult;
        /// Returns the id of the new user.
        fn add_user_with(new: NewUser) -> String;
        fn rename_user(user: &str, names: NameChange<'_>) -> ApiResult;
        fn deactivate_user(user: &str) -> ApiResult;
        fn add_channel(new: NewChannel) -> ApiResult<String>;
        /// Emits an arbitrary event.
        fn emit_event(event: Value) -> ();
        /// Sets the workspace's clock, which continues from this time.
        fn set_time(now: Timestamp) -> ();
    }

    pub fn send_message(&self, channel: &str, user: &str, text: &str) -> ApiResult<Ts> {
        self.send_message_with(NewFakeMessage::new(channel, user, text))
    }

    /// Adds a user with this name and returns its id.
    pub fn add_user(&self, name: &str) -> String {
        self.add_user_with(NewUser { name: name.to_owned(), ..NewUser::default() })
    }

    /// Opens the direct message between the bot and a user, or returns the existing one.
    pub fn open_direct_message(&self, user: &str) -> ApiResult<String> {
        self.change(|state| Ok(state.workspace.open_direct_message(user)?.0))
    }

    /// Runs a slash command as a user.
    pub fn run_command(&self, channel: &str, user: &str, command: &str, text: &str) -> ApiResult {
        let payload = self.read(|state| command_payload(state, channel, user, command, text))?;
        self.deliver(PayloadKind::SlashCommand, payload);
        Ok(())
    }

    /// Clicks the button with this `action_id` below a message, as a user.
    pub fn click(&self, channel: &str, ts: Ts, user: &str, action: &str) -> ApiResult {
        let payload = self.change(|state| {
            let payload = click_payload(state, channel, ts, user, action)?;
            let trigger = payload["trigger_id"].as_str().unwrap_or_default();
            let now = state.workspace.now();
            state.views.put_trigger(trigger, user, now);
            ApiResult::Ok(payload)
        })?;
        self.interact(payload);
        Ok(())
    }

    /// Returns the form that is open for a user, if any.
    pub fn form(&self, user: &str) -> Option<FakeView> {
        self.read(|state| state.views.open_for(user).cloned())
    }

    /// Submits the form that is open for a user, with this text in its first field. Returns the payload.
    pub fn submit_form(&self, user: &str, text: &str) -> ApiResult<Value> {
        let payload = self.read(|state| form_payload(state, user, text))?;
        self.interact(payload.clone());
        Ok(payload)
    }

    /// Clicks a button or uses a shortcut, as a user.
    pub fn interact(&self, payload: Value) {
        self.deliver(PayloadKind::Interaction, payload);
    }

    /// Delivers any payload.
    pub fn deliver(&self, kind: PayloadKind, payload: Value) {
        self.change(|state| {
            let envelope = state.dispatcher.enqueue(kind, payload);
            state.deliver(envelope, &self.settings);
        });
    }
}

/// Actions of Slack itself.
impl FakeSlack {
    /// Asks the app to reconnect all sockets.
    pub fn request_disconnect(&self, reason: DisconnectReason, then: AfterDisconnect) {
        let command = SocketCommand::Send(disconnect_frame(reason).to_string());
        self.send_to_all(|| command.clone());
        if then == AfterDisconnect::Close {
            self.send_to_all(|| SocketCommand::Close);
        }
    }

    /// Sends any frame over one of the sockets.
    pub fn send_frame(&self, text: &str) {
        self.change(|state| state.dispatcher.send_frame(text));
    }

    /// Resets all sockets.
    pub fn reset_connections(&self) {
        self.send_to_all(|| SocketCommand::Reset);
    }

    /// Keeps all sockets open, but neither reads from them nor writes to them anymore.
    pub fn stall_connections(&self) {
        self.change(|state| {
            for connection in &mut state.dispatcher.connections {
                connection.is_stalled = true;
                let _ = connection.commands.send(SocketCommand::Stall);
            }
            state.dispatcher.min_open = 0;
        });
    }

    fn send_to_all(&self, command: impl Fn() -> SocketCommand) {
        self.change(|state| {
            for connection in &state.dispatcher.connections {
                // The receiver is gone if the connection is just closing.
                let _ = connection.commands.send(command());
            }
        });
    }

    /// Sets how Slack treats new sockets.
    pub fn set_connect_behavior(&self, behavior: ConnectBehavior) {
        self.change(|state| state.dispatcher.connect_behavior = behavior);
    }

    pub fn cap_history(&self, cap: Option<HistoryCap>) {
        self.change(|state| state.history_caps.set(cap));
    }

    pub fn set_token_status(&self, status: TokenStatus) {
        self.change(|state| state.token_status = status);
    }

    /// Gives the app new tokens. The old ones are invalid from now on.
    pub fn replace_tokens(&self, bot: &str, app: &str) {
        self.change(|state| {
            state.token_status = TokenStatus::Valid;
            (state.bot_token, state.app_token) = (bot.to_owned(), app.to_owned());
        });
    }

    /// Uninstalls the app: emits the events about it and revokes its tokens.
    pub fn uninstall(&self) {
        self.change(|state| {
            let events = state.workspace.uninstalled_events();
            events.into_iter().for_each(|event| state.workspace.emit_event(event));
            state.token_status = TokenStatus::Revoked;
        });
    }

    /// Notifies the app that it has reached its event rate limit.
    pub fn send_app_rate_limited(&self) {
        let payload = self.read(|state| app_rate_limited(&state.workspace));
        self.deliver(PayloadKind::Event, payload);
    }

    /// Times out all pending acknowledgments and redelivers their envelopes immediately.
    pub fn redeliver(&self) {
        self.change(|state| state.time_out_deliveries(&self.settings));
    }
}

impl FakeSlack {
    pub fn posts(&self) -> Vec<RecordedPost> {
        self.read(|state| state.journal.posts.clone())
    }

    pub fn calls(&self, method: &str) -> Vec<RecordedCall> {
        let calls = self.read(|state| state.journal.calls.clone());
        calls.into_iter().filter(|call| call.method == method).collect()
    }

    pub fn connection_counts(&self) -> ConnectionCounts {
        self.read(|state| ConnectionCounts {
            open: state.dispatcher.open_connections(),
            min_open: state.dispatcher.min_open,
        })
    }

    /// Restarts the minimum count of open connections.
    pub fn reset_min_open(&self) {
        self.change(|state| state.dispatcher.min_open = state.dispatcher.open_connections());
    }

    pub fn deliveries(&self) -> Vec<EnvelopeDelivery> {
        self.read(|state| state.dispatcher.deliveries.clone())
    }

    /// Returns the deliveries that were acknowledged in time.
    pub fn acked_deliveries(&self) -> Vec<EnvelopeDelivery> {
        let mut deliveries = self.deliveries();
        deliveries.retain(|delivery| delivery.ack_status == AckStatus::Acked);
        deliveries
    }

    /// Returns the deliveries that were not acknowledged in time, or not yet.
    pub fn unacked_deliveries(&self) -> Vec<EnvelopeDelivery> {
        let mut deliveries = self.deliveries();
        deliveries.retain(|delivery| delivery.ack_status != AckStatus::Acked);
        deliveries
    }

    /// Returns the envelopes that were dropped because no attempt was acknowledged.
    pub fn dropped_envelopes(&self) -> Vec<Envelope> {
        let envelopes = self.read(|state| state.dispatcher.envelopes.clone());
        envelopes
            .into_iter()
            .filter(|envelope| envelope.status == EnvelopeStatus::Dropped)
            .collect()
    }

    /// Returns the current texts of a channel's messages, oldest first, including threads.
    pub fn texts(&self, channel: &str) -> ApiResult<Vec<String>> {
        self.read(|state| {
            let messages = state.workspace.channel(channel)?.messages.values();
            Ok(messages.map(|message| message.text.clone()).collect())
        })
    }

    /// Returns the id of the bot's user.
    pub fn bot_user(&self) -> String {
        self.read(|state| state.workspace.bot_user.clone())
    }
}

fn command_payload(
    state: &FakeSlackState,
    channel: &str,
    user: &str,
    command: &str,
    text: &str,
) -> ApiResult<Value> {
    let workspace = &state.workspace;
    let host = &state.host;
    Ok(json!({
        "token": "dev-verification",
        "team_id": workspace.id,
        "team_domain": workspace.domain,
        "channel_id": channel,
        "channel_name": workspace.channel(channel)?.name,
        "user_id": user,
        "user_name": workspace.user(user)?.name,
        "command": command,
        "text": text,
        "api_app_id": workspace.bot.app_id,
        "is_enterprise_install": "false",
        "response_url": format!("http://{host}/commands/{channel}/{user}"),
        "trigger_id": unique_id("trigger-"),
    }))
}

fn form_payload(state: &FakeSlackState, user: &str, text: &str) -> ApiResult<Value> {
    let workspace = &state.workspace;
    let form = state.views.open_for(user).ok_or_else(|| api_error("no_such_form"))?;
    let mut view = form.filled(text)?;
    view["team_id"] = json!(workspace.id);
    view["app_id"] = json!(workspace.bot.app_id);
    view["bot_id"] = json!(workspace.bot.id);
    let name = &workspace.user(user)?.name;
    Ok(json!({
        "type": "view_submission",
        "team": { "id": workspace.id, "domain": workspace.domain },
        "user": { "id": user, "username": name, "name": name, "team_id": workspace.id },
        "api_app_id": workspace.bot.app_id,
        "token": "dev-verification",
        "trigger_id": unique_id("trigger-"),
        "view": view,
        "response_urls": [],
        "is_enterprise_install": false,
        "enterprise": null,
    }))
}

fn click_payload(
    state: &FakeSlackState,
    channel: &str,
    ts: Ts,
    user: &str,
    action: &str,
) -> ApiResult<Value> {
    let workspace = &state.workspace;
    let blocks = workspace.message(channel, ts)?.blocks.as_ref();
    let blocks = blocks.and_then(Value::as_array).into_iter().flatten();
    let mut buttons = blocks.flat_map(|block| {
        let elements = block["elements"].as_array().into_iter().flatten();
        elements.map(move |element| (block, element))
    });
    let (block, button) = buttons
        .find(|(_, element)| element["type"] == "button" && element["action_id"] == action)
        .ok_or_else(|| api_error("no_such_button"))?;
    let host = &state.host;
    Ok(json!({
        "type": "block_actions",
        "user": { "id": user, "username": workspace.user(user)?.name, "team_id": workspace.id },
        "api_app_id": workspace.bot.app_id,
        "token": "dev-verification",
        "container": { "type": "message", "message_ts": ts, "channel_id": channel },
        "trigger_id": unique_id("trigger-"),
        "team": { "id": workspace.id, "domain": workspace.domain },
        "channel": { "id": channel, "name": "directmessage" },
        "response_url": format!("http://{host}/commands/{channel}/{user}"),
        "actions": [{
            "type": "button",
            "block_id": block["block_id"],
            "action_id": action,
            "text": button["text"],
            "value": button["value"],
        }],
    }))
}
