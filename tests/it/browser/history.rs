//! What was said before: fetched when asked for, with what was decided about it.

use futures_util::StreamExt;
use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;
use aizuchi_harness::net::free_port;

const FIRST: &str = "we begin with a plan";
const LATER: usize = 210;

#[tokio::test]
async fn earlier_lines_come_with_their_decisions() {
    let home = Home::on(free_port(), 0.1);
    let mut room = home.start();
    let first = room.says("bob", FIRST).await;
    room.wait_for(0, |kind, data| kind == "decision" && !data["closed"].is_null()).await;
    let lines: Vec<String> = (0..LATER).map(|number| format!("step {number}")).collect();
    let said = futures_util::stream::iter(&lines).map(|line| room.says("carol", line));
    assert_eq!(said.buffer_unordered(8).count().await, LATER);

    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    let count = "return document.querySelectorAll('[data-testid=messages] > .message').length";
    alice.reads(count, json!(200)).await;

    // Somebody replies to a line that does not stand here.
    let reply =
        json!({ "channel": "general", "thread": first, "user": "bob", "text": "a good plan" });
    assert_eq!(room.post(&reply).await.0, 201);
    alice.clicks("older-thread-open").await;
    alice.sees_in("thread-messages", &[FIRST, "a good plan"]).await;
    alice.clicks("thread-close").await;
    alice.focus_is("older-thread-open").await;

    room.kill();
    alice.connection("reconnecting").await;
    alice.clicks("earlier").await;
    let sentence = "return document.querySelector('[data-testid=earlier-error]').textContent";
    let refused = "These messages could not be loaded. The server could not be reached.";
    alice.reads(sentence, json!(refused)).await;
    alice.find("earlier-error").await;
    let button = "return document.querySelector('[data-testid=earlier]').textContent";
    alice.reads(button, json!("Try again")).await;
    alice.reads(count, json!(200)).await;

    room = home.start();
    alice.connection("live").await;
    alice.clicks("earlier").await;
    alice.reads(count, json!(LATER + 1)).await;
    let oldest = "const line = document.querySelector('[data-testid=messages] > [data-testid=message]');
        return [line.querySelector('.text').textContent, line.querySelector('.note span').textContent]";
    alice.reads(oldest, json!([FIRST, "stayed silent: nobody asked the room anything"])).await;
    let rest = "return ['earlier', 'earlier-error', 'older-thread-open']
        .filter((id) => document.querySelector(`[data-testid=${id}]:not([hidden])`) !== null)";
    alice.reads(rest, json!([])).await;
    // The line is known now, so it shows its own thread.
    alice.clicks_on_line(FIRST, "thread-open").await;
    alice.sees_in("thread-messages", &[FIRST, "a good plan"]).await;
    drop(room);
    browser.close().await;
}

/// The oldest line that was fetched is where the page's knowledge begins, so both must order lines alike.
#[tokio::test]
async fn lines_of_one_moment_stand_as_the_server_orders_them() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
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
