//! Calls of the what-if page whose answers nobody waits for.

use aizuchi_harness::providers::ProviderResponse;

use crate::console::harness::{ADMIN, client, set_tokens, slack_workspace};
use crate::slack::harness::{SlackHarness, SlackOptions};

const PRICES: &str = "models:\n  prices:\n    openai/large-1: {input: 2, output: 10}\n";

/// The provider may charge for a call whose answer never comes, so its most cost counts against the channel's budget.
#[tokio::test]
async fn a_call_that_is_given_up_counts() {
    let options = SlackOptions { wait: 0.3, more: PRICES, ..SlackOptions::default() };
    let harness = SlackHarness::with(options).await;
    set_tokens(&harness);
    let program = harness.start().await;
    // The message is addressed to a user, so the judge was not asked about it.
    let thanks = format!("<@{}> thanks for the tea", harness.ren);
    harness.post_message(&harness.tea, &harness.mio, &thanks);
    harness.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let asked = harness.model.requests().len();
    harness.model.then([ProviderResponse::Never]);
    let page = format!("{}/console/channels/{workspace}/{}/what-if", program.address, harness.tea);
    let form = client().post(page).bearer_auth(ADMIN);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    tokio::select! {
        answer = form.body("days=1&cap=1").send() => panic!("an answer came: {answer:?}"),
        () = harness.model.came(asked + 1) => {}
    }
    // The page is closed now.
    harness.model.abandoned(1).await;
    let held = format!(
        "SELECT count(*) FROM reservations WHERE channel = '{}' AND micros > 0",
        harness.tea
    );
    harness.until_kept(&held, 1).await;
    assert_eq!(program.stop(), Some(0));
}
