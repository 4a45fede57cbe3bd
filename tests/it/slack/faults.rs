//! Faults between Slack and the program. Each test states its scenario; the numbers (H01 …) only tell the scenarios
//! apart.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::driver::{AfterDisconnect, DisconnectReason};
use aizuchi_fakes::slack::fault::{Fault, HistoryCap};
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use aizuchi_harness::providers::ProviderResponse;
use jiff::{SignedDuration, Timestamp};

use crate::slack::harness::{SlackHarness, SlackOptions};

const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";

/// H01: while the database cannot be written, no event is acknowledged; its redelivery is stored.
#[tokio::test]
async fn h01_events_are_acknowledged_only_after_they_are_stored() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let lock = harness.lock_database().await;
    let before = harness.slack.acked_deliveries().len();
    let reads = harness.slack.calls("conversations.history").len();
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    // What could not be ingested is looked for in the history.
    harness.wait_until(|slack| slack.calls("conversations.history").len() > reads).await;
    assert_eq!(harness.slack.acked_deliveries().len(), before);
    drop(lock);
    harness.slack.redeliver();
    harness.wait_for_posts(1).await;
    harness.until_kept(SPOKE, 1).await;
    harness.wait_until(|slack| slack.acked_deliveries().len() > before).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 1);
}

/// H03: an acknowledgement is lost, so Slack delivers the event again.
#[tokio::test]
async fn h03_a_redelivered_event_is_answered_once() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.post_mention(&harness.tea, &harness.mio, "hello?");
    harness.wait_for_posts(1).await;
    let event = harness.slack.read(|state| state.dispatcher.envelopes[0].payload["event"].clone());
    for _ in 0..10 {
        harness.slack.emit_event(event.clone());
    }
    harness.post_message(&harness.tea, &harness.ren, "that is all");
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'that is all'", 1).await;
    harness.until_kept(SPOKE, 1).await;
    assert_eq!(harness.kept(&harness.tea).await.len(), 3);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 1);
}

/// H11, H43: the program is killed or stopped during a model call, while a post is in flight, and right after it; each
/// message is answered once.
#[tokio::test]
async fn h11_a_kill_at_any_point_leads_to_one_answer() {
    let harness = SlackHarness::with(SlackOptions {
        slack: "  settle_seconds: 16\n",
        ..SlackOptions::default()
    })
    .await;
    let program = harness.start().await;
    // Killed during a model call.
    harness.model.then([ProviderResponse::Never]);
    harness.post_mention(&harness.tea, &harness.mio, "one?");
    harness.model.came(1).await;
    program.kill();
    let program = harness.start().await;
    harness.wait_for_posts(1).await;
    // Killed after the post, before Slack's answer.
    harness.slack.inject_fault("chat.postMessage", Fault::HangAfter(Hang::UntilReleased));
    harness.post_mention(&harness.tea, &harness.mio, "two?");
    harness.wait_for_posts(2).await;
    program.kill();
    harness.slack.release_hanging();
    let program = harness.start().await;
    harness.until_kept(SPOKE, 2).await;
    // Stopped during a model call.
    harness.model.then([ProviderResponse::Never]);
    let before = harness.model.requests().len();
    harness.post_mention(&harness.attic, &harness.mio, "three?");
    harness.model.came(before + 1).await;
    let began = std::time::Instant::now();
    assert_eq!(program.stop(), Some(0));
    assert!(
        began.elapsed() < std::time::Duration::from_secs(45),
        "stopping does not wait for a model"
    );
    let program = harness.start().await;
    harness.until_kept(SPOKE, 3).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 3);
}

/// H13: the answer to a post is lost; the history shows that it was posted.
#[tokio::test]
async fn h13_a_post_whose_answer_is_lost_is_posted_once() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    for (fault, number) in [(Fault::ResetAfter, 1), (Fault::StatusAfter(502), 2)] {
        harness.slack.inject_fault("chat.postMessage", fault);
        harness.post_mention(&harness.tea, &harness.mio, "hello?");
        harness.until_kept(SPOKE, number).await;
        assert_eq!(harness.slack.posts().len() as i64, number);
    }
    // The database has the posts that Slack has.
    let posts = harness.slack.posts();
    for post in posts {
        let stored = format!("SELECT count(*) FROM messages WHERE id = '{}'", post.ts);
        assert_eq!(harness.count(&stored).await, 1);
    }
    assert_eq!(program.stop(), Some(0));
}

/// H17: `Retry-After` is honored, and other channels are not delayed.
#[tokio::test]
async fn h17_retry_after_is_honored() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.slack.inject_fault("chat.postMessage", Fault::rate_limited(3));
    harness.post_mention(&harness.tea, &harness.mio, "one?");
    harness.wait_for_posts(1).await;
    let calls = harness.slack.calls("chat.postMessage");
    assert_eq!(calls.len(), 2);
    assert!(calls[1].at.duration_since(calls[0].at) >= SignedDuration::from_secs(3));
    // Longer than an answer takes on any machine.
    harness.slack.inject_fault("chat.postMessage", Fault::rate_limited(600));
    harness.post_mention(&harness.tea, &harness.mio, "two?");
    harness.wait_until(|slack| slack.calls("chat.postMessage").len() == 3).await;
    harness.post_mention(&harness.attic, &harness.mio, "three?");
    let posts = harness.wait_for_posts(2).await;
    assert_eq!([&posts[0].channel, &posts[1].channel], [&harness.tea, &harness.attic]);
    assert_eq!(program.stop(), Some(0));
}

/// H19: a post that Slack refuses becomes a dead letter immediately, which the operator can see.
#[tokio::test]
async fn h19_a_refused_post_is_not_retried() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let errors = ["channel_not_found", "is_archived", "msg_too_long", "restricted_action"];
    for (number, error) in (1..).zip(errors) {
        harness.slack.inject_fault("chat.postMessage", Fault::error(error));
        harness.post_mention(&harness.tea, &harness.mio, error);
        harness.until_kept("SELECT count(*) FROM dead_letters", number).await;
        assert_eq!(harness.slack.calls("chat.postMessage").len() as i64, number, "{error}");
    }
    let letters = program.get("/api/dead-letters").await.to_string();
    assert!(errors.iter().all(|error| letters.contains(error)), "{letters}");
    assert_eq!(program.stop(), Some(0));
}

/// H21: Slack announces that it will close the connections; new ones are open before that.
#[tokio::test]
async fn h21_there_is_always_a_connection() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let opened = harness.slack.calls("apps.connections.open").len();
    harness.slack.reset_min_open();
    harness.slack.request_disconnect(DisconnectReason::Warning, AfterDisconnect::Stay);
    for number in 0..20 {
        harness.post_message(&harness.tea, &harness.mio, &format!("line {number}"));
    }
    harness.wait_until(|slack| slack.calls("apps.connections.open").len() >= opened + 2).await;
    harness.wait_until(|slack| slack.connection_counts().open == 2).await;
    assert!(
        harness.slack.connection_counts().min_open >= 2,
        "{:?}",
        harness.slack.connection_counts()
    );
    harness.until_kept("SELECT count(*) FROM messages", 20).await;
    // All connections break at the same time; messages posted in the meantime are redelivered or backfilled.
    harness.slack.reset_connections();
    harness.post_message(&harness.tea, &harness.mio, "after the cut");
    harness.until_kept("SELECT count(*) FROM messages", 21).await;
    harness.wait_until(|slack| slack.connection_counts().open == 2).await;
    assert_eq!(program.stop(), Some(0));
}

/// H27: a gap with new messages, an edit, deletions, and replies to a message that is older than the history that is
/// read.
#[tokio::test]
async fn h27_a_gap_is_backfilled() {
    let harness = SlackHarness::new().await;
    let ago =
        |hours: i64| Some(Ts::from_timestamp(Timestamp::now() - SignedDuration::from_hours(hours)));
    let message = |ts, thread, text: &str| NewFakeMessage {
        ts,
        thread,
        ..NewFakeMessage::new(&harness.tea, &harness.mio, text)
    };
    let old = harness.slack.send_message_with(message(ago(200), None, "an old question")).unwrap();
    harness.slack.send_message_with(message(ago(100), Some(old), "an old answer")).unwrap();
    let typo = harness.slack.send_message_with(message(ago(3), None, "a tpyo")).unwrap();
    let slip =
        harness.slack.send_message_with(message(ago(2), None, "a slip of the tongue")).unwrap();
    let other =
        harness.slack.send_message_with(message(ago(1), Some(typo), "another slip")).unwrap();
    let stored = "SELECT count(*) FROM messages WHERE text = 'an old answer'";
    // An earlier run has read the old answer, when the question was recent.
    harness.set_history_days(30);
    let program = harness.start().await;
    harness.until_kept(stored, 1).await;
    assert_eq!(program.stop(), Some(0));
    harness.set_history_days(7);
    let undelivered = |message: NewFakeMessage| NewFakeMessage { is_lost: true, ..message };
    for number in 0..30 {
        let thread = (number % 3 == 0).then_some(old);
        let new_message =
            NewFakeMessage::new(&harness.tea, &harness.ren, &format!("line {number}"));
        harness
            .slack
            .send_message_with(undelivered(NewFakeMessage { thread, ..new_message }))
            .unwrap();
    }
    let mention = format!("<@{}> were you away?", harness.bot);
    harness
        .slack
        .send_message_with(undelivered(NewFakeMessage::new(&harness.tea, &harness.mio, &mention)))
        .unwrap();
    harness.slack.edit_message(&harness.tea, typo, "a typo").unwrap();
    for gone in [slip, other] {
        harness.slack.delete_message(&harness.tea, gone).unwrap();
    }
    let program = harness.start().await;
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'line %'", 30).await;
    harness.until_kept(&format!("SELECT count(*) FROM messages WHERE thread = '{old}'"), 11).await;
    harness
        .until_kept("SELECT count(*) FROM messages WHERE text = 'a typo' AND edits = 1", 1)
        .await;
    harness.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 2).await;
    harness.until_kept(SPOKE, 1).await;
    // Only the mention is answered, with the rest in its context.
    assert_eq!(harness.count("SELECT count(*) FROM decisions").await, 1);
    assert!(harness.prompt().contains("line 29") && !harness.prompt().contains("slip"));
    assert_eq!(program.stop(), Some(0));
    // With a new database, a message that the history shows as answered is not answered again.
    for file in ["room.db", "room.db-wal", "room.db-shm"] {
        let _ = std::fs::remove_file(harness.home.path().join(file));
    }
    let program = harness.start().await;
    // The replies to the message beyond the history span are not read.
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'line %'", 20).await;
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 1);
}

/// While the program was down, the channel became private and a question was deleted: both are known before the step
/// that falls due at the start is run.
#[tokio::test]
async fn a_due_step_waits_for_the_backfill() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.model.then([ProviderResponse::Never]);
    let mention = format!("<@{}> where is the secret cellar?", harness.bot);
    let ts = Some(Ts::from_timestamp(Timestamp::now() - SignedDuration::from_mins(5)));
    let question =
        NewFakeMessage { ts, ..NewFakeMessage::new(&harness.tea, &harness.mio, &mention) };
    let question = harness.slack.send_message_with(question).unwrap();
    harness.model.came(1).await;
    program.kill();
    harness.slack.delete_message(&harness.tea, question).unwrap();
    harness.slack.make_private(&harness.tea, &harness.mio).unwrap();
    harness.slack.inject_fault("conversations.history", Fault::rate_limited(2));
    let program = harness.home.start();
    harness.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE visibility = 'public'", 0).await;
    assert_eq!(harness.model.requests().len(), 1, "the model is not called again");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts(), []);
}

/// H33, H34: a wait and a delay continue after a kill.
#[tokio::test]
async fn h33_a_wait_survives_a_kill() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    for number in 0..5 {
        harness.post_message(&harness.tea, &harness.mio, &format!("is this line {number}?"));
    }
    harness.until_kept("SELECT count(*) FROM messages", 5).await;
    let due = harness.count("SELECT due_ms FROM steps").await;
    program.kill();
    let program = harness.start().await;
    harness.until_log("backfilled all channels").await;
    harness.until_kept("SELECT due_ms FROM steps", due).await;
    program.kill();
    harness.end_waits().await;
    let verdict = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9,
        "delay_seconds": 600}"#;
    harness.will_say(&[verdict, "Here I am."]);
    let program = harness.start().await;
    harness.model.came(1).await;
    let armed = "SELECT count(*) FROM steps WHERE verb = 'reply'";
    harness.until_kept(armed, 1).await;
    program.kill();
    harness.end_waits().await;
    let program = harness.start().await;
    assert_eq!(harness.wait_for_posts(1).await[0].text, "Here I am.");
    harness.until_kept(SPOKE, 1).await;
    assert_eq!(harness.model.requests().len(), 2, "one judgment and one reply");
    assert_eq!(program.stop(), Some(0));
}

/// H37: an invalid verdict means silence, recorded as *failed* and not as a choice.
#[tokio::test]
async fn h37_an_invalid_verdict_is_a_failed_decision() {
    let harness = SlackHarness::with(SlackOptions { wait: 0.2, ..SlackOptions::default() }).await;
    let program = harness.start().await;
    let nonsense = ["".to_owned(), "no JSON".to_owned(), "x".repeat(1_000_000)];
    for (number, answer) in (1..).zip(nonsense) {
        let wrong = r#"{"should_respond": "maybe", "reason": 7}"#.to_owned();
        harness.model.then([ProviderResponse::Says(answer), ProviderResponse::Says(wrong)]);
        harness.post_message(&harness.tea, &harness.mio, &format!("is this line {number}?"));
        harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'failed'", number).await;
        // Drops the answers that other calls have not used.
        harness.model.forget();
    }
    assert_eq!(harness.slack.posts(), []);
    // A decision is counted after its end is stored.
    let is_counted = |line: &str| line.contains(r#"ended="failed""#) && line.ends_with(" 3");
    program.until_text("/metrics", |figures| figures.lines().any(is_counted)).await;
    assert_eq!(program.stop(), Some(0));
}

/// H39: a reply that is too long is split into posts, in order and each posted once, even with a kill between them.
#[tokio::test]
async fn h39_a_long_reply_is_split_into_posts() {
    let harness = SlackHarness::with(SlackOptions {
        slack: "  settle_seconds: 16\n",
        ..SlackOptions::default()
    })
    .await;
    let program = harness.start().await;
    let long: Vec<String> = (0..400).map(|number| format!("This is sentence {number}.")).collect();
    harness.will_say(&[&long.join(" ")]);
    harness.post_mention(&harness.tea, &harness.mio, "tell me everything");
    harness.wait_for_posts(1).await;
    program.kill();
    let program = harness.start().await;
    harness.until_kept(SPOKE, 1).await;
    let posts = harness.slack.posts();
    assert!(posts.len() > 2 && posts.iter().all(|post| post.text.chars().count() <= 4_000));
    let all: Vec<&str> = posts.iter().map(|post| post.text.as_str()).collect();
    assert_eq!(all.join(" "), long.join(" "));
    assert_eq!(program.stop(), Some(0));
}

/// Slack rate-limits the history of a new app to 15 messages a page. The newest page is read first, so a mention is
/// answered before the whole history is read.
#[tokio::test]
async fn a_rate_limited_history_is_detected_and_read_slowly() {
    let harness = SlackHarness::new().await;
    for number in 0..40 {
        harness.post_message(&harness.tea, &harness.mio, &format!("line {number}"));
    }
    let cap = HistoryCap { objects: 15, interval: SignedDuration::from_millis(100) };
    harness.slack.cap_history(Some(cap));
    let program = harness.home.start();
    harness.until_log("Slack rate-limits this app's history").await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'line %'", 15).await;
    harness.post_mention(&harness.tea, &harness.mio, "can you hear me?");
    harness.wait_for_posts(1).await;
    assert_eq!(harness.count("SELECT count(*) FROM messages WHERE text LIKE 'line %'").await, 15);
    assert_eq!(program.stop(), Some(0));
    // The next start knows the limit, and does not read a page within the same minute.
    let before = harness.slack.calls("conversations.history").len();
    let program = harness.home.start();
    harness.wait_until(|slack| slack.connection_counts().open >= 2).await;
    harness.post_mention(&harness.tea, &harness.mio, "and now?");
    harness.wait_for_posts(2).await;
    assert_eq!(harness.slack.calls("conversations.history").len(), before, "not within a minute");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_permanent_refusal_ends_the_program_with_a_reason() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.slack.request_disconnect(DisconnectReason::LinkDisabled, AfterDisconnect::Stay);
    let last = harness.ends(program).await;
    assert!(last.contains("Socket Mode is switched off for the Slack app"), "{last}");
    let program = harness.start().await;
    harness.slack.uninstall();
    let last = harness.ends(program).await;
    assert!(last.contains("the app was removed from the Slack workspace"), "{last}");
}

/// `/ready` reports that there is no connection to Slack.
#[tokio::test]
async fn the_program_is_not_ready_without_a_connection() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    assert_eq!(program.request("/ready").await.status(), 200);
    harness.slack.inject_fault_times("apps.connections.open", &Fault::Status(503), 8);
    harness.slack.reset_connections();
    // The program notices shortly after the fake.
    let body = harness.home.until_ready_is(&program, 503).await;
    assert!(body.contains("no connection to the Slack workspace"), "{body}");
    harness.slack.clear_faults();
    harness.home.until_ready_is(&program, 200).await;
    assert_eq!(program.stop(), Some(0));
}
