//! A failing database: nothing is acknowledged that is not committed, and the store reports that it is unhealthy.

use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

use aizuchi_core::chat::{Arrival, Heard, MessageId};
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::event::Disposition;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::connection::query;
use aizuchi_core::store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_core::store::database::writer::DatabaseWriter;
use aizuchi_core::store::{InboxEntry, Store};
use futures_util::StreamExt;
use futures_util::stream;
use sqlx::{Connection, PgConnection};
use tokio_util::sync::CancellationToken;

use aizuchi_harness::fixtures::{at, message, top_level, workspace};
use aizuchi_harness::postgres;
use aizuchi_harness::test_store::TestStore;

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
