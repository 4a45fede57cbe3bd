//! Writing with an input method: the Enter that ends a composition does nothing else, the next one does.

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;

/// The old code of every key that an input method takes for itself.
const TAKEN: u32 = 229;
const ENTER: u32 = 13;
const ESCAPE: u32 = 27;

#[tokio::test]
async fn the_enter_that_ends_a_composition_sends_nothing() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start().await;
    let hanako = browser.blank().await;
    hanako.opens(&room.address).await;

    hanako.focus_is("name-input").await;
    composes(&hanako, "はなこ").await;
    confirms(&hanako, TAKEN, "花子").await;
    hanako.types("さん").await;
    hanako.presses(Key::Enter).await;
    hanako.reads("return document.querySelector('#me').textContent", json!("花子さん")).await;
    hanako.focus_is("composer").await;

    // What is typed behind it shows that nothing was sent in between, whichever code the key had.
    for code in [TAKEN, ENTER] {
        composes(&hanako, "こんにちわ").await;
        confirms(&hanako, code, "今日は").await;
        hanako.types(&format!(", {code}")).await;
        hanako.presses(Key::Enter).await;
    }
    hanako.sees(&["今日は, 229", "今日は, 13"]).await;

    hanako.clicks_on_line("今日は, 229", "thread-open").await;
    hanako.focus_is("thread-composer").await;
    composes(&hanako, "へんじ").await;
    // The Esc that leaves a composition leaves nothing else.
    press(&hanako, "Escape", ESCAPE).await;
    confirms(&hanako, TAKEN, "返事").await;
    hanako.types(" one").await;
    hanako.presses(Key::Enter).await;
    hanako.sees_in("thread-messages", &["今日は, 229", "返事 one"]).await;

    hanako.presses(Key::Up).await;
    hanako.focus_is("edit-field").await;
    composes(&hanako, "です").await;
    press(&hanako, "Escape", ESCAPE).await;
    confirms(&hanako, TAKEN, "です").await;
    hanako.types("!").await;
    hanako.presses(Key::Enter).await;
    hanako.sees_in("thread-messages", &["今日は, 229", "返事 oneです! (edited)"]).await;
    browser.close().await;
}

#[tokio::test]
async fn names_are_offered_while_they_are_composed() {
    let home = Home::new(0.1);
    let room = home.start();
    for name in ["相沢", "相川"] {
        room.send("POST", "/api/people", Some(&json!({ "name": name }))).await;
    }
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;

    alice.types("@").await;
    composes(&alice, "相").await;
    let names =
        "return document.querySelectorAll('#channel-pane .suggestions:not([hidden]) li').length";
    alice.reads(names, json!(2)).await;
    let chosen = "return document.querySelector('[aria-selected=true]').dataset.name";
    let first = alice.evaluate(chosen).await;
    // These keys choose among the input method's words, not among the names.
    press(&alice, "ArrowDown", 40).await;
    confirms(&alice, TAKEN, "相").await;
    let field = "return document.querySelector('[data-testid=composer]').value";
    alice.reads(field, json!("@相")).await;
    assert_eq!(alice.evaluate(chosen).await, first);
    alice.presses(Key::Enter).await;
    alice.reads(field, json!(format!("@{} ", first.as_str().unwrap()))).await;
    alice.presses(Key::Enter).await;
    alice.sees(&[first.as_str().unwrap()]).await;
    browser.close().await;
}

/// Each browser tells of the end of a composition in its own way.
#[tokio::test]
async fn every_browsers_way_to_end_a_composition_is_understood() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;

    alice.types("今日は").await;
    ends_compositions(&alice).await;
    alice.presses(Key::Enter).await;
    alice.sees(&["今日は"]).await;

    alice.clicks_on_line("今日は", "thread-open").await;
    alice.focus_is("thread-composer").await;
    alice.types("返事").await;
    ends_compositions(&alice).await;
    alice.presses(Key::Enter).await;
    alice.sees_in("thread-messages", &["今日は", "返事"]).await;

    alice.presses(Key::Up).await;
    alice.focus_is("edit-field").await;
    alice.types("です").await;
    ends_compositions(&alice).await;
    alice.presses(Key::Enter).await;
    alice.sees_in("thread-messages", &["今日は", "返事です (edited)"]).await;
    browser.close().await;
}

/// Puts the Enter of several browsers into the field with the focus and sees that each is left to the input method.
async fn ends_compositions(tab: &Tab) {
    let script = "const done = arguments[0];
        const field = document.activeElement;
        const text = field.value;
        const enter = (more) => new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...more });
        const end = () => field.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true, data: '' }));
        const isTaken = (event) => !field.dispatchEvent(event) || field.value !== text || field.readOnly;
        const found = {};
        // Chromium and Firefox tell of the key first.
        found.composing = isTaken(enter({ isComposing: true, keyCode: 13 }));
        // Some mark it only by its code.
        found.coded = isTaken(enter({ keyCode: 229 }));
        // Safari tells of the end first, and in the same breath of the key …
        end();
        const begin = performance.now();
        while (performance.now() - begin < 1);
        found.afterwards = isTaken(enter({ keyCode: 13 }));
        // … or of the key a little later, though it was pressed before.
        const late = enter({ keyCode: 13 });
        end();
        setTimeout(() => {
            found.late = isTaken(late);
            done(found);
        });";
    let found: Value = tab.evaluate_later(script, vec![]).await;
    let nothing = json!({ "composing": false, "coded": false, "afterwards": false, "late": false });
    assert_eq!(found, nothing);
}

/// Writes with the input method, without ending it.
async fn composes(tab: &Tab, text: &str) {
    let end = text.encode_utf16().count();
    let composition = json!({ "text": text, "selectionStart": end, "selectionEnd": end });
    tab.commands("Input.imeSetComposition", composition).await;
}

/// Ends it with the Enter key, in a browser that tells of the key first.
async fn confirms(tab: &Tab, code: u32, text: &str) {
    press(tab, "Enter", code).await;
    tab.commands("Input.insertText", json!({ "text": text })).await;
}

async fn press(tab: &Tab, key: &str, code: u32) {
    for kind in ["rawKeyDown", "keyUp"] {
        let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
        tab.commands("Input.dispatchKeyEvent", event).await;
    }
}
