//! What is read of the past, and how often.

use std::collections::BTreeSet;
use std::time::Duration;

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::slack::ts::Ts;
use jiff::{SignedDuration, Timestamp};

use crate::slack::harness::{Setting, SlackHarness};

impl SlackHarness {
    /// Somebody has said something so many hours ago, here or in a thread.
    fn said(&self, hours: i64, thread: Option<Ts>, text: &str) -> Ts {
        let ts = Some(Ts::from_timestamp(Timestamp::now() - SignedDuration::from_hours(hours)));
        let saying =
            NewFakeMessage { ts, thread, ..NewFakeMessage::new(&self.tea, &self.mio, text) };
        self.slack.send_message_with(saying).unwrap()
    }

    /// Somebody says something in a thread that nobody is told of.
    fn says_unheard(&self, thread: Ts, text: &str) {
        let thread = Some(thread);
        let saying = NewFakeMessage { thread, ..NewFakeMessage::new(&self.tea, &self.ren, text) };
        self.slack.send_message_with(NewFakeMessage { is_delivered: false, ..saying }).unwrap();
    }

    /// The threads that it has asked for since so many calls.
    fn threads_read(&self, since: usize) -> BTreeSet<String> {
        let calls = self.slack.calls("conversations.replies").split_off(since);
        calls.iter().map(|call| call.arguments["ts"].as_str().unwrap().to_owned()).collect()
    }
}

/// After a gap, a channel has as many calls as threads in which something may have changed, and not as it has
/// threads.
#[tokio::test]
async fn only_threads_that_may_have_changed_are_read_again() {
    let stage = SlackHarness::new().await;
    let names = ["quiet", "lively", "thinned", "emptied"];
    let threads = names.map(|name| {
        let parent = stage.said(60, None, name);
        (parent, stage.said(50, Some(parent), name), stage.said(49, Some(parent), name))
    });
    let [quiet, lively, thinned, emptied] = threads;
    let program = stage.start().await;
    stage.until_kept("SELECT count(*) FROM messages", 12).await;
    assert_eq!(stage.threads_read(0).len(), 4);
    assert_eq!(program.stop(), Some(0));

    let before = stage.slack.calls("conversations.replies").len();
    stage.says_unheard(lively.0, "what was missed");
    for gone in [thinned.1, emptied.1, emptied.2] {
        stage.slack.delete_message(&stage.tea, gone).unwrap();
    }
    let program = stage.start().await;
    stage.until_kept("SELECT count(*) FROM messages WHERE text = 'what was missed'", 1).await;
    stage.until_kept("SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL", 3).await;
    assert_eq!(program.stop(), Some(0));
    let read = stage.threads_read(before);
    let changed = [lively.0, thinned.0, emptied.0].map(|thread| thread.to_string());
    assert!(changed.iter().all(|thread| read.contains(thread)), "{read:?}");
    assert!(!read.contains(&quiet.0.to_string()), "{read:?}");
    // Once more, and nothing has changed but what is young.
    let before = stage.slack.calls("conversations.replies").len();
    let pages = stage.slack.calls("conversations.history").len();
    let program = stage.start().await;
    stage.until(|slack| slack.calls("conversations.history").len() >= pages + 2).await;
    stage.asks(&stage.tea, &stage.mio, "are you back?");
    stage.posts(1).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(stage.threads_read(before), BTreeSet::from([lively.0.to_string()]));
}

/// What it missed is being read, and whoever looks sees how far it is.
#[tokio::test]
async fn how_far_it_has_caught_up_is_told() {
    let more = "language: ja\n";
    let stage = SlackHarness::with(Setting { more, ..Setting::default() }).await;
    let parent = stage.said(2, None, "what do roses need?");
    stage.said(1, Some(parent), "straw");
    // The other channel comes first or second; either way one of the two is not read.
    stage.slack.inject_fault("conversations.replies", Fault::HangBefore(Hang::UntilReleased));
    let program = stage.home.start();
    // All lists of channels are read before that of groups.
    let is_begun = |method: &str| !stage.slack.calls(method).is_empty();
    stage.until(|_| is_begun("conversations.replies") && is_begun("usergroups.list")).await;
    let page = async || program.request("/").await.text().await.unwrap();
    let progress = async || program.get("/ready").await["catching_up"][0].clone();
    let told = progress().await;
    assert!(told["platform"] == "Slack" && told["channels"] == 2 && told["threads"] == 0, "{told}");
    assert!(told["read"].as_u64() < Some(2), "{told}");
    let sentence = told["told"].as_str().unwrap().to_owned();
    assert!(sentence.starts_with("Slack: 不在中の発言を、2 チャンネル中"), "{sentence}");
    assert!(page().await.contains(&sentence));
    stage.slack.release_hanging();
    for channel in [&stage.tea, &stage.attic] {
        let read = format!("SELECT count(*) FROM bookmarks WHERE place = '{channel}'");
        stage.until_kept(&read, 1).await;
    }
    let told = progress().await;
    assert!(told["read"] == 2 && told["threads"] == 1, "{told}");
    assert!(!page().await.contains("catching-up"));
    assert_eq!(program.stop(), Some(0));
}

/// A room that says neither that we are in it nor that we are not is not waited for.
#[tokio::test]
async fn a_room_that_tells_nothing_of_itself_is_not_left_for_ever() {
    let stage = SlackHarness::new().await;
    let program = stage.start().await;
    assert_eq!(program.stop(), Some(0));
    stage.slack.leave_channel(&stage.attic, &stage.bot).unwrap();
    stage.slack.inject_fault_times("conversations.info", &Fault::error("missing_scope"), 100);
    let program = stage.home.start();
    let all_is_read = async {
        loop {
            let told = program.get("/ready").await["catching_up"][0].clone();
            if told["read"] == 1 && told["channels"] == 1 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all_is_read).await.unwrap();
    assert_eq!(program.stop(), Some(0));
}
