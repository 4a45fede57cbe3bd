//! Reactions on the page: chips below a message and a palette of emoji, with the mouse and with keys.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::{Home, Program};

#[tokio::test]
async fn users_react_with_the_mouse() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;
    alice.post("the roses bloom").await;
    alice.post("all of them").await;
    expect_chips(&bob, &[]).await;

    bob.click_on_message("the roses", "message-react").await;
    bob.expect_focus("offered-👍").await;
    let offered =
        "return [...document.querySelectorAll('.offered')].map((button) => button.textContent)";
    bob.expect_result(offered, json!(["👍", "👀", "🎉", "❤️", "😄", "🙏"])).await;
    bob.click("offered-🎉").await;
    expect_chips(&bob, &["*🎉 1 bob"]).await;
    bob.expect_focus("the roses").await;
    bob.expect_result(offered, json!([])).await;
    expect_chips(&alice, &["🎉 1 bob"]).await;

    // A click on a chip adds or removes the user's own reaction.
    alice.click_on_message("the roses", "reaction-🎉").await;
    expect_chips(&alice, &["*🎉 2 bob and alice"]).await;
    alice.expect_focus("reaction-🎉").await;
    expect_chips(&bob, &["*🎉 2 bob and alice"]).await;
    bob.click_on_message("the roses", "reaction-🎉").await;
    expect_chips(&bob, &["🎉 1 alice"]).await;
    bob.click_on_message("the roses", "message-react").await;
    bob.click("offered-❤️").await;
    expect_chips(&bob, &["🎉 1 alice", "*❤️ 1 bob"]).await;
    expect_chips(&alice, &["*🎉 1 alice", "❤️ 1 bob"]).await;
    // After switching the user, the chips show that user's reactions.
    bob.click("person-alice").await;
    expect_chips(&bob, &["*🎉 1 alice", "❤️ 1 bob"]).await;

    // Removing the last reaction removes the chip, and the focus moves to the message.
    alice.click_on_message("the roses", "reaction-🎉").await;
    expect_chips(&alice, &["❤️ 1 bob"]).await;
    alice.expect_focus("the roses").await;
    // The message is unchanged and not marked as edited.
    alice.expect_messages(&["the roses bloom", "all of them"]).await;
    let is_edited = "return document.querySelector('[data-testid=messages] .edited') !== null";
    assert_eq!(alice.evaluate(is_edited).await, json!(false));

    alice.reload().await;
    expect_chips(&alice, &["❤️ 1 bob"]).await;
    alice.click_on_message("the roses", "message-delete").await;
    alice.click("delete-confirm").await;
    alice.expect_messages(&["all of them"]).await;
    expect_chips(&bob, &[]).await;
    browser.close().await;
}

#[tokio::test]
async fn users_react_with_keys() {
    let home = Home::new(1000.0);
    let program = home.start();
    let message = program.says("bob", "the roses bloom").await;
    react(&program, &message, "bob", "👀").await;
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    // The label for screen readers includes the reactions.
    let label = "return document.querySelector('[data-testid=message]').ariaLabel.split(': ').slice(1).join(': ')";
    alice.expect_result(label, json!("the roses bloom. Reactions: 👀 by bob")).await;

    alice.tab_back_to("the roses").await;
    alice.type_text("r").await;
    alice.expect_focus("offered-👍").await;
    alice.press(Key::Escape).await;
    alice.expect_focus("message-react").await;
    alice.press(Key::Enter).await;
    alice.expect_focus("offered-👍").await;
    alice.press(Key::Right).await;
    alice.expect_focus("offered-👀").await;
    // When another user reacts in the meantime, the palette keeps its focus.
    react(&program, &message, "carol", "🎉").await;
    expect_chips(&alice, &["👀 1 bob", "🎉 1 carol"]).await;
    alice.expect_focus("offered-👀").await;
    alice.press(Key::Enter).await;
    expect_chips(&alice, &["*👀 2 bob and alice", "🎉 1 carol"]).await;
    alice.expect_focus("the roses").await;

    alice.press(Key::Right).await;
    alice.expect_focus("reaction-👀").await;
    let chip = "const { ariaPressed, ariaLabel } = document.activeElement; return [ariaPressed, ariaLabel]";
    alice.expect_result(chip, json!(["true", "👀 by bob and alice"])).await;
    alice.press(Key::Right).await;
    alice.expect_focus("reaction-🎉").await;
    alice.press(Key::Enter).await;
    expect_chips(&alice, &["*👀 2 bob and alice", "*🎉 2 carol and alice"]).await;
    alice.expect_focus("reaction-🎉").await;

    // Leaving the message closes the palette.
    alice.press(Key::Left).await;
    alice.press(Key::Left).await;
    alice.expect_focus("the roses").await;
    alice.type_text("r").await;
    alice.expect_focus("offered-👍").await;
    alice.press_with(Key::Shift, Key::Tab).await;
    alice.press_with(Key::Shift, Key::Tab).await;
    alice.expect_focus("reaction-👀").await;
    alice.find("palette").await;
    alice.click("composer").await;
    alice.expect_result("return document.querySelector('.palette')", json!(null)).await;
    browser.close().await;
}

#[tokio::test]
async fn a_failed_reaction_shows_the_reason() {
    let home = Home::new(1000.0);
    let program = home.start();
    let message = program.says("bob", "der Rosenstrauch blüht").await;
    react(&program, &message, "bob", "👀").await;
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    expect_chips(&alice, &["👀 1 bob"]).await;
    program.kill();
    alice.expect_connection("reconnecting").await;
    alice.click_on_message("der Rosenstrauch", "reaction-👀").await;
    let error = "return document.querySelector('[data-testid=reaction-error]').textContent";
    alice.find("reaction-error").await;
    alice.expect_result(error, json!("The server could not be reached.")).await;
    expect_chips(&alice, &["👀 1 bob"]).await;
    browser.close().await;
}

/// Adds a reaction through the API.
async fn react(program: &Program, message: &str, user: &str, emoji: &str) {
    let body = json!({ "channel": "general", "message": message, "user": user, "emoji": emoji });
    assert_eq!(program.send("POST", "/api/reactions", Some(&body)).await.0, 204);
}

/// Expects these chips in the channel, with their users, and a star at the user's own ones.
async fn expect_chips(tab: &Tab, chips: &[&str]) {
    let read =
        "return [...document.querySelectorAll('[data-testid=messages] .reaction')].map((chip) => {
        const [emoji, count] = [...chip.children].map((part) => part.textContent);
        return `${chip.ariaPressed === 'true' ? '*' : ''}${emoji} ${count} ${chip.title}`;
    })";
    tab.expect_result(read, json!(chips)).await;
}
