//! What was remembered of messages that were withdrawn here since is not brought back by an export from before.

use aizuchi_harness::fixtures::{at, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_import::{ImportData, ImportReport, ImportedMemo, ImportedMemory};
use aizuchi_model::chat::{ChannelId, MessageId, UserId, Visibility};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm, MessageRef};
use aizuchi_store::expiry::{Expiry, ExpiryProgress};
use aizuchi_store::order::Order;
use futures_util::stream;
use jiff::Timestamp;
use jiff::civil::{Date, date};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// The story starts on this day.
const TODAY: Date = date(2027, 1, 15);

async fn started(store: TestStore) -> Harness {
    let wait_settings = aizuchi_import::wait_settings();
    let options = HarnessOptions { wait_settings, ..HarnessOptions::default() };
    Harness::new(store).await.with_options(options)
}

async fn import(harness: &Harness, data: ImportData) -> ImportReport {
    let (inbox, archive) = (&harness.inbox, &*harness.store.archive);
    let (cursors, messages) = (&*harness.store.cursors, stream::empty());
    aizuchi_import::import_stream(data, messages, inbox, archive, cursors, None).await.unwrap()
}

fn entry(date: Date, text: &str, sources: &[&MessageRef]) -> MemoryEntry {
    MemoryEntry {
        date,
        text: text.into(),
        visibility: Visibility::Public,
        messages: sources.iter().copied().cloned().collect(),
        pinned: false,
    }
}

fn remembered(scope: MemoryScope, entries: Vec<MemoryEntry>) -> ImportedMemory {
    let term = match scope {
        MemoryScope::Thread(..) => MemoryTerm::ShortTerm,
        MemoryScope::Workspace | MemoryScope::Channel(_) => MemoryTerm::LongTerm,
    };
    let key = MemoryKey { workspace: workspace(), scope, term };
    ImportedMemory { key, entries, newest: at(0) }
}

/// A memo of the garden.
fn memo(updated: Timestamp, name: &str, sources: &[&MessageRef]) -> ImportedMemo {
    let memo = Memo {
        name: name.to_owned(),
        content: name.to_owned(),
        priority: 3,
        tags: Vec::new(),
        detail: None,
        created: updated,
        updated,
        channel: ChannelId::new("garden"),
        visibility: Visibility::Public,
        said_by: None,
    };
    ImportedMemo { memo, messages: sources.iter().copied().cloned().collect() }
}

fn garden(message: &MessageId) -> MessageRef {
    MessageRef(ChannelId::new("garden"), message.clone())
}

/// Returns what is remembered of the workspace, the channels and the threads of the garden, sorted.
async fn known(harness: &Harness) -> Vec<String> {
    let mut memories = harness.store.store.memories(&workspace()).await.unwrap();
    let archive = &harness.store.archive;
    let threads = archive.thread_memories(&workspace(), &ChannelId::new("garden"), 10).await;
    memories.extend(threads.unwrap());
    let entries = memories.into_iter().flat_map(|memory| memory.entries);
    let mut texts: Vec<String> = entries.map(|entry| entry.text.to_string()).collect();
    texts.sort();
    texts
}

/// Returns the names of all memos, sorted.
async fn noted(harness: &Harness) -> Vec<String> {
    let memos = harness.store.archive.all_memos(&workspace()).await.unwrap();
    let mut names: Vec<String> = memos.into_iter().map(|(_, memo)| memo.name).collect();
    names.sort();
    names
}

fn left_out(report: &ImportReport) -> usize {
    report.skipped.iter().map(|skipped| skipped.count).sum()
}

#[tokio::test]
async fn what_was_deleted_or_forgotten_here_is_not_remembered_again() {
    on_every_database(async |store| {
        let harness = started(store).await;
        let expired = harness.says("alice", "the well is deep").await;
        let expired_of_mallory = harness.says("mallory", "mallory digs at night").await;
        harness.pass(DAY).await;
        let kept = harness.says("bob", "the beans are up").await;
        let deleted = harness.says("alice", "the locker code is 4711").await;
        let forgotten = harness.says("mallory", "mallory hides the spade").await;
        harness.pass(HOUR).await;
        let expiry = Expiry { before: at(HOUR), now: harness.clock.now() };
        let store = &harness.store.store;
        while let ExpiryProgress::Working(_) = store.expire_next(expiry).await.unwrap() {}
        harness.deletes(&deleted).await;
        let (user, asked) = (UserId::new("u-mallory"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;

        let [kept, deleted, forgotten] = [&kept, &deleted, &forgotten].map(garden);
        let [expired, expired_of_mallory] = [&expired, &expired_of_mallory].map(garden);
        let unknown = garden(&MessageId::new("never heard"));
        let of_the_channel = vec![
            entry(TODAY, "the beans are up", &[&kept]),
            entry(TODAY, "beans and codes", &[&kept, &deleted]),
            entry(TODAY, "the spade is hidden", &[&forgotten]),
            entry(TODAY, "somebody digs", &[&expired_of_mallory]),
            entry(TODAY, "the well is deep", &[&expired]),
            entry(TODAY, "there is a pump", &[&unknown]),
        ];
        let of_all = vec![entry(TODAY, "the code is known", &[&deleted])];
        let data = ImportData {
            memories: vec![
                remembered(MemoryScope::Channel(ChannelId::new("garden")), of_the_channel),
                remembered(MemoryScope::Workspace, of_all),
            ],
            memos: vec![
                memo(at(DAY), "beans", &[&kept]),
                memo(at(DAY), "beans and codes", &[&kept, &deleted]),
                memo(at(DAY), "spade", &[&forgotten]),
                memo(at(DAY), "pump", &[&unknown]),
            ],
            ..ImportData::new(workspace())
        };
        let report = import(&harness, data).await;
        let expected = ["the beans are up", "the well is deep", "there is a pump"];
        assert_eq!(known(&harness).await, expected);
        assert_eq!(noted(&harness).await, ["beans", "pump"]);
        assert_eq!((report.memories.new, report.memos.new, left_out(&report)), (1, 2, 6));
        // What was imported is forgotten with its sources, too.
        harness.deletes(&kept.1).await;
        assert_eq!(known(&harness).await, ["the well is deep", "there is a pump"]);
        assert_eq!(noted(&harness).await, ["pump"]);
    })
    .await;
}

#[tokio::test]
async fn what_was_reset_here_is_not_remembered_again() {
    on_every_database(async |store| {
        let harness = started(store).await;
        let before = harness.says("alice", "the shed leaks").await;
        let in_thread = thread("garden", before.as_str());
        let answer = harness.says_in(in_thread, "bob", "the roof is old").await;
        harness.pass(HOUR).await;
        let until = harness.clock.now();
        harness.order(Order::Reset { conversation: top_level("garden"), until }).await;
        harness.order(Order::Reset { conversation: thread("garden", "gone"), until }).await;
        harness.pass(HOUR).await;
        let after = harness.says("alice", "the shed is dry").await;

        let [before, answer, after] = [&before, &answer, &after].map(garden);
        let unknown = garden(&MessageId::new("never heard"));
        let unknown_elsewhere = MessageRef(ChannelId::new("kitchen"), unknown.1.clone());
        // On the day of the reset, only the source messages tell what is from before it.
        let later = date(2027, 1, 17);
        let of_the_channel = vec![
            entry(TODAY, "the shed leaks", &[&before]),
            entry(TODAY, "the roof is old", &[&answer]),
            entry(TODAY, "the shed is dry", &[&after]),
            entry(TODAY, "there was a shed", &[&unknown, &after]),
            entry(later, "a new shed is built", &[&unknown]),
            entry(TODAY, "from another bot", &[]),
            entry(later, "from another bot, later", &[]),
        ];
        let of_a_thread = vec![
            entry(TODAY, "the thread that is gone", &[&unknown]),
            entry(later, "the thread that is gone, later", &[&unknown]),
        ];
        let of_another_thread = vec![entry(TODAY, "a roof", &[&unknown])];
        let of_all = vec![
            entry(TODAY, "all know of the shed", &[&unknown]),
            entry(TODAY, "all know of the soup", &[&unknown_elsewhere]),
            entry(TODAY, "all know", &[]),
        ];
        let channel = ChannelId::new("garden");
        let of = |id: &str| MemoryScope::Thread(channel.clone(), MessageId::new(id));
        let data = ImportData {
            memories: vec![
                remembered(MemoryScope::Channel(channel.clone()), of_the_channel),
                remembered(of("gone"), of_a_thread),
                remembered(of("another"), of_another_thread),
                remembered(MemoryScope::Workspace, of_all),
            ],
            memos: vec![
                memo(at(0), "leak", &[&before]),
                memo(at(0), "roof", &[&answer]),
                memo(until, "old", &[]),
                memo(harness.clock.now(), "new", &[]),
            ],
            ..ImportData::new(workspace())
        };
        let report = import(&harness, data).await;
        let expected = [
            "a new shed is built",
            "a roof",
            "all know",
            "all know of the soup",
            "from another bot, later",
            "the roof is old",
            "the shed is dry",
            "the thread that is gone, later",
        ];
        assert_eq!(known(&harness).await, expected);
        assert_eq!(noted(&harness).await, ["new", "roof"]);
        assert_eq!((report.memories.new, report.memos.new, left_out(&report)), (4, 2, 7));
    })
    .await;
}
