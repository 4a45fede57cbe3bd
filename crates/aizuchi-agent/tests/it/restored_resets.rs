//! After an older backup is restored, what was withheld by a reset since the backup stays withheld.

use aizuchi_harness::fixtures::{at, top_level};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_store::order::Order;
use aizuchi_store::transfer::{IfOccupied, back_up, restore};

use crate::forgetting::HearText;

const USABLE: &str = "SELECT count(*) AS n FROM messages WHERE withheld = 0";

#[tokio::test]
async fn a_conversation_that_was_reset_stays_so_when_an_older_backup_is_restored() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup.db");
        // More than the order itself withholds.
        for number in 0..70 {
            store.hear_text(&format!("a{number}"), number, "alice", "the shed leaks").await;
        }
        let target = store.database.as_ref().unwrap().address.clone();
        back_up(&target, &file).await.unwrap();
        store.hear_text("a200", 200, "alice", "and the roof, too").await;
        let reset = Order::Reset { conversation: top_level("garden"), until: at(300) };
        store.store.order(reset, at(300)).await.unwrap();
        store.finish_forgetting(at(300)).await;
        let _folder = store.database.clone();
        store.stop().await;
        restore(&file, &target, IfOccupied::Replace).await.unwrap();
        let store = TestStore::reopen(&target).await;
        store.finish_forgetting(at(1000)).await;
        let database = store.database.clone().unwrap();
        assert_eq!(database.count(USABLE).await, 0);
        // The platform's history still has what was said between the backup and the reset.
        store.hear_text("a200", 200, "alice", "and the roof, too").await;
        assert_eq!(database.count(USABLE).await, 0);
        store.hear_text("a900", 900, "alice", "a new day").await;
        assert_eq!(database.count(USABLE).await, 1);
    })
    .await;
}
