//! What members see of memories in the chat.

use std::sync::Arc;

use aizuchi_core::chat::{Channel, ChannelId, ConversationId, Heard, Visibility};
use aizuchi_core::llm::builtin::BuiltinMind;
use aizuchi_core::memo::Memo;
use aizuchi_core::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_core::persona::Language;
use aizuchi_core::store::Order;
use insta::assert_snapshot;

use aizuchi_harness::harness::{
    Harness, HarnessOptions, TestStore, at, on_every_database, thread, top_level, workspace,
};

const DAY: i64 = 24 * 3600;

/// A harness that remembers with the built-in mind and has a private channel.
async fn harness(store: TestStore, language: Language) -> Harness {
    let harness = Harness::new(store).await;
    let attic = Channel {
        workspace: workspace(),
        id: ChannelId::new("attic"),
        name: "attic".into(),
        visibility: Visibility::Private,
    };
    harness.inbox.hear(Heard::Channel(attic)).await.unwrap();
    harness.with_options(HarnessOptions {
        memory: Some(Arc::new(BuiltinMind)),
        language,
        ..HarnessOptions::default()
    })
}

/// A memo that everybody may know.
fn memo(name: &str, content: &str) -> Order {
    let memo = Memo {
        name: name.to_owned(),
        content: content.to_owned(),
        priority: 3,
        tags: Vec::new(),
        detail: None,
        created: at(0),
        updated: at(0),
        channel: ChannelId::new("garden"),
        visibility: Visibility::Public,
        said_by: None,
    };
    Order::ImportMemo { workspace: workspace(), memo: Box::new(memo) }
}

/// Talk in two public channels, a thread and a private channel, a day ago.
async fn talk(harness: &Harness, [glass, water, party, oven]: [&str; 4]) -> ConversationId {
    let first = harness.says("alice", glass).await;
    let thread = thread("garden", first.as_str());
    harness.says_in(thread.clone(), "carol", water).await;
    harness.says_in(top_level("attic"), "alice", party).await;
    harness.says_in(top_level("kitchen"), "bob", oven).await;
    harness.pass(DAY).await;
    thread
}

/// What is answered to a message.
async fn answer(harness: &Harness, place: &ConversationId, name: &str, text: &str) -> String {
    let before = harness.platform.posted_texts().len();
    harness.says_in(place.clone(), name, text).await;
    harness.pass(5).await;
    harness.platform.posted_texts().split_off(before).join("\n")
}

const ENGLISH: [&str; 4] = [
    "the greenhouse gets new glass on Friday, the glazier comes at nine",
    "I water the seedlings every morning until you return",
    "the surprise party for Carol is in the old barn",
    "the oven repair costs ninety, Dan pays half",
];

const JAPANESE: [&str; 4] = [
    "金曜日に温室のガラスを新しくします。九時に業者が来ます",
    "戻るまで毎朝、苗に水をやっておきます",
    "カレンの誕生日会は古い納屋でやります",
    "オーブンの修理代は九十ユーロで、半分はダンが払います",
];

#[tokio::test]
async fn memory_shows_each_thing_once_under_headings() {
    let told = on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        harness.order(memo("keys", "Tom has the keys of the shed")).await;
        let thread = talk(&harness, ENGLISH).await;
        let mut told = Vec::new();
        for place in [thread, top_level("kitchen"), top_level("attic")] {
            told.push(answer(&harness, &place, "dora", "@Aizuchi memory").await);
        }
        told
    })
    .await;
    assert!(!told[..2].join("").contains("barn"), "{told:?}");
    assert_snapshot!(told.join("\n\n----\n\n"), @"
    From this thread:
    - 2027-01-15: alice: the greenhouse gets new glass on Friday, the
    glazier comes at nine
    - 2027-01-15: carol: I water the seedlings every morning until you
    return

    Recently:
    - 2027-01-15: bob: the oven repair costs ninety, Dan pays half
    My notes:
    - keys: Tom has the keys of the shed

    ----

    From this channel:
    - 2027-01-15: bob: the oven repair costs ninety, Dan pays half
    Recently:
    - 2027-01-15: alice: the greenhouse gets new glass on Friday, the glazier comes
    at nine
    - 2027-01-15: carol: I water the seedlings every morning until you return
    My notes:
    - keys: Tom has the keys of the shed

    ----

    From this channel:
    - 2027-01-15: alice: the surprise party for Carol is in the old barn
    Recently:
    - 2027-01-15: alice: the greenhouse gets new glass on Friday, the glazier comes
    at nine
    - 2027-01-15: carol: I water the seedlings every morning until you return
    - 2027-01-15: bob: the oven repair costs ninety, Dan pays half
    My notes:
    - keys: Tom has the keys of the shed
    ");
}

#[tokio::test]
async fn memory_in_japanese() {
    let told = on_every_database(async |store| {
        let harness = harness(store, Language::Ja).await;
        harness.order(memo("鍵", "物置の鍵はトムが持っている")).await;
        let thread = talk(&harness, JAPANESE).await;
        answer(&harness, &thread, "dora", "@Aizuchi 記憶").await
    });
    assert_snapshot!(told.await, @"
    このスレッドのこと：
    - 2027-01-15: alice: 金曜日に温室のガラスを新しくします。九時に業者が来ます
    - 2027-01-15: carol: 戻るまで毎朝、苗に水をやっておきます

    最近のこと：
    - 2027-01-15: bob: オーブンの修理代は九十ユーロで、半分はダンが払います

    メモ：
    - 鍵: 物置の鍵はトムが持っている
    ");
}

/// Of much, the newest of each place is shown, and how much more there is.
#[tokio::test]
async fn much_is_cut_where_a_screen_ends() {
    let told = on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        let entry = |number: i32| MemoryEntry {
            date: jiff::civil::date(2026, 3, 1),
            text: format!("bed {number} holds {} of the beans that Mia sowed", number * 7).into(),
            visibility: Visibility::Private,
            messages: Vec::new(),
            pinned: false,
        };
        let key = MemoryKey {
            workspace: workspace(),
            scope: MemoryScope::Channel(ChannelId::new("garden")),
            term: MemoryTerm::LongTerm,
        };
        let (entries, newest) = ((0..40).map(entry).collect(), harness.clock.now());
        harness.order(Order::ImportMemory { key, entries, newest }).await;
        harness.says_in(top_level("kitchen"), "bob", ENGLISH[3]).await;
        harness.pass(DAY).await;
        answer(&harness, &top_level("garden"), "dora", "@Aizuchi memory").await
    })
    .await;
    assert!(told.chars().count() < 1700, "{told}");
    assert!(
        told.contains("bed 39 ") && !told.contains("bed 0 ") && told.contains("oven"),
        "{told}"
    );
    assert!(told.contains(" more)"), "{told}");
}
