//! A workspace with two people and the program in a public and a private channel.

use std::ops::Deref;
use std::sync::Arc;

use aizuchi_fakes::slack::channel::{ChannelKind, NewChannel};
use aizuchi_fakes::slack::journal::RecordedPost;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_fakes::slack::{FakeSlack, FakeSlackSettings, serve};
use tokio_util::sync::DropGuard;

use crate::program::{Home, Program};
use crate::subprocess::serve_apart;
use aizuchi_harness::providers::{Limits, Server};

pub struct SlackHarness {
    pub slack: Arc<FakeSlack>,
    /// Where its API is.
    pub api: String,
    pub model: Server,
    pub home: Home,
    pub bot: String,
    pub mio: String,
    pub ren: String,
    /// A public channel.
    pub tea: String,
    /// A private one.
    pub attic: String,
    _stop: DropGuard,
}

/// What is different from the usual.
pub struct Setting {
    /// More of the section `slack`, indented by two.
    pub slack: &'static str,
    /// How long the talk rests before it is judged, in seconds.
    pub wait: f64,
    /// More sections.
    pub more: &'static str,
    pub team: FakeSlackSettings,
}

impl Default for Setting {
    fn default() -> Self {
        Self { slack: "", wait: 1000.0, more: "", team: FakeSlackSettings::default() }
    }
}

/// What is kept of it is looked at where it is kept.
impl Deref for SlackHarness {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

impl SlackHarness {
    pub async fn new() -> Self {
        Self::with(Setting::default()).await
    }

    /// One whose events come over HTTP, with this secret.
    pub async fn over_http(secret: &str) -> Self {
        let stage = Self::new().await;
        let config = std::fs::read_to_string(stage.home.config()).unwrap();
        let signed = format!("signing_secret: {secret}");
        std::fs::write(stage.home.config(), config.replace("app_token: xapp-dev", &signed))
            .unwrap();
        stage
    }

    pub async fn with(setting: Setting) -> Self {
        let Setting { slack, wait, more, team } = setting;
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
        let model = Server::start(Limits::default()).await;
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

    /// So much of the past is read.
    pub fn history_of_days(&self, days: u64) {
        let config = std::fs::read_to_string(self.home.config()).unwrap();
        let kept = config.lines().filter(|line| !line.contains("history_days"));
        let config: String = kept.map(|line| format!("{line}\n")).collect();
        let config = config.replace("slack:\n", &format!("slack:\n  history_days: {days}\n"));
        std::fs::write(self.home.config(), config).unwrap();
    }

    /// Starts the program, and waits until it can be heard by Slack and has read what there is.
    pub async fn start(&self) -> Program {
        let program = self.home.start();
        self.until(|slack| slack.connection_counts().open >= 2).await;
        for channel in [&self.tea, &self.attic] {
            let kept = format!("SELECT count(*) FROM bookmarks WHERE place = '{channel}'");
            self.until_kept(&kept, 1).await;
        }
        program
    }

    /// Waits until something is so in the workspace.
    pub async fn until(&self, is_so: impl Fn(&FakeSlack) -> bool) {
        self.home.until_changed(self.slack.subscribe(), || is_so(&self.slack)).await;
    }

    /// Somebody says something in a channel.
    pub fn says(&self, channel: &str, user: &str, text: &str) -> Ts {
        self.slack.send_message(channel, user, text).unwrap()
    }

    /// Somebody mentions the program in a channel.
    pub fn asks(&self, channel: &str, user: &str, text: &str) -> Ts {
        self.says(channel, user, &format!("<@{}> {text}", self.bot))
    }

    /// Somebody says something in a thread.
    pub fn says_in_thread(&self, channel: &str, thread: Ts, user: &str, text: &str) -> Ts {
        let saying =
            NewFakeMessage { thread: Some(thread), ..NewFakeMessage::new(channel, user, text) };
        self.slack.send_message_with(saying).unwrap()
    }

    /// What the model says next.
    pub fn will_say(&self, texts: &[&str]) {
        self.model.will_say(texts);
    }

    /// Waits for so many posts, and returns them all.
    pub async fn posts(&self, count: usize) -> Vec<RecordedPost> {
        self.until(|slack| slack.posts().len() >= count).await;
        self.slack.posts()
    }

    /// What the model was asked last.
    pub fn prompt(&self) -> String {
        self.model.prompt()
    }
}
