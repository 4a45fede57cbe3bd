//! Private messages are remembered only for their own channel.

use aizuchi_harness::fixtures::{at, thread, top_level, workspace};
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, Visibility};
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_store::order::Order;

use crate::memory::{DAY, HOUR, MemoryExt, entries, harness, scripted};

#[tokio::test]
async fn private_messages_reach_no_other_channel() {
    on_every_database(async |store| {
        let harness = harness(store).await;
        harness.set_visibility("direct", Visibility::Direct).await;
        for (conversation, user) in [("attic", "mallory"), ("direct", "mallet")] {
            let asked = harness
                .says_in(
                    top_level(conversation),
                    user,
                    &format!("canary-{conversation} sings at noon"),
                )
                .await;
            harness
                .says_in(thread(conversation, asked.as_str()), user, "canary-thread sings at dusk")
                .await;
        }
        harness.says("alice", "the beans are up and need poles").await;
        harness.pass(DAY).await;
        assert!(harness.known_memories("attic").await.contains("canary-attic"));
        assert!(harness.known_memories("direct").await.contains("canary-direct"));
        assert!(!harness.known_memories("attic").await.contains("canary-direct"));
        for channel in ["garden", "kitchen", "nowhere"] {
            for number in 0..200 {
                let conversation =
                    if number % 2 == 0 { top_level(channel) } else { thread(channel, "m000") };
                let context = format!("{:?}", harness.context_of(&conversation).await);
                for canary in ["canary", "attic", "mall"] {
                    assert!(!context.contains(canary), "{channel}: {context}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_channel_that_becomes_private_takes_its_memories_along() {
    on_every_database(async |store| {
        let harness = harness(store).await;
        harness.says("alice", "the beans are up and need long poles").await;
        harness.says_in(top_level("kitchen"), "bob", "the oven is broken since Tuesday").await;
        harness.pass(DAY).await;
        let before = harness.known_memories("kitchen").await;
        assert!(before.contains("workspace, long:  - 2027-01-15: alice: the beans"), "{before}");
        harness.set_visibility("garden", Visibility::Private).await;
        assert!(!harness.known_memories("kitchen").await.contains("beans"));
        assert!(harness.known_memories("garden").await.contains("beans"));
        harness.pass(DAY).await;
        // Once the channel is public again, only later messages are public.
        harness.set_visibility("garden", Visibility::Public).await;
        harness.says("carol", "the lettuce is ready for the market").await;
        harness.pass(DAY).await;
        let after = harness.known_memories("kitchen").await;
        assert!(after.contains("lettuce") && !after.contains("beans"), "{after}");
        assert!(harness.known_memories("garden").await.contains("beans"));
    })
    .await;
}

#[tokio::test]
async fn private_and_public_messages_are_never_in_the_same_memory_prompt() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("what the model makes of it"));
        harness.set_visibility("attic", Visibility::Private).await;
        harness.says_in(top_level("attic"), "mallory", "the locker code is 4711").await;
        harness.pass(2 * HOUR).await;
        harness.set_visibility("attic", Visibility::Public).await;
        harness.says_in(top_level("attic"), "carol", "the lettuce is ready").await;
        harness.pass(3 * HOUR).await;
        let asked = memory.prompt_texts(PromptVerb::Remember);
        assert!(asked.iter().any(|prompt| prompt.contains("lettuce")));
        let is_mixed = |prompt: &&String| prompt.contains("lettuce") && prompt.contains("4711");
        assert_eq!(asked.iter().find(is_mixed), None);
        // One of the two entries is public.
        let attic = MemoryScope::Channel(ChannelId::new("attic"));
        let memory = harness.memory(attic, MemoryTerm::ShortTerm).await.unwrap();
        let public = memory.entries.iter().filter(|entry| entry.is_public()).count();
        assert_eq!((public, memory.entries.len()), (1, 2));
    })
    .await;
}

/// Imported memories have no source messages. They survive merging and never become public by it, not even in a
/// public channel.
#[tokio::test]
async fn imported_memories_are_merged_and_stay_in_their_channel() {
    on_every_database(async |store| {
        let harness = harness(store).await;
        let entry = MemoryEntry {
            date: jiff::civil::date(2026, 1, 5),
            text: "The keys are under the blue pot.".into(),
            visibility: Visibility::Public,
            messages: Vec::new(),
            pinned: false,
        };
        let scope = MemoryScope::Channel(ChannelId::new("garden"));
        for term in [MemoryTerm::LongTerm, MemoryTerm::ShortTerm] {
            let key = MemoryKey { workspace: workspace(), scope: scope.clone(), term };
            let (entries, newest) = (vec![entry.clone()], at(0));
            harness.order(Order::ImportMemory { key, entries, newest }).await;
        }
        for day in 0..3 {
            harness.says("alice", &format!("tulip number {day} is out")).await;
            harness.pass(DAY).await;
        }
        let garden = harness.known_memories("garden").await;
        assert!(
            garden.contains("long:  - 2026-01-05: The keys are under the blue pot."),
            "{garden}"
        );
        assert!(garden.contains("tulip number 0") && garden.contains("tulip number 2"), "{garden}");
        let kitchen = harness.known_memories("kitchen").await;
        assert!(kitchen.contains("tulip number 0") && !kitchen.contains("blue pot"), "{kitchen}");
    })
    .await;
}
