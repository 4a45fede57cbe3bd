//! How it takes part: said at the channel's head, changed behind a button, with the mouse and with keys.

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::program::Home;

const SAID: &str = "return document.getElementById('manner').textContent.trim()";
const PRESSED: &str = "return document.querySelector('.mode[aria-pressed=true]').dataset.mode";

#[tokio::test]
async fn a_mode_is_chosen_with_keys_and_everybody_sees_it() {
    let home = Home::new(1000.0);
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    let bob = browser.tab(&room, "bob").await;
    alice.reads(SAID, json!("Companion")).await;
    alice.tabs_back_to("manner").await;
    alice.presses(Key::Enter).await;
    alice.focus_is("mode-companion").await;
    alice.reads(PRESSED, json!("companion")).await;
    alice.presses(Key::Tab).await;
    alice.presses(Key::Tab).await;
    alice.focus_is("mode-mention_only").await;
    alice.presses(Key::Enter).await;
    alice.reads(PRESSED, json!("mention_only")).await;
    bob.reads(SAID, json!("When mentioned")).await;
    // Only this channel's, and as the settings say where nobody has ordered anything.
    bob.clicks("channel-random").await;
    bob.reads(SAID, json!("Companion")).await;
    let reset = "return document.getElementById('mode-reset').hidden";
    alice.reads(reset, json!(false)).await;
    alice.clicks("mode-reset").await;
    alice.reads(reset, json!(true)).await;
    // The button that had the focus is gone.
    alice.focus_is("mode-companion").await;
    alice.presses(Key::Escape).await;
    alice.focus_is("manner").await;
    alice.reads(SAID, json!("Companion")).await;
    browser.close().await;
}

#[tokio::test]
async fn a_mute_is_told_and_taken_back() {
    let home = Home::new(0.1);
    home.add("opted_out: [carol]\n");
    let room = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&room, "alice").await;
    alice.clicks("manner").await;
    for (button, state) in [
        ("mute-hour", "until "),
        ("mute-hours", "until "),
        ("mute-on", "until somebody unmutes it."),
    ] {
        alice.clicks(button).await;
        shows(&alice, "mute-state", &["says nothing here", state]).await;
    }
    alice.reads(SAID, json!("Muted")).await;
    alice.clicks("manner-close").await;
    alice.says("@Aizuchi hello?").await;
    alice.sees(&["was silenced: I am muted here"]).await;
    alice.clicks("manner").await;
    alice.clicks("unmute").await;
    shows(&alice, "mute-state", &["Aizuchi may speak here."]).await;
    alice.clicks("manner-close").await;
    alice.reads(SAID, json!("Companion")).await;

    // Muted everywhere, it is muted here.
    assert_eq!(room.send("POST", "/api/mute", Some(&json!({ "minutes": 60 }))).await.0, 204);
    let is_muted = "return document.getElementById('manner').dataset.muted";
    alice.reads(is_muted, json!("true")).await;
    alice.clicks("manner").await;
    alice.clicks("unmute").await;
    alice.reads(is_muted, json!("false")).await;
    alice.clicks("manner-close").await;
    assert_eq!(room.get("/api/channels").await["muted_until"], Value::Null);

    // A line that a rule settled when it was heard says so.
    room.says("carol", "nobody reads this").await;
    let settled = "not considered: its author does not want me to listen";
    alice.sees(&["was silenced", settled]).await;
    browser.close().await;
}

#[tokio::test]
async fn what_was_used_up_is_shown_on_a_phone_in_japanese() {
    let home = Home::new(0.1);
    home.add("language: ja\nbudget: {tokens_per_day: 1, money_per_month: 2.5}\n");
    let room = home.start();
    let browser = Browser::start_touched().await;
    let hana = browser.blank().await;
    let size = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": false });
    hana.commands("Emulation.setDeviceMetricsOverride", size).await;
    hana.opens(&room.address).await;
    hana.writes_in("name-input", "hana").await;
    hana.clicks("name-save").await;
    hana.connection("live").await;
    hana.reads(SAID, json!("一員")).await;
    hana.clicks("manner").await;
    shows(&hana, "reached", &["上限にはまだ余裕があります。"]).await;
    shows(&hana, "spending", &["トークン（#general）", "0 / 1", "0 / 2.5 USD"]).await;
    hana.clicks("manner-close").await;
    hana.writes_in("composer", "@Aizuchi こんにちは").await;
    hana.clicks("send").await;
    room.wait_for(0, |kind, data| kind == "decision" && data["ended"] == "spoke").await;
    hana.clicks("manner").await;
    let reached = "上限に達したため、Aizuchi はメンションにも考えて答えることができません。";
    shows(&hana, "reached", &[reached]).await;
    hana.clicks("mute-hour").await;
    shows(&hana, "mute-state", &["まで、Aizuchi はメンションにも答えません。"]).await;
    let wide = "const dialog = document.getElementById('manner-dialog');
        return dialog.scrollWidth > dialog.clientWidth || document.documentElement.scrollWidth > innerWidth";
    hana.reads(wide, json!(false)).await;
    hana.clicks("manner-close").await;
    hana.reads(wide, json!(false)).await;
    browser.close().await;
}

async fn shows(tab: &Tab, what: &str, parts: &[&str]) {
    let has_all = format!(
        "const text = document.querySelector('[data-testid={what}]').textContent;
        return {}.filter((part) => !text.includes(part))",
        json!(parts)
    );
    tab.reads(&has_all, json!([])).await;
}
