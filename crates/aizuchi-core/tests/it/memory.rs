//! Memories, over days and on both databases, and what needs none of them on every store.

use std::fmt::Write as _;
use std::sync::Arc;

use aizuchi_core::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Heard, Message, MessageId,
    UserId, Visibility,
};
use aizuchi_core::context::{Context, ContextLimits};
use aizuchi_core::decision::Usage;
use aizuchi_core::llm::LlmError;
use aizuchi_core::llm::builtin::BuiltinMind;
use aizuchi_core::memory::{Memory, MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::store::database::exchange_text::unpack;
use aizuchi_core::store::order::Order;
use insta::assert_snapshot;
use jiff::SignedDuration;

use aizuchi_harness::fixtures::{at, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// A harness that remembers with the built-in model, and has a private channel besides.
async fn harness(store: TestStore) -> Harness {
    let harness = Harness::new(store).await;
    harness.set_visibility("attic", Visibility::Private).await;
    harness.with_options(HarnessOptions {
        memory: Some(Arc::new(BuiltinMind)),
        ..HarnessOptions::default()
    })
}

/// A harness that remembers with a scripted model.
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

/// What these tests do with a harness.
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

    /// All memories that a prompt for this channel would hold.
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
    // A reply sees the memories, without the private ones of other channels.
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
        // Once the channel is public again, only what is said from then on is public.
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
async fn a_deleted_message_is_removed_from_all_memory_versions() {
    on_every_database(async |store| {
        let harness = harness(store).await;
        let secret = harness.says("alice", "my locker code is 4711, the key hangs behind").await;
        harness.says("bob", "the beans are up and need long poles").await;
        harness.pass(2 * HOUR).await;
        harness.says("bob", "the fence needs paint before winter comes").await;
        harness.says_in(top_level("kitchen"), "dan", "@Aizuchi what is new in the garden?").await;
        harness.pass(2 * HOUR).await;
        assert!(harness.known_memories("kitchen").await.contains("4711"));
        let held = |decision| harness.store.archive.exchanges(decision);
        let reply = harness.decisions("kitchen").await.pop().unwrap().id;
        assert!(held(reply).await.unwrap()[0].is_some());
        let deletion = Deletion {
            conversation: top_level("garden"),
            message: secret,
            at: harness.clock.now(),
        };
        harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
        // At once, and so are the prompts that held the memory.
        assert!(!harness.known_memories("kitchen").await.contains("4711"));
        assert!(held(reply).await.unwrap()[0].is_none());
        harness.pass(HOUR).await;
        // The other messages behind the same entries are remembered again.
        let after = harness.known_memories("kitchen").await;
        assert!(!after.contains("4711") && after.contains("beans"), "{after}");
        let long = harness.memory(garden(), MemoryTerm::LongTerm).await.unwrap();
        assert!(long.orphaned_messages.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_reset_removes_what_was_remembered_of_the_conversation() {
    on_every_database(async |store| {
        let harness = harness(store).await;
        harness.says("alice", "my locker code is 4711, the key hangs behind").await;
        harness
            .says_in(top_level("kitchen"), "dan", "the soup needs more salt, says the cook")
            .await;
        harness.pass(2 * HOUR).await;
        let before = harness.known_memories("kitchen").await;
        assert!(before.contains("4711") && before.contains("salt"), "{before}");
        let until = harness.clock.now();
        harness.order(Order::Reset { conversation: top_level("garden"), until }).await;
        harness.pass(2 * HOUR).await;
        for channel in ["garden", "kitchen"] {
            let after = harness.known_memories(channel).await;
            assert!(!after.contains("4711") && after.contains("salt"), "{after}");
        }
    })
    .await;
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
async fn ten_versions_of_a_memory_are_kept() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        for number in 0..15 {
            memory.script.set_default(PromptVerb::Remember, entries(&format!("state {number}")));
            harness.says("alice", &format!("line {number}")).await;
            harness.pass(2 * HOUR).await;
        }
        let database = harness.store.database.as_ref().unwrap();
        let counted = database.count(
            "SELECT count(*) AS n FROM memories WHERE term = 'short_term' AND channel = 'garden'",
        );
        assert_eq!(counted.await, 10);
        assert_eq!(
            database.count("SELECT count(*) AS n FROM memories WHERE is_current = 1").await,
            4
        );
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
        // Of the two entries, one is public.
        let attic = MemoryScope::Channel(ChannelId::new("attic"));
        let memory = harness.memory(attic, MemoryTerm::ShortTerm).await.unwrap();
        let public = memory.entries.iter().filter(|entry| entry.is_public()).count();
        assert_eq!((public, memory.entries.len()), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn prompts_made_from_a_dropped_memory_version_are_deleted_with_its_message() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("the locker code is 4711"));
        let secret = harness.says("alice", "the locker code is 4711").await;
        harness.pass(2 * HOUR).await;
        harness.says_in(top_level("kitchen"), "dan", "@Aizuchi what is new?").await;
        harness.pass(60).await;
        let reply = harness.decisions("kitchen").await.pop().unwrap().id;
        assert!(harness.store.archive.exchanges(reply).await.unwrap()[0].is_some());
        for number in 0..12 {
            harness.says("alice", &format!("line {number}")).await;
            harness.pass(2 * HOUR).await;
        }
        let deletion = Deletion {
            conversation: top_level("garden"),
            message: secret,
            at: harness.clock.now(),
        };
        harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
        assert!(harness.store.archive.exchanges(reply).await.unwrap()[0].is_none());
    })
    .await;
}

/// On SQLite alone: the test asks its tables in its dialect.
#[tokio::test]
async fn the_sources_of_a_dropped_memory_version_are_kept_as_long_as_prompts() {
    let (harness, memory) = scripted(TestStore::sqlite().await).await;
    memory.script.set_default(PromptVerb::Remember, entries("the locker code is 4711"));
    let said = harness.says("alice", "the locker code is 4711").await;
    assert_eq!(said.as_str(), "m000");
    harness.pass(DAY).await;
    for number in 0..12 {
        harness.says("alice", &format!("line {number}")).await;
        harness.pass(DAY).await;
        harness.drop_old_prompts().await;
    }
    let database = harness.store.database.clone().unwrap();
    let known = "SELECT count(*) AS n FROM memory_sources
        WHERE line = 'm000' AND scope = 'channel' AND term = 'short_term'";
    let reports = "SELECT count(*) AS n FROM memories, json_each(entries) AS e
        WHERE scope = 'channel' AND term = 'short_term' AND instr(e.value ->> 'lines', 'm000') > 0";
    assert_eq!((database.count(reports).await, database.count(known).await), (0, 1));
    harness.pass(40 * DAY).await;
    harness.drop_old_prompts().await;
    assert_eq!(database.count(known).await, 1);
    harness.pass(3 * DAY).await;
    harness.drop_old_prompts().await;
    assert_eq!(database.count(known).await, 0);
    // The sources of the current version stay known.
    let long = "SELECT count(*) AS n FROM memory_sources
        WHERE line = 'm000' AND scope = 'channel' AND term = 'long_term'";
    assert_eq!(database.count(long).await, 1);
}

/// On SQLite alone: the statements are the same for PostgreSQL, on which a year of talk takes minutes.
#[tokio::test]
async fn lineage_does_not_grow_without_bound() {
    let harness = harness(TestStore::sqlite().await).await;
    let database = harness.store.database.clone().unwrap();
    let mut known = Vec::new();
    for week in 0..52 {
        for bed in 0..10 {
            let text = format!("in week {week} bed {bed} of the garden gets new compost");
            harness.says("alice", &text).await;
        }
        harness.pass(7 * DAY).await;
        harness.drop_old_prompts().await;
        known.push(database.count("SELECT count(*) AS n FROM memory_sources").await);
    }
    let most = |weeks: &[i64]| *weeks.iter().max().unwrap();
    assert!(most(&known[26..]) <= most(&known[..26]), "{known:?}");
    assert!(known[51] < 900, "{known:?}");
}

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

/// Defect 2 of myao2: threads were not remembered.
#[tokio::test]
async fn defect_2_threads_are_remembered_and_channels_hear_them() {
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

/// Defect 3 of myao2: its own reply froze the memory.
#[tokio::test]
async fn defect_3_its_own_reply_does_not_freeze_the_memory() {
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

/// Defect 4 of myao2: a message blanked the name of its channel.
#[tokio::test]
async fn defect_4_a_message_does_not_blank_the_name_of_its_channel() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "hello").await;
        let context = harness.context_of(&top_level("garden")).await;
        assert_eq!(&*context.conversation_history.channel_name, "garden");
        assert_eq!(&*context.channel_memories[0].channel_name, "garden");
    })
    .await;
}

/// Defect 5 of myao2: other conversations crowded out the target.
#[tokio::test]
async fn defect_5_the_target_is_complete_despite_other_conversations() {
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
        // The window of the channel, and the parent.
        assert!((51..=76).contains(&around.len()), "{}", around.len());
        // At the top level, a question that was answered in its thread is answered.
        let context = harness.context_of(&top_level("garden")).await;
        harness.says_in(there, "bob", "found it").await;
        let later = harness.context_of(&top_level("garden")).await;
        let asked = later.target_message(&parent).unwrap();
        assert!(later.is_answered_in_thread(asked));
        assert_ne!(context.state_hash(), later.state_hash());
    })
    .await;
}

/// Defect 42 of myao2: old memories were shown as recent.
#[tokio::test]
async fn defect_42_old_memories_are_not_shown_as_recent() {
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

/// On SQLite alone: the test looks into its file.
#[tokio::test]
async fn forgetting_a_user_leaves_no_trace_in_the_file() {
    let harness = harness(TestStore::sqlite().await).await;
    let texts =
        ["Zebedee keeps bees behind the chapel wall", "my honey wins prizes every single year"];
    for text in texts {
        harness.says("zebedee", text).await;
    }
    harness.says("bob", "the fence needs paint before winter comes").await;
    harness
        .mind
        .script
        .set_default(PromptVerb::Reply, "zebedee keeps bees behind the chapel wall, I heard");
    harness.says("bob", "@Aizuchi who could help in the orchard?").await;
    let own = Message {
        author: Author { id: UserId::new("u-bob"), kind: AuthorKind::Human },
        ..aizuchi_harness::fixtures::message(
            top_level("kitchen"),
            "x1",
            harness.clock.now(),
            "bob",
            "lunch is at noon",
        )
    };
    harness.hear(own).await;
    harness.pass(DAY).await;
    assert!(harness.known_memories("garden").await.contains("bees behind"));
    let database = harness.store.database.clone().unwrap();
    // Compressed texts are not found by looking for words.
    let packed_before = database.packed_exchanges().await;
    let holds_bees = |packed: &&Vec<u8>| unpack(packed).unwrap().0.contains("bees behind");
    assert!(packed_before.iter().any(|packed| holds_bees(&packed)));
    harness.store.clone().stop().await;
    let forgotten = database.forget("zebedee").await;
    assert_eq!((forgotten.messages, forgotten.own_messages), (2, 1));
    let packed_after = database.packed_exchanges().await;
    let is_gone = |packed: &&Vec<u8>| !packed_after.contains(packed);
    for packed in &packed_after {
        let (prompt, answer) = unpack(packed).unwrap();
        let text = format!("{prompt} {answer:?}").to_lowercase();
        assert!(!text.contains("zebedee") && !text.contains("honey"), "{text}");
    }
    let folder = database.path().parent().unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        for trace in ["zebedee", "bees", "chapel", "honey", "prizes"] {
            assert!(!text.contains(trace), "{trace} is still there");
        }
        for packed in packed_before.iter().filter(is_gone) {
            // The end is in one piece wherever the database breaks a long row.
            let end = &packed[packed.len() - packed.len().min(256)..];
            assert!(!bytes.windows(end.len()).any(|part| part == end), "a prompt is still there");
        }
    }
    // The others are still remembered, and entries that held the user are written again.
    let harness = harness.restart().await;
    let harness = harness.with_options(HarnessOptions {
        memory: Some(Arc::new(BuiltinMind)),
        ..HarnessOptions::default()
    });
    harness.pass(HOUR).await;
    let known_memories = harness.known_memories("kitchen").await;
    assert!(known_memories.contains("fence needs paint"), "{known_memories}");
    let asked = MessageId::new("m003");
    assert!(harness.messages("garden").await.iter().any(|stored| stored.message.id == asked));
}

/// Imported memories have no messages behind them. They survive merging and never become public by it, not even in a
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
