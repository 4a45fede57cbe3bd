//! The page of a decision, and marking it.

use reqwest::StatusCode;
use reqwest::header::LOCATION;
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, get, json_of, post, set_tokens, slack_workspace,
};
use crate::program::Program;
use crate::slack::harness::SlackHarness;

/// Returns the number of the only decision about a channel's newest messages.
async fn decision(program: &Program, workspace: &str, channel: &str, number: i64) -> Value {
    let ledger = format!("/api/decisions?workspace={workspace}&channel={channel}");
    let ledger = json_of(get(program, Some(ADMIN), &ledger).await).await;
    let mut decisions = ledger["decisions"].as_array().unwrap().iter();
    decisions.find(|decision| decision["id"] == number).unwrap().clone()
}

#[tokio::test]
async fn a_decision_opens_for_each_role_as_far_as_it_may_read() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
    harness.will_say(&["<b>the tea is hot</b>", "in the attic"]);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea <i>ready</i>?");
    harness.wait_for_posts(1).await;
    harness.post_mention(&harness.attic, &harness.mio, "where is the kettle?");
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 2).await;
    harness.post_message(&harness.tea, &harness.mio, "<script>window.pwned=1</script>");
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%pwned%'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let page = async |token: &str, channel: &str| {
        let number = newest_closed(&program, &workspace, channel).await;
        let address = format!("/console/decisions/{workspace}/{number}");
        get(&program, Some(token), &address).await.text().await.unwrap()
    };
    // A viewer sees the outcome and the cost.
    let shown = page(VIEWER, &harness.tea).await;
    assert!(shown.contains("outcome spoke") && shown.contains("data-testid=\"call\""), "{shown}");
    for secret in ["ready", "tea is hot", "Ren", "data-testid=\"prompt\"", "data-testid=\"mark-"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    // An operator sees the public messages, but no text of a model about them.
    let shown = page(OPERATOR, &harness.tea).await;
    assert!(shown.contains("is the tea &#60;i&#62;ready&#60;/i&#62;?"), "{shown}");
    assert!(shown.contains("&#60;b&#62;the tea is hot&#60;/b&#62;") && shown.contains("Ren"));
    assert!(shown.contains("data-testid=\"mark-right\"") && shown.contains("pwned"), "{shown}");
    assert!(!shown.contains("data-testid=\"prompt\"") && !shown.contains("data-testid=\"why\""));
    assert!(shown.contains(">Messages it looked at</h2>"), "{shown}");
    let shown = page(OPERATOR, &harness.attic).await;
    assert!(!shown.contains("kettle") && !shown.contains("in the attic") && !shown.contains("Mio"));
    // Of what is not decided yet, nothing is said that would need a verdict.
    let open = format!("/api/decisions?workspace={workspace}&channel={}", harness.tea);
    let open = json_of(get(&program, Some(ADMIN), &open).await).await;
    let mut open = open["decisions"].as_array().unwrap().iter().filter(|it| it["closed"].is_null());
    let open = format!("/console/decisions/{workspace}/{}", open.next().unwrap()["id"]);
    let shown = get(&program, Some(OPERATOR), &open).await.text().await.unwrap();
    assert!(shown.contains(">No rule has been checked yet.</p>"), "{shown}");
    // An admin sees everything, and the access to the private channel is recorded.
    let shown = page(ADMIN, &harness.tea).await;
    assert!(shown.contains("data-testid=\"section\"") && shown.contains("data-testid=\"why\""));
    assert!(shown.contains("data-testid=\"after\"") && shown.contains("data-testid=\"said\""));
    assert!(!shown.contains("<script>window") && !shown.contains("<i>ready"), "{shown}");
    let reads = async || {
        let reads = json_of(get(&program, Some(ADMIN), "/api/private-reads").await).await;
        reads["reads"].as_array().unwrap().iter().map(|read| read["count"].as_i64().unwrap()).sum()
    };
    let before: i64 = reads().await;
    let shown = page(ADMIN, &harness.attic).await;
    assert!(shown.contains("where is the kettle?") && shown.contains("in the attic"), "{shown}");
    let after: i64 = reads().await;
    // Reading the messages is recorded. Reading the reasoning was recorded a moment ago, when its number was looked up.
    assert_eq!(after - before, 1);
    let japanese = client().get(format!(
        "{}/console/decisions/{workspace}/{}",
        program.address,
        newest_closed(&program, &workspace, &harness.tea).await
    ));
    let japanese = japanese.bearer_auth(ADMIN).header("accept-language", "ja").send().await;
    assert!(japanese.unwrap().text().await.unwrap().contains("対象の発言"));
    let number = newest_closed(&program, &workspace, &harness.tea).await;
    for absent in [
        format!("/console/decisions/{workspace}/999"),
        format!("/console/decisions/{workspace}/x"),
        format!("/console/decisions/local/{number}"),
        format!("/console/decisions/slack:T0/{number}"),
    ] {
        let answer = get(&program, Some(ADMIN), &absent).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{absent}");
    }
    assert_eq!(program.stop(), Some(0));
}

/// Returns the number of a channel's newest closed decision.
pub async fn newest_closed(program: &Program, workspace: &str, channel: &str) -> i64 {
    let ledger = format!("/api/decisions?workspace={workspace}&channel={channel}");
    let ledger = json_of(get(program, Some(ADMIN), &ledger).await).await;
    let decisions = ledger["decisions"].as_array().unwrap().iter().rev();
    let mut closed = decisions.filter(|decision| decision["closed"].is_number());
    closed.next().unwrap()["id"].as_i64().unwrap()
}

#[tokio::test]
async fn a_decision_is_marked_and_the_marks_become_cases() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.until_named().await;
    harness.will_say(&["the tea is hot"]);
    harness.post_message(&harness.tea, &harness.mio, "\"quoted\" <b>beginning</b>");
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%quoted%'", 1).await;
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let number = newest_closed(&program, &workspace, &harness.tea).await;
    let address = format!("/api/decisions/{number}/mark");
    let mark = async |token: &str, mark: Value| {
        post(&program, Some(token), &address, json!({ "mark": mark })).await
    };
    assert_eq!(mark(VIEWER, json!("right")).await, StatusCode::FORBIDDEN);
    assert_eq!(mark(OPERATOR, json!("wrong")).await, StatusCode::UNPROCESSABLE_ENTITY);
    let body = json!({});
    let refused = post(&program, Some(OPERATOR), &address, body).await;
    assert_eq!(refused, StatusCode::UNPROCESSABLE_ENTITY, "a mark is missing");
    let body = json!({ "mark": "right", "workspace": "local" });
    assert_eq!(post(&program, Some(OPERATOR), &address, body).await, StatusCode::NOT_FOUND);
    let unknown = post(&program, Some(ADMIN), "/api/decisions/999/mark", json!({ "mark": null }));
    assert_eq!(unknown.await, StatusCode::NOT_FOUND);
    let foreign = client().post(format!("{}{address}", program.address)).bearer_auth(ADMIN);
    let foreign = foreign.header("origin", "https://evil.example");
    let foreign = foreign.json(&json!({ "mark": "right" })).send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    assert_eq!(decision(&program, &workspace, &harness.tea, number).await["mark"], Value::Null);

    assert_eq!(mark(ADMIN, json!("right")).await, StatusCode::NO_CONTENT);
    assert_eq!(mark(OPERATOR, json!("should_have_kept_silent")).await, StatusCode::NO_CONTENT);
    let marked = decision(&program, &workspace, &harness.tea, number).await["mark"].clone();
    assert_eq!(
        (&marked["mark"], &marked["by"]),
        (&json!("should_have_kept_silent"), &json!("olga"))
    );
    let timeline = format!("/console/channels/{workspace}/{}", harness.tea);
    let page = format!("/console/decisions/{workspace}/{number}");
    for (token, shows_name) in [(VIEWER, false), (OPERATOR, true)] {
        for address in [&timeline, &page] {
            let shown = get(&program, Some(token), address).await.text().await.unwrap();
            assert!(shown.contains("marked should_have_kept_silent"), "{address}: {shown}");
            assert_eq!(shown.contains("marked by olga"), shows_name, "{address}: {shown}");
        }
    }

    let metrics = get(&program, Some(VIEWER), "/metrics").await.text().await.unwrap();
    let counted = "aizuchi_marked_decisions{mark=\"should_have_kept_silent\"} 1";
    assert!(metrics.contains(counted), "{metrics}");

    // A marked decision is a case that `eval` can read. It was not decided on today's topic.
    harness.slack.set_topic(&harness.tea, &harness.ren, "Beans").unwrap();
    harness.until_kept("SELECT count(*) FROM channels WHERE topic = 'Beans'", 1).await;
    let file = harness.home.path().join("cases.jsonl");
    let export = |file: &std::path::Path| {
        let mut command = aizuchi();
        command.arg("--config").arg(harness.home.config()).args(["export", "--marks"]).arg(file);
        command.assert().success();
        std::fs::read_to_string(file).unwrap()
    };
    let cases = export(&file);
    let case: Value = serde_json::from_str(cases.trim_end()).unwrap();
    assert_eq!((&case["label"], &case["language"]), (&json!("SILENT"), &json!("en")));
    assert_eq!(case["kind"], "SILENT/should_have_kept_silent");
    assert_eq!((&case["channel"], &case["topic"]), (&json!("tea"), &Value::Null));
    let context = case["context"].as_array().unwrap();
    let authors: Vec<_> = context.iter().map(|line| line["author"].as_str().unwrap()).collect();
    assert_eq!(authors, ["Mio", "Ren"]);
    let mut eval = aizuchi();
    eval.arg("eval").arg(&file).arg("--json");
    let printed = eval.assert().success().get_output().stdout.clone();
    let printed: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(printed["task"], "decide");

    // A form removes the mark, and redirects to the decision.
    let form = client().post(format!("{}/console/orders", program.address)).bearer_auth(OPERATOR);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let body = format!("workspace={workspace}&order=mark+{number}&back={page}");
    let answer = form.body(body).send().await.unwrap();
    assert_eq!(answer.headers()[LOCATION], page);
    assert_eq!(decision(&program, &workspace, &harness.tea, number).await["mark"], Value::Null);
    assert_eq!(export(&harness.home.path().join("none.jsonl")), "");
    assert_eq!(program.stop(), Some(0));
}
