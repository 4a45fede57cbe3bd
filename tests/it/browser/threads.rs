//! Threads: beside the channel, with the persona, and back to where one was.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

const TAP: &str = "the tap in the yard drips";
const ANSWER: &str = "nothing that was said here answers that";

#[tokio::test]
async fn a_thread_is_opened_answered_and_closed() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    let bob = browser.tab(&room, "bob").await;

    alice.says(TAP).await;
    alice.clicks_on_line(TAP, "thread-open").await;
    alice.focus_is("thread-composer").await;
    let is_beside = "const [channel, thread] = ['channel-pane', 'thread-pane']
            .map((id) => document.getElementById(id).getBoundingClientRect());
        return channel.width > 300 && thread.width > 300 && channel.right <= thread.left";
    alice.reads(is_beside, json!(true)).await;

    // Nobody has replied: the line itself takes the focus back.
    alice.presses(Key::Escape).await;
    alice.focus_is(TAP).await;
    alice.reads(IS_CLOSED, json!(true)).await;

    alice.presses(Key::Enter).await;
    alice.focus_is("thread-composer").await;
    alice.says_in("thread-composer", "I will bring a washer").await;
    alice.sees_in("thread-messages", &[TAP, "I will bring a washer"]).await;
    // In the channel a thread is a number beside its first line.
    alice.sees(&["1 reply"]).await;
    bob.sees(&["1 reply"]).await;

    bob.clicks_on_line(TAP, "thread-open").await;
    bob.sees_in("thread-messages", &[TAP, "I will bring a washer"]).await;
    bob.says_in("thread-composer", "@Aizuchi which size is it?").await;
    let all = [TAP, "I will bring a washer", "@Aizuchi which size is it?", ANSWER];
    bob.sees_in("thread-messages", &all).await;
    alice.sees_in("thread-messages", &all).await;
    alice.sees(&["3 replies"]).await;

    // A reload keeps the thread open; Esc closes it and goes back to the button that opens it.
    alice.reloads().await;
    alice.sees_in("thread-messages", &all).await;
    alice.focus_is("thread-composer").await;
    alice.presses(Key::Escape).await;
    alice.focus_is("thread-open").await;
    alice.reads(IS_CLOSED, json!(true)).await;

    // What comes now is new to her, until she looks.
    bob.says_in("thread-composer", "half an inch").await;
    alice.sees(&["4 replies new"]).await;
    alice.presses(Key::Enter).await;
    alice.sees_in("thread-messages", &[&all[..], &["half an inch"]].concat()).await;
    alice.clicks("thread-close").await;
    alice.focus_is("thread-open").await;
    let button = "return document.querySelector('[data-testid=thread-open]').textContent";
    alice.reads(button, json!("4 replies")).await;

    // The browser's own way back goes through the thread.
    alice.goes_back().await;
    alice.focus_is("thread-composer").await;
    browser.close().await;
}

const IS_CLOSED: &str = "return document.querySelector('[data-testid=thread-panel]').hidden";
