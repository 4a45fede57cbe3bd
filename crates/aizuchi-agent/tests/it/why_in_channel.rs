//! "Why?" is answered with the decisions of the channel that asks, although on some platforms a message of another
//! channel may have the same id.

use aizuchi_harness::fixtures::{SILENCE, message, new_channel, top_level};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Heard, Visibility};

const PRIVATE_SILENCE: &str =
    r#"{"should_respond": false, "reason": "they plan the party for alice", "confidence": 0.9}"#;

#[tokio::test]
async fn a_reason_of_a_private_channel_is_not_told_elsewhere() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.set_longest_post(2000);
        let attic = new_channel("attic", Visibility::Private);
        harness.inbox.hear(Heard::Channel(attic)).await.unwrap();
        // The newest decision is that of the private channel.
        for (channel, author, text, verdict) in [
            ("garden", "alice", "does the blue pump leak?", SILENCE),
            ("attic", "carol", "who brings the cake?", PRIVATE_SILENCE),
        ] {
            harness.mind.script.push(PromptVerb::Judge, Ok(verdict));
            let now = harness.clock.now();
            harness.hear(message(top_level(channel), "1800.000100", now, author, text)).await;
            harness.pass(400).await;
        }
        harness.says("alice", "@Aizuchi why did you not answer my question about the pump?").await;
        harness.pass(5).await;
        let told = harness.platform.posted_texts();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("they get along") && !told[0].contains("party"), "{told:?}");
    })
    .await;
}
