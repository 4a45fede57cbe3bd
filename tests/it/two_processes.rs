//! H42: two processes on one PostgreSQL. One is active, the other stands by and takes over when the first is
//! killed, stopped, or cut off. Nothing is lost by that, and nothing is said twice.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::FakeSlack;
use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::ts::Ts;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, query};

use crate::program::{Home, Program};
use crate::slack::harness::{Setting, SlackHarness};
use aizuchi_harness::net::free_port;
use aizuchi_harness::postgres;
use aizuchi_harness::providers::Treatment;

/// Whoever has not been heard of for so long is active no more.
const LEASE: Duration = Duration::from_secs(15);
/// How long the other one may take to notice, to connect to everything, and to say so.
const SLACK_OF_LEASE: Duration = Duration::from_secs(15);
/// No test waits longer than this.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often it is looked, where nothing else tells.
const LOOK: Duration = Duration::from_millis(20);

const LINES: usize = 200;
/// Every tenth line is a question, and the talk goes to another channel after it.
const EVERY: usize = 10;
const CHANNELS: usize = 10;

const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";
const OWED: &str = "SELECT count(*) FROM owed WHERE closed_ms IS NULL";

#[tokio::test]
async fn h42_one_is_killed_amid_the_talk_and_the_other_takes_over() {
    let pair = Pair::new().await;
    let (first, second) = pair.start().await;
    // When it dies, two answers are said, it does not know of a third that that one is, and it asks for the rest.
    pair.stage.slack.inject_fault("chat.postMessage", Fault::HangAfter(Hang::UntilReleased));
    pair.stage.model.will_say(&["fine"; 3]);
    pair.stage.model.then(vec![Treatment::Never; LINES / EVERY / 2 - 3]);
    pair.talk(0..LINES / 2);
    pair.stage.model.came(LINES / EVERY / 2).await;
    pair.until_counted(SPOKE, 2).await;
    pair.until(|slack| slack.posts().len() == 3).await;
    let began = Instant::now();
    first.kill();
    pair.stage.slack.release_hanging();
    pair.talk(LINES / 2..LINES);
    pair.second.until_ready_is(&second, 200).await;
    assert!(began.elapsed() < LEASE, "it takes over within the lease: {:?}", began.elapsed());
    // Whatever the first one was told and did not acknowledge comes again.
    pair.stage.slack.redeliver();
    pair.until_counted(SPOKE, (LINES / EVERY) as i64).await;
    pair.until_counted(OWED, 0).await;
    let human = "SELECT count(*) FROM messages WHERE author_kind = 'human' AND deleted_ms IS NULL";
    pair.until_counted(human, LINES as i64).await;
    assert_eq!(second.stop(), Some(0), "{}", pair.second.log());
    assert_eq!(pair.kept().await, pair.said());
    let answers = pair.answers();
    assert_eq!(answers.len(), LINES / EVERY, "each question is answered where it was asked");
    assert!(answers.values().all(|count| *count == 1), "nothing is said twice: {answers:?}");
}

#[tokio::test]
async fn h42_one_that_slept_through_its_lease_wakes_and_ends() {
    let pair = Pair::new().await;
    let (first, second) = pair.start().await;
    pair.stage.model.then([Treatment::Held("Too late.".to_owned())]);
    pair.stage.asks(&pair.stage.tea, &pair.stage.mio, "one?");
    pair.stage.model.came(1).await;
    first.signal("STOP");
    let began = Instant::now();
    pair.stage.asks(&pair.stage.attic, &pair.stage.mio, "two?");
    pair.second.until_ready_is(&second, 200).await;
    assert!(began.elapsed() < LEASE + SLACK_OF_LEASE, "{:?}", began.elapsed());
    pair.stage.slack.redeliver();
    pair.until_counted(SPOKE, 2).await;
    // What the first one waited for has come while it slept.
    pair.stage.model.release();
    first.signal("CONT");
    let why = pair.first.ends(first).await;
    assert!(why.contains("session"), "{why}");
    pair.stage.asks(&pair.stage.tea, &pair.stage.mio, "three?");
    pair.until_counted(SPOKE, 3).await;
    pair.until_counted(OWED, 0).await;
    assert_eq!(second.stop(), Some(0), "{}", pair.second.log());
    let posts = pair.stage.slack.posts();
    let texts: Vec<&str> = posts.iter().map(|post| post.text.as_str()).collect();
    assert_eq!(texts, ["fine"; 3]);
}

#[tokio::test]
async fn h42_one_whose_session_the_server_ends_hands_over() {
    let pair = Pair::new().await;
    let (first, second) = pair.start().await;
    pair.stage.model.then([Treatment::Held("Too late.".to_owned())]);
    pair.stage.asks(&pair.stage.tea, &pair.stage.mio, "one?");
    pair.stage.model.came(1).await;
    pair.end_session().await;
    pair.stage.asks(&pair.stage.attic, &pair.stage.mio, "two?");
    pair.stage.model.release();
    let why = pair.first.ends(first).await;
    assert!(why.contains("session"), "{why}");
    pair.second.until_ready_is(&second, 200).await;
    pair.stage.slack.redeliver();
    pair.until_counted(SPOKE, 2).await;
    pair.until_counted(OWED, 0).await;
    assert_eq!(second.stop(), Some(0), "{}", pair.second.log());
    let posts = pair.stage.slack.posts();
    let texts: Vec<&str> = posts.iter().map(|post| post.text.as_str()).collect();
    assert_eq!(texts, ["fine"; 2]);
}

/// One workspace, one database, and the configs of two processes.
struct Pair {
    stage: SlackHarness,
    channels: Vec<String>,
    url: String,
    first: Home,
    second: Home,
}

impl Pair {
    async fn new() -> Self {
        let stage =
            SlackHarness::with(Setting { slack: "  settle_seconds: 16\n", ..Setting::default() })
                .await;
        let channel = |number: usize| {
            let members = vec![stage.mio.clone(), stage.ren.clone(), stage.bot.clone()];
            let name = format!("bed-{number}");
            stage.slack.add_channel(NewChannel { name, members, ..NewChannel::default() }).unwrap()
        };
        let channels = (0..CHANNELS).map(channel).collect();
        let url = postgres::database();
        let config = std::fs::read_to_string(stage.home.config()).unwrap();
        let file = format!("sqlite://{}", stage.home.database().display());
        let home = || {
            let port = free_port();
            let home = Home::on(port, 0.0);
            let config = config.replace(&file, &url).replace(":0\n", &format!(":{port}\n"));
            // Nothing is judged, so that the model is asked for answers alone.
            let config = config.replace("\nresponse:\n", "\nresponse:\n  mode: mention_only\n");
            std::fs::write(home.config(), config).unwrap();
            home
        };
        Self { first: home(), second: home(), channels, stage, url }
    }

    /// Starts the first one, and when it is active, the other.
    async fn start(&self) -> (Program, Program) {
        let first = self.first.start_beside().await;
        self.first.until_ready_is(&first, 200).await;
        self.until(|slack| slack.connection_counts().open >= 2).await;
        for channel in self.channels.iter().chain([&self.stage.tea, &self.stage.attic]) {
            let kept = format!("SELECT count(*) FROM bookmarks WHERE place = '{channel}'");
            self.until_counted(&kept, 1).await;
        }
        let second = self.second.start_beside().await;
        let why = self.second.until_ready_is(&second, 503).await;
        assert!(why.contains("active"), "{why}");
        assert_eq!(second.request("/live").await.status(), 200);
        (first, second)
    }

    /// People say these lines. Each question stands in a thread of its own.
    fn talk(&self, lines: Range<usize>) {
        let stage = &self.stage;
        let mut last = Ts::default();
        for number in lines {
            let channel = &self.channels[number / EVERY % CHANNELS];
            if number % EVERY == EVERY - 1 {
                let question = format!("<@{}> {}", stage.bot, line(number));
                stage.says_in_thread(channel, last, &stage.mio, &question);
            } else {
                last = stage.says(channel, &stage.ren, &line(number));
            }
        }
    }

    /// What people said, in the order of the letters.
    fn said(&self) -> Vec<String> {
        let mut said: Vec<String> = (0..LINES).map(line).collect();
        said.sort();
        said
    }

    /// What is kept of it.
    async fn kept(&self) -> Vec<String> {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let statement = "SELECT text FROM messages WHERE author_kind = 'human' ORDER BY at_ms";
        let rows = query(statement).fetch_all(&mut connection).await.unwrap();
        let mention = "@Aizuchi ";
        let text = |text: String| text.strip_prefix(mention).unwrap_or(&text).to_owned();
        let mut kept: Vec<String> = rows.iter().map(|row| text(row.get("text"))).collect();
        kept.sort();
        kept
    }

    /// How many answers there are in each thread.
    fn answers(&self) -> BTreeMap<Option<Ts>, usize> {
        let mut answers = BTreeMap::new();
        for post in self.stage.slack.posts() {
            *answers.entry(post.thread).or_default() += 1;
        }
        answers
    }

    /// Waits until something is so in the workspace.
    async fn until(&self, is_so: impl Fn(&FakeSlack) -> bool) {
        let mut changed = self.stage.slack.subscribe();
        let waiting = async {
            while !is_so(&self.stage.slack) {
                changed.changed().await.unwrap();
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, waiting).await;
        in_time.unwrap_or_else(|_| panic!("{}", self.logs()));
    }

    /// Waits until a statement counts so many in the database.
    async fn until_counted(&self, statement: &str, count: i64) {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let mut counted = -1;
        let waiting = async {
            while counted != count {
                tokio::time::sleep(LOOK).await;
                let row = query(AssertSqlSafe(statement.to_owned())).fetch_one(&mut connection);
                counted = row.await.unwrap().get(0);
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, waiting).await.is_ok();
        assert!(in_time, "{statement}: {counted} and not {count}\n{}", self.logs());
    }

    /// The server ends the session of whoever is active.
    async fn end_session(&self) {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let statement = "
            SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l
            JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
            WHERE l.locktype = 'advisory' AND l.granted";
        let ended = query(statement).fetch_all(&mut connection).await.unwrap();
        assert_eq!(ended.len(), 1, "one is active");
    }

    fn logs(&self) -> String {
        let log = |home: &Home| {
            let path: PathBuf = home.path().join("log");
            std::fs::read_to_string(path).unwrap_or_default()
        };
        format!("first:\n{}\nsecond:\n{}", log(&self.first), log(&self.second))
    }
}

/// A line unlike all others.
fn line(number: usize) -> String {
    format!("what of the {number}th rose?")
}
