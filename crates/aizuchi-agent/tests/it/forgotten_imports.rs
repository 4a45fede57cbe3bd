//! What an import brought of a user is forgotten with them, even if it lacks the messages behind a memory.

use aizuchi_harness::fixtures::workspace;
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::{ChannelId, MessageId, UserId, Visibility};
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm, MessageRef};
use aizuchi_store::order::Order;

const DAY: i64 = 24 * 3600;

/// An export holds the memories of expired messages, but not these messages.
#[tokio::test]
async fn an_imported_entry_without_its_messages_goes_with_the_user_whom_it_names() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("zebedee", "my honey wins prizes").await;
        let said = harness.says("bob", "somebody has to feed the bees").await;
        harness.pass(4 * DAY).await;
        let entry = |text: &str, message: MessageId| MemoryEntry {
            date: jiff::civil::date(2027, 1, 5),
            text: text.into(),
            visibility: Visibility::Public,
            messages: vec![MessageRef(ChannelId::new("garden"), message)],
            pinned: false,
        };
        let key = MemoryKey {
            workspace: workspace(),
            scope: MemoryScope::Channel(ChannelId::new("garden")),
            term: MemoryTerm::LongTerm,
        };
        let entries = vec![
            entry("Zebedee sleeps in the hut", MessageId::new("expired")),
            entry("The hut is warm", MessageId::new("expired")),
            entry("Bob wants Zebedee to feed the bees", said),
        ];
        let newest = harness.clock.now();
        harness.order(Order::ImportMemory { key: key.clone(), entries, newest }).await;
        let (user, asked) = (UserId::new("u-zebedee"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        harness.store.finish_forgetting(harness.clock.now()).await;
        let memories = harness.store.store.memories(&workspace()).await.unwrap();
        let kept = memories.into_iter().find(|memory| memory.key == key).unwrap();
        let kept: Vec<&str> = kept.entries.iter().map(|entry| &*entry.text).collect();
        // What others wrote about the user stays theirs.
        assert_eq!(kept, ["The hut is warm", "Bob wants Zebedee to feed the bees"]);
    })
    .await;
}
