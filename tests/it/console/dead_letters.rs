//! The operator's actions on dead letters.

use aizuchi_fakes::slack::fault::Fault;
use reqwest::StatusCode;
use serde_json::json;

use crate::console::harness::{ADMIN, OPERATOR, VIEWER, client, get, json_of, post, set_tokens};
use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn a_dead_letter_is_tried_again_or_dropped() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["first try", "second try", "third try"]);
    let fail = async |count| {
        harness.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
        harness.post_mention(&harness.tea, &harness.mio, "is the tea ready?");
        harness.until_kept("SELECT count(*) FROM dead_letters", count).await;
        let letters = json_of(get(&program, Some(ADMIN), "/api/dead-letters").await).await;
        letters["dead_letters"][0]["id"].as_i64().unwrap()
    };
    let id = fail(1).await;
    // Stuck items are shown on the first page, with a link to the decision.
    for token in [ADMIN, VIEWER] {
        let overview = get(&program, Some(token), "/console").await.text().await.unwrap();
        assert!(
            overview.contains("data-testid=\"waiting-letters\">could not be posted: 1</a>"),
            "{overview}"
        );
    }
    let queue = get(&program, Some(ADMIN), "/console/failures").await.text().await.unwrap();
    let decision = queue.split("data-testid=\"failure-decision\"").next().unwrap();
    let decision = decision.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
    assert_eq!(get(&program, Some(ADMIN), decision).await.status(), StatusCode::OK, "{decision}");
    let retry = format!("/api/dead-letters/{id}/retry");
    assert_eq!(post(&program, Some(VIEWER), &retry, json!({})).await, StatusCode::FORBIDDEN);
    assert_eq!(post(&program, Some(OPERATOR), &retry, json!({})).await, StatusCode::NO_CONTENT);
    let posts = harness.wait_for_posts(1).await;
    assert_eq!(posts[0].text, "second try");
    assert_eq!(post(&program, Some(OPERATOR), &retry, json!({})).await, StatusCode::NOT_FOUND);
    // A browser gets a page about the missing item, with a link back to the one that it came from.
    let again = client().post(format!("{}/console/orders", program.address));
    let again = again.header("content-type", "application/x-www-form-urlencoded");
    let again = again.header("accept", "text/html").bearer_auth(OPERATOR);
    let again = again.header("referer", format!("{}/console/failures?kind=post", program.address));
    let again = again.body(format!("order=retry+{id}&back=/console/queue")).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_FOUND);
    let again = again.text().await.unwrap();
    assert!(again.contains("dead letter") && again.contains("<h1>Not done.</h1>"), "{again}");
    assert!(again.contains("href=\"/console/failures?kind=post\""), "{again}");
    let id = fail(1).await;
    let drop = client().delete(format!("{}/api/dead-letters/{id}", program.address));
    let dropped = drop.bearer_auth(OPERATOR).send().await.unwrap().status();
    assert_eq!(dropped, StatusCode::NO_CONTENT);
    harness.until_kept("SELECT count(*) FROM dead_letters", 0).await;
    harness.until_kept("SELECT count(*) FROM outbox WHERE text LIKE '%third%'", 0).await;
    // Both orders are in the journal, with the decision. Refused orders are not.
    let given = json_of(get(&program, Some(OPERATOR), "/api/orders").await).await;
    let given = given["orders"].as_array().unwrap();
    let kinds: Vec<_> = given.iter().map(|given| given["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["drop_dead_letter", "retry_dead_letter"]);
    assert!(given.iter().all(|given| given["decision"].is_number() && given["by"] == "olga"));
    assert_eq!(program.stop(), Some(0));
}
