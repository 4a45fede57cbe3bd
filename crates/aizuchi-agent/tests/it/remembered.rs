//! What members see of memories in the chat, and how they make the persona forget one.

use std::sync::Arc;

use aizuchi_agent::inbox::Delivery;
use aizuchi_harness::fixtures::{at, message, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{
    Arrival, Channel, ChannelId, ConversationId, Heard, Role, User, UserId, Visibility,
};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::asker::signer;
use aizuchi_model::memory::change::{JournalKind, MemoryChange};
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Rulebook;
use aizuchi_store::order::Order;
use insta::assert_snapshot;
use jiff::SignedDuration;

const DAY: i64 = 24 * 3600;

/// A harness that makes memories with the built-in mind and has a private channel.
async fn harness(store: TestStore, language: Language) -> Harness {
    let harness = Harness::new(store).await;
    let attic = Channel {
        workspace: workspace(),
        id: ChannelId::new("attic"),
        name: "attic".into(),
        visibility: Visibility::Private,
        topic: None,
    };
    harness.inbox.hear(Heard::Channel(attic)).await.unwrap();
    harness.with_options(HarnessOptions {
        memory: Some(Arc::new(BuiltinMind)),
        language,
        ..HarnessOptions::default()
    })
}

/// A memo that everyone may see.
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
    Order::ImportMemo { workspace: workspace(), memo: Box::new(memo), messages: Vec::new() }
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

/// The answer to a message.
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

/// If there is too much, the newest entries of each place are shown, with the number of the others.
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

/// The texts of all current memories that contain a word: of the channels, their threads and the workspace.
async fn holding(harness: &Harness, word: &str) -> Vec<String> {
    let mut memories = harness.store.store.memories(&workspace()).await.unwrap();
    for channel in ["garden", "kitchen", "attic"] {
        let channel = ChannelId::new(channel);
        let threads = harness.store.archive.thread_memories(&workspace(), &channel, 9).await;
        memories.extend(threads.unwrap());
    }
    let found = memories.iter().flat_map(|memory| {
        let entries = memory.entries.iter().filter(|entry| entry.text.contains(word));
        entries.map(|entry| format!("{}: {}", memory.key, entry.text))
    });
    found.collect()
}

/// The authors of removals, newest first.
async fn removals(harness: &Harness) -> Vec<String> {
    let journal = harness.store.archive.memory_journal(&workspace(), None, None, 99).await.unwrap();
    let removed = journal.iter().filter(|change| change.kind == JournalKind::Removed);
    removed.map(|change| signer(&change.by).unwrap_or(&change.by).to_owned()).collect()
}

/// The answer to an admin.
async fn answer_to_admin(harness: &Harness, place: &ConversationId, text: &str) -> String {
    let before = harness.platform.posted_texts().len();
    let message = message(place.clone(), "admin", harness.clock.now(), "root", text);
    let (id, kind) = (message.author.id.clone(), message.author.kind);
    let user = User {
        workspace: workspace(),
        id,
        name: "root".into(),
        kind,
        role: Role::Admin,
        zone: None,
    };
    harness.inbox.hear(Heard::User(user)).await.unwrap();
    harness.hear(message).await;
    harness.pass(5).await;
    harness.platform.posted_texts().split_off(before).join("\n")
}

#[tokio::test]
async fn what_is_quoted_is_forgotten_for_good() {
    let told = on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        talk(&harness, ENGLISH).await;
        assert!(holding(&harness, "glazier").await.len() >= 3);
        let quoted = "> the greenhouse gets new glass on Friday\n@Aizuchi forget that, yes";
        let told = answer(&harness, &top_level("kitchen"), "dora", quoted).await;
        assert_eq!(holding(&harness, "glazier").await, [""; 0]);
        let removed = removals(&harness).await;
        assert!(!removed.is_empty() && removed.iter().all(|by| by == "u-dora"), "{removed:?}");
        // The talk goes on, and everything is folded again.
        harness.says("alice", "the roses need cutting before the frost comes").await;
        harness.pass(DAY).await;
        assert_eq!(holding(&harness, "glazier").await, [""; 0]);
        assert!(!holding(&harness, "roses").await.is_empty());
        // A forgotten user is in no journal.
        answer(&harness, &top_level("kitchen"), "dora", "@Aizuchi forget me, yes").await;
        assert!(removals(&harness).await.iter().all(|by| by == "forgotten"));
        // Everything else is still remembered.
        assert!(!holding(&harness, "oven").await.is_empty());
        told
    });
    assert_snapshot!(told.await, @"
    I’ve forgotten this:
    > 2027-01-15: alice: the greenhouse gets new glass on Friday, the
    > glazier comes at nine
    What was said so far won’t bring it back.
    The messages themselves stay where they are.
    ");
}

#[tokio::test]
async fn what_was_just_said_is_forgotten() {
    let told = on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        talk(&harness, ENGLISH).await;
        let kitchen = top_level("kitchen");
        let said = "The repair of the oven costs ninety, and Dan pays half of it.";
        harness.mind.script.push(PromptVerb::Reply, Ok(said));
        let asked = answer(&harness, &kitchen, "bob", "@Aizuchi what about the oven?").await;
        assert_eq!(asked, said);
        let mut told = vec![answer(&harness, &kitchen, "bob", "@Aizuchi forget that").await];
        assert_eq!(holding(&harness, "oven").await, [""; 0]);
        // The persona's last post was about something that is gone by now.
        told.push(answer(&harness, &kitchen, "bob", "@Aizuchi forget that").await);
        told
    })
    .await;
    assert_snapshot!(told.join("\n\n----\n\n"), @"
    I’ve forgotten this:
    > 2027-01-15: bob: the oven repair costs ninety, Dan pays half
    What was said so far won’t bring it back. The messages themselves stay where they are.

    ----

    I don’t remember anything like that here. `@Aizuchi memory` shows what I remember; quote
    a line of it and write `@Aizuchi forget that` below.
    ");
}

#[tokio::test]
async fn what_was_just_said_is_found_however_busy_the_threads_are() {
    on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        talk(&harness, ENGLISH).await;
        let kitchen = top_level("kitchen");
        let said = "The repair of the oven costs ninety, and Dan pays half of it.";
        harness.mind.script.push(PromptVerb::Reply, Ok(said));
        let asked = answer(&harness, &kitchen, "bob", "@Aizuchi what about the oven?").await;
        assert_eq!(asked, said);
        for number in 0..30 {
            let step = format!("step {number} of the recipe");
            harness.says_in(thread("kitchen", "recipe"), "alice", &step).await;
        }
        harness.pass(1).await;
        answer(&harness, &kitchen, "bob", "@Aizuchi forget that").await;
        assert_eq!(holding(&harness, "oven").await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn of_several_one_has_to_be_quoted() {
    let told = on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        let garden = top_level("garden");
        harness.order(memo("keys", "Tom has the keys of the shed")).await;
        talk(&harness, ENGLISH).await;
        let mut told = Vec::new();
        for text in [
            "@Aizuchi memory",
            "@Aizuchi forget that",
            "@Aizuchi forget “Tom has the keys”, yes",
            "@Aizuchi forget \"the colour of the barn\"",
        ] {
            told.push(answer(&harness, &garden, "dora", text).await);
        }
        assert!(harness.store.archive.all_memos(&workspace()).await.unwrap().is_empty());
        assert!(!holding(&harness, "glazier").await.is_empty());
        assert_eq!(removals(&harness).await, ["u-dora"]);
        told.split_off(1)
    })
    .await;
    assert_snapshot!(told.join("\n\n----\n\n"), @"
    I remember more than one thing like that:
    > 2027-01-15: alice: the greenhouse gets new
    > glass on Friday, the glazier comes at nine
    > 2027-01-15: carol: I water the seedlings
    > every morning until you return
    > 2027-01-15: bob: the oven repair costs ninety, Dan
    > pays half
    > keys: Tom has the keys of the shed
    Please quote the one you mean, with `@Aizuchi forget that` below it.

    ----

    I’ve thrown this note away: “Tom has the keys”.
    The message itself stays in the chat until its author deletes it.

    ----

    I don’t remember anything like that here. `@Aizuchi memory` shows what I remember; quote
    a line of it and write `@Aizuchi forget that` below.
    ");
}

/// A store without memories has nothing to forget, and the command says so.
#[tokio::test]
async fn where_nothing_is_remembered_nothing_is_forgotten() {
    let told = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let garden = top_level("garden");
        let mut told = vec![answer(&harness, &garden, "dora", "@Aizuchi forget that").await];
        let quoted = "> the beans are up\n@Aizuchi forget that";
        told.push(answer(&harness, &garden, "dora", quoted).await);
        told
    });
    let nothing = "I don’t remember anything like that here.";
    assert!(told.await.iter().all(|told| told.starts_with(nothing)));
}

#[tokio::test]
async fn what_cannot_be_seen_is_neither_told_nor_forgotten() {
    on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        talk(&harness, ENGLISH).await;
        let before = holding(&harness, "barn").await;
        assert!(!before.is_empty());
        let (kitchen, attic) = (top_level("kitchen"), top_level("attic"));
        let quoted = "> the surprise party for Carol\n@Aizuchi yes, forget that";
        for told in [
            answer(&harness, &kitchen, "dora", quoted).await,
            answer_to_admin(&harness, &kitchen, quoted).await,
        ] {
            assert!(told.starts_with("I don’t remember anything like that here."), "{told}");
        }
        assert_eq!(holding(&harness, "barn").await, before);
        let told = answer(&harness, &attic, "dora", quoted).await;
        assert!(told.starts_with("I’ve forgotten this:\n> "), "{told}");
        assert_eq!(holding(&harness, "barn").await, [""; 0]);
        let told = answer(&harness, &kitchen, "dora", quoted).await;
        assert!(told.starts_with("I don’t remember anything like that here."), "{told}");
    })
    .await;
}

/// What others said concerns them, too.
#[tokio::test]
async fn what_others_said_goes_with_a_yes_and_three_times_an_hour() {
    let told = on_every_database(async |store| {
        let rulebook = Rulebook { keeper: Some(UserId::new("u-ren")), ..Rulebook::default() };
        let options = HarnessOptions::from_rulebook(rulebook);
        let options = HarnessOptions { memory: Some(Arc::new(BuiltinMind)), ..options };
        let harness = Harness::new(store).await.with_options(options);
        let kitchen = top_level("kitchen");
        harness.order(memo("keys", "Tom has the keys of the shed")).await;
        harness.says_in(kitchen.clone(), "dora", "I bring the ladder back on Tuesday").await;
        harness.says_in(kitchen.clone(), "eve", "the well runs dry every July").await;
        talk(&harness, ENGLISH).await;
        let forgets = async |name: &str, quoted: &str, order: &str| {
            let text = format!("> {quoted}\n@Aizuchi {order}");
            answer(&harness, &kitchen, name, &text).await
        };
        let mut told = vec![forgets("dora", "the oven repair costs", "forget that").await];
        assert!(!holding(&harness, "oven").await.is_empty());
        let sure = answer(&harness, &kitchen, "dora", "yes please").await;
        assert!(sure.starts_with("I’ve forgotten this:\n> 2027-01-15: bob: the oven"), "{sure}");
        assert_eq!(holding(&harness, "oven").await, [""; 0]);
        for quoted in ["Tom has the keys of", "I water the seedlings"] {
            let told = forgets("dora", quoted, "forget that, yes").await;
            assert!(told.starts_with("I’ve "), "{quoted}: {told}");
        }
        told.push(forgets("dora", "the greenhouse gets new", "forget that, yes").await);
        assert!(!holding(&harness, "glazier").await.is_empty());
        // Her own words are hers.
        told.push(forgets("dora", "I bring the ladder", "forget that").await);
        assert_eq!(holding(&harness, "ladder").await, [""; 0], "{told:?}");
        let by_others = forgets("eve", "the greenhouse gets", "forget that").await;
        assert!(by_others.starts_with("This is from what others said"), "{by_others}");
        harness.pass(3600).await;
        let again = forgets("dora", "the well runs dry", "forget that, yes").await;
        assert!(again.starts_with("I’ve forgotten this"), "{again}");
        let kept = forgets("ren", "the greenhouse gets new", "forget that").await;
        assert!(kept.starts_with("I’ve forgotten this"), "{kept}");
        told
    })
    .await;
    assert_snapshot!(told.join("\n\n----\n\n"), @"
    This is from what others said, too, so I still remember it:
    > 2027-01-15: bob: the oven repair costs ninety, Dan pays half
    If you’re sure, quote it again, with `@Aizuchi forget that, yes` below.
    Or answer “yes” within a minute.

    ----

    This is from what others said, too. I forget at most 3 such things an hour for one
    person, so I still remember it.

    ----

    I’ve forgotten this:
    > 2027-01-15: dora: I bring the ladder back on Tuesday
    What was said so far won’t bring it back. The messages themselves stay where they are.
    ");
}

#[tokio::test]
async fn what_is_pinned_is_for_admins_to_forget() {
    on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        talk(&harness, ENGLISH).await;
        let memories = harness.store.store.memories(&workspace()).await.unwrap();
        let holder = memories.into_iter().find_map(|memory| {
            let entry = memory.entries.iter().find(|entry| entry.text.contains("oven")).cloned();
            entry.map(|entry| (memory.key, memory.id, entry))
        });
        let (key, version, entry) = holder.unwrap();
        let change = MemoryChange::Pin(entry);
        let by = "olga".into();
        harness.order(Order::ChangeMemory { key, version, change, by }).await;
        let before = holding(&harness, "oven").await;
        let (kitchen, quoted) = (top_level("kitchen"), "> the oven repair\n@Aizuchi forget that");
        let told = answer(&harness, &kitchen, "dora", quoted).await;
        assert_eq!(
            told,
            "That is pinned, so only an admin can have me forget it. I still remember it."
        );
        assert_eq!(holding(&harness, "oven").await, before);
        let told = answer_to_admin(&harness, &kitchen, quoted).await;
        assert!(told.starts_with("I’ve forgotten this:\n> "), "{told}");
        assert_eq!(holding(&harness, "oven").await, [""; 0]);
    })
    .await;
}

/// Each command gets its own answer, though both have the same text.
#[tokio::test]
async fn who_asks_twice_at_once_is_told_what_was_forgotten() {
    on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        talk(&harness, ENGLISH).await;
        let before = harness.platform.posted_texts().len();
        for _ in 0..2 {
            let quoted = "> the oven repair\n@Aizuchi forget that";
            harness.says_in(top_level("kitchen"), "bob", quoted).await;
            harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(1));
        }
        harness.pass(5).await;
        let told = harness.platform.posted_texts().split_off(before).join("\n");
        assert!(told.contains("I’ve forgotten this:\n> 2027-01-15: bob: the oven"), "{told}");
        assert_eq!(holding(&harness, "oven").await, [""; 0]);
    })
    .await;
}

/// On platforms with replies, a reply refers to its parent, and not to the newest post.
#[tokio::test]
async fn a_reply_names_the_message_that_is_meant() {
    on_every_database(async |store| {
        let harness = harness(store, Language::En).await;
        talk(&harness, ENGLISH).await;
        let kitchen = top_level("kitchen");
        harness.mind.script.push(PromptVerb::Reply, Ok(ENGLISH[3]));
        answer(&harness, &kitchen, "bob", "@Aizuchi what about the oven?").await;
        let posts = harness.messages("kitchen").await;
        let post = posts.iter().rev().find(|it| it.message.text.contains("Dan pays half")).unwrap();
        let reply_to = Some(post.message.id.clone());
        answer(&harness, &kitchen, "bob", "@Aizuchi status").await;
        let command = message(kitchen, "reply", harness.clock.now(), "bob", "@Aizuchi forget that");
        let heard = Heard::Message(command, Arrival::Live);
        let before = harness.platform.posted_texts().len();
        harness.inbox.deliver(Delivery { reply_to, ..heard.into() }).await.unwrap();
        harness.pass(5).await;
        let told = harness.platform.posted_texts().split_off(before).join("\n");
        assert!(told.starts_with("I’ve forgotten this:\n> "), "{told}");
        assert_eq!(holding(&harness, "oven").await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn forget_that_in_japanese() {
    let told = on_every_database(async |store| {
        let harness = harness(store, Language::Ja).await;
        let garden = top_level("garden");
        harness.order(memo("鍵", "物置の鍵はトムが持っている")).await;
        talk(&harness, JAPANESE).await;
        let mut told = Vec::new();
        for text in [
            "@Aizuchi 「物置の鍵はトムが持っている」を忘れて",
            "@Aizuchi はい、「物置の鍵はトムが持っている」を忘れて",
            "> 金曜日に温室のガラスを新しくします\n@Aizuchi はい、それ忘れて",
            "@Aizuchi 記憶",
            "@Aizuchi 今のは忘れてください",
            "> 納屋\n@Aizuchi これ忘れて",
        ] {
            told.push(answer(&harness, &garden, "dora", text).await);
        }
        assert_eq!(holding(&harness, "温室").await, [""; 0]);
        told
    })
    .await;
    assert_snapshot!(told.join("\n\n----\n\n"), @"
    これは、ほかの人の発言からも覚えたことなので、まだ覚えています。
    > 鍵: 物置の鍵はトムが持っている
    よければ、もう一度引用して、その下に `@Aizuchi はい、それ忘れて` と書いてください。1 分以内なら「はい」と答えるだけでもかまいません。

    ----

    次のメモを消しました：「物置の鍵はトムが持っている」。チャットの発言そのものは、書いた人が削除するまで残ります。

    ----

    次のことを忘れました。
    > 2027-01-15: alice: 金曜日に温室のガラスを新しくします。九時に業者が来ます
    これまでの発言から覚え直すことはありません。発言そのものは残ります。

    ----

    このチャンネルのこと：
    - 2027-01-15: carol: 戻るまで毎朝、苗に水をやっておきます
    最近のこと：
    - 2027-01-15: bob: オーブンの修理代は九十ユーロで、半分はダンが払います

    ----

    当てはまることがいくつかあります。
    > 2027-01-15: carol: 戻るまで毎朝、苗に水をやっておきます
    > 2027-01-15: bob: オーブンの修理代は九十ユーロで、半分はダンが払います
    どれか 1 つを引用して、その下に `@Aizuchi それ忘れて` と書いてください。

    ----

    ここでは、当てはまることを覚えていません。`@Aizuchi 記憶` で覚えていることを見て、その 1 行を引用し、下に `@Aizuchi それ忘れて` と書いてください。
    ");
}
