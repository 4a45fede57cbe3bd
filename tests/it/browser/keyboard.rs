//! Without a mouse: completing names, and everything else that one does in a room.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;

#[tokio::test]
async fn names_are_completed() {
    let home = Home::new(0.1);
    let room = home.start();
    for name in ["Mary", "Mary Ann", "Martin"] {
        let (status, _) = room.send("POST", "/api/people", Some(&json!({ "name": name }))).await;
        assert_eq!(status, 201);
    }
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;

    // The persona first, oneself last.
    alice.types("@").await;
    offers(&alice, &["*Aizuchi", "Martin", "Mary", "Mary Ann", "alice"]).await;
    alice.types("ma").await;
    offers(&alice, &["*Martin", "Mary", "Mary Ann"]).await;
    alice.presses(Key::Down).await;
    offers(&alice, &["Martin", "*Mary", "Mary Ann"]).await;
    alice.presses(Key::Down).await;
    alice.presses(Key::Down).await;
    offers(&alice, &["*Martin", "Mary", "Mary Ann"]).await;
    alice.presses(Key::Up).await;
    offers(&alice, &["Martin", "Mary", "*Mary Ann"]).await;
    // The field says which one it is, to who cannot see it.
    let active = "const field = document.activeElement;
        return document.getElementById(field.getAttribute('aria-activedescendant')).dataset.name";
    alice.reads(active, json!("Mary Ann")).await;
    alice.presses(Key::Enter).await;
    holds(&alice, "@Mary Ann ").await;
    offers(&alice, &[]).await;

    alice.types("and @Mart").await;
    offers(&alice, &["*Martin"]).await;
    alice.presses(Key::Tab).await;
    holds(&alice, "@Mary Ann and @Martin ").await;
    alice.focus_is("composer").await;

    // Sent away, the list stays away; Enter sends again.
    alice.types("or @m").await;
    offers(&alice, &["*Martin", "Mary", "Mary Ann"]).await;
    alice.presses(Key::Escape).await;
    alice.types("a").await;
    offers(&alice, &[]).await;
    alice.presses(Key::Enter).await;
    alice.sees(&["@Mary Ann and @Martin or @ma"]).await;
    let mentions = "return [...document.querySelectorAll('[data-testid=message] .mention')]
        .map((mention) => mention.textContent)";
    alice.reads(mentions, json!(["@Mary Ann", "@Martin"])).await;
    browser.close().await;
}

#[tokio::test]
async fn a_visit_needs_no_mouse() {
    let home = Home::new(0.1);
    let room = home.start();
    room.says("bob", "good evening").await;
    let browser = Browser::start().await;
    let alice = browser.blank().await;
    alice.opens(&room.address).await;

    alice.focus_is("name-input").await;
    alice.types("alice").await;
    alice.presses(Key::Enter).await;
    alice.focus_is("composer").await;
    alice.types("@ai").await;
    offers(&alice, &["*Aizuchi"]).await;
    alice.presses(Key::Enter).await;
    alice.types("are you there?").await;
    alice.presses(Key::Enter).await;
    let answer = "nothing that was said here answers that";
    alice.sees(&["good evening", "@Aizuchi are you there?", answer]).await;

    // Back over the lines, up to the first, and into its thread.
    alice.tabs_back_to(answer).await;
    alice.presses(Key::Up).await;
    alice.focus_is("@Aizuchi are you there?").await;
    alice.presses(Key::Home).await;
    alice.focus_is("good evening").await;
    alice.presses(Key::Enter).await;
    alice.focus_is("thread-composer").await;
    alice.types("and to you").await;
    alice.presses(Key::Enter).await;
    alice.sees_in("thread-messages", &["good evening", "and to you"]).await;
    alice.presses(Key::Escape).await;
    alice.focus_is("thread-open").await;
    alice.presses(Key::Left).await;
    alice.focus_is("decision-link").await;
    alice.presses(Key::Left).await;
    alice.focus_is("good evening").await;
    alice.presses(Key::Escape).await;
    alice.focus_is("composer").await;

    // The keys are explained where one needs them.
    alice.presses_with(Key::Control, '/').await;
    alice.focus_is("help-close").await;
    alice.presses(Key::Escape).await;
    alice.focus_is("composer").await;

    // From the top of the page: past everything to the field, or to another person.
    alice.tabs_back_to("skip").await;
    alice.presses(Key::Enter).await;
    alice.focus_is("composer").await;
    alice.tabs_back_to("person-bob").await;
    alice.presses(Key::Enter).await;
    alice.focus_is("composer").await;
    alice.types("it is bob again").await;
    alice.presses(Key::Enter).await;
    let authors = "return [...document.querySelectorAll('[data-testid=messages] > .message')]
        .map((line) => line.dataset.user)";
    alice.reads(authors, json!(["bob", "alice", "Aizuchi", "bob"])).await;
    browser.close().await;
}

/// The names in the list, with a star at the chosen one.
async fn offers(tab: &Tab, names: &[&str]) {
    let read = "return [...document.querySelectorAll('#channel-pane .suggestions:not([hidden]) [role=option]')]
        .map((option) => (option.ariaSelected === 'true' ? '*' : '') + option.dataset.name)";
    tab.reads(read, json!(names)).await;
}

async fn holds(tab: &Tab, text: &str) {
    tab.reads("return document.querySelector('[data-testid=composer]').value", json!(text)).await;
}
