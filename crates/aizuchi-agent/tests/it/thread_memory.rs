//! The memory of a thread: if it is off, nothing in the thread is remembered anywhere; and it may have its own
//! model.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{at, message, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{on_every_database, on_every_store};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::{ChannelId, MessageId, Visibility};
use aizuchi_model::memory::MemoryScope;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::setting_override::{
    PlaceSetting, SettingChange, SettingRole, SettingScope, Switch,
};
use aizuchi_model::rules::{ChannelRules, MemoryRule, ModelRules, Rulebook};
use aizuchi_store::order::Order;
use async_trait::async_trait;
use jiff::tz::TimeZone;

const HOUR: i64 = 3600;
const ENTRY: &str = r#"{"entries":[{"date":"2027-01-15","text":"noted","sources":[1]}]}"#;

/// A model with another name.
#[derive(Default)]
struct OwnModel(TestMind);

#[async_trait]
impl Llm for OwnModel {
    fn model(&self) -> &str {
        "scripted/own"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.0.ask(prompt).await
    }
}

/// A user posts in `garden`, or in a thread under it.
async fn says(harness: &Harness, parent: Option<&str>, id: &str, name: &str, text: &str) {
    let place = match parent {
        Some(parent) => thread("garden", parent),
        None => top_level("garden"),
    };
    harness.hear(message(place, id, harness.clock.now(), name, text)).await;
}

/// Whether messages in a thread of `garden`, or at its top level, are remembered.
fn remembers(harness: &Harness, parent: Option<&str>) -> bool {
    let (workspace, garden) = (workspace(), ChannelId::new("garden"));
    let thread = parent.map(MessageId::new);
    let place = Place::new(&workspace, &garden, "garden", Visibility::Public);
    harness.options.settings.rulebook.read().remembers(&Place { thread: thread.as_ref(), ..place })
}

/// The threads of `garden` that have memories.
async fn remembered_threads(harness: &Harness) -> Vec<String> {
    let archive = &harness.store.archive;
    let memories = archive.thread_memories(&workspace(), &ChannelId::new("garden"), 9).await;
    let threads = memories.unwrap().into_iter().filter_map(|memory| match memory.key.scope {
        MemoryScope::Thread(_, thread) => Some(thread.to_string()),
        MemoryScope::Workspace | MemoryScope::Channel(_) => None,
    });
    threads.collect()
}

fn memory_off(parent: &str) -> Order {
    let change = SettingChange::Set(PlaceSetting::Memory(Switch::Off));
    let scope = SettingScope::Thread(ChannelId::new("garden"), MessageId::new(parent));
    let (workspace, role, by) = (workspace(), SettingRole::Admin, "olga".into());
    Order::ChangeSetting { workspace, scope, change, role, by, at: at(0) }
}

#[tokio::test]
async fn nothing_of_a_thread_without_memory_is_remembered() {
    on_every_database(async |store| {
        let memory = Arc::new(TestMind::default());
        memory.script.set_default(PromptVerb::Remember, ENTRY);
        let tools = Some(ToolSettings::new(TimeZone::UTC));
        let options =
            HarnessOptions { memory: Some(memory.clone()), tools, ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        harness.order(memory_off("t1")).await;
        says(&harness, None, "t1", "alice", "the roses are ill").await;
        says(&harness, None, "t2", "alice", "the hose leaks").await;
        says(&harness, Some("t1"), "a1", "bob", "the gift is a wheelbarrow").await;
        says(&harness, Some("t2"), "a2", "bob", "the tap is shut").await;
        harness.pass(3 * HOUR).await;
        let folded = memory.prompt_texts(PromptVerb::Remember).join("\n");
        // The thread's first message belongs to the channel.
        for (text, is_folded) in
            [("roses", true), ("hose", true), ("tap is shut", true), ("wheelbarrow", false)]
        {
            assert_eq!(folded.contains(text), is_folded, "{text}: {folded}");
        }
        assert_eq!(remembered_threads(&harness).await, ["t2"]);
        // No memory is shown there.
        says(&harness, Some("t1"), "a3", "bob", "@Aizuchi who is it for?").await;
        harness.pass(60).await;
        let there = harness.mind.prompts(PromptVerb::Reply).pop().unwrap();
        assert!(!there.text.contains("noted"), "{}", there.text);
        assert!(
            there.tools.iter().all(|tool| ["be_quiet", "schedule"].contains(&&*tool.name)),
            "{:?}",
            there.tools
        );
        // In other places, nothing from this thread is found, unlike from other threads.
        for (id, question, text, is_found) in [
            ("k1", "@Aizuchi is the tap shut?", "the tap is shut", true),
            ("k2", "@Aizuchi who has a wheelbarrow?", "the gift is", false),
        ] {
            let kitchen = top_level("kitchen");
            harness.hear(message(kitchen, id, harness.clock.now(), "bob", question)).await;
            harness.pass(60).await;
            let here = harness.mind.prompts(PromptVerb::Reply).pop().unwrap();
            assert_eq!(here.context.conversation.channel.as_str(), "kitchen");
            assert_eq!(here.text.contains(text), is_found, "{}", here.text);
            assert!(!here.tools.is_empty());
        }
    })
    .await;
}

/// Earlier memories of a thread are not shown while its memory is off.
#[tokio::test]
async fn what_was_remembered_of_a_thread_is_shown_no_more() {
    on_every_database(async |store| {
        let memory = Arc::new(TestMind::default());
        memory.script.set_default(PromptVerb::Remember, ENTRY);
        let options = HarnessOptions { memory: Some(memory.clone()), ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        says(&harness, None, "t1", "alice", "the roses are ill").await;
        says(&harness, Some("t1"), "a1", "bob", "it is mildew").await;
        harness.pass(3 * HOUR).await;
        assert_eq!(remembered_threads(&harness).await, ["t1"]);
        let threads_in_prompt = async |id: &str| {
            says(&harness, None, id, "alice", "@Aizuchi how are they?").await;
            harness.pass(60).await;
            let prompts = harness.mind.prompts(PromptVerb::Reply);
            prompts.last().unwrap().context.thread_memories.len()
        };
        assert_eq!(threads_in_prompt("a2").await, 1);
        harness.order(memory_off("t1")).await;
        assert_eq!(threads_in_prompt("a3").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_threads_memory_is_made_by_its_own_model() {
    on_every_database(async |store| {
        let (own, usual) = (Arc::new(OwnModel::default()), Arc::new(TestMind::default()));
        own.0.script.set_default(PromptVerb::Remember, ENTRY);
        usual.script.set_default(PromptVerb::Remember, ENTRY);
        let models = ModelRules { memory: Some("own".into()), ..ModelRules::default() };
        let rules = ChannelRules { models, ..ChannelRules::default() };
        let threads = BTreeMap::from([("t1".to_owned(), rules)]);
        let threads = BTreeMap::from([("#garden".to_owned(), threads)]);
        let book = Rulebook { threads, ..Rulebook::default() };
        let (model, memory): (Arc<dyn Llm>, Arc<dyn Llm>) = (own.clone(), usual.clone());
        let options = HarnessOptions {
            named: BTreeMap::from([("own".to_owned(), model)]),
            memory: Some(memory),
            ..HarnessOptions::from_rulebook(book)
        };
        let harness = Harness::new(store).await.with_options(options);
        says(&harness, None, "t1", "alice", "the roses are ill").await;
        says(&harness, Some("t1"), "a1", "bob", "it is mildew").await;
        says(&harness, None, "t2", "alice", "the hose leaks").await;
        says(&harness, Some("t2"), "a2", "bob", "the tap is shut").await;
        harness.pass(3 * HOUR).await;
        let by_own = own.0.prompt_texts(PromptVerb::Remember);
        assert!(!by_own.is_empty());
        for text in &by_own {
            assert!(text.contains("it is mildew") && !text.contains("the tap is shut"), "{text}");
        }
        let mut threads = remembered_threads(&harness).await;
        threads.sort();
        assert_eq!(threads, ["t1", "t2"]);
        // The channel's memory includes both.
        let by_usual = usual.prompt_texts(PromptVerb::Remember).join("\n");
        assert!(by_usual.contains("it is mildew") && by_usual.contains("the tap is shut"));
    })
    .await;
}

#[tokio::test]
async fn the_memory_of_a_thread_is_switched_in_the_chat() {
    // The answer is in the language in which the order is written.
    for (off, on, refused, why) in [
        (
            "@Aizuchi set memory off in this thread",
            "@Aizuchi set memory default in this thread",
            "@Aizuchi set announce off in this thread",
            "a thread has neither",
        ),
        (
            "@Aizuchi このスレッドの記憶をオフにして",
            "@Aizuchi このスレッドの記憶を標準に戻して",
            "@Aizuchi このスレッドのあいさつをオフにして",
            "スレッドには設定できません",
        ),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.platform.set_longest_post(2000);
            says(&harness, None, "t1", "alice", "the roses are ill").await;
            let orders = async |id: &str, text: &str| {
                says(&harness, Some("t1"), id, "alice", text).await;
                harness.pass(5).await;
                (remembers(&harness, Some("t1")), remembers(&harness, None))
            };
            assert_eq!(orders("a1", off).await, (false, true), "{off}");
            assert!(!remembers(&harness, Some("t1")) && remembers(&harness, Some("t2")));
            assert_eq!(orders("a2", refused).await, (false, true), "{refused}");
            let posts = harness.platform.posted_texts();
            assert!(posts.last().unwrap().contains(why), "{posts:?}");
            let settings = harness.store.store.orders(&workspace()).await.unwrap().settings;
            assert_eq!(settings.len(), 1, "{settings:?}");
            assert_eq!(orders("a3", on).await, (true, true), "{on}");
        })
        .await;
    }
}

/// No order in a thread turns on memory where the config has turned it off.
#[tokio::test]
async fn a_thread_is_not_remembered_where_its_channel_is_not() {
    let rules = ChannelRules { memory: MemoryRule::Off, ..ChannelRules::default() };
    let channels = BTreeMap::from([("#garden".to_owned(), rules)]);
    let book = Rulebook { channels, ..Rulebook::default() };
    let options = HarnessOptions::from_rulebook(book);
    on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options.clone());
        let Order::ChangeSetting { workspace, scope, role, by, at, .. } = memory_off("t1") else {
            return;
        };
        let change = SettingChange::Set(PlaceSetting::Memory(Switch::On));
        harness.order(Order::ChangeSetting { workspace, scope, change, role, by, at }).await;
        assert!(!remembers(&harness, Some("t1")));
    })
    .await;
}
