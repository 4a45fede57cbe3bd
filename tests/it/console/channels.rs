//! The filters of timelines: the channel, with a link to another one, and superseded decisions.

use reqwest::header::LOCATION;
use sqlx::raw_sql;

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, encode, get, json_of, set_tokens, slack_workspace,
};
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
    // The redirect stays on the console, whatever the parameter.
    let hostile = timeline("https%3A%2F%2Fexample.com%2F%3Fx");
    assert_eq!(led_to("channel=https://example.com/?x").await, Some(hostile));

    // Each channel can be chosen, by name for the roles that may see it.
    for (token, has_name) in [(ADMIN, true), (OPERATOR, false), (VIEWER, false)] {
        let shown = get(&program, Some(token), &timeline(tea)).await.text().await.unwrap();
        let choice = |name: &str| format!("<option value=\"{attic}\">#{name}</option>");
        assert_eq!(shown.contains(&choice("attic")), has_name, "{token}: {shown}");
        assert_eq!(shown.contains(&choice(attic)), !has_name, "{token}: {shown}");
        assert!(shown.contains(&format!("<option value=\"{tea}\" selected>")), "{token}: {shown}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_was_superseded_is_found_on_the_timeline_and_by_programs() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["it is hot"]);
    harness.post_mention(&harness.tea, &harness.mio, "is the kettle hot?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let (workspace, tea) = (encode(&workspace), &harness.tea);
    let rows = async || {
        let page = format!("/console/channels/{workspace}/{tea}?outcome=superseded");
        let shown = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
        assert!(shown.contains("<option value=\"superseded\" selected>"), "{shown}");
        shown.matches("data-testid=\"row\"").count()
    };
    let decisions = async |outcome: &str| {
        let path = format!("/api/decisions?workspace={workspace}&channel={tea}&outcome={outcome}");
        let found = json_of(get(&program, Some(OPERATOR), &path).await).await;
        found["decisions"].as_array().map(Vec::len)
    };
    assert_eq!(rows().await, 0);
    assert_eq!(decisions("superseded").await, Some(0));
    let mut database = harness.lock_database().await;
    let change = "UPDATE attempts SET result = 'superseded' WHERE verb = 'reply'; COMMIT";
    raw_sql(change).execute(&mut database).await.unwrap();
    assert!(rows().await > 0);
    for (outcome, expected) in
        [("superseded", Some(1)), ("spoke", Some(1)), ("failed", Some(0)), ("kettle", None)]
    {
        assert_eq!(decisions(outcome).await, expected, "{outcome}");
    }
    assert_eq!(program.stop(), Some(0));
}
