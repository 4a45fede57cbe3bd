//! A post is lost, and an earlier one has the same text.

use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;

use crate::discord::harness::{DiscordHarness, Setting};

const SPOKE: &str = "SELECT count(*) FROM decisions WHERE ended = 'spoke'";

/// The history does not return nonces, so the text identifies a post, unless it is recorded as another one.
#[tokio::test]
async fn a_lost_answer_is_not_mistaken_for_an_earlier_one() {
    let setting = Setting { discord: "  settle_seconds: 16\n", ..Setting::default() };
    let harness = DiscordHarness::with(setting).await;
    let program = harness.start().await;
    harness.will_say(&["Yes.", "Yes."]);
    harness.asks(harness.tea, harness.mio, "is the kettle on?");
    harness.until_kept(SPOKE, 1).await;
    harness.discord.inject_fault(Method::CreateMessage, Fault::ResetBefore);
    harness.asks(harness.tea, harness.mio, "and the lamp?");
    harness.until_kept(SPOKE, 2).await;
    let posts = harness.discord.posts();
    assert_eq!(posts.iter().map(|post| post.text.as_str()).collect::<Vec<_>>(), ["Yes.", "Yes."]);
    for post in posts {
        let said = format!("SELECT count(*) FROM outbox WHERE message = '{}'", post.id);
        assert_eq!(harness.count(&said).await, 1);
    }
    assert_eq!(program.stop(), Some(0));
}
