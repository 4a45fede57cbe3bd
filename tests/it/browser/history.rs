//! Earlier messages: loaded on request, with their decisions.

use aizuchi_harness::net::free_port;
use futures_util::StreamExt;
use serde_json::json;

use crate::browser::Browser;
use crate::program::{Home, Program};

const FIRST: &str = "I begin with a plan";
const LATER: usize = 210;
const REPLIES: usize = 205;

#[tokio::test]
async fn earlier_messages_are_loaded_with_their_decisions() {
    let home = Home::on(free_port(), 0.1);
    let mut program = home.start();
    let first = program.says("bob", FIRST).await;
    program.wait_for(0, |kind, data| kind == "decision" && !data["closed"].is_null()).await;
    let texts: Vec<String> = (0..LATER).map(|number| format!("step {number}")).collect();
    let posts = futures_util::stream::iter(&texts).map(|text| program.says("carol", text));
    assert_eq!(posts.buffer_unordered(8).count().await, LATER);

    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let count = "return document.querySelectorAll('[data-testid=messages] > .message').length";
    alice.expect_result(count, json!(200)).await;

    // A user replies to a message that the page has not loaded.
    let reply =
        json!({ "channel": "general", "thread": first, "user": "bob", "text": "a good plan" });
    assert_eq!(program.post(&reply).await.0, 201);
    alice.click("older-thread-open").await;
    alice.expect_messages_in("thread-messages", &[FIRST, "a good plan"]).await;
    alice.click("thread-close").await;
    alice.expect_focus("older-thread-open").await;

    program.kill();
    alice.expect_connection("reconnecting").await;
    alice.click("earlier").await;
    let sentence = "return document.querySelector('[data-testid=earlier-error]').textContent";
    let refused = "These messages could not be loaded. The server could not be reached.";
    alice.expect_result(sentence, json!(refused)).await;
    alice.find("earlier-error").await;
    let button = "return document.querySelector('[data-testid=earlier]').textContent";
    alice.expect_result(button, json!("Try again")).await;
    alice.expect_result(count, json!(200)).await;

    program = home.start();
    alice.expect_connection("live").await;
    alice.click("earlier").await;
    alice.expect_result(count, json!(LATER + 1)).await;
    let oldest = "const line = document.querySelector('[data-testid=messages] > [data-testid=message]');
        return [line.querySelector('.text').textContent, line.querySelector('.note span').textContent]";
    alice
        .expect_result(
            oldest,
            json!([FIRST, "stayed silent: nobody seemed to be waiting for an answer"]),
        )
        .await;
    let rest = "return ['earlier', 'earlier-error', 'older-thread-open']
        .filter((id) => document.querySelector(`[data-testid=${id}]:not([hidden])`) !== null)";
    alice.expect_result(rest, json!([])).await;
    // The message is loaded now, so it links to its thread itself.
    alice.click_on_message(FIRST, "thread-open").await;
    alice.expect_messages_in("thread-messages", &[FIRST, "a good plan"]).await;
    drop(program);
    browser.close().await;
}

/// An event may bring a reply that is older than those that are loaded, without the ones in between.
#[tokio::test]
async fn a_long_thread_is_loaded_without_a_gap() {
    let home = Home::new(1000.0);
    let program = home.start();
    let first = program.says("bob", FIRST).await;
    let oldest = reply(&program, &first, "reply 0").await;
    let texts: Vec<String> = (1..REPLIES).map(|number| format!("reply {number}")).collect();
    let replies = futures_util::stream::iter(&texts).map(|text| reply(&program, &first, text));
    assert_eq!(replies.buffer_unordered(8).count().await, REPLIES - 1);

    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.click("older-thread-open").await;
    let count = "return document.querySelectorAll('[data-testid=thread-messages] > [data-testid=message]').length";
    alice.expect_result(count, json!(201)).await;
    let edit = json!({ "channel": "general", "user": "carol", "text": "the first reply" });
    let path = format!("/api/messages/{oldest}");
    assert_eq!(program.send("PATCH", &path, Some(&edit)).await.0, 200);
    alice.expect_result(count, json!(202)).await;
    alice.click("thread-earlier").await;
    alice.expect_result(count, json!(REPLIES + 1)).await;
    browser.close().await;
}

/// Replies in a thread, and returns the id of the reply.
async fn reply(program: &Program, thread: &str, text: &str) -> String {
    let body = json!({ "channel": "general", "thread": thread, "user": "carol", "text": text });
    let (status, answer) = program.post(&body).await;
    assert_eq!(status, 201, "{answer}");
    answer["id"].as_str().unwrap().to_owned()
}

/// The page and the server must order messages alike, because the oldest loaded message is where the next page starts.
#[tokio::test]
async fn messages_with_equal_times_have_the_servers_order() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let script = "const [ids, done] = arguments;
        import('/static/state.js').then(({ State }) => {
            const state = new State();
            const lines = ids.map((id) => ({ id, ts: 1, channel: 'c', thread: null, revision: 1 }));
            for (const line of lines.toReversed()) state.applyMessage(line);
            state.reach('c', lines[0]);
            done(state.conversation('c', null).map(({ id }) => id));
        })";
    let mut ids = ["ae7a-10", "ae7a-9", "ae7b", "AE7b", "9f", "10f", "1"];
    ids.sort_unstable();
    let found = alice.evaluate_later(script, vec![json!(ids)]).await;
    assert_eq!(found, json!(ids));
    browser.close().await;
}
