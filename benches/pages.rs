//! Measures each page of the console over HTTP, on a generated history of ninety days in the local room and a tenth of it in
//! another workspace. Criterion tells a mean; what a page promises is a percentile, so this prints the first answer, the median
//! and the 95th percentile. A message is posted before each read, as in a workspace that is alive: what is kept only as long
//! as nothing happens is not what a user waits for.
//!
//! `AIZUCHI_BENCH_MESSAGES` is how many messages the history has (100 000 if omitted), and `AIZUCHI_BENCH_RUNS` how often each
//! page is read (40 if omitted). With `AIZUCHI_BENCH_P95_MS` it fails if a page takes longer at the 95th percentile.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use aizuchi::app::App;
use aizuchi_config::Config;
use aizuchi_harness::net::http;
use aizuchi_store::sqlite;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reqwest::Client;
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const DAYS: i64 = 90;
const DAY_MS: i64 = 24 * 3_600_000;
/// So many messages of one channel in a row are one decision.
const MESSAGES_OF_DECISION: i64 = 7;
const CHANNELS: i64 = 50;
const TOKEN: &str = "open-sesame-0123456789";
const SEARCH: &str = "/console/channels/local/c00?q=talk";
/// Only the newest messages are indexed, so that the search finds some, and the rest is not waited for.
const INDEXED: i64 = 1000;

fn main() -> ExitCode {
    let messages = number("AIZUCHI_BENCH_MESSAGES").unwrap_or(100_000);
    let runs = number("AIZUCHI_BENCH_RUNS").unwrap_or(40);
    let most =
        number("AIZUCHI_BENCH_P95_MS").map(|limit| Duration::from_millis(limit.unsigned_abs()));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pages.db");
    let now = Timestamp::now();
    let runtime = Runtime::new().expect("a runtime");
    let slow = runtime.block_on(async {
        fill(&path, messages, now).await;
        let text = format!(
            "storage: {{url: \"sqlite://{}\"}}\nhttp: {{listen: 127.0.0.1:0, token: {TOKEN}}}\nresponse: {{announce: false}}\ntimezone: UTC\n",
            path.display()
        );
        let config = Config::parse(&text).expect("a config");
        let reread = || Config::parse(&text);
        let app = App::open(&config, reread, Instant::now()).await.expect("the program");
        let address = format!("http://{}", app.address);
        let stop = CancellationToken::new();
        let measuring = async {
            until_found(&address).await;
            println!("{messages} messages, each page read {runs} times, a message posted before each");
            if let Some(most) = most {
                println!("limit of the 95th percentile: {} ms", most.as_millis());
            }
            println!("{:<84} {:>9} {:>9} {:>9} {:>9}", "page", "first", "p50", "p95", "KiB");
            let mut slow = Vec::new();
            for page in pages(messages, now) {
                let taken = measure(&address, &page, runs).await;
                if most.is_some_and(|most| taken > most) {
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
    eprintln!("too slow: {}", slow.join(" "));
    ExitCode::FAILURE
}

fn number(variable: &str) -> Option<i64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("the variable is a number"))
}

/// The pages, those about a channel for the busiest one.
fn pages(messages: i64, now: Timestamp) -> Vec<String> {
    let channel = "/console/channels/local/c00";
    let today = now.to_zoned(TimeZone::UTC).date();
    let decision = messages / MESSAGES_OF_DECISION / 2;
    let mut pages: Vec<String> = [
        "/console",
        "/console/channels",
        "/console/channels?sort=cost",
        "/console/queue",
        "/console/orders",
        "/console/memory?workspace=local",
        "/console/memory?workspace=local&channel=c00",
        "/console/persona",
        "/console/memory?workspace=local&person=u07",
        "/console/memory/versions?workspace=local&scope=channel&channel=c00&term=long_term",
        "/console/report?workspace=local&days=1",
        "/console/report?workspace=local&days=7",
        "/console/report?workspace=local&days=30",
        "/console/report?workspace=T0GARDEN&days=7",
        "/console/api",
        "/api/status",
        "/api/figures?workspace=local&days=90",
        "/console/figures?workspace=T0GARDEN&days=30",
        "/console/memory?workspace=T0GARDEN",
        "/console/channels/T0GARDEN/c00",
    ]
    .map(str::to_owned)
    .into();
    pages.extend([7, 30, 90].map(|days| format!("/console/figures?workspace=local&days={days}")));
    let failed = "?outcome=failed".to_owned();
    let queries = [
        String::new(),
        failed,
        "?outcome=open".to_owned(),
        "?outcome=superseded".to_owned(),
        format!("?outcome=spoke&from={today}T00:00"),
        "?gate=budget".to_owned(),
        "?person=u07".to_owned(),
        "?q=talk".to_owned(),
        // In no message.
        "?q=kettle".to_owned(),
        "/what-if".to_owned(),
    ];
    pages.extend(queries.map(|query| format!("{channel}{query}")));
    pages.push(format!("/console/decisions/local/{decision}"));
    pages.push(format!("/console/decisions/local/{decision}/judge"));
    pages
}

/// The 95th percentile.
async fn measure(address: &str, page: &str, runs: i64) -> Duration {
    let client = http();
    let (first, bytes) = read(&client, address, page).await;
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        post(&client, address).await;
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
    percentile(95)
}

/// Waits until the messages are indexed, and nothing is while the pages are measured.
async fn until_found(address: &str) {
    let client = http();
    loop {
        let request = client.get(format!("{address}{SEARCH}")).header("accept", "text/html");
        let answer = request.bearer_auth(TOKEN).send().await.expect("an answer");
        if answer.text().await.expect("a page").contains("data-testid=\"row\"") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Posts a message to the busiest channel.
async fn post(client: &Client, address: &str) {
    let body = json!({ "channel": "c00", "user": "olga", "text": "and one more line" });
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

/// Creates a database with this number of messages in the last ninety days.
async fn fill(path: &Path, messages: i64, now: Timestamp) {
    // The store creates the tables.
    drop(sqlite::open(path).await.expect("a new database"));
    let options = SqliteConnectOptions::new().filename(path);
    let mut database = options.connect().await.expect("the database");
    for statement in statements(messages, now.as_millisecond()) {
        database.execute(sqlx::AssertSqlSafe(statement)).await.expect("a statement");
    }
    database.close().await.expect("the database closes");
}

fn statements(messages: i64, now_ms: i64) -> Vec<String> {
    let decisions = messages / MESSAGES_OF_DECISION;
    let begin_ms = now_ms - DAYS * DAY_MS;
    let step_ms = (DAYS * DAY_MS / (messages + 1)).max(1);
    let numbers = |count: i64| {
        format!(
            "(WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n LIMIT {count}) SELECT value FROM n)"
        )
    };
    // Some channels are much busier than others.
    let channel = |block: &str| {
        let spread = format!("({block} * 7919 % 100)");
        format!("printf('c%02d', {spread} * {spread} * {CHANNELS} / 10000)")
    };
    let at = |message: &str| format!("({begin_ms} + {message} * {step_ms})");
    let block = format!("(value / {MESSAGES_OF_DECISION})");
    let ended_at = at(&format!("(value * {MESSAGES_OF_DECISION} + {MESSAGES_OF_DECISION})"));
    let opened_at = at(&format!("(value * {MESSAGES_OF_DECISION})"));
    let spoke = "value % 100 < 8";
    let was_judged = "value % 100 < 60";
    vec![
        "BEGIN".to_owned(),
        format!(
            "INSERT INTO channels (workspace, id, name, visibility)
             SELECT 'local', printf('c%02d', value), printf('room-%02d', value), 'public' FROM {}",
            numbers(CHANNELS)
        ),
        format!(
            "INSERT INTO users (workspace, id, name, kind)
             SELECT 'local', printf('u%02d', value), printf('u%02d', value), 'human' FROM {}",
            numbers(40)
        ),
        format!(
            "INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions,
                visibility, decision, heard, revision)
             SELECT 'local', {}, printf('m%09d', value), '', {}, printf('u%02d', value * 31 % 40), 'human',
                'a line of talk that is about as long as lines of talk usually are, number ' || value
                    || CASE WHEN value % 10 = 0 THEN ', is it?' ELSE '' END,
                '[]', 'public', {block} + 1, value + 1, value + 1
             FROM {}",
            channel(&block),
            at("value"),
            numbers(decisions * MESSAGES_OF_DECISION)
        ),
        format!(
            "INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, gate, judgment,
                state, ended, why, revision)
             SELECT value + 1, 'local', {}, '', {opened_at}, {ended_at}, value % 100 < 5,
                CASE WHEN {was_judged} THEN NULL ELSE 'unchanged' END,
                CASE WHEN {was_judged} THEN json_object('should_respond', json(iif({spoke}, 'true', 'false')),
                    'reason', 'a reason of the usual length, which nobody has to read', 'confidence', 0.7,
                    'delay_seconds', NULL, 'about', NULL) END,
                value, CASE WHEN {spoke} THEN 'spoke' WHEN value % 100 < 10 THEN 'reacted'
                    WHEN value % 100 < 15 THEN 'dropped' WHEN value % 1000 = 15 THEN 'failed' ELSE 'chose_silence' END,
                'as it was', {MESSAGES_OF_DECISION} * (value + 1)
             FROM {}",
            channel("value"),
            numbers(decisions)
        ),
        format!(
            "INSERT INTO attempts (decision, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens, cached_tokens,
                output_tokens, latency_ms, result, judgment, price_micros, workspace, channel)
             SELECT d.id, v.verb, d.opened_ms, 'anthropic/claude-haiku-4-5', '0123456789abcdef', 9000, 2500, 1800, 120, 900,
                'kept', CASE v.verb WHEN 'judge' THEN d.judgment END, 2900, d.workspace, d.channel
             FROM decisions AS d, (SELECT 'judge' AS verb UNION ALL SELECT 'reply') AS v
             WHERE d.judgment IS NOT NULL AND (v.verb = 'judge' OR d.ended = 'spoke')"
        ),
        "INSERT INTO attempts (decision, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens, cached_tokens,
            output_tokens, latency_ms, result, price_micros, chore, workspace, channel)
         SELECT 0, 'remember', opened_ms, 'anthropic/claude-haiku-4-5', '0123456789abcdef', 9000, 6500, 800, 420, 900,
            'kept', 7900, 'channel/short_term/' || channel, workspace, channel
         FROM decisions WHERE id % 8 = 0"
            .to_owned(),
        "INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility,
            heard, revision)
         SELECT workspace, channel, printf('p%09d', id), '', closed_ms, 'persona', 'persona', 'of course it is', '[]',
            'public', revision, revision
         FROM decisions WHERE ended = 'spoke'"
            .to_owned(),
        "INSERT INTO outbox (id, draft, workspace, channel, thread, decision, key, text, notes, state, dispatched_ms,
            message, is_unasked)
         SELECT id, id, workspace, channel, '', id, 'key-' || id, '', '{}', 'said', closed_ms, printf('p%09d', id),
            1 - is_addressed
         FROM decisions WHERE ended = 'spoke'"
            .to_owned(),
        "INSERT INTO reactions (workspace, channel, message, emoji, user_id, kind, at_ms)
         SELECT workspace, channel, id, '👍', 'u01', 'human', at_ms + 60000 FROM messages
         WHERE author_kind = 'persona' OR revision % 10 = 0"
            .to_owned(),
        "UPDATE messages SET reacted = revision WHERE author_kind = 'persona' OR revision % 10 = 0".to_owned(),
        "INSERT INTO channels (workspace, id, name, visibility)
         SELECT 'T0GARDEN', id, name, visibility FROM channels WHERE workspace = 'local'"
            .to_owned(),
        "INSERT INTO users (workspace, id, name, kind)
         SELECT 'T0GARDEN', id, name, kind FROM users WHERE workspace = 'local'"
            .to_owned(),
        "INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility,
            heard, revision)
         SELECT 'T0GARDEN', channel, id, thread, at_ms, author, author_kind, text, mentions, visibility, heard, revision
         FROM messages WHERE author_kind = 'human' AND revision % 10 = 0"
            .to_owned(),
        format!(
            "INSERT INTO memories (id, workspace, scope, channel, thread, term, is_current, made_ms, newest_ms, entries,
                lost)
             SELECT n.value + 1, 'local', 'channel', printf('c%02d', n.value), '', 'long_term', 1, {now_ms}, {now_ms},
                (SELECT json_group_array(json_object('date', '2026-03-01', 'text',
                    'an entry that is about as long as entries usually are, number ' || e.value, 'visibility', 'public',
                    'lines', json_array(json_array('c00', printf('m%09d', e.value))), 'pinned', json('false'),
                    'removed', json('false'))) FROM {} AS e), '[]'
             FROM {} AS n",
            numbers(40),
            numbers(CHANNELS)
        ),
        format!(
            "INSERT INTO memos (id, workspace, realm, name, channel, priority, updated_ms, touched, memo)
             SELECT 1000 + value, 'local', '', 'memo ' || value, 'c00', 3, {now_ms}, 1,
                json_object('name', 'memo ' || value, 'content', 'what a memo usually says', 'priority', 3,
                    'tags', json_array('tag'), 'detail', NULL, 'created', '2026-01-01T00:00:00Z',
                    'updated', '2026-01-01T00:00:00Z', 'channel', 'c00', 'visibility', 'public', 'said_by', 'u01')
             FROM {}",
            numbers(500)
        ),
        format!(
            "INSERT INTO given_orders (workspace, at_ms, given_by, kind, channel, user_id)
             SELECT 'local', {now_ms} - value, 'olga', iif(value % 2 = 0, 'mute', 'unmute'), 'c00', '' FROM {}",
            numbers(5000)
        ),
        format!(
            "INSERT INTO opted_out (workspace, user) SELECT 'T0GARDEN', printf('u%02d', value) FROM {}",
            numbers(30)
        ),
        format!("UPDATE counters SET revision = {messages}, last_number = {messages}"),
        format!("UPDATE recall_watermark SET revision = {}", (messages - INDEXED).max(0)),
        "COMMIT".to_owned(),
    ]
}
