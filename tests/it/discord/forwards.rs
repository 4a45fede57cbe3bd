//! Forwarded messages: Discord sends a copy of their words, and refers to the original without naming its author.

use serde_json::json;

use crate::discord::harness::DiscordHarness;

const WORDS: &str = "the spare key is under the fern";

#[tokio::test]
async fn words_of_who_has_opted_out_are_not_heard_through_a_forward() {
    let harness = DiscordHarness::new().await;
    let program = harness.start().await;
    let parent = harness.says(harness.tea, harness.ren, "where does the spare key belong?");
    let thread = harness.opens_thread(harness.tea, parent);
    let original = harness.says(thread, harness.mio, WORDS);
    harness.until_line(WORDS).await;
    // Ren forwards it to another channel.
    let forward = |id: u64| {
        json!({"id": id.to_string(), "channel_id": harness.attic, "guild_id": harness.guild, "type": 0,
            "content": "", "timestamp": "2026-11-21T00:00:00+00:00", "edited_timestamp": null,
            "author": {"id": harness.ren, "username": "ren", "global_name": "Ren"},
            "mentions": [], "attachments": [], "embeds": [],
            "message_reference": {"type": 1, "message_id": original, "channel_id": thread,
                "guild_id": harness.guild},
            "message_snapshots": [{"message": {"type": 0, "content": WORDS, "mentions": [],
                "attachments": [], "embeds": [], "timestamp": "2026-11-21T00:00:00+00:00"}}]})
    };
    let id: u64 = original.to_string().parse().unwrap();
    harness.discord.emit_event("MESSAGE_CREATE", forward(id + 1));
    let shown = format!("[forwarded]\n> {WORDS}");
    let kept = format!("SELECT count(*) FROM messages WHERE text = '{shown}' AND withheld = 0");
    harness.until_kept(&kept, 1).await;
    harness.asks(harness.tea, harness.mio, "opt out");
    harness.until_kept("SELECT count(*) FROM opted_out", 1).await;
    harness.until_kept(&kept, 0).await;
    harness.discord.emit_event("MESSAGE_CREATE", forward(id + 2));
    harness
        .until_kept("SELECT count(*) FROM messages WHERE gate = 'opted_out' AND text = ''", 1)
        .await;
    assert_eq!(program.stop(), Some(0));
}
