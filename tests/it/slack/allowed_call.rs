//! A channel's keeper allows a tool call in a direct message.

use crate::allowed_call::{lend, planted, until_lent, will_plant};
use crate::slack::harness::{SlackHarness, SlackOptions};

#[tokio::test]
async fn a_keeper_allows_a_call_once() {
    let harness = SlackHarness::with(SlackOptions::default()).await;
    let keeper = &harness.ren;
    harness.home.add(&format!("channels:\n  \"#tea\": {{keeper: \"@{keeper}\"}}\n"));
    lend(&harness.home);
    let program = harness.start().await;
    until_lent(&harness.home).await;
    will_plant(&harness.model);
    harness.post_mention(&harness.tea, &harness.mio, "plant three roses");
    let posts = harness.wait_for_posts(2).await;
    assert_eq!((&posts[0].channel, posts[0].text.as_str()), (&harness.tea, "I asked for it."));
    let (direct, asked) = (&posts[1].channel, posts[1].ts);
    assert_eq!(*direct, harness.slack.open_direct_message(keeper).unwrap());
    assert!(posts[1].text.contains("```\n{\n  \"roses\": 3\n}\n```"), "{}", posts[1].text);
    // Other users cannot decide.
    harness.slack.click(direct, asked, &harness.mio, "allow_once").unwrap();
    harness.slack.click(direct, asked, keeper, "allow_once").unwrap();
    let posts = harness.wait_for_posts(3).await;
    assert_eq!((&posts[2].channel, posts[2].text.as_str()), (&harness.tea, "It is planted."));
    harness.wait_until(|slack| slack.texts(direct).unwrap() == ["In #tea: called."]).await;
    assert!(harness.slack.click(direct, asked, keeper, "refuse").is_err(), "no button is left");
    let decided = format!("SELECT count(*) FROM consents WHERE decided_by LIKE '{keeper} %'");
    assert_eq!(harness.count(&decided).await, 1);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(planted(&harness.home), "{\"roses\": 3}\n");
}
