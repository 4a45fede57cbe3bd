//! Deleted and reset messages, and those of forgotten users, are in no memory, and in no prompt made from one.

use std::sync::Arc;

use aizuchi_harness::fixtures::top_level;
use aizuchi_harness::harness::HarnessOptions;
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Author, AuthorKind, Deletion, Heard, Message, MessageId, UserId};
use aizuchi_model::decision::consent::ConsentState;
use aizuchi_model::memory::MemoryTerm;
use aizuchi_store::database::exchange_text::unpack;
use aizuchi_store::order::Order;

use crate::consents::{Shed, consents, options, script_a_call};
use crate::memory::{DAY, HOUR, MemoryExt, entries, garden, harness, scripted};

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
        // Immediately, and so are the prompts that contained the memory.
        assert!(!harness.known_memories("kitchen").await.contains("4711"));
        assert!(held(reply).await.unwrap()[0].is_none());
        harness.pass(HOUR).await;
        // The other source messages of the same entries are remembered again.
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

/// The letter knows the message only by the memory that its answer was made from.
#[tokio::test]
async fn a_dead_letter_made_from_a_memory_loses_its_text_with_the_message() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("the locker code is 4711"));
        let secret = harness.says("alice", "the locker code is 4711").await;
        harness.pass(2 * HOUR).await;
        harness.platform.fails(&[Fault::Refused]);
        harness.says_in(top_level("kitchen"), "dan", "@Aizuchi what is new?").await;
        harness.pass(60).await;
        let text = async || {
            harness.store.archive.dead_letters(&Default::default()).await.unwrap()[0].text.clone()
        };
        assert!(text().await.is_some());
        harness.deletes(&secret).await;
        assert_eq!(text().await, None);
        let database = harness.store.database.as_ref().unwrap();
        let given_up = "SELECT count(*) AS n FROM outbox WHERE state = 'dead' AND text <> ''";
        assert_eq!(database.count(given_up).await, 0);
    })
    .await;
}

/// The call knows the message only by the memory that its arguments were made from.
#[tokio::test]
async fn a_call_made_from_a_memory_loses_its_arguments_with_the_message() {
    on_every_database(async |store| {
        let (harness, memory) = scripted(store).await;
        memory.script.set_default(PromptVerb::Remember, entries("the locker code is 4711"));
        let tools = options(Arc::new(Shed::default()));
        let harness = harness.with_options(HarnessOptions { memory: Some(memory), ..tools });
        let secret = harness.says("alice", "the locker code is 4711").await;
        harness.pass(2 * HOUR).await;
        script_a_call(&harness);
        harness.says_in(top_level("kitchen"), "dan", "@Aizuchi plant three roses").await;
        harness.pass(10).await;
        let waiting = consents(&harness).await.remove(0);
        assert!(waiting.state == ConsentState::Open && waiting.arguments.is_some());
        let lineage = &waiting.lineage;
        assert!(!lineage.memories.is_empty());
        assert!(lineage.messages.iter().all(|message| message.1 != secret));
        harness.deletes(&secret).await;
        let gone = consents(&harness).await.remove(0);
        assert_eq!((gone.state, gone.arguments), (ConsentState::Lapsed, None));
    })
    .await;
}

/// Only on SQLite: the test reads its file.
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
    // A word search does not find compressed texts.
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
            // The end is contiguous wherever the database splits a long row.
            let end = &packed[packed.len() - packed.len().min(256)..];
            assert!(!bytes.windows(end.len()).any(|part| part == end), "a prompt is still there");
        }
    }
    // The others are still remembered, and entries that contained the user are written again.
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
