//! What people and Slack itself can be made to do, and what can be seen of the app: a test's hands
//! and eyes.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::slack::FakeSlack;
use crate::slack::channel::NewChannel;
use crate::slack::fault::{Cap, Fault};
use crate::slack::journal::{Call, Post};
use crate::slack::mail::{
    Delivery, Fate, Frame, Greeting, Letter, LetterKind, Receipt, app_rate_limited,
};
use crate::slack::message::Saying;
use crate::slack::people::Names;
use crate::slack::refusal::Refusal;
use crate::slack::state::{Standing, State};
use crate::slack::ts::Ts;
use crate::slack::user::NewUser;
use crate::slack::workspace::{Place, Workspace, unique};

/// Why Slack wants a socket to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
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
pub enum Then {
    /// They stay until the app closes them.
    #[default]
    Stay,
    Close,
}

/// How many sockets there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    pub open: usize,
    /// The smallest number since [`FakeSlack::mark_connections`].
    pub fewest: usize,
}

pub fn disconnect_frame(reason: Reason) -> Value {
    let name = match reason {
        Reason::Warning => "warning",
        Reason::RefreshRequested => "refresh_requested",
        Reason::LinkDisabled => "link_disabled",
        Reason::TooManyWebsockets => "too_many_websockets",
    };
    json!({ "type": "disconnect", "reason": name, "debug_info": { "host": "applink-dev" } })
}

/// What people do.
impl FakeSlack {
    pub fn say(&self, channel: &str, user: &str, text: &str) -> Result<Ts, Refusal> {
        self.say_with(Saying::new(channel, user, text))
    }

    pub fn say_with(&self, saying: Saying) -> Result<Ts, Refusal> {
        self.in_team(|team| team.say(saying))
    }

    /// The author changes what a line says.
    pub fn edit(&self, channel: &str, ts: Ts, text: &str) -> Result<(), Refusal> {
        let place = Place { channel: channel.to_owned(), ts };
        self.in_team(|team| {
            let author = team.message(channel, ts)?.user.clone().unwrap_or_default();
            team.edit(&place, &author, text)
        })
    }

    /// A preview appears under a line, whose text stays the same.
    pub fn unfurl(&self, channel: &str, ts: Ts) -> Result<(), Refusal> {
        let place = Place { channel: channel.to_owned(), ts };
        self.in_team(|team| team.unfurl(&place, "https://example.com/"))
    }

    pub fn delete(&self, channel: &str, ts: Ts) -> Result<(), Refusal> {
        let place = Place { channel: channel.to_owned(), ts };
        self.in_team(|team| team.delete(&place))
    }

    pub fn react(&self, channel: &str, ts: Ts, user: &str, name: &str) -> Result<(), Refusal> {
        let place = Place { channel: channel.to_owned(), ts };
        self.in_team(|team| team.react(&place, user, name))
    }

    pub fn unreact(&self, channel: &str, ts: Ts, user: &str, name: &str) -> Result<(), Refusal> {
        let place = Place { channel: channel.to_owned(), ts };
        self.in_team(|team| team.unreact(&place, user, name))
    }

    pub fn join(&self, channel: &str, user: &str) -> Result<(), Refusal> {
        self.in_team(|team| team.join(channel, user))
    }

    pub fn leave(&self, channel: &str, user: &str) -> Result<(), Refusal> {
        self.in_team(|team| team.leave(channel, user))
    }

    pub fn rename_channel(&self, channel: &str, user: &str, name: &str) -> Result<(), Refusal> {
        self.in_team(|team| team.rename_channel(channel, user, name))
    }

    pub fn archive(&self, channel: &str, user: &str) -> Result<(), Refusal> {
        self.in_team(|team| team.archive(channel, user))
    }

    pub fn unarchive(&self, channel: &str, user: &str) -> Result<(), Refusal> {
        self.in_team(|team| team.unarchive(channel, user))
    }

    pub fn make_private(&self, channel: &str, user: &str) -> Result<(), Refusal> {
        self.in_team(|team| team.make_private(channel, user))
    }

    pub fn delete_channel(&self, channel: &str, user: &str) -> Result<(), Refusal> {
        self.in_team(|team| team.delete_channel(channel, user))
    }

    /// Adds somebody with this name, and says who it is.
    pub fn add_user(&self, name: &str) -> String {
        self.add_user_with(NewUser { name: name.to_owned(), ..NewUser::default() })
    }

    pub fn add_user_with(&self, new: NewUser) -> String {
        self.in_team(|team| team.add_user(new))
    }

    pub fn rename_user(&self, user: &str, names: Names<'_>) -> Result<(), Refusal> {
        self.in_team(|team| team.rename_user(user, names))
    }

    pub fn deactivate_user(&self, user: &str) -> Result<(), Refusal> {
        self.in_team(|team| team.deactivate_user(user))
    }

    pub fn add_channel(&self, new: NewChannel) -> Result<String, Refusal> {
        self.in_team(|team| team.add_channel(new))
    }

    /// The direct message of the bot and somebody.
    pub fn open_direct(&self, user: &str) -> Result<String, Refusal> {
        self.in_team(|team| Ok(team.open_direct(user)?.0))
    }

    /// Somebody gives a slash command.
    pub fn command(
        &self,
        channel: &str,
        user: &str,
        command: &str,
        text: &str,
    ) -> Result<(), Refusal> {
        let payload = self.read(|state| command_payload(state, channel, user, command, text))?;
        self.bring(LetterKind::SlashCommand, payload);
        Ok(())
    }

    /// Somebody uses a button or a shortcut.
    pub fn interact(&self, payload: Value) {
        self.bring(LetterKind::Interaction, payload);
    }

    /// An event of any shape.
    pub fn tell(&self, event: Value) {
        self.in_team(|team| team.tell(event));
    }

    fn in_team<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        self.change(|state| work(&mut state.workspace))
    }

    fn bring(&self, kind: LetterKind, payload: Value) {
        self.change(|state| {
            let letter = state.mail.write(kind, payload);
            state.bring(letter, &self.settings);
        });
    }
}

/// What Slack does.
impl FakeSlack {
    /// Asks all sockets to end.
    pub fn disconnect(&self, reason: Reason, then: Then) {
        let frame = Frame::Text(disconnect_frame(reason).to_string());
        self.to_all(|| frame.clone());
        if then == Then::Close {
            self.to_all(|| Frame::Close);
        }
    }

    /// Resets all sockets.
    pub fn cut(&self) {
        self.to_all(|| Frame::Cut);
    }

    /// All sockets stay, and nothing goes through them any more.
    pub fn half_dead(&self) {
        self.change(|state| {
            for connection in &mut state.mail.connections {
                connection.is_dead = true;
                let _ = connection.frames.send(Frame::PlayDead);
            }
            state.mail.fewest = 0;
        });
    }

    fn to_all(&self, frame: impl Fn() -> Frame) {
        self.change(|state| {
            for connection in &state.mail.connections {
                // One that is just ending needs no more.
                let _ = connection.frames.send(frame());
            }
        });
    }

    /// How sockets are received from now on.
    pub fn greet_with(&self, greeting: Greeting) {
        self.change(|state| state.mail.greeting = greeting);
    }

    /// The next call of a method meets this; several form a queue.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.change(|state| state.faults.add(method.to_owned(), fault));
    }

    pub fn fault_times(&self, method: &str, fault: &Fault, times: usize) {
        for _ in 0..times {
            self.fault(method, fault.clone());
        }
    }

    /// Forgets the faults that have not been met, and lets go of calls that hang.
    pub fn clear_faults(&self) {
        self.change(|state| state.faults.clear());
    }

    /// Lets go of calls that hang.
    pub fn release(&self) {
        self.change(|state| state.faults.releases += 1);
    }

    pub fn cap_history(&self, cap: Option<Cap>) {
        self.change(|state| state.caps.cap(cap));
    }

    pub fn set_standing(&self, standing: Standing) {
        self.change(|state| state.standing = standing);
    }

    /// Throws the app out: it is told, and its tokens are worth nothing.
    pub fn uninstall(&self) {
        self.change(|state| {
            let events = state.workspace.uninstalled_events();
            events.into_iter().for_each(|event| state.workspace.tell(event));
            state.standing = Standing::Revoked;
        });
    }

    /// Tells the app that too much has happened.
    pub fn limit_events(&self) {
        let payload = self.read(|state| app_rate_limited(&state.workspace));
        self.bring(LetterKind::Event, payload);
    }

    /// What is not acknowledged by now is late, and is brought again at once.
    pub fn redeliver(&self) {
        self.change(|state| state.hurry(&self.settings));
    }

    /// The team's time goes on from this moment.
    pub fn set_time(&self, now: Timestamp) {
        self.in_team(|team| team.set_time(now));
    }
}

/// What the app has done.
impl FakeSlack {
    pub fn posts(&self) -> Vec<Post> {
        self.read(|state| state.journal.posts.clone())
    }

    pub fn calls(&self, method: &str) -> Vec<Call> {
        let calls = self.read(|state| state.journal.calls.clone());
        calls.into_iter().filter(|call| call.method == method).collect()
    }

    pub fn connections(&self) -> Connections {
        self.read(|state| Connections { open: state.mail.open(), fewest: state.mail.fewest })
    }

    /// Counts the fewest connections from here on.
    pub fn mark_connections(&self) {
        self.change(|state| state.mail.fewest = state.mail.open());
    }

    pub fn deliveries(&self) -> Vec<Delivery> {
        self.read(|state| state.mail.deliveries.clone())
    }

    /// Deliveries that were acknowledged in time.
    pub fn acked(&self) -> Vec<Delivery> {
        let is_acked = |delivery: &Delivery| matches!(delivery.receipt, Receipt::Acked(_));
        self.deliveries().into_iter().filter(is_acked).collect()
    }

    /// Deliveries that were not, or not yet.
    pub fn unacked(&self) -> Vec<Delivery> {
        let is_acked = |delivery: &Delivery| matches!(delivery.receipt, Receipt::Acked(_));
        self.deliveries().into_iter().filter(|delivery| !is_acked(delivery)).collect()
    }

    /// What the app was never brought to acknowledge.
    pub fn dropped(&self) -> Vec<Letter> {
        let letters = self.read(|state| state.mail.letters.clone());
        letters.into_iter().filter(|letter| letter.fate == Fate::Dropped).collect()
    }

    /// The texts of a channel as they are now, oldest first, threads among them.
    pub fn texts(&self, channel: &str) -> Result<Vec<String>, Refusal> {
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
    state: &State,
    channel: &str,
    user: &str,
    command: &str,
    text: &str,
) -> Result<Value, Refusal> {
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
        "trigger_id": unique("trigger-"),
    }))
}
