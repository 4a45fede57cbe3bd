//! Narrow windows: one panel at a time, and no horizontal scrolling.

use serde_json::json;

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;

const WORD: &str =
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";

#[tokio::test]
async fn a_phone_shows_one_panel_at_a_time() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start_touched().await;
    let alice = browser.blank().await;
    resize(&alice, 390).await;
    alice.open_page(&program.address).await;
    alice.type_in("name-input", "alice").await;
    expect_no_overflow(&alice).await;
    alice.click("name-save").await;
    alice.expect_connection("live").await;
    expect_panel(&alice, "channel-pane").await;
    // The focus is not on a field, which would open the on-screen keyboard.
    alice.expect_focus("general").await;

    alice.post("the ferry is late").await;
    alice.expect_messages(&["the ferry is late"]).await;
    alice.type_in("composer", "by an hour").await;
    alice.click("send").await;
    alice.expect_messages(&["the ferry is late", "by an hour"]).await;

    // Without hovering, a button opens the actions of a message.
    alice.click_on_message("the ferry", "message-more").await;
    expect_no_overflow(&alice).await;
    alice.click_on_message("the ferry", "message-react").await;
    alice.expect_focus("offered-👍").await;
    expect_no_overflow(&alice).await;
    alice.click("offered-🙏").await;
    alice.expect_focus("message-more").await;
    alice.find("reaction-🙏").await;
    expect_no_overflow(&alice).await;
    alice.click_on_message("the ferry", "message-more").await;
    alice.click_on_message("the ferry", "thread-open").await;
    expect_panel(&alice, "thread-pane").await;
    alice.type_in("thread-composer", "and full").await;
    alice.click("thread-send").await;
    alice.expect_messages_in("thread-messages", &["the ferry is late", "and full"]).await;
    expect_no_overflow(&alice).await;
    alice.click("thread-close").await;
    expect_panel(&alice, "channel-pane").await;
    alice.expect_messages(&["1 reply", "by an hour"]).await;

    alice.click("to-channels").await;
    expect_panel(&alice, "sidebar").await;
    expect_no_overflow(&alice).await;
    alice.click("channel-add").await;
    alice.type_in("add-input", "harbor").await;
    expect_no_overflow(&alice).await;
    alice.click("add-save").await;
    expect_panel(&alice, "channel-pane").await;
    alice.expect_messages(&[]).await;
    alice.click("to-channels").await;
    alice.click("channel-general").await;
    expect_panel(&alice, "channel-pane").await;
    alice.expect_messages(&["1 reply", "by an hour"]).await;
    browser.close().await;
}

#[tokio::test]
async fn the_intro_leaves_a_phone_s_screen_to_the_talk() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start_touched().await;
    let alice = browser.blank().await;
    resize(&alice, 390).await;
    alice.open_page(&program.address).await;
    alice.type_in("name-input", "alice").await;
    alice.click("name-save").await;
    alice.expect_connection("live").await;
    let share = "const height = (id) => document.getElementById(id).offsetHeight;
        return (height('intro') + height('model-offer')) / innerHeight < 0.34";
    alice.expect_result(share, json!(true)).await;
    alice.click("intro-close").await;
    alice.reload().await;
    alice.expect_connection("live").await;
    alice.expect_result("return document.getElementById('intro').hidden", json!(true)).await;
    browser.close().await;
}

#[tokio::test]
async fn nothing_is_wider_than_the_window() {
    let home = Home::new(0.1);
    let program = home.start();
    let parent = program.says("bob", &format!("look: https://example.org/{WORD}/{WORD}")).await;
    let body =
        json!({ "channel": "general", "thread": parent, "user": WORD.get(..40), "text": WORD });
    assert_eq!(program.post(&body).await.0, 201);
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.post(&format!("@Aizuchi what is a {WORD}?")).await;
    alice.expect_messages(&["1 reply", WORD, "said at "]).await;

    for width in [390, 768, 1280] {
        resize(&alice, width).await;
        expect_no_overflow(&alice).await;
        // The list of names, and a message being edited.
        alice.type_in("composer", "@").await;
        alice.find("suggestions").await;
        expect_no_overflow(&alice).await;
        alice.type_in("composer", "\u{e003}").await;
        alice.type_in("composer", "\u{e013}").await;
        alice.find("edit-field").await;
        expect_no_overflow(&alice).await;
        alice.click("edit-cancel").await;
        let thread = format!("location.hash = '#/general/{parent}'");
        alice.evaluate(&thread).await;
        alice.expect_messages_in("thread-messages", &["look", WORD]).await;
        expect_no_overflow(&alice).await;
        alice.click("thread-close").await;
    }
    alice.click_on_message("said at ", "decision-link").await;
    alice.find("call").await;
    for width in [390, 768, 1280] {
        resize(&alice, width).await;
        expect_no_overflow(&alice).await;
    }
    browser.close().await;
}

pub async fn resize(tab: &Tab, width: u32) {
    let size = json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": false });
    tab.send_devtools("Emulation.setDeviceMetricsOverride", size).await;
    tab.expect_result("return window.innerWidth", json!(width)).await;
}

/// Neither the page nor any of its scrollable parts scrolls horizontally.
async fn expect_no_overflow(tab: &Tab) {
    let wide = "const isWide = (element, width) => element.scrollWidth > width;
        const parts = [...document.querySelectorAll('.scroll, .sidebar, .intro, dialog[open], .suggestions')];
        return [
            ...(isWide(document.documentElement, innerWidth) ? ['page'] : []),
            ...parts.filter((part) => isWide(part, part.clientWidth)).map((part) => part.className || part.id),
        ]";
    tab.expect_result(wide, json!([])).await;
}

/// Expects that only this panel is visible.
async fn expect_panel(tab: &Tab, panel: &str) {
    let shown = "return ['sidebar', 'channel-pane', 'thread-pane']
        .filter((id) => document.getElementById(id).checkVisibility())";
    tab.expect_result(shown, json!([panel])).await;
}
