//! A `stop` in a channel that is muted for longer: it changes nothing, and the journal of orders says who gave it.

use aizuchi_harness::fixtures::{at, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_store;
use aizuchi_model::chat::UserId;
use aizuchi_model::memory::asker::sign;
use aizuchi_store::order_journal::{OrderJournalQuery, OrderKind, OrderRecord};

#[tokio::test]
async fn a_stop_under_a_longer_mute_is_recorded_and_shortens_nothing() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        harness.says("alice", "@Aizuchi mute 24h").await;
        harness.pass(5).await;
        let before = harness.store.store.orders(&workspace()).await.unwrap().mutes;
        harness.says("bob", "@Aizuchi stop").await;
        harness.pass(5).await;
        let after = harness.store.store.orders(&workspace()).await.unwrap().mutes;
        assert!(before.len() == 1 && before == after, "{after:?}");

        let query =
            OrderJournalQuery { workspace: Some(workspace()), kind: None, before: None, limit: 9 };
        let journal = harness.store.archive.order_journal(&query).await.unwrap();
        let muted = |until: i64| OrderRecord {
            channel: Some(top_level("garden").channel),
            until: Some(at(until)),
            ..OrderRecord::new(OrderKind::Mute)
        };
        let given: Vec<_> =
            journal.into_iter().map(|given| (given.by.to_string(), given.record)).collect();
        let by = |user: &str, second| sign(&UserId::new(user), at(second));
        let expected = [(by("u-bob", 5), muted(3605)), (by("u-alice", 0), muted(24 * 3600))];
        assert_eq!(given, expected);
        let told = harness.platform.posted_texts().pop().unwrap();
        assert!(told.starts_with("I’ll stay silent here until"), "{told}");
    })
    .await;
}
