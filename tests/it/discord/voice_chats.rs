//! The chats of voice channels.

use aizuchi_fakes::discord::channel::NewChannelKind;

use crate::discord::harness::DiscordHarness;

/// A mention during a gap is answered in the chat of a voice channel as well.
#[tokio::test]
async fn the_chat_of_a_voice_channel_is_backfilled() {
    let harness = DiscordHarness::new().await;
    let lounge = harness.add_channel("lounge", NewChannelKind::Voice);
    let program = harness.start().await;
    let read = format!("SELECT count(*) FROM bookmarks WHERE place = '{lounge}'");
    harness.until_kept(&read, 1).await;
    let public =
        format!("SELECT count(*) FROM channels WHERE id = '{lounge}' AND visibility = 'public'");
    assert_eq!(harness.count(&public).await, 1);
    assert_eq!(program.stop(), Some(0));
    harness.until(|discord| discord.connection_count() == 0).await;
    harness.discord.expire_sessions();
    harness.asks(lounge, harness.mio, "were you away?");
    let program = harness.start().await;
    assert_eq!(harness.posts(1).await[0].channel, lounge);
    assert_eq!(program.stop(), Some(0));
}
