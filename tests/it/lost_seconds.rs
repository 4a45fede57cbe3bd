//! The database is put back to a copy from before some mentions were answered, as after a failover to an older replica:
//! each mention is answered once, whether the copy holds it as owed, has never heard it, or nobody has answered it.

use std::collections::BTreeMap;
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
/// How often each conversation asks after the copy was made.
const LOST_ROUNDS: usize = 4;

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
    let everywhere = 0..chat.conversations();
    let mut asked = 0;
    asked += chat.ask(everywhere.clone());
    chat.until_answered(asked).await;
    // The copy holds a mention in each channel as owed.
    chat.model().then(vec![ProviderResponse::Never; CHANNELS]);
    let requests = chat.model().requests().len();
    asked += chat.ask(0..CHANNELS);
    chat.model().came(requests + CHANNELS).await;
    program.kill();
    let copy = database.copy();
    let program = chat.start(&database).await;
    chat.until_answered(asked).await;
    for _ in 0..LOST_ROUNDS {
        asked += chat.ask(everywhere.clone());
        chat.until_answered(asked).await;
    }
    database.until(chat.home(), OWED, 0).await;
    program.kill();
    let answered = asked;
    // Nobody answers these before the copy is put back.
    asked += chat.ask(everywhere.clone());
    database.put_back(chat.home(), copy);
    let program = chat.start(&database).await;
    database.until(chat.home(), HUMAN, (asked + chat.parents()) as i64).await;
    database.until(chat.home(), OWED, 0).await;
    chat.until_answered(asked).await;
    asked += chat.ask(everywhere);
    chat.until_answered(asked).await;
    database.until(chat.home(), OWED, 0).await;
    let found = database.count(chat.home(), FOUND).await;
    assert_eq!(program.stop(), Some(0), "{}", chat.home().log());
    let twice: usize =
        chat.answers().iter().map(|(_, (asked, posts))| posts.saturating_sub(*asked)).sum();
    let never: usize =
        chat.answers().iter().map(|(_, (asked, posts))| asked.saturating_sub(*posts)).sum();
    eprintln!(
        "{asked} mentions: {twice} answered twice, {never} never; {found} were found answered"
    );
    assert_eq!((twice, never), (0, 0), "{:?}\n{}", chat.answers(), chat.home().log());
    assert!(found > 0 && answered < asked);
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

/// A stand-in with channels that each have one user, and a thread in each of them.
enum Chat {
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
        for number in 0..CHANNELS {
            let (channel, user, _) = rooms[number].clone();
            let parent = harness.post_message(&channel, &user, "the pump drips");
            rooms.push((channel, user, Some(parent)));
        }
        Self::Slack { harness, rooms }
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
        for number in 0..CHANNELS {
            let (channel, user) = rooms[number];
            let parent = harness.says(channel, user, "the pump drips");
            rooms.push((harness.opens_thread(channel, parent), user));
        }
        Self::Discord { harness, rooms }
    }

    fn home(&self) -> &Home {
        match self {
            Self::Slack { harness, .. } => &harness.home,
            Self::Discord { harness, .. } => &harness.home,
        }
    }

    fn model(&self) -> &Server {
        match self {
            Self::Slack { harness, .. } => &harness.model,
            Self::Discord { harness, .. } => &harness.model,
        }
    }

    fn conversations(&self) -> usize {
        2 * CHANNELS
    }

    /// How many messages are not mentions.
    fn parents(&self) -> usize {
        CHANNELS
    }

    async fn start(&self, database: &Database) -> Program {
        let program = self.home().start();
        let place = match self {
            Self::Slack { harness, rooms } => {
                harness.wait_until(|slack| slack.connection_counts().open >= 2).await;
                rooms[0].0.clone()
            }
            Self::Discord { harness, rooms } => {
                harness.until_heard().await;
                rooms[0].0.to_string()
            }
        };
        let read = format!("SELECT count(*) FROM bookmarks WHERE place = '{place}'");
        database.until(self.home(), &read, 1).await;
        program
    }

    /// Mentions the bot in each of these conversations, and returns how many there are.
    fn ask(&self, conversations: std::ops::Range<usize>) -> usize {
        for number in conversations.clone() {
            match self {
                Self::Slack { harness, rooms } => match &rooms[number] {
                    (channel, user, None) => drop(harness.post_mention(channel, user, "what now?")),
                    (channel, user, Some(thread)) => {
                        let text = format!("<@{}> what now?", harness.bot);
                        harness.post_in_thread(channel, *thread, user, &text);
                    }
                },
                Self::Discord { harness, rooms } => {
                    let (channel, user) = rooms[number];
                    harness.asks(channel, user, "what now?");
                }
            }
        }
        conversations.len()
    }

    async fn until_answered(&self, count: usize) {
        match self {
            Self::Slack { harness, .. } => drop(harness.wait_for_posts(count).await),
            Self::Discord { harness, .. } => drop(harness.posts(count).await),
        }
    }

    /// How often each conversation has asked, and how many posts it got.
    fn answers(&self) -> BTreeMap<String, (usize, usize)> {
        let mut answers: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        match self {
            Self::Slack { harness, rooms } => {
                for (number, (channel, _, thread)) in rooms.iter().enumerate() {
                    let posts = harness.slack.posts();
                    let here =
                        posts.iter().filter(|it| it.channel == *channel && it.thread == *thread);
                    let asked = asked_in(number);
                    answers.insert(format!("{channel} {thread:?}"), (asked, here.count()));
                }
            }
            Self::Discord { harness, rooms } => {
                for (number, (channel, _)) in rooms.iter().enumerate() {
                    let posts = harness.discord.posts();
                    let here = posts.iter().filter(|it| it.channel == *channel);
                    answers.insert(channel.to_string(), (asked_in(number), here.count()));
                }
            }
        }
        answers
    }
}

/// How often a conversation has asked by the end of the story.
fn asked_in(number: usize) -> usize {
    3 + LOST_ROUNDS + usize::from(number < CHANNELS)
}
