//! The footer of the page shows the progress of the backfill.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::fault::Fault;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn the_page_shows_the_backfill_until_it_is_complete() {
    let harness = SlackHarness::new().await;
    for channel in [&harness.tea, &harness.attic] {
        harness.slack.break_history(channel, Fault::HangBefore(Hang::UntilReleased));
    }
    let browser = Browser::start().await;
    let program = harness.home.start();
    harness.wait_until(|slack| !slack.calls("conversations.history").is_empty()).await;
    let tab = browser.tab(&program, "hana").await;
    let footer = "return document.getElementById('catching-up')?.textContent ?? null";
    let sentence = "Slack: caught up on 0 of 2 channels and 0 threads";
    tab.expect_result(footer, json!(sentence)).await;
    harness.slack.clear_faults();
    tab.expect_result(footer, Value::Null).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
