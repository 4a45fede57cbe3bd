//! Reasons that relied on a memory about an opted-out user are erased, and a reader that continues from a revision
//! learns that, even if the user's message is withheld long after the order.

use std::sync::Arc;

use aizuchi_harness::fixtures::{top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::UserId;
use aizuchi_store::database::redaction::RedactionProgress;
use aizuchi_store::order::Order;

use crate::forgetting::HearText;

const HOUR: i64 = 3600;
const ENTRIES: &str =
    r#"{"entries":[{"date":"2027-01-15","text":"the locker code is 4711","sources":[1]}]}"#;
const DECLINE: &str =
    r#"{"should_respond":false,"reason":"they know of 4711","confidence":0.9,"delay_seconds":0}"#;

#[tokio::test]
async fn a_reason_that_goes_late_gets_a_revision_that_nobody_was_told() {
    on_every_database(async |store| {
        let memory = Arc::new(TestMind::default());
        memory.script.set_default(PromptVerb::Remember, ENTRIES);
        let harness = Harness::new(store).await.with_options(HarnessOptions {
            memory: Some(memory.clone()),
            ..HarnessOptions::default()
        });
        harness.says("alice", "the locker code is 4711").await;
        harness.pass(2 * HOUR).await;
        harness.mind.script.set_default(PromptVerb::Judge, DECLINE);
        harness.says_in(top_level("kitchen"), "dan", "who borrowed a ladder today?").await;
        harness.pass(2 * HOUR).await;
        let judged = harness.decisions("kitchen").await.pop().unwrap();
        assert_eq!(judged.judgment.as_ref().unwrap().reason, "they know of 4711");
        // Newer than the memory's sources, and more messages than the order itself withholds.
        for number in 0..70 {
            let second = 10 * HOUR + number;
            harness.store.hear_text(&format!("a{number}"), second, "alice", "and on it goes").await;
        }
        let user = UserId::new("u-alice");
        let order = Order::OptOut { workspace: workspace(), user };
        harness.store.store.order(order, harness.clock.now()).await.unwrap();
        let told = *harness.store.store.revisions().borrow();
        let since = async || {
            let changed = harness.store.archive.decisions_since(&workspace(), told, 100).await;
            let changed = changed.unwrap().into_iter().filter(|decision| decision.id == judged.id);
            changed.map(|decision| decision.judgment.unwrap().reason).collect::<Vec<_>>()
        };
        assert!(since().await.is_empty());
        let database = harness.store.database_store.clone().unwrap();
        while database.redact_next(harness.clock.now()).await.unwrap() != RedactionProgress::Idle {}
        assert_eq!(since().await, [String::new()]);
    })
    .await;
}
