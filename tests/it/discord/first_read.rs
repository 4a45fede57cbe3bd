//! What the program reads when it comes to a server for the first time.

use aizuchi_fakes::discord::channel::NewChannelKind;

use crate::discord::harness::DiscordHarness;

/// The first channel is read while the others are still being heard.
#[tokio::test]
async fn the_threads_of_a_new_server_are_read() {
    let harness = DiscordHarness::new().await;
    let parent = harness.says(harness.tea, harness.mio, "what do roses need?");
    let thread = harness.opens_thread(harness.tea, parent);
    harness.says(thread, harness.ren, "much sun");
    for number in 0..60 {
        harness.add_channel(&format!("channel-{number}"), NewChannelKind::default());
    }
    let program = harness.start().await;
    harness.until_line("much sun").await;
    assert_eq!(program.stop(), Some(0));
}
