//! Trying other settings on a channel's last days, and the report, as pages: their content for each role, and their
//! cost.

use reqwest::StatusCode;
use serde_json::json;

use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, get, json_of, post, set_tokens, slack_workspace,
};
use crate::program::Program;
use crate::slack::harness::{SlackHarness, SlackOptions};

/// A word in private channels only.
const CANARY: &str = "zanzibarquartz";
/// A word of a verdict's reason.
const REASON: &str = "nobody answers the kettle";
const GATES: &str = "gate=directed&gate=unchanged&gate=nothing_open&gate=cooldown&gate=share";

/// Starts a workspace in which the persona took up a question unasked, with 80 % confidence.
pub async fn judged() -> (SlackHarness, Program, String) {
    let harness = SlackHarness::with(SlackOptions { wait: 0.3, ..SlackOptions::default() }).await;
    set_tokens(&harness);
    let program = harness.start().await;
    let verdict = format!(
        r#"{{"should_respond": true, "reason": "{REASON}", "confidence": 0.8, "delay_seconds": 0}}"#
    );
    harness.will_say(&[&verdict, "on the top shelf"]);
    let hostile = "where is the kettle? <script>window.pwned = 1</script>";
    harness.post_message(&harness.tea, &harness.mio, hostile);
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    (harness, program, workspace)
}

fn address(workspace: &str, channel: &str) -> String {
    format!("/console/channels/{workspace}/{channel}/what-if")
}

#[tokio::test]
async fn a_higher_threshold_shows_what_it_would_silence() {
    let (harness, program, workspace) = judged().await;
    let page = address(&workspace, &harness.tea);
    let shown = async |token: &str, query: &str| {
        get(&program, Some(token), &format!("{page}{query}")).await.text().await.unwrap()
    };
    // Nothing is computed before it is requested.
    let form = shown(ADMIN, "").await;
    assert!(form.contains("data-testid=\"knobs\"") && !form.contains("data-testid=\"result\""));
    let same = shown(ADMIN, &format!("?days=1&{GATES}")).await;
    assert!(same.contains("Change a setting") && !same.contains("data-testid=\"patch\""), "{same}");
    let quieter = format!("?days=1&min_confidence=0.9&{GATES}");
    let admins = shown(ADMIN, &quieter).await;
    assert!(admins.contains("Would be kept silent about: 1"), "{admins}");
    assert!(admins.contains("where is the kettle? &#60;script&#62;"), "{admins}");
    // For this channel only: other channels were not examined.
    let patch = admins.split("data-testid=\"patch\"").nth(1).unwrap();
    let lines: Vec<&str> = patch.split(['<', '>']).nth(1).unwrap().lines().map(str::trim).collect();
    let section = format!("&#34;{}&#34;:", harness.tea);
    assert_eq!(lines, ["channels:", &section, "min_confidence: 0.9"], "{patch}");
    assert!(
        admins.contains("data-testid=\"group-silent\"") && admins.contains("/console/decisions/")
    );
    // A judge's reason is visible to admins, the messages of a public channel to operators, too.
    let operators = shown(OPERATOR, &quieter).await;
    assert!(operators.contains("Would be kept silent about: 1"), "{operators}");
    assert!(!operators.contains(REASON), "{operators}");
    let viewers = shown(VIEWER, &quieter).await;
    assert!(
        viewers.contains("data-testid=\"withheld\"") && !viewers.contains("kettle"),
        "{viewers}"
    );
    let wrong = get(&program, Some(ADMIN), &format!("{page}?days=1&min_confidence=7")).await;
    assert_eq!(wrong.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let posts = harness.slack.posts().len();
    assert_eq!(posts, 1, "nothing is posted by a trial");
    assert_eq!(harness.model.requests().len(), 2, "and nothing is asked");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_is_not_on_record_is_unknown_until_the_model_is_asked() {
    let harness = SlackHarness::with(SlackOptions { wait: 0.3, ..SlackOptions::default() }).await;
    set_tokens(&harness);
    let unpriced = std::fs::read_to_string(harness.home.config()).unwrap();
    let prices = "\nmodels:\n  prices:\n    openai/large-1: {input: 2, output: 10}\n";
    std::fs::write(harness.home.config(), unpriced + prices).unwrap();
    let program = harness.start().await;
    // The message is addressed to a user, so the judge was not asked about it.
    let thanks = format!("<@{}> thanks for the tea", harness.ren);
    harness.post_message(&harness.tea, &harness.mio, &thanks);
    harness.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let page = address(&workspace, &harness.tea);
    let asked_before = harness.model.requests().len();
    let query = format!("{page}?days=1");
    let shown = get(&program, Some(OPERATOR), &query).await.text().await.unwrap();
    assert!(shown.contains("data-testid=\"group-unknown\""), "{shown}");
    assert!(
        shown.contains("data-testid=\"estimate\"") && shown.contains("openai/large-1"),
        "{shown}"
    );
    assert!(shown.contains("gates: []"), "{shown}");
    assert_eq!(harness.model.requests().len(), asked_before);

    let ask = async |token: &str, cap: &str| {
        let form = client().post(format!("{}{page}", program.address)).bearer_auth(token);
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        form.body(format!("days=1&cap={cap}")).send().await.unwrap()
    };
    assert_eq!(ask(VIEWER, "1").await.status(), StatusCode::FORBIDDEN);
    assert_eq!(ask(OPERATOR, "1000").await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(harness.model.requests().len(), asked_before);
    let spent = async || {
        let address = format!("/api/spending?workspace={workspace}");
        let spending = get(&program, Some(ADMIN), &address).await;
        json_of(spending).await["workspace"]["tokens_in_day"].as_u64().unwrap()
    };
    // The channel's own budget, ordered there, holds for what is asked about it.
    let budget = async |value: Option<&str>| {
        let (channel, setting) = (&harness.tea, "money_per_day");
        let body = json!({ "workspace": workspace, "channel": channel, "setting": setting, "value": value });
        let done = post(&program, Some(ADMIN), "/api/settings", body).await;
        assert_eq!(done, StatusCode::NO_CONTENT);
    };
    budget(Some("0")).await;
    let refused = ask(OPERATOR, "1").await.text().await.unwrap();
    assert!(refused.contains("The model was not asked: "), "{refused}");
    assert_eq!(harness.model.requests().len(), asked_before);
    budget(None).await;
    let spent_before = spent().await;
    let verdict = r#"{"should_respond": true, "reason": "a farewell", "confidence": 0.95, "delay_seconds": 0}"#;
    harness.will_say(&[verdict, verdict, verdict]);
    let answered = ask(OPERATOR, "1").await.text().await.unwrap();
    assert!(answered.contains("data-testid=\"asked\""), "{answered}");
    assert!(harness.model.requests().len() > asked_before);
    assert!(spent().await > spent_before, "what was asked is booked");
    assert!(!answered.contains("data-testid=\"group-unknown\""), "{answered}");
    // The answers are cached for a while, and cost nothing the second time.
    let asked = harness.model.requests().len();
    let shown = get(&program, Some(OPERATOR), &query).await.text().await.unwrap();
    assert!(!shown.contains("data-testid=\"group-unknown\""), "{shown}");
    assert_eq!((harness.model.requests().len(), harness.slack.posts().len()), (asked, 0));
    let log = harness.log();
    assert!(!log.contains("no answer on record"), "a trial is not what the program did: {log}");
    assert_eq!(program.stop(), Some(0));
}

/// A cap on money blocks nothing if the price of a call is unknown.
#[tokio::test]
async fn a_model_without_a_price_is_not_asked() {
    let (harness, program, workspace) = judged().await;
    let asked = harness.model.requests().len();
    let page = format!("{}{}", program.address, address(&workspace, &harness.tea));
    let form = client().post(page).bearer_auth(OPERATOR);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let refused = form.body("days=1&cap=0").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text().await.unwrap().contains("price is not known"));
    assert_eq!(harness.model.requests().len(), asked);
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn private_words_are_tried_and_reported_for_admins_only() {
    let (harness, program, workspace) = judged().await;
    harness.post_message(&harness.attic, &harness.mio, &format!("who has the {CANARY} key?"));
    harness.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 2).await;
    let pages = [
        format!("{}?days=1", address(&workspace, &harness.attic)),
        format!("/console/report?workspace={workspace}&days=1"),
        format!("/console/report?workspace={workspace}&days=1&private=true"),
    ];
    let seen = async |token: &str, page: &str| {
        get(&program, Some(token), page).await.text().await.unwrap()
    };
    for page in &pages {
        for token in [OPERATOR, VIEWER] {
            let shown = seen(token, page).await;
            assert!(!shown.contains(CANARY) && !shown.contains("attic"), "{page}: {shown}");
            assert!(!shown.contains(REASON) && !shown.contains("top shelf"), "{page}: {shown}");
        }
    }
    assert!(seen(ADMIN, &pages[0]).await.contains(CANARY));
    let report = seen(ADMIN, &pages[1]).await;
    assert!(report.contains("top shelf") && !report.contains(CANARY), "{report}");
    assert!(
        report.contains("&#60;script&#62;") && report.contains("/console/report.css"),
        "{report}"
    );
    assert!(seen(ADMIN, &pages[2]).await.contains("top shelf"));
    let reads = get(&program, Some(ADMIN), "/api/private-reads").await.text().await.unwrap();
    assert!(reads.contains(&harness.attic) && !reads.contains(&harness.tea), "{reads}");
    assert_eq!(program.stop(), Some(0));
}
