//! Editing and deleting one's own messages, but not those of other users.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

#[tokio::test]
async fn own_messages_are_edited_and_deleted_with_the_mouse() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;
    alice.post("the shop opens at nine").await;
    bob.expect_messages(&["the shop opens at nine"]).await;

    alice.click_on_message("the shop", "message-edit").await;
    alice.expect_focus("edit-field").await;
    alice.type_text(" thirty").await;
    alice.click("edit-save").await;
    alice.expect_messages(&["the shop opens at nine thirty (edited)"]).await;
    bob.expect_messages(&["the shop opens at nine thirty (edited)"]).await;
    alice.expect_focus("the shop").await;

    alice.click_on_message("the shop", "message-edit").await;
    alice.expect_focus("edit-field").await;
    alice.type_text(" in the evening").await;
    alice.click("edit-cancel").await;
    alice.expect_messages(&["the shop opens at nine thirty (edited)"]).await;

    // Another user can only react and reply.
    let actions = "return [...document.querySelectorAll('[data-testid=messages] .action')]
        .map((button) => button.dataset.testid)";
    bob.expect_result(actions, json!(["message-react", "thread-open"])).await;
    let own = json!(["message-react", "thread-open", "message-edit", "message-delete"]);
    alice.expect_result(actions, own).await;

    // A deletion asks first, with the focus on Cancel.
    alice.click_on_message("the shop", "message-delete").await;
    alice.expect_focus("delete-cancel").await;
    let excerpt = "return document.querySelector('#delete-excerpt').textContent";
    alice.expect_result(excerpt, json!("the shop opens at nine thirty")).await;
    alice.click("delete-cancel").await;
    alice.expect_focus("the shop").await;
    bob.expect_messages(&["the shop opens at nine thirty (edited)"]).await;

    alice.click_on_message("the shop", "message-delete").await;
    alice.click("delete-confirm").await;
    alice.expect_messages(&[]).await;
    bob.expect_messages(&[]).await;
    alice.expect_focus("composer").await;
    browser.close().await;
}

/// A click on an element that is replaced meanwhile is lost.
#[tokio::test]
async fn a_message_keeps_its_element_when_the_server_confirms_it() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.blank().await;
    alice.hold_events("message").await;
    alice.enter(&program, "alice").await;
    alice.post("the shop opens at nine").await;
    let shown =
        "window.shown = document.querySelector('[data-testid=messages] > [data-testid=message]')";
    alice.evaluate(shown).await;
    alice.release_events().await;
    // What comes afterwards shows that the message has come as an event, too.
    program.says("bob", "how nice").await;
    alice.expect_messages(&["the shop opens at nine", "how nice"]).await;
    assert_eq!(alice.evaluate("return window.shown.isConnected").await, json!(true));
    browser.close().await;
}

#[tokio::test]
async fn own_messages_are_edited_and_deleted_with_keys() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;
    alice.post("soup today").await;
    alice.post("and bread").await;
    bob.post("how nice").await;
    alice.expect_messages(&["soup today", "and bread", "how nice"]).await;

    // The up key edits the user's last message, although another user has posted since.
    alice.press(Key::Up).await;
    alice.expect_focus("edit-field").await;
    alice.type_text(", with butter").await;
    alice.press(Key::Escape).await;
    alice.expect_focus("composer").await;
    alice.press(Key::Up).await;
    alice.expect_focus("edit-field").await;
    alice.type_text(" from the oven").await;
    alice.press(Key::Enter).await;
    let changed = ["soup today", "and bread from the oven (edited)", "how nice"];
    alice.expect_messages(&changed).await;
    bob.expect_messages(&changed).await;
    alice.expect_focus("composer").await;
    // In a field with text, the key moves the cursor.
    alice.type_text("hm").await;
    alice.press(Key::Up).await;
    alice.expect_focus("composer").await;

    // On the user's own message, E edits it and Delete deletes it. On another user's message they do nothing.
    alice.tab_back_to("how nice").await;
    alice.type_text("e").await;
    alice.press(Key::Delete).await;
    let nothing = "return document.querySelector('[data-testid=edit-form], dialog[open]') === null";
    assert_eq!(alice.evaluate(nothing).await, json!(true));
    alice.press(Key::Up).await;
    alice.expect_focus("and bread").await;
    alice.type_text("e").await;
    alice.expect_focus("edit-field").await;
    alice.press(Key::Escape).await;
    alice.expect_focus("and bread").await;

    alice.press(Key::Delete).await;
    alice.expect_focus("delete-cancel").await;
    alice.press(Key::Escape).await;
    alice.expect_focus("and bread").await;
    alice.press(Key::Delete).await;
    alice.expect_focus("delete-cancel").await;
    alice.press_with(Key::Shift, Key::Tab).await;
    alice.expect_focus("delete-confirm").await;
    alice.press(Key::Enter).await;
    alice.expect_messages(&["soup today", "how nice"]).await;
    bob.expect_messages(&["soup today", "how nice"]).await;
    // The focus moves to the next message.
    alice.expect_focus("how nice").await;
    browser.close().await;
}

/// A browser reports with its next frame that a dialog was closed, and a user can be faster.
#[tokio::test]
async fn a_dialog_that_is_opened_again_at_once_works() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.post("the shop opens at nine").await;
    alice.click_on_message("the shop", "message-delete").await;
    alice.expect_focus("delete-cancel").await;
    let reopen = "document.querySelector('[data-testid=delete-cancel]').click();
        document.querySelector('[data-testid=message-delete]').click();";
    alice.evaluate(reopen).await;
    // The event has come.
    let frame = "const [done] = arguments;
        requestAnimationFrame(() => setTimeout(() => done(true), 0));";
    alice.evaluate_later(frame, vec![]).await;
    alice.click("delete-confirm").await;
    alice.expect_messages(&[]).await;
    let announced =
        "return [...document.getElementById('announcer').children].map((it) => it.textContent)";
    alice.expect_result(announced, json!(["This message was deleted."])).await;
    browser.close().await;
}

#[tokio::test]
async fn a_deleted_message_with_replies_leaves_a_tombstone() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.post("who waters the plants").await;
    alice.click_on_message("who waters", "thread-open").await;
    alice.post_in("thread-composer", "I do").await;
    alice.expect_messages(&["1 reply"]).await;

    alice.click_on_message("who waters", "message-delete").await;
    alice.click("delete-confirm").await;
    alice.expect_messages(&["This message was deleted."]).await;
    alice.expect_messages_in("thread-messages", &["This message was deleted.", "I do"]).await;
    browser.close().await;
}
