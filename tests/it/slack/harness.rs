//! A workspace with two users, and the program as a member of a public and a private channel.

use std::ops::Deref;
use std::sync::Arc;

use aizuchi_fakes::slack::channel::{ChannelKind, NewChannel};
use aizuchi_fakes::slack::journal::RecordedPost;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_fakes::slack::{FakeSlack, FakeSlackSettings, serve};
use aizuchi_harness::providers::{Server, ServerLimits};
use tokio_util::sync::DropGuard;

use crate::program::{Home, Program};
use crate::subprocess::serve_apart;

pub struct SlackHarness {
    pub slack: Arc<FakeSlack>,
    /// The base URL of the fake's API.
    pub api: String,
    pub model: Server,
    pub home: Home,
    pub bot: String,
    pub mio: String,
    pub ren: String,
    /// A public channel.
    pub tea: String,
    /// A private channel.
    pub attic: String,
    _stop: DropGuard,
}

/// Differences from the default harness.
pub struct SlackOptions {
    /// More settings of the section `slack`, indented by two.
    pub slack: &'static str,
    /// The wait before a judgment, in seconds.
    pub wait: f64,
    /// Additional sections of the config file.
    pub more: &'static str,
    pub team: FakeSlackSettings,
}

impl Default for SlackOptions {
    fn default() -> Self {
        Self { slack: "", wait: 1000.0, more: "", team: FakeSlackSettings::default() }
    }
}

/// The database and the log are queried through [`Home`].
impl Deref for SlackHarness {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

impl SlackHarness {
    pub async fn new() -> Self {
        Self::with(SlackOptions::default()).await
    }

    /// Returns a harness whose events arrive by webhooks signed with this secret.
    pub async fn over_http(secret: &str) -> Self {
        let harness = Self::new().await;
        let config = std::fs::read_to_string(harness.home.config()).unwrap();
        let signed = format!("signing_secret: {secret}");
        std::fs::write(harness.home.config(), config.replace("app_token: xapp-dev", &signed))
            .unwrap();
        harness
    }

    pub async fn with(options: SlackOptions) -> Self {
        let SlackOptions { slack, wait, more, team } = options;
        let fake = FakeSlack::new(team);
        let bot = fake.bot_user();
        let (mio, ren) = (fake.add_user("Mio"), fake.add_user("Ren"));
        let channel = |name: &str, kind| NewChannel {
            name: name.to_owned(),
            kind,
            members: vec![mio.clone(), ren.clone(), bot.clone()],
            ..NewChannel::default()
        };
        let tea = fake.add_channel(channel("tea", ChannelKind::Public)).unwrap();
        let attic = fake.add_channel(channel("attic", ChannelKind::Private)).unwrap();
        let served = fake.clone();
        let (address, _stop) = serve_apart(|listener, stop| serve(listener, served, stop));
        let api = format!("http://{address}/api");
        let model = Server::start(ServerLimits::default()).await;
        let home = Home::new(wait);
        home.add(&format!(
            "slack:
  bot_token: xoxb-dev
  app_token: xapp-dev
  api_base: {api}
{slack}agents:
  response:
    model_id: openai/large-1
    client_args: {{api_key: sk-test, api_base: '{}/v1'}}
{more}",
            model.base
        ));
        Self { slack: fake, api, model, home, bot, mio, ren, tea, attic, _stop }
    }

    /// Sets how many days of history are read.
    pub fn set_history_days(&self, days: u64) {
        let config = std::fs::read_to_string(self.home.config()).unwrap();
        let others = config.lines().filter(|line| !line.contains("history_days"));
        let config: String = others.map(|line| format!("{line}\n")).collect();
        let config = config.replace("slack:\n", &format!("slack:\n  history_days: {days}\n"));
        std::fs::write(self.home.config(), config).unwrap();
    }

    /// Starts the program, and waits until it is connected and has read the history of both channels.
    pub async fn start(&self) -> Program {
        let program = self.home.start();
        self.wait_until(|slack| slack.connection_counts().open >= 2).await;
        self.until_read().await;
        program
    }

    /// Waits until the history of both channels is read.
    pub async fn until_read(&self) {
        for channel in [&self.tea, &self.attic] {
            let cursor = format!("SELECT count(*) FROM bookmarks WHERE place = '{channel}'");
            self.until_kept(&cursor, 1).await;
        }
    }

    /// Waits until the names of Mio and Ren are known, which are read independently of the history.
    pub async fn until_named(&self) {
        self.until_kept("SELECT count(*) FROM users WHERE name IN ('Mio', 'Ren')", 2).await;
    }

    /// Waits until the fake is in a certain state.
    pub async fn wait_until(&self, condition: impl Fn(&FakeSlack) -> bool) {
        self.home.until_changed(self.slack.subscribe(), || condition(&self.slack)).await;
    }

    /// Posts a message as a user.
    pub fn post_message(&self, channel: &str, user: &str, text: &str) -> Ts {
        self.slack.send_message(channel, user, text).unwrap()
    }

    /// Posts a mention of the bot as a user.
    pub fn post_mention(&self, channel: &str, user: &str, text: &str) -> Ts {
        self.post_message(channel, user, &format!("<@{}> {text}", self.bot))
    }

    /// Posts a message in a thread as a user.
    pub fn post_in_thread(&self, channel: &str, thread: Ts, user: &str, text: &str) -> Ts {
        let new_message =
            NewFakeMessage { thread: Some(thread), ..NewFakeMessage::new(channel, user, text) };
        self.slack.send_message_with(new_message).unwrap()
    }

    /// Scripts the model's next answers.
    pub fn will_say(&self, texts: &[&str]) {
        self.model.will_say(texts);
    }

    /// Waits until the bot has posted at least `count` messages, and returns them all.
    pub async fn wait_for_posts(&self, count: usize) -> Vec<RecordedPost> {
        self.wait_until(|slack| slack.posts().len() >= count).await;
        self.slack.posts()
    }

    /// Returns the last prompt that the model received.
    pub fn prompt(&self) -> String {
        self.model.prompt()
    }
}
