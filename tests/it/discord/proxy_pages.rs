//! Error pages of a proxy between the program and Discord.

use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;

use crate::discord::harness::DiscordHarness;

/// A proxy answers “not found” for a while. Discord has not said that a channel or a message is gone.
#[tokio::test]
async fn what_a_proxy_does_not_find_is_not_deleted() {
    let harness = DiscordHarness::new().await;
    for text in ["the first line", "the second line"] {
        harness.says(harness.tea, harness.mio, text);
    }
    let program = harness.start().await;
    harness.until_line("the second line").await;
    assert_eq!(program.stop(), Some(0));
    harness.until(|discord| discord.connection_count() == 0).await;
    harness.discord.expire_sessions();
    harness.says(harness.tea, harness.mio, "the third line");
    harness.discord.break_history(harness.tea, Fault::Status(404));
    harness.discord.inject_fault_times(Method::GetMessage, &Fault::Status(404), 10);
    let program = harness.home.start();
    harness.until_log("the backfill of a channel failed").await;
    harness.discord.clear_faults();
    harness.until_line("the third line").await;
    let deleted = "SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL";
    assert_eq!(harness.count(deleted).await, 0);
    assert_eq!(program.stop(), Some(0));
}
