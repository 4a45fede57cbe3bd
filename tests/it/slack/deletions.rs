//! Deletions during a gap, in any number.

use aizuchi_fakes::alteration::Alteration;
use aizuchi_fakes::slack::FakeSlackSettings;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::slack::harness::{SlackHarness, SlackOptions};

const MESSAGES: &str = "SELECT count(*) FROM messages WHERE text LIKE 'message %'";
const DELETED: &str = "SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL";

impl SlackHarness {
    /// Posts messages, starting this many hours ago, one per second.
    fn post_series(&self, hours: i64, count: i64, thread: Option<Ts>) -> Vec<Ts> {
        let began = Timestamp::now() - SignedDuration::from_hours(hours);
        let messages = (0..count).map(|number| {
            let text = format!("message {number}");
            let ts = Some(Ts::from_timestamp(began + SignedDuration::from_secs(number)));
            let message = NewFakeMessage::new(&self.tea, &self.mio, &text);
            let message = NewFakeMessage { ts, thread, is_lost: true, ..message };
            self.slack.send_message_with(message).unwrap()
        });
        messages.collect()
    }
}

/// A moderator has purged a channel and a thread.
#[tokio::test]
async fn any_number_of_deletions_is_honored() {
    // Events during a gap are not redelivered.
    let team = FakeSlackSettings { retry_delays: Vec::new(), ..FakeSlackSettings::default() };
    let harness = SlackHarness::with(SlackOptions { team, ..SlackOptions::default() }).await;
    let messages = harness.post_series(3, 160, None);
    let replies = harness.post_series(2, 120, Some(messages[0]));
    let program = harness.start().await;
    harness.until_kept(MESSAGES, 280).await;
    assert_eq!(program.stop(), Some(0));
    for purged in messages[10..].iter().chain(&replies[5..]) {
        harness.slack.delete_message(&harness.tea, *purged).unwrap();
    }
    let program = harness.start().await;
    harness.until_kept(DELETED, 265).await;
    assert_eq!(harness.count(MESSAGES).await, 15, "a deleted message has no text");
    program.until("/ready", |ready| ready["catching_up"][0]["deletions"]["count"] == 0).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts(), []);
}

/// Slack's history may be empty by mistake. If it really is empty, no message has a permalink either.
#[tokio::test]
async fn an_empty_history_is_checked_against_the_permalinks() {
    let team = FakeSlackSettings { retry_delays: Vec::new(), ..FakeSlackSettings::default() };
    let harness = SlackHarness::with(SlackOptions { team, ..SlackOptions::default() }).await;
    let messages = harness.post_series(3, 40, None);
    let program = harness.start().await;
    harness.until_kept(MESSAGES, 40).await;
    assert_eq!(program.stop(), Some(0));
    let nothing = Alteration { pointer: "/messages".to_owned(), value: Some(json!([])) };
    harness.slack.break_history(&harness.tea, Fault::Altered(nothing));
    let program = harness.start().await;
    harness.wait_until(|slack| !slack.calls("chat.getPermalink").is_empty()).await;
    harness.home.until_log("kept them").await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.count(MESSAGES).await, 40);
    harness.slack.clear_faults();
    for purged in messages {
        harness.slack.delete_message(&harness.tea, purged).unwrap();
    }
    let program = harness.start().await;
    harness.until_kept(DELETED, 40).await;
    assert_eq!(harness.count(MESSAGES).await, 0);
    assert_eq!(program.stop(), Some(0));
}

/// Slack may fail to find a thread by mistake. Its few replies are gone only if they have no permalinks either.
#[tokio::test]
async fn a_thread_that_is_not_found_is_checked_against_the_permalinks() {
    let team = FakeSlackSettings { retry_delays: Vec::new(), ..FakeSlackSettings::default() };
    let harness = SlackHarness::with(SlackOptions { team, ..SlackOptions::default() }).await;
    let parent = harness.post_series(3, 1, None)[0];
    let replies = harness.post_series(0, 2, Some(parent));
    let program = harness.start().await;
    harness.until_kept(MESSAGES, 3).await;
    assert_eq!(program.stop(), Some(0));
    let not_found = Fault::error("thread_not_found");
    harness.slack.inject_fault_times("conversations.replies", &not_found, 10);
    let program = harness.start().await;
    harness.home.until_log("kept them").await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.count(DELETED).await, 0);
    harness.slack.clear_faults();
    for purged in replies.into_iter().chain([parent]) {
        harness.slack.delete_message(&harness.tea, purged).unwrap();
    }
    let program = harness.start().await;
    harness.until_kept(DELETED, 3).await;
    assert_eq!(program.stop(), Some(0));
}
