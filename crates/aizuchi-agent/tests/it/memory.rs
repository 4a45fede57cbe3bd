//! Memories over several days, on both databases; tests that need no memories run on every store.

mod versions;
mod forgetting;
mod privacy;
mod contexts;
mod long;

use std::fmt::Write as _;
use std::sync::Arc;

use aizuchi_harness::fixtures::{at, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::LlmError;
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Channel, ChannelId, ConversationId, Heard, Visibility};
use aizuchi_model::context::{Context, ContextLimits};
use aizuchi_model::decision::Usage;
use aizuchi_model::memory::{Memory, MemoryKey, MemoryScope, MemoryTerm};
use insta::assert_snapshot;
use jiff::SignedDuration;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// A harness that makes memories with the built-in mind, and also has a private channel.
async fn harness(store: TestStore) -> Harness {
    let harness = Harness::new(store).await;
    harness.set_visibility("attic", Visibility::Private).await;
    harness.with_options(HarnessOptions {
        memory: Some(Arc::new(BuiltinMind)),
        ..HarnessOptions::default()
    })
}

/// A harness that makes memories with a scripted model.
async fn scripted(store: TestStore) -> (Harness, Arc<TestMind>) {
    let memory = Arc::new(TestMind::default());
    let harness = Harness::new(store).await;
    (
        harness.with_options(HarnessOptions {
            memory: Some(memory.clone()),
            ..HarnessOptions::default()
        }),
        memory,
    )
}

fn entries(text: &str) -> String {
    format!(r#"{{"entries":[{{"date":"2027-01-15","text":"{text}","sources":[1]}}]}}"#)
}

/// Test helpers for a harness.
trait MemoryExt {
    async fn set_visibility(&self, channel: &str, visibility: Visibility);
    async fn context_of(&self, conversation: &ConversationId) -> Context;
    async fn drop_old_prompts(&self);
    async fn known_memories(&self, channel: &str) -> String;
    async fn memory(&self, scope: MemoryScope, term: MemoryTerm) -> Option<Memory>;
}

impl MemoryExt for Harness {
    async fn set_visibility(&self, channel: &str, visibility: Visibility) {
        let channel = Channel {
            workspace: workspace(),
            id: ChannelId::new(channel),
            name: channel.into(),
            visibility,
            topic: None,
        };
        self.inbox.hear(Heard::Channel(channel)).await.unwrap();
    }

    async fn context_of(&self, conversation: &ConversationId) -> Context {
        let window = ContextLimits::default().window(self.clock.now());
        self.store.store.context(conversation, &window).await.unwrap()
    }

    /// Drops prompts that are older than two weeks, as retention does.
    async fn drop_old_prompts(&self) {
        let before = self.clock.now() - SignedDuration::from_secs(14 * DAY);
        self.store.store.drop_exchanges(before, u64::MAX).await.unwrap();
    }

    /// All memories that a prompt for this channel would contain.
    async fn known_memories(&self, channel: &str) -> String {
        let context = self.context_of(&top_level(channel)).await;
        let mut text = String::new();
        let mut tell = |what: &str, memory: &Option<Arc<str>>| {
            for message in memory.iter().flat_map(|memory| memory.lines()) {
                let _ = writeln!(text, "{what} {message}");
            }
        };
        tell("workspace, long: ", &context.workspace_long_term_memory);
        tell("workspace, short:", &context.workspace_short_term_memory);
        for channel in &context.channel_memories {
            tell(&format!("{}, long: ", channel.channel_name), &channel.long_term_memory);
            tell(&format!("{}, short:", channel.channel_name), &channel.short_term_memory);
        }
        for thread in &context.thread_memories {
            tell(&format!("thread {}:", thread.thread), &Some(thread.memory.clone()));
        }
        text
    }

    async fn memory(&self, scope: MemoryScope, term: MemoryTerm) -> Option<Memory> {
        let key = MemoryKey { workspace: workspace(), scope, term };
        let memories = self.store.store.memories(&workspace()).await.unwrap();
        memories.into_iter().find(|memory| memory.key == key)
    }
}

fn garden() -> MemoryScope {
    MemoryScope::Channel(ChannelId::new("garden"))
}

async fn three_days(store: TestStore) -> Vec<String> {
    let harness = harness(store).await;
    let mut reports = Vec::new();
    harness
        .says("alice", "the greenhouse gets new glass on Friday, the glazier comes at nine")
        .await;
    let asked = harness.says("bob", "who waters the seedlings while I am away next week?").await;
    harness.pass(60).await;
    let there = thread("garden", asked.as_str());
    harness.says_in(there, "carol", "I water the seedlings every morning until you return").await;
    harness
        .says_in(top_level("attic"), "alice", "the surprise party for Carol is in the old barn")
        .await;
    harness.pass(DAY).await;
    reports.push(format!("day 1, in the kitchen\n{}", harness.known_memories("kitchen").await));
    harness
        .says_in(top_level("kitchen"), "carol", "the oven repair costs ninety, Dan pays half")
        .await;
    harness
        .says_in(top_level("attic"), "bob", "bring lanterns to the old barn before Saturday")
        .await;
    harness.pass(DAY).await;
    reports.push(format!("day 2, in the garden\n{}", harness.known_memories("garden").await));
    harness.says("dan", "the glazier has finished the greenhouse, all panes are in").await;
    harness.pass(DAY).await;
    reports.push(format!("day 3, in the kitchen\n{}", harness.known_memories("kitchen").await));
    reports.push(format!("day 3, in the attic\n{}", harness.known_memories("attic").await));
    // A reply sees the memories, except for other channels' private ones.
    harness.says_in(top_level("kitchen"), "dan", "@Aizuchi what is new?").await;
    harness.pass(10).await;
    let prompt = harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap();
    assert!(prompt.contains("ninety, Dan pays half") && prompt.contains("all panes are in"));
    assert!(!prompt.contains("barn") && !prompt.contains("attic"), "{prompt}");
    reports
}

#[tokio::test]
async fn three_days_in_two_public_channels_and_a_private_one() {
    let reports = on_every_database(three_days).await;
    assert_snapshot!(reports.join("\n"));
}

#[tokio::test]
async fn an_unusable_answer_keeps_the_previous_memory() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("the beans are up"));
        harness.says("alice", "the beans are up").await;
        harness.pass(2 * HOUR).await;
        let before = harness.known_memories("garden").await;
        assert!(before.contains("2027-01-15: the beans are up"), "{before}");
        for useless in [
            String::new(),
            "I would rather not.".to_owned(),
            r#"{"entries": "none"}"#.to_owned(),
            r#"{"entries": []}"#.to_owned(),
            entries(&"word ".repeat(900)),
        ] {
            memory.script.set_default(PromptVerb::Remember, useless);
            harness.says("bob", "and the peas").await;
            harness.pass(2 * HOUR).await;
            assert_eq!(harness.known_memories("garden").await, before);
        }
        let down = || LlmError::Busy {
            why: "down".to_owned(),
            retry_after: None,
            usage: Usage::default(),
        };
        memory.script.push(PromptVerb::Remember, Err(down()));
        memory.script.set_default(PromptVerb::Remember, entries("the peas are up"));
        harness.says("bob", "the peas, too").await;
        harness.pass(3 * HOUR).await;
        assert!(harness.known_memories("garden").await.contains("the peas are up"));
    })
    .await;
}

#[tokio::test]
async fn a_channel_that_fails_stops_no_other() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("something"));
        memory.fail_on("the garden");
        harness.says("alice", "the garden floods").await;
        harness.says_in(top_level("kitchen"), "bob", "the oven works").await;
        harness.pass(5 * HOUR).await;
        assert!(harness.memory(garden(), MemoryTerm::ShortTerm).await.is_none());
        let kitchen = MemoryScope::Channel(ChannelId::new("kitchen"));
        assert!(harness.memory(kitchen, MemoryTerm::LongTerm).await.is_some());
        assert!(harness.memory(MemoryScope::Workspace, MemoryTerm::LongTerm).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn nothing_new_costs_nothing() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("the beans are up"));
        harness.says("alice", "the beans are up").await;
        harness.pass(DAY).await;
        let calls = memory.prompt_texts(PromptVerb::Remember).len();
        // Channel and workspace, short-term and long-term.
        assert_eq!(calls, 4);
        harness.pass(30 * DAY).await;
        let options = HarnessOptions { memory: Some(memory.clone()), ..HarnessOptions::default() };
        let harness = harness.restart().await.with_options(options);
        harness.pass(30 * DAY).await;
        assert_eq!(memory.prompt_texts(PromptVerb::Remember).len(), calls);
        harness.says("alice", "the peas are up").await;
        harness.pass(DAY).await;
        assert!(memory.prompt_texts(PromptVerb::Remember).len() > calls);
    })
    .await;
}

#[tokio::test]
async fn a_memory_job_survives_a_restart() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("the beans are up"));
        harness.says("alice", "the beans are up").await;
        harness.clock.advance_to(at(2 * HOUR));
        let lease = SignedDuration::from_mins(11);
        let taken =
            harness.store.store.claim_memory_jobs(harness.clock.now(), lease, 4).await.unwrap();
        assert_eq!(taken.len(), 1);
        assert!(
            harness
                .store
                .store
                .claim_memory_jobs(harness.clock.now(), lease, 4)
                .await
                .unwrap()
                .is_empty()
        );
        let harness = harness
            .restart()
            .await
            .with_options(HarnessOptions { memory: Some(memory), ..HarnessOptions::default() });
        harness.pass(HOUR).await;
        assert!(harness.known_memories("garden").await.contains("the beans are up"));
    })
    .await;
}

#[tokio::test]
async fn messages_heard_during_a_memory_job_are_for_the_next_one() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("the beans are up"));
        harness.says("alice", "the beans are up").await;
        harness.pass(HOUR - 1).await;
        let there = harness.clone();
        memory.meanwhile(PromptVerb::Remember, || async move {
            there.says("bob", "and so are the peas").await;
        });
        harness.pass(2).await;
        let asked = memory.prompt_texts(PromptVerb::Remember);
        assert!(!asked.is_empty() && !asked[0].contains("peas"));
        memory.script.set_default(PromptVerb::Remember, entries("the peas are up"));
        harness.pass(2 * HOUR).await;
        assert!(harness.known_memories("garden").await.contains("peas"));
        assert_eq!(harness.store.store.next_memory_job().await.unwrap(), None);
    })
    .await;
}

/// In myao2, the persona's own reply froze its memory.
#[tokio::test]
async fn its_own_reply_does_not_freeze_the_memory() {
    on_every_database(async |store| {
        let harness = harness(store).await;
        harness.says("alice", "@Aizuchi the ladder stands behind the compost heap").await;
        harness.pass(2 * HOUR).await;
        harness.says("bob", "the wheelbarrow stands beside the water butt").await;
        harness.pass(2 * HOUR).await;
        assert!(harness.known_memories("garden").await.contains("wheelbarrow"));
    })
    .await;
}
