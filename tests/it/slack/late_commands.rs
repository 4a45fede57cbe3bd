//! Commands around a start: one whose event never arrives, which the history delivers seconds after it was written, and
//! one that comes before the lists of channels.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::fault::Fault;
use aizuchi_fakes::slack::message::NewFakeMessage;

use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn a_command_that_only_the_history_brings_is_carried_out_if_it_is_recent() {
    let harness = SlackHarness::new().await;
    let text = format!("<@{}> mute 2h", harness.bot);
    let mute = NewFakeMessage::new(&harness.tea, &harness.mio, &text);
    harness.slack.send_message_with(NewFakeMessage { is_lost: true, ..mute }).unwrap();
    let program = harness.start().await;
    let told = harness.wait_for_posts(1).await.remove(0).text;
    assert!(told.starts_with("I’ll stay silent here until"), "{told}");
    assert_eq!(harness.count("SELECT count(*) FROM mutes").await, 1);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_slash_command_before_the_lists_of_channels_is_carried_out() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    assert_eq!(program.stop(), Some(0));
    command_before_the_lists(&harness).await;
}

/// The first process knows no channel at all.
#[tokio::test]
async fn a_slash_command_right_after_the_first_start_is_carried_out() {
    command_before_the_lists(&SlackHarness::new().await).await;
}

async fn command_before_the_lists(harness: &SlackHarness) {
    harness.slack.inject_fault("users.conversations", Fault::HangBefore(Hang::UntilReleased));
    let program = harness.home.start();
    harness.wait_until(|slack| slack.connection_counts().open >= 2).await;
    harness.slack.run_command(&harness.tea, &harness.mio, "/aizuchi", "mute 2h").unwrap();
    harness.until_kept("SELECT count(*) FROM mutes", 1).await;
    harness.slack.release_hanging();
    assert_eq!(program.stop(), Some(0));
}
