//! H42: two processes on one PostgreSQL server. One is active, the other stands by and takes over when the first is
//! killed, suspended or disconnected. No message is lost, and nothing is posted twice.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::FakeSlack;
use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_harness::net::free_port;
use aizuchi_harness::postgres;
use aizuchi_harness::providers::ProviderResponse;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, query};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::program::{Home, Program};
use crate::slack::harness::{SlackHarness, SlackOptions};

/// Logged by the process that takes over from one whose session has shown no activity for the length of its lease.
const TERMINATED: &str = "terminated the silent session of the active process";
/// The timeout of every wait.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The interval between polls, where there is nothing to subscribe to.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const MESSAGES: usize = 200;
/// Every tenth message is a question, and the messages after it go to another channel.
const QUESTION_EVERY: usize = 10;
const CHANNELS: usize = 10;

const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";
const OWED: &str = "SELECT count(*) FROM owed WHERE closed_ms IS NULL";

#[tokio::test]
async fn h42_the_other_process_takes_over_after_a_kill() {
    let pair = Pair::new().await;
    let (first, second) = pair.start().await;
    // At the kill, two answers are posted, the outcome of a third is unknown, and the model is asked for the rest.
    pair.harness.slack.inject_fault("chat.postMessage", Fault::HangAfter(Hang::UntilReleased));
    pair.harness.model.will_say(&["fine"; 3]);
    pair.harness.model.then(vec![ProviderResponse::Never; MESSAGES / QUESTION_EVERY / 2 - 3]);
    pair.post_messages(0..MESSAGES / 2);
    pair.harness.model.came(MESSAGES / QUESTION_EVERY / 2).await;
    pair.until_counted(SPOKE, 2).await;
    pair.wait_until(|slack| slack.posts().len() == 3).await;
    first.kill();
    pair.harness.slack.release_hanging();
    pair.post_messages(MESSAGES / 2..MESSAGES);
    pair.second.until_ready_is(&second, 200).await;
    // It did not wait for the lease.
    assert!(!pair.second.log().contains(TERMINATED), "{}", pair.second.log());
    // Slack redelivers what the first process did not acknowledge.
    pair.harness.slack.redeliver();
    pair.until_counted(SPOKE, (MESSAGES / QUESTION_EVERY) as i64).await;
    pair.until_counted(OWED, 0).await;
    let human = "SELECT count(*) FROM messages WHERE author_kind = 'human' AND deleted_ms IS NULL";
    pair.until_counted(human, MESSAGES as i64).await;
    assert_eq!(second.stop(), Some(0), "{}", pair.second.log());
    assert_eq!(pair.stored_texts().await, pair.posted_texts());
    let answers = pair.answers();
    assert_eq!(
        answers.len(),
        MESSAGES / QUESTION_EVERY,
        "each question is answered where it was asked"
    );
    assert!(answers.values().all(|count| *count == 1), "nothing is posted twice: {answers:?}");
}

/// Tokens and the level of the log may be changed while a process stands by.
#[tokio::test]
async fn h42_the_other_process_takes_over_with_the_config_of_that_time() {
    let pair = Pair::new().await;
    let (first, second) = pair.start().await;
    pair.harness.slack.replace_tokens("xoxb-new", "xapp-new");
    for home in [&pair.first, &pair.second] {
        home.replace("xoxb-dev", "xoxb-new");
        home.replace("xapp-dev", "xapp-new");
        home.add("logging: {level: ERROR}\n");
    }
    first.kill();
    pair.second.until_ready_is(&second, 200).await;
    pair.harness.post_mention(&pair.harness.tea, &pair.harness.mio, "who is there?");
    pair.until_counted(SPOKE, 1).await;
    assert_eq!(second.stop(), Some(0), "{}", pair.second.log());
    let log = pair.second.log();
    assert!(log.contains("this process is active now") && !log.contains("stopping: "), "{log}");
}

#[tokio::test]
async fn h42_a_process_suspended_beyond_its_lease_ends_when_it_resumes() {
    let pair = Pair::new().await;
    let (first, second) = pair.start().await;
    pair.harness.model.then([ProviderResponse::Held("Too late.".to_owned())]);
    pair.harness.post_mention(&pair.harness.tea, &pair.harness.mio, "one?");
    pair.harness.model.came(1).await;
    first.signal("STOP");
    pair.harness.post_mention(&pair.harness.attic, &pair.harness.mio, "two?");
    pair.second.until_ready_is(&second, 200).await;
    assert!(pair.second.log().contains(TERMINATED), "{}", pair.second.log());
    pair.harness.slack.redeliver();
    pair.until_counted(SPOKE, 2).await;
    // The model answers the first process while that is suspended.
    pair.harness.model.release();
    first.signal("CONT");
    let why = pair.first.ends(first).await;
    assert!(why.contains("session"), "{why}");
    pair.harness.post_mention(&pair.harness.tea, &pair.harness.mio, "three?");
    pair.until_counted(SPOKE, 3).await;
    pair.until_counted(OWED, 0).await;
    assert_eq!(second.stop(), Some(0), "{}", pair.second.log());
    let posts = pair.harness.slack.posts();
    let texts: Vec<&str> = posts.iter().map(|post| post.text.as_str()).collect();
    assert_eq!(texts, ["fine"; 3]);
}

#[tokio::test]
async fn h42_a_process_whose_session_is_terminated_ends_and_the_other_takes_over() {
    let pair = Pair::new().await;
    let (first, second) = pair.start().await;
    pair.harness.model.then([ProviderResponse::Held("Too late.".to_owned())]);
    pair.harness.post_mention(&pair.harness.tea, &pair.harness.mio, "one?");
    pair.harness.model.came(1).await;
    pair.end_session().await;
    pair.harness.post_mention(&pair.harness.attic, &pair.harness.mio, "two?");
    pair.harness.model.release();
    let why = pair.first.ends(first).await;
    assert!(why.contains("session"), "{why}");
    pair.second.until_ready_is(&second, 200).await;
    pair.harness.slack.redeliver();
    pair.until_counted(SPOKE, 2).await;
    pair.until_counted(OWED, 0).await;
    assert_eq!(second.stop(), Some(0), "{}", pair.second.log());
    let posts = pair.harness.slack.posts();
    let texts: Vec<&str> = posts.iter().map(|post| post.text.as_str()).collect();
    assert_eq!(texts, ["fine"; 2]);
}

/// A way to the database that can be cut.
async fn lay_way(from: u16, to: u16) -> AbortOnDropHandle<()> {
    let listener = TcpListener::bind(("127.0.0.1", from)).await.unwrap();
    let forward = async move {
        let mut connections = JoinSet::new();
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            connections.spawn(async move {
                let mut far = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let _ = copy_bidirectional(&mut near, &mut far).await;
            });
        }
    };
    AbortOnDropHandle::new(tokio::spawn(forward))
}

#[tokio::test]
async fn a_standby_that_cannot_look_at_the_database_is_not_available() {
    let pair = Pair::new().await;
    let (near, far) = (free_port(), pair.url.rsplit([':', '/']).nth(1).unwrap().parse().unwrap());
    let way = lay_way(near, far).await;
    pair.second.replace(&format!("@127.0.0.1:{far}/"), &format!("@127.0.0.1:{near}/"));
    let (_first, _second) = pair.start().await;
    let address = pair.second.health_address();
    let until = async |status: u16, stands_by: u8| {
        let is_so = async || {
            let ask = async |path: &str| reqwest::get(format!("{address}{path}")).await.unwrap();
            ask("/available").await.status() == status
                && ask("/metrics")
                    .await
                    .text()
                    .await
                    .unwrap()
                    .contains(&format!("aizuchi_standing_by {stands_by}\n"))
        };
        let waiting = async {
            while !is_so().await {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting)
            .await
            .unwrap_or_else(|_| panic!("{}", pair.second.log()));
    };
    drop(way);
    until(503, 0).await;
    let _way = lay_way(near, far).await;
    until(200, 1).await;
}

/// A workspace, a database, and the configs of two processes.
struct Pair {
    harness: SlackHarness,
    channels: Vec<String>,
    url: String,
    first: Home,
    second: Home,
}

impl Pair {
    async fn new() -> Self {
        let harness = SlackHarness::with(SlackOptions {
            slack: "  settle_seconds: 16\n",
            ..SlackOptions::default()
        })
        .await;
        let channel = |number: usize| {
            let members = vec![harness.mio.clone(), harness.ren.clone(), harness.bot.clone()];
            let name = format!("bed-{number}");
            harness
                .slack
                .add_channel(NewChannel { name, members, ..NewChannel::default() })
                .unwrap()
        };
        let channels = (0..CHANNELS).map(channel).collect();
        let url = postgres::database();
        let config = std::fs::read_to_string(harness.home.config()).unwrap();
        let file = format!("sqlite://{}", harness.home.database().display());
        let home = || {
            let port = free_port();
            let home = Home::on(port, 0.0);
            let config = config.replace(&file, &url).replace(":0\n", &format!(":{port}\n"));
            // Nothing is judged, so the model gets only the calls for replies.
            let config = config.replace("\nresponse:\n", "\nresponse:\n  mode: mention_only\n");
            let health = free_port();
            let config = format!("{config}health_check: {{port: {health}, metrics: true}}\n");
            std::fs::write(home.config(), config).unwrap();
            home
        };
        Self { first: home(), second: home(), channels, harness, url }
    }

    /// Starts the first process, and when it is active, the second.
    async fn start(&self) -> (Program, Program) {
        let first = self.first.start_beside().await;
        self.first.until_ready_is(&first, 200).await;
        self.wait_until(|slack| slack.connection_counts().open >= 2).await;
        for channel in self.channels.iter().chain([&self.harness.tea, &self.harness.attic]) {
            let cursor = format!("SELECT count(*) FROM bookmarks WHERE place = '{channel}'");
            self.until_counted(&cursor, 1).await;
        }
        let second = self.second.start_beside().await;
        let why = self.second.until_ready_is(&second, 503).await;
        assert!(why.contains("active"), "{why}");
        assert_eq!(second.request("/live").await.status(), 200);
        for (home, status, stands_by) in [(&self.first, 200, 0), (&self.second, 503, 1)] {
            let address = home.health_address();
            let ask = async |path: &str| reqwest::get(format!("{address}{path}")).await.unwrap();
            assert_eq!(ask("/ready").await.status(), status);
            assert_eq!(ask("/available").await.status(), 200);
            let metrics = ask("/metrics").await.text().await.unwrap();
            let expected = format!("aizuchi_standing_by {stands_by}\n");
            assert!(metrics.contains(&expected), "{metrics}");
        }
        (first, second)
    }

    /// Posts these messages. Each question is in its own thread.
    fn post_messages(&self, numbers: Range<usize>) {
        let harness = &self.harness;
        let mut last = Ts::default();
        for number in numbers {
            let channel = &self.channels[number / QUESTION_EVERY % CHANNELS];
            if number % QUESTION_EVERY == QUESTION_EVERY - 1 {
                let question = format!("<@{}> {}", harness.bot, text(number));
                harness.post_in_thread(channel, last, &harness.mio, &question);
            } else {
                last = harness.post_message(channel, &harness.ren, &text(number));
            }
        }
    }

    /// The texts that users have posted, sorted.
    fn posted_texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = (0..MESSAGES).map(text).collect();
        texts.sort();
        texts
    }

    /// The texts that are stored, sorted.
    async fn stored_texts(&self) -> Vec<String> {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let statement = "SELECT text FROM messages WHERE author_kind = 'human' ORDER BY at_ms";
        let rows = query(statement).fetch_all(&mut connection).await.unwrap();
        let mention = "@Aizuchi ";
        let without_mention = |text: String| text.strip_prefix(mention).unwrap_or(&text).to_owned();
        let texts = rows.iter().map(|row| without_mention(row.get("text")));
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts
    }

    /// The number of replies in each thread.
    fn answers(&self) -> BTreeMap<Option<Ts>, usize> {
        let mut answers = BTreeMap::new();
        for post in self.harness.slack.posts() {
            *answers.entry(post.thread).or_default() += 1;
        }
        answers
    }

    /// Waits until the fake Slack is in a certain state.
    async fn wait_until(&self, condition: impl Fn(&FakeSlack) -> bool) {
        let mut changed = self.harness.slack.subscribe();
        let waiting = async {
            while !condition(&self.harness.slack) {
                changed.changed().await.unwrap();
            }
        };
        let in_time = tokio::time::timeout(TIMEOUT, waiting).await;
        in_time.unwrap_or_else(|_| panic!("{}", self.logs()));
    }

    /// Waits until a statement returns `count` in the database.
    async fn until_counted(&self, statement: &str, count: i64) {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let mut counted = -1;
        let waiting = async {
            while counted != count {
                tokio::time::sleep(POLL_INTERVAL).await;
                let row = query(AssertSqlSafe(statement.to_owned())).fetch_one(&mut connection);
                counted = row.await.unwrap().get(0);
            }
        };
        let in_time = tokio::time::timeout(TIMEOUT, waiting).await.is_ok();
        assert!(in_time, "{statement}: {counted} and not {count}\n{}", self.logs());
    }

    /// Terminates the database session of the active process.
    async fn end_session(&self) {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let statement = "
            SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l
            JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
            WHERE l.locktype = 'advisory' AND l.granted";
        let ended = query(statement).fetch_all(&mut connection).await.unwrap();
        assert_eq!(ended.len(), 1, "one process is active");
    }

    fn logs(&self) -> String {
        let log = |home: &Home| {
            let path: PathBuf = home.path().join("log");
            std::fs::read_to_string(path).unwrap_or_default()
        };
        format!("first:\n{}\nsecond:\n{}", log(&self.first), log(&self.second))
    }
}

/// Returns the unique text of a message.
fn text(number: usize) -> String {
    format!("what of the {number}th rose?")
}
