//! Defects of myao2 in what is stored and remembered. Others are tested in `memory.rs`, `memory/contexts.rs`,
//! `canary.rs` and `prompts/defects.rs`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{message, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions, prompts};
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_model::chat::{AuthorKind, ConversationId, Heard, Role, User, UserId};
use aizuchi_model::context::{Context, ContextLimits};
use aizuchi_model::memo::MAX_LIST_LENGTH;
use aizuchi_model::persona::Language;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::json;
use tokio::sync::{Barrier, Notify};

use crate::canary::PromptRecorder;
use crate::prompts::persona;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

async fn context(harness: &Harness, conversation: &ConversationId) -> Context {
    let window = ContextLimits::default().window(harness.clock.now());
    harness.store.store.context(conversation, &window).await.unwrap()
}

/// A message that is edited or deleted during its reply stays so, even if its first version is heard again.
#[tokio::test]
async fn a_deleted_message_does_not_come_back() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let said = harness.clock.now();
        let edited = harness.says("alice", "the code is 4711").await;
        let deleted = harness.says("alice", "the key is under the mat").await;
        let there = harness.clone();
        let (one, other) = (edited.clone(), deleted.clone());
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            there.edits(&one, "the code is a secret").await;
            there.deletes(&other).await;
        });
        harness.says("bob", "@Aizuchi are you there?").await;
        harness.pass(60).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        for (id, text) in [(&edited, "the code is 4711"), (&deleted, "the key is under the mat")] {
            harness.hear(message(top_level("garden"), id.as_str(), said, "alice", text)).await;
        }
        let known = context(&harness, &top_level("garden")).await;
        let all = format!("{known:?}{:?}", harness.messages("garden").await);
        assert!(!all.contains("4711") && !all.contains("under the mat"), "{all}");
        assert!(known.target_message(&deleted).is_none());
        assert_eq!(&*known.target_message(&edited).unwrap().text, "the code is a secret");
    })
    .await;
}

#[tokio::test]
async fn a_renamed_user_has_the_new_name_everywhere() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "the beans are up").await;
        let user = User {
            workspace: workspace(),
            id: UserId::new("u-alice"),
            name: "Alicia Bean".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
            zone: None,
        };
        harness.inbox.hear(Heard::User(user)).await.unwrap();
        let known = Arc::new(context(&harness, &top_level("garden")).await);
        let scene = PromptOptions::new(harness.clock.now());
        let text = prompts(Language::En).reply(&persona(Language::En), &known, &scene).text;
        assert!(text.contains("** Alicia Bean:\nthe beans are up"), "{text}");
        assert!(!text.contains("alice"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn memo_tools_hold_their_rules_and_lose_nothing() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let tools = Some(ToolSettings::new(TimeZone::UTC));
        let harness = harness.with_options(HarnessOptions { tools, ..HarnessOptions::default() });
        let add = |name: &str, content: &str| {
            ("add_memo", json!({ "name": name, "content": content, "priority": 1 }))
        };
        let script = &harness.mind.script;
        // Two concurrent replies choose the same name for their memos, one a second after the other.
        let both = Arc::new(Barrier::new(2));
        let (other, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let asked = both.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            asked.wait().await;
        });
        let noted = other.clone();
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            both.wait().await;
            noted.notified().await;
        });
        let (clock, ended) = (harness.clock.clone(), back.clone());
        harness.mind.meanwhile(PromptVerb::Reply, || async move {
            clock.advance_to(clock.now() + SignedDuration::from_secs(1));
            other.notify_one();
            ended.notified().await;
        });
        harness.mind.meanwhile(PromptVerb::Reply, || async move { back.notify_one() });
        script.push_tool_calls(PromptVerb::Reply, "", &[add("tea", "green")]);
        script.push_tool_calls(PromptVerb::Reply, "", &[add("tea", "black")]);
        harness.says("alice", "@Aizuchi green tea").await;
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi black tea").await;
        harness.pass(10).await;
        let (here, garden) = (workspace(), top_level("garden").channel);
        let memos = || harness.store.store.memos(&here, &garden);
        let store = memos().await.unwrap().into_iter().map(|(_, memo)| (memo.name, memo.content));
        let store: BTreeMap<String, String> = store.collect();
        let expected = [("tea", "green"), ("tea-2", "black")];
        let expected = expected.map(|(name, content)| (name.to_owned(), content.to_owned()));
        assert_eq!(store, BTreeMap::from(expected));
        // A name is a single line, and lists are limited.
        script.push_tool_calls(PromptVerb::Reply, "", &[add("a\n## b", "x")]);
        harness.says("alice", "@Aizuchi take a note").await;
        harness.pass(10).await;
        assert_eq!(memos().await.unwrap().len(), 2);
        for reply in 0..2 {
            for round in 0..4 {
                let names: Vec<String> = (0..8).map(|n| format!("{reply}-{round}-{n}")).collect();
                let calls: Vec<_> = names.iter().map(|name| add(name, "x")).collect();
                script.push_tool_calls(PromptVerb::Reply, "", &calls);
            }
            script.push(PromptVerb::Reply, Ok("Noted."));
            harness.says("alice", "@Aizuchi take notes").await;
            harness.pass(10).await;
        }
        assert_eq!(memos().await.unwrap().len(), 66);
        for limit in [-1, 1_000_000] {
            script.push_tool_calls(
                PromptVerb::Reply,
                "",
                &[("list_memo", json!({ "limit": limit }))],
            );
            harness.says("alice", "@Aizuchi what did you note?").await;
            harness.pass(10).await;
            let decision = harness.decisions("garden").await.pop().unwrap();
            let asked = harness.store.archive.exchanges(decision.id).await.unwrap();
            let asked = &asked[1].as_ref().unwrap().prompt;
            let listed = asked.lines().filter(|message| message.starts_with("> - [")).count();
            assert!((1..=MAX_LIST_LENGTH).contains(&listed), "{limit}: {listed}");
        }
    })
    .await;
}

/// A harness that makes memories with the built-in mind and records its prompts.
async fn recording_harness(
    store: TestStore,
) -> (Harness, HarnessOptions, Arc<Mutex<Vec<(String, String)>>>) {
    let heard = Arc::default();
    let memory = PromptRecorder { llm: Arc::new(BuiltinMind), heard: Arc::clone(&heard) };
    let options = HarnessOptions { memory: Some(Arc::new(memory)), ..HarnessOptions::default() };
    (Harness::new(store).await.with_options(options.clone()), options, heard)
}

#[tokio::test]
async fn an_unchanged_memory_is_not_merged_again() {
    on_every_database(async |store| {
        let (harness, _, heard) = recording_harness(store).await;
        harness.says("alice", "the greenhouse gets new glass on Friday").await;
        harness.says_in(top_level("kitchen"), "bob", "the oven is broken since Tuesday").await;
        harness.pass(DAY).await;
        heard.lock().unwrap().clear();
        harness.says_in(top_level("kitchen"), "bob", "the oven was mended by the neighbor").await;
        harness.pass(DAY).await;
        let heard = heard.lock().unwrap();
        let is_merge = |text: &&String| text.contains("Merge all of it into the long-term memory");
        let merges: Vec<&String> = heard.iter().map(|(_, text)| text).filter(is_merge).collect();
        let [merge] = merges[..] else { panic!("{merges:#?}") };
        // The garden's memory is used as it was merged before, and not merged again.
        assert!(merge.contains("### Long-term memory of #kitchen"), "{merge}");
        assert!(!merge.contains("### Long-term memory of #garden"), "{merge}");
        assert_eq!(merge.matches("the greenhouse gets new glass").count(), 1, "{merge}");
        assert!(heard.iter().all(|(home, _)| home != "garden"));
    })
    .await;
}

#[tokio::test]
async fn a_restart_remembers_nothing_anew() {
    on_every_database(async |store| {
        let (harness, options, heard) = recording_harness(store).await;
        for number in 0..10 {
            let channel = format!("room-{number}");
            let parent = harness
                .says_in(top_level(&channel), "alice", "the beans are up and need poles")
                .await;
            harness
                .says_in(thread(&channel, parent.as_str()), "bob", "the poles are in the shed")
                .await;
        }
        harness.pass(2 * DAY).await;
        assert!(!heard.lock().unwrap().is_empty());
        heard.lock().unwrap().clear();
        let harness = harness.restart().await.with_options(options);
        harness.pass(2 * DAY).await;
        assert_eq!(*heard.lock().unwrap(), []);
    })
    .await;
}
