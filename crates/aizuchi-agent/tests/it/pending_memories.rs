//! A memory that cannot be made is reported, with the reason and the time since when.

use std::sync::Arc;

use aizuchi_harness::fixtures::{at, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::memory::{MemoryScope, MemoryTerm};
use aizuchi_store::pending_memories::PendingMemory;
use jiff::Timestamp;

const HOUR: i64 = 3600;
const ENTRIES: &str =
    r#"{"entries":[{"date":"2027-01-15","text":"the beans are up","sources":[1]}]}"#;

async fn pending(harness: &Harness) -> Vec<PendingMemory> {
    harness.store.archive.pending_memories(&workspace(), 100).await.unwrap()
}

fn is_of_channel(pending: &PendingMemory) -> bool {
    matches!(pending.key.scope, MemoryScope::Channel(_))
}

#[tokio::test]
async fn a_memory_whose_answers_are_unusable_waits_with_its_reason() {
    on_every_database(async |store| {
        let memory = Arc::new(TestMind::default());
        let options = HarnessOptions { memory: Some(memory.clone()), ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        memory.script.set_default(PromptVerb::Remember, "I would rather not.".to_owned());
        harness.says("alice", "the beans are up").await;
        let waiting = pending(&harness).await;
        let [first] = &waiting[..] else { panic!("{waiting:?}") };
        assert!(is_of_channel(first) && first.key.term == MemoryTerm::ShortTerm, "{first:?}");
        assert!(first.due > at(0) && !first.in_progress && first.failure.is_none(), "{first:?}");

        harness.pass(2 * HOUR).await;
        let since = |waiting: &[PendingMemory]| -> Vec<Timestamp> {
            let failures = waiting.iter().filter_map(|memory| memory.failure.as_ref());
            failures.map(|failure| failure.since).collect()
        };
        let waiting = pending(&harness).await;
        let first = since(&waiting);
        assert_eq!(first.len(), 1, "{waiting:?}");
        let failure = waiting.iter().find_map(|memory| memory.failure.as_ref()).unwrap();
        assert!(failure.error.is_some(), "{failure:?}");
        // It is retried each hour, and has been failing since then.
        harness.pass(3 * HOUR).await;
        assert_eq!(since(&pending(&harness).await), first);
        memory.script.set_default(PromptVerb::Remember, ENTRIES.to_owned());
        harness.pass(24 * HOUR).await;
        assert_eq!(since(&pending(&harness).await), [Timestamp::UNIX_EPOCH; 0]);
        // A new failure starts a new period.
        memory.script.set_default(PromptVerb::Remember, "I would rather not.".to_owned());
        harness.says("alice", "and the peas").await;
        harness.pass(2 * HOUR).await;
        let again = since(&pending(&harness).await);
        assert!(again.len() == 1 && again[0] > first[0], "{again:?}");
    })
    .await;
}
