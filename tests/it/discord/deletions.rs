//! Deletions during a gap, in any number.

use aizuchi_fakes::discord::id::{ChannelId, MessageId};

use crate::discord::harness::DiscordHarness;

const MESSAGES: &str = "SELECT count(*) FROM messages WHERE text LIKE 'message %'";
const DELETED: &str = "SELECT count(*) FROM messages WHERE deleted_ms IS NOT NULL";

impl DiscordHarness {
    fn says_series(&self, channel: ChannelId, count: usize) -> Vec<MessageId> {
        let messages =
            (0..count).map(|number| self.says(channel, self.mio, &format!("message {number}")));
        messages.collect()
    }
}

/// A moderator has purged a channel and a thread.
#[tokio::test]
async fn any_number_of_deletions_is_honored() {
    let harness = DiscordHarness::new().await;
    let parent = harness.says(harness.tea, harness.mio, "what do roses need?");
    let thread = harness.opens_thread(harness.tea, parent);
    let messages = harness.says_series(harness.tea, 160);
    let replies = harness.says_series(thread, 120);
    let program = harness.start().await;
    harness.until_kept(MESSAGES, 280).await;
    assert_eq!(program.stop(), Some(0));
    harness.until(|discord| discord.connection_count() == 0).await;
    harness.discord.expire_sessions();
    for (channel, purged) in [(harness.tea, &messages[10..]), (thread, &replies[5..])] {
        for message in purged {
            harness.discord.delete_message(channel, *message).unwrap();
        }
    }
    let program = harness.start().await;
    harness.until_kept(DELETED, 265).await;
    assert_eq!(harness.count(MESSAGES).await, 15, "a deleted message has no text");
    program.until("/ready", |ready| ready["catching_up"][0]["deletions"]["count"] == 0).await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.discord.posts(), []);
}
