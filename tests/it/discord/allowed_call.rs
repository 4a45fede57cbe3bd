//! A channel's keeper allows a tool call in a direct message.

use crate::allowed_call::{lend, planted, until_lent, will_plant};
use crate::discord::harness::{DiscordHarness, Setting};

#[tokio::test]
async fn a_keeper_allows_a_call_once() {
    let harness = DiscordHarness::with(Setting::default()).await;
    let (mio, keeper) = (harness.mio, harness.ren);
    harness.home.add(&format!("channels:\n  \"#tea\": {{keeper: \"@{keeper}\"}}\n"));
    lend(&harness.home);
    let program = harness.start().await;
    until_lent(&harness.home).await;
    will_plant(&harness.model);
    harness.asks(harness.tea, mio, "plant three roses");
    let posts = harness.posts(2).await;
    assert_eq!((posts[0].channel, posts[0].text.as_str()), (harness.tea, "I asked for it."));
    let (direct, asked) = (posts[1].channel, posts[1].id);
    assert_eq!(direct, harness.discord.open_direct_message(keeper).unwrap());
    assert!(posts[1].text.contains("```\n{\n  \"roses\": 3\n}\n```"), "{}", posts[1].text);
    // Other users cannot decide.
    harness.discord.click(direct, asked, mio, "Allow once").unwrap();
    harness.discord.click(direct, asked, keeper, "Allow once").unwrap();
    let posts = harness.posts(3).await;
    assert_eq!((posts[2].channel, posts[2].text.as_str()), (harness.tea, "It is planted."));
    harness.until(|discord| discord.texts(direct).unwrap() == ["In #tea: called."]).await;
    let again = harness.discord.click(direct, asked, keeper, "Refuse");
    assert!(again.is_err(), "no button is left");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(planted(&harness.home), "{\"roses\": 3}\n");
}
