//! A scrub that fails goes on as if it had not been tried: what forgotten users wrote leaves the index of a file, too.
//! A server has no such index.

use aizuchi_harness::fixtures::{at, workspace};
use aizuchi_harness::test_store::TestStore;
use aizuchi_model::chat::UserId;
use aizuchi_store::database::connection::{Connection, query};
use aizuchi_store::database::forget::scrub::{ScrubJob, ScrubProgress};
use aizuchi_store::database::recall::index::{self, BatchSize, MergeStep};
use aizuchi_store::database::sql::{BEGIN, COMMIT};
use aizuchi_store::order::Order;
use futures_util::future::join_all;

use crate::forgetting::{HearText, dump};

const SEGMENTS: &str = "SELECT count(DISTINCT segid) AS n FROM recall_terms_idx";

/// Indexes everything, in one large segment: a merge that was not begun leaves it as it is.
async fn index_and_merge(store: &TestStore, connection: &mut Connection) {
    let newest = *store.store.revisions().borrow();
    query(BEGIN).execute(&mut *connection).await.unwrap();
    let mut indexed = 0;
    while indexed < newest {
        let next = index::index_next_batch(&mut *connection, newest, BatchSize::FULL);
        indexed = next.await.unwrap();
    }
    query(COMMIT).execute(&mut *connection).await.unwrap();
    let mut step = MergeStep::First;
    while index::merge(&mut *connection, step).await.unwrap() {
        step = MergeStep::Next;
    }
}

#[tokio::test]
async fn a_merge_whose_beginning_fails_is_begun_again() {
    let store = TestStore::sqlite().await;
    let (database, files) =
        (store.database_store.clone().unwrap(), store.database.clone().unwrap());
    let mut connection = files.connect().await;
    store.hear_text("a1", 1, "alice", "the shed leaks xyzzy7").await;
    let store_ref = &store;
    join_all((2..1000).map(|number| async move {
        let (id, text) = (format!("b{number}"), format!("roses n{}", number * 7919 % 100_003));
        store_ref.hear_text(&id, number, "bob", &text).await;
    }))
    .await;
    index_and_merge(&store, &mut connection).await;
    assert_eq!(files.count(SEGMENTS).await, 1);
    let (user, asked) = (UserId::new("u-alice"), at(2000));
    let order = Order::Forget { workspace: workspace(), user, asked };
    store.store.order(order, asked).await.unwrap();
    store.finish_forgetting(asked).await;
    assert!(files.count(SEGMENTS).await > 1, "the terms are only marked as removed");
    let mut job = ScrubJob::default();
    let hide = query("ALTER TABLE recall_terms RENAME TO hidden_terms");
    hide.execute(&mut connection).await.unwrap();
    job.step(&database).await.unwrap_err();
    let restore = query("ALTER TABLE hidden_terms RENAME TO recall_terms");
    restore.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    while job.step(&database).await.unwrap() == ScrubProgress::Working {}
    assert_eq!(database.scrub_due_since().await.unwrap(), None);
    assert_eq!(files.count(SEGMENTS).await, 1);
    assert!(!dump(&store).await.contains("xyzzy7"));
}
