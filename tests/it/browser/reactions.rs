//! Reactions on the page: chips below a line, a row of emojis to choose from, both with mouse and keys.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::{Home, Program};

#[tokio::test]
async fn people_react_with_the_mouse() {
    let home = Home::new(1000.0);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    let bob = browser.tab(&room, "bob").await;
    alice.says("the roses bloom").await;
    alice.says("all of them").await;
    shows(&bob, &[]).await;

    bob.clicks_on_line("the roses", "message-react").await;
    bob.focus_is("offered-👍").await;
    let offered =
        "return [...document.querySelectorAll('.offered')].map((button) => button.textContent)";
    bob.reads(offered, json!(["👍", "👀", "🎉", "❤️", "😄", "🙏"])).await;
    bob.clicks("offered-🎉").await;
    shows(&bob, &["*🎉 1 bob"]).await;
    bob.focus_is("the roses").await;
    bob.reads(offered, json!([])).await;
    shows(&alice, &["🎉 1 bob"]).await;

    // A chip is for joining in, and for taking that back.
    alice.clicks_on_line("the roses", "reaction-🎉").await;
    shows(&alice, &["*🎉 2 bob and alice"]).await;
    alice.focus_is("reaction-🎉").await;
    shows(&bob, &["*🎉 2 bob and alice"]).await;
    bob.clicks_on_line("the roses", "reaction-🎉").await;
    shows(&bob, &["🎉 1 alice"]).await;
    bob.clicks_on_line("the roses", "message-react").await;
    bob.clicks("offered-❤️").await;
    shows(&bob, &["🎉 1 alice", "*❤️ 1 bob"]).await;
    shows(&alice, &["*🎉 1 alice", "❤️ 1 bob"]).await;
    // Whoever speaks as somebody else sees what is theirs.
    bob.clicks("person-alice").await;
    shows(&bob, &["*🎉 1 alice", "❤️ 1 bob"]).await;

    // The last one to take it back takes the chip away, and the focus is not lost.
    alice.clicks_on_line("the roses", "reaction-🎉").await;
    shows(&alice, &["❤️ 1 bob"]).await;
    alice.focus_is("the roses").await;
    // What was said reads the same, and nothing was edited.
    alice.sees(&["the roses bloom", "all of them"]).await;
    let is_edited = "return document.querySelector('[data-testid=messages] .edited') !== null";
    assert_eq!(alice.evaluate(is_edited).await, json!(false));

    alice.reloads().await;
    shows(&alice, &["❤️ 1 bob"]).await;
    alice.clicks_on_line("the roses", "message-delete").await;
    alice.clicks("delete-confirm").await;
    alice.sees(&["all of them"]).await;
    shows(&bob, &[]).await;
    browser.close().await;
}

#[tokio::test]
async fn people_react_with_keys() {
    let home = Home::new(1000.0);
    let room = home.start();
    let line = room.says("bob", "the roses bloom").await;
    reacts(&room, &line, "bob", "👀").await;
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    // Everything that is seen is heard, too.
    let label = "return document.querySelector('[data-testid=message]').ariaLabel.split(': ').slice(1).join(': ')";
    alice.reads(label, json!("the roses bloom. Reactions: 👀 by bob")).await;

    alice.tabs_back_to("the roses").await;
    alice.types("r").await;
    alice.focus_is("offered-👍").await;
    alice.presses(Key::Escape).await;
    alice.focus_is("message-react").await;
    alice.presses(Key::Enter).await;
    alice.focus_is("offered-👍").await;
    alice.presses(Key::Right).await;
    alice.focus_is("offered-👀").await;
    // Somebody else is faster; the row stays, and so does the place in it.
    reacts(&room, &line, "carol", "🎉").await;
    shows(&alice, &["👀 1 bob", "🎉 1 carol"]).await;
    alice.focus_is("offered-👀").await;
    alice.presses(Key::Enter).await;
    shows(&alice, &["*👀 2 bob and alice", "🎉 1 carol"]).await;
    alice.focus_is("the roses").await;

    alice.presses(Key::Right).await;
    alice.focus_is("reaction-👀").await;
    let chip = "const { ariaPressed, ariaLabel } = document.activeElement; return [ariaPressed, ariaLabel]";
    alice.reads(chip, json!(["true", "👀 by bob and alice"])).await;
    alice.presses(Key::Right).await;
    alice.focus_is("reaction-🎉").await;
    alice.presses(Key::Enter).await;
    shows(&alice, &["*👀 2 bob and alice", "*🎉 2 carol and alice"]).await;
    alice.focus_is("reaction-🎉").await;

    // Leaving the line closes the row.
    alice.presses(Key::Left).await;
    alice.presses(Key::Left).await;
    alice.focus_is("the roses").await;
    alice.types("r").await;
    alice.focus_is("offered-👍").await;
    alice.presses_with(Key::Shift, Key::Tab).await;
    alice.presses_with(Key::Shift, Key::Tab).await;
    alice.focus_is("reaction-👀").await;
    alice.find("palette").await;
    alice.clicks("composer").await;
    alice.reads("return document.querySelector('.palette')", json!(null)).await;
    browser.close().await;
}

#[tokio::test]
async fn a_reaction_that_cannot_be_placed_says_why() {
    let home = Home::new(1000.0);
    let room = home.start();
    let line = room.says("bob", "der Rosenstrauch blüht").await;
    reacts(&room, &line, "bob", "👀").await;
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    shows(&alice, &["👀 1 bob"]).await;
    room.kill();
    alice.connection("reconnecting").await;
    alice.clicks_on_line("der Rosenstrauch", "reaction-👀").await;
    let error = "return document.querySelector('[data-testid=reaction-error]').textContent";
    alice.find("reaction-error").await;
    alice.reads(error, json!("The server could not be reached.")).await;
    shows(&alice, &["👀 1 bob"]).await;
    browser.close().await;
}

/// Somebody reacts in another program.
async fn reacts(room: &Program, line: &str, user: &str, emoji: &str) {
    let body = json!({ "channel": "general", "message": line, "user": user, "emoji": emoji });
    assert_eq!(room.send("POST", "/api/reactions", Some(&body)).await.0, 204);
}

/// The chips in the channel, with who stands behind each, and a star at one's own.
async fn shows(tab: &Tab, chips: &[&str]) {
    let read =
        "return [...document.querySelectorAll('[data-testid=messages] .reaction')].map((chip) => {
        const [emoji, count] = [...chip.children].map((part) => part.textContent);
        return `${chip.ariaPressed === 'true' ? '*' : ''}${emoji} ${count} ${chip.title}`;
    })";
    tab.reads(read, json!(chips)).await;
}
