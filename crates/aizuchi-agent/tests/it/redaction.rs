//! Withholding many messages, page by page: those of an opted-out user, and those in a reset conversation.

use aizuchi_harness::fixtures::{at, message, thread, top_level, window, workspace};
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_model::chat::{Arrival, Heard, UserId};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_store::InboxEntry;
use aizuchi_store::database::redaction::RedactionProgress;
use aizuchi_store::order::Order;

use crate::forgetting::HearText;

const MESSAGES: i64 = 700;

async fn withheld(store: &TestStore, whose: &str) -> i64 {
    let condition = match whose {
        "alice" => "author = 'u-alice'",
        "bob" => "author = 'u-bob'",
        _ => "true",
    };
    let statement: &'static str =
        format!("SELECT count(*) AS n FROM messages WHERE withheld = 1 AND {condition}").leak();
    store.database.as_ref().unwrap().count(statement).await
}

async fn talk(store: &TestStore) {
    for number in 0..MESSAGES {
        let user = if number % 7 == 0 { "bob" } else { "alice" };
        store.hear_text(&format!("a{number}"), number, user, "the shed leaks").await;
    }
}

/// Withholds the rest in small pages, and restarts in between. Returns the number of pages.
async fn withhold_all(mut store: TestStore) -> (TestStore, usize) {
    let mut pages = 0;
    loop {
        let before = withheld(&store, "all").await;
        let database = store.database_store.clone().unwrap();
        let progress = database.redact_next(at(MESSAGES)).await.unwrap();
        assert!(withheld(&store, "all").await - before <= 25);
        drop(database);
        if progress == RedactionProgress::Idle {
            return (store, pages);
        }
        pages += 1;
        if pages == 5 {
            store = store.restart().await;
        }
        store.hear_text(&format!("c{pages}"), MESSAGES + 10, "alice", "I am back").await;
    }
}

#[tokio::test]
async fn opting_out_withholds_in_small_pages() {
    for store in [TestStore::sqlite().await, TestStore::postgres().await] {
        talk(&store).await;
        let (workspace, user) = (workspace(), UserId::new("u-alice"));
        let order = Order::OptOut { workspace: workspace.clone(), user: user.clone() };
        store.store.order(order, at(MESSAGES)).await.unwrap();
        assert_eq!(withheld(&store, "alice").await, 50);
        // What the user says after opting in again is not withheld.
        store.store.order(Order::OptIn { workspace, user }, at(MESSAGES)).await.unwrap();
        let (store, pages) = withhold_all(store).await;
        assert_eq!((withheld(&store, "alice").await, withheld(&store, "bob").await), (600, 0));
        assert_eq!(pages, 550 / 25 + 1);
    }
}

#[tokio::test]
async fn a_reset_withholds_in_small_pages() {
    for store in [TestStore::sqlite().await, TestStore::postgres().await] {
        talk(&store).await;
        let conversation = top_level("garden");
        let order = Order::Reset { conversation: conversation.clone(), until: at(MESSAGES) };
        store.store.order(order, at(MESSAGES)).await.unwrap();
        assert_eq!(withheld(&store, "all").await, 50);
        let (store, _) = withhold_all(store).await;
        assert_eq!(withheld(&store, "all").await, MESSAGES);
        let context = store.store.context(&conversation, &window(50)).await.unwrap();
        assert!(context.target_messages().iter().all(|message| *message.text == *"I am back"));
    }
}

#[tokio::test]
async fn what_is_withheld_already_is_skipped() {
    on_every_database(async |store| {
        talk(&store).await;
        let (workspace, user) = (workspace(), UserId::new("u-alice"));
        for _ in 0..2 {
            let order = Order::Redact { workspace: workspace.clone(), user: user.clone() };
            store.store.order(order, at(MESSAGES)).await.unwrap();
            let database = store.database_store.clone().unwrap();
            while database.redact_next(at(MESSAGES)).await.unwrap() != RedactionProgress::Idle {}
        }
        assert_eq!(withheld(&store, "alice").await, 600);
    })
    .await;
}

/// A reader that pages through revisions sees the oldest message first, on every store.
#[tokio::test]
async fn a_reset_thread_changes_in_the_order_of_its_messages() {
    on_every_store(async |store| {
        let said = [("t1", 5, thread("garden", "m1")), ("m1", 9, top_level("garden"))];
        for (id, second, conversation) in said {
            let heard = message(conversation, id, at(second), "alice", "hello");
            let heard = Heard::Message(heard, Arrival::Live);
            let entry = InboxEntry::new(heard, Disposition::Settled(Gate::Backfilled), at(second));
            store.store.hear(entry).await.unwrap();
        }
        let before = *store.store.revisions().borrow();
        let order = Order::Reset { conversation: thread("garden", "m1"), until: at(20) };
        store.store.order(order, at(20)).await.unwrap();
        let changed = store.archive.messages_since(&workspace(), before, 10).await.unwrap();
        let ids: Vec<&str> = changed.iter().map(|stored| stored.message.id.as_str()).collect();
        assert_eq!(ids, ["t1", "m1"]);
    })
    .await;
}
