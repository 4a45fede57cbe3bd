//! Measures reading a context and rendering a prompt from it, by the number of messages in the database and of channels
//! with memories of six lines each.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use aizuchi_llm::prompt::builder::{PromptBuilder, PromptOptions};
use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, WorkspaceId};
use aizuchi_model::context::ContextLimits;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_store::{Store, sqlite};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor};
use tokio::runtime::Runtime;

/// The time of the newest message.
const NOW_MS: i64 = 1_800_000_000_000;

fn channel(number: u64) -> ChannelId {
    ChannelId::new(format!("c{number:03}"))
}

/// Creates a database with this number of messages, spread over channels. Every tenth is a reply in a thread.
async fn fill(path: &Path, messages: u64, channels: u64) {
    // The store creates the tables.
    drop(sqlite::open(path).await.expect("a new database"));
    let options = SqliteConnectOptions::new().filename(path);
    let mut database = options.connect().await.expect("the database");
    let memory = (0..6)
        .map(|line| {
            format!("- 2027-01-1{line}: somebody said what a memory says in seventy letters")
        })
        .collect::<Vec<_>>()
        .join("\\n")
        .replace("\\n", "\n");
    let statements = [
        "BEGIN".to_owned(),
        format!(
            "INSERT INTO channels (workspace, id, name, visibility) SELECT 'w', printf('c%03d', value), printf('room-%03d', value), 'public'
             FROM (WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n LIMIT {channels})
                   SELECT value FROM n)"
        ),
        "INSERT INTO users SELECT 'w', printf('u%02d', value), printf('member %d', value), 'human'
         FROM (WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n LIMIT 40)
               SELECT value FROM n)"
            .to_owned(),
        format!(
            "INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions,
                 visibility, heard, revision)
             SELECT 'w', printf('c%03d', value % {channels}), printf('m%08d', value),
                 CASE WHEN value % 10 = 9 AND value >= {channels} THEN printf('m%08d', value - {channels}) ELSE '' END,
                 {NOW_MS} - ({messages} - value) * 1000, printf('u%02d', value % 40), 'human',
                 'a line of talk that is about as long as lines of talk usually are, number ' || value,
                 '[]', 'public', value + 1, value + 1
             FROM (WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n LIMIT {messages})
                   SELECT value FROM n)"
        ),
        format!(
            "INSERT INTO memories (workspace, scope, channel, thread, term, is_current, made_ms, newest_ms, entries,
                 lost, text, public_text)
             SELECT 'w', 'channel', c.id, '', t.term, 1, {NOW_MS}, {NOW_MS}, '[]', '[]', '{memory}', '{memory}'
             FROM channels AS c, (SELECT 'long_term' AS term UNION SELECT 'short_term') AS t"
        ),
        format!("UPDATE counters SET revision = {messages}"),
        // Nothing must be indexed while the benchmark runs.
        format!("UPDATE recall_watermark SET revision = {messages}"),
        "COMMIT".to_owned(),
    ];
    for statement in statements {
        database.execute(sqlx::AssertSqlSafe(statement)).await.expect("a statement");
    }
    database.close().await.expect("the database closes");
}

fn contexts(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let persona = Arc::new(Persona {
        name: "Aizuchi".to_owned(),
        system_prompt: "You are kind.".to_owned(),
        language: Language::En,
    });
    let prompts = PromptBuilder::load(Language::En, None).expect("the prompts");
    let mut group = criterion.benchmark_group("context");
    group.sample_size(30);
    for messages in [10_000, 100_000, 1_000_000] {
        for channels in [10, 50, 200] {
            let path = folder.path().join(format!("{messages}-{channels}.db"));
            let (store, _writer) = runtime.block_on(async {
                fill(&path, messages, channels).await;
                sqlite::open(&path).await.expect("the database")
            });
            let now = Timestamp::from_millisecond(NOW_MS).expect("a time");
            let window = ContextLimits::default().window(now);
            let top = ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: channel(messages % channels),
                thread: None,
            };
            let replied = (messages - 1) / 10 * 10 + 9 - channels;
            let thread = ConversationId {
                channel: channel(replied % channels),
                thread: Some(MessageId::new(format!("m{replied:08}"))),
                ..top.clone()
            };
            let size = format!("{messages} messages, {channels} channels");
            for (name, conversation) in [("top level", &top), ("thread", &thread)] {
                group.bench_function(BenchmarkId::new(name, &size), |bencher| {
                    bencher.iter(|| {
                        let context = runtime.block_on(store.context(conversation, &window));
                        black_box(context.expect("a context"))
                    });
                });
            }
            let context = runtime.block_on(store.context(&top, &window)).expect("a context");
            assert!(context.target_messages().len() >= 45 && context.channel_memories.len() > 9);
            let context = Arc::new(context);
            let options = PromptOptions::new(now);
            group.bench_function(BenchmarkId::new("render", &size), |bencher| {
                bencher.iter(|| black_box(prompts.judge(&persona, &context, &options)));
            });
            drop(store);
            let _ = std::fs::remove_file(&path);
        }
    }
    group.finish();
}

criterion_group!(benches, contexts);
criterion_main!(benches);
