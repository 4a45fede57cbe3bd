//! `why` explains what was decided in the channel where it is asked, and nothing of another one.

use aizuchi_core::chat::{Heard, Visibility};
use aizuchi_core::prompt::PromptVerb;
use aizuchi_harness::fixtures::{message, new_channel, top_level};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_store;

/// Slack's ids are times, which are unique in their channel only.
#[tokio::test]
async fn why_tells_nothing_of_a_private_message_with_the_same_id() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let attic = new_channel("attic", Visibility::Private);
        harness.inbox.hear(Heard::Channel(attic)).await.unwrap();
        for (channel, text, reason) in [
            ("garden", "does the blue pump leak?", "somebody looks after it"),
            ("attic", "who hides the pump for the party?", "the party is a secret"),
        ] {
            let verdict =
                format!(r#"{{"should_respond": false, "reason": "{reason}", "confidence": 0.9}}"#);
            harness.mind.script.push(PromptVerb::Judge, Ok(&verdict));
            let now = harness.clock.now();
            harness.hear(message(top_level(channel), "x1", now, "alice", text)).await;
            harness.pass(400).await;
        }
        let before = harness.platform.posted_texts().len();
        let question = "@Aizuchi why did you not answer my question about the pump?";
        harness.says("alice", question).await;
        harness.pass(5).await;
        let answer = harness.platform.posted_texts()[before..].join(" ");
        assert!(answer.ends_with("I stayed silent: somebody looks after it."), "{answer}");
    })
    .await;
}
