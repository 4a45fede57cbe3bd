//! Rare behavior of Slack: a limit on sockets, a channel that is archived and unarchived, and an event without its
//! metadata.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::FakeSlackSettings;
use aizuchi_fakes::slack::fault::Fault;
use serde_json::Value;

use crate::slack::harness::{SlackHarness, SlackOptions};

/// Slack allows an app ten sockets in all. A connection beyond the limit waits, and the others keep receiving events.
#[tokio::test]
async fn a_connection_beyond_the_limit_waits_while_others_receive() {
    let team = FakeSlackSettings { max_connections: 1, ..FakeSlackSettings::default() };
    let harness = SlackHarness::with(SlackOptions { team, ..SlackOptions::default() }).await;
    let program = harness.home.start();
    harness.until_log("there are too many connections").await;
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(program.request("/ready").await.status(), 200);
    // It does not reconnect at once.
    assert_eq!(harness.slack.calls("apps.connections.open").len(), 2);
    assert_eq!(program.stop(), Some(0));
}

/// The bot does not try to post to an archived channel, and continues after the channel is unarchived.
#[tokio::test]
async fn an_archived_channel_gets_no_posts_until_it_is_unarchived() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.slack.inject_fault("chat.postMessage", Fault::rate_limited(3));
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    harness.wait_until(|slack| slack.calls("chat.postMessage").len() == 1).await;
    harness.slack.archive_channel(&harness.tea, &harness.mio).unwrap();
    harness.until_kept("SELECT count(*) FROM dead_letters", 1).await;
    assert_eq!(harness.slack.calls("chat.postMessage").len(), 1);
    let letters = program.get("/api/dead-letters").await.to_string();
    assert!(letters.contains("it is in this channel no more"), "{letters}");
    harness.slack.unarchive_channel(&harness.tea, &harness.mio).unwrap();
    harness.post_mention(&harness.tea, &harness.mio, "and now?");
    assert_eq!(harness.wait_for_posts(1).await[0].channel, harness.tea);
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(program.stop(), Some(0));
}

/// The event of the bot's own post may arrive before the answer to the call, with or without the post's metadata.
/// Either way the message is stored once and posted once.
#[tokio::test]
async fn an_event_of_an_own_post_without_metadata_is_not_a_second_message() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.slack.inject_fault("chat.postMessage", Fault::HangAfter(Hang::UntilReleased));
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    let post = harness.wait_for_posts(1).await.remove(0);
    let is_own_post =
        |event: &Value| event["ts"] == post.ts.to_string() && event["type"] == "message";
    let event = harness.slack.read(|state| {
        let events =
            state.dispatcher.envelopes.iter().map(|envelope| envelope.payload["event"].clone());
        events.into_iter().find(is_own_post)
    });
    let mut event = event.expect("Slack sends an app the events of its own posts");
    assert!(event["metadata"].is_object(), "{event}");
    event.as_object_mut().unwrap().remove("metadata");
    harness.slack.emit_event(event);
    harness.wait_until(|slack| slack.unacked_deliveries().is_empty()).await;
    harness.slack.release_hanging();
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(
        harness.count("SELECT count(*) FROM messages WHERE author_kind = 'persona'").await,
        1
    );
    harness.until_kept("SELECT count(*) FROM steps", 0).await;
    assert_eq!(harness.slack.posts().len(), 1);
    assert_eq!(program.stop(), Some(0));
}
