//! What a user missed, as they are told on both databases.

use aizuchi_harness::fixtures::{message, new_channel, thread, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::{Arrival, AuthorKind, Heard, Role, User, UserId, Visibility};
use aizuchi_model::plan::PlanKind;
use aizuchi_store::order::Order;
use insta::assert_snapshot;

use crate::commands::in_japanese;

const HOUR: i64 = 60 * 60;

async fn channels(harness: &Harness) {
    for (name, visibility) in [
        ("garden", Visibility::Public),
        ("kitchen", Visibility::Public),
        ("board", Visibility::Private),
    ] {
        harness.inbox.hear(Heard::Channel(new_channel(name, visibility))).await.unwrap();
    }
}

/// What the persona posted after this many posts.
fn posts_since(harness: &Harness, before: usize) -> String {
    harness.platform.posted_texts().split_off(before).join("\n")
}

#[tokio::test]
async fn who_was_away_is_told_what_they_missed_here_and_in_public() {
    let told = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        channels(&harness).await;
        harness.says("mia", "off to the lake, back tomorrow").await;
        harness.pass(3 * HOUR).await;
        harness.says("ren", "mia: could you order the seeds?").await;
        harness.pass(HOUR).await;
        harness.says_in(top_level("kitchen"), "tom", "we decided to bake on Friday").await;
        harness.says_in(top_level("kitchen"), "tom", "who has the long ladle?").await;
        harness.says_in(top_level("board"), "ren", "mia: the accounts are wrong").await;
        harness.pass(5 * HOUR).await;
        let root = harness.says("tom", "the bees are out").await;
        harness
            .says_in(thread("garden", root.as_str()), "ren", "lovely, and early this year")
            .await;
        harness.pass(12 * HOUR).await;
        let before = harness.platform.posted_texts().len();
        harness.says("mia", "morning!").await;
        harness.pass(10).await;
        harness.says("mia", "@Aizuchi what did I miss?").await;
        harness.pass(60).await;
        posts_since(&harness, before)
    });
    assert_snapshot!(told.await, @"
    Since Friday 15 January, 08:00 UTC:
    For you:
    • #garden, ren, 01-15 11:00: “mia: could you
    order the seeds?”
    Still open:
    • #kitchen, tom, 01-15 12:00: “who has the long ladle?”
    Decided or changed:
    • #kitchen, tom, 01-15 12:00: “we decided to bake on Friday”
    In all:
    #garden: 3 messages by ren, tom
    • #garden, tom, 01-15 17:00: “the bees are out”
    • #garden, ren, 01-15 17:00: “lovely, and early this year”
    #kitchen: 2 messages by tom
    ");
}

#[tokio::test]
async fn nothing_private_or_left_out_is_told() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        channels(&harness).await;
        harness.says("mia", "see you").await;
        harness.pass(3 * HOUR).await;
        harness.says_in(top_level("board"), "ren", "mia: CANARY-1 is overdue, please pay it").await;
        harness.says("tom", "mia: CANARY-2 is broken, could you look?").await;
        let deleted = harness.says("ren", "mia: CANARY-3, can you come?").await;
        harness.deletes(&deleted).await;
        let user = UserId::new("u-tom");
        harness.order(Order::OptOut { workspace: workspace(), user }).await;
        harness.pass(3 * HOUR).await;
        let before = harness.platform.posted_texts().len();
        harness.says("mia", "@Aizuchi catch me up").await;
        harness.pass(60).await;
        let told = posts_since(&harness, before);
        assert!(told.contains("You missed nothing"), "{told}");
        // In the private channel itself, its members read what was said there, too.
        harness.says_in(top_level("board"), "mia", "@Aizuchi catch me up").await;
        harness.pass(60).await;
        let told = posts_since(&harness, before);
        assert!(told.contains("CANARY-1") && !told.contains("CANARY-2"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_guest_is_told_of_no_other_channel() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        channels(&harness).await;
        harness.says("mia", "see you").await;
        harness.pass(3 * HOUR).await;
        harness.says("ren", "mia: could you order the seeds?").await;
        harness.says_in(top_level("kitchen"), "tom", "mia: CANARY, could you look?").await;
        harness.pass(3 * HOUR).await;
        let guest = User {
            workspace: workspace(),
            id: UserId::new("u-mia"),
            name: "mia".into(),
            kind: AuthorKind::Human,
            role: Role::Guest,
            zone: None,
        };
        harness.inbox.hear(Heard::User(guest)).await.unwrap();
        let before = harness.platform.posted_texts().len();
        let now = harness.clock.now();
        let asks = message(top_level("garden"), "asks", now, "mia", "@Aizuchi what did I miss?");
        harness.inbox.hear(Heard::Message(asks, Arrival::Live)).await.unwrap();
        harness.pass(60).await;
        let told = posts_since(&harness, before);
        assert!(told.contains("order the seeds") && !told.contains("CANARY"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn it_is_told_in_japanese() {
    let told = on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(in_japanese());
        channels(&harness).await;
        harness.says("ミオ", "お先に失礼します").await;
        harness.pass(3 * HOUR).await;
        harness.says("レン", "ミオさん、種を注文してもらえますか？").await;
        harness.says_in(top_level("kitchen"), "トム", "金曜日に焼くことになりました").await;
        harness.pass(12 * HOUR).await;
        let before = harness.platform.posted_texts().len();
        harness.says("ミオ", "@Aizuchi 見逃したところ教えて").await;
        harness.pass(60).await;
        posts_since(&harness, before)
    });
    assert_snapshot!(told.await, @"
    1月15日（金）08:00 UTC からのことです。
    あなたへ：
    • #garden、レン、01-15 11:00：「ミオさん、種を注文してもらえますか？」
    決まったこと・変わったこと：
    • #kitchen、トム、01-15 11:00：「金曜日に焼くことになりました」
    全体：
    #garden：レン（1 件）
    #kitchen：トム（1 件）
    ");
}

#[tokio::test]
async fn a_digest_comes_again_and_again_and_only_if_something_was_missed() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.whispers.store(true, std::sync::atomic::Ordering::SeqCst);
        channels(&harness).await;
        let asked = harness.says("mia", "@Aizuchi catch me up every day at 17:00").await;
        harness.pass(HOUR).await;
        let plans = harness.store.archive.plans(&workspace()).await.unwrap();
        assert_eq!(plans[0].kind, PlanKind::CatchUp);
        harness.edits(&asked, "@Aizuchi please catch me up every day at 17:00").await;
        harness.says_in(top_level("kitchen"), "tom", "mia: can you bring the ladle?").await;
        let before = harness.platform.posted_texts().len();
        harness.pass(24 * HOUR).await;
        let told = posts_since(&harness, before);
        assert!(told.contains("For you:") && told.contains("bring the ladle"), "{told}");
        let before = harness.platform.posted_texts().len();
        harness.says("mia", "thanks").await;
        harness.pass(48 * HOUR).await;
        assert_eq!(posts_since(&harness, before), "");
        let decisions = harness.decisions("garden").await;
        let why = decisions.last().unwrap().why.as_deref().unwrap_or_default();
        assert!(why.contains("had missed nothing"), "{why}");
    })
    .await;
}

#[tokio::test]
async fn who_is_forgotten_is_quoted_no_more() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        channels(&harness).await;
        harness.says("mia", "see you").await;
        harness.pass(3 * HOUR).await;
        harness.says_in(top_level("kitchen"), "tom", "mia: the blue ladle is broken, help?").await;
        harness.pass(3 * HOUR).await;
        harness.says("mia", "@Aizuchi catch me up").await;
        harness.pass(60).await;
        let stored = async || {
            let messages = harness.messages("garden").await;
            messages.iter().map(|it| it.message.text.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert!(stored().await.contains("blue ladle"));
        let (user, asked) = (UserId::new("u-tom"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        harness.pass(HOUR).await;
        assert!(!stored().await.contains("blue ladle"));
    })
    .await;
}
