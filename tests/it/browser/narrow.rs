//! Narrow windows: one thing at a time, and nothing that has to be pulled sideways.

use serde_json::json;

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;

const WORD: &str =
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";

#[tokio::test]
async fn a_phone_shows_one_panel_at_a_time() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start_touched().await;
    let alice = browser.blank().await;
    resize(&alice, 390).await;
    alice.opens(&room.address).await;
    alice.writes_in("name-input", "alice").await;
    fits(&alice).await;
    alice.clicks("name-save").await;
    alice.connection("live").await;
    shows(&alice, "channel-pane").await;
    // A field would bring up the keyboard unasked.
    alice.focus_is("general").await;

    alice.says("the ferry is late").await;
    alice.sees(&["the ferry is late"]).await;
    alice.writes_in("composer", "by an hour").await;
    alice.clicks("send").await;
    alice.sees(&["the ferry is late", "by an hour"]).await;

    // Nothing hovers over a phone: a button brings up what can be done.
    alice.clicks_on_line("the ferry", "message-more").await;
    fits(&alice).await;
    alice.clicks_on_line("the ferry", "message-react").await;
    alice.focus_is("offered-👍").await;
    fits(&alice).await;
    alice.clicks("offered-🙏").await;
    alice.focus_is("message-more").await;
    alice.find("reaction-🙏").await;
    fits(&alice).await;
    alice.clicks_on_line("the ferry", "message-more").await;
    alice.clicks_on_line("the ferry", "thread-open").await;
    shows(&alice, "thread-pane").await;
    alice.writes_in("thread-composer", "and full").await;
    alice.clicks("thread-send").await;
    alice.sees_in("thread-messages", &["the ferry is late", "and full"]).await;
    fits(&alice).await;
    alice.clicks("thread-close").await;
    shows(&alice, "channel-pane").await;
    alice.sees(&["1 reply", "by an hour"]).await;

    alice.clicks("to-channels").await;
    shows(&alice, "sidebar").await;
    fits(&alice).await;
    alice.clicks("channel-add").await;
    alice.writes_in("add-input", "harbor").await;
    fits(&alice).await;
    alice.clicks("add-save").await;
    shows(&alice, "channel-pane").await;
    alice.sees(&[]).await;
    alice.clicks("to-channels").await;
    alice.clicks("channel-general").await;
    shows(&alice, "channel-pane").await;
    alice.sees(&["1 reply", "by an hour"]).await;
    browser.close().await;
}

#[tokio::test]
async fn nothing_is_wider_than_the_window() {
    let home = Home::new(0.1);
    let room = home.start();
    let parent = room.says("bob", &format!("look: https://example.org/{WORD}/{WORD}")).await;
    let body =
        json!({ "channel": "general", "thread": parent, "user": WORD.get(..40), "text": WORD });
    assert_eq!(room.post(&body).await.0, 201);
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    alice.says(&format!("@Aizuchi what is a {WORD}?")).await;
    alice.sees(&["1 reply", WORD, "alice, bob said something close"]).await;

    for width in [390, 768, 1280] {
        resize(&alice, width).await;
        fits(&alice).await;
        // The list of names, the keys, and a line that is being changed.
        alice.writes_in("composer", "@").await;
        alice.find("suggestions").await;
        fits(&alice).await;
        alice.writes_in("composer", "\u{e003}").await;
        alice.writes_in("composer", "\u{e013}").await;
        alice.find("edit-field").await;
        fits(&alice).await;
        alice.clicks("edit-cancel").await;
        let thread = format!("location.hash = '#/general/{parent}'");
        alice.evaluate(&thread).await;
        alice.sees_in("thread-messages", &["look", WORD]).await;
        fits(&alice).await;
        alice.clicks("thread-close").await;
    }
    alice.clicks_on_line("alice, bob said something close", "decision-link").await;
    alice.find("call").await;
    for width in [390, 768, 1280] {
        resize(&alice, width).await;
        fits(&alice).await;
    }
    browser.close().await;
}

async fn resize(tab: &Tab, width: u32) {
    let size = json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": false });
    tab.commands("Emulation.setDeviceMetricsOverride", size).await;
    tab.reads("return window.innerWidth", json!(width)).await;
}

/// Neither the page nor a part of it that scrolls up and down scrolls sideways.
async fn fits(tab: &Tab) {
    let wide = "const isWide = (element, width) => element.scrollWidth > width;
        const parts = [...document.querySelectorAll('.scroll, .sidebar, .intro, dialog[open], .suggestions')];
        return [
            ...(isWide(document.documentElement, innerWidth) ? ['page'] : []),
            ...parts.filter((part) => isWide(part, part.clientWidth)).map((part) => part.className || part.id),
        ]";
    tab.reads(wide, json!([])).await;
}

/// This panel, and no other.
async fn shows(tab: &Tab, panel: &str) {
    let shown = "return ['sidebar', 'channel-pane', 'thread-pane']
        .filter((id) => document.getElementById(id).checkVisibility())";
    tab.reads(shown, json!([panel])).await;
}
