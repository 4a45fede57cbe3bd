//! The foot of the page tells how far what was missed has been read.

use aizuchi_fakes::fault::Hang;
use aizuchi_fakes::slack::fault::Fault;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::slack::harness::SlackHarness;

#[tokio::test]
async fn the_page_tells_what_is_being_read_until_it_is() {
    let stage = SlackHarness::new().await;
    stage.slack.inject_fault_times(
        "conversations.history",
        &Fault::HangBefore(Hang::UntilReleased),
        8,
    );
    let program = stage.home.start();
    stage.until(|slack| !slack.calls("conversations.history").is_empty()).await;
    let browser = Browser::start().await;
    let tab = browser.tab(&program, "hana").await;
    let told = "return document.getElementById('catching-up')?.textContent ?? null";
    let sentence = "Slack: what was missed has been read in 0 of 2 channels, and in 0 threads";
    tab.reads(told, json!(sentence)).await;
    stage.slack.clear_faults();
    tab.reads(told, Value::Null).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
