//! Going from a channel's timeline to another channel's with the same filter.

use reqwest::header::LOCATION;

use crate::console::harness::{ADMIN, OPERATOR, VIEWER, encode, get, set_tokens, slack_workspace};
use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn another_channel_is_read_with_the_same_filter() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let (tea, attic) = (&harness.tea, &harness.attic);
    let timeline = |channel: &str| format!("/console/channels/{}/{channel}", encode(&workspace));
    let led_to = async |query: &str| {
        let answer = get(&program, Some(ADMIN), &format!("{}?{query}", timeline(tea))).await;
        let location = answer.headers().get(LOCATION)?;
        Some(location.to_str().unwrap().to_owned())
    };
    let filter = "outcome=spoke&person=Mio&from=2026-03-01&q=old%20kettle";
    let kept = format!("{}?{filter}", timeline(attic));
    assert_eq!(led_to(&format!("channel={attic}&{filter}&before=9")).await, Some(kept));
    assert_eq!(led_to(&format!("channel={attic}&outcome=")).await, Some(timeline(attic)));
    assert_eq!(led_to(&format!("channel={tea}&{filter}")).await, None);
    // It stays on the console, whatever is asked for.
    let hostile = timeline("https%3A%2F%2Fexample.com%2F%3Fx");
    assert_eq!(led_to("channel=https://example.com/?x").await, Some(hostile));

    // Each channel is there to be chosen, under its name for those who may learn it.
    for (token, has_name) in [(ADMIN, true), (OPERATOR, false), (VIEWER, false)] {
        let shown = get(&program, Some(token), &timeline(tea)).await.text().await.unwrap();
        let choice = |name: &str| format!("<option value=\"{attic}\">#{name}</option>");
        assert_eq!(shown.contains(&choice("attic")), has_name, "{token}: {shown}");
        assert_eq!(shown.contains(&choice(attic)), !has_name, "{token}: {shown}");
        assert!(shown.contains(&format!("<option value=\"{tea}\" selected>")), "{token}: {shown}");
    }
    assert_eq!(program.stop(), Some(0));
}
