//! A command given while no session is open: the history delivers it after startup, seconds after it was written.

use crate::discord::harness::DiscordHarness;

#[tokio::test]
async fn a_command_that_only_the_history_brings_is_carried_out_if_it_is_recent() {
    let harness = DiscordHarness::new().await;
    harness.asks(harness.tea, harness.mio, "mute 2h");
    let program = harness.start().await;
    let told = harness.posts(1).await.remove(0).text;
    assert!(told.starts_with("I’ll stay silent here until"), "{told}");
    assert_eq!(harness.count("SELECT count(*) FROM mutes").await, 1);
    assert_eq!(program.stop(), Some(0));
}
