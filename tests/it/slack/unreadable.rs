//! Unreadable channels and messages do not delay the others.

use aizuchi_fakes::slack::channel::NewChannel;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;
use aizuchi_fakes::wire::LONE_SURROGATE;
use jiff::SignedDuration;
use serde_json::Value;

use crate::program::{TIMEOUT, next_poll};
use crate::slack::harness::SlackHarness;

/// The number of channels, one of which is unreadable.
const CHANNELS: usize = 20;

/// The fault of one channel after a gap.
enum Wrong {
    History(Fault),
    Message,
}

impl SlackHarness {
    fn send_undelivered(&self, channel: &str, text: &str) {
        let message = NewFakeMessage::new(channel, &self.mio, text);
        self.slack.send_message_with(NewFakeMessage { is_lost: true, ..message }).unwrap();
    }
}

/// Aizuchi was mentioned in 19 channels during a gap. After it has reconnected, the users get all answers before the
/// fault is fixed.
async fn answer_in_other_channels(wrong: Wrong) {
    let harness = SlackHarness::new().await;
    let more = (2..CHANNELS).map(|number| {
        let members = vec![harness.mio.clone(), harness.bot.clone()];
        let name = format!("channel-{number}");
        harness.slack.add_channel(NewChannel { name, members, ..NewChannel::default() }).unwrap()
    });
    let others: Vec<String> = more.chain([harness.attic.clone()]).collect();
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM bookmarks WHERE place GLOB 'C*'", 20).await;
    assert_eq!(program.stop(), Some(0));
    let mention = format!("<@{}> were you away?", harness.bot);
    others.iter().for_each(|channel| harness.send_undelivered(channel, &mention));
    harness.send_undelivered(&harness.tea, "the first line");
    let is_unreadable = match wrong {
        Wrong::History(fault) => {
            harness.slack.break_history(&harness.tea, fault);
            true
        }
        Wrong::Message => {
            harness.send_undelivered(&harness.tea, &format!("half {LONE_SURROGATE} a pair"));
            false
        }
    };
    harness.send_undelivered(&harness.tea, "the last line");
    let program = harness.home.start();
    let posts = harness.wait_for_posts(others.len()).await;
    let mut answered: Vec<_> = posts.into_iter().map(|post| post.channel).collect();
    answered.sort();
    let mut expected = others.clone();
    expected.sort();
    assert_eq!(answered, expected);
    if is_unreadable {
        // The log and, for trusted clients, `/ready` name the channel.
        let is_logged = async {
            while !harness.log().contains("the backfill of a channel failed") {
                // Hanging requests are ended now, as their timeout would do later.
                harness.slack.release_hanging();
                next_poll().await;
            }
        };
        let in_time = tokio::time::timeout(TIMEOUT, is_logged).await;
        assert!(in_time.is_ok(), "{}", harness.log());
        let is_alone = |ready: &Value| ready["catching_up"][0]["behind"]["count"] == 1;
        let ready = program.until("/ready", is_alone).await;
        assert_eq!(ready["catching_up"][0]["behind"]["channels"][0], harness.tea.as_str());
        harness.slack.clear_faults();
    }
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'the % line'", 2).await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_channel_whose_history_fails_keeps_no_other_waiting() {
    answer_in_other_channels(Wrong::History(Fault::Status(500))).await;
}

#[tokio::test]
async fn a_channel_whose_history_is_no_json_keeps_no_other_waiting() {
    answer_in_other_channels(Wrong::History(Fault::Garbage)).await;
}

#[tokio::test]
async fn a_channel_whose_history_hangs_keeps_no_other_waiting() {
    // The request hangs until it is released, and is then reset; it is never executed.
    let after = SignedDuration::from_hours(1);
    let hang = Fault::CommitLater { after, status: None };
    answer_in_other_channels(Wrong::History(hang)).await;
}

/// Slack accepts the cursor of a next page only for some time. The history is read again from its first page.
#[tokio::test]
async fn a_channel_whose_history_has_lost_its_place_is_read_again() {
    answer_in_other_channels(Wrong::History(Fault::error("invalid_cursor"))).await;
}

/// The page is read, including the message.
#[tokio::test]
async fn a_message_with_half_a_surrogate_pair_hides_nothing() {
    answer_in_other_channels(Wrong::Message).await;
}

/// A live message of this kind is heard and acknowledged like any other.
#[tokio::test]
async fn a_live_message_with_half_a_surrogate_pair_is_heard() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let text = format!("are you {LONE_SURROGATE} there?");
    harness.post_mention(&harness.tea, &harness.mio, &text);
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%\u{fffd} there?'", 1).await;
    assert_eq!(program.stop(), Some(0));
}
