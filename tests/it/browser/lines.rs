//! One's own lines: changing them, taking them back, and leaving those of others alone.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

#[tokio::test]
async fn own_lines_are_changed_and_taken_back_with_the_mouse() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    let bob = browser.tab(&room, "bob").await;
    alice.says("the shop opens at nine").await;
    bob.sees(&["the shop opens at nine"]).await;

    alice.clicks_on_line("the shop", "message-edit").await;
    alice.focus_is("edit-field").await;
    alice.types(" thirty").await;
    alice.clicks("edit-save").await;
    alice.sees(&["the shop opens at nine thirty (edited)"]).await;
    bob.sees(&["the shop opens at nine thirty (edited)"]).await;
    alice.focus_is("the shop").await;

    alice.clicks_on_line("the shop", "message-edit").await;
    alice.focus_is("edit-field").await;
    alice.types(" in the evening").await;
    alice.clicks("edit-cancel").await;
    alice.sees(&["the shop opens at nine thirty (edited)"]).await;

    // A stranger may react and reply, and no more.
    let actions = "return [...document.querySelectorAll('[data-testid=messages] .action')]
        .map((button) => button.dataset.testid)";
    bob.reads(actions, json!(["message-react", "thread-open"])).await;
    let own = json!(["message-react", "thread-open", "message-edit", "message-delete"]);
    alice.reads(actions, own).await;

    // It is asked for before it is gone, and the harmless answer is nearer.
    alice.clicks_on_line("the shop", "message-delete").await;
    alice.focus_is("delete-cancel").await;
    let excerpt = "return document.querySelector('#delete-excerpt').textContent";
    alice.reads(excerpt, json!("the shop opens at nine thirty")).await;
    alice.clicks("delete-cancel").await;
    alice.focus_is("the shop").await;
    bob.sees(&["the shop opens at nine thirty (edited)"]).await;

    alice.clicks_on_line("the shop", "message-delete").await;
    alice.clicks("delete-confirm").await;
    alice.sees(&[]).await;
    bob.sees(&[]).await;
    alice.focus_is("composer").await;
    browser.close().await;
}

#[tokio::test]
async fn own_lines_are_changed_and_taken_back_with_keys() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    let bob = browser.tab(&room, "bob").await;
    alice.says("soup today").await;
    alice.says("and bread").await;
    bob.says("how nice").await;
    alice.sees(&["soup today", "and bread", "how nice"]).await;

    // The last line of one's own, although somebody else has spoken since.
    alice.presses(Key::Up).await;
    alice.focus_is("edit-field").await;
    alice.types(", with butter").await;
    alice.presses(Key::Escape).await;
    alice.focus_is("composer").await;
    alice.presses(Key::Up).await;
    alice.focus_is("edit-field").await;
    alice.types(" from the oven").await;
    alice.presses(Key::Enter).await;
    let changed = ["soup today", "and bread from the oven (edited)", "how nice"];
    alice.sees(&changed).await;
    bob.sees(&changed).await;
    alice.focus_is("composer").await;
    // In a field that holds something the key moves the cursor.
    alice.types("hm").await;
    alice.presses(Key::Up).await;
    alice.focus_is("composer").await;

    // On a line: E changes it, Delete takes it back; on a stranger's line they do nothing.
    alice.tabs_back_to("how nice").await;
    alice.types("e").await;
    alice.presses(Key::Delete).await;
    let nothing = "return document.querySelector('[data-testid=edit-form], dialog[open]') === null";
    assert_eq!(alice.evaluate(nothing).await, json!(true));
    alice.presses(Key::Up).await;
    alice.focus_is("and bread").await;
    alice.types("e").await;
    alice.focus_is("edit-field").await;
    alice.presses(Key::Escape).await;
    alice.focus_is("and bread").await;

    alice.presses(Key::Delete).await;
    alice.focus_is("delete-cancel").await;
    alice.presses(Key::Escape).await;
    alice.focus_is("and bread").await;
    alice.presses(Key::Delete).await;
    alice.focus_is("delete-cancel").await;
    alice.presses_with(Key::Shift, Key::Tab).await;
    alice.focus_is("delete-confirm").await;
    alice.presses(Key::Enter).await;
    alice.sees(&["soup today", "how nice"]).await;
    bob.sees(&["soup today", "how nice"]).await;
    // The line that took its place.
    alice.focus_is("how nice").await;
    browser.close().await;
}

#[tokio::test]
async fn a_line_that_has_replies_leaves_a_trace() {
    let home = Home::new(0.1);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    alice.says("who waters the plants").await;
    alice.clicks_on_line("who waters", "thread-open").await;
    alice.says_in("thread-composer", "I do").await;
    alice.sees(&["1 reply"]).await;

    alice.clicks_on_line("who waters", "message-delete").await;
    alice.clicks("delete-confirm").await;
    alice.sees(&["This message was deleted."]).await;
    alice.sees_in("thread-messages", &["This message was deleted.", "I do"]).await;
    browser.close().await;
}
