//! A channel's keeper posts another text, through a Slack form: over a socket and over HTTP.

use serde_json::{Value, json};

use crate::program::Program;
use crate::slack::harness::{SlackHarness, SlackOptions};

const VERDICT: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;

/// Returns a harness with ren as the keeper of the public channel.
async fn kept(more: &'static str) -> SlackHarness {
    let options = SlackOptions { wait: 0.2, more, ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    let keeper = &harness.ren;
    harness.home.add(&format!("channels:\n  \"#tea\": {{mode: propose, keeper: \"@{keeper}\"}}\n"));
    harness
}

/// Starts the program with events and interactions over HTTP.
async fn start_over_http(harness: &SlackHarness) -> Program {
    harness.home.replace("app_token: xapp-dev", "signing_secret: dev-signing-secret");
    let program = harness.home.start();
    harness.until_kept("SELECT count(*) FROM channels WHERE workspace = 'T0DEV00001'", 2).await;
    harness.slack.set_request_url(&format!("{}/slack/events", program.address));
    harness.wait_until(|slack| slack.request_url().is_some_and(|it| it.is_verified())).await;
    program
}

/// Returns the errors shown in the newest form.
fn wrong(harness: &SlackHarness) -> Value {
    harness.slack.read(|state| {
        let errors = state.views.views.last().map(|view| view.errors.clone());
        errors.map_or(Value::Null, Value::Object)
    })
}

async fn until_wrong(harness: &SlackHarness, told: &str) {
    harness.wait_until(|_| wrong(harness) == json!({ "words": told })).await;
}

/// The persona proposes an answer to a question, and the keeper edits it.
async fn is_said_in_other_words(harness: SlackHarness, program: Program) {
    let (mio, keeper) = (harness.mio.clone(), harness.ren.clone());
    harness.will_say(&[VERDICT, "By the gate."]);
    harness.post_message(&harness.tea, &mio, "does anyone know where the ladder is?");
    let asked = harness.wait_for_posts(1).await.remove(0);
    let direct = harness.slack.open_direct_message(&keeper).unwrap();
    // Other users do not get the form.
    harness.slack.click(&direct, asked.ts, &mio, "edit").unwrap();
    let refused = "You don’t look after that channel.";
    harness
        .wait_until(|slack| {
            let is_told = |it: &aizuchi_fakes::slack::workspace::EphemeralMessage| {
                it.user == mio && it.text == refused
            };
            slack.read(|state| state.workspace.ephemeral.iter().any(is_told))
        })
        .await;
    assert_eq!(harness.slack.form(&mio), None);
    harness.slack.click(&direct, asked.ts, &keeper, "edit").unwrap();
    harness.wait_until(|slack| slack.form(&keeper).is_some()).await;
    let form = harness.slack.form(&keeper).unwrap();
    assert_eq!(form.initial_value(), "By the gate.");
    assert_eq!(form.view["title"]["text"], "Say it in other words");
    harness.slack.submit_form(&keeper, " ").unwrap();
    until_wrong(&harness, "There are no words to post.").await;
    let words = "By the old gate, <!channel> and @everyone: https://shed.example/ladder";
    let payload = harness.slack.submit_form(&keeper, words).unwrap();
    harness.wait_until(|slack| slack.form(&keeper).is_none()).await;
    // Slack may send it twice.
    harness.slack.interact(payload);
    until_wrong(&harness, "Somebody has already decided about this.").await;
    let posts = harness.wait_for_posts(2).await;
    assert_eq!(posts[1].channel, harness.tea);
    let posted = &posts[1].text;
    // The keeper's own link stays, and no post mentions everyone.
    assert!(posted.starts_with("By the old gate"), "{posted}");
    assert!(posted.contains("https://shed.example/ladder"), "{posted}");
    assert!(!posted.contains("<!channel>") && !posted.contains("<!everyone>"), "{posted}");
    let settled = ["In #tea: said in other words."];
    harness.wait_until(|slack| slack.texts(&direct).unwrap() == settled).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    for kept in [
        format!(
            "SELECT count(*) FROM proposals WHERE state = 'edited' AND decided_by LIKE '{keeper} %'"
        ),
        format!("SELECT count(*) FROM decision_marks WHERE marked_by LIKE '{keeper} %'"),
        "SELECT count(*) FROM outbox WHERE state = 'original' AND text = 'By the gate.'".to_owned(),
    ] {
        assert_eq!(harness.count(&kept).await, 1, "{kept}");
    }
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 2);
}

#[tokio::test]
async fn a_keeper_edits_over_a_socket() {
    let harness = kept("").await;
    let program = harness.start().await;
    is_said_in_other_words(harness, program).await;
}

#[tokio::test]
async fn a_keeper_edits_over_http() {
    let harness = kept("").await;
    let program = start_over_http(&harness).await;
    is_said_in_other_words(harness, program).await;
}

#[tokio::test]
async fn an_edit_that_comes_too_late_says_so_in_japanese() {
    let harness = kept("language: ja\n").await;
    let keeper = harness.ren.clone();
    let program = harness.start().await;
    harness.will_say(&[VERDICT, "門のそばです。"]);
    let question =
        harness.post_message(&harness.tea, &harness.mio, "はしごがどこか知っている人はいますか？");
    let asked = harness.wait_for_posts(1).await.remove(0);
    let direct = harness.slack.open_direct_message(&keeper).unwrap();
    harness.slack.click(&direct, asked.ts, &keeper, "edit").unwrap();
    harness.wait_until(|slack| slack.form(&keeper).is_some()).await;
    let form = harness.slack.form(&keeper).unwrap();
    assert_eq!(form.view["title"]["text"], "文を変えて話す");
    assert_eq!(form.initial_value(), "門のそばです。");
    // The author deletes the question while the form is open.
    harness.slack.delete_message(&harness.tea, question).unwrap();
    let lapsed = ["#tea の件は「期限切れ」となりました。"];
    harness.wait_until(|slack| slack.texts(&direct).unwrap() == lapsed).await;
    harness.slack.submit_form(&keeper, "古い門のそばです。").unwrap();
    until_wrong(&harness, "もう間に合いません。話すタイミングを過ぎました。").await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(harness.slack.posts().len(), 1);
}
