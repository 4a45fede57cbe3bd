//! A timeline of thousands of rows. The work per second, per page of older rows and per new message is counted rather
//! than timed, so that it is the same on every machine.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::generated::{GeneratedHistory, Place};
use crate::program::Home;

const ROWS: u64 = 3000;

/// Counts the created dates, and records the work of each second.
const COUNT: &str = "{
    window.work = { dates: 0, ticks: [], changes: 0 };
    const own = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format').get;
    const format = { configurable: true, get() { window.work.dates += 1; return own.call(this); } };
    Object.defineProperty(Intl.DateTimeFormat.prototype, 'format', format);
    const set = window.setInterval;
    window.setInterval = (tick, wait) => { window.work.ticks.push(tick); return set(tick, wait); };
}";

/// Returns the number of timers, and the number of dates that they create when they run.
const SECOND: &str = "
    const before = window.work.dates;
    for (const tick of window.work.ticks) tick();
    return [window.work.ticks.length, window.work.dates - before]";

/// Whether only the rows near the visible ones are laid out.
const IS_LAZY: &str = "
    const isLaidOut = (row) => row.checkVisibility({ contentVisibilityAuto: true });
    return [...document.querySelectorAll('[data-testid=row] > .said')].filter(isLaidOut).length < 300";

const WATCH: &str = "
    new MutationObserver((changes) => { window.work.changes += changes.length; }).observe(
        document.querySelector('.timeline'),
        { subtree: true, childList: true, attributes: true, characterData: true });";

async fn number(tab: &Tab, script: &str) -> u64 {
    let found = tab.evaluate(script).await;
    found.as_u64().unwrap_or_else(|| panic!("{script}: {found}"))
}

async fn rows(tab: &Tab) -> u64 {
    number(tab, "return document.querySelectorAll('[data-testid=row]').length").await
}

#[tokio::test]
async fn thousands_of_rows_cost_no_more_than_a_page_of_them() {
    let home = Home::new(1000.0);
    assert_eq!(home.start().stop(), Some(0));
    let words: Vec<String> = (0..40).map(|number| format!("step {number}")).collect();
    let history = GeneratedHistory {
        places: vec![Place::new("local", "general", "general", "public")],
        public_words: words.clone(),
        private_words: words,
        messages: 3100,
        decisions: 100,
    };
    history.write(&home).await;
    let program = home.start();
    let browser = Browser::start_undrawn_in("en-US").await;
    let tab = browser.blank().await;
    tab.run_on_new_pages(COUNT).await;
    tab.open_page(&format!("{}/console/channels/local/general", program.address)).await;
    tab.find("older").await;
    let dates = "return window.work.dates";
    let mut shown = rows(&tab).await;
    while shown < ROWS {
        let before = number(&tab, dates).await;
        tab.click("older").await;
        let has_more =
            format!("return document.querySelectorAll('[data-testid=row]').length > {shown}");
        tab.expect_result(&has_more, json!(true)).await;
        shown = rows(&tab).await;
        // The server wrote the times.
        let made = number(&tab, dates).await - before;
        assert!(made <= 60, "{made} dates for a page, with {shown} rows");
    }
    assert_eq!(tab.evaluate(SECOND).await, json!([2, 0]), "relative times, and the day");
    tab.expect_result(IS_LAZY, json!(true)).await;

    tab.evaluate(WATCH).await;
    program.says("alice", "and the last step").await;
    let last =
        "return [...document.querySelectorAll('[data-testid=row] .text')].at(-1).textContent";
    tab.expect_result(last, json!("and the last step")).await;
    assert_eq!(rows(&tab).await, shown + 1);
    let changes = number(&tab, "return window.work.changes").await;
    assert!((1..=60).contains(&changes), "{changes} changes for a new row");
    let is_shown = "return [...document.querySelectorAll('.timeline time')].every((time) => time.textContent !== '')";
    assert_eq!(tab.evaluate(is_shown).await, Value::Bool(true));
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
