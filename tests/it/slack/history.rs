//! The backfill: which parts of the history are read, and how often.

use std::collections::BTreeSet;

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::FakeSlackSettings;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::program::TIMEOUT;
use crate::slack::harness::{SlackHarness, SlackOptions};

impl SlackHarness {
    /// Adds a message from `hours` ago, at the top level or in a thread.
    fn add_old_message(&self, hours: i64, thread: Option<Ts>, text: &str) -> Ts {
        let ts = Some(Ts::from_timestamp(Timestamp::now() - SignedDuration::from_hours(hours)));
        let new_message =
            NewFakeMessage { ts, thread, ..NewFakeMessage::new(&self.tea, &self.mio, text) };
        self.slack.send_message_with(new_message).unwrap()
    }

    /// Posts a message in a thread without delivering its event.
    fn post_undelivered(&self, thread: Ts, text: &str) {
        let thread = Some(thread);
        let new_message =
            NewFakeMessage { thread, ..NewFakeMessage::new(&self.tea, &self.ren, text) };
        self.slack.send_message_with(NewFakeMessage { is_lost: true, ..new_message }).unwrap();
    }

    /// Returns the threads that the program has read after the first `since` calls.
    fn threads_read(&self, since: usize) -> BTreeSet<String> {
        let calls = self.slack.calls("conversations.replies").split_off(since);
        calls.iter().map(|call| call.arguments["ts"].as_str().unwrap().to_owned()).collect()
    }
}

/// After a gap, a call is made for each thread that may have changed, and not for each thread.
#[tokio::test]
async fn only_threads_that_may_have_changed_are_read_again() {
    let harness = SlackHarness::new().await;
    let names = ["quiet", "lively", "thinned", "emptied"];
    let threads = names.map(|name| {
        let parent = harness.add_old_message(60, None, name);
        (
            parent,
            harness.add_old_message(50, Some(parent), name),
            harness.add_old_message(49, Some(parent), name),
        )
    });
    let [quiet, lively, thinned, emptied] = threads;
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages", 12).await;
    assert_eq!(harness.threads_read(0).len(), 4);
    assert_eq!(program.stop(), Some(0));

    let before = harness.slack.calls("conversations.replies").len();
    harness.post_undelivered(lively.0, "what was missed");
    for gone in [thinned.1, emptied.1, emptied.2] {
        harness.slack.delete_message(&harness.tea, gone).unwrap();
    }
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'what was missed'", 1).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 3).await;
    assert_eq!(program.stop(), Some(0));
    let read = harness.threads_read(before);
    let changed = [lively.0, thinned.0, emptied.0].map(|thread| thread.to_string());
    assert!(changed.iter().all(|thread| read.contains(thread)), "{read:?}");
    assert!(!read.contains(&quiet.0.to_string()), "{read:?}");
    // After another start, only the thread with a recent reply is read.
    let before = harness.slack.calls("conversations.replies").len();
    let program = harness.start().await;
    harness.wait_until(|slack| slack.calls("conversations.replies").len() > before).await;
    harness.until_log("backfilled all channels").await;
    harness.post_mention(&harness.tea, &harness.mio, "are you back?");
    harness.wait_for_posts(1).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.threads_read(before), BTreeSet::from([lively.0.to_string()]));
}

/// `/ready` and the page show the progress of the backfill.
#[tokio::test]
async fn backfill_progress_is_shown() {
    let more = "language: ja\n";
    let harness = SlackHarness::with(SlackOptions { more, ..SlackOptions::default() }).await;
    let parent = harness.add_old_message(2, None, "what do roses need?");
    harness.add_old_message(1, Some(parent), "straw");
    // The order of the two channels is not fixed; either way one of them stays unread.
    harness.slack.inject_fault("conversations.replies", Fault::HangBefore(Hang::UntilReleased));
    let program = harness.home.start();
    // The lists of channels are fetched before the list of groups.
    let is_called = |method: &str| !harness.slack.calls(method).is_empty();
    harness
        .wait_until(|_| is_called("conversations.replies") && is_called("usergroups.list"))
        .await;
    let page = async || program.request("/").await.text().await.unwrap();
    let progress = async || program.get("/ready").await["catching_up"][0].clone();
    // The other channel may be read between the two requests, in which case the page reports one more.
    let both_tell_the_same = async {
        loop {
            let status = progress().await;
            let sentence = status["told"].as_str().unwrap_or_default().to_owned();
            if page().await.contains(&sentence) && progress().await == status {
                return (status, sentence);
            }
        }
    };
    let (status, sentence) = tokio::time::timeout(TIMEOUT, both_tell_the_same).await.unwrap();
    assert!(
        status["platform"] == "Slack" && status["channels"] == 2 && status["threads"] == 0,
        "{status}"
    );
    assert!(status["read"].as_u64() < Some(2), "{status}");
    assert!(sentence.starts_with("Slack: 不在中の発言を、2 チャンネル中"), "{sentence}");
    harness.slack.release_hanging();
    for channel in [&harness.tea, &harness.attic] {
        let read = format!("SELECT count(*) FROM bookmarks WHERE place = '{channel}'");
        harness.until_kept(&read, 1).await;
    }
    let status = progress().await;
    assert!(status["read"] == 2 && status["threads"] == 1, "{status}");
    assert!(!page().await.contains("catching-up"));
    assert_eq!(program.stop(), Some(0));
}

/// A channel of unknown membership is not waited for.
#[tokio::test]
async fn a_channel_with_unknown_membership_does_not_block_the_backfill() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    assert_eq!(program.stop(), Some(0));
    harness.slack.leave_channel(&harness.attic, &harness.bot).unwrap();
    harness.slack.inject_fault_times("conversations.info", &Fault::error("missing_scope"), 100);
    let program = harness.home.start();
    let is_all_read = |ready: &Value| {
        let status = &ready["catching_up"][0];
        status["read"] == 1 && status["channels"] == 1
    };
    program.until("/ready", is_all_read).await;
    assert_eq!(program.stop(), Some(0));
}

/// Slack's clock is behind, so an edit right after the backfill has an earlier time than the backfill.
#[tokio::test]
async fn an_edit_right_after_the_backfill_is_heard_though_our_clock_is_ahead() {
    // Events during a gap are not redelivered.
    let team = FakeSlackSettings { retry_delays: Vec::new(), ..FakeSlackSettings::default() };
    let harness = SlackHarness::with(SlackOptions { team, ..SlackOptions::default() }).await;
    harness.slack.set_time(Timestamp::now() - SignedDuration::from_mins(1));
    let message = harness.post_message(&harness.tea, &harness.mio, "a tpyo");
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'a tpyo'", 1).await;
    assert_eq!(program.stop(), Some(0));
    harness.slack.edit_message(&harness.tea, message, "a tyop").unwrap();
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'a tyop'", 1).await;
    harness.slack.edit_message(&harness.tea, message, "a typo").unwrap();
    harness.until_kept("SELECT count(*) FROM messages WHERE text = 'a typo'", 1).await;
    assert_eq!(program.stop(), Some(0));
}
