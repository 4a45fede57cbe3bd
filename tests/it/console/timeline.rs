//! The queries of a channel's timeline.

use aizuchi_fakes::slack::user_actions::NameChange;

use crate::console::harness::{ADMIN, OPERATOR, get, set_tokens, slack_workspace};
use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn what_is_asked_of_a_timeline_holds_together() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
    harness.will_say(&["it is hot"]);
    harness.post_message(&harness.tea, &harness.mio, "the kettle is old");
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%old%'", 1).await;
    harness.post_mention(&harness.tea, &harness.ren, "is the kettle hot?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let shown = async |query: &str| {
        let page = format!("/console/channels/{workspace}/{}?{query}", harness.tea);
        let shown = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
        assert!(!shown.contains("data-older"), "{query}: {shown}");
        let has_newest = shown.contains("<a href=\"#newest\" data-testid=\"newest\">↓ Newest</a>");
        assert_eq!(has_newest, shown.contains("data-testid=\"row\""), "{query}: {shown}");
        shown.matches("data-testid=\"row\"").count()
    };
    let (past, future) = ("2001-01-01", "2999-01-01");
    for (query, expected) in [
        (String::new(), 3),
        ("outcome=spoke".to_owned(), 2),
        ("outcome=failed".to_owned(), 0),
        ("outcome=spoke&person=Ren".to_owned(), 1),
        ("outcome=spoke&person=Nobody".to_owned(), 0),
        (format!("outcome=spoke&until={past}"), 0),
        (format!("outcome=spoke&from={past}&until={future}"), 2),
        (format!("person=Mio&from={future}"), 0),
        ("q=kettle".to_owned(), 2),
        ("q=kettle&person=Mio".to_owned(), 1),
        ("q=kettle&person=Nobody".to_owned(), 0),
        ("q=kettle&outcome=failed".to_owned(), 0),
        ("q=kettle&outcome=spoke&person=Ren".to_owned(), 1),
        (format!("q=kettle&from={future}"), 0),
    ] {
        assert_eq!(shown(&query).await, expected, "{query}");
    }

    // An unknown name and an ambiguous one are distinguished from a user without matching messages.
    let page = async |query: &str| {
        let page = format!("/console/channels/{workspace}/{}?{query}", harness.tea);
        get(&program, Some(OPERATOR), &page).await.text().await.unwrap()
    };
    let nobody = page("person=%3Ci%3ENobody").await;
    assert!(nobody.contains("is called &#60;i&#62;Nobody."), "{nobody}");
    assert!(!page("person=Mio&q=hot").await.contains("data-testid=\"nobody\""));
    let names = NameChange { real_name: "Mio", display_name: "Mio" };
    harness.slack.rename_user(&harness.ren, names).unwrap();
    harness.until_kept("SELECT count(*) FROM users WHERE name = 'Mio'", 2).await;
    let both = page("person=mio&q=kettle").await;
    assert!(!both.contains("data-testid=\"row\""), "{both}");
    for id in [&harness.mio, &harness.ren] {
        assert!(both.contains(&format!("?person={id}&#38;q=kettle\"")), "{both}");
        assert!(both.contains(&format!("<small>{id}</small>")), "{both}");
        assert_eq!(shown(&format!("person={id}&q=kettle")).await, 1, "{id}");
    }
    let all = page("").await;
    assert!(all.contains(&format!("Mio</b> <small>{}</small>", harness.ren)), "{all}");
    assert!(!page(&format!("person={}", harness.ren)).await.contains("Mio</b> <small>"));
    assert_eq!(program.stop(), Some(0));
}
