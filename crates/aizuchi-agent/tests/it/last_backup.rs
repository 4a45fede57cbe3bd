//! A database knows when its newest backup was made, by whichever process.

use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_database};
use aizuchi_store::database::connection::query;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::transfer::{IfOccupied, back_up, restore};
use jiff::{SignedDuration, Timestamp};

#[tokio::test]
async fn a_database_and_its_backup_know_when_that_was_made() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let source = store.database.as_ref().unwrap().address.clone();
        assert_eq!(store.archive.last_backup().await.unwrap(), None);
        let before = Timestamp::now() - SignedDuration::from_secs(1);
        let file = folder.path().join("backup.db");
        back_up(&source, &file).await.unwrap();
        let first = store.archive.last_backup().await.unwrap().unwrap();
        assert!(before <= first && first <= Timestamp::now(), "{first}");
        back_up(&source, &folder.path().join("other.db")).await.unwrap();
        assert!(store.archive.last_backup().await.unwrap().unwrap() >= first);
        // A database that is restored from it has one backup: that one.
        let target = DatabaseLocation::Sqlite(folder.path().join("restored.db"));
        restore(&file, &target, IfOccupied::Refuse).await.unwrap();
        let restored = TestStore::reopen(&target).await;
        assert_eq!(restored.archive.last_backup().await.unwrap(), Some(first));
        restored.stop().await;
    })
    .await;
}

/// Another process holds the write lock for longer than the timeout.
#[tokio::test]
async fn a_backup_is_made_though_the_database_cannot_be_told() {
    let store = StoreKind::Sqlite.open().await;
    let folder = tempfile::tempdir().unwrap();
    let database = store.database.as_ref().unwrap();
    let mut other = database.connect().await;
    query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let file = folder.path().join("backup.db");
    back_up(&database.address, &file).await.unwrap();
    query("ROLLBACK").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    assert!(file.is_file());
    assert_eq!(store.archive.last_backup().await.unwrap(), None);
    store.stop().await;
}
