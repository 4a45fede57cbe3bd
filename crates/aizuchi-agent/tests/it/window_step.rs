//! `response.channel_messages_step`: many messages drop out of prompts at once, the same ones on every store.

use aizuchi_harness::fixtures::{at, top_level};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_model::chat::MessageId;
use aizuchi_model::context::ContextLimits;

use crate::store_commands::PromisesExt as _;

#[tokio::test]
async fn a_longer_step_keeps_the_first_message_longer() {
    let firsts = |step: Option<usize>| {
        on_every_store(async move |store| {
            let limits = ContextLimits {
                channel_messages: 6,
                channel_messages_step: step,
                ..ContextLimits::default()
            };
            let window = limits.window(at(0));
            let mut firsts: Vec<MessageId> = Vec::new();
            for number in 0..120 {
                store.hear_human(&format!("m{number:03}"), number * 7, "a line").await;
                let context = store.store.context(&top_level("garden"), &window).await.unwrap();
                let shown = context.target_messages();
                let newest_first = (0..=number).rev().map(|number| at(number * 7));
                let size = window.messages.size(newest_first).min(number as usize + 1);
                assert_eq!(shown.len(), size);
                let most = 6 + step.unwrap_or(4) - 1;
                assert!((6_usize.min(number as usize + 1)..=most).contains(&size), "{size}");
                firsts.push(shown[0].id.clone());
            }
            firsts.dedup();
            firsts.len()
        })
    };
    let (exact, by_default, long) =
        (firsts(Some(1)).await, firsts(None).await, firsts(Some(30)).await);
    assert_eq!(exact, 115);
    assert!(by_default < exact / 2 && 2 * long < by_default, "{exact}, {by_default}, {long}");
}
