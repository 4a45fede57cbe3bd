//! Unreadable channels and messages do not delay the others.

use aizuchi_fakes::alteration::Alteration;
use aizuchi_fakes::discord::channel::NewChannelKind;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::id::ChannelId;
use aizuchi_fakes::wire::LONE_SURROGATE;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::discord::harness::DiscordHarness;
use crate::program::{TIMEOUT, next_poll};

/// The number of channels, one of which is unreadable.
const CHANNELS: usize = 20;

/// The fault of one channel after a gap.
enum Wrong {
    History(Fault),
    Message,
}

/// Aizuchi was mentioned in 19 channels during a gap. After it has reconnected, the users get all answers before the
/// fault is fixed.
async fn answer_in_other_channels(wrong: Wrong) {
    let harness = DiscordHarness::new().await;
    let more = (2..CHANNELS)
        .map(|number| harness.add_channel(&format!("channel-{number}"), NewChannelKind::default()));
    let others: Vec<ChannelId> = more.chain([harness.attic]).collect();
    let program = harness.start().await;
    let places: Vec<String> = others.iter().map(|channel| format!("'{channel}'")).collect();
    let places = places.join(", ");
    let read = format!("SELECT count(*) FROM bookmarks WHERE place IN ({places})");
    harness.until_kept(&read, 19).await;
    assert_eq!(program.stop(), Some(0));
    harness.until(|discord| discord.connection_count() == 0).await;
    harness.discord.expire_sessions();
    for channel in &others {
        harness.asks(*channel, harness.mio, "were you away?");
    }
    harness.says(harness.tea, harness.mio, "the first line");
    let is_unreadable = match wrong {
        Wrong::History(fault) => {
            harness.discord.break_history(harness.tea, fault);
            true
        }
        Wrong::Message => {
            let text = format!("half {LONE_SURROGATE} a pair");
            harness.says(harness.tea, harness.mio, &text);
            false
        }
    };
    harness.says(harness.tea, harness.mio, "the last line");
    let program = harness.home.start();
    let posts = harness.posts(others.len()).await;
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
                harness.discord.release_hanging();
                next_poll().await;
            }
        };
        let in_time = tokio::time::timeout(TIMEOUT, is_logged).await;
        assert!(in_time.is_ok(), "{}", harness.log());
        let is_alone = |ready: &Value| ready["catching_up"][0]["behind"]["count"] == 1;
        let ready = program.until("/ready", is_alone).await;
        assert_eq!(ready["catching_up"][0]["behind"]["channels"][0], harness.tea.to_string());
        harness.discord.clear_faults();
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

/// The same full page is returned again and again.
#[tokio::test]
async fn a_channel_whose_history_has_no_end_keeps_no_other_waiting() {
    let page = json!(vec![json!({"id": "1", "author": {}}); 100]);
    let endless = Alteration { pointer: String::new(), value: Some(page) };
    answer_in_other_channels(Wrong::History(Fault::Altered(endless))).await;
}

/// The page is read, including the message.
#[tokio::test]
async fn a_message_with_half_a_surrogate_pair_hides_nothing() {
    answer_in_other_channels(Wrong::Message).await;
}

/// A live message of this kind is heard like any other.
#[tokio::test]
async fn a_live_message_with_half_a_surrogate_pair_is_heard() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let text = format!("are you {LONE_SURROGATE} there?");
    harness.asks(harness.tea, harness.mio, &text);
    harness.posts(1).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%\u{fffd} there?'", 1).await;
    assert_eq!(program.stop(), Some(0));
}
