//! A reset while a model works on what a bot has said.

use aizuchi_harness::fixtures::{at, message, top_level, until};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::flow::Disposition;
use aizuchi_model::memory::{Lineage, MessageRef};
use aizuchi_store::order::Order;

use crate::store_commands::PromisesExt;

/// Otherwise a memory of a channel in which only bots write would be stored after the reset.
#[tokio::test]
async fn what_a_bot_has_said_counts_as_changed_once_a_reset_withholds_it() {
    on_every_store(async |store| {
        let news = message(top_level("garden"), "n1", at(1), "newsbot", "the fair is canceled");
        store.hear(news, Disposition::Judge(until(at(60)))).await;
        let seen = *store.store.revisions().borrow();
        let garden = ChannelId::new("garden");
        let lineage = Lineage {
            messages: vec![MessageRef(garden, MessageId::new("n1"))],
            ..Lineage::default()
        };
        let has_changed = async || {
            store.store.has_changed_since(&top_level("garden"), seen, &lineage).await.unwrap()
        };
        assert!(!has_changed().await);
        let reset = Order::Reset { conversation: top_level("garden"), until: at(10) };
        store.store.order(reset, at(10)).await.unwrap();
        assert!(has_changed().await);
    })
    .await;
}
