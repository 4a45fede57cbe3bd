//! Messages that are stored together lead to memories of those places only that are remembered. On every database.

use aizuchi_harness::fixtures::{at, message, top_level, workspace};
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::{Arrival, Heard};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_model::memory::MemoryScope;
use aizuchi_store::InboxEntry;
use futures_util::future::join_all;

#[tokio::test]
async fn a_place_that_is_not_remembered_gets_no_memory_job() {
    on_every_database(async |store| {
        let sent = |channel: &str| {
            let said = message(top_level(channel), "1", at(1), "alice", "the beans are up");
            let heard = Heard::Message(said, Arrival::Live);
            InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), at(1))
        };
        let remembered = InboxEntry { remember_at: Some(at(60)), ..sent("garden") };
        // Both are in one transaction.
        for receipt in join_all([remembered, sent("kitchen")].map(|it| store.store.hear(it))).await
        {
            assert!(receipt.unwrap().is_new);
        }
        let jobs = store.archive.pending_memories(&workspace(), 100).await.unwrap();
        let scopes: Vec<_> = jobs.iter().map(|job| (job.key.scope.clone(), job.due)).collect();
        assert_eq!(scopes, [(MemoryScope::Channel(top_level("garden").channel), at(60))]);
    })
    .await;
}
