//! Commands that a backfill delivers before their event, on every store: commands that are only seconds old are
//! executed once, and in order.

use aizuchi_actions::command::{Command, CommandRequest, MuteScope};
use aizuchi_harness::fixtures::{message, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_model::chat::{Arrival, Heard, Message, Role, User, Visibility};
use aizuchi_store::order::Order;
use aizuchi_store::order_journal::OrderJournalQuery;

use crate::commands::in_japanese;

const MUTE: &str = "@Aizuchi mute 2h";
const UNMUTE: &str = "@Aizuchi unmute";
const LEFT_OUT: &str = "I did not carry that out: I read it too late";

async fn harness(store: TestStore) -> Harness {
    let harness = Harness::new(store).await;
    harness.platform.set_longest_post(2000);
    harness
}

/// A message at the current time.
fn said(harness: &Harness, id: &str, text: &str) -> Message {
    message(top_level("garden"), id, harness.clock.now(), "alice", text)
}

async fn backfill(harness: &Harness, message: &Message) {
    let heard = Heard::Message(message.clone(), Arrival::Backfilled);
    harness.inbox.hear(heard).await.unwrap();
}

async fn mutes(harness: &Harness) -> usize {
    harness.store.store.orders(&workspace()).await.unwrap().mutes.len()
}

async fn journal_length(harness: &Harness) -> usize {
    let query =
        OrderJournalQuery { workspace: Some(workspace()), kind: None, before: None, limit: 100 };
    harness.store.archive.order_journal(&query).await.unwrap().len()
}

async fn last_post(harness: &Harness) -> String {
    harness.pass(5).await;
    harness.platform.posted_texts().pop().unwrap_or_default()
}

#[tokio::test]
async fn a_command_whose_event_comes_after_the_backfill_is_carried_out_once() {
    on_every_store(async |store| {
        let harness = harness(store).await;
        let mute = said(&harness, "m1", MUTE);
        harness.pass(20).await;
        backfill(&harness, &mute).await;
        let told = last_post(&harness).await;
        assert!(told.starts_with("I’ll stay silent here until"), "{told}");
        assert_eq!(mutes(&harness).await, 1);
        harness.hear(said(&harness, "m2", UNMUTE)).await;
        assert_eq!(mutes(&harness).await, 0);
        harness.hear(mute).await;
        assert_eq!(mutes(&harness).await, 0, "the event is a duplicate");
        assert_eq!(journal_length(&harness).await, 2);
    })
    .await;
}

/// Tests both orders of reading, and both of sending.
#[tokio::test]
async fn of_two_commands_the_later_one_wins() {
    on_every_store(async |store| {
        let harness = harness(store).await;
        for (number, (texts, expected)) in
            [([MUTE, UNMUTE], 0), ([UNMUTE, MUTE], 1)].into_iter().enumerate()
        {
            for is_newest_first in [false, true] {
                let id = |which: &str| format!("{which}-{number}-{is_newest_first}");
                let first = said(&harness, &id("first"), texts[0]);
                harness.pass(10).await;
                let second = said(&harness, &id("second"), texts[1]);
                harness.pass(10).await;
                let read = match is_newest_first {
                    true => [&second, &first],
                    false => [&first, &second],
                };
                for message in read {
                    backfill(&harness, message).await;
                }
                assert_eq!(mutes(&harness).await, expected, "{texts:?} {is_newest_first}");
                harness.pass(5).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_command_that_something_was_ordered_after_is_left_out_and_says_so() {
    on_every_store(async |store| {
        let harness = harness(store).await;
        let mute = said(&harness, "m1", MUTE);
        harness.pass(10).await;
        let live = message(top_level("kitchen"), "m2", harness.clock.now(), "bob", UNMUTE);
        harness.hear(live).await;
        harness.pass(5).await;
        backfill(&harness, &mute).await;
        let told = last_post(&harness).await;
        assert!(told.starts_with(LEFT_OUT) && told.contains("I’m not muted any more."), "{told}");
        assert_eq!(mutes(&harness).await, 0);

        // A user clicks on the console.
        harness.pass(300).await;
        let mute = said(&harness, "m3", MUTE);
        harness.pass(10).await;
        let channel = Some(top_level("garden").channel);
        let order = Order::Unmute { workspace: workspace(), channel, by: Role::Admin };
        harness.order(order.signed("olga 2")).await;
        backfill(&harness, &mute).await;
        let told = last_post(&harness).await;
        assert!(told.starts_with(LEFT_OUT), "{told}");
        assert_eq!(mutes(&harness).await, 0);
    })
    .await;
}

#[tokio::test]
async fn only_a_recent_command_is_carried_out_late() {
    on_every_store(async |store| {
        let harness = harness(store).await;
        for (id, age, expected) in [("m1", 121, 0), ("m2", 120, 1)] {
            let mute = said(&harness, id, MUTE);
            harness.pass(age).await;
            backfill(&harness, &mute).await;
            assert_eq!(mutes(&harness).await, expected, "{age}");
            harness.pass(5).await;
        }
        // The platform's clock is far ahead.
        harness.hear(said(&harness, "m3", UNMUTE)).await;
        harness.pass(300).await;
        let ahead = said(&harness, "m4", MUTE);
        let at = ahead.at + jiff::SignedDuration::from_secs(121);
        backfill(&harness, &Message { at, ..ahead }).await;
        assert_eq!(mutes(&harness).await, 0);
    })
    .await;
}

/// The process ends after the order is stored, but before the message is.
#[tokio::test]
async fn a_command_is_not_repeated_over_a_later_one_after_a_restart() {
    on_every_store(async |store| {
        let mut harness = harness(store).await;
        for (id, is_lifted) in [("m1", false), ("m2", true)] {
            let mute = said(&harness, id, MUTE);
            let command = Command::parse_message(MUTE, "Aizuchi").unwrap();
            assert!(matches!(command, Command::Mute { scope: MuteScope::Channel, .. }));
            let request =
                CommandRequest::from_message(command, &mute, Visibility::Public, Role::Member);
            harness.inbox.carry_out(&request).await.unwrap();
            harness = harness.restart().await;
            harness.pass(10).await;
            if is_lifted {
                harness.hear(said(&harness, "m3", UNMUTE)).await;
            }
            let before = journal_length(&harness).await;
            backfill(&harness, &mute).await;
            assert_eq!(mutes(&harness).await, usize::from(!is_lifted), "{id}");
            assert_eq!(journal_length(&harness).await, before);
            harness.pass(5).await;
        }
    })
    .await;
}

/// An admin gives an order that is read ten minutes later.
async fn is_told_too_late(harness: &Harness, id: &str, text: &str, expected: &str) {
    let order = message(top_level("garden"), id, harness.clock.now(), "root", text);
    let user = User {
        workspace: workspace(),
        id: order.author.id.clone(),
        name: "root".into(),
        kind: order.author.kind,
        role: Role::Admin,
        zone: None,
    };
    harness.inbox.hear(Heard::User(user)).await.unwrap();
    harness.pass(600).await;
    backfill(harness, &order).await;
    let told = last_post(harness).await;
    assert!(told.starts_with(expected), "{told}");
}

#[tokio::test]
async fn what_is_read_too_late_is_said_not_to_hold_in_both_languages() {
    on_every_store(async |store| {
        let harness = harness(store).await;
        let order = "@Aizuchi in this channel: never about kettles";
        is_told_too_late(&harness, "m1", order, LEFT_OUT).await;
        let harness = harness.with_options(in_japanese());
        for (id, text) in
            [("m2", "@Aizuchi このチャンネルでは：やかんの話はしない"), ("m3", "@Aizuchi ミュート")]
        {
            is_told_too_late(&harness, id, text, "このコマンドは実行していません").await;
        }
        assert!(harness.store.store.orders(&workspace()).await.unwrap().standing.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_command_that_was_carried_out_is_found_behind_many_orders() {
    on_every_store(async |store| {
        let harness = harness(store).await;
        harness.hear(said(&harness, "m1", MUTE)).await;
        for _ in 0..120 {
            let channel = Some(top_level("cellar").channel);
            let order = Order::Unmute { workspace: workspace(), channel, by: Role::Admin };
            harness.order(order.signed("olga")).await;
        }
        let told = last_post(&harness).await;
        assert!(told.starts_with("I’ll stay silent here until"), "{told}");
    })
    .await;
}
