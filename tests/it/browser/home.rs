//! The home page of the console: what it said today, and turning it off everywhere.

use serde_json::json;

use crate::browser::Browser;
use crate::browser::console::{expect_sound, sign_in};
use crate::browser::narrow::resize;
use crate::browser::operator::time_zone_at_noon;
use crate::console::harness::{OPERATOR, set_tokens};
use crate::program::Home;
use crate::slack::harness::SlackHarness;

const TEXTS: &str = "return [...document.querySelectorAll('[data-testid=feed-row] .beginning')].map((it) => it.textContent)";

const MUTES: &str = "return document.querySelector('[data-testid=mutes]').textContent";

#[tokio::test]
async fn what_it_said_today_is_seen_and_it_is_turned_off_everywhere() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    harness.add(&format!("timezone: {}\n", time_zone_at_noon()));
    let program = harness.start().await;
    harness.will_say(&["the tea is hot", "the cups are blue"]);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, OPERATOR).await;
    tab.open_page(&format!("{}/console", program.address)).await;
    tab.find("glance").await;
    expect_sound(&tab, "en").await;

    // What did it say today?
    tab.click("today-said").await;
    tab.expect_result(TEXTS, json!(["Aizuchi: the tea is hot"])).await;
    expect_sound(&tab, "en").await;
    harness.post_mention(&harness.tea, &harness.ren, "and the cups?");
    tab.expect_result(TEXTS, json!(["Aizuchi: the cups are blue", "Aizuchi: the tea is hot"]))
        .await;

    // Turn it off everywhere, now, from another page.
    tab.open_page(&format!("{}/console/figures?days=7", program.address)).await;
    tab.click("mute-everything").await;
    tab.find("undo-mute").await;
    let place = "return location.pathname";
    tab.expect_result(place, json!("/console/figures")).await;
    tab.expect_result(MUTES, json!("muted everywhere")).await;
    harness.until_kept("SELECT count(*) FROM mutes WHERE channel = ''", 2).await;
    expect_sound(&tab, "en").await;
    tab.click("undo-mute").await;
    tab.find("speaks-again").await;
    tab.find("mute-everything").await;
    tab.expect_result(place, json!("/console/figures")).await;
    harness.until_kept("SELECT count(*) FROM mutes", 0).await;
    tab.expect_result(
        "return document.querySelector('[data-testid=undo-mute]') === null",
        json!(true),
    )
    .await;
    // The page with the former answer does not offer it again.
    tab.go_back().await;
    tab.find("mute-everything").await;
    tab.expect_result(
        "return location.search.includes('undo=') && document.querySelector('[data-testid=undo-mute]') === null",
        json!(true),
    )
    .await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

const SHOWN: &str = "
    const isShown = (part) => document.querySelector(`[data-testid=${part}]`).checkVisibility();
    return ['menu', 'to-channels', 'fold', 'feed-filter'].map(isShown)";

#[tokio::test]
async fn a_phone_folds_the_menu_and_the_filter() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start_touched().await;
    let tab = browser.blank().await;
    tab.open_page(&format!("{}/console?result=said", program.address)).await;
    resize(&tab, 1280).await;
    tab.expect_result(SHOWN, json!([false, true, false, true])).await;
    resize(&tab, 390).await;
    tab.expect_result(SHOWN, json!([true, false, true, false])).await;
    let is_one_line = "return document.querySelector('.page-header').offsetHeight < 64";
    assert_eq!(tab.evaluate(is_one_line).await, json!(true));
    let chosen = "return document.querySelector('[data-chosen]').textContent";
    tab.expect_result(chosen, json!("said (spoke, reacted)")).await;
    expect_sound(&tab, "en").await;
    tab.click("fold").await;
    tab.click("menu").await;
    tab.expect_result(SHOWN, json!([true, true, true, true])).await;
    expect_sound(&tab, "en").await;
    tab.click("to-channels").await;
    tab.expect_result("return location.pathname", json!("/console/channels")).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
