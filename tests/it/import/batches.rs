//! The data of other bots is imported in batches, too: at most one batch is in memory, and the result does not depend
//! on the batch boundaries.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use aizuchi_harness::fixtures::{self, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_import::kotonoha::arranged::KotonohaArranged;
use aizuchi_import::kotonoha::dump::{self, KotonohaOptions, MentionSessions};
use aizuchi_import::myao2::database::Myao2Database;
use aizuchi_import::myao2::{self, Myao2MemoTarget, Myao2Messages, Myao2Options};
use aizuchi_import::record_sorter::SorterLimits;
use aizuchi_import::streamed::{BatchLimits, MAX_BATCH_MESSAGES, StreamedMessage};
use aizuchi_import::{ImportData, ImportReport};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, ChannelId, ConversationId, Heard, Message, UserId, WorkspaceId,
};
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use futures_util::{Stream, StreamExt, stream};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor};
use tempfile::TempDir;

use super::TABLES;

/// How many messages the generated database of myao2 has.
const MESSAGES: usize = 3 * MAX_BATCH_MESSAGES + 10;
/// The time of the first message.
const FIRST_SECOND: i64 = 1_767_603_600;
/// There is a message every ten seconds. Every fifth is the bot's own, with an id that myao2 generated; half of these
/// have the same text, and so does a message of another user right after each.
const GENERATED: &str = "
INSERT INTO messages
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3009)
SELECT n + 1,
    CASE WHEN n % 5 = 0 THEN printf('made-%08d', n) ELSE printf('%d.%06d', 1767603600 + n * 10, n) END,
    CASE WHEN n % 7 = 0 THEN 'C2' ELSE 'C1' END,
    CASE WHEN n % 5 = 0 THEN 'UBOT' ELSE 'U' || (n % 3) END,
    CASE WHEN n % 5 = 0 THEN 'myao' ELSE 'user ' || (n % 3) END,
    n % 5 = 0,
    CASE WHEN n % 10 < 2 THEN 'ok' ELSE 'message ' || n END,
    strftime('%Y-%m-%d %H:%M:%S', 1767603600 + n * 10, 'unixepoch') || '.000000',
    NULL, '[]', '2026-01-05 09:00:00.000000'
FROM numbers";

/// Counts the yielded messages that are still in memory.
#[derive(Default)]
struct Held {
    texts: Vec<Weak<str>>,
    passed: usize,
    most: usize,
}

impl Held {
    fn note(&mut self, streamed: &anyhow::Result<StreamedMessage>) {
        self.texts.retain(|text| text.strong_count() > 0);
        let message = &streamed.as_ref().unwrap().message;
        self.texts.push(Arc::downgrade(&message.text));
        self.passed += 1;
        self.most = self.most.max(self.texts.len());
    }
}

struct OldDatabase {
    path: PathBuf,
    _folder: TempDir,
}

impl OldDatabase {
    async fn generate() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        connection.execute(TABLES).await.unwrap();
        connection.execute(GENERATED).await.unwrap();
        connection.close().await.unwrap();
        Self { path, _folder: folder }
    }
}

async fn read(old: &Path, workspace: &WorkspaceId) -> (ImportData, Myao2Messages) {
    let options = Myao2Options {
        workspace: workspace.clone(),
        persona: None,
        persona_name: "Mio".to_owned(),
        memo_scope: Myao2MemoTarget::OriginChannel,
        zone: TimeZone::UTC,
    };
    let database = Myao2Database::open(old).await.unwrap().unwrap();
    myao2::read(database, options, None).await.unwrap()
}

fn said_at(number: usize) -> Timestamp {
    Timestamp::from_second(FIRST_SECOND + 10 * i64::try_from(number).unwrap()).unwrap()
}

async fn started(store: TestStore) -> Harness {
    let wait_settings = aizuchi_import::wait_settings();
    let options = HarnessOptions { wait_settings, ..HarnessOptions::default() };
    Harness::new(store).await.with_options(options)
}

async fn import(
    harness: &Harness,
    data: ImportData,
    messages: impl Stream<Item = anyhow::Result<StreamedMessage>>,
    limits: BatchLimits,
) -> ImportReport {
    let (inbox, archive) = (&harness.inbox, &*harness.store.archive);
    let (cursors, from) = (&*harness.store.cursors, Some(said_at(MESSAGES - 20)));
    aizuchi_import::import_stream_within(data, messages, inbox, archive, cursors, from, limits)
        .await
        .unwrap()
}

/// Hears the bot's posts as in Slack's history, a second later and under different ids.
async fn hear_history(harness: &Harness, workspace: &WorkspaceId) {
    for number in (0..MESSAGES).step_by(450) {
        let channel = if number % 7 == 0 { "C2" } else { "C1" };
        let conversation = ConversationId { workspace: workspace.clone(), ..top_level(channel) };
        let at = Timestamp::from_second(said_at(number).as_second() + 1).unwrap();
        // Slack's ids are timestamps.
        let id = format!("{}.000000", at.as_second());
        let message = fixtures::message(conversation, &id, at, "myao", "ok");
        let author = Author { kind: AuthorKind::Persona, ..message.author.clone() };
        let heard = Heard::Message(Message { author, ..message }, Arrival::Backfilled);
        harness.inbox.hear(heard).await.unwrap();
    }
}

/// Returns the stored messages of a workspace, as if they were in another one.
async fn stored(harness: &Harness, workspace: &WorkspaceId) -> Vec<StoredMessage> {
    let mut all = Vec::new();
    for channel in ["C1", "C2"] {
        let query = MessageQuery {
            workspace: workspace.clone(),
            channel: ChannelId::new(channel),
            thread: None,
            range: MessageRange::Newest,
            limit: 2 * MESSAGES,
        };
        let messages = harness.store.archive.messages(query).await.unwrap();
        all.extend(messages.into_iter().map(|stored| {
            let mut message = Message::clone(&stored.message);
            message.conversation.workspace = fixtures::workspace();
            StoredMessage { message: Arc::new(message), revision: 0, ..stored }
        }));
    }
    all
}

fn assert_same(some: &[StoredMessage], others: &[StoredMessage]) {
    for (one, other) in some.iter().zip(others) {
        assert_eq!(one, other);
    }
    assert_eq!(some.len(), others.len());
}

#[tokio::test]
async fn no_more_than_a_batch_of_myao2s_messages_is_held() {
    let old = OldDatabase::generate().await;
    on_every_database(async |store| {
        let harness = started(store).await;
        let (data, mut messages) = read(&old.path, &fixtures::workspace()).await;
        let mut held = Held::default();
        let counted = messages.stream().inspect(|message| held.note(message));
        let report = import(&harness, data, counted, BatchLimits::default()).await;
        assert_eq!(held.passed, MESSAGES);
        // The messages remembered for a conversation come on top of a batch.
        assert!(held.most < 2 * MAX_BATCH_MESSAGES, "{}", held.most);
        assert_eq!((report.channels.new, report.users.new), (2, 4));
        // The last four posts of the bot are left to Slack's history.
        assert_eq!(report.messages.new, MESSAGES - 4);
        assert_eq!((report.skipped.len(), report.skipped[0].count), (1, 4));
    })
    .await;
}

#[tokio::test]
async fn batches_import_the_same_as_one_batch() {
    let old = OldDatabase::generate().await;
    on_every_database(async |store| {
        let harness = started(store).await;
        let mut results = Vec::new();
        for (workspace, batch) in [("T1", 97), ("T2", usize::MAX)] {
            let workspace = WorkspaceId::new(workspace);
            hear_history(&harness, &workspace).await;
            let (data, mut messages) = read(&old.path, &workspace).await;
            let limits = BatchLimits { messages: batch, bytes: usize::MAX };
            let report = import(&harness, data, messages.stream(), limits).await;
            results.push((report, stored(&harness, &workspace).await));
        }
        let [(few, in_few), (one, in_one)] = &results[..] else { panic!("there are two") };
        assert_eq!(few, one);
        assert_same(in_few, in_one);
        // Some posts of the bot are already in the history, and only those are matched.
        assert!((7..=28).contains(&few.messages.existing), "{few:?}");
    })
    .await;
}

#[tokio::test]
async fn an_import_that_ended_anywhere_goes_on_and_imports_nothing_twice() {
    let old = OldDatabase::generate().await;
    on_every_database(async |store| {
        let harness = started(store).await;
        let limits = BatchLimits { messages: 97, bytes: usize::MAX };
        let (whole, parts) = (WorkspaceId::new("T1"), WorkspaceId::new("T2"));
        hear_history(&harness, &whole).await;
        hear_history(&harness, &parts).await;
        let (data, mut messages) = read(&old.path, &whole).await;
        let report = import(&harness, data, messages.stream(), limits).await;
        for heard in [1, 96, 97, 98, 500, 501] {
            let (data, mut messages) = read(&old.path, &parts).await;
            import(&harness, data, messages.stream().take(heard), limits).await;
        }
        let (data, mut messages) = read(&old.path, &parts).await;
        let resumed = import(&harness, data, messages.stream(), limits).await;
        let sum = |report: &ImportReport| report.messages.new + report.messages.existing;
        assert_eq!(sum(&resumed), sum(&report));
        assert_eq!(resumed.skipped, report.skipped);
        assert_same(&stored(&harness, &parts).await, &stored(&harness, &whole).await);
        let (data, mut messages) = read(&old.path, &parts).await;
        let again = import(&harness, data, messages.stream(), limits).await;
        assert_eq!((again.messages.new, again.messages.existing), (0, sum(&report)));
    })
    .await;
}

#[tokio::test]
async fn what_forgotten_people_said_before_is_not_read_from_myao2() {
    let old = OldDatabase::generate().await;
    let (mut data, mut messages) = read(&old.path, &fixtures::workspace()).await;
    let is_of = |number: usize, user: usize| !number.is_multiple_of(5) && number % 3 == user;
    let (gone, back) = (UserId::new("U1"), UserId::new("U2"));
    let forgotten =
        HashMap::from([(gone.clone(), said_at(MESSAGES)), (back.clone(), said_at(1000))]);
    messages.leave_out(forgotten.clone(), &mut data).await.unwrap();
    data.leave_out_forgotten(&forgotten);
    let left_out = (0..MESSAGES).filter(|it| is_of(*it, 1) || is_of(*it, 2) && *it <= 1000);
    let left_out = left_out.count();
    assert_eq!(data.skipped[0].count, left_out);
    let read: Vec<Message> =
        messages.stream().map(|streamed| streamed.unwrap().message).collect().await;
    assert_eq!(read.len(), MESSAGES - left_out);
    assert!(read.iter().all(|message| message.author.id != gone));
    // A user who has posted since has a name again.
    let users: Vec<&str> = data.users.iter().map(|user| user.id.as_str()).collect();
    assert_eq!(users, ["U0", back.as_str(), "UBOT"]);
}

/// Generates a dump with this many sessions of four messages, two of which are in the knowledge base as well, with a
/// third one.
fn dump_of(sessions: usize, servers: usize) -> String {
    let (mut chunks, mut sources, mut rows) = (String::new(), String::new(), String::new());
    for number in 0..sessions {
        let (server, thread) = (101 + number % servers, 10_000 + number);
        let time = |minute: usize| {
            format!("2026-01-{:02}T{:02}:{minute:02}:00", 1 + number % 28, number % 24)
        };
        // Not in order.
        chunks += &format!("{}\t{number}\tUser: c{number}\n", 2 * number + 1);
        chunks += &format!("{}\t{number}\tUser: a{number}\\nAssistant: b{number}\n", 2 * number);
        let metadata = json!({"channel_id": 202, "origin_session_key": format!("thread:{thread}"),
            "archived_until_timestamp": time(10)});
        sources += &format!("{number}\tdiscord_session\t\\N\t{metadata}\t2026-01-10 05:00:00+00\n");
        let messages = json!([
            {"role": "user", "content": format!("c{number}"), "timestamp": time(10)},
            {"role": "assistant", "content": format!("d{number}"), "timestamp": time(11)},
        ]);
        rows += &format!("thread:{thread}\t{messages}\t{server}\t202\t{thread}\t7\n");
    }
    format!(
        "-- PostgreSQL database dump\n\n\
         COPY public.knowledge_chunks (id, source_id, content) FROM stdin;\n{chunks}\\.\n\
         COPY public.knowledge_sources (id, type, uri, metadata, created_at) FROM stdin;\n{sources}\\.\n\
         COPY public.sessions (session_key, messages, guild_id, channel_id, thread_id, user_id) FROM stdin;\n{rows}\\.\n"
    )
}

fn arranged(dump: &str, limits: SorterLimits) -> KotonohaArranged {
    let options = KotonohaOptions {
        workspace: None,
        persona: None,
        persona_name: "Mio".to_owned(),
        zone: TimeZone::UTC,
        mentions: MentionSessions::LeftOut,
    };
    let read = dump::read_within(dump.as_bytes(), options, limits).unwrap();
    read.arrange(&HashMap::new(), limits, None).unwrap()
}

#[test]
fn sessions_of_kotonoha_wait_on_disk() {
    const SESSIONS: usize = 60;
    let dump = dump_of(SESSIONS, 2);
    let read = |limits: SorterLimits| {
        let KotonohaArranged { data, mut messages, expired } = arranged(&dump, limits);
        let mut streamed: Vec<Vec<StreamedMessage>> = Vec::new();
        for index in 0..data.len() {
            streamed.push(messages.of(index).map(Result::unwrap).collect());
        }
        assert_eq!(expired, 0);
        (data, streamed)
    };
    let few = read(SorterLimits { records: 7, runs: 3, ..SorterLimits::default() });
    assert_eq!(few, read(SorterLimits::default()));
    let (data, streamed) = few;
    assert_eq!(data.len(), 2);
    for (server, streamed) in streamed.iter().enumerate() {
        let said: Vec<&str> = streamed.iter().map(|streamed| &*streamed.message.text).collect();
        let here = (0..SESSIONS).filter(|number| number % 2 == server);
        let expected: Vec<String> = here
            .flat_map(|number| ["a", "b", "c", "d"].map(|word| format!("{word}{number}")))
            .collect();
        assert_eq!(said, expected);
    }
}

#[tokio::test]
async fn no_more_than_a_batch_of_kotonohas_messages_is_held() {
    const SESSIONS: usize = 800;
    // Older than the history that will be read.
    let dump = dump_of(SESSIONS, 1).replace("2026-", "2025-");
    on_every_database(async |store| {
        let harness = started(store).await;
        let limits = SorterLimits { records: 100, ..SorterLimits::default() };
        let KotonohaArranged { mut data, mut messages, .. } = arranged(&dump, limits);
        let mut held = Held::default();
        let counted = stream::iter(messages.of(0)).inspect(|message| held.note(message));
        let data = data.remove(0);
        let report = import(&harness, data, counted, BatchLimits::default()).await;
        assert_eq!(held.passed, 4 * SESSIONS);
        assert!(held.most < 2 * MAX_BATCH_MESSAGES, "{}", held.most);
        // The threads are unknown, so each is a private channel.
        assert_eq!(report.channels.new, SESSIONS);
        assert_eq!(report.messages.new, 4 * SESSIONS);
    })
    .await;
}
