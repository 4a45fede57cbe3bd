//! How far back a context reaches: each of the three windows is moved, and the content of the prompt moves with it.

use std::sync::Arc;

use aizuchi_harness::fixtures::{thread, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::context::{Context, ContextLimits};
use jiff::SignedDuration;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// A harness that makes memories with the built-in mind.
async fn remembering(store: TestStore, limits: ContextLimits) -> Harness {
    let mut options =
        HarnessOptions { memory: Some(Arc::new(BuiltinMind)), ..HarnessOptions::default() };
    options.settings.limits = limits;
    Harness::new(store).await.with_options(options)
}

fn hours(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}

/// A user asks in a channel. Returns the context of the reply.
async fn reply_context(harness: &Harness, channel: &str) -> Arc<Context> {
    harness.says_in(top_level(channel), "bob", "@Aizuchi what is new?").await;
    harness.pass(1).await;
    harness.mind.prompts(PromptVerb::Reply).pop().unwrap().context
}

/// Whether a prompt for the kitchen contains the garden with its long-term memory.
async fn is_garden_known(harness: &Harness) -> bool {
    let context = reply_context(harness, "kitchen").await;
    let known = context.channel_memories.iter().find(|memory| &*memory.channel_name == "garden");
    let text = harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap();
    let is_known = known.is_some_and(|memory| memory.long_term_memory.is_some());
    assert_eq!(text.contains("### #garden"), is_known, "{text}");
    is_known
}

#[tokio::test]
async fn a_channel_is_known_elsewhere_for_as_long_as_it_counts_as_active() {
    for days in [2, 7, 20] {
        on_every_database(async |store| {
            let limits =
                ContextLimits { active_channel_age: hours(24 * days), ..ContextLimits::default() };
            let harness = remembering(store, limits).await;
            harness.says("alice", "the beans are up and need long poles").await;
            harness.pass(days * DAY - HOUR).await;
            assert!(is_garden_known(&harness).await, "{days} days");
            harness.pass(2 * HOUR).await;
            assert!(!is_garden_known(&harness).await, "{days} days");
        })
        .await;
    }
}

#[tokio::test]
async fn a_threads_memory_is_told_for_as_long_as_the_window_says() {
    for days in [2, 7, 20] {
        on_every_database(async |store| {
            let limits =
                ContextLimits { thread_memory_age: hours(24 * days), ..ContextLimits::default() };
            let harness = remembering(store, limits).await;
            let parent = harness.says("alice", "where does the ladder stand these days?").await;
            let ladder = thread("garden", parent.as_str());
            harness.says_in(ladder, "bob", "the ladder stands behind the compost heap").await;
            harness.pass(days * DAY - HOUR).await;
            let context = reply_context(&harness, "garden").await;
            let threads: Vec<_> =
                context.thread_memories.iter().map(|shown| &shown.thread).collect();
            assert_eq!(threads, [&parent], "{days} days");
            harness.pass(2 * HOUR).await;
            let context = reply_context(&harness, "garden").await;
            assert_eq!(context.thread_memories, [], "{days} days");
        })
        .await;
    }
}

#[tokio::test]
async fn a_short_term_memory_is_told_for_as_long_as_the_window_says() {
    for window in [6, 24, 72] {
        on_every_database(async |store| {
            let limits =
                ContextLimits { short_term_age: hours(window), ..ContextLimits::default() };
            let harness = remembering(store, limits).await;
            harness.says("alice", "the beans are up and need long poles").await;
            let shown = async || {
                let context = reply_context(&harness, "kitchen").await;
                let garden = context
                    .channel_memories
                    .iter()
                    .find(|memory| &*memory.channel_name == "garden")
                    .unwrap();
                // Unlike the short-term memory, the long-term memory does not age.
                assert!(garden.long_term_memory.is_some(), "{window} hours");
                let of_workspace = context.workspace_short_term_memory.is_some();
                (garden.short_term_memory.is_some(), of_workspace)
            };
            harness.pass(window * HOUR - 60).await;
            assert_eq!(shown().await, (true, true), "{window} hours");
            harness.pass(120).await;
            assert!(!shown().await.0, "{window} hours");
        })
        .await;
    }
}

#[tokio::test]
async fn a_short_term_memory_is_made_from_the_messages_in_the_window() {
    for (window, is_in_window) in [(6, false), (24, false), (48, true)] {
        on_every_database(async |store| {
            let memory = Arc::new(TestMind::default());
            let entry = r#"{"entries":[{"date":"2027-01-15","text":"noted","sources":[1]}]}"#;
            memory.script.set_default(PromptVerb::Remember, entry);
            let mut options =
                HarnessOptions { memory: Some(memory.clone()), ..HarnessOptions::default() };
            options.settings.limits.short_term_age = hours(window);
            let harness = Harness::new(store).await.with_options(options);
            harness.says("alice", "the beans are up").await;
            harness.pass(30 * HOUR).await;
            memory.calls();
            harness.says("alice", "the peas are up").await;
            harness.pass(2 * HOUR).await;
            let made = memory.prompt_texts(PromptVerb::Remember);
            let made = made.iter().find(|text| text.contains("the peas are up")).unwrap();
            assert_eq!(made.contains("the beans are up"), is_in_window, "{window} hours: {made}");
        })
        .await;
    }
}
