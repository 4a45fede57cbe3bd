//! Memos: where they are visible, what they are made from, and when they are deleted.

use std::sync::Arc;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{top_level, window, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{
    Channel, ChannelId, Deletion, Heard, Mention, Message, MessageId, UserId, Visibility,
};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::asker::signer;
use aizuchi_model::memory::change::{JournalEntry, JournalKind};
use aizuchi_model::memory::{Lineage, MemoryId};
use aizuchi_store::order::Order;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// A harness whose persona may use tools, and makes memories.
async fn new_harness(store: TestStore) -> Harness {
    Harness::new(store).await.with_options(HarnessOptions {
        tools: Some(ToolSettings::new(TimeZone::UTC)),
        memory: Some(Arc::new(BuiltinMind)),
        ..HarnessOptions::default()
    })
}

/// Test helpers for a harness.
trait MemosExt {
    async fn set_visibility(&self, channel: &str, visibility: Visibility);
    async fn call_tools(&self, channel: &str, text: &str, calls: &[(&str, Value)]) -> MessageId;
    async fn delete_message(&self, channel: &str, message: MessageId);
    async fn memos(&self, channel: &str) -> Vec<(MemoryId, Memo)>;
    async fn names(&self, channel: &str) -> Vec<String>;
    async fn prompts(&self, channel: &str) -> Vec<(String, Vec<MemoryId>)>;
    async fn has_changed_since(&self, revision: u64, id: MemoryId) -> bool;
    async fn memo_changes(&self) -> Vec<JournalEntry>;
    fn revision(&self) -> u64;
}

impl MemosExt for Harness {
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

    /// A user has the persona call tools.
    async fn call_tools(&self, channel: &str, text: &str, calls: &[(&str, Value)]) -> MessageId {
        // Beside a call, some models write what they think.
        let aside = "<thinking>They want it kept.</thinking>";
        self.mind.script.push_tool_calls(PromptVerb::Reply, aside, calls);
        let message = self.says_in(top_level(channel), "alice", &format!("@Aizuchi {text}")).await;
        self.pass(10).await;
        message
    }

    async fn delete_message(&self, channel: &str, message: MessageId) {
        let at = self.clock.now();
        let deletion = Deletion { conversation: top_level(channel), message, at };
        self.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
    }

    async fn memos(&self, channel: &str) -> Vec<(MemoryId, Memo)> {
        self.store.store.memos(&workspace(), &ChannelId::new(channel)).await.unwrap()
    }

    async fn names(&self, channel: &str) -> Vec<String> {
        self.memos(channel).await.into_iter().map(|(_, memo)| memo.name).collect()
    }

    /// The stored prompts of a channel's decisions, with their source memories.
    async fn prompts(&self, channel: &str) -> Vec<(String, Vec<MemoryId>)> {
        let mut prompts = Vec::new();
        for decision in self.decisions(channel).await {
            let exchanges = self.store.archive.exchanges(decision.id).await.unwrap();
            let exchanges = exchanges.into_iter().flatten();
            prompts.extend(
                exchanges.map(|held| (held.prompt.to_string(), held.lineage.memories.clone())),
            );
        }
        prompts
    }

    async fn has_changed_since(&self, revision: u64, id: MemoryId) -> bool {
        let made_from = Lineage { memories: vec![id], ..Lineage::default() };
        self.store
            .store
            .has_changed_since(&top_level("garden"), revision, &made_from)
            .await
            .unwrap()
    }

    /// The changes to memos, newest first.
    async fn memo_changes(&self) -> Vec<JournalEntry> {
        let journal = self.store.archive.memory_journal(&workspace(), None, None, 100).await;
        journal.unwrap().into_iter().filter(|change| change.key.is_none()).collect()
    }

    fn revision(&self) -> u64 {
        *self.store.store.revisions().borrow()
    }
}

fn add(name: &str, content: &str) -> (&'static str, Value) {
    ("add_memo", json!({ "name": name, "content": content, "priority": 1 }))
}

fn edit(name: &str, field: &str, value: &str) -> (&'static str, Value) {
    ("edit_memo", json!({ "memo_name": name, field: value }))
}

#[tokio::test]
async fn a_memo_made_in_a_channel_with_a_private_past_stays_there() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        harness.set_visibility("cellar", Visibility::Private).await;
        harness.says_in(top_level("cellar"), "carol", "my roses are a secret").await;
        harness.set_visibility("cellar", Visibility::Public).await;
        harness.call_tools("cellar", "note it", &[add("roses", "hush")]).await;
        harness.call_tools("garden", "note it", &[add("tea", "green")]).await;
        assert_eq!(harness.names("garden").await, ["tea"]);
        assert_eq!(harness.names("cellar").await, ["tea", "roses"]);
    })
    .await;
}

#[tokio::test]
async fn memories_of_a_private_past_reach_no_public_memo() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        harness.set_visibility("cellar", Visibility::Private).await;
        harness
            .says_in(top_level("cellar"), "carol", "the surprise party is in the old barn")
            .await;
        harness.pass(7200).await;
        harness.set_visibility("cellar", Visibility::Public).await;
        // No stored prompt contains the message itself any more.
        for number in 0..80 {
            harness.says_in(top_level("cellar"), "bob", &format!("number {number}")).await;
        }
        harness.call_tools("cellar", "note it", &[add("plan", "hush")]).await;
        let asked = harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap();
        assert!(asked.contains("old barn") && !asked.contains("\ncarol"), "{asked}");
        assert_eq!(harness.names("garden").await, [""; 0]);
        assert_eq!(harness.names("cellar").await, ["plan"]);
    })
    .await;
}

#[tokio::test]
async fn a_memo_made_while_its_channel_becomes_private_is_private() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let talk = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, move || async move {
            talk.set_visibility("garden", Visibility::Private).await;
        });
        harness.call_tools("garden", "note it", &[add("roses", "hush")]).await;
        assert_eq!(harness.names("kitchen").await, [""; 0]);
        assert_eq!(harness.names("garden").await, ["roses"]);
    })
    .await;
}

#[tokio::test]
async fn a_public_memo_cannot_be_changed_from_a_private_channel() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        harness.call_tools("garden", "note it", &[add("roses", "red")]).await;
        harness.set_visibility("cellar", Visibility::Private).await;
        harness.says_in(top_level("cellar"), "carol", "they are white now").await;
        harness.set_visibility("cellar", Visibility::Public).await;
        harness.call_tools("cellar", "change it", &[edit("roses", "content", "white")]).await;
        let content = |memos: Vec<(MemoryId, Memo)>| {
            memos.into_iter().map(|(_, memo)| memo.content).collect::<Vec<_>>()
        };
        assert_eq!(content(harness.memos("garden").await), ["red"]);
        assert_eq!(content(harness.memos("cellar").await), ["white", "red"]);
    })
    .await;
}

#[tokio::test]
async fn a_renamed_memo_is_the_same_memo() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let message = harness.call_tools("garden", "note it", &[add("tea", "green")]).await;
        let [(before, _)] = harness.memos("garden").await[..] else { panic!() };
        harness.call_tools("garden", "rename it", &[edit("tea", "new_name", "mint")]).await;
        let [(after, memo)] = &harness.memos("garden").await[..] else { panic!() };
        assert_eq!((before, &*memo.name), (*after, "mint"));
        harness.delete_message("garden", message).await;
        assert_eq!(harness.names("garden").await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_memo_edited_elsewhere_still_depends_on_its_first_source() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let message = harness.call_tools("garden", "note it", &[add("tea", "green")]).await;
        harness.call_tools("garden", "note it", &[add("cake", "plum")]).await;
        for name in ["tea", "cake"] {
            harness.call_tools("kitchen", "more", &[edit(name, "content", "more of it")]).await;
        }
        harness.delete_message("garden", message).await;
        assert_eq!(harness.names("kitchen").await, ["cake"]);
        harness.set_visibility("garden", Visibility::Private).await;
        assert_eq!(harness.names("kitchen").await, [""; 0]);
        assert_eq!(harness.names("garden").await, ["cake"]);
        // It also depends on a message in a private channel, so it is no longer public.
        harness.set_visibility("kitchen", Visibility::Private).await;
        assert_eq!(harness.names("garden").await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_memo_that_has_changed_or_is_gone_counts_as_changed() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let message = harness.call_tools("garden", "note it", &[add("tea", "green")]).await;
        harness.call_tools("garden", "note it", &[add("cake", "plum")]).await;
        let before = harness.revision();
        let [(cake, _), (tea, _)] = harness.memos("garden").await[..] else { panic!() };
        assert!(!harness.has_changed_since(before, tea).await);
        harness.call_tools("garden", "more", &[edit("tea", "content", "black")]).await;
        let after = harness.revision();
        assert!(harness.has_changed_since(before, tea).await);
        assert!(!harness.has_changed_since(after, tea).await);
        harness.delete_message("garden", message).await;
        assert!(harness.has_changed_since(after, tea).await);
        assert!(!harness.has_changed_since(after, cake).await);
        harness.set_visibility("garden", Visibility::Private).await;
        assert!(harness.has_changed_since(after, cake).await);
    })
    .await;
}

#[tokio::test]
async fn a_reply_that_changes_memos_is_not_redrafted() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let message = harness.call_tools("garden", "note it", &[add("tea", "green")]).await;
        harness.call_tools("garden", "note it", &[add("cake", "plum")]).await;
        for (name, calls) in [
            ("edit_memo", [edit("tea", "content", "black")]),
            ("remove_memo", [("remove_memo", json!({ "memo_name": "tea" }))]),
        ] {
            let before = (
                harness.platform.posted_texts().len(),
                harness.mind.prompt_texts(PromptVerb::Reply).len(),
            );
            harness.call_tools("garden", "as you like", &calls).await;
            let after = (
                harness.platform.posted_texts().len(),
                harness.mind.prompt_texts(PromptVerb::Reply).len(),
            );
            assert_eq!(after, (before.0 + 1, before.1 + 2), "{name}");
        }
        assert_eq!(harness.names("garden").await, ["cake"]);
        // A prompt that showed the removed memo still depends on the message behind it.
        assert!(harness.prompts("garden").await.iter().any(|(text, _)| text.contains("black")));
        harness.delete_message("garden", message).await;
        let left = harness.prompts("garden").await;
        assert!(!left.iter().any(|(text, _)| text.contains("black")), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn what_tools_wrote_is_on_record_and_goes_with_its_messages() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let asked = harness.call_tools("garden", "note it", &[add("tea", "green")]).await;
        harness.call_tools("garden", "change it", &[edit("tea", "content", "black")]).await;
        let [(tea, _)] = harness.memos("garden").await[..] else { panic!() };
        let remove = ("remove_memo", json!({ "memo_name": "tea" }));
        harness.call_tools("garden", "drop it", &[remove]).await;
        let changes = harness.memo_changes().await;
        let kinds: Vec<_> = changes.iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [JournalKind::Removed, JournalKind::Edited, JournalKind::Created]);
        assert!(changes.iter().all(|change| signer(&change.by) == Some("u-alice")), "{changes:?}");
        let decisions = harness.decisions("garden").await;
        let decisions: Vec<_> = decisions.iter().map(|it| Some(it.id.0)).collect();
        assert!(changes.iter().all(|it| decisions.contains(&it.decision)), "{changes:?}");
        let versions = async || {
            let befores = harness.memo_changes().await.into_iter().filter_map(|it| it.before);
            let befores: Vec<MemoryId> = befores.collect();
            let kept = harness.store.archive.memo_versions(&workspace(), &befores).await.unwrap();
            kept.into_iter().map(|(_, memo)| memo.content).collect::<Vec<_>>()
        };
        assert_eq!(versions().await, ["green", "black"]);

        let (workspace, id, by) = (workspace(), tea, "olga".into());
        let version = changes[0].before.unwrap();
        harness.order(Order::RevertMemo { workspace, id, version, by }).await;
        assert_eq!(harness.names("garden").await, ["tea"]);
        harness.delete_message("garden", asked).await;
        assert_eq!(harness.names("garden").await, [""; 0]);
        assert_eq!(versions().await, [""; 0]);
        let newest = harness.memo_changes().await.remove(0);
        assert_eq!((newest.kind, newest.after), (JournalKind::Forgotten, tea));
    })
    .await;
}

#[tokio::test]
async fn what_a_memo_was_is_as_private_as_its_channel_and_goes_with_its_user() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let kept = async || {
            let database = harness.store.database.clone().unwrap();
            database.count("SELECT count(*) AS n FROM old_memos").await
        };
        harness.call_tools("garden", "note it", &[add("tea", "green")]).await;
        harness.call_tools("garden", "change it", &[edit("tea", "content", "white")]).await;
        // It is dropped after 90 days, even if nothing else changes.
        for (days, expected) in [(89, 1), (91, 0)] {
            let then = harness.clock.now() + SignedDuration::from_hours(24 * days);
            harness.store.store.drop_journals(then).await.unwrap();
            assert_eq!(kept().await, expected);
        }
        harness.call_tools("garden", "change it", &[edit("tea", "content", "black")]).await;
        assert_eq!(kept().await, 1);
        harness.set_visibility("garden", Visibility::Private).await;
        assert_eq!(kept().await, 0);
        harness.call_tools("garden", "change it", &[edit("tea", "content", "red")]).await;
        assert_eq!(kept().await, 1);
        let changes = harness.memo_changes().await;
        let version = changes[0].before.unwrap();
        let found = harness.store.archive.memo_versions(&workspace(), &[version]).await.unwrap();
        assert_eq!((&*found[0].1.content, found[0].1.visibility), ("black", Visibility::Private));
        let (workspace, user, asked) = (workspace(), UserId::new("u-alice"), harness.clock.now());
        harness.order(Order::Forget { workspace, user, asked }).await;
        harness.store.finish_forgetting(asked).await;
        assert_eq!(kept().await, 0);
        let changes = harness.memo_changes().await;
        assert!(changes.iter().all(|change| &*change.by == "forgotten"), "{changes:?}");
    })
    .await;
}

#[tokio::test]
async fn a_draft_made_with_a_memo_that_is_removed_meanwhile_is_redrafted() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let message = harness.call_tools("kitchen", "note it", &[add("tea", "green")]).await;
        harness.mind.meanwhile(PromptVerb::Reply, || async {});
        let talk = harness.clone();
        harness.mind.meanwhile(PromptVerb::Reply, move || async move {
            talk.delete_message("kitchen", message).await;
        });
        let asked = harness.mind.prompt_texts(PromptVerb::Reply).len();
        let get = ("get_memo", json!({ "memo_name": "tea" }));
        harness.call_tools("garden", "which was it?", &[get]).await;
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), asked + 3);
        let left = harness.prompts("garden").await;
        assert!(!left.iter().any(|(text, _)| text.contains("green")), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn prompts_that_showed_a_memo_are_deleted_with_it() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        harness.call_tools("kitchen", "note it", &[add("tea", "green")]).await;
        let [(tea, _)] = harness.memos("garden").await[..] else { panic!() };
        for number in 0..6 {
            let fresh = add(&format!("m{number}"), "something else");
            harness.call_tools("garden", "note it", &[fresh]).await;
        }
        for call in
            [("get_memo", json!({ "memo_name": "tea" })), ("list_memo", json!({ "limit": 50 }))]
        {
            harness.call_tools("garden", "look", std::slice::from_ref(&call)).await;
            let (told, held) = harness.prompts("garden").await.pop().unwrap();
            assert!(told.contains("green") && held.contains(&tea), "{call:?}: {held:?}");
        }
        harness.set_visibility("kitchen", Visibility::Private).await;
        let left = harness.prompts("garden").await;
        assert!(!left.iter().any(|(text, _)| text.contains("green")), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn prompts_that_showed_a_removed_memo_are_deleted_with_its_source() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let message = harness.call_tools("kitchen", "note this", &[add("tea", "green")]).await;
        let asked = aizuchi_harness::fixtures::message(
            top_level("garden"),
            "x1",
            harness.clock.now(),
            "bob",
            "where now",
        );
        harness.hear(Message { mentions: vec![Mention::Persona], ..asked }).await;
        harness.pass(10).await;
        let remove = ("remove_memo", json!({ "memo_name": "tea" }));
        harness.call_tools("kitchen", "drop it", &[remove]).await;
        let shown = harness.prompts("garden").await;
        assert!(shown.iter().any(|(text, _)| text.contains("green")), "{shown:?}");
        harness.delete_message("kitchen", message).await;
        let left = harness.prompts("garden").await;
        assert!(!left.iter().any(|(text, _)| text.contains("green")), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn a_forgotten_user_leaves_no_memo() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        harness.call_tools("garden", "note it", &[add("tea", "green")]).await;
        let calls = [add("code", "it is 4711"), edit("tea", "content", "black")];
        harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &calls);
        harness.says("zebedee", "@Aizuchi keep my locker code").await;
        harness.pass(10).await;
        harness.call_tools("garden", "note it", &[add("cake", "plum")]).await;
        assert_eq!(harness.names("garden").await.len(), 3);
        let database = harness.store.database.clone().unwrap();
        harness.store.clone().stop().await;
        database.forget("zebedee").await;
        assert_eq!(database.count("SELECT count(*) AS n FROM memos WHERE name = 'cake'").await, 1);
        assert_eq!(database.count("SELECT count(*) AS n FROM memos").await, 1);
        // The tea's content before they asked for the change is not theirs.
        let kept = "SELECT count(*) AS n FROM old_memos WHERE memo LIKE '%green%'";
        assert_eq!(database.count(kept).await, 1);
        assert_eq!(database.count("SELECT count(*) AS n FROM old_memos").await, 1);
        assert_eq!(database.count("SELECT count(*) AS n FROM memo_lines").await, 2);
    })
    .await;
}

#[tokio::test]
async fn a_memo_is_deleted_with_the_message_that_it_repeats() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        let said = harness.says("bob", "my birthday is on May 3rd").await;
        let other = harness.says("dan", "and who brings the cake?").await;
        let birthday = add("bob", "Bob's birthday is on May 3rd");
        harness.call_tools("garden", "note that", &[birthday]).await;
        harness.delete_message("garden", other).await;
        assert_eq!(harness.names("garden").await, ["bob"]);
        harness.delete_message("garden", said).await;
        assert_eq!(harness.names("garden").await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_prompts_lineage_is_the_memos_that_it_shows() {
    on_every_database(async |store| {
        let harness = new_harness(store).await;
        for number in 0..10 {
            let fresh = add(&format!("m{number}"), "something");
            harness.call_tools("garden", "note it", &[fresh]).await;
        }
        let context =
            harness.store.store.context(&top_level("kitchen"), &window(50)).await.unwrap();
        let shown: Vec<&str> = context.recent_memos.iter().map(|memo| &*memo.name).collect();
        assert_eq!(shown, ["m9", "m8", "m7", "m6", "m5"]);
        assert_eq!(context.memory_ids.len(), 5);
    })
    .await;
}

/// Only on SQLite, whose plans can be read: PostgreSQL plans by the content of the tables.
#[tokio::test]
async fn memo_queries_use_indexes() {
    use aizuchi_store::database::sql::memory as sql;
    use sqlx::{AssertSqlSafe, ConnectOptions, Row};
    let store = TestStore::sqlite().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new();
    let options = options.filename(store.database.as_ref().unwrap().path());
    let mut connection = options.connect().await.unwrap();
    for statement in [
        sql::MEMOS,
        sql::MEMOS_OF_MESSAGES,
        sql::MEMOS_OF_CHANNEL,
        sql::SOURCES_OF_MEMO,
        sql::REPLACE_MEMO_WITH_SOURCES,
        sql::HAS_MEMORY_CHANGED_SINCE,
        sql::HAS_SHOWN_NON_PUBLIC,
        aizuchi_store::database::sql::context::CONTEXT,
    ] {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let plan = sqlx::query(explain).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        let is_scan = |step: &&String| {
            let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            scanned
                .is_some_and(|table| ["memos", "memo_lines", "m", "n", "l", "e"].contains(&table))
                && !step.contains("VIRTUAL TABLE")
        };
        let is_sorted_whole = plan
            .windows(2)
            .any(|steps| steps[0].starts_with("SEARCH memos ") && steps[1].starts_with("USE TEMP"));
        // This query returns all memos visible from a channel, so it may sort them all.
        assert!(!is_sorted_whole || statement == sql::MEMOS, "{statement}\n{plan:#?}");
        assert_eq!(plan.iter().find(is_scan), None, "{statement}\n{plan:#?}");
    }
}
