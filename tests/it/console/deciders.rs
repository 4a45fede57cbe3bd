//! Who decided a proposal: shown to those who may decide, and not to viewers, who learn no names of people.

use reqwest::StatusCode;
use serde_json::json;

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, get, json_of, post, set_tokens, slack_workspace,
};
use crate::slack::harness::{SlackHarness, SlackOptions};

const PROPOSES: &str = "channels:\n  \"#tea\": {mode: propose}\n";

#[tokio::test]
async fn a_viewer_does_not_learn_who_decided() {
    let options = SlackOptions { wait: 0.3, more: PROPOSES, ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    set_tokens(&harness);
    let program = harness.start().await;
    let verdict = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;
    harness.will_say(&[verdict, "on the top shelf"]);
    harness.post_message(&harness.tea, &harness.mio, "does anyone know where the kettle is?");
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'proposed'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let list = format!("/api/proposals?workspace={workspace}");
    let newest = async |token: &str| {
        json_of(get(&program, Some(token), &list).await).await["proposals"][0].clone()
    };
    let decide = format!("/api/proposals/{}", newest(OPERATOR).await["id"]);
    let status = post(&program, Some(OPERATOR), &decide, json!({ "choice": "not_now" })).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    for (token, by) in [(ADMIN, json!("olga")), (OPERATOR, json!("olga")), (VIEWER, json!(null))] {
        let proposal = newest(token).await;
        assert_eq!((&proposal["state"], &proposal["by"]), (&json!("declined"), &by), "{proposal}");
        assert!(proposal["decided"].is_number(), "{proposal}");
        let queue = get(&program, Some(token), "/console/queue").await.text().await.unwrap();
        assert!(queue.contains("data-key=\"decided-"), "{queue}");
        assert_eq!(queue.contains("olga"), !by.is_null(), "{queue}");
    }
    assert_eq!(program.stop(), Some(0));
}
