//! Talking: two people in two tabs, a reload, a server that restarts; and reading why it spoke.

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;
use aizuchi_harness::net::free_port;

#[tokio::test]
async fn two_tabs_talk_and_the_persona_answers() {
    let home = Home::on(free_port(), 0.5);
    let mut room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    let bob = browser.tab(&room, "bob").await;

    // One tab holds the stream, the other waits for its place.
    assert_eq!(locks(&bob).await, json!([1, 1]));

    alice.says("good morning everybody").await;
    bob.sees(&["good morning everybody"]).await;
    // The silence and its reason stand beside the line.
    bob.find("silence").await;
    bob.says("@Aizuchi are you there?").await;
    let answer = "nothing that was said here answers that";
    alice.sees(&["good morning everybody", "@Aizuchi are you there?", answer]).await;

    alice.reloads().await;
    alice.sees(&["good morning everybody", "@Aizuchi are you there?", answer]).await;

    room.kill();
    alice.connection("reconnecting").await;
    room = home.start();
    alice.connection("live").await;
    room.says("carol", "I am new here").await;
    let all = ["good morning everybody", "@Aizuchi are you there?", answer, "I am new here"];
    alice.sees(&all).await;
    bob.sees(&all).await;
    bob.says("welcome, carol").await;
    alice.sees(&[&all[..], &["welcome, carol"]].concat()).await;
    browser.close().await;
}

#[tokio::test]
async fn the_next_line_is_begun_while_the_last_is_on_its_way() {
    let home = Home::on(free_port(), 0.1);
    let mut room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    // A slow way to the server: no line arrives before it is let through.
    let slow = "const real = window.fetch;
        window.fetch = async (address, options) => {
            const isLine = options?.method === 'POST';
            if (isLine) await new Promise((through) => (window.letThrough = through));
            return real(address, options);
        }";
    alice.evaluate(slow).await;

    alice.types("soup today").await;
    alice.presses(Key::Enter).await;
    alice.types("and bread").await;
    alice.reads(FIELD, json!("and bread")).await;
    alice.evaluate("window.letThrough()").await;
    alice.sees(&["soup today"]).await;
    alice.reads(FIELD, json!("and bread")).await;

    // An Enter that comes too early counts when its time has come.
    alice.presses(Key::Enter).await;
    alice.types("and salt").await;
    alice.presses(Key::Enter).await;
    alice.evaluate("window.letThrough()").await;
    alice.sees(&["soup today", "and bread"]).await;
    alice.reads(FIELD, json!("")).await;
    alice.evaluate("window.letThrough()").await;
    alice.sees(&["soup today", "and bread", "and salt"]).await;

    // What could not be sent comes back, before what was written since.
    alice.types("and oil").await;
    alice.presses(Key::Enter).await;
    alice.types("and butter").await;
    room.kill();
    alice.connection("reconnecting").await;
    alice.evaluate("window.letThrough()").await;
    alice.find("error").await;
    alice.reads(FIELD, json!("and oil\nand butter")).await;
    room = home.start();
    alice.connection("live").await;
    alice.presses(Key::Enter).await;
    alice.evaluate("window.letThrough()").await;
    alice.sees(&["soup today", "and bread", "and salt", "and oil\nand butter"]).await;
    alice.reads(FIELD, json!("")).await;
    drop(room);
    browser.close().await;
}

const FIELD: &str = "return document.querySelector('[data-testid=composer]').value";

#[tokio::test]
async fn who_knows_the_token_is_let_in() {
    let home = Home::new(1000.0);
    let token = "open-sesame-0123456789";
    let config = std::fs::read_to_string(home.config()).unwrap();
    let config = config.replace("127.0.0.1:0", &format!("127.0.0.1:0\n  token: {token}"));
    std::fs::write(home.config(), config).unwrap();
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.blank().await;
    alice.opens(&room.address).await;
    alice.writes_in("token", "i do not know it").await;
    alice.clicks("enter").await;
    let refusal = "return document.querySelector('[role=alert]')?.textContent";
    alice.reads(refusal, json!("That is not the token.")).await;
    alice.writes_in("token", token).await;
    alice.clicks("enter").await;
    alice.writes_in("name-input", "alice").await;
    alice.clicks("name-save").await;
    alice.connection("live").await;
    alice.writes_in("composer", "here I am").await;
    alice.presses(Key::Enter).await;
    alice.sees(&["here I am"]).await;
    browser.close().await;
}

#[tokio::test]
async fn a_decision_opens_with_what_was_asked_and_answered() {
    let room = Home::new(0.1);
    let room = room.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;

    alice.says("who has the key to the shed?").await;
    alice.find("spoke").await;
    alice.clicks_on_line("question is still open", "decision-link").await;

    let outcome = "return document.querySelector('[data-testid=outcome]')?.textContent.replace(/\\s+/g, ' ').trim()";
    let why = "spoke — alice asked the room something and nobody has answered";
    alice.reads(outcome, json!(why)).await;
    let words = "return [...document.querySelectorAll('[data-testid=call]')].map((call) => {
        call.querySelector('summary').click();
        const [prompt, answer] = call.querySelectorAll('pre');
        const isAsked = prompt.checkVisibility() && prompt.textContent.includes('who has the key to the shed?');
        return [call.querySelector('h3').textContent, isAsked, answer.textContent.includes('alice')];
    })";
    alice.reads(words, json!([["Judge: used", true, true], ["Reply: used", true, true]])).await;

    // The way back leads to where one was.
    alice.goes_back().await;
    alice.sees(&["who has the key to the shed?", "question is still open"]).await;
    browser.close().await;
}

#[tokio::test]
async fn a_person_and_a_channel_are_added() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    let bob = browser.tab(&room, "bob").await;

    alice.clicks("person-add").await;
    alice.writes_in("add-input", "alice").await;
    alice.clicks("add-save").await;
    // She is known already, and that is fine.
    alice.focus_is("person-alice").await;
    alice.clicks("person-add").await;
    alice.writes_in("add-input", "Carol Diaz").await;
    alice.clicks("add-save").await;
    alice.focus_is("person-Carol Diaz").await;
    bob.find("person-Carol Diaz").await;

    alice.clicks("channel-add").await;
    alice.writes_in("add-input", "garden").await;
    alice.clicks("add-save").await;
    alice
        .reads("return document.querySelector('#channel-title').textContent", json!("garden"))
        .await;
    alice.clicks("person-Carol Diaz").await;
    alice.reads("return document.querySelector('#me').textContent", json!("Carol Diaz")).await;
    alice.says("the beans are out").await;
    alice.sees(&["the beans are out"]).await;

    // Elsewhere it is an unread line, until one goes there.
    let unread = "return document.querySelector('[data-testid=channel-garden]')?.dataset.unread";
    bob.reads(unread, json!("1")).await;
    bob.sees(&[]).await;
    bob.clicks("channel-garden").await;
    bob.sees(&["the beans are out"]).await;
    bob.reads(unread, json!("0")).await;
    let author = "return document.querySelector('[data-testid=message]').dataset.user";
    assert_eq!(bob.evaluate(author).await, json!("Carol Diaz"));

    // A refused name is asked for again, with the reason.
    alice.clicks("channel-add").await;
    alice.writes_in("add-input", "garden").await;
    alice.clicks("add-save").await;
    alice
        .reads("return !document.querySelector('[data-testid=add-error]').hidden", json!(true))
        .await;
    alice.clicks("add-cancel").await;
    browser.close().await;
}

/// How many tabs hold the stream, and how many wait for it.
async fn locks(tab: &Tab) -> Value {
    let read = "const done = arguments[0];
        navigator.locks.query().then(({ held, pending }) => done([held.length, pending.length]))";
    tab.evaluate_later(read, vec![]).await
}
