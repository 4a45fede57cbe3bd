//! What people and Slack itself can be made to do, and what can be seen of the app: a test's hands
//! and eyes.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::slack::FakeSlack;
use crate::slack::api_error::ApiError;
use crate::slack::channel::NewChannel;
use crate::slack::delivery::{
    AckStatus, ConnectBehavior, Delivery, Envelope, EnvelopeStatus, PayloadKind, SocketCommand,
    app_rate_limited,
};
use crate::slack::fault::{Fault, HistoryCap};
use crate::slack::journal::{RecordedCall, RecordedPost};
use crate::slack::message::NewFakeMessage;
use crate::slack::state::{FakeSlackState, TokenStatus};
use crate::slack::ts::Ts;
use crate::slack::user::NewUser;
use crate::slack::user_actions::NameChange;
use crate::slack::workspace::{MessageKey, Workspace, unique_id};

/// Why Slack wants a socket to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisconnectReason {
    /// It will be closed in about ten seconds.
    Warning,
    RefreshRequested,
    /// Socket Mode was switched off.
    LinkDisabled,
    TooManyWebsockets,
}

/// What happens to the sockets after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterDisconnect {
    /// They stay until the app closes them.
    #[default]
    Stay,
    Close,
}

/// How many sockets there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionCounts {
    pub open: usize,
    /// The smallest number since [`FakeSlack::mark_connections`].
    pub min_open: usize,
}

pub fn disconnect_frame(reason: DisconnectReason) -> Value {
    let name = match reason {
        DisconnectReason::Warning => "warning",
        DisconnectReason::RefreshRequested => "refresh_requested",
        DisconnectReason::LinkDisabled => "link_disabled",
        DisconnectReason::TooManyWebsockets => "too_many_websockets",
    };
    json!({ "type": "disconnect", "reason": name, "debug_info": { "host": "applink-dev" } })
}

/// What people do.
impl FakeSlack {
    pub fn send_message(&self, channel: &str, user: &str, text: &str) -> Result<Ts, ApiError> {
        self.send_message_with(NewFakeMessage::new(channel, user, text))
    }

    pub fn send_message_with(&self, saying: NewFakeMessage) -> Result<Ts, ApiError> {
        self.with_workspace(|team| team.send_message(saying))
    }

    /// The author changes what a line says.
    pub fn edit_message(&self, channel: &str, ts: Ts, text: &str) -> Result<(), ApiError> {
        let place = MessageKey { channel: channel.to_owned(), ts };
        self.with_workspace(|team| {
            let author = team.message(channel, ts)?.user.clone().unwrap_or_default();
            team.edit_message(&place, &author, text)
        })
    }

    /// A preview appears under a line, whose text stays the same.
    pub fn unfurl(&self, channel: &str, ts: Ts) -> Result<(), ApiError> {
        let place = MessageKey { channel: channel.to_owned(), ts };
        self.with_workspace(|team| team.unfurl(&place, "https://example.com/"))
    }

    pub fn delete_message(&self, channel: &str, ts: Ts) -> Result<(), ApiError> {
        let place = MessageKey { channel: channel.to_owned(), ts };
        self.with_workspace(|team| team.delete_message(&place))
    }

    pub fn add_reaction(
        &self,
        channel: &str,
        ts: Ts,
        user: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        let place = MessageKey { channel: channel.to_owned(), ts };
        self.with_workspace(|team| team.add_reaction(&place, user, name))
    }

    pub fn remove_reaction(
        &self,
        channel: &str,
        ts: Ts,
        user: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        let place = MessageKey { channel: channel.to_owned(), ts };
        self.with_workspace(|team| team.remove_reaction(&place, user, name))
    }

    pub fn join_channel(&self, channel: &str, user: &str) -> Result<(), ApiError> {
        self.with_workspace(|team| team.join(channel, user))
    }

    pub fn leave_channel(&self, channel: &str, user: &str) -> Result<(), ApiError> {
        self.with_workspace(|team| team.leave(channel, user))
    }

    pub fn rename_channel(&self, channel: &str, user: &str, name: &str) -> Result<(), ApiError> {
        self.with_workspace(|team| team.rename_channel(channel, user, name))
    }

    pub fn archive_channel(&self, channel: &str, user: &str) -> Result<(), ApiError> {
        self.with_workspace(|team| team.archive(channel, user))
    }

    pub fn unarchive_channel(&self, channel: &str, user: &str) -> Result<(), ApiError> {
        self.with_workspace(|team| team.unarchive(channel, user))
    }

    pub fn make_private(&self, channel: &str, user: &str) -> Result<(), ApiError> {
        self.with_workspace(|team| team.make_private(channel, user))
    }

    pub fn delete_channel(&self, channel: &str, user: &str) -> Result<(), ApiError> {
        self.with_workspace(|team| team.delete_channel(channel, user))
    }

    /// Adds somebody with this name, and says who it is.
    pub fn add_user(&self, name: &str) -> String {
        self.add_user_with(NewUser { name: name.to_owned(), ..NewUser::default() })
    }

    pub fn add_user_with(&self, new: NewUser) -> String {
        self.with_workspace(|team| team.add_user(new))
    }

    pub fn rename_user(&self, user: &str, names: NameChange<'_>) -> Result<(), ApiError> {
        self.with_workspace(|team| team.rename_user(user, names))
    }

    pub fn deactivate_user(&self, user: &str) -> Result<(), ApiError> {
        self.with_workspace(|team| team.deactivate_user(user))
    }

    pub fn add_channel(&self, new: NewChannel) -> Result<String, ApiError> {
        self.with_workspace(|team| team.add_channel(new))
    }

    /// The direct message of the bot and somebody.
    pub fn open_direct_message(&self, user: &str) -> Result<String, ApiError> {
        self.with_workspace(|team| Ok(team.open_direct_message(user)?.0))
    }

    /// Somebody gives a slash command.
    pub fn run_command(
        &self,
        channel: &str,
        user: &str,
        command: &str,
        text: &str,
    ) -> Result<(), ApiError> {
        let payload = self.read(|state| command_payload(state, channel, user, command, text))?;
        self.deliver(PayloadKind::SlashCommand, payload);
        Ok(())
    }

    /// Somebody uses a button or a shortcut.
    pub fn interact(&self, payload: Value) {
        self.deliver(PayloadKind::Interaction, payload);
    }

    /// An event of any shape.
    pub fn emit_event(&self, event: Value) {
        self.with_workspace(|team| team.emit(event));
    }

    fn with_workspace<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        self.change(|state| work(&mut state.workspace))
    }

    fn deliver(&self, kind: PayloadKind, payload: Value) {
        self.change(|state| {
            let letter = state.dispatcher.enqueue(kind, payload);
            state.deliver(letter, &self.settings);
        });
    }
}

/// What Slack does.
impl FakeSlack {
    /// Asks all sockets to end.
    pub fn request_disconnect(&self, reason: DisconnectReason, then: AfterDisconnect) {
        let frame = SocketCommand::Send(disconnect_frame(reason).to_string());
        self.send_to_all(|| frame.clone());
        if then == AfterDisconnect::Close {
            self.send_to_all(|| SocketCommand::Close);
        }
    }

    /// Resets all sockets.
    pub fn reset_connections(&self) {
        self.send_to_all(|| SocketCommand::Reset);
    }

    /// All sockets stay, and nothing goes through them any more.
    pub fn stall_connections(&self) {
        self.change(|state| {
            for connection in &mut state.dispatcher.connections {
                connection.is_stalled = true;
                let _ = connection.commands.send(SocketCommand::Stall);
            }
            state.dispatcher.min_open = 0;
        });
    }

    fn send_to_all(&self, frame: impl Fn() -> SocketCommand) {
        self.change(|state| {
            for connection in &state.dispatcher.connections {
                // One that is just ending needs no more.
                let _ = connection.commands.send(frame());
            }
        });
    }

    /// How sockets are received from now on.
    pub fn set_connect_behavior(&self, greeting: ConnectBehavior) {
        self.change(|state| state.dispatcher.connect_behavior = greeting);
    }

    /// The next call of a method meets this; several form a queue.
    pub fn inject_fault(&self, method: &str, fault: Fault) {
        self.change(|state| state.faults.push(method.to_owned(), fault));
    }

    pub fn inject_fault_times(&self, method: &str, fault: &Fault, times: usize) {
        for _ in 0..times {
            self.inject_fault(method, fault.clone());
        }
    }

    /// Forgets the faults that have not been met, and lets go of calls that hang.
    pub fn clear_faults(&self) {
        self.change(|state| state.faults.clear_and_release());
    }

    /// Lets go of calls that hang.
    pub fn release_hanging(&self) {
        self.change(|state| state.faults.releases += 1);
    }

    pub fn cap_history(&self, cap: Option<HistoryCap>) {
        self.change(|state| state.history_caps.set(cap));
    }

    pub fn set_token_status(&self, standing: TokenStatus) {
        self.change(|state| state.token_status = standing);
    }

    /// Throws the app out: it is told, and its tokens are worth nothing.
    pub fn uninstall(&self) {
        self.change(|state| {
            let events = state.workspace.uninstalled_events();
            events.into_iter().for_each(|event| state.workspace.emit(event));
            state.token_status = TokenStatus::Revoked;
        });
    }

    /// Tells the app that too much has happened.
    pub fn send_app_rate_limited(&self) {
        let payload = self.read(|state| app_rate_limited(&state.workspace));
        self.deliver(PayloadKind::Event, payload);
    }

    /// What is not acknowledged by now is late, and is brought again at once.
    pub fn redeliver(&self) {
        self.change(|state| state.time_out_deliveries(&self.settings));
    }

    /// The team's time goes on from this moment.
    pub fn set_time(&self, now: Timestamp) {
        self.with_workspace(|team| team.set_time(now));
    }
}

/// What the app has done.
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

    /// Counts the fewest connections from here on.
    pub fn reset_min_open(&self) {
        self.change(|state| state.dispatcher.min_open = state.dispatcher.open_connections());
    }

    pub fn deliveries(&self) -> Vec<Delivery> {
        self.read(|state| state.dispatcher.deliveries.clone())
    }

    /// Deliveries that were acknowledged in time.
    pub fn acked_deliveries(&self) -> Vec<Delivery> {
        let is_acked = |delivery: &Delivery| matches!(delivery.ack_status, AckStatus::Acked(_));
        self.deliveries().into_iter().filter(is_acked).collect()
    }

    /// Deliveries that were not, or not yet.
    pub fn unacked_deliveries(&self) -> Vec<Delivery> {
        let is_acked = |delivery: &Delivery| matches!(delivery.ack_status, AckStatus::Acked(_));
        self.deliveries().into_iter().filter(|delivery| !is_acked(delivery)).collect()
    }

    /// What the app was never brought to acknowledge.
    pub fn dropped_envelopes(&self) -> Vec<Envelope> {
        let letters = self.read(|state| state.dispatcher.envelopes.clone());
        letters.into_iter().filter(|letter| letter.status == EnvelopeStatus::Dropped).collect()
    }

    /// The texts of a channel as they are now, oldest first, threads among them.
    pub fn texts(&self, channel: &str) -> Result<Vec<String>, ApiError> {
        self.read(|state| {
            let messages = state.workspace.channel(channel)?.messages.values();
            Ok(messages.map(|message| message.text.clone()).collect())
        })
    }

    /// The bot's own user.
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
) -> Result<Value, ApiError> {
    let team = &state.workspace;
    let host = &state.host;
    Ok(json!({
        "token": "dev-verification",
        "team_id": team.id,
        "team_domain": team.domain,
        "channel_id": channel,
        "channel_name": team.channel(channel)?.name,
        "user_id": user,
        "user_name": team.user(user)?.name,
        "command": command,
        "text": text,
        "api_app_id": team.bot.app_id,
        "is_enterprise_install": "false",
        "response_url": format!("http://{host}/commands/{channel}/{user}"),
        "trigger_id": unique_id("trigger-"),
    }))
}
