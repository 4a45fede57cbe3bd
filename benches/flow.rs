//! Measures hearing messages, claiming and completing steps, and replays. Machines are noisy, so compare only figures
//! of one run.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_import::input::{InputOptions, Recording};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, ChannelId, ConversationId, Heard, Message, MessageId, UserId,
    WorkspaceId,
};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::flow::{
    Debounce, DecisionClosing, Disposition, OnNewMessage, Outcome, StepResult,
};
use aizuchi_past::replay::{Policy, ReplayJudge, ReplaySettings, replay};
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_store::volatile::VolatileStore;
use aizuchi_store::{HearReceipt, InboxEntry, Store, StoreError};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use sqlx::Connection as _;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const CHANNELS: u64 = 50;
const IN_FLIGHT: usize = 64;

/// The `number`th message of an invented workspace: one each second, channel after channel.
fn entry(number: u64) -> InboxEntry {
    let at = Timestamp::from_second(1_800_000_000 + number as i64).expect("in range");
    let message = Message {
        conversation: ConversationId {
            workspace: WorkspaceId::new("bench"),
            channel: ChannelId::new(format!("c{}", number % CHANNELS)),
            thread: None,
        },
        id: MessageId::new(format!("{number:012}")),
        at,
        author: Author { id: UserId::new(format!("u{}", number % 17)), kind: AuthorKind::Human },
        text: "a line of the usual length, neither short nor long, about nothing much".into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    };
    let due = at + SignedDuration::from_secs(300);
    let debounce =
        Debounce { due, max_wait: SignedDuration::MAX, on_new_message: OnNewMessage::Restart };
    InboxEntry::new(Heard::Message(message, Arrival::Live), Disposition::Judge(debounce), due)
}

#[derive(Clone, Copy)]
enum DatabaseKind {
    File,
    /// A new database on the server that `AIZUCHI_BENCH_POSTGRES` names.
    Server,
}

impl DatabaseKind {
    fn all() -> impl Iterator<Item = (&'static str, DatabaseKind)> {
        let server =
            std::env::var_os("AIZUCHI_BENCH_POSTGRES").map(|_| ("postgres", DatabaseKind::Server));
        std::iter::once(("sqlite", DatabaseKind::File)).chain(server)
    }

    async fn location(self, folder: &tempfile::TempDir) -> DatabaseLocation {
        let DatabaseKind::Server = self else {
            return DatabaseLocation::Sqlite(folder.path().join("bench.db"));
        };
        let url = std::env::var("AIZUCHI_BENCH_POSTGRES").expect("the server's URL");
        let name = format!("bench_{}", uuid::Uuid::now_v7().simple());
        let mut connection = sqlx::PgConnection::connect(&url).await.expect("the server");
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::raw_sql(create).execute(&mut connection).await.expect("a new database");
        let (server, _) = url.rsplit_once('/').expect("a database in the URL");
        DatabaseLocation::Postgres(
            PostgresUrl::parse(&format!("{server}/{name}")).expect("the new one's URL"),
        )
    }
}

/// A filled database, and the number of the next message.
struct FilledDatabase {
    store: Arc<DatabaseStore>,
    next: u64,
    _folder: tempfile::TempDir,
}

impl FilledDatabase {
    fn new(runtime: &Runtime, kind: DatabaseKind, rows: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the database");
        let store = runtime.block_on(async {
            let (store, writer) = kind.location(&folder).await.open().await.expect("it opens");
            tokio::spawn(writer.run(CancellationToken::new()));
            let store = Arc::new(store);
            stream::iter(0..rows)
                .map(|number| store.hear(entry(number)))
                .buffer_unordered(1024)
                .for_each(check)
                .await;
            store
        });
        Self { store, next: rows, _folder: folder }
    }

    fn take(&mut self, count: u64) -> std::ops::Range<u64> {
        self.next += count;
        self.next - count..self.next
    }
}

/// Checks each receipt, so that a failure is not mistaken for speed.
async fn check(heard: Result<HearReceipt, StoreError>) {
    assert!(heard.expect("it is heard").is_new);
}

fn hear(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = criterion.benchmark_group("hear");
    group.throughput(Throughput::Elements(1)).sample_size(20);
    let sizes = [0, 100_000, 1_000_000];
    for (kind, rows) in DatabaseKind::all().flat_map(|kind| sizes.map(|rows| (kind, rows))) {
        let mut filled = FilledDatabase::new(&runtime, kind.1, rows);
        let size = format!("{} {rows}", kind.0);
        group.bench_function(BenchmarkId::new("one at a time", &size), |bencher| {
            bencher.iter_custom(|count| {
                let numbers = filled.take(count);
                let store = filled.store.clone();
                runtime.block_on(async move {
                    let begin = Instant::now();
                    for number in numbers {
                        store.hear(entry(number)).await.expect("it is heard");
                    }
                    begin.elapsed()
                })
            });
        });
        group.bench_function(BenchmarkId::new("64 in flight", &size), |bencher| {
            bencher.iter_custom(|count| {
                let numbers = filled.take(count);
                let store = filled.store.clone();
                runtime.block_on(async move {
                    let begin = Instant::now();
                    stream::iter(numbers)
                        .map(|number| store.hear(entry(number)))
                        .buffer_unordered(IN_FLIGHT)
                        .for_each(check)
                        .await;
                    begin.elapsed()
                })
            });
        });
    }
    group.finish();
}

/// Claims due steps, up to the limit of a runner, and completes them concurrently.
async fn claim_and_complete(store: &dyn Store, steps: u64) -> Duration {
    let now = Timestamp::from_second(2_000_000_000).expect("in range");
    let begin = Instant::now();
    let mut left = steps as usize;
    while left > 0 {
        let limit = left.min(IN_FLIGHT);
        let claims =
            store.claim(now, SignedDuration::from_secs(100), limit).await.expect("it claims");
        assert_eq!(claims.len(), limit, "there are enough steps");
        let closing = DecisionClosing::new(DecisionResult::ChoseSilence, "they get along");
        let outcome = Outcome::new(StepResult::Silent(closing));
        let completed = claims.iter().map(|claim| store.complete(claim, outcome.clone(), now));
        join_all(completed).await.into_iter().for_each(|done| {
            done.expect("it completes");
        });
        left -= limit;
    }
    begin.elapsed()
}

fn claim(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = criterion.benchmark_group("claim and complete");
    group.throughput(Throughput::Elements(1)).sample_size(10);
    let databases: Vec<_> = DatabaseKind::all()
        .map(|(name, kind)| (name, FilledDatabase::new(&runtime, kind, 0)))
        .collect();
    let databases =
        databases.iter().map(|(name, filled)| (*name, filled.store.clone() as Arc<dyn Store>));
    let volatile: Arc<dyn Store> = Arc::new(VolatileStore::new());
    let stores: Vec<_> = databases.chain([("volatile", volatile)]).collect();
    let mut next = 0;
    for (name, store) in stores {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|steps| {
                runtime.block_on(async {
                    let arm = (next..next + steps).map(|number| {
                        // Every message has a conversation of its own, so that each has a step.
                        let mut entry = entry(number);
                        if let Heard::Message(message, _) = &mut entry.heard {
                            message.conversation.channel = ChannelId::new(format!("one {number}"));
                        }
                        store.hear(entry)
                    });
                    let armed = stream::iter(arm).buffer_unordered(1024);
                    armed.for_each(check).await;
                    next += steps;
                    claim_and_complete(&*store, steps).await
                })
            });
        });
    }
    group.finish();
}

/// Ten thousand invented messages in one channel: bursts with pauses between them.
fn history() -> Recording {
    let mut lines = String::new();
    for number in 0..10_000_u64 {
        let ts = (number / 25) as f64 * 700.0 + (number % 25) as f64 * 7.0;
        let line = serde_json::json!({
            "room": "bench", "id": format!("{number:06}"), "ts": ts, "author": format!("u{}", number % 7),
            "text": "a line of the usual length, neither short nor long, about nothing much",
        });
        lines.push_str(&format!("{line}\n"));
    }
    Recording::read(&mut lines.as_bytes(), "lines", &InputOptions::default())
        .expect("it can be read")
}

fn replayed(criterion: &mut Criterion) {
    let history = history();
    let settings = ReplaySettings { judge: ReplayJudge::Silent, latency_ms: 4000, seed: 1 };
    let mut group = criterion.benchmark_group("replay");
    group.throughput(Throughput::Elements(history.messages())).sample_size(10);
    for name in ["every-message", "debounce-30", "quiet-300"] {
        let file = format!("{}/policies/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let policy = Policy::open(file.as_ref()).expect("the policy is readable");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let score = replay(&history.channels, &policy, &settings, None, &|_| {})
                    .expect("it replays");
                black_box(score)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hear, claim, replayed);
criterion_main!(benches);
