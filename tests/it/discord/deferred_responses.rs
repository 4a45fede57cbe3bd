//! Other apps that take a while to respond to a slash command.

use serde_json::json;

use crate::discord::harness::DiscordHarness;

/// Discord first shows that the app is thinking, and does not count the response as an edit of that.
#[tokio::test]
async fn a_deferred_response_of_another_app_is_heard() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let before = harness.says(harness.tea, harness.mio, "will it rain?");
    // The fake gives later ids to later messages.
    let id = (before.get() - 1).to_string();
    let response = |flags: u64, content: &str| {
        json!({"id": id, "channel_id": harness.tea, "guild_id": harness.guild, "type": 20,
            "flags": flags, "content": content, "timestamp": "2026-11-21T00:00:00+00:00",
            "edited_timestamp": null, "author": {"id": "77", "username": "weather", "bot": true},
            "mentions": [], "attachments": [], "embeds": [], "components": []})
    };
    harness.discord.emit_event("MESSAGE_CREATE", response(128, ""));
    // Events are heard in order.
    harness.says(harness.tea, harness.ren, "let me ask");
    harness.until_line("let me ask").await;
    assert_eq!(harness.count("SELECT count(*) FROM messages WHERE text = ''").await, 0);
    harness.discord.emit_event("MESSAGE_UPDATE", response(0, "It will be sunny."));
    harness.until_line("It will be sunny.").await;
    assert_eq!(program.stop(), Some(0));
}
