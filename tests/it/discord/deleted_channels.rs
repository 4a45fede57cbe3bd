//! Channels that are deleted while the program runs.

use aizuchi_fakes::discord::method::Method;

use crate::discord::harness::DiscordHarness;

/// Later changes of the server do not bring the channel back.
#[tokio::test]
async fn a_deleted_channel_is_not_read_again() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let tea = harness.tea.to_string();
    let reads = || {
        let calls = harness.discord.calls(Method::GetMessages);
        calls.iter().filter(|call| call.path.contains(&tea)).count()
    };
    let before = reads();
    harness.discord.delete_channel(harness.tea).unwrap();
    harness.discord.add_role(harness.guild, "brewers").unwrap();
    harness.asks(harness.attic, harness.mio, "where is the tea?");
    assert_eq!(harness.posts(1).await[0].channel, harness.attic);
    assert_eq!(reads(), before);
    assert_eq!(program.stop(), Some(0));
}
