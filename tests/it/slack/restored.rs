//! A backup is made while users post, and restored after more messages were posted and answered.

use std::process::Stdio;
use std::time::{Duration, Instant};

use aizuchi_harness::providers::ProviderResponse;

use crate::slack::harness::SlackHarness;

/// The interval between two messages: 100 per second.
const PACE: Duration = Duration::from_millis(10);
/// Every tenth message is a mention.
const MENTION_EVERY: usize = 10;
/// The number of messages before the backup starts.
const MESSAGES: usize = 200;

const OWED: &str = "SELECT count(*) FROM owed WHERE closed_ms IS NULL";
const HUMAN: &str = "SELECT count(*) FROM messages WHERE author_kind = 'human'";
const ANSWERED: &str =
    "SELECT count(*) FROM decisions WHERE ended = 'dropped' AND why LIKE '%history shows%'";

#[tokio::test]
async fn nothing_is_lost_and_nothing_answered_twice_after_a_restore() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let mut sent = 0;
    let mut send = |count: usize| {
        for _ in 0..count {
            let channel = if sent % 2 == 0 { &harness.tea } else { &harness.attic };
            if sent % MENTION_EVERY == 0 {
                harness.post_mention(channel, &harness.mio, &format!("what is {sent}?"));
            } else {
                harness.post_message(channel, &harness.ren, &format!("this is {sent}"));
            }
            sent += 1;
        }
        sent
    };
    send(MESSAGES);
    let file = harness.home.path().join("backup.db");
    let mut backup = std::process::Command::new(env!("CARGO_BIN_EXE_aizuchi"));
    backup.arg("--config").arg(harness.config()).arg("backup").arg(&file);
    let mut backup = backup.stdout(Stdio::null()).spawn().unwrap();
    // Users keep posting while the backup is made.
    let mut next = Instant::now();
    let ended = loop {
        if let Some(ended) = backup.try_wait().unwrap() {
            break ended;
        }
        if Instant::now() >= next {
            send(1);
            next += PACE;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    assert!(ended.success());
    // More than a prompt shows of a channel.
    let sent = send(3 * MESSAGES);
    harness.until_kept(HUMAN, sent as i64).await;
    harness.until_kept(OWED, 0).await;
    assert_eq!(program.stop(), Some(0));
    let posts = harness.slack.posts().len();
    // Another machine has none of the old database's files.
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", harness.database().display()));
    }
    crate::command::aizuchi()
        .arg("--config")
        .arg(harness.config())
        .args(["restore", file.to_str().unwrap()])
        .assert()
        .success();
    assert!(harness.count(HUMAN).await < sent as i64, "something was said after the backup");
    let program = harness.start().await;
    harness.until_kept(HUMAN, sent as i64).await;
    harness.until_kept(OWED, 0).await;
    assert!(harness.count(ANSWERED).await >= 1, "{}", harness.log());
    // It answers new questions again.
    harness.post_mention(&harness.tea, &harness.mio, "and now?");
    harness.wait_for_posts(posts + 1).await;
    harness.until_kept(OWED, 0).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), posts + 1);
}

/// An answer was in progress when the backup was made.
#[tokio::test]
async fn an_answer_that_the_backup_has_not_seen_is_not_given_again() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.model.then([ProviderResponse::Held("On the hook by the door.".to_owned())]);
    harness.post_mention(&harness.tea, &harness.mio, "where is the key?");
    harness.model.came(1).await;
    let file = harness.home.path().join("backup.db");
    let run = |arguments: &[&str]| {
        let mut command = crate::command::aizuchi();
        command.arg("--config").arg(harness.config()).args(arguments).assert().success();
    };
    run(&["backup", file.to_str().unwrap()]);
    harness.model.release();
    harness.wait_for_posts(1).await;
    harness.until_kept(OWED, 0).await;
    assert_eq!(program.stop(), Some(0));
    run(&["restore", file.to_str().unwrap(), "--replace"]);
    assert_eq!(harness.count(OWED).await, 1);
    let program = harness.start().await;
    harness.until_kept(OWED, 0).await;
    assert_eq!(harness.count(ANSWERED).await, 1);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 1);
}

/// Asked in a thread and by a command, and answered after the backup, with an order that was given before it.
#[tokio::test]
async fn threads_commands_and_orders_are_as_they_were_left() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let file = harness.home.path().join("backup.db");
    let run = |arguments: &[&str]| {
        let mut command = crate::command::aizuchi();
        command.arg("--config").arg(harness.config()).args(arguments).assert().success();
    };
    harness.post_mention(&harness.attic, &harness.ren, "mute for 1 hour");
    harness.wait_for_posts(1).await;
    harness.until_kept(OWED, 0).await;
    run(&["backup", file.to_str().unwrap()]);
    let parent = harness.post_message(&harness.tea, &harness.ren, "the pump drips");
    let question = format!("<@{}> since when?", harness.bot);
    harness.post_in_thread(&harness.tea, parent, &harness.mio, &question);
    harness.wait_for_posts(2).await;
    harness.post_mention(&harness.attic, &harness.ren, "unmute");
    harness.wait_for_posts(3).await;
    harness.until_kept(OWED, 0).await;
    assert_eq!(program.stop(), Some(0));
    run(&["restore", file.to_str().unwrap(), "--replace"]);
    assert_eq!(harness.count("SELECT count(*) FROM mutes").await, 0);
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%since when%'", 1).await;
    harness.until_kept(OWED, 0).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 3, "{:?}", harness.slack.posts());
}
