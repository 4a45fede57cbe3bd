//! A message that a platform delivers again is the same message, whatever happens to messages of other channels. On
//! every store.

use aizuchi_harness::fixtures::{at, message, top_level, until};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_model::chat::{Arrival, Deletion, Heard, MessageId};
use aizuchi_model::flow::Disposition;
use aizuchi_store::InboxEntry;

/// Ids of messages are unique within a channel only.
#[tokio::test]
async fn a_deletion_in_another_channel_of_the_same_id_hides_no_repetition() {
    on_every_store(async |store| {
        let judge = Disposition::Judge(until(at(100)));
        let sent = |channel: &str, id: &str| InboxEntry {
            client_message_id: Some("gesture".into()),
            ..InboxEntry::new(
                Heard::Message(message(top_level(channel), id, at(1), "alice", id), Arrival::Live),
                judge,
                at(1),
            )
        };
        for channel in ["garden", "kitchen"] {
            assert!(store.store.hear(sent(channel, "1")).await.unwrap().is_new);
        }
        let (conversation, id) = (top_level("kitchen"), MessageId::new("1"));
        let deletion = Heard::Deletion(Deletion { conversation, message: id, at: at(2) });
        store.store.hear(InboxEntry::new(deletion, judge, at(2))).await.unwrap();
        assert!(!store.store.hear(sent("garden", "2")).await.unwrap().is_new);
        // In the channel of the deletion, it may still arrive under another id.
        assert!(store.store.hear(sent("kitchen", "2")).await.unwrap().is_new);
    })
    .await;
}
