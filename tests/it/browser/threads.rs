//! Threads: beside the channel, with the persona, and where the focus goes.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

const TAP: &str = "the tap in the yard drips";
const ANSWER: &str = "I don’t know, bob. I found nothing here that answers that.";

#[tokio::test]
async fn a_thread_is_opened_answered_and_closed() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;

    alice.post(TAP).await;
    alice.click_on_message(TAP, "thread-open").await;
    alice.expect_focus("thread-composer").await;
    let is_beside = "const [channel, thread] = ['channel-pane', 'thread-pane']
            .map((id) => document.getElementById(id).getBoundingClientRect());
        return channel.width > 300 && thread.width > 300 && channel.right <= thread.left";
    alice.expect_result(is_beside, json!(true)).await;

    // Without replies, the focus returns to the message itself.
    alice.press(Key::Escape).await;
    alice.expect_focus(TAP).await;
    alice.expect_result(IS_CLOSED, json!(true)).await;

    alice.press(Key::Enter).await;
    alice.expect_focus("thread-composer").await;
    alice.post_in("thread-composer", "I will bring a washer").await;
    alice.expect_messages_in("thread-messages", &[TAP, "I will bring a washer"]).await;
    // In the channel, the parent shows the number of replies.
    alice.expect_messages(&["1 reply"]).await;
    bob.expect_messages(&["1 reply"]).await;

    bob.click_on_message(TAP, "thread-open").await;
    bob.expect_messages_in("thread-messages", &[TAP, "I will bring a washer"]).await;
    bob.post_in("thread-composer", "@Aizuchi which size is it?").await;
    let all = [TAP, "I will bring a washer", "@Aizuchi which size is it?", ANSWER];
    bob.expect_messages_in("thread-messages", &all).await;
    alice.expect_messages_in("thread-messages", &all).await;
    alice.expect_messages(&["3 replies"]).await;

    // A reload keeps the thread open; Esc closes it and moves the focus to the button that opens it.
    alice.reload().await;
    alice.expect_messages_in("thread-messages", &all).await;
    alice.expect_focus("thread-composer").await;
    alice.press(Key::Escape).await;
    alice.expect_focus("thread-open").await;
    alice.expect_result(IS_CLOSED, json!(true)).await;

    // New replies are marked until the thread is opened.
    bob.post_in("thread-composer", "thanks, alice").await;
    alice.expect_messages(&["4 replies new"]).await;
    alice.press(Key::Enter).await;
    alice.expect_messages_in("thread-messages", &[&all[..], &["thanks, alice"]].concat()).await;
    alice.click("thread-close").await;
    alice.expect_focus("thread-open").await;
    let button = "return document.querySelector('[data-testid=thread-open]').textContent";
    alice.expect_result(button, json!("4 replies")).await;

    // The browser's history includes the thread.
    alice.go_back().await;
    alice.expect_focus("thread-composer").await;
    browser.close().await;
}

const IS_CLOSED: &str = "return document.querySelector('[data-testid=thread-panel]').hidden";
