//! The Message Content Intent is switched off while the program runs.

use serde_json::json;

use crate::discord::harness::DiscordHarness;

/// An edit then arrives without its text, which must not empty the message that is stored.
#[tokio::test]
async fn an_edit_without_its_content_keeps_the_stored_text() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let message = harness.says(harness.tea, harness.mio, "roses need water");
    harness.until_line("roses need water").await;
    harness.discord.emit_event(
        "MESSAGE_UPDATE",
        json!({"id": message, "channel_id": harness.tea, "guild_id": harness.guild, "type": 0,
            "content": "", "timestamp": "2026-11-21T00:00:00+00:00",
            "edited_timestamp": "2099-11-21T00:01:00+00:00",
            "author": {"id": harness.mio, "username": "mio", "global_name": "Mio"},
            "mentions": [], "attachments": [], "embeds": []}),
    );
    // Events are heard in order.
    harness.says(harness.tea, harness.mio, "and sun");
    harness.until_line("and sun").await;
    let kept = "SELECT count(*) FROM messages WHERE text = 'roses need water'";
    assert_eq!(harness.count(kept).await, 1);
    assert_eq!(program.stop(), Some(0));
}
