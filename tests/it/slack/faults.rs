//! What goes wrong between Slack and us: the scenarios that bear these numbers in the list of what must hold.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::driver::{AfterDisconnect, DisconnectReason};
use aizuchi_fakes::slack::fault::{Fault, HistoryCap};
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use jiff::{SignedDuration, Timestamp};

use crate::slack::harness::{Setting, SlackHarness};
use aizuchi_harness::providers::Treatment;

const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";

/// H01: while nothing can be kept, nothing is acknowledged; what comes again is kept then.
#[tokio::test]
async fn h01_nothing_is_acknowledged_before_it_is_kept() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    let lock = stage.lock_database().await;
    let before = stage.slack.acked_deliveries().len();
    stage.asks(&stage.tea, &stage.mio, "hello?");
    stage.until_log("is not acknowledged, so that it comes again").await;
    assert_eq!(stage.slack.acked_deliveries().len(), before);
    drop(lock);
    stage.slack.redeliver();
    stage.posts(1).await;
    stage.until_kept(SPOKE, 1).await;
    stage.until(|slack| slack.acked_deliveries().len() > before).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.slack.posts().len(), 1);
}

/// H03: an acknowledgement is lost, so that all comes again.
#[tokio::test]
async fn h03_what_comes_again_is_said_once() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.asks(&stage.tea, &stage.mio, "hello?");
    stage.posts(1).await;
    let event = stage.slack.read(|state| state.dispatcher.envelopes[0].payload["event"].clone());
    for _ in 0..10 {
        stage.slack.emit_event(event.clone());
    }
    stage.says(&stage.tea, &stage.ren, "that is all");
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'that is all'", 1).await;
    stage.until_kept(SPOKE, 1).await;
    assert_eq!(stage.kept(&stage.tea).await.len(), 3);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.slack.posts().len(), 1);
}

/// H11, H43: it is killed, or asked to stop, while the model thinks, while a post is on its way, and right
/// after; each time it answers once.
#[tokio::test]
async fn h11_a_life_that_ends_anywhere_answers_once() {
    let stage =
        SlackHarness::with(Setting { slack: "  settle_seconds: 16\n", ..Setting::default() }).await;
    let program = stage.start().await;
    // While the model thinks.
    stage.model.then([Treatment::Never]);
    stage.asks(&stage.tea, &stage.mio, "one?");
    stage.model.came(1).await;
    program.kill();
    let program = stage.start().await;
    stage.posts(1).await;
    // Said, and killed before it could know.
    stage.slack.inject_fault("chat.postMessage", Fault::HangAfter(Hang::UntilReleased));
    stage.asks(&stage.tea, &stage.mio, "two?");
    stage.posts(2).await;
    program.kill();
    stage.slack.release_hanging();
    let program = stage.start().await;
    stage.until_kept(SPOKE, 2).await;
    // Asked to stop while the model thinks.
    stage.model.then([Treatment::Never]);
    let before = stage.model.seen().len();
    stage.asks(&stage.attic, &stage.mio, "three?");
    stage.model.came(before + 1).await;
    let began = std::time::Instant::now();
    assert_eq!(program.stop(), Some(0));
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "it does not wait for a model");
    let program = stage.start().await;
    stage.until_kept(SPOKE, 3).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.slack.posts().len(), 3);
}

/// H13: the answer to a post is lost; the history shows that it was said.
#[tokio::test]
async fn h13_a_post_whose_answer_is_lost_is_said_once() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    for (fault, number) in [(Fault::ResetAfter, 1), (Fault::StatusAfter(502), 2)] {
        stage.slack.inject_fault("chat.postMessage", fault);
        stage.asks(&stage.tea, &stage.mio, "hello?");
        stage.until_kept(SPOKE, number).await;
        assert_eq!(stage.slack.posts().len() as i64, number);
    }
    // What is kept is what Slack has.
    let posts = stage.slack.posts();
    for post in posts {
        let kept = format!("SELECT count(*) FROM messages WHERE id = '{}'", post.ts);
        assert_eq!(stage.count(&kept).await, 1);
    }
    assert_eq!(program.stop(), Some(0));
}

/// H17: it waits as long as it is asked to, and other channels do not wait with it.
#[tokio::test]
async fn h17_a_busy_slack_is_given_time() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.slack.inject_fault("chat.postMessage", Fault::rate_limited(3));
    stage.asks(&stage.tea, &stage.mio, "one?");
    stage.until(|slack| slack.calls("chat.postMessage").len() == 1).await;
    stage.asks(&stage.attic, &stage.mio, "two?");
    let posts = stage.posts(2).await;
    assert_eq!([&posts[0].channel, &posts[1].channel], [&stage.attic, &stage.tea]);
    let calls = stage.slack.calls("chat.postMessage");
    assert_eq!(calls.len(), 3);
    assert!(calls[2].at.duration_since(calls[0].at) >= SignedDuration::from_secs(3));
    assert_eq!(program.stop(), Some(0));
}

/// H19: what Slack will never take is given up at once, and an operator sees it.
#[tokio::test]
async fn h19_what_is_refused_is_not_tried_again() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    let errors = ["channel_not_found", "is_archived", "msg_too_long", "restricted_action"];
    for (number, error) in (1..).zip(errors) {
        stage.slack.inject_fault("chat.postMessage", Fault::error(error));
        stage.asks(&stage.tea, &stage.mio, error);
        stage.until_kept("SELECT count(*) FROM dead_letters", number).await;
        assert_eq!(stage.slack.calls("chat.postMessage").len() as i64, number, "{error}");
    }
    let letters = program.get("/api/dead-letters").await.to_string();
    assert!(errors.iter().all(|error| letters.contains(error)), "{letters}");
    assert_eq!(program.stop(), Some(0));
}

/// H21: Slack says that it will close the connections; others are open before.
#[tokio::test]
async fn h21_there_is_always_a_connection() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    let opened = stage.slack.calls("apps.connections.open").len();
    stage.slack.reset_min_open();
    stage.slack.request_disconnect(DisconnectReason::Warning, AfterDisconnect::Stay);
    for number in 0..20 {
        stage.says(&stage.tea, &stage.mio, &format!("line {number}"));
    }
    stage.until(|slack| slack.calls("apps.connections.open").len() == opened + 2).await;
    stage.until(|slack| slack.connection_counts().open == 2).await;
    assert!(stage.slack.connection_counts().min_open >= 2, "{:?}", stage.slack.connection_counts());
    stage.until_kept("SELECT count(*) FROM messages", 20).await;
    // All are cut at once; what was said meanwhile comes again, or is read.
    stage.slack.reset_connections();
    stage.says(&stage.tea, &stage.mio, "after the cut");
    stage.until_kept("SELECT count(*) FROM messages", 21).await;
    stage.until(|slack| slack.connection_counts().open == 2).await;
    assert_eq!(program.stop(), Some(0));
}

/// H27: a gap of ten minutes, with an edit, deletions, and answers to a line that is older than what is read.
#[tokio::test]
async fn h27_what_was_said_meanwhile_is_read() {
    let stage = SlackHarness::new().await;
    let ago =
        |hours: i64| Some(Ts::from_timestamp(Timestamp::now() - SignedDuration::from_hours(hours)));
    let said = |ts, thread, text: &str| NewFakeMessage {
        ts,
        thread,
        ..NewFakeMessage::new(&stage.tea, &stage.mio, text)
    };
    let old = stage.slack.send_message_with(said(ago(200), None, "an old question")).unwrap();
    stage.slack.send_message_with(said(ago(100), Some(old), "an old answer")).unwrap();
    let typo = stage.slack.send_message_with(said(ago(3), None, "a tpyo")).unwrap();
    let slip = stage.slack.send_message_with(said(ago(2), None, "a slip of the tongue")).unwrap();
    let other = stage.slack.send_message_with(said(ago(1), Some(typo), "another slip")).unwrap();
    let setting = "SELECT count(*) FROM messages WHERE text = 'an old answer'";
    // It has been here for long: the old answer was read when the question was young.
    stage.history_of_days(30);
    let program = stage.start().await;
    stage.until_kept(setting, 1).await;
    assert_eq!(program.stop(), Some(0));
    stage.history_of_days(7);
    let unheard = |saying: NewFakeMessage| NewFakeMessage { is_delivered: false, ..saying };
    for number in 0..30 {
        let thread = (number % 3 == 0).then_some(old);
        let saying = NewFakeMessage::new(&stage.tea, &stage.ren, &format!("line {number}"));
        stage.slack.send_message_with(unheard(NewFakeMessage { thread, ..saying })).unwrap();
    }
    let mention = format!("<@{}> were you away?", stage.bot);
    stage
        .slack
        .send_message_with(unheard(NewFakeMessage::new(&stage.tea, &stage.mio, &mention)))
        .unwrap();
    stage.slack.edit_message(&stage.tea, typo, "a typo").unwrap();
    for gone in [slip, other] {
        stage.slack.delete_message(&stage.tea, gone).unwrap();
    }
    let program = stage.start().await;
    stage.posts(1).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'line %'", 30).await;
    stage.until_kept(&format!("SELECT count(*) FROM messages WHERE thread = '{old}'"), 11).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'a typo' AND edits = 1", 1).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 2).await;
    stage.until_kept(SPOKE, 1).await;
    // Only the mention is answered, by somebody who has read the rest.
    assert_eq!(stage.count("SELECT count(*) FROM decisions").await, 1);
    assert!(stage.prompt().contains("line 29") && !stage.prompt().contains("slip"));
    assert_eq!(program.stop(), Some(0));
    // Whoever has lost the database does not answer again what the history shows as answered.
    for file in ["room.db", "room.db-wal", "room.db-shm"] {
        let _ = std::fs::remove_file(stage.home.path().join(file));
    }
    let program = stage.start().await;
    // But for the answers to what is older than the days that are read.
    stage.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'line %'", 20).await;
    assert_eq!(stage.count("SELECT count(*) FROM owed").await, 0);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.slack.posts().len(), 1);
}

/// While it was away, the room was hidden, and somebody took a question back: neither is overlooked by what
/// falls due at the start.
#[tokio::test]
async fn nothing_is_said_before_what_was_missed_is_read() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.model.then([Treatment::Never]);
    let mention = format!("<@{}> where is the secret cellar?", stage.bot);
    let ts = Some(Ts::from_timestamp(Timestamp::now() - SignedDuration::from_mins(5)));
    let question = NewFakeMessage { ts, ..NewFakeMessage::new(&stage.tea, &stage.mio, &mention) };
    let question = stage.slack.send_message_with(question).unwrap();
    stage.model.came(1).await;
    program.kill();
    stage.slack.delete_message(&stage.tea, question).unwrap();
    stage.slack.make_private(&stage.tea, &stage.mio).unwrap();
    stage.slack.inject_fault("conversations.history", Fault::rate_limited(2));
    let program = stage.home.start();
    stage.until_kept("SELECT count(*) FROM owed WHERE closed_ms IS NULL", 0).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE visibility = 'public'", 0).await;
    assert_eq!(stage.model.seen().len(), 1, "nobody is asked any more");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.slack.posts(), []);
}

/// H33, H34: a wait and a delay go on where they were.
#[tokio::test]
async fn h33_a_wait_survives_a_kill() {
    let stage = SlackHarness::with(Setting { wait: 4.0, ..Setting::default() }).await;
    let program = stage.start().await;
    for number in 0..5 {
        stage.says(&stage.tea, &stage.mio, &format!("line {number}"));
    }
    stage.until_kept("SELECT count(*) FROM messages", 5).await;
    program.kill();
    let verdict = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9,
        "delay_seconds": 2}"#;
    stage.will_say(&[verdict, "Here I am."]);
    let program = stage.start().await;
    stage.model.came(1).await;
    let armed = "SELECT count(*) FROM steps WHERE verb = 'reply'";
    stage.until_kept(armed, 1).await;
    program.kill();
    let program = stage.start().await;
    assert_eq!(stage.posts(1).await[0].text, "Here I am.");
    stage.until_kept(SPOKE, 1).await;
    assert_eq!(stage.model.seen().len(), 2, "one verdict and one answer");
    assert_eq!(program.stop(), Some(0));
}

/// H37: what is no verdict is silence, and is not called a choice.
#[tokio::test]
async fn h37_a_judge_that_talks_nonsense_is_not_followed() {
    let stage = SlackHarness::with(Setting { wait: 0.2, ..Setting::default() }).await;
    let program = stage.start().await;
    let nonsense = ["".to_owned(), "no JSON".to_owned(), "x".repeat(1_000_000)];
    for (number, answer) in (1..).zip(nonsense) {
        let wrong = r#"{"should_respond": "maybe", "reason": 7}"#.to_owned();
        stage.model.then([Treatment::Says(answer), Treatment::Says(wrong)]);
        stage.says(&stage.tea, &stage.mio, &format!("line {number}"));
        stage.until_kept("SELECT count(*) FROM decisions WHERE ended = 'failed'", number).await;
        // Whatever else it was asked, it says what the next line waits for.
        stage.model.forget();
    }
    assert_eq!(stage.slack.posts(), []);
    let figures = program.request("/metrics").await.text().await.unwrap();
    let failed = figures.lines().find(|line| line.contains(r#"ended="failed""#));
    assert!(failed.is_some_and(|line| line.ends_with(" 3")), "{failed:?}");
    assert_eq!(program.stop(), Some(0));
}

/// H39: a reply that is too long comes in parts, in order, each once, also across a kill between them.
#[tokio::test]
async fn h39_a_long_reply_comes_in_parts() {
    let stage =
        SlackHarness::with(Setting { slack: "  settle_seconds: 16\n", ..Setting::default() }).await;
    let program = stage.start().await;
    let long: Vec<String> = (0..400).map(|number| format!("This is sentence {number}.")).collect();
    stage.will_say(&[&long.join(" ")]);
    stage.asks(&stage.tea, &stage.mio, "tell me everything");
    stage.posts(1).await;
    program.kill();
    let program = stage.start().await;
    stage.until_kept(SPOKE, 1).await;
    let posts = stage.slack.posts();
    assert!(posts.len() > 2 && posts.iter().all(|post| post.text.chars().count() <= 4_000));
    let all: Vec<&str> = posts.iter().map(|post| post.text.as_str()).collect();
    assert_eq!(all.join(" "), long.join(" "));
    assert_eq!(program.stop(), Some(0));
}

/// A new app's history comes 15 lines at a time. What is newest counts first: a mention is answered before
/// all is read.
#[tokio::test]
async fn a_capped_history_is_noticed_and_read_slowly() {
    let stage = SlackHarness::new().await;
    for number in 0..40 {
        stage.says(&stage.tea, &stage.mio, &format!("line {number}"));
    }
    let cap = HistoryCap { objects: 15, interval: SignedDuration::from_millis(100) };
    stage.slack.cap_history(Some(cap));
    let program = stage.home.start();
    stage.until_log("15 lines of history a minute").await;
    stage.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'line %'", 15).await;
    stage.asks(&stage.tea, &stage.mio, "can you hear me?");
    stage.posts(1).await;
    assert_eq!(stage.count("SELECT count(*) FROM messages WHERE text LIKE 'line %'").await, 15);
    assert_eq!(program.stop(), Some(0));
    // It is remembered that there is little; the pages come at their pace, and none is skipped.
    let before = stage.slack.calls("conversations.history").len();
    let program = stage.home.start();
    stage.until(|slack| slack.connection_counts().open >= 2).await;
    stage.asks(&stage.tea, &stage.mio, "and now?");
    stage.posts(2).await;
    assert_eq!(stage.slack.calls("conversations.history").len(), before, "not within a minute");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn where_it_may_not_be_it_says_why_and_ends() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    stage.slack.request_disconnect(DisconnectReason::LinkDisabled, AfterDisconnect::Stay);
    let last = stage.ends(program).await;
    assert!(last.contains("Socket Mode is switched off for the Slack app"), "{last}");
    let program = stage.start().await;
    stage.slack.uninstall();
    let last = stage.ends(program).await;
    assert!(last.contains("the Slack workspace has dismissed the app"), "{last}");
}

/// While Slack cannot be heard, whoever asks is told so.
#[tokio::test]
async fn it_is_not_ready_while_it_is_off_the_air() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    assert_eq!(program.request("/ready").await.status(), 200);
    stage.slack.inject_fault_times("apps.connections.open", &Fault::Status(503), 8);
    stage.slack.reset_connections();
    // The program notices a moment after Slack has.
    let told = stage.home.until_ready_is(&program, 503).await;
    assert!(told.contains("no connection to the Slack workspace"), "{told}");
    stage.slack.clear_faults();
    stage.home.until_ready_is(&program, 200).await;
    assert_eq!(program.stop(), Some(0));
}
