//! A conversation: two users in two tabs, a reload, a restart of the server, and the explanation of a decision.

use aizuchi_harness::net::free_port;
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;

#[tokio::test]
async fn two_tabs_chat_and_the_persona_answers() {
    let home = Home::on(free_port(), 0.5);
    let mut program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;

    // One tab holds the event stream, the other waits for the lock.
    assert_eq!(locks(&bob).await, json!([1, 1]));

    alice.post("good morning everybody").await;
    bob.expect_messages(&["good morning everybody"]).await;
    // The decision to stay silent is shown beside the message.
    bob.find("silence").await;
    bob.post("@Aizuchi are you there?").await;
    let answer = "Yes, bob? Ask me about anything that was said here, or say @Aizuchi help.";
    alice.expect_messages(&["good morning everybody", "@Aizuchi are you there?", answer]).await;

    alice.reload().await;
    alice.expect_messages(&["good morning everybody", "@Aizuchi are you there?", answer]).await;

    program.kill();
    alice.expect_connection("reconnecting").await;
    program = home.start();
    alice.expect_connection("live").await;
    program.says("carol", "I am new here").await;
    let all = ["good morning everybody", "@Aizuchi are you there?", answer, "I am new here"];
    alice.expect_messages(&all).await;
    bob.expect_messages(&all).await;
    bob.post("welcome, carol").await;
    alice.expect_messages(&[&all[..], &["welcome, carol"]].concat()).await;
    browser.close().await;
}

#[tokio::test]
async fn the_next_message_can_be_written_while_the_last_is_being_sent() {
    let home = Home::on(free_port(), 0.1);
    let mut program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    // A slow connection: no message is sent before the test lets it through.
    let slow = "const real = window.fetch;
        window.fetch = async (address, options) => {
            const isLine = options?.method === 'POST';
            if (isLine) await new Promise((through) => (window.letThrough = through));
            return real(address, options);
        }";
    alice.evaluate(slow).await;

    alice.type_text("soup today").await;
    alice.press(Key::Enter).await;
    alice.type_text("and bread").await;
    alice.expect_result(FIELD, json!("and bread")).await;
    let_through(&alice).await;
    alice.expect_messages(&["soup today"]).await;
    alice.expect_result(FIELD, json!("and bread")).await;

    // An Enter during sending takes effect afterwards.
    alice.press(Key::Enter).await;
    alice.type_text("and salt").await;
    alice.press(Key::Enter).await;
    let_through(&alice).await;
    alice.expect_messages(&["soup today", "and bread"]).await;
    alice.expect_result(FIELD, json!("")).await;
    let_through(&alice).await;
    alice.expect_messages(&["soup today", "and bread", "and salt"]).await;
    // The message may have come as an event, before the answer.
    alice.expect_result(IS_SENDING, json!("false")).await;

    // The text of a message that could not be sent returns to the field, before the text written since.
    alice.type_text("and oil").await;
    alice.press(Key::Enter).await;
    alice.type_text("and butter").await;
    program.kill();
    alice.expect_connection("reconnecting").await;
    let_through(&alice).await;
    alice.find("error").await;
    alice.expect_result(FIELD, json!("and oil\nand butter")).await;
    program = home.start();
    alice.expect_connection("live").await;
    alice.press(Key::Enter).await;
    let_through(&alice).await;
    alice.expect_messages(&["soup today", "and bread", "and salt", "and oil\nand butter"]).await;
    alice.expect_result(FIELD, json!("")).await;
    drop(program);
    browser.close().await;
}

const FIELD: &str = "return document.querySelector('[data-testid=composer]').value";
const IS_SENDING: &str =
    "return document.querySelector('#channel-pane .composer').getAttribute('aria-busy')";

/// Sends the message that is held back, once there is one.
async fn let_through(tab: &Tab) {
    let send = "const { letThrough } = window;
        delete window.letThrough;
        letThrough?.();
        return letThrough !== undefined";
    tab.expect_result(send, json!(true)).await;
}

#[tokio::test]
async fn the_token_grants_access() {
    let home = Home::new(1000.0);
    let token = "open-sesame-0123456789";
    let config = std::fs::read_to_string(home.config()).unwrap();
    let config = config.replace("127.0.0.1:0", &format!("127.0.0.1:0\n  token: {token}"));
    std::fs::write(home.config(), config).unwrap();
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.blank().await;
    alice.open_page(&program.address).await;
    alice.type_in("token", "i do not know it").await;
    alice.click("enter").await;
    let refusal = "return document.querySelector('[role=alert]')?.textContent";
    alice.expect_result(refusal, json!("That token is wrong.")).await;
    alice.type_in("token", token).await;
    alice.click("enter").await;
    alice.type_in("name-input", "alice").await;
    alice.click("name-save").await;
    alice.expect_connection("live").await;
    alice.type_in("composer", "here I am").await;
    alice.press(Key::Enter).await;
    alice.expect_messages(&["here I am"]).await;
    browser.close().await;
}

#[tokio::test]
async fn a_decision_page_shows_prompts_and_answers() {
    let program = Home::new(0.1);
    let program = program.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;

    program.says("bob", "@Aizuchi remember that bob has the key to the shed").await;
    alice.expect_messages(&["", "I’ll remember that, bob"]).await;
    alice.post("who has the key to the shed?").await;
    alice.expect_messages(&["", "", "", "alice, this might help"]).await;
    alice.click_on_message("alice, this might help", "decision-link").await;

    let outcome = "return document.querySelector('[data-testid=outcome]')?.textContent.replace(/\\s+/g, ' ').trim()";
    alice.expect_result(outcome, json!("Aizuchi spoke.")).await;
    let parts = "return ['about', 'why'].map((part) => document.querySelector(`[data-testid=${part}] p, p[data-testid=${part}]`).textContent)";
    let told =
        ["who has the key to the shed?", "alice asked the room something and nobody has answered"];
    alice.expect_result(parts, json!(told)).await;
    // Optional details are collapsed.
    let is_folded = "return !document.querySelector('[data-testid=call]').checkVisibility()";
    alice.expect_result(is_folded, json!(true)).await;
    alice
        .expect_result(
            "document.querySelector('[data-testid=more]').open = true; return true",
            json!(true),
        )
        .await;
    let calls = "return [...document.querySelectorAll('[data-testid=call]')].map((call) => {
        call.querySelector('summary').click();
        const [prompt, answer] = call.querySelectorAll('pre');
        const isAsked = prompt.checkVisibility() && prompt.textContent.includes('who has the key to the shed?');
        return [call.querySelector('h3').textContent, isAsked, answer.textContent.includes('alice')];
    })";
    alice
        .expect_result(calls, json!([["Judge: used", true, true], ["Reply: used", true, true]]))
        .await;

    // Going back restores the channel.
    alice.go_back().await;
    let shown = ["", "", "who has the key to the shed?", "alice, this might help"];
    alice.expect_messages(&shown).await;
    browser.close().await;
}

#[tokio::test]
async fn a_user_and_a_channel_are_added() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;

    alice.click("person-add").await;
    alice.type_in("add-input", "alice").await;
    alice.click("add-save").await;
    // Adding a known user selects that user.
    alice.expect_focus("person-alice").await;
    alice.click("person-add").await;
    alice.type_in("add-input", "Carol Diaz").await;
    alice.click("add-save").await;
    alice.expect_focus("person-Carol Diaz").await;
    bob.find("person-Carol Diaz").await;

    alice.click("channel-add").await;
    alice.type_in("add-input", "garden").await;
    alice.click("add-save").await;
    alice
        .expect_result(
            "return document.querySelector('#channel-title').textContent",
            json!("garden"),
        )
        .await;
    alice.click("person-Carol Diaz").await;
    alice
        .expect_result("return document.querySelector('#me').textContent", json!("Carol Diaz"))
        .await;
    alice.post("the beans are out").await;
    alice.expect_messages(&["the beans are out"]).await;

    // In another tab the message is unread until the channel is opened.
    bob.expect_result(UNREAD, json!("1")).await;
    bob.expect_messages(&[]).await;
    bob.click("channel-garden").await;
    bob.expect_messages(&["the beans are out"]).await;
    bob.expect_result(UNREAD, json!("0")).await;
    let author = "return document.querySelector('[data-testid=message]').dataset.user";
    assert_eq!(bob.evaluate(author).await, json!("Carol Diaz"));

    // A refused name stays in the form with the reason.
    alice.click("channel-add").await;
    alice.type_in("add-input", "garden").await;
    alice.click("add-save").await;
    alice
        .expect_result(
            "return !document.querySelector('[data-testid=add-error]').hidden",
            json!(true),
        )
        .await;
    alice.click("add-cancel").await;
    browser.close().await;
}

/// The number of unread messages in the channel that a test adds.
const UNREAD: &str =
    "return document.querySelector('[data-testid=channel-garden]')?.dataset.unread";

/// A slow connection: no channel is loaded before the test lets it through.
const LOAD_SLOWLY: &str = "const real = window.fetch;
    window.fetch = async (address, options) => {
        const isPage = address.startsWith('/api/messages?');
        if (isPage) await new Promise((through) => (window.letThrough = through));
        return real(address, options);
    }";
const IS_HELD: &str = "return window.letThrough !== undefined";

#[tokio::test]
async fn what_is_said_while_a_new_channel_loads_is_unread() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let bob = browser.tab(&program, "bob").await;
    bob.evaluate(LOAD_SLOWLY).await;
    let body = json!({ "name": "garden" });
    assert_eq!(program.send("POST", "/api/channels", Some(&body)).await.0, 201);
    bob.expect_result(IS_HELD, json!(true)).await;
    let say = async |text: &str| {
        let body = json!({ "channel": "garden", "user": "carol", "text": text });
        assert_eq!(program.post(&body).await.0, 201);
    };
    say("the beans are out").await;
    bob.expect_result(UNREAD, json!("1")).await;
    bob.evaluate("window.letThrough()").await;
    let is_loaded = "return performance.getEntriesByType('resource')
        .some(({ name }) => new URL(name).pathname === '/api/messages')";
    bob.expect_result(is_loaded, json!(true)).await;
    say("and the peas").await;
    bob.expect_result(UNREAD, json!("2")).await;
    browser.close().await;
}

/// The response to a request can overtake the event of an earlier change.
#[tokio::test]
async fn events_that_come_late_undo_nothing() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.blank().await;
    alice.hold_events("room").await;
    alice.enter(&program, "alice").await;
    alice.evaluate(LOAD_SLOWLY).await;
    alice.click("channel-add").await;
    alice.type_in("add-input", "garden").await;
    alice.click("add-save").await;
    alice.expect_result(IS_HELD, json!(true)).await;
    // The event has the channels of before.
    alice.release_event().await;
    alice.evaluate("window.letThrough()").await;
    let title = "return document.querySelector('#channel-title').textContent";
    alice.expect_result(title, json!("garden")).await;
    alice.release_events().await;

    alice.evaluate("window.holdsEvents = true").await;
    alice.click("person-add").await;
    alice.type_in("add-input", "Adam").await;
    alice.click("add-save").await;
    alice.expect_focus("person-Adam").await;
    alice.release_events().await;
    // This user is added after the event with the new order of the list.
    assert_eq!(program.send("POST", "/api/people", Some(&json!({ "name": "Zoe" }))).await.0, 201);
    let people =
        "return [...document.querySelectorAll('#people button')].map((user) => user.dataset.user)";
    alice.expect_result(people, json!(["Adam", "alice", "Zoe"])).await;
    alice.expect_focus("person-Adam").await;
    browser.close().await;
}

/// Returns how many tabs hold the stream, and how many wait for it.
async fn locks(tab: &Tab) -> Value {
    let read = "const done = arguments[0];
        navigator.locks.query().then(({ held, pending }) => done([held.length, pending.length]))";
    tab.evaluate_later(read, vec![]).await
}

#[tokio::test]
async fn the_page_fetches_all_channels_at_once() {
    let home = Home::new(1000.0);
    let program = home.start();
    for name in ["garden", "kitchen"] {
        let body = json!({ "name": name });
        assert_eq!(program.send("POST", "/api/channels", Some(&body)).await.0, 201);
    }
    let body = json!({ "channel": "garden", "user": "bob", "text": "the roses look ill" });
    assert_eq!(program.post(&body).await.0, 201);
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.click("channel-garden").await;
    alice.expect_messages(&["the roses look ill"]).await;
    let requests =
        "return performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)
        .filter((path) => ['/api/room', '/api/messages'].includes(path))";
    alice.expect_result(requests, json!(["/api/room"])).await;
    browser.close().await;
}

#[tokio::test]
async fn people_who_are_lost_find_a_way_back() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.blank().await;
    for path in ["/nowhere", "/decisions/99", "/static/nothing.js"] {
        alice.open_page(&format!("{}{path}", program.address)).await;
        let title = "return document.querySelector('h1').textContent";
        alice.expect_result(title, json!("There is nothing here.")).await;
    }
    alice.click("back").await;
    alice.find("name-input").await;
    // A program gets JSON.
    let (status, answer) = program.send("GET", "/nowhere", None).await;
    assert_eq!((status, answer), (404, json!({ "error": "there is nothing at this address" })));
    browser.close().await;
}

/// A user mentions the persona just before it decides on a question. The question shows the outcome.
#[tokio::test]
async fn a_message_is_judged_after_the_mention_that_interrupts_it() {
    let server = Server::start(ServerLimits::default()).await;
    server.then([ProviderResponse::Never]);
    let home = Home::new(0.1);
    home.add(&format!(
        "agents:\n  response:\n    model_id: openai/large-1\n    client_args: {{api_key: sk-test-0123456789abcdef, \
         api_base: '{}/v1'}}\n",
        server.base
    ));
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.post("where is the ladder?").await;
    alice.expect_messages(&["is deciding whether to join in"]).await;
    alice.post("@Aizuchi are you there?").await;
    // The mention comes first, and the question is judged behind it. The model's answer is no verdict.
    let judged = "could not answer: something went wrong";
    alice.expect_messages(&[judged, "@Aizuchi are you there?", "fine"]).await;
    browser.close().await;
}
