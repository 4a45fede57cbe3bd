//! Measures each page of the console over HTTP on the generated history that the tests' pages show too: 300 channels and
//! 800 users in three workspaces, 30 days. Criterion tells a mean; what a page promises is a percentile, so this prints the
//! first answer, the median and the 95th percentile. A message is posted before each read, as in a workspace that is alive:
//! what is kept only as long as nothing happens is not what a user waits for.
//!
//! `AIZUCHI_BENCH_MESSAGES` is how many messages the history has (100 000 if omitted), and `AIZUCHI_BENCH_RUNS` how often each
//! page is read (40 if omitted). `AIZUCHI_BENCH_POSTGRES` names an empty database to fill instead of a file. With
//! `AIZUCHI_BENCH_P95_MS` it fails if a page takes longer at the 95th percentile.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use aizuchi::app::App;
use aizuchi_config::Config;
use aizuchi_harness::net::http;
use aizuchi_harness::seeded::{Seeded, create};
use aizuchi_store::database::connection::{Connection, query};
use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_store::{postgres, sqlite};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reqwest::Client;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "open-sesame-0123456789";
/// A page is not larger, before it is compressed.
const MAX_KIB: usize = 100;

fn main() -> ExitCode {
    let messages = number("AIZUCHI_BENCH_MESSAGES").unwrap_or(100_000);
    let runs = number("AIZUCHI_BENCH_RUNS").unwrap_or(40);
    let most = number("AIZUCHI_BENCH_P95_MS").map(|limit| Duration::from_millis(limit as u64));
    let folder = tempfile::tempdir().expect("a folder");
    let url = std::env::var("AIZUCHI_BENCH_POSTGRES")
        .unwrap_or_else(|_| format!("sqlite://{}", folder.path().join("pages.db").display()));
    let location = match PostgresUrl::parse(&url) {
        Some(server) => DatabaseLocation::Postgres(server),
        None => DatabaseLocation::Sqlite(folder.path().join("pages.db")),
    };
    let now = Timestamp::now();
    let seeded = Seeded { channels: 300, users: 800, days: 30, messages, seed: 1, now };
    let runtime = Runtime::new().expect("a runtime");
    let slow = runtime.block_on(async {
        create(&location, &seeded).await.expect("a history");
        let busiest = Busiest::find(&location).await;
        let text = format!(
            "storage: {{url: \"{url}\"}}\nhttp: {{listen: 127.0.0.1:0, token: {TOKEN}}}\nresponse: {{announce: false}}\ntimezone: UTC\n"
        );
        let config = Config::parse(&text).expect("a config");
        let reread = || Config::parse(&text);
        let app = App::open(&config, reread, Instant::now()).await.expect("the program");
        let address = format!("http://{}", app.address);
        let stop = CancellationToken::new();
        let measuring = async {
            println!("{messages} messages, each page read {runs} times, a message posted before each");
            until_found(&address, &busiest).await;
            println!("{:<84} {:>9} {:>9} {:>9} {:>9}", "page", "first", "p50", "p95", "KiB");
            let mut slow = Vec::new();
            for page in busiest.pages(now) {
                let (taken, kib) = measure(&address, &busiest, &page, runs).await;
                if most.is_some_and(|most| taken > most || kib > MAX_KIB) {
                    slow.push(page);
                }
            }
            stop.cancel();
            slow
        };
        let (ended, slow) = tokio::join!(app.run(stop.clone()), measuring);
        ended.expect("it runs until it is stopped");
        slow
    });
    if slow.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("too slow, or larger than {MAX_KIB} KiB: {}", slow.join(" "));
    ExitCode::FAILURE
}

fn number(variable: &str) -> Option<usize> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("the variable is a number"))
}

/// The channel of the local room in which most was said, and a decision in its middle.
struct Busiest {
    channel: String,
    decision: i64,
}

impl Busiest {
    async fn find(location: &DatabaseLocation) -> Self {
        let mut connection: Connection = match location {
            DatabaseLocation::Sqlite(path) => sqlite::connect_secondary(path).await,
            DatabaseLocation::Postgres(server) => postgres::connect_secondary(server).await,
        }
        .expect("a connection");
        let channels = query(
            "SELECT channel, (min(id) + max(id)) / 2 AS middle FROM decisions WHERE workspace = 'local'
             GROUP BY channel ORDER BY count(*) DESC LIMIT 1",
        );
        let row = channels.fetch_one(&mut connection).await.expect("a channel");
        let channel = row.text("channel").expect("an id").expect("an id");
        let middle = row.number("middle").expect("a number").expect("a number");
        let decisions = query(
            "SELECT max(id) AS id FROM decisions WHERE workspace = 'local' AND channel = $1 AND id <= $2",
        );
        let found = decisions.bind(&*channel).bind(middle).fetch_one(&mut connection).await;
        let decision = found.expect("a decision").number("id").expect("an id").expect("an id");
        connection.close().await.expect("it closes");
        Self { channel, decision }
    }

    fn search(&self) -> String {
        format!("/console/channels/local/{}?q=list", self.channel)
    }

    /// The pages, those about a channel for the busiest one.
    fn pages(&self, now: Timestamp) -> Vec<String> {
        let Self { channel: name, decision } = self;
        let channel = format!("/console/channels/local/{name}");
        let today = now.to_zoned(TimeZone::UTC).date();
        let mut pages: Vec<String> = [
            "/console",
            "/console?result=spoke",
            "/console?result=failed",
            "/console/channels",
            "/console/channels?sort=cost",
            "/console/channels?only=silent",
            "/console/queue",
            "/console/failures",
            "/console/figures?days=7",
            "/console/figures?days=30",
            "/console/figures?workspace=local&days=90",
            "/console/figures?workspace=slack:T0SEEDED&days=30",
            "/console/people",
            "/console/people?q=Mia",
            "/console/people/local/Mia",
            "/console/memory?workspace=local",
            "/console/memory?workspace=slack:T0SEEDED",
            "/console/memory?workspace=local&person=Mia",
            "/console/persona",
            "/console/orders",
            "/console/configuration",
            "/console/report?workspace=local&days=1",
            "/console/report?workspace=local&days=7",
            "/console/report?workspace=local&days=30",
            "/console/api",
            "/api/status",
            "/api/figures?workspace=local&days=30",
        ]
        .map(str::to_owned)
        .into();
        pages.push(format!("/console/memory?workspace=local&channel={name}"));
        let queries = [
            String::new(),
            "?outcome=failed".to_owned(),
            "?outcome=open".to_owned(),
            "?outcome=superseded".to_owned(),
            format!("?outcome=spoke&from={today}T00:00"),
            "?gate=budget".to_owned(),
            "?person=Mia".to_owned(),
            "?q=list".to_owned(),
            // In no message.
            "?q=kettle".to_owned(),
            "/what-if".to_owned(),
        ];
        pages.extend(queries.map(|query| format!("{channel}{query}")));
        pages.push(format!("/console/decisions/local/{decision}"));
        pages.push(format!("/console/decisions/local/{decision}/judge"));
        pages
    }
}

/// The 95th percentile, and the size in KiB.
async fn measure(address: &str, busiest: &Busiest, page: &str, runs: usize) -> (Duration, usize) {
    let client = http();
    let (first, bytes) = read(&client, address, page).await;
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        post(&client, address, busiest).await;
        times.push(read(&client, address, page).await.0);
    }
    times.sort_unstable();
    let percentile = |percent: usize| times[(times.len() * percent).div_ceil(100) - 1];
    let told = [first, percentile(50), percentile(95)].map(|time| {
        let milliseconds = time.as_secs_f64() * 1000.0;
        format!("{milliseconds:.1} ms")
    });
    let kib = bytes / 1024;
    println!("{page:<84} {:>9} {:>9} {:>9} {kib:>9}", told[0], told[1], told[2]);
    (percentile(95), kib)
}

/// Waits until the messages are indexed, and nothing is while the pages are measured.
async fn until_found(address: &str, busiest: &Busiest) {
    let client = http();
    loop {
        let request = client.get(format!("{address}{}", busiest.search()));
        let answer = request.header("accept", "text/html").bearer_auth(TOKEN).send().await;
        let page = answer.expect("an answer").text().await.expect("a page");
        if page.contains("data-testid=\"row\"") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Posts a message to the busiest channel.
async fn post(client: &Client, address: &str, busiest: &Busiest) {
    let body = json!({ "channel": busiest.channel, "user": "olga", "text": "and one more line" });
    let request = client.post(format!("{address}/api/messages")).bearer_auth(TOKEN);
    let answer = request.json(&body).send().await.expect("an answer");
    assert!(answer.status().is_success(), "a message: {}", answer.status());
}

/// How long a page takes, and its size before it is compressed.
async fn read(client: &Client, address: &str, page: &str) -> (Duration, usize) {
    let begin = Instant::now();
    let request = client.get(format!("{address}{page}")).header("accept", "text/html");
    let answer = request.bearer_auth(TOKEN).send().await.expect("an answer");
    assert!(answer.status().is_success(), "{page}: {}", answer.status());
    let body = answer.bytes().await.expect("a page");
    (begin.elapsed(), body.len())
}
