//! Channels and messages that cannot be read keep nobody waiting.

use std::time::{Duration, Instant};

use aizuchi_fakes::discord::channel::NewChannelKind;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::id::ChannelId;
use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::wire::LONE_SURROGATE;

use crate::discord::harness::DiscordHarness;

/// How many channels there are, one of which cannot be read.
const CHANNELS: usize = 20;

/// What was wrong with one channel while Aizuchi came back.
#[derive(Clone)]
enum Wrong {
    Nothing,
    History(Fault),
    Message,
}

/// Aizuchi was mentioned in 19 channels while it was away. Returns how long the users wait for all answers after it has
/// come back. Nothing is mended before they have them.
async fn answer_in_other_channels(wrong: Wrong) -> Duration {
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
        Wrong::Nothing => false,
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
    let began = Instant::now();
    let program = harness.home.start();
    let posts = harness.posts(others.len()).await;
    let waited = began.elapsed();
    let mut answered: Vec<_> = posts.into_iter().map(|post| post.channel).collect();
    answered.sort();
    let mut expected = others.clone();
    expected.sort();
    assert_eq!(answered, expected);
    if is_unreadable {
        // The log and those who are trusted learn which channel it is.
        harness.until_log("the backfill of a channel failed").await;
        let behind = async || program.get("/ready").await["catching_up"][0]["behind"].clone();
        while behind().await["count"] != 1 {
            tokio::task::yield_now().await;
        }
        assert_eq!(behind().await["channels"][0], harness.tea.to_string());
        harness.discord.clear_faults();
    }
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'the % line'", 2).await;
    assert_eq!(program.stop(), Some(0));
    waited
}

/// Prints how long the users wait with and without it: medians of as many pairs as the variable `ROUNDS` says.
async fn compare(name: &str, wrong: Wrong) {
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(answer_in_other_channels(Wrong::Nothing).await);
        with.push(answer_in_other_channels(wrong.clone()).await);
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (with, without) = (median(&mut with), median(&mut without));
    let ratio = with.as_secs_f64() / without.as_secs_f64();
    println!("discord, {name}: 19 answers after {with:.2?}, {without:.2?} without: {ratio:.2}");
}

#[tokio::test]
async fn a_channel_whose_history_fails_keeps_no_other_waiting() {
    compare("status 500", Wrong::History(Fault::Status(500))).await;
}

#[tokio::test]
async fn a_channel_whose_history_is_no_json_keeps_no_other_waiting() {
    compare("HTML", Wrong::History(Fault::Garbage)).await;
}

#[tokio::test]
async fn a_channel_whose_history_hangs_keeps_no_other_waiting() {
    compare("hang", Wrong::History(Fault::HangBefore(Hang::UntilReleased))).await;
}

/// The page is read, and the message with it.
#[tokio::test]
async fn a_message_with_half_a_surrogate_pair_hides_nothing() {
    compare("lone surrogate", Wrong::Message).await;
}

/// Live, such a message is heard like any other.
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
