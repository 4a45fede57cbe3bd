//! A database under load and in trouble: groups of writes, restarts, locks, and a stopped store.

use aizuchi_harness::fixtures::{at, message, top_level, until, workspace};
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_model::chat::{Arrival, Heard};
use aizuchi_model::flow::Disposition;
use aizuchi_store::{InboxEntry, StoreError};

use crate::store_commands::{PromisesExt, silent};

#[tokio::test]
async fn concurrent_messages_are_stored_in_one_group_and_none_is_lost() {
    on_every_store(async |store| {
        let hearings = (0..500).map(|number| {
            let conversation = top_level(&format!("c{}", number % 7));
            let message =
                message(conversation, &format!("m{number:03}"), at(number), "alice", "hi");
            store.hear(message, Disposition::Judge(until(at(number + 60))))
        });
        let receipts = futures_util::future::join_all(hearings).await;
        assert!(receipts.iter().all(|receipt| receipt.is_new));
        let messages = store.archive.messages_since(&workspace(), 0, 1000).await.unwrap();
        assert_eq!(messages.len(), 500);
        assert_eq!(store.steps().await, 7);
    })
    .await;
}

#[tokio::test]
async fn a_restart_frees_leases_and_keeps_due_times() {
    on_every_database(async |store| {
        store.hear_human("1", 0, "hello").await;
        let waiting = message(top_level("kitchen"), "2", at(0), "bob", "hm");
        store.hear(waiting, Disposition::Judge(until(at(500)))).await;
        let dead = store.claim(60).await.remove(0);
        let store = store.restart().await;
        let again = store.claim(61).await.remove(0);
        assert_eq!((again.work.clone(), again.attempt), (dead.work, 2));
        assert_eq!(store.store.next_ready().await.unwrap(), Some(at(161)));
        store.complete(&again, silent("they get along"), 62).await;
        assert_eq!(store.store.next_ready().await.unwrap(), Some(at(500)));
        assert_eq!(store.texts().await, ["hello"]);
        let revision = *store.store.revisions().borrow();
        let store = store.restart().await;
        assert_eq!(*store.store.revisions().borrow(), revision);
    })
    .await;
}

#[tokio::test]
async fn every_statement_can_be_prepared() {
    use aizuchi_store::database::sql;
    assert!(sql::all_statements().count() > 150);
    on_every_database(async |store| {
        let mut connection = store.database.as_ref().unwrap().connect().await;
        for (name, statement) in sql::all_statements() {
            let prepared = connection.prepare(statement).await;
            assert!(prepared.is_ok(), "{name}: {:?}", prepared.err());
            assert!(!statement.contains("LIMIT ?"), "{name} is planned anew for every limit");
        }
    })
    .await;
}

/// Only on SQLite: on no other store can a process lock the whole database.
#[tokio::test]
async fn a_locked_out_writer_reports_busy_and_recovers() {
    use sqlx::{ConnectOptions, Executor};
    let store = TestStore::sqlite().await;
    let path = store.database.as_ref().unwrap().path().to_owned();
    let other = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut other = other.connect().await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let hearings = (0..5).map(|number| {
        let message = message(top_level("garden"), &format!("m{number}"), at(0), "alice", "hi");
        let heard = Heard::Message(message, Arrival::Live);
        store.store.hear(InboxEntry::new(heard, Disposition::Judge(until(at(60))), at(0)))
    });
    for heard in futures_util::future::join_all(hearings).await {
        assert!(matches!(heard, Err(StoreError::Busy(_))), "{heard:?}");
    }
    assert!(matches!(store.archive.health().await, Err(StoreError::Busy(_))));
    other.execute("ROLLBACK").await.unwrap();
    assert!(store.hear_human("m0", 0, "hello").await.is_new);
    assert_eq!(store.texts().await, ["hello"]);
    assert!(store.archive.health().await.is_ok());
}

#[tokio::test]
async fn a_stopped_store_reports_busy() {
    on_every_database(async |store| {
        let stopped = store.clone();
        drop(store.restart().await);
        let message = message(top_level("garden"), "1", at(0), "alice", "hello");
        let heard = Heard::Message(message, Arrival::Live);
        let hearing = InboxEntry::new(heard, Disposition::Judge(until(at(60))), at(0));
        assert!(matches!(stopped.store.hear(hearing).await, Err(StoreError::Busy(_))));
    })
    .await;
}
