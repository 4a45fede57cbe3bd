//! Users' orders: they apply immediately, even to work in flight, are visible to every process, and survive a
//! restart.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Waker};

use aizuchi_harness::fixtures::{JOIN, at, message, top_level, workspace};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_platform::TestPlatform;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{Arrival, Heard, Role, UserId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::rules::Mode;
use aizuchi_store::order::Order;
use aizuchi_store::sqlite;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn an_order_applies_to_work_in_flight() {
    let channel = || top_level("garden").channel;
    let mute = || Order::Mute {
        workspace: workspace(),
        channel: Some(channel()),
        until: Timestamp::MAX,
        by: Role::Admin,
    };
    let everywhere = || Order::Mute {
        workspace: workspace(),
        channel: None,
        until: Timestamp::MAX,
        by: Role::Admin,
    };
    for (text, order, ended) in [
        ("does it rain tomorrow?", mute(), DecisionResult::Muted),
        ("does it rain tomorrow?", everywhere(), DecisionResult::Muted),
        ("does it rain tomorrow?", mode(Mode::MentionOnly), DecisionResult::ChoseSilence),
        ("@Aizuchi does it rain tomorrow?", mute(), DecisionResult::Muted),
        ("@Aizuchi does it rain tomorrow?", mode(Mode::Observe), DecisionResult::Muted),
        ("@Aizuchi does it rain tomorrow?", mode(Mode::MentionOnly), DecisionResult::Spoke),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.says("alice", text).await;
            let (inbox, given) = (harness.inbox.clone(), order.clone());
            // The draft is finished, and only the last check comes before the post.
            harness.mind.meanwhile(PromptVerb::Reply, || async move {
                inbox.apply_order(given).await.unwrap()
            });
            harness.pass(1000).await;
            let said = usize::from(ended == DecisionResult::Spoke);
            assert_eq!(harness.platform.posted_texts().len(), said, "{text} {order:?}");
            let rows = harness.decisions("garden").await;
            assert_eq!(rows[0].ended, Some(ended), "{text} {order:?}");
            assert_eq!(rows[0].attempts.last().unwrap().verb.as_ref(), "reply");
        })
        .await;
    }
}

/// A harness whose writer has not started: requests to the store queue up in order.
async fn before_the_writer() -> (Harness, impl FnOnce() -> Running) {
    let folder = tempfile::tempdir().unwrap();
    let (store, writer) = sqlite::open(&folder.path().join("aizuchi.db")).await.unwrap();
    let store = Arc::new(store);
    let store = TestStore {
        store: store.clone(),
        archive: store.clone(),
        cursors: store.clone(),
        uploads: store,
        database: None,
        database_store: None,
    };
    let (mind, platform) = (Arc::new(TestMind::default()), Arc::new(TestPlatform::default()));
    let harness = Harness::from_parts(store, Clock::manual(at(0)), mind, platform);
    let run = move || {
        let stop = CancellationToken::new();
        let writer = tokio::spawn(writer.run(stop.clone()));
        Running { stop, writer, _folder: folder }
    };
    (harness, run)
}

struct Running {
    stop: CancellationToken,
    writer: JoinHandle<anyhow::Result<()>>,
    _folder: TempDir,
}

/// Polls a future once.
fn begin<T>(work: &mut Pin<Box<impl Future<Output = T>>>) {
    let mut context = task::Context::from_waker(Waker::noop());
    assert!(work.as_mut().poll(&mut context).is_pending());
}

fn mode(mode: Mode) -> Order {
    let channel = top_level("garden").channel;
    Order::Mode { workspace: workspace(), channel, mode: Some(mode) }
}

fn opt_out(user: &str) -> Order {
    Order::OptOut { workspace: workspace(), user: UserId::new(user) }
}

#[tokio::test]
async fn of_two_concurrent_orders_the_stored_one_applies() {
    let (harness, run) = before_the_writer().await;
    let mut one = Box::pin(harness.inbox.apply_order(mode(Mode::Observe)));
    let mut other = Box::pin(harness.inbox.apply_order(mode(Mode::Off)));
    begin(&mut one);
    begin(&mut other);
    let _running = run();
    // Poll the caller first that learns that its order is stored.
    let (other, one) = tokio::join!(biased; other, one);
    one.and(other).unwrap();
    let channel = top_level("garden").channel;
    let orders = harness.store.store.orders(&workspace()).await.unwrap();
    assert_eq!(orders.modes, [(channel.clone(), Mode::Off)]);
    assert_eq!(harness.inbox.channel_cache.ordered_mode(&workspace(), &channel), Some(Mode::Off));
}

#[tokio::test]
async fn a_message_heard_while_an_opt_out_is_stored_is_redacted() {
    let (harness, run) = before_the_writer().await;
    let mut order = Box::pin(harness.inbox.apply_order(opt_out("u-bob")));
    begin(&mut order);
    let said = message(top_level("garden"), "m1", at(0), "bob", "@Aizuchi did you hear that?");
    let mut hearing = Box::pin(harness.inbox.hear(Heard::Message(said, Arrival::Live)));
    begin(&mut hearing);
    let _running = run();
    let (ordered, heard) = tokio::join!(order, hearing);
    ordered.unwrap();
    assert!(heard.unwrap().is_new);
    let messages = harness.messages("garden").await;
    assert_eq!((messages[0].gate, &*messages[0].message.text), (Some(Gate::OptedOut), ""));
    assert!(harness.step_of(&top_level("garden")).await.is_none());
}

#[tokio::test]
async fn an_order_whose_caller_has_gone_applies_once_it_is_stored() {
    let (harness, run) = before_the_writer().await;
    let mut order = Box::pin(harness.inbox.apply_order(opt_out("u-bob")));
    begin(&mut order);
    drop(order);
    let _running = run();
    harness.order(mode(Mode::Off)).await;
    let orders = harness.store.store.orders(&workspace()).await.unwrap();
    assert_eq!(orders.opted_out, [UserId::new("u-bob")]);
    assert!(harness.inbox.channel_cache.has_opted_out(&workspace(), &UserId::new("u-bob")));
}

#[tokio::test]
async fn an_order_that_could_not_be_stored_does_not_apply() {
    let (harness, run) = before_the_writer().await;
    let Running { stop, writer, _folder } = run();
    harness.order(mode(Mode::Observe)).await;
    stop.cancel();
    writer.await.unwrap().unwrap();
    harness.inbox.apply_order(mode(Mode::Off)).await.unwrap_err();
    let channel = top_level("garden").channel;
    assert_eq!(
        harness.inbox.channel_cache.ordered_mode(&workspace(), &channel),
        Some(Mode::Observe)
    );
}

#[tokio::test]
async fn messages_and_orders_during_typing_are_honored() {
    let mute = Order::Mute {
        workspace: workspace(),
        channel: None,
        until: Timestamp::MAX,
        by: Role::Admin,
    };
    for (text, message, ended) in [
        ("does it rain tomorrow?", None, DecisionResult::Muted),
        ("does it rain tomorrow?", Some("@alice it does"), DecisionResult::Dropped),
        ("@Aizuchi does it rain tomorrow?", None, DecisionResult::Muted),
        ("@Aizuchi does it rain tomorrow?", Some("@alice it does"), DecisionResult::Spoke),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
            harness.says("alice", text).await;
            harness.clock.advance_to(at(90));
            harness.platform.set_typing_seconds(5);
            while harness.mind.prompt_texts(PromptVerb::Reply).is_empty() {
                harness.runner.step().await.unwrap();
            }
            let meanwhile = async {
                harness.platform.until_typing(1).await;
                match message {
                    Some(message) => drop(harness.says("bob", message).await),
                    None => harness.order(mute.clone()).await,
                }
                harness.clock.advance_to(at(95));
            };
            let (posted, ()) = tokio::join!(harness.runner.step(), meanwhile);
            assert!(posted.unwrap());
            let rows = harness.decisions("garden").await;
            assert_eq!(rows[0].ended, Some(ended), "{text} {message:?}");
            let said = harness
                .platform
                .posted
                .lock()
                .unwrap()
                .iter()
                .map(|(_, said)| said.at)
                .collect::<Vec<_>>();
            let expected = if ended == DecisionResult::Spoke { vec![at(95)] } else { vec![] };
            assert_eq!(said, expected, "{text} {message:?}");
        })
        .await;
    }
}
