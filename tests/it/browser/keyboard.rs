//! Without a mouse: completing names, and a whole visit by keyboard.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;

#[tokio::test]
async fn names_are_completed() {
    let home = Home::new(0.1);
    let program = home.start();
    for name in ["Mary", "Mary Ann", "Martin"] {
        let (status, _) = program.send("POST", "/api/people", Some(&json!({ "name": name }))).await;
        assert_eq!(status, 201);
    }
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;

    // The persona comes first, the user's own name last.
    alice.type_text("@").await;
    expect_suggestions(&alice, &["*Aizuchi", "Martin", "Mary", "Mary Ann", "alice"]).await;
    // A user who is added while the list is open appears in it.
    program.send("POST", "/api/people", Some(&json!({ "name": "Bea" }))).await;
    expect_suggestions(&alice, &["*Aizuchi", "Bea", "Martin", "Mary", "Mary Ann", "alice"]).await;
    alice.type_text("ma").await;
    expect_suggestions(&alice, &["*Martin", "Mary", "Mary Ann"]).await;
    alice.press(Key::Down).await;
    expect_suggestions(&alice, &["Martin", "*Mary", "Mary Ann"]).await;
    alice.press(Key::Down).await;
    alice.press(Key::Down).await;
    expect_suggestions(&alice, &["*Martin", "Mary", "Mary Ann"]).await;
    alice.press(Key::Up).await;
    expect_suggestions(&alice, &["Martin", "Mary", "*Mary Ann"]).await;
    // The field names the active option for screen readers.
    let active = "const field = document.activeElement;
        return document.getElementById(field.getAttribute('aria-activedescendant')).dataset.name";
    alice.expect_result(active, json!("Mary Ann")).await;
    alice.press(Key::Enter).await;
    expect_text(&alice, "@Mary Ann ").await;
    expect_suggestions(&alice, &[]).await;

    alice.type_text("and @Mart").await;
    expect_suggestions(&alice, &["*Martin"]).await;
    alice.press(Key::Tab).await;
    expect_text(&alice, "@Mary Ann and @Martin ").await;
    alice.expect_focus("composer").await;

    // A dismissed list stays closed, and Enter sends.
    alice.type_text("or @m").await;
    expect_suggestions(&alice, &["*Martin", "Mary", "Mary Ann"]).await;
    alice.press(Key::Escape).await;
    alice.type_text("a").await;
    expect_suggestions(&alice, &[]).await;
    alice.press(Key::Enter).await;
    alice.expect_messages(&["@Mary Ann and @Martin or @ma"]).await;
    let mentions = "return [...document.querySelectorAll('[data-testid=message] .mention')]
        .map((mention) => mention.textContent)";
    alice.expect_result(mentions, json!(["@Mary Ann", "@Martin"])).await;
    browser.close().await;
}

/// The list of users comes with the first events, when somebody may already be typing.
#[tokio::test]
async fn a_name_is_completed_as_soon_as_its_user_is_known() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.type_text("@ma").await;
    expect_text(&alice, "@ma").await;
    expect_suggestions(&alice, &[]).await;
    program.send("POST", "/api/people", Some(&json!({ "name": "Mary" }))).await;
    expect_suggestions(&alice, &["*Mary"]).await;
    alice.press(Key::Enter).await;
    expect_text(&alice, "@Mary ").await;
    browser.close().await;
}

#[tokio::test]
async fn a_visit_needs_no_mouse() {
    let home = Home::new(0.1);
    let program = home.start();
    program.says("bob", "good evening").await;
    // Its note has a link.
    program.wait_for(0, |kind, data| kind == "decision" && !data["closed"].is_null()).await;
    let browser = Browser::start().await;
    let alice = browser.blank().await;
    alice.open_page(&program.address).await;

    alice.expect_focus("name-input").await;
    alice.type_text("alice").await;
    alice.press(Key::Enter).await;
    alice.expect_focus("composer").await;
    alice.type_text("@ai").await;
    expect_suggestions(&alice, &["*Aizuchi"]).await;
    alice.press(Key::Enter).await;
    alice.type_text("are you there?").await;
    alice.press(Key::Enter).await;
    let answer = "Yes, alice? Ask me about anything that was said here, or say @Aizuchi help.";
    alice.expect_messages(&["good evening", "@Aizuchi are you there?", answer]).await;

    // Back to the messages, up to the first one, and into its thread.
    alice.tab_back_to(answer).await;
    alice.press(Key::Up).await;
    alice.expect_focus("@Aizuchi are you there?").await;
    alice.press(Key::Home).await;
    alice.expect_focus("good evening").await;
    alice.press(Key::Enter).await;
    alice.expect_focus("thread-composer").await;
    alice.type_text("and to you").await;
    alice.press(Key::Enter).await;
    alice.expect_messages_in("thread-messages", &["good evening", "and to you"]).await;
    alice.press(Key::Escape).await;
    alice.expect_focus("thread-open").await;
    alice.press(Key::Left).await;
    alice.expect_focus("decision-link").await;
    alice.press(Key::Left).await;
    alice.expect_focus("good evening").await;
    alice.press(Key::Escape).await;
    alice.expect_focus("composer").await;

    // A shortcut opens the list of keys.
    alice.press_with(Key::Control, '/').await;
    alice.expect_focus("help-close").await;
    alice.press(Key::Escape).await;
    alice.expect_focus("composer").await;

    // From the top of the page: skip to the field, or to another user.
    alice.tab_back_to("skip").await;
    alice.press(Key::Enter).await;
    alice.expect_focus("composer").await;
    alice.tab_back_to("person-bob").await;
    alice.press(Key::Enter).await;
    alice.expect_focus("composer").await;
    alice.type_text("it is bob again").await;
    alice.press(Key::Enter).await;
    let authors = "return [...document.querySelectorAll('[data-testid=messages] > .message')]
        .map((line) => line.dataset.user)";
    alice.expect_result(authors, json!(["bob", "alice", "Aizuchi", "bob"])).await;
    browser.close().await;
}

/// Expects these names in the list, with a star at the active one.
async fn expect_suggestions(tab: &Tab, names: &[&str]) {
    let read = "return [...document.querySelectorAll('#channel-pane .suggestions:not([hidden]) [role=option]')]
        .map((option) => (option.ariaSelected === 'true' ? '*' : '') + option.dataset.name)";
    tab.expect_result(read, json!(names)).await;
}

async fn expect_text(tab: &Tab, text: &str) {
    tab.expect_result("return document.querySelector('[data-testid=composer]').value", json!(text))
        .await;
}
