//! The memories and other conversations in a context, which must not crowd out its own.

use aizuchi_harness::fixtures::{thread, top_level};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{on_every_database, on_every_store};

use crate::memory::{DAY, HOUR, MemoryExt, harness};

#[tokio::test]
async fn a_question_stays_answered_despite_other_threads() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let asked = harness.says("alice", "where is the ladder?").await;
        harness.says_in(thread("garden", asked.as_str()), "bob", "behind the shed").await;
        let before = harness.context_of(&top_level("garden")).await;
        let other = harness.says_in(top_level("kitchen"), "carol", "soup?").await;
        for number in 0..60 {
            let other = thread("garden", other.as_str());
            harness.says_in(other, "carol", &format!("line {number}")).await;
        }
        let after = harness.context_of(&top_level("garden")).await;
        assert!(after.is_answered_in_thread(after.target_message(&asked).unwrap()));
        assert_eq!(before.state_hash(), after.state_hash());
    })
    .await;
}

/// myao2 did not remember threads.
#[tokio::test]
async fn threads_are_remembered_and_channels_hear_them() {
    on_every_database(async |store| {
        let harness = harness(store).await;
        let parent = harness.says("alice", "where does the ladder stand these days?").await;
        let there = thread("garden", parent.as_str());
        harness.says_in(there, "bob", "the ladder stands behind the compost heap").await;
        harness.pass(DAY).await;
        let known_memories = harness.known_memories("garden").await;
        let thread = format!("thread {parent}: - 2027-01-15: bob: the ladder stands behind");
        assert!(known_memories.contains(&thread), "{known_memories}");
        assert!(
            known_memories.contains("garden, long:  - 2027-01-15: bob: the ladder stands"),
            "{known_memories}"
        );
    })
    .await;
}

/// In myao2, a message blanked the name of its channel.
#[tokio::test]
async fn a_message_does_not_blank_the_name_of_its_channel() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "hello").await;
        let context = harness.context_of(&top_level("garden")).await;
        assert_eq!(&*context.conversation_history.channel_name, "garden");
        assert_eq!(&*context.channel_memories[0].channel_name, "garden");
    })
    .await;
}

/// In myao2, other conversations crowded out the target.
#[tokio::test]
async fn the_target_is_complete_despite_other_conversations() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let parent = harness.says("alice", "where is the ladder?").await;
        let there = thread("garden", parent.as_str());
        for number in 0..70 {
            harness.says_in(there.clone(), "bob", &format!("place {number}")).await;
        }
        for number in 0..60 {
            harness.says("carol", &format!("line {number}")).await;
        }
        let context = harness.context_of(&there).await;
        assert_eq!(context.target_messages().len(), 71);
        assert_eq!(context.target_messages()[0].id, parent);
        let around = &context.conversation_history.top_level_messages;
        // The channel's window, and the parent.
        assert!((51..=76).contains(&around.len()), "{}", around.len());
        // At the top level, a question that was answered in its thread counts as answered.
        let context = harness.context_of(&top_level("garden")).await;
        harness.says_in(there, "bob", "found it").await;
        let later = harness.context_of(&top_level("garden")).await;
        let asked = later.target_message(&parent).unwrap();
        assert!(later.is_answered_in_thread(asked));
        assert_ne!(context.state_hash(), later.state_hash());
    })
    .await;
}

/// myao2 showed old memories as recent.
#[tokio::test]
async fn old_memories_are_not_shown_as_recent() {
    on_every_database(async |store| {
        let harness = harness(store).await;
        harness.says("alice", "the beans are up and need long poles").await;
        harness.pass(2 * HOUR).await;
        assert!(harness.known_memories("garden").await.contains("garden, short:"));
        harness.pass(3 * DAY).await;
        let known_memories = harness.known_memories("garden").await;
        assert!(
            !known_memories.contains("short:") && known_memories.contains("garden, long:"),
            "{known_memories}"
        );
        // An inactive channel is not known elsewhere.
        harness.pass(7 * DAY).await;
        harness.says_in(top_level("kitchen"), "bob", "quiet here").await;
        assert!(!harness.known_memories("kitchen").await.contains("garden, long:"));
    })
    .await;
}
