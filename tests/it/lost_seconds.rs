//! The database is put back to a copy from before some mentions were answered, as after a failover to an older replica:
//! each mention is answered once, whether the copy holds it as owed, has never heard it, or nobody has answered it.

use std::cell::RefCell;
use std::ops::Range;
use std::path::PathBuf;

use aizuchi_fakes::discord::channel::NewChannelKind;
use aizuchi_fakes::discord::id::{ChannelId, UserId};
use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_harness::postgres;
use aizuchi_harness::providers::{ProviderResponse, Server};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, query};

use crate::discord::harness::DiscordHarness;
use crate::program::{Home, Program, next_poll};
use crate::slack::harness::SlackHarness;

const CHANNELS: usize = 8;
/// How many threads each channel has. Each mention is in a conversation of its own, so that no two get one answer.
const THREADS: usize = 11;
/// The conversations of a channel that ask at each stage: its top level is the first, its threads follow.
const BEFORE: Range<usize> = 0..1;
const OWED_IN_COPY: Range<usize> = 1..2;
const LOST: [Range<usize>; 2] = [0..1, 2..10];
/// The first has asked something before that was answered and is lost.
const UNANSWERED: [Range<usize>; 2] = [2..3, 10..12];
const AFTERWARDS: Range<usize> = 0..1;

const OWED: &str = "SELECT count(*) FROM owed WHERE closed_ms IS NULL";
const HUMAN: &str = "SELECT count(*) FROM messages WHERE author_kind = 'human'";
const FOUND: &str =
    "SELECT count(*) FROM decisions WHERE ended = 'dropped' AND why LIKE '%history shows%'";

#[tokio::test]
async fn each_mention_is_answered_once_on_slack_and_sqlite() {
    lose_seconds(Chat::slack().await, Kind::Sqlite).await;
}

#[tokio::test]
async fn each_mention_is_answered_once_on_slack_and_postgres() {
    lose_seconds(Chat::slack().await, Kind::Postgres).await;
}

#[tokio::test]
async fn each_mention_is_answered_once_on_discord_and_sqlite() {
    lose_seconds(Chat::discord().await, Kind::Sqlite).await;
}

#[tokio::test]
async fn each_mention_is_answered_once_on_discord_and_postgres() {
    lose_seconds(Chat::discord().await, Kind::Postgres).await;
}

async fn lose_seconds(chat: Chat, kind: Kind) {
    let mut database = Database::new(chat.home(), kind);
    let program = chat.start(&database).await;
    chat.ask(BEFORE);
    chat.until_answered(CHANNELS).await;
    database.until(chat.home(), OWED, 0).await;
    // The model answers these only when the copy is made.
    let requests = chat.model().requests().len();
    chat.model().then(vec![ProviderResponse::Never; CHANNELS]);
    chat.ask(OWED_IN_COPY);
    chat.model().came(requests + CHANNELS).await;
    program.kill();
    let copy = database.copy();
    let program = chat.start(&database).await;
    chat.until_answered(2 * CHANNELS).await;
    LOST.into_iter().for_each(|conversations| chat.ask(conversations));
    chat.until_answered(11 * CHANNELS).await;
    database.until(chat.home(), OWED, 0).await;
    program.kill();
    UNANSWERED.into_iter().for_each(|conversations| chat.ask(conversations));
    database.put_back(chat.home(), copy);
    let program = chat.start(&database).await;
    // With the messages that the threads are below.
    let mentions = 14 * CHANNELS;
    database.until(chat.home(), HUMAN, (mentions + THREADS * CHANNELS) as i64).await;
    database.until(chat.home(), OWED, 0).await;
    let found = database.count(chat.home(), FOUND).await;
    let (twice, never) = chat.twice_and_never();
    eprintln!("{mentions} mentions: {twice} answered twice, {never} never, {found} found answered");
    assert_eq!((twice, never), (0, 0), "{}", chat.home().log());
    // All whose answers are lost, but those that were asked again in the same conversation.
    assert_eq!(found as usize, 9 * CHANNELS);
    chat.ask(AFTERWARDS);
    chat.until_answered(mentions + CHANNELS).await;
    database.until(chat.home(), OWED, 0).await;
    assert_eq!(program.stop(), Some(0), "{}", chat.home().log());
    assert_eq!(chat.twice_and_never(), (0, 0));
}

enum Kind {
    Sqlite,
    Postgres,
}

/// The program's database, which can be put back to an earlier copy.
enum Database {
    Sqlite(PathBuf),
    Postgres(String),
}

impl Database {
    fn new(home: &Home, kind: Kind) -> Self {
        let path = home.database();
        match kind {
            Kind::Sqlite => Self::Sqlite(path),
            Kind::Postgres => {
                let url = postgres::with_tables();
                home.replace(&format!("sqlite://{}", path.display()), &url);
                Self::Postgres(url)
            }
        }
    }

    /// Copies the database of a program that has ended.
    fn copy(&self) -> Self {
        match self {
            Self::Sqlite(path) => {
                let copy = path.with_extension("copy");
                for suffix in ["", "-wal"] {
                    let with = |path: &PathBuf| format!("{}{suffix}", path.display());
                    let _ = std::fs::copy(with(path), with(&copy));
                }
                Self::Sqlite(copy)
            }
            Self::Postgres(url) => Self::Postgres(postgres::copy_of(url)),
        }
    }

    fn put_back(&mut self, home: &Home, copy: Self) {
        match (&*self, copy) {
            (Self::Sqlite(path), Self::Sqlite(copy)) => {
                for suffix in ["", "-wal", "-shm"] {
                    let with = |path: &PathBuf| format!("{}{suffix}", path.display());
                    let _ = std::fs::remove_file(with(path));
                    let _ = std::fs::copy(with(&copy), with(path));
                }
            }
            (Self::Postgres(url), Self::Postgres(copy)) => {
                home.replace(url, &copy);
                *self = Self::Postgres(copy);
            }
            _ => panic!("a copy is of the same kind"),
        }
    }

    async fn count(&self, home: &Home, statement: &str) -> i64 {
        match self {
            Self::Sqlite(_) => home.count(statement).await,
            Self::Postgres(url) => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                let statement = AssertSqlSafe(statement.to_owned());
                query(statement).fetch_one(&mut connection).await.map_or(-1, |row| row.get(0))
            }
        }
    }

    async fn until(&self, home: &Home, statement: &str, expected: i64) {
        for _ in 0..6_000 {
            if self.count(home, statement).await == expected {
                return;
            }
            next_poll().await;
        }
        let count = self.count(home, statement).await;
        panic!("{statement}: {count} and not {expected}\n{}", home.log());
    }
}

/// A stand-in with channels that each have one user, and threads in each of them.
struct Chat {
    platform: ChatPlatform,
    /// How often each conversation has asked.
    asked: RefCell<Vec<usize>>,
}

/// The conversations are the top levels of all channels, then the first thread of each, and so on.
enum ChatPlatform {
    Slack { harness: SlackHarness, rooms: Vec<(String, String, Option<Ts>)> },
    Discord { harness: DiscordHarness, rooms: Vec<(ChannelId, UserId)> },
}

impl Chat {
    async fn slack() -> Self {
        let harness = SlackHarness::new().await;
        let mut rooms = Vec::new();
        for number in 0..CHANNELS {
            let user = harness.slack.add_user(&format!("User {number}"));
            let members = vec![user.clone(), harness.bot.clone()];
            let name = format!("bed-{number}");
            let channel = NewChannel { name, members, ..NewChannel::default() };
            rooms.push((harness.slack.add_channel(channel).unwrap(), user, None));
        }
        for number in 0..CHANNELS * THREADS {
            let (channel, user, _) = rooms[number % CHANNELS].clone();
            let parent = harness.post_message(&channel, &user, "the pump drips");
            rooms.push((channel, user, Some(parent)));
        }
        Self::new(ChatPlatform::Slack { harness, rooms })
    }

    async fn discord() -> Self {
        let harness = DiscordHarness::new().await;
        let mut rooms = Vec::new();
        for number in 0..CHANNELS {
            let user = harness.discord.add_user(&format!("User {number}"));
            harness.discord.add_member(harness.guild, user).unwrap();
            let channel = harness.add_channel(&format!("bed-{number}"), NewChannelKind::default());
            rooms.push((channel, user));
        }
        for number in 0..CHANNELS * THREADS {
            let (channel, user) = rooms[number % CHANNELS];
            let parent = harness.says(channel, user, "the pump drips");
            rooms.push((harness.opens_thread(channel, parent), user));
        }
        Self::new(ChatPlatform::Discord { harness, rooms })
    }

    fn new(platform: ChatPlatform) -> Self {
        Self { platform, asked: RefCell::new(vec![0; CHANNELS * (THREADS + 1)]) }
    }

    fn home(&self) -> &Home {
        match &self.platform {
            ChatPlatform::Slack { harness, .. } => &harness.home,
            ChatPlatform::Discord { harness, .. } => &harness.home,
        }
    }

    fn model(&self) -> &Server {
        match &self.platform {
            ChatPlatform::Slack { harness, .. } => &harness.model,
            ChatPlatform::Discord { harness, .. } => &harness.model,
        }
    }

    async fn start(&self, database: &Database) -> Program {
        let program = self.home().start();
        let place = match &self.platform {
            ChatPlatform::Slack { harness, rooms } => {
                harness.wait_until(|slack| slack.connection_counts().open >= 2).await;
                rooms[0].0.clone()
            }
            ChatPlatform::Discord { harness, rooms } => {
                harness.until_heard().await;
                rooms[0].0.to_string()
            }
        };
        let read = format!("SELECT count(*) FROM bookmarks WHERE place = '{place}'");
        database.until(self.home(), &read, 1).await;
        program
    }

    /// Mentions the bot in these conversations of all channels.
    fn ask(&self, conversations: Range<usize>) {
        for number in conversations.start * CHANNELS..conversations.end * CHANNELS {
            self.asked.borrow_mut()[number] += 1;
            match &self.platform {
                ChatPlatform::Slack { harness, rooms } => match &rooms[number] {
                    (channel, user, None) => drop(harness.post_mention(channel, user, "what now?")),
                    (channel, user, Some(thread)) => {
                        let text = format!("<@{}> what now?", harness.bot);
                        harness.post_in_thread(channel, *thread, user, &text);
                    }
                },
                ChatPlatform::Discord { harness, rooms } => {
                    let (channel, user) = rooms[number];
                    harness.asks(channel, user, "what now?");
                }
            }
        }
    }

    async fn until_answered(&self, count: usize) {
        match &self.platform {
            ChatPlatform::Slack { harness, .. } => drop(harness.wait_for_posts(count).await),
            ChatPlatform::Discord { harness, .. } => drop(harness.posts(count).await),
        }
    }

    /// How many mentions were answered more than once, and how many were not.
    fn twice_and_never(&self) -> (usize, usize) {
        let (mut twice, mut never) = (0, 0);
        for (number, asked) in self.asked.borrow().iter().enumerate() {
            let answers = match &self.platform {
                ChatPlatform::Slack { harness, rooms } => {
                    let (channel, _, thread) = &rooms[number];
                    let posts = harness.slack.posts();
                    posts.iter().filter(|it| it.channel == *channel && it.thread == *thread).count()
                }
                ChatPlatform::Discord { harness, rooms } => {
                    let posts = harness.discord.posts();
                    posts.iter().filter(|it| it.channel == rooms[number].0).count()
                }
            };
            twice += answers.saturating_sub(*asked);
            never += asked.saturating_sub(answers);
        }
        (twice, never)
    }
}
