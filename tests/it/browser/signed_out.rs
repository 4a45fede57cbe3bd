//! A page of the console whose visitor is signed out meanwhile, in another tab or because the program started again.

use serde_json::json;

use crate::browser::Browser;
use crate::browser::console::sign_in;
use crate::console::harness::{OPERATOR, set_tokens};
use crate::program::Home;

#[tokio::test]
async fn a_page_that_stays_open_asks_for_the_token_again() {
    let home = Home::new(1000.0);
    set_tokens(&home);
    let program = home.start();
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, OPERATOR).await;
    tab.open_page(&format!("{}/console", program.address)).await;
    // It is told of changes from here on.
    tab.expect_result("return document.readyState", json!("complete")).await;
    let other = browser.blank().await;
    other.open_page(&format!("{}/console/queue", program.address)).await;
    other.click("sign-out").await;
    other.find("token").await;
    let page = "return location.pathname + location.search";
    tab.expect_result(page, json!("/login?next=%2Fconsole")).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
