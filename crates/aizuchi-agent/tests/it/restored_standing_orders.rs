//! After an older backup is restored, the standing orders are those of the replaced database.

use aizuchi_harness::fixtures::{at, top_level, workspace};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_model::standing_order::{StandingOrderScope, StandingOrderText};
use aizuchi_store::order::Order;
use aizuchi_store::transfer::{IfOccupied, back_up, restore};

use crate::forgetting::HearText;

fn text(text: &str) -> StandingOrderText {
    StandingOrderText::parse(text).unwrap()
}

fn give(order: &str) -> Order {
    let scope = StandingOrderScope::Channel(top_level("garden").channel);
    Order::GiveStandingOrder { workspace: workspace(), scope, text: text(order), by: "olga".into() }
}

async fn in_force(store: &TestStore) -> Vec<(i64, i64, String)> {
    let orders = store.store.orders(&workspace()).await.unwrap().standing;
    let order = |order: &aizuchi_model::standing_order::StandingOrder| {
        (order.number, order.version, order.text.as_str().to_owned())
    };
    orders.iter().map(order).collect()
}

async fn restored(store: TestStore, file: &std::path::Path) -> TestStore {
    let target = store.database.as_ref().unwrap().address.clone();
    let _folder = store.database.clone();
    store.stop().await;
    restore(file, &target, IfOccupied::Replace).await.unwrap();
    TestStore::reopen(&target).await
}

#[tokio::test]
async fn a_standing_order_that_was_revoked_stays_so_when_an_older_backup_is_restored() {
    on_every_database(async |store| {
        let folder = tempfile::tempdir().unwrap();
        let [file, later] = ["backup.db", "later.db"].map(|name| folder.path().join(name));
        let _folder = store.database.clone();
        let target = store.database.as_ref().unwrap().address.clone();
        store.hear_text("a1", 1, "alice", "the shed leaks").await;
        for order in ["answer in verse", "answer in Japanese", "be brief"] {
            store.store.order(give(order), at(10)).await.unwrap();
        }
        back_up(&target, &file).await.unwrap();
        let drop = Order::DropStandingOrder { workspace: workspace(), number: 1 };
        let change = Order::ChangeStandingOrder {
            workspace: workspace(),
            number: 2,
            text: text("answer in English"),
            by: "olga".into(),
        };
        for order in [drop, change, give("name the source")] {
            store.store.order(order, at(20)).await.unwrap();
        }
        let expected = in_force(&store).await;
        assert_eq!(expected.len(), 3);
        let store = restored(store, &file).await;
        assert_eq!(in_force(&store).await, expected);
        // The number of the order from the lost time is not given again.
        store.store.order(give("say when you guess"), at(30)).await.unwrap();
        back_up(&target, &later).await.unwrap();
        // The older backup has never known number 5.
        let store = restored(store, &file).await;
        let five = (5, 1, "say when you guess".to_owned());
        let expected = [expected, vec![five]].concat();
        assert_eq!(in_force(&store).await, expected);
        // An order that was revoked is in force in the later backup only.
        let drop = Order::DropStandingOrder { workspace: workspace(), number: 5 };
        store.store.order(drop, at(40)).await.unwrap();
        let store = restored(store, &later).await;
        assert_eq!(in_force(&store).await, expected[..3]);
        store.stop().await;
    })
    .await;
}
