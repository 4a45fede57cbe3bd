//! After an older backup is restored, numbers that were assigned since the backup are not assigned again: a question
//! in a keeper's chat refers to its subject by number, and a click on it must not decide anything else.

use aizuchi_harness::fixtures::top_level;
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::transfer::{IfOccupied, back_up, restore};

const LAST_NUMBER: &str = "SELECT last_number AS n FROM counters";
const DECISIONS: &str = "SELECT max(id) AS n FROM decisions";

fn place(store: &TestStore) -> DatabaseLocation {
    store.database.as_ref().unwrap().address.clone()
}

#[tokio::test]
async fn numbers_of_the_lost_time_do_not_come_again() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi is it open?").await;
        harness.pass(60).await;
        back_up(&place(&harness.store), &file).await.unwrap();
        for number in 0..5 {
            harness.says("alice", &format!("@Aizuchi what of {number}?")).await;
            harness.pass(60).await;
        }
        let database = harness.store.database.clone().unwrap();
        let (lost, decided) = (database.count(LAST_NUMBER).await, database.count(DECISIONS).await);
        assert!(decided > 5, "{decided}");
        let target = place(&harness.store);
        let store = harness.store.clone();
        // Nothing may use the database while it is replaced.
        drop(harness);
        store.stop().await;
        restore(&file, &target, IfOccupied::Replace).await.unwrap();
        let store = TestStore::reopen(&target).await;
        let restored = store.database.clone().unwrap();
        assert!(restored.count(DECISIONS).await < decided);
        assert!(restored.count(LAST_NUMBER).await > lost);
        let harness = Harness::new(store).await;
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi and now?").await;
        assert!(restored.count(DECISIONS).await > lost);
    })
    .await;
}
