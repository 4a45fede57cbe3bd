//! The pages about people: found over all workspaces, with when they were last seen where the reader may read.

use crate::console::harness::{ADMIN, OPERATOR, VIEWER, encode, get, set_tokens, slack_workspace};
use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn people_are_found_in_all_workspaces_with_when_they_were_last_seen() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
    harness.will_say(&["it is dusty"]);
    harness.post_mention(&harness.attic, &harness.mio, "what is up there?");
    harness.wait_for_posts(1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let page = async |token: &str, path: &str| {
        get(&program, Some(token), path).await.text().await.unwrap()
    };
    let row = |page: &str| {
        let address = format!("/console/people/{}/{}\"", encode(&workspace), harness.mio);
        let (_, row) = page.split_once(&format!("data-key=\"{address}")).unwrap_or_default();
        row.split("</tr>").next().unwrap_or_default().to_owned()
    };
    for query in ["?person=mi".to_owned(), format!("?person={}", harness.mio.to_lowercase())] {
        let all = page(ADMIN, &format!("/console/people{query}")).await;
        let here = page(ADMIN, &format!("/console/people{query}&workspace={workspace}")).await;
        for shown in [all, here] {
            assert!(row(&shown).contains("<time data-ago"), "{shown}");
            assert!(row(&shown).contains(&workspace), "{shown}");
        }
    }
    let local = page(ADMIN, "/console/people?person=mi&workspace=local").await;
    assert!(local.contains("data-testid=\"nobody\""), "{local}");
    // Those who may not read the private channel do not learn when somebody wrote there.
    let shown = page(OPERATOR, "/console/people").await;
    assert!(row(&shown).contains("</th>") && !row(&shown).contains("<time"), "{shown}");
    let viewed = page(VIEWER, "/console/people").await;
    assert!(viewed.contains("data-testid=\"withheld\"") && row(&viewed).is_empty(), "{viewed}");

    let person = format!("/console/people/{}/{}", encode(&workspace), harness.mio);
    for (token, is_seen) in [(ADMIN, true), (OPERATOR, false)] {
        let shown = page(token, &person).await;
        assert_eq!(shown.contains("data-testid=\"seen\""), is_seen, "{shown}");
        assert!(shown.contains("Has not opted out."), "{shown}");
    }
    // Without a choice, the page of memory opens on a connected workspace of a team.
    let memory = page(ADMIN, "/console/memory").await;
    assert!(memory.contains(&format!("<option value=\"{workspace}\" selected>")), "{memory}");
    assert_eq!(program.stop(), Some(0));
}
