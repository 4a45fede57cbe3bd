//! Memories of much talk, and of long messages.

use std::sync::Arc;

use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::prompt::budget::PromptBudget;
use aizuchi_model::memory::MemoryTerm;
use aizuchi_model::rules::Rulebook;
use jiff::SignedDuration;

use crate::memory::{HOUR, MemoryExt, entries, garden, scripted};

#[tokio::test]
async fn a_memory_may_take_more_calls_than_a_decision() {
    let book = Rulebook { calls_per_decision: Some(2), ..Rulebook::default() };
    on_every_database(async |store| {
        let memory = Arc::new(TestMind::default());
        memory.script.set_default(PromptVerb::Remember, entries("the beans are up"));
        let mut options = HarnessOptions::from_rulebook(book.clone());
        options.settings.memory.max_fold_tokens = 200;
        options.memory = Some(memory);
        let harness = Harness::new(store).await.with_options(options);
        // Each is a part of its own.
        for _ in 0..6 {
            harness.says("alice", &"beans ".repeat(150)).await;
            harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(2 * HOUR));
        }
        harness.pass(2 * HOUR).await;
        assert!(harness.memory(garden(), MemoryTerm::ShortTerm).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn long_messages_make_no_prompt_too_long() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("the beans are up"));
        for _ in 0..12 {
            harness.says("alice", &"beans ".repeat(5000)).await;
        }
        harness.pass(2 * HOUR).await;
        assert!(harness.memory(garden(), MemoryTerm::ShortTerm).await.is_some());
        let prompts = memory.prompts(PromptVerb::Remember);
        let longest = prompts.iter().map(|prompt| prompt.total_tokens()).max();
        assert!(longest <= Some(PromptBudget::default().max_tokens), "{longest:?}");
    })
    .await;
}
