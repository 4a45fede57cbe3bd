//! Writing with an input method: the Enter that ends a composition does not send the message, the next Enter does.

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;

/// The legacy key code of every key that an input method handles itself.
const HANDLED_BY_IME: u32 = 229;
const ENTER: u32 = 13;
const ESCAPE: u32 = 27;

#[tokio::test]
async fn the_enter_that_ends_a_composition_sends_nothing() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start().await;
    let hanako = browser.blank().await;
    hanako.open_page(&program.address).await;

    hanako.expect_focus("name-input").await;
    compose(&hanako, "はなこ").await;
    confirm(&hanako, HANDLED_BY_IME, "花子").await;
    hanako.type_text("さん").await;
    hanako.press(Key::Enter).await;
    hanako
        .expect_result("return document.querySelector('#me').textContent", json!("花子さん"))
        .await;
    hanako.expect_focus("composer").await;

    // The text typed afterwards shows that nothing was sent in between, with either key code.
    for code in [HANDLED_BY_IME, ENTER] {
        compose(&hanako, "こんにちわ").await;
        confirm(&hanako, code, "今日は").await;
        hanako.type_text(&format!(", {code}")).await;
        hanako.press(Key::Enter).await;
    }
    hanako.expect_messages(&["今日は, 229", "今日は, 13"]).await;

    hanako.click_on_message("今日は, 229", "thread-open").await;
    hanako.expect_focus("thread-composer").await;
    compose(&hanako, "へんじ").await;
    // The Esc that cancels a composition does not close the thread.
    dispatch_key(&hanako, "Escape", ESCAPE).await;
    confirm(&hanako, HANDLED_BY_IME, "返事").await;
    hanako.type_text(" one").await;
    hanako.press(Key::Enter).await;
    hanako.expect_messages_in("thread-messages", &["今日は, 229", "返事 one"]).await;

    hanako.press(Key::Up).await;
    hanako.expect_focus("edit-field").await;
    compose(&hanako, "です").await;
    dispatch_key(&hanako, "Escape", ESCAPE).await;
    confirm(&hanako, HANDLED_BY_IME, "です").await;
    hanako.type_text("!").await;
    hanako.press(Key::Enter).await;
    hanako.expect_messages_in("thread-messages", &["今日は, 229", "返事 oneです! (edited)"]).await;
    browser.close().await;
}

#[tokio::test]
async fn names_are_suggested_during_a_composition() {
    let home = Home::new(0.1);
    let program = home.start();
    for name in ["相沢", "相川"] {
        program.send("POST", "/api/people", Some(&json!({ "name": name }))).await;
    }
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;

    alice.type_text("@").await;
    compose(&alice, "相").await;
    let names =
        "return document.querySelectorAll('#channel-pane .suggestions:not([hidden]) li').length";
    alice.expect_result(names, json!(2)).await;
    let chosen = "return document.querySelector('[aria-selected=true]').dataset.name";
    let first = alice.evaluate(chosen).await;
    // During a composition, these keys select the input method's candidates, not the names.
    dispatch_key(&alice, "ArrowDown", 40).await;
    confirm(&alice, HANDLED_BY_IME, "相").await;
    let field = "return document.querySelector('[data-testid=composer]').value";
    alice.expect_result(field, json!("@相")).await;
    assert_eq!(alice.evaluate(chosen).await, first);
    alice.press(Key::Enter).await;
    alice.expect_result(field, json!(format!("@{} ", first.as_str().unwrap()))).await;
    alice.press(Key::Enter).await;
    alice.expect_messages(&[first.as_str().unwrap()]).await;
    browser.close().await;
}

/// Each browser reports the end of a composition in its own way.
#[tokio::test]
async fn every_browsers_end_of_a_composition_is_recognized() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;

    alice.type_text("今日は").await;
    end_compositions(&alice).await;
    alice.press(Key::Enter).await;
    alice.expect_messages(&["今日は"]).await;

    alice.click_on_message("今日は", "thread-open").await;
    alice.expect_focus("thread-composer").await;
    alice.type_text("返事").await;
    end_compositions(&alice).await;
    alice.press(Key::Enter).await;
    alice.expect_messages_in("thread-messages", &["今日は", "返事"]).await;

    alice.press(Key::Up).await;
    alice.expect_focus("edit-field").await;
    alice.type_text("です").await;
    end_compositions(&alice).await;
    alice.press(Key::Enter).await;
    alice.expect_messages_in("thread-messages", &["今日は", "返事です (edited)"]).await;
    browser.close().await;
}

/// Dispatches the Enter of several browsers to the focused field, and checks that each is left to the input
/// method.
async fn end_compositions(tab: &Tab) {
    let script = "const done = arguments[0];
        const field = document.activeElement;
        const text = field.value;
        const enter = (more) => new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...more });
        const end = () => field.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true, data: '' }));
        const isTaken = (event) => !field.dispatchEvent(event) || field.value !== text || field.readOnly;
        const found = {};
        // Chromium and Firefox report the key first.
        found.composing = isTaken(enter({ isComposing: true, keyCode: 13 }));
        // Some browsers mark the key only by its code.
        found.coded = isTaken(enter({ keyCode: 229 }));
        // Safari reports the end first, and the key immediately …
        end();
        const begin = performance.now();
        while (performance.now() - begin < 1);
        found.afterwards = isTaken(enter({ keyCode: 13 }));
        // … or the key a little later, although it was pressed before.
        const late = enter({ keyCode: 13 });
        end();
        setTimeout(() => {
            found.late = isTaken(late);
            done(found);
        });";
    let found: Value = tab.evaluate_later(script, vec![]).await;
    let none = json!({ "composing": false, "coded": false, "afterwards": false, "late": false });
    assert_eq!(found, none);
}

/// Composes a text without ending the composition.
async fn compose(tab: &Tab, text: &str) {
    let end = text.encode_utf16().count();
    let composition = json!({ "text": text, "selectionStart": end, "selectionEnd": end });
    tab.send_devtools("Input.imeSetComposition", composition).await;
}

/// Ends a composition with Enter, in a browser that reports the key first.
async fn confirm(tab: &Tab, code: u32, text: &str) {
    dispatch_key(tab, "Enter", code).await;
    tab.send_devtools("Input.insertText", json!({ "text": text })).await;
}

async fn dispatch_key(tab: &Tab, key: &str, code: u32) {
    for kind in ["rawKeyDown", "keyUp"] {
        let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
        tab.send_devtools("Input.dispatchKeyEvent", event).await;
    }
}
