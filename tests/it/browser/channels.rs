//! Many channels at once, by keyboard alone, on a wide screen and on a phone.

use aizuchi_model::rules::Mode;
use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::accessibility::{AXE, axe_script};
use crate::browser::console::{expect_sound, sign_in};
use crate::browser::operator::tab_to;
use crate::browser::tab::Tab;
use crate::console::channel_list::seed;
use crate::console::harness::{OPERATOR, post, set_tokens};
use crate::program::Home;

/// What was ordered, of how many channels, and the filter that is kept.
const DONE: &str = "
    const done = document.querySelector('[data-testid=done] span')?.textContent.trim();
    return done ? [done, new URLSearchParams(location.search).get('mode')] : null";
const OBSERVED: &str = "SELECT count(*) FROM modes WHERE mode = 'observe'";

async fn expect_accessible(tab: &Tab) {
    expect_sound(tab, "en").await;
    tab.evaluate(&axe_script()).await;
    assert_eq!(tab.evaluate_later(AXE, vec![]).await, json!([]));
}

#[tokio::test]
async fn ten_channels_are_silenced_and_restored_by_keyboard() {
    let home = Home::new(1000.0);
    seed(&home, 60, None).await;
    set_tokens(&home);
    let program = home.start();
    let before = home.rows("SELECT workspace, channel, mode FROM modes ORDER BY 1, 2").await;
    let observed = before.iter().filter(|row| row[2] == Mode::Observe.name()).count();
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, OPERATOR).await;
    tab.open_page(&format!("{}/console", program.address)).await;
    tab_to(&tab, "[data-testid=to-channels]").await;
    tab.press(Key::Enter).await;
    // Those that only listen already are left out.
    tab_to(&tab, "[name=workspace]").await;
    tab.press(Key::Down).await;
    tab_to(&tab, "[name=mode]").await;
    tab.press(Key::Down).await;
    tab_to(&tab, "[data-testid=show]").await;
    tab.press(Key::Enter).await;
    tab.expect_result(
        "return new URLSearchParams(location.search).get('mode')",
        json!("companion"),
    )
    .await;
    tab_to(&tab, "[data-testid=bulk-order]").await;
    for _ in Mode::ALL.into_iter().take_while(|mode| *mode != Mode::Observe) {
        tab.press(Key::Down).await;
    }
    tab.press(Key::Down).await;
    for _ in 0..10 {
        tab_to(&tab, "[data-testid=choose]:not(:checked)").await;
        tab.type_text(" ").await;
    }
    tab.press(Key::Enter).await;
    tab.expect_result(DONE, json!(["mode: only listens · Set for 10 channels", "companion"])).await;
    home.until_kept(OBSERVED, observed as i64 + 10).await;
    expect_accessible(&tab).await;
    tab_to(&tab, "[data-testid=undo]").await;
    tab.press(Key::Enter).await;
    tab.expect_result(DONE, json!(["undid: mode only listens · 10 channels", "companion"])).await;
    let after = home.rows("SELECT workspace, channel, mode FROM modes ORDER BY 1, 2").await;
    assert_eq!(after, before);

    // The field of a value comes with the change that needs one, and one click chooses the whole page.
    tab.open_page(&format!("{}/console/channels", program.address)).await;
    let field = "return document.querySelector('[data-testid=value]').checkVisibility()";
    assert_eq!(tab.evaluate(field).await, json!(false));
    tab_to(&tab, "[data-testid=choose-all]").await;
    tab.type_text(" ").await;
    let chosen = "return document.querySelectorAll('[data-testid=choose]:not(:checked)').length";
    assert_eq!(tab.evaluate(chosen).await, json!(0));
    // It says how many are chosen, and asks before it changes all that match.
    let told = "const sure = document.querySelector('[data-testid=sure]').checkVisibility();
        return [document.querySelector('[data-testid=chosen-count]').textContent, sure]";
    let shown = "return document.querySelectorAll('[data-testid=choose]').length";
    let shown = tab.evaluate(shown).await;
    tab.expect_result(told, json!([format!("{shown} chosen"), false])).await;
    tab_to(&tab, "[data-testid=whom]").await;
    tab.press(Key::Down).await;
    tab.expect_result(told, json!([format!("{shown} chosen"), true])).await;
    tab_to(&tab, "[data-testid=bulk-order]").await;
    tab.type_text("Confidence to speak from: a").await;
    tab.expect_result(field, json!(true)).await;
    expect_accessible(&tab).await;

    // A choice outlasts an update of the page.
    tab.open_page(&format!("{}/console/channels", program.address)).await;
    tab_to(&tab, "[data-testid=choose]").await;
    tab.type_text(" ").await;
    let everywhere = json!({ "workspace": "local" });
    assert_eq!(post(&program, Some(OPERATOR), "/api/mute", everywhere).await, 204);
    let updated = "return document.querySelector('[data-testid=channel] .mark.warn') !== null
        && document.querySelectorAll('[data-testid=choose]:checked').length === 1
        && document.querySelector('[data-testid=chosen-count]').textContent === '1 chosen'";
    tab.expect_result(updated, json!(true)).await;
    expect_accessible(&tab).await;
    let screen = json!({ "width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true });
    tab.send_devtools("Emulation.setDeviceMetricsOverride", screen).await;
    expect_accessible(&tab).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
