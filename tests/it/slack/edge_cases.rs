//! Rare behavior of Slack: a limit on sockets, a channel that is archived and unarchived, and an event without its
//! metadata.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::{FakeSlack, FakeSlackSettings};
use aizuchi_harness::net::http;
use aizuchi_harness::providers::ProviderResponse;
use serde_json::{Value, json};

use crate::slack::harness::{SlackHarness, SlackOptions};

/// Slack allows an app ten sockets in total. A connection beyond the limit waits, and the others keep receiving events.
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
    // It does not reconnect immediately.
    assert_eq!(harness.slack.calls("apps.connections.open").len(), 2);
    assert_eq!(program.stop(), Some(0));
}

/// The bot does not try to post to an archived channel, and continues after the channel is unarchived.
#[tokio::test]
async fn an_archived_channel_gets_no_posts_until_it_is_unarchived() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let until_joined = async |count: u64| {
        program.until("/ready", |ready| ready["catching_up"][0]["channels"] == count).await;
    };
    until_joined(2).await;
    harness.model.then([ProviderResponse::Held("hello".to_owned())]);
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    harness.model.came(1).await;
    harness.slack.archive_channel(&harness.tea, &harness.mio).unwrap();
    until_joined(1).await;
    harness.model.release();
    harness.until_kept("SELECT count(*) FROM dead_letters", 1).await;
    assert_eq!(harness.slack.calls("chat.postMessage"), []);
    let letters = program.get("/api/dead-letters").await.to_string();
    assert!(letters.contains("it is in this channel no more"), "{letters}");
    harness.slack.unarchive_channel(&harness.tea, &harness.mio).unwrap();
    until_joined(2).await;
    harness.post_mention(&harness.tea, &harness.mio, "and now?");
    assert_eq!(harness.wait_for_posts(1).await[0].channel, harness.tea);
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    assert_eq!(program.stop(), Some(0));
}

/// Slack may deliver the event of the bot's removal once more after the bot has returned.
#[tokio::test]
async fn a_late_event_of_a_removal_leaves_no_mention_unanswered() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let removal =
        json!({ "type": "channel_left", "channel": harness.tea, "actor_id": harness.ren });
    harness.slack.emit_event(removal);
    harness.wait_until(|slack| slack.unacked_deliveries().is_empty()).await;
    harness.will_say(&["It is in the kettle."]);
    harness.post_mention(&harness.tea, &harness.mio, "where is the tea?");
    let is_answered =
        |slack: &FakeSlack| slack.posts().iter().any(|post| post.text == "It is in the kettle.");
    harness.wait_until(is_answered).await;
    assert_eq!(harness.count("SELECT count(*) FROM dead_letters").await, 0);
    assert_eq!(program.stop(), Some(0));
}

/// Without a token, any local user can open the pages, so they show no text of a Slack workspace.
#[tokio::test]
async fn a_dead_letter_of_a_direct_message_shows_its_text_only_for_the_token() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let direct = harness.slack.open_direct_message(&harness.mio).unwrap();
    harness.will_say(&["the surprise is on Friday"]);
    harness.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
    harness.post_message(&direct, &harness.mio, "when is the surprise?");
    harness.until_kept("SELECT count(*) FROM dead_letters WHERE text IS NOT NULL", 1).await;
    let letters = program.get("/api/dead-letters").await;
    let letter = &letters["dead_letters"][0];
    assert_eq!((&letter["channel"], &letter["text"]), (&json!(direct), &Value::Null));
    for path in ["/api/dead-letters", "/", "/decisions/1", "/api/channels", "/metrics", "/ready"] {
        let text = program.request(path).await.text().await.unwrap();
        assert!(!text.contains("surprise"), "{path}: {text}");
    }
    assert_eq!(program.stop(), Some(0));

    let token = "9f86d081884c7d65";
    let config = std::fs::read_to_string(harness.home.config()).unwrap();
    let with_token = config.replace("\nhttp:\n", &format!("\nhttp:\n  token: {token}\n"));
    std::fs::write(harness.home.config(), with_token).unwrap();
    let program = harness.home.start();
    assert_eq!(program.request("/api/dead-letters").await.status(), 401);
    let letters = http().get(format!("{}/api/dead-letters", program.address)).bearer_auth(token);
    let letters: Value = letters.send().await.unwrap().json().await.unwrap();
    assert_eq!(letters["dead_letters"][0]["text"], "the surprise is on Friday");
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
