//! A server with two users, a public and a private channel, and the program.

use std::ops::Deref;
use std::sync::Arc;

use aizuchi_fakes::discord::channel::{NewChannel, NewChannelKind};
use aizuchi_fakes::discord::id::{ChannelId, GuildId, MessageId, UserId};
use aizuchi_fakes::discord::journal::RecordedPost;
use aizuchi_fakes::discord::message::NewFakeMessage;
use aizuchi_fakes::discord::{FakeDiscord, FakeDiscordSettings, serve};
use aizuchi_harness::providers::{Server, ServerLimits};
use jiff::SignedDuration;
use tokio_util::sync::DropGuard;

use crate::discord::bodies::are_valid;
use crate::program::{Home, Program};
use crate::subprocess::serve_apart;

/// The opcodes by which a bot starts and resumes a session.
pub const IDENTIFY: u64 = 2;
pub const RESUME: u64 = 6;

pub struct DiscordHarness {
    pub discord: Arc<FakeDiscord>,
    /// The base URL of the fake's API.
    pub api: String,
    pub model: Server,
    pub home: Home,
    pub bot: UserId,
    pub guild: GuildId,
    pub mio: UserId,
    pub ren: UserId,
    /// A public channel.
    pub tea: ChannelId,
    /// A private channel.
    pub attic: ChannelId,
    _stop: DropGuard,
}

/// Differences from the default setup.
pub struct Setting {
    /// Additional settings of the section `discord`, indented by two.
    pub discord: &'static str,
    /// The debounce before a judgment, in seconds.
    pub wait: f64,
    /// Additional sections.
    pub more: &'static str,
    pub world: FakeDiscordSettings,
}

impl Default for Setting {
    fn default() -> Self {
        // The real interval of five seconds would slow down the tests.
        let world = FakeDiscordSettings {
            identify_interval: SignedDuration::from_millis(1),
            ..FakeDiscordSettings::default()
        };
        Self { discord: "", wait: 1000.0, more: "", world }
    }
}

/// The database is queried through [`Home`].
impl Deref for DiscordHarness {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

impl Drop for DiscordHarness {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            are_valid(&self.discord.read(|state| state.journal.calls.clone()));
        }
    }
}

impl DiscordHarness {
    pub async fn new() -> Self {
        Self::with(Setting::default()).await
    }

    pub async fn with(setting: Setting) -> Self {
        let Setting { discord, wait, more, world } = setting;
        let fake = FakeDiscord::new(world);
        let bot = fake.bot_user();
        let (mio, ren) = (fake.add_user("Mio"), fake.add_user("Ren"));
        let guild = fake.add_guild("Garden", mio);
        fake.add_member(guild, ren).unwrap();
        let channel = |name: &str, members: &[UserId]| {
            let (name, members) = (name.to_owned(), members.to_vec());
            fake.add_channel(NewChannel { name, members, ..NewChannel::default() }).unwrap()
        };
        let tea = channel("tea", &[]);
        let attic = channel("attic", &[mio, ren, bot]);
        let served = fake.clone();
        let (address, _stop) = serve_apart(|listener, stop| serve(listener, served, stop));
        let api = format!("http://{address}/api/v10");
        let model = Server::start(ServerLimits::default()).await;
        let home = Home::new(wait);
        home.add(&format!(
            "discord:
  token: dev-discord-token
  api_base: {api}
{discord}agents:
  response:
    model_id: openai/large-1
    client_args: {{api_key: sk-test, api_base: '{}/v1'}}
{more}",
            model.base
        ));
        Self { discord: fake, api, model, home, bot, guild, mio, ren, tea, attic, _stop }
    }

    /// Starts the program, and waits until it is connected and has read both channels.
    pub async fn start(&self) -> Program {
        let program = self.home.start();
        self.until_heard().await;
        for channel in [self.tea, self.attic] {
            let kept = format!("SELECT count(*) FROM bookmarks WHERE place = '{channel}'");
            self.until_kept(&kept, 1).await;
        }
        program
    }

    /// Waits until the program has a session.
    pub async fn until_heard(&self) {
        self.until(|discord| discord.session_count() == 1).await;
    }

    /// Waits until a condition holds on Discord.
    pub async fn until(&self, holds: impl Fn(&FakeDiscord) -> bool) {
        self.home.until_changed(self.discord.subscribe(), || holds(&self.discord)).await;
    }

    pub fn add_channel(&self, name: &str, kind: NewChannelKind) -> ChannelId {
        let name = name.to_owned();
        self.discord.add_channel(NewChannel { name, kind, ..NewChannel::default() }).unwrap()
    }

    /// Posts a message in a channel or a thread, as a user.
    pub fn says(&self, channel: ChannelId, user: UserId, text: &str) -> MessageId {
        self.discord.send_message(channel, user, text).unwrap()
    }

    /// Opens a thread below a message, as Mio.
    pub fn opens_thread(&self, channel: ChannelId, parent: MessageId) -> ChannelId {
        self.discord.start_thread_from_message(channel, parent, self.mio, "roses").unwrap()
    }

    pub fn says_so(&self, saying: NewFakeMessage) -> MessageId {
        self.discord.send_message_with(saying).unwrap()
    }

    /// Mentions the bot in a channel, as a user.
    pub fn asks(&self, channel: ChannelId, user: UserId, text: &str) -> MessageId {
        self.says(channel, user, &format!("<@{}> {text}", self.bot))
    }

    /// Scripts the model's next answers.
    pub fn will_say(&self, texts: &[&str]) {
        self.model.will_say(texts);
    }

    /// Waits until there are this many posts, and returns them all.
    pub async fn posts(&self, count: usize) -> Vec<RecordedPost> {
        self.until(|discord| discord.posts().len() >= count).await;
        self.discord.posts()
    }

    /// Waits until a message is stored, and with it all earlier ones.
    pub async fn until_line(&self, text: &str) {
        let kept = format!("SELECT count(*) FROM messages WHERE text = '{text}'");
        self.until_kept(&kept, 1).await;
    }

    /// Returns the stored messages of a channel.
    pub async fn lines(&self, channel: ChannelId) -> Vec<String> {
        self.kept(&channel.to_string()).await
    }

    /// Returns the last prompt that the model received.
    pub fn prompt(&self) -> String {
        self.model.prompt()
    }

    /// Returns how often the program has sent an opcode, e.g. to start or resume a session.
    pub fn said(&self, op: u64) -> usize {
        self.discord.payloads(op).len()
    }
}
