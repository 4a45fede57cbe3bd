//! What people order: it holds at once, also for what is on its way, is told to everybody,
//! and outlives a restart.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Waker};

use aizuchi_core::chat::{Arrival, Heard, Role, UserId};
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::Ended;
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::prompt::Verb;
use aizuchi_core::rules::Mode;
use aizuchi_core::store::{Order, sqlite};
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use aizuchi_harness::world::{JOIN, Kept, Mind, Room, World, at, line, top, workspace};

#[tokio::test]
async fn an_order_holds_for_what_is_under_way() {
    let channel = || top("garden").channel;
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
        ("does it rain tomorrow?", mute(), Ended::Muted),
        ("does it rain tomorrow?", everywhere(), Ended::Muted),
        ("does it rain tomorrow?", mode(Mode::MentionOnly), Ended::ChoseSilence),
        ("@Aizuchi does it rain tomorrow?", mute(), Ended::Muted),
        ("@Aizuchi does it rain tomorrow?", mode(Mode::Observe), Ended::Muted),
        ("@Aizuchi does it rain tomorrow?", mode(Mode::MentionOnly), Ended::Spoke),
    ] {
        for kept in Kept::each().await {
            let world = World::new(kept).await;
            world.mind.script.then(Verb::Judge, Ok(JOIN));
            world.says("alice", text).await;
            let (ears, given) = (world.ears.clone(), order.clone());
            // The words are found, and only the last check stands between them and the room.
            world.mind.meanwhile(Verb::Reply, || async move { ears.order(given).await.unwrap() });
            world.pass(1000).await;
            let said = usize::from(ended == Ended::Spoke);
            assert_eq!(world.room.texts().len(), said, "{text} {order:?}");
            let rows = world.decisions("garden").await;
            assert_eq!(rows[0].ended, Some(ended), "{text} {order:?}");
            assert_eq!(rows[0].attempts.last().unwrap().verb.as_ref(), "reply");
        }
    }
}

/// A world whose writer has not begun: what is asked of the store waits in its order.
async fn before_the_writer() -> (World, impl FnOnce() -> Running) {
    let folder = tempfile::tempdir().unwrap();
    let (store, writer) = sqlite::open(&folder.path().join("aizuchi.db")).await.unwrap();
    let store = Arc::new(store);
    let kept = Kept { store: store.clone(), archive: store, database: None };
    let (mind, room) = (Arc::new(Mind::default()), Arc::new(Room::default()));
    let world = World::with(kept, Clock::manual(at(0)), mind, room);
    let run = move || {
        let stop = CancellationToken::new();
        let writer = tokio::spawn(writer.run(stop.clone()));
        Running { stop, writer, _folder: folder }
    };
    (world, run)
}

struct Running {
    stop: CancellationToken,
    writer: JoinHandle<anyhow::Result<()>>,
    _folder: TempDir,
}

/// Lets it get as far as it can by itself.
fn begin<T>(work: &mut Pin<Box<impl Future<Output = T>>>) {
    let mut context = task::Context::from_waker(Waker::noop());
    assert!(work.as_mut().poll(&mut context).is_pending());
}

fn mode(mode: Mode) -> Order {
    let channel = top("garden").channel;
    Order::Mode { workspace: workspace(), channel, mode: Some(mode) }
}

fn opt_out(user: &str) -> Order {
    Order::OptOut { workspace: workspace(), user: UserId::new(user) }
}

#[tokio::test]
async fn of_two_orders_at_once_the_one_that_is_kept_is_obeyed() {
    let (world, run) = before_the_writer().await;
    let mut one = Box::pin(world.ears.order(mode(Mode::Observe)));
    let mut other = Box::pin(world.ears.order(mode(Mode::Off)));
    begin(&mut one);
    begin(&mut other);
    let _running = run();
    // Whichever hears first that its order is kept.
    let (other, one) = tokio::join!(biased; other, one);
    one.and(other).unwrap();
    let channel = top("garden").channel;
    let orders = world.kept.store.orders(&workspace()).await.unwrap();
    assert_eq!(orders.modes, [(channel.clone(), Mode::Off)]);
    assert_eq!(world.ears.rooms.ordered_mode(&workspace(), &channel), Some(Mode::Off));
}

#[tokio::test]
async fn what_is_said_while_an_opt_out_is_being_kept_is_withheld() {
    let (world, run) = before_the_writer().await;
    let mut order = Box::pin(world.ears.order(opt_out("u-bob")));
    begin(&mut order);
    let said = line(top("garden"), "m1", at(0), "bob", "@Aizuchi did you hear that?");
    let mut hearing = Box::pin(world.ears.hear(Heard::Message(said, Arrival::Live)));
    begin(&mut hearing);
    let _running = run();
    let (ordered, heard) = tokio::join!(order, hearing);
    ordered.unwrap();
    assert!(heard.unwrap().is_new);
    let lines = world.lines("garden").await;
    assert_eq!((lines[0].gate, &*lines[0].message.text), (Some(Gate::OptedOut), ""));
    assert!(world.step_of(&top("garden")).await.is_none());
}

#[tokio::test]
async fn an_order_that_nobody_waits_for_any_more_is_obeyed_if_it_is_kept() {
    let (world, run) = before_the_writer().await;
    let mut order = Box::pin(world.ears.order(opt_out("u-bob")));
    begin(&mut order);
    drop(order);
    let _running = run();
    world.orders(mode(Mode::Off)).await;
    let orders = world.kept.store.orders(&workspace()).await.unwrap();
    assert_eq!(orders.opted_out, [UserId::new("u-bob")]);
    assert!(world.ears.rooms.has_opted_out(&workspace(), &UserId::new("u-bob")));
}

#[tokio::test]
async fn an_order_that_could_not_be_kept_is_not_obeyed() {
    let (world, run) = before_the_writer().await;
    let Running { stop, writer, _folder } = run();
    world.orders(mode(Mode::Observe)).await;
    stop.cancel();
    writer.await.unwrap().unwrap();
    world.ears.order(mode(Mode::Off)).await.unwrap_err();
    let channel = top("garden").channel;
    assert_eq!(world.ears.rooms.ordered_mode(&workspace(), &channel), Some(Mode::Observe));
}

#[tokio::test]
async fn what_happens_while_it_types_counts() {
    let mute = Order::Mute {
        workspace: workspace(),
        channel: None,
        until: Timestamp::MAX,
        by: Role::Admin,
    };
    for (text, line, ended) in [
        ("does it rain tomorrow?", None, Ended::Muted),
        ("does it rain tomorrow?", Some("it does"), Ended::Dropped),
        ("@Aizuchi does it rain tomorrow?", None, Ended::Muted),
        ("@Aizuchi does it rain tomorrow?", Some("it does"), Ended::Spoke),
    ] {
        for kept in Kept::each().await {
            let world = World::new(kept).await;
            world.mind.script.then(Verb::Judge, Ok(JOIN));
            world.says("alice", text).await;
            world.clock.advance_to(at(60));
            world.room.types_for(5);
            while world.mind.asked(Verb::Reply).is_empty() {
                world.runner.step().await.unwrap();
            }
            let meanwhile = async {
                world.room.until_typing(1).await;
                match line {
                    Some(line) => drop(world.says("bob", line).await),
                    None => world.orders(mute.clone()).await,
                }
                world.clock.advance_to(at(65));
            };
            let (posted, ()) = tokio::join!(world.runner.step(), meanwhile);
            assert!(posted.unwrap());
            let rows = world.decisions("garden").await;
            assert_eq!(rows[0].ended, Some(ended), "{text} {line:?}");
            let said =
                world.room.said.lock().unwrap().iter().map(|(_, said)| said.at).collect::<Vec<_>>();
            let expected = if ended == Ended::Spoke { vec![at(65)] } else { vec![] };
            assert_eq!(said, expected, "{text} {line:?}");
        }
    }
}
