//! A command whose event never arrives: the history delivers it after startup, seconds after it was written.

use aizuchi_fakes::slack::message::NewFakeMessage;

use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn a_command_that_only_the_history_brings_is_carried_out_if_it_is_recent() {
    let harness = SlackHarness::new().await;
    let text = format!("<@{}> mute 2h", harness.bot);
    let mute = NewFakeMessage::new(&harness.tea, &harness.mio, &text);
    harness.slack.send_message_with(NewFakeMessage { is_delivered: false, ..mute }).unwrap();
    let program = harness.start().await;
    let told = harness.wait_for_posts(1).await.remove(0).text;
    assert!(told.starts_with("I’ll stay silent here until"), "{told}");
    assert_eq!(harness.count("SELECT count(*) FROM mutes").await, 1);
    assert_eq!(program.stop(), Some(0));
}
