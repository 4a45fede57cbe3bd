//! Messages that the server stores, although the page does not get its answer, or gets it late.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

const FIELD: &str = "return document.querySelector('[data-testid=composer]').value";
/// Loses the answer to the next message, once the test lets the page notice.
const LOSE_LATE: &str = "const real = window.fetch;
    window.fetch = async (address, options) => {
        if (options?.method !== 'POST') return real(address, options);
        window.fetch = real;
        await real(address, options);
        await new Promise((through) => (window.letThrough = through));
        throw new TypeError('lost');
    }";
/// Loses the answer to the next message before the server has it.
const LOSE_EARLY: &str = "const real = window.fetch;
    window.fetch = async (address, options) => {
        if (options?.method !== 'POST') return real(address, options);
        window.fetch = real;
        setTimeout(() => real(address, options), 0);
        throw new TypeError('lost');
    }";

/// Delays the answer to the next message until the test lets it through.
const DELAY: &str = "const real = window.fetch;
    window.fetch = async (address, options) => {
        const answer = await real(address, options);
        if (options?.method === 'POST') await new Promise((through) => (window.letThrough = through));
        return answer;
    }";

#[tokio::test]
async fn a_message_can_be_edited_before_its_answer_arrives() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.evaluate(DELAY).await;
    alice.type_text("there is soup").await;
    alice.press(Key::Enter).await;
    // It arrives as an event.
    alice.expect_messages(&["there is soup"]).await;
    alice.press(Key::Up).await;
    alice.expect_focus("edit-field").await;
    alice.type_text(" and bread").await;
    alice.press(Key::Enter).await;
    let edited = ["there is soup and bread (edited)"];
    alice.expect_messages(&edited).await;
    alice.expect_result("return window.letThrough !== undefined", json!(true)).await;
    alice.evaluate("window.letThrough()").await;
    let is_sending =
        "return document.querySelector('#channel-pane .composer').getAttribute('aria-busy')";
    alice.expect_result(is_sending, json!("false")).await;
    alice.expect_messages(&edited).await;
    browser.close().await;
}

#[tokio::test]
async fn a_message_that_was_stored_is_not_sent_again_with_the_next_one() {
    let program = Home::new(1000.0);
    let program = program.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.evaluate(LOSE_LATE).await;
    alice.type_text("there is soup").await;
    alice.press(Key::Enter).await;
    alice.expect_messages(&["there is soup"]).await;
    alice.type_text("with bread").await;
    alice.expect_result("return window.letThrough !== undefined", json!(true)).await;
    alice.evaluate("window.letThrough()").await;
    alice.find("error").await;
    alice.expect_result(FIELD, json!("with bread")).await;
    alice.press(Key::Enter).await;
    alice.expect_messages(&["there is soup", "with bread"]).await;

    alice.evaluate(LOSE_EARLY).await;
    alice.type_text("and salt").await;
    alice.press(Key::Enter).await;
    alice.expect_messages(&["there is soup", "with bread", "and salt"]).await;
    alice.expect_result(FIELD, json!("")).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
