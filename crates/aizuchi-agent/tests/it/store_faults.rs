//! A failing database: nothing is acknowledged that is not committed, and the store reports that it is unhealthy.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aizuchi_harness::fixtures::{at, message, top_level, workspace};
use aizuchi_harness::postgres;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_model::chat::{Arrival, Cursor, Heard, MessageId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_model::memory::MessageRef;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::connection::query;
use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_store::database::writer::DatabaseWriter;
use aizuchi_store::{InboxEntry, Store, StoreError};
use futures_util::StreamExt;
use futures_util::stream;
use sqlx::{Connection, PgConnection};
use tokio_util::sync::CancellationToken;

fn entry(id: &str, disposition: Disposition) -> InboxEntry {
    let said = message(top_level("garden"), id, at(0), "alice", "the shed leaks");
    InboxEntry::new(Heard::Message(said, Arrival::Live), disposition, at(0))
}

/// Other parts of a damaged file may be writable, so a probe alone would call it healthy again.
#[tokio::test]
async fn a_damaged_file_stays_unhealthy_until_somebody_acts() {
    let store = TestStore::sqlite().await;
    let database = store.database.clone().unwrap();
    store.store.hear(entry("m1", Disposition::Settled(Gate::Backfilled))).await.unwrap();
    let page = "SELECT rootpage AS n FROM sqlite_schema WHERE name = 'owed'";
    let page = database.count(page).await as u64;
    let size = database.count("SELECT page_size AS n FROM pragma_page_size").await as u64;
    let store = store.restart().await;
    let (file, log) = (database.path().to_owned(), "PRAGMA wal_checkpoint(TRUNCATE)");
    query(log).fetch_all(&mut database.connect().await).await.unwrap();
    let mut file = std::fs::File::options().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start((page - 1) * size)).unwrap();
    file.write_all(&vec![0xee; size as usize]).unwrap();
    let owed = store.store.hear(entry("m2", Disposition::Owe { due: at(2) })).await;
    let damaged = "the database cannot be used: the database is damaged";
    assert_eq!(owed.unwrap_err().to_string(), damaged);
    let (channel, id) = (top_level("garden").channel, MessageId::new("m2"));
    let is_stored = store.store.has_heard(&workspace(), &channel, &id, None).await.unwrap();
    assert!(!is_stored, "what is not acknowledged is not half stored");
    assert_eq!(store.archive.health().await.unwrap_err().to_string(), damaged);
}

fn settled(number: i64) -> InboxEntry {
    let text = format!("leak number {number}: {}", "the shed leaks ".repeat(60));
    let said = message(top_level("garden"), &format!("m{number}"), at(number), "alice", &text);
    let settled = Disposition::Settled(Gate::Backfilled);
    InboxEntry::new(Heard::Message(said, Arrival::Live), settled, at(number))
}

async fn file_with_messages() -> (TestStore, PathBuf) {
    let store = TestStore::sqlite().await;
    for number in 0..50 {
        store.store.hear(settled(number)).await.unwrap();
    }
    let path = store.database.as_ref().unwrap().path().to_owned();
    (store, path)
}

/// Moves everything from the log into the file, as another program may do.
async fn checkpoint(store: &TestStore) {
    let mut other = store.database.as_ref().unwrap().connect().await;
    query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_all(&mut other).await.unwrap();
    other.close().await.unwrap();
}

fn cut(path: &Path, bytes: u64) {
    std::fs::File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// Overwrites the page that holds these words.
fn overwrite_page(path: &Path, words: &[u8]) {
    let bytes = std::fs::read(path).unwrap();
    let found = bytes.windows(words.len()).position(|window| window == words).unwrap() as u64;
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(found / 4096 * 4096)).unwrap();
    file.write_all(&[0xee; 4096]).unwrap();
}

/// Nothing is acknowledged, and the store is unhealthy however often it is asked.
async fn is_given_up(store: &TestStore) {
    for number in 100..105 {
        let heard = store.store.hear(settled(number)).await;
        assert!(matches!(heard, Err(StoreError::Broken(_))), "{heard:?}");
        assert!(store.archive.health().await.is_err());
    }
}

/// The text of a message of another page cannot be read, but new messages could be written.
#[tokio::test]
async fn nothing_is_acknowledged_once_a_read_has_found_damage() {
    let (store, path) = file_with_messages().await;
    checkpoint(&store).await;
    overwrite_page(&path, b"leak number 7:");
    store.store.hear(settled(60)).await.unwrap();
    let old = MessageRef(top_level("garden").channel, MessageId::new("m7"));
    let read = store.store.source_messages(&workspace(), &[old]).await;
    assert!(matches!(read, Err(StoreError::Broken(_))), "{read:?}");
    is_given_up(&store).await;
}

/// A supervisor that asks for the health has the newest messages read.
#[tokio::test]
async fn the_health_shows_that_the_newest_message_cannot_be_read() {
    let (store, path) = file_with_messages().await;
    checkpoint(&store).await;
    overwrite_page(&path, b"leak number 45:");
    // A commit ends the readers' caches.
    let cursor = Cursor { workspace: workspace(), stream: "s".into(), value: "1".into() };
    store.cursors.put_cursor(cursor).await.unwrap();
    assert!(store.archive.health().await.is_err());
    is_given_up(&store).await;
}

#[tokio::test]
async fn a_file_or_log_that_is_cut_takes_no_messages() {
    for (percent, is_moved) in [(0, true), (50, true), (90, true), (0, false), (50, false)] {
        let (store, path) = file_with_messages().await;
        if is_moved {
            checkpoint(&store).await;
        }
        store.store.hear(settled(51)).await.unwrap();
        cut(&path, std::fs::metadata(&path).unwrap().len() * percent / 100 / 4096 * 4096);
        is_given_up(&store).await;
    }
    for percent in [0, 50] {
        let (store, path) = file_with_messages().await;
        let log = PathBuf::from(format!("{}-wal", path.display()));
        cut(&log, std::fs::metadata(&log).unwrap().len() * percent / 100);
        is_given_up(&store).await;
    }
}

/// What one commit has added may be all that is cut, and several messages may come at once.
#[tokio::test]
async fn a_log_that_is_cut_takes_none_of_many_messages() {
    let (store, path) = file_with_messages().await;
    checkpoint(&store).await;
    store.store.hear(settled(51)).await.unwrap();
    cut(&PathBuf::from(format!("{}-wal", path.display())), 0);
    let many = (60..70).map(|number| store.store.hear(settled(number)));
    let heard = futures_util::future::join_all(many).await;
    assert!(heard.iter().all(Result::is_err), "{heard:?}");
}

/// That shortens the log and the file, also if others write before the next message.
#[tokio::test]
async fn another_program_may_compact_the_file() {
    let (store, _) = file_with_messages().await;
    checkpoint(&store).await;
    let mut other = store.database.as_ref().unwrap().connect().await;
    query("UPDATE counters SET backed_up_ms = 1").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    checkpoint(&store).await;
    store.store.hear(settled(60)).await.unwrap();
    let mut other = store.database.as_ref().unwrap().connect().await;
    query("DELETE FROM recall_lines").execute(&mut other).await.unwrap();
    query("VACUUM").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    checkpoint(&store).await;
    let mut other = store.database.as_ref().unwrap().connect().await;
    query("UPDATE counters SET backed_up_ms = 2").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    for number in 61..64 {
        store.store.hear(settled(number)).await.unwrap();
        store.archive.health().await.unwrap();
    }
}

/// A probe that needs less than a message would call it healthy again.
#[tokio::test]
async fn the_health_follows_the_last_write() {
    on_every_database(async |store| {
        let database = store.database.clone().unwrap();
        let mut other = database.connect().await;
        let (refuse, accept): (&[&str], &str) = match other.is_postgres() {
            true => (
                &[
                    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN RAISE EXCEPTION 'an outage'; END $$",
                    "CREATE TRIGGER refuse BEFORE INSERT ON messages
                        FOR EACH ROW EXECUTE FUNCTION refuse()",
                ],
                "DROP TRIGGER refuse ON messages",
            ),
            false => (
                &["CREATE TRIGGER refuse BEFORE INSERT ON messages
                    BEGIN SELECT json_extract('not JSON', '$'); END"],
                "DROP TRIGGER refuse",
            ),
        };
        store.archive.health().await.unwrap();
        for statement in refuse {
            query(statement).execute(&mut other).await.unwrap();
        }
        for number in 0..3 {
            assert!(store.store.hear(settled(number)).await.is_err());
            assert!(store.archive.health().await.is_err());
        }
        query(accept).execute(&mut other).await.unwrap();
        // Nobody has written since; the next probe writes as much.
        store.archive.health().await.unwrap();
        assert_eq!(database.count("SELECT count(*) AS n FROM messages").await, 0);
        store.store.hear(settled(3)).await.unwrap();
        store.archive.health().await.unwrap();
    })
    .await;
}

/// As with `data_corrupted` of a page whose checksum is wrong.
#[tokio::test]
async fn a_damaged_table_of_a_server_ends_the_acknowledgments() {
    let store = TestStore::postgres().await;
    let cursor = Cursor { workspace: workspace(), stream: "s".into(), value: "1".into() };
    store.cursors.put_cursor(cursor).await.unwrap();
    let mut other = store.database.as_ref().unwrap().connect().await;
    for statement in [
        "CREATE FUNCTION damaged() RETURNS boolean LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'invalid page' USING ERRCODE = 'XX001'; END $$",
        "ALTER TABLE bookmarks ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE bookmarks FORCE ROW LEVEL SECURITY",
        "CREATE POLICY damaged ON bookmarks USING (damaged())",
    ] {
        query(statement).execute(&mut other).await.unwrap();
    }
    store.archive.health().await.unwrap();
    let read = store.cursors.cursors(&workspace()).await;
    assert!(matches!(read, Err(StoreError::Broken(_))), "{read:?}");
    is_given_up(&store).await;
}

/// Another program's lock on a table is not waited for: whoever asks for the health has a limit of its own.
#[tokio::test]
async fn a_locked_table_of_a_server_is_told() {
    let store = TestStore::postgres().await;
    store.store.hear(settled(0)).await.unwrap();
    let mut other = store.database.as_ref().unwrap().connect().await;
    for (table, lock) in [
        ("messages", "LOCK TABLE messages"),
        ("counters", "LOCK TABLE counters"),
        ("steps", "LOCK TABLE steps"),
    ] {
        query("BEGIN").execute(&mut other).await.unwrap();
        query(lock).execute(&mut other).await.unwrap();
        let health = async {
            store.archive.health().await?;
            store.store.next_ready().await
        };
        let health = health.await;
        assert!(matches!(health, Err(StoreError::Busy(_))), "{table}: {health:?}");
        query("ROLLBACK").execute(&mut other).await.unwrap();
        store.archive.health().await.unwrap();
    }
}

/// The server ends the sessions while messages are heard, 20 times.
#[tokio::test]
async fn what_was_acknowledged_before_a_session_was_lost_is_stored() {
    let url = postgres::with_tables();
    let location = DatabaseLocation::Postgres(PostgresUrl::parse(&url).unwrap());
    let mut admin = PgConnection::connect(&url.replace("aizuchi@", "postgres@")).await.unwrap();
    let mut acknowledged = Vec::new();
    let mut lost = 0;
    for round in 0..20 {
        let (store, writer) = open(&location).await;
        let writing = tokio::spawn(writer.run(CancellationToken::new()));
        let store = Arc::new(store);
        let hear = |number| {
            let (store, id) = (store.clone(), format!("r{round}m{number}"));
            async move {
                let heard = store.hear(entry(&id, Disposition::Settled(Gate::Backfilled))).await;
                heard.map(|_| id)
            }
        };
        let mut hearing = stream::iter((0..60).map(hear)).buffer_unordered(8);
        let mut heard_count = 0;
        while let Some(heard) = hearing.next().await {
            match heard {
                Ok(id) => acknowledged.push(id),
                Err(_) => lost += 1,
            }
            heard_count += 1;
            if heard_count == 3 * round {
                let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()";
                sqlx::query(end).execute(&mut admin).await.unwrap();
            }
        }
        drop(hearing);
        drop(store);
        // Either the writer has noticed, or no requests are left.
        let _ = writing.await.unwrap();
    }
    assert!(lost > 0 && acknowledged.len() > 100, "{lost} {}", acknowledged.len());
    let (store, _writer) = open(&location).await;
    for id in &acknowledged {
        let channel = top_level("garden").channel;
        let id = MessageId::new(id.as_str());
        assert!(store.has_heard(&workspace(), &channel, &id, None).await.unwrap(), "{id:?}");
    }
}

/// The server may need a moment to notice that a session has ended.
async fn open(location: &DatabaseLocation) -> (DatabaseStore, DatabaseWriter) {
    loop {
        match location.open().await {
            Ok(opened) => return opened,
            Err(error) => assert!(error.to_string().contains("another Aizuchi"), "{error}"),
        }
    }
}

/// A command may follow right after the program has exited, whose session the server ends a moment later.
#[tokio::test]
async fn a_server_that_is_about_to_end_a_session_is_waited_for() {
    let store = TestStore::postgres().await;
    let database = store.database.clone().unwrap();
    let mut opening = database.address.open();
    // This takes longer than an attempt to open the database.
    let connecting = async {
        for _ in 0..5 {
            drop(database.connect().await);
        }
    };
    tokio::select! {
        opened = &mut opening => panic!("it was not waited for: {:?}", opened.err()),
        () = connecting => {}
    }
    store.stop().await;
    let opened = opening.await;
    assert!(opened.is_ok(), "{:?}", opened.err());
}

/// Without statistics, a server plans as if the tables were empty.
#[tokio::test]
async fn a_server_knows_how_large_a_growing_database_is() {
    let store = TestStore::postgres().await;
    let database = store.database.clone().unwrap();
    let known = "SELECT CAST(reltuples AS BIGINT) AS n FROM pg_class WHERE relname = 'messages'";
    assert!(database.count(known).await <= 0);
    let hear = |number| {
        store.store.hear(entry(&format!("m{number}"), Disposition::Settled(Gate::Backfilled)))
    };
    let heard: Vec<_> = stream::iter((0..1600).map(hear)).buffer_unordered(64).collect().await;
    assert!(heard.iter().all(Result::is_ok));
    // One session for all looks: the server takes longer to end a session than a look takes.
    let mut connection = database.connect().await;
    loop {
        let row = query(known).fetch_one(&mut connection).await.unwrap();
        if row.number("n").unwrap().unwrap() >= 1000 {
            break;
        }
        tokio::task::yield_now().await;
    }
}
