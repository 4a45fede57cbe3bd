//! The demo on the page: "Show me", and how to leave it.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::demo_command::DemoProgram;
use crate::program::Home;

const CHANNEL: &str = "return document.getElementById('channel-title').textContent";
const CARD: &str = "return document.getElementById('demo').hidden";
/// More messages follow, so only the first one is checked.
const FIRST_LINE: &str =
    "const line = document.querySelector('[data-testid=messages] [data-testid=message]');
    return line?.textContent.includes('That was quite a storm last night.') ?? false";
/// Delays the answer to the start of a demo until the page has connected to the events, and all events about the demo
/// until `releaseDemo` is called.
const DELAY_DEMO_EVENTS: &str = "{
    const delayed = [];
    let isReleased = false;
    window.releaseDemo = () => {
        isReleased = true;
        delayed.splice(0).forEach((deliver) => deliver());
    };
    let resolve;
    const hasArrived = new Promise((found) => (resolve = found));
    const { addEventListener } = EventSource.prototype;
    EventSource.prototype.addEventListener = function (kind, listener) {
        addEventListener.call(this, kind, kind !== 'demo' ? listener : (event) => {
            if (isReleased) return listener(event);
            delayed.push(() => listener(event));
            resolve();
        });
    };
    const { fetch } = window;
    window.fetch = async (url, options) => {
        if (url === '/api/demo') await hasArrived;
        return fetch(url, options);
    };
}";
const CAPTION: &str = "return document.getElementById('demo-caption').textContent";

#[tokio::test]
async fn a_visitor_watches_the_demo_before_giving_a_name() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    tab.open_page(&program.address).await;
    tab.click("demo-first").await;
    tab.expect_result(CHANNEL, json!("demo")).await;
    tab.expect_focus("demo-end").await;
    let opening = "Mia and Tom are chatting. Aizuchi listens and waits for a pause: \
                   a few seconds here, longer in a real channel.";
    tab.expect_result(CAPTION, json!(opening)).await;
    // It is posted like any other message, so it arrives with the events.
    tab.expect_result(FIRST_LINE, json!(true)).await;
    let composer =
        "return getComputedStyle(document.querySelector('#channel-pane .composer')).display";
    tab.expect_result(composer, json!("none")).await;
    tab.press(Key::Escape).await;
    // Only then does the page ask for a name; the users of the script are not in the list.
    tab.enter_name("hana").await;
    tab.expect_result(CHANNEL, json!("general")).await;
    tab.expect_result(CARD, json!(true)).await;
    let people =
        "return [...document.querySelectorAll('#people button')].map((user) => user.dataset.user)";
    tab.expect_result(people, json!(["hana"])).await;
    browser.close().await;
}

#[tokio::test]
async fn show_me_starts_the_demo_and_leaving_ends_it() {
    let home = Home::new(1000.0);
    home.add("language: ja\n");
    let program = home.start();
    let browser = Browser::start_in("ja").await;
    let tab = browser.tab(&program, "hana").await;
    let other = browser.tab(&program, "mio").await;
    tab.click("demo-start").await;
    tab.expect_result(CHANNEL, json!("demo")).await;
    let opening = "美咲さんと健太さんが雑談しています。Aizuchi は会話が途切れるのを待ちます。\
                   デモでは数秒、実際のチャンネルではもっと長く待ちます。";
    tab.expect_result(CAPTION, json!(opening)).await;
    // A user who opens the channel in another tab sees it, too.
    other.click("channel-demo:room").await;
    other.expect_result(CARD, json!(false)).await;
    tab.click("channel-random").await;
    tab.expect_result(CARD, json!(true)).await;
    tab.expect_result(CHANNEL, json!("random")).await;
    other.expect_result(CARD, json!(true)).await;
    // While no demo runs, the persona takes no part in the demo's channel.
    other
        .expect_result("return document.getElementById('channel-settings').hidden", json!(true))
        .await;
    // Again, and this time with the button.
    tab.click("demo-start").await;
    tab.expect_result(CHANNEL, json!("demo")).await;
    tab.click("demo-end").await;
    tab.expect_result(CHANNEL, json!("random")).await;
    tab.expect_result(CARD, json!(true)).await;
    tab.expect_focus("composer").await;
    // And by leaving the page altogether.
    tab.click("demo-start").await;
    other.expect_result(CARD, json!(false)).await;
    tab.open_page("about:blank").await;
    other.expect_result(CARD, json!(true)).await;
    browser.close().await;
}

#[tokio::test]
async fn a_model_is_not_asked_unasked() {
    let home = Home::new(1000.0);
    let program = home.start_with(&["--model", "ollama/qwen3:8b"], &[]);
    let browser = Browser::start().await;
    let tab = browser.tab(&program, "hana").await;
    tab.click("demo-start").await;
    let question = "The demo asks the model ollama/qwen3:8b a few times, which may cost something.";
    tab.expect_result(CAPTION, json!(question)).await;
    tab.click("demo-end").await;
    tab.expect_result(CARD, json!(true)).await;
    tab.expect_result(CHANNEL, json!("general")).await;
    let channels = "return document.querySelectorAll('#channels a').length";
    tab.expect_result(channels, json!(2)).await;
    tab.click("demo-start").await;
    tab.click("demo-again").await;
    tab.expect_result(CHANNEL, json!("demo")).await;
    browser.close().await;
}

#[tokio::test]
async fn the_command_opens_a_page_that_plays_at_once() {
    let demo = DemoProgram::start(&[]);
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    tab.open_page(&demo.page).await;
    tab.expect_result(CHANNEL, json!("demo")).await;
    tab.expect_result(FIRST_LINE, json!(true)).await;
    // Reloading the page does not restart the demo.
    tab.expect_result("return location.search", json!("")).await;
    // On a slow machine the demo has ended already, and the page asks for a name.
    let leave = "if (!document.getElementById('name-dialog').open) document.getElementById('demo-end').click()";
    tab.evaluate(leave).await;
    tab.enter_name("hana").await;
    tab.expect_result(CHANNEL, json!("general")).await;
    browser.close().await;
    demo.stop();
}

#[tokio::test]
async fn a_status_from_before_the_play_does_not_end_it() {
    let demo = DemoProgram::start(&[]);
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    let source = json!({ "source": DELAY_DEMO_EVENTS });
    tab.send_devtools("Page.addScriptToEvaluateOnNewDocument", source).await;
    tab.open_page(&demo.page).await;
    tab.expect_result(CHANNEL, json!("demo")).await;
    tab.evaluate("releaseDemo()").await;
    tab.expect_result(CARD, json!(false)).await;
    tab.expect_result(CHANNEL, json!("demo")).await;
    browser.close().await;
    demo.stop();
}
