//! Users' changes to memories and memos: they survive every fold, are on record, and are forgotten with the source
//! messages.

use std::sync::Arc;

use aizuchi_harness::fixtures::{at, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, Deletion, Heard, Visibility};
use aizuchi_model::context::ContextLimits;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::change::{JournalKind, MemoEdit, MemoryChange};
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;

const HOUR: i64 = 3600;
const BIRTHDAY: &str = "the birthday of Mia is on May 3rd";
const BEANS: &str = "the beans are up";

/// A harness that makes memories with a scripted model.
async fn scripted(store: TestStore) -> (Harness, Arc<TestMind>) {
    let memory = Arc::new(TestMind::default());
    let options = HarnessOptions { memory: Some(memory.clone()), ..HarnessOptions::default() };
    (Harness::new(store).await.with_options(options), memory)
}

/// A model's answer that remembers these texts, each from the first source.
fn entries(texts: &[&str]) -> String {
    let entry =
        |text: &&str| serde_json::json!({ "date": "2027-01-15", "text": text, "sources": [1] });
    let entries: Vec<_> = texts.iter().map(entry).collect();
    serde_json::json!({ "entries": entries }).to_string()
}

fn key(scope: MemoryScope, term: MemoryTerm) -> MemoryKey {
    MemoryKey { workspace: workspace(), scope, term }
}

fn garden(term: MemoryTerm) -> MemoryKey {
    key(MemoryScope::Channel(ChannelId::new("garden")), term)
}

trait ChangesExt {
    async fn versions(&self, key: &MemoryKey) -> Vec<Memory>;
    async fn texts(&self, key: &MemoryKey) -> Vec<String>;
    async fn entry(&self, key: &MemoryKey, text: &str) -> MemoryEntry;
    async fn try_change(&self, key: &MemoryKey, change: MemoryChange) -> Result<(), StoreError>;
    async fn journal(&self) -> Vec<(String, JournalKind, String)>;
}

impl ChangesExt for Harness {
    async fn versions(&self, key: &MemoryKey) -> Vec<Memory> {
        self.store.archive.memory_versions(key).await.unwrap()
    }

    async fn texts(&self, key: &MemoryKey) -> Vec<String> {
        let newest = self.versions(key).await.pop().unwrap();
        let mut texts: Vec<_> = newest.entries.iter().map(|it| it.text.to_string()).collect();
        texts.sort();
        texts
    }

    async fn entry(&self, key: &MemoryKey, text: &str) -> MemoryEntry {
        let newest = self.versions(key).await.pop().unwrap();
        let mut all = newest.entries.into_iter().chain(newest.removed);
        all.find(|entry| &*entry.text == text).unwrap_or_else(|| panic!("{text}"))
    }

    /// Olga changes the current version.
    async fn try_change(&self, key: &MemoryKey, change: MemoryChange) -> Result<(), StoreError> {
        let version = self.versions(key).await.pop().unwrap().id;
        let (key, by) = (key.clone(), "olga".into());
        self.inbox.apply_order(Order::ChangeMemory { key, version, change, by }).await
    }

    /// Users' changes, newest first.
    async fn journal(&self) -> Vec<(String, JournalKind, String)> {
        let journal = self.store.archive.memory_journal(&workspace(), None, None, 100).await;
        let by_people = journal.unwrap().into_iter().filter(|entry| !entry.by.is_empty());
        by_people
            .map(|entry| {
                let key = entry.key.map_or("memo".to_owned(), |key| key.to_string());
                (key, entry.kind, entry.by.to_string())
            })
            .collect()
    }
}

#[tokio::test]
async fn what_people_changed_outlives_the_next_folds() {
    on_every_database(async |store| {
        let (harness, mind) = scripted(store).await;
        mind.script.set_default(PromptVerb::Remember, entries(&[BIRTHDAY, BEANS]));
        harness.says("alice", "hello, some talk").await;
        harness.pass(2 * HOUR).await;
        let long = garden(MemoryTerm::LongTerm);
        let everywhere = key(MemoryScope::Workspace, MemoryTerm::LongTerm);
        assert_eq!(harness.texts(&everywhere).await, [BEANS, BIRTHDAY]);

        let beans = harness.entry(&long, BEANS).await;
        let edit = MemoryChange::Edit { entry: beans.clone(), text: "the beans are eaten".into() };
        harness.try_change(&long, edit.clone()).await.unwrap();
        assert!(matches!(harness.try_change(&long, edit).await, Err(StoreError::Refused(_))));
        let birthday = harness.entry(&long, BIRTHDAY).await;
        harness.try_change(&long, MemoryChange::Remove(birthday)).await.unwrap();
        // In every memory that contained it.
        for term in [MemoryTerm::LongTerm, MemoryTerm::ShortTerm] {
            let memory = key(MemoryScope::Workspace, term);
            assert_eq!(harness.texts(&memory).await, ["the beans are eaten"], "{memory}");
        }
        let short = garden(MemoryTerm::ShortTerm);
        assert_eq!(harness.texts(&short).await, ["the beans are eaten"]);
        assert_eq!(harness.texts(&long).await, ["the beans are eaten"]);

        let before = mind.prompt_texts(PromptVerb::Remember).len();
        let peas = "the peas are sown";
        let anew = entries(&[BIRTHDAY, BEANS]).replace(
            "]}]}",
            &format!(r#"]}},{{"date":"2027-01-15","text":"{peas}","sources":[2]}}]}}"#),
        );
        mind.script.push(PromptVerb::Remember, Ok(&anew));
        mind.script.set_default(PromptVerb::Remember, entries(&[peas]));
        harness.says("bob", "more talk, of peas").await;
        harness.pass(3 * HOUR).await;
        assert_eq!(harness.texts(&short).await, ["the beans are eaten", peas]);
        assert_eq!(harness.texts(&long).await, ["the beans are eaten", peas]);
        let asked = mind.prompt_texts(PromptVerb::Remember).split_off(before);
        let has = |heading: &str, text: &str| {
            asked.iter().any(|prompt| {
                let section = prompt.split_once(heading).map_or("", |(_, rest)| rest);
                section.split("## ").next().is_some_and(|section| section.contains(text))
            })
        };
        assert!(has("## Decided by people: this stays", "the beans are eaten"), "{asked:?}");
        assert!(has("## Decided by people: not to be remembered", BIRTHDAY), "{asked:?}");
        // Prompts in other channels contain what users wanted.
        let window = ContextLimits::default().window(harness.clock.now());
        let context = harness.store.store.context(&top_level("garden"), &window).await.unwrap();
        let shown = format!("{:?}", context.channel_memories);
        assert!(shown.contains("the beans are eaten") && !shown.contains("birthday"), "{shown}");

        let long_name = long.to_string();
        let journal = harness.journal().await;
        let of_long: Vec<_> = journal.iter().filter(|(key, ..)| *key == long_name).collect();
        let kinds: Vec<JournalKind> = of_long.iter().map(|(_, kind, _)| *kind).collect();
        assert_eq!(kinds, [JournalKind::Removed, JournalKind::Edited]);
        assert!(journal.len() >= 5 && journal.iter().all(|(.., by)| by == "olga"), "{journal:?}");
    })
    .await;
}

#[tokio::test]
async fn a_change_is_undone_by_going_back_to_a_version() {
    on_every_database(async |store| {
        let (harness, mind) = scripted(store).await;
        mind.script.set_default(PromptVerb::Remember, entries(&[BIRTHDAY, BEANS]));
        harness.says("alice", "hello, some talk").await;
        harness.pass(2 * HOUR).await;
        let long = garden(MemoryTerm::LongTerm);
        let first = harness.versions(&long).await.pop().unwrap();
        let birthday = harness.entry(&long, BIRTHDAY).await;
        harness.try_change(&long, MemoryChange::Remove(birthday.clone())).await.unwrap();
        // Another user looks at the previous version.
        let stale = Order::ChangeMemory {
            key: long.clone(),
            version: first.id,
            change: MemoryChange::Pin(harness.entry(&long, BEANS).await),
            by: "tom".into(),
        };
        let refused = harness.inbox.apply_order(stale).await;
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
        harness.try_change(&long, MemoryChange::Revert(first.id)).await.unwrap();
        let reverted = harness.versions(&long).await.pop().unwrap();
        assert_eq!((&reverted.entries, &reverted.removed), (&first.entries, &first.removed));
        let absent = MemoryChange::Revert(MemoryId(1));
        assert!(matches!(harness.try_change(&long, absent).await, Err(StoreError::Refused(_))));

        harness.try_change(&long, MemoryChange::Remove(birthday.clone())).await.unwrap();
        harness.try_change(&long, MemoryChange::Restore(birthday.clone())).await.unwrap();
        assert_eq!(harness.texts(&long).await, [BEANS, BIRTHDAY]);
        harness.try_change(&long, MemoryChange::Pin(birthday.clone())).await.unwrap();
        let pinned = MemoryEntry { pinned: true, ..birthday };
        harness.try_change(&long, MemoryChange::Unpin(pinned)).await.unwrap();

        // The memory is made again from its messages.
        let calls = mind.prompt_texts(PromptVerb::Remember).len();
        mind.script.set_default(PromptVerb::Remember, entries(&["alice said hello"]));
        harness.try_change(&long, MemoryChange::Regenerate).await.unwrap();
        harness.pass(60).await;
        assert_eq!(harness.texts(&long).await, ["alice said hello"]);
        let asked = mind.prompt_texts(PromptVerb::Remember).split_off(calls);
        assert!(asked[0].contains("hello, some talk"), "{asked:?}");
        let everywhere = key(MemoryScope::Workspace, MemoryTerm::LongTerm);
        harness.try_change(&everywhere, MemoryChange::Regenerate).await.unwrap();
        harness.pass(3 * HOUR).await;
        assert_eq!(harness.texts(&everywhere).await, ["alice said hello"]);
    })
    .await;
}

#[tokio::test]
async fn what_people_kept_is_forgotten_with_the_messages_behind_it() {
    on_every_database(async |store| {
        let (harness, mind) = scripted(store).await;
        mind.script.set_default(PromptVerb::Remember, entries(&[BIRTHDAY, BEANS]));
        let message = harness.says("alice", "hello, some talk").await;
        harness.pass(2 * HOUR).await;
        let long = garden(MemoryTerm::LongTerm);
        let (birthday, beans) =
            (harness.entry(&long, BIRTHDAY).await, harness.entry(&long, BEANS).await);
        harness.try_change(&long, MemoryChange::Remove(birthday)).await.unwrap();
        harness.try_change(&long, MemoryChange::Pin(beans)).await.unwrap();
        let (conversation, at) = (top_level("garden"), harness.clock.now());
        harness.inbox.hear(Heard::Deletion(Deletion { conversation, message, at })).await.unwrap();
        let database = harness.store.database.clone().unwrap();
        let holding = "SELECT count(*) AS n FROM memories
            WHERE entries LIKE '%birthday%' OR entries LIKE '%beans%'";
        assert_eq!(database.count(holding).await, 0);
        let journal = harness.store.archive.memory_journal(&workspace(), None, None, 100).await;
        let forgotten = journal.unwrap();
        let forgotten = forgotten.iter().filter(|entry| entry.kind == JournalKind::Forgotten);
        assert!(forgotten.count() >= 2);
    })
    .await;
}

#[tokio::test]
async fn a_memo_is_changed_and_removed() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let memo = Memo {
            name: "birthdays".to_owned(),
            content: "Mia: May 3rd".to_owned(),
            priority: 3,
            tags: vec!["people".to_owned()],
            detail: None,
            created: at(0),
            updated: at(0),
            channel: ChannelId::new("garden"),
            visibility: Visibility::Private,
            said_by: None,
        };
        let (memo, messages) = (Box::new(memo), Vec::new());
        harness.order(Order::ImportMemo { workspace: workspace(), memo, messages }).await;
        let archive = &harness.store.archive;
        let (id, before) = archive.all_memos(&workspace()).await.unwrap().remove(0);
        let change = async |edit: Option<MemoEdit>| {
            let (workspace, by) = (workspace(), "olga".into());
            harness.inbox.apply_order(Order::ChangeMemo { workspace, id, edit, by }).await
        };
        let edit = MemoEdit {
            content: "Mia: May 5th".to_owned(),
            priority: 5,
            tags: Vec::new(),
            detail: Some("a cake".to_owned()),
        };
        change(Some(edit)).await.unwrap();
        let (same, after) = archive.all_memos(&workspace()).await.unwrap().remove(0);
        assert_eq!((same, &after.name, &*after.content), (id, &before.name, "Mia: May 5th"));
        assert_eq!((after.priority, after.detail.as_deref()), (5, Some("a cake")));
        change(None).await.unwrap();
        assert!(archive.all_memos(&workspace()).await.unwrap().is_empty());
        assert!(matches!(change(None).await, Err(StoreError::Refused(_))));
        let kinds: Vec<_> = harness.journal().await.into_iter().map(|(_, kind, _)| kind).collect();
        assert_eq!(kinds, [JournalKind::Removed, JournalKind::Edited]);
        let of = async |channel: &str, before| {
            let channel = ChannelId::new(channel);
            archive.memory_journal(&workspace(), Some(&channel), before, 9).await.unwrap()
        };
        let all = of("garden", None).await;
        assert_eq!(all.len(), 2);
        assert_eq!(of("garden", Some(all[0].number)).await, all[1..]);
        assert!(of("kitchen", None).await.is_empty());

        // The previous content of each change is kept, and can be restored.
        let befores: Vec<MemoryId> = all.iter().filter_map(|change| change.before).collect();
        let kept = archive.memo_versions(&workspace(), &befores).await.unwrap();
        let contents: Vec<&str> = kept.iter().map(|(_, memo)| &*memo.content).collect();
        assert_eq!(contents, ["Mia: May 3rd", "Mia: May 5th"]);
        let revert = async |id, version| {
            let (workspace, by) = (workspace(), "olga".into());
            harness.inbox.apply_order(Order::RevertMemo { workspace, id, version, by }).await
        };
        for (version, expected) in [(befores[1], &before), (befores[0], &after)] {
            revert(id, version).await.unwrap();
            let (same, found) = archive.all_memos(&workspace()).await.unwrap().remove(0);
            let (found, expected) = (Memo { updated: at(0), ..found }, expected.clone());
            assert_eq!((same, found), (id, Memo { updated: at(0), ..expected }));
        }
        let newest = of("garden", None).await.remove(0);
        assert_eq!((newest.kind, newest.after), (JournalKind::Reverted, id));
        assert!(newest.before.is_some(), "what it was in between: {newest:?}");
        for (id, version) in [(id, id), (befores[0], befores[0])] {
            assert!(matches!(revert(id, version).await, Err(StoreError::Refused(_))));
        }
    })
    .await;
}
