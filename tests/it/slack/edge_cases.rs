//! What Slack does besides: it has enough of our sockets, closes a room and opens it again, and leaves out what
//! it could say.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::FakeSlackSettings;
use aizuchi_fakes::slack::fault::Fault;
use serde_json::Value;

use crate::slack::harness::{Setting, SlackHarness};

/// Slack allows ten sockets of an app, wherever they are. Whoever is one too many waits, and the others hear.
#[tokio::test]
async fn one_connection_too_many_waits_and_another_hears() {
    let team = FakeSlackSettings { max_connections: 1, ..FakeSlackSettings::default() };
    let stage = SlackHarness::with(Setting { team, ..Setting::default() }).await;
    let program = stage.home.start();
    stage.until_log("there are too many connections").await;
    stage.asks(&stage.tea, &stage.mio, "hello?");
    stage.posts(1).await;
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(program.request("/ready").await.status(), 200);
    // It is not tried again at once.
    assert_eq!(stage.slack.calls("apps.connections.open").len(), 2);
    assert_eq!(program.stop(), Some(0));
}

/// In an archived room nothing can be said, and nothing is tried; where it is opened again, it goes on.
#[tokio::test]
async fn an_archived_room_is_left_alone_until_it_is_opened_again() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.slack.inject_fault("chat.postMessage", Fault::rate_limited(3));
    stage.asks(&stage.tea, &stage.mio, "hello?");
    stage.until(|slack| slack.calls("chat.postMessage").len() == 1).await;
    stage.slack.archive_channel(&stage.tea, &stage.mio).unwrap();
    stage.until_kept("SELECT count(*) FROM dead_letters", 1).await;
    assert_eq!(stage.slack.calls("chat.postMessage").len(), 1);
    let letters = program.get("/api/dead-letters").await.to_string();
    assert!(letters.contains("it is in this channel no more"), "{letters}");
    stage.slack.unarchive_channel(&stage.tea, &stage.mio).unwrap();
    stage.asks(&stage.tea, &stage.mio, "and now?");
    assert_eq!(stage.posts(1).await[0].channel, stage.tea);
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(program.stop(), Some(0));
}

/// The event of a post of ours may come before the answer to it, with the mark that the post carries or without:
/// either way it is one line, and said once.
#[tokio::test]
async fn a_post_that_is_told_of_without_its_mark_is_still_one_line() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.slack.inject_fault("chat.postMessage", Fault::HangAfter(Hang::UntilReleased));
    stage.asks(&stage.tea, &stage.mio, "hello?");
    let post = stage.posts(1).await.remove(0);
    let told = |event: &Value| event["ts"] == post.ts.to_string() && event["type"] == "message";
    let event = stage.slack.read(|state| {
        let events =
            state.dispatcher.envelopes.iter().map(|letter| letter.payload["event"].clone());
        events.into_iter().find(told)
    });
    let mut event = event.expect("an app is told of its own posts");
    assert!(event["metadata"].is_object(), "{event}");
    event.as_object_mut().unwrap().remove("metadata");
    stage.slack.emit_event(event);
    stage.until(|slack| slack.unacked_deliveries().is_empty()).await;
    stage.slack.release_hanging();
    stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(stage.count("SELECT count(*) FROM messages WHERE author_kind = 'persona'").await, 1);
    stage.until_kept("SELECT count(*) FROM steps", 0).await;
    assert_eq!(stage.slack.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
}
