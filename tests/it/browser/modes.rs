//! The channel's mode, mute and spending: shown in the header and in a dialog.

use aizuchi_harness::providers::{Server, ServerLimits};
use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::operator::time_zone_at_noon;
use crate::browser::tab::Tab;
use crate::program::Home;

const STATUS: &str = "return document.getElementById('channel-settings').textContent.trim()";

#[tokio::test]
async fn a_mode_is_shown_in_every_tab_and_changed_in_the_console() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;
    alice.expect_result(STATUS, json!("Joins in at pauses")).await;
    let to_proposals = "return document.getElementById('proposals').checkVisibility()";
    alice.expect_result(to_proposals, json!(false)).await;
    alice.tab_back_to("manner").await;
    alice.press(Key::Enter).await;
    alice.expect_focus("channel-console").await;
    alice.press(Key::Enter).await;
    let proposing = "const mode = document.querySelector('[data-testid=mode]');
        if (mode === null) return false;
        mode.value = 'propose';
        return true";
    alice.expect_result(proposing, json!(true)).await;
    alice.click("set-mode").await;
    bob.expect_result(STATUS, json!("Asks before it speaks")).await;
    bob.expect_result(to_proposals, json!(true)).await;
    // Other channels keep the mode of the settings.
    bob.click("channel-random").await;
    bob.expect_result(STATUS, json!("Joins in at pauses")).await;
    bob.expect_result(to_proposals, json!(false)).await;
    browser.close().await;
}

#[tokio::test]
async fn a_mute_is_shown_and_lifted() {
    let home = Home::new(0.1);
    home.add("opted_out: [carol]\n");
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.click("manner").await;
    for (button, state) in [
        ("mute-hour", "until "),
        ("mute-hours", "until "),
        ("mute-on", "until someone unmutes it."),
    ] {
        alice.click(button).await;
        expect_parts(&alice, "mute-state", &["stays silent here", state]).await;
    }
    alice.expect_result(STATUS, json!("Muted")).await;
    alice.click("manner-close").await;
    alice.post("@Aizuchi hello?").await;
    alice.expect_messages(&["stayed silent: I was muted"]).await;
    alice.click("manner").await;
    alice.click("unmute").await;
    expect_parts(&alice, "mute-state", &["Aizuchi isn’t muted here."]).await;
    alice.click("manner-close").await;
    alice.expect_result(STATUS, json!("Joins in at pauses")).await;

    // A mute of all channels includes this one.
    assert_eq!(program.send("POST", "/api/mute", Some(&json!({ "minutes": 60 }))).await.0, 204);
    let is_muted = "return document.getElementById('channel-settings').dataset.muted";
    alice.expect_result(is_muted, json!("true")).await;
    alice.click("manner").await;
    alice.click("unmute").await;
    alice.expect_result(is_muted, json!("false")).await;
    alice.click("manner-close").await;
    assert_eq!(program.get("/api/channels").await["muted_until"], Value::Null);

    // A message settled at intake shows the reason.
    program.says("carol", "nobody reads this").await;
    let settled = "not considered: its author asked me not to listen";
    alice.expect_messages(&["stayed silent", settled]).await;
    browser.close().await;
}

#[tokio::test]
async fn the_last_of_several_orders_counts() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    // A slow connection: the first order is not sent before the test lets it through.
    let slow = "const real = window.fetch;
        window.orders = 0;
        window.fetch = async (address, options) => {
            if (address === '/api/mute') {
                window.orders += 1;
                if (window.orders === 1) await new Promise((through) => (window.letThrough = through));
            }
            return real(address, options);
        }";
    alice.evaluate(slow).await;
    alice.click("manner").await;
    alice.click("mute-hour").await;
    alice.click("mute-on").await;
    alice.expect_result("return window.orders", json!(1)).await;
    alice.evaluate("window.letThrough()").await;
    expect_parts(&alice, "mute-state", &["until someone unmutes it."]).await;
    alice.expect_result("return window.orders", json!(2)).await;
    browser.close().await;
}

#[tokio::test]
async fn orders_in_words_are_shown_at_the_head() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;
    for (order, state) in [
        ("@Aizuchi mode mention_only", "Only when mentioned"),
        ("@Aizuchi mute", "Muted"),
        ("@Aizuchi unmute", "Only when mentioned"),
    ] {
        alice.post(order).await;
        for tab in [&alice, &bob] {
            let starts = format!("{STATUS}.startsWith({})", json!(state));
            tab.expect_result(&starts, json!(true)).await;
        }
    }
    // A command needs no note: it has its answer.
    let notes = "return [...document.querySelectorAll('[data-kind=settled]')].length";
    alice.expect_result(notes, json!(0)).await;
    let told = "return [...new Set([...document.querySelectorAll('[data-kind=spoke] span')].map((it) => it.textContent))]";
    alice.expect_result(told, json!(["answered a command"])).await;
    browser.close().await;
}

#[tokio::test]
async fn the_intro_says_what_holds_in_the_channel() {
    let home = Home::new(12.0);
    home.add("channels: {'#random': {mode: observe}}\n");
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let intro = "return document.querySelector('[data-testid=intro-mode]').textContent";
    let asks = "return document.getElementById('intro-ask').checkVisibility()";
    alice.expect_result(intro, json!("It waits about 12 seconds before it decides.")).await;
    alice.expect_result(asks, json!(true)).await;
    alice.click("channel-random").await;
    let told = "In this channel it only listens and remembers. It never speaks here.";
    alice.expect_result(intro, json!(told)).await;
    alice.expect_result(asks, json!(false)).await;
    browser.close().await;
}

#[tokio::test]
async fn a_guide_that_was_closed_is_brought_back_by_its_link() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let shown =
        "return ['intro', 'guide'].map((id) => document.getElementById(id).checkVisibility())";
    alice.expect_result(shown, json!([true, false])).await;
    alice.click("intro-close").await;
    alice.expect_result(shown, json!([false, true])).await;
    alice.click("guide").await;
    alice.expect_result(shown, json!([true, false])).await;
    alice.expect_focus("intro-close").await;
    browser.close().await;
}

#[tokio::test]
async fn a_note_of_silence_follows_what_one_person_said() {
    let home = Home::new(0.1);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let notes = "return [...document.querySelectorAll('#channel-pane [data-testid=message]')]
        .map((line) => line.querySelector('.note').dataset.kind)";
    alice.post("my lunch was good").await;
    alice.expect_result(notes, json!(["silent"])).await;
    alice.post("the soup above all").await;
    alice.expect_result(notes, json!(["none", "silent"])).await;
    browser.close().await;
}

#[tokio::test]
async fn no_limit_is_said_to_be_near_where_none_is_set() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.click("manner").await;
    expect_parts(&alice, "reached", &["use no tokens and cost nothing"]).await;
    let table = "return document.querySelector('[data-testid=spending]').hidden";
    alice.expect_result(table, json!(true)).await;
    browser.close().await;
}

#[tokio::test]
async fn spending_is_shown_on_a_phone_in_japanese() {
    let server = Server::start(ServerLimits::default()).await;
    let home = Home::new(0.1);
    home.add(&format!(
        "language: ja
timezone: {}
budget: {{tokens_per_day: 1, money_per_month: 2.5}}
agents: {{response: {{model_id: openai/large-1, client_args: {{api_base: '{}/v1'}}}}}}
",
        time_zone_at_noon(),
        server.base
    ));
    let program = home.start();
    let browser = Browser::start_touched_in("ja").await;
    let hana = browser.blank().await;
    let size = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": false });
    hana.send_devtools("Emulation.setDeviceMetricsOverride", size).await;
    hana.open_page(&program.address).await;
    hana.type_in("name-input", "hana").await;
    hana.click("name-save").await;
    hana.expect_connection("live").await;
    hana.expect_result(STATUS, json!("会話の合間に話す")).await;
    hana.click("manner").await;
    expect_parts(&hana, "reached", &["上限にはまだ余裕があります。"]).await;
    expect_parts(&hana, "spending", &["トークン（#general）", "0 / 1", "0 / 2.5 USD"]).await;
    hana.click("manner-close").await;
    hana.type_in("composer", "@Aizuchi こんにちは").await;
    hana.click("send").await;
    program.wait_for(0, |kind, data| kind == "decision" && data["ended"] == "spoke").await;
    hana.click("manner").await;
    let reached = "上限に達したため、Aizuchi はメンションにも答えません。";
    expect_parts(&hana, "reached", &[reached]).await;
    // The model has no price.
    expect_parts(&hana, "spending", &["127 / 1", "不明"]).await;
    hana.click("mute-hour").await;
    expect_parts(&hana, "mute-state", &["まで、Aizuchi はメンションにも答えません。"]).await;
    let wide = "const dialog = document.getElementById('channel-settings-dialog');
        return dialog.scrollWidth > dialog.clientWidth || document.documentElement.scrollWidth > innerWidth";
    hana.expect_result(wide, json!(false)).await;
    hana.click("manner-close").await;
    hana.expect_result(wide, json!(false)).await;
    browser.close().await;
}

async fn expect_parts(tab: &Tab, what: &str, parts: &[&str]) {
    let has_all = format!(
        "const text = document.querySelector('[data-testid={what}]').textContent;
        return {}.filter((part) => !text.includes(part))",
        json!(parts)
    );
    tab.expect_result(&has_all, json!([])).await;
}
