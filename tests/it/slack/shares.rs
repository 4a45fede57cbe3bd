//! Shared messages: Slack sends them as attachments of an empty message.

use aizuchi_fakes::slack::ts::Ts;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::slack::harness::SlackHarness;

const WORDS: &str = "the spare key is under the fern";

/// Ren shares words of another user.
fn shares(harness: &SlackHarness, author: &str) -> Value {
    json!({
        "type": "message",
        "channel": harness.tea,
        "channel_type": "channel",
        "user": harness.ren,
        "text": "",
        "ts": Ts::from_timestamp(Timestamp::now()).to_string(),
        "attachments": [{
            "author_id": author, "is_share": true, "channel_id": "C0ELSEWHERE",
            "ts": "1700000000.000100", "text": WORDS, "fallback": format!("[now] {author}: {WORDS}"),
        }],
    })
}

#[tokio::test]
async fn words_of_who_has_opted_out_are_not_heard_through_a_share() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    harness.slack.emit_event(shares(&harness, "U0OTHER"));
    let kept = format!("SELECT count(*) FROM messages WHERE text = '> {WORDS}' AND withheld = 0");
    harness.until_kept(&kept, 1).await;
    harness.post_mention(&harness.tea, &harness.mio, "opt out");
    harness.until_kept("SELECT count(*) FROM opted_out", 1).await;
    harness.slack.emit_event(shares(&harness, &harness.mio));
    harness
        .until_kept("SELECT count(*) FROM messages WHERE gate = 'opted_out' AND text = ''", 1)
        .await;
    assert_eq!(harness.count(&kept).await, 1);
    assert_eq!(program.stop(), Some(0));
}
