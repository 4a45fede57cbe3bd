//! An operator's questions and changes, each found from the first page of the console, by the pages alone; some of them
//! in Japanese, by keyboard alone.

use aizuchi_fakes::slack::fault::Fault;
use fantoccini::key::Key;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, raw_sql};

use crate::browser::Browser;
use crate::browser::console::{expect_sound, sign_in};
use crate::browser::tab::Tab;
use crate::console::harness::{ADMIN, get, json_of, set_tokens, slack_workspace};
use crate::generated::{GeneratedHistory, Place};
use crate::program::{Home, Program};
use crate::slack::harness::SlackHarness;

const HOUR_MS: i64 = 3_600_000;
/// Channels of the generated history that the fake Slack does not have.
const RANDOM: &str = "C0RANDOM";
const LOBBY: &str = "D0LOBBY";
const REASON: &str = "Ken is about to answer";
const ERROR: &str = "the provider answers 401: the key is not accepted";

/// A silent decision, memories about Mia, a model that has been failing for three hours, and expensive calls.
const MORE: &str = r#"
    INSERT INTO users (workspace, id, name, kind) VALUES ('{workspace}', 'U0MIA', 'Mia', 'human');
    INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility,
            decision, heard, revision)
        SELECT '{workspace}', 'C0RANDOM', '1.000001', '', {now} - 30000, 'U0MIA', 'human',
            'has anybody seen the ladder?', '[]', 'public', 900000000, revision, revision FROM counters;
    INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, judgment, state, ended,
            why, revision, mode, passed, conversation_state)
        SELECT 900000000, '{workspace}', 'C0RANDOM', '', {now} - 30000, {now} - 20000, 0,
            '{"should_respond": false, "reason": "{reason}", "confidence": 0.9, "delay_seconds": 0, "about": "1.000001"}',
            1, 'chose_silence', '{reason}', revision, 'companion', '["muted"]', 'active' FROM counters;
    UPDATE memories SET entries = json_insert(entries,
        '$[#]', json('{"date": "2026-03-01", "text": "Mia has her birthday on July 9th", "visibility": "public",
            "lines": [["C0RANDOM", "1.000001"]]}'),
        '$[#]', json('{"date": "2026-03-02", "text": "Mia plays the cello", "visibility": "public",
            "lines": [["C0RANDOM", "1.000001"]]}'))
        WHERE workspace = '{workspace}' AND channel = 'C0RANDOM' AND scope = 'channel' AND is_current = 1;
    INSERT INTO memory_sources (workspace, channel, line, scope, of_channel, of_thread, term)
        SELECT workspace, channel, '1.000001', scope, channel, thread, term FROM memories
        WHERE workspace = '{workspace}' AND channel = 'C0RANDOM' AND scope = 'channel' AND is_current = 1;
    INSERT INTO attempts (decision, workspace, channel, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens,
            cached_tokens, output_tokens, latency_ms, result, error, price_micros)
        VALUES (900000000, '{workspace}', 'C0RANDOM', 'judge', {now} - 5 * {hour}, 'openai/large-1', '00', 9, 9, 0, 9, 9,
                'kept', NULL, 0),
            (0, '{workspace}', 'C0RANDOM', 'judge', {now} - 3 * {hour}, 'openai/large-1', '00', 9, 0, 0, 0, 9, 'failed',
                '{error}', 0),
            (0, '{workspace}', 'C0RANDOM', 'judge', {now} - {hour}, 'openai/large-1', '00', 9, 0, 0, 0, 9, 'failed',
                '{error}', 0),
            -- It is of today, whatever time it is.
            (900000000, '{workspace}', 'C0RANDOM', 'judge', {now}, 'openai/large-3', '00', 9, 900, 0, 100, 9, 'kept', NULL,
                3000000);
    INSERT INTO spending (workspace, channel, span, begin_ms, tokens, micros)
        SELECT '{workspace}', channel, 'hour', {now} - {now} % {hour}, 1000, 3000000
        FROM (SELECT 'C0RANDOM' AS channel UNION SELECT '') WHERE true
        ON CONFLICT DO UPDATE SET micros = micros + excluded.micros;
    COMMIT"#;

/// Starts two workspaces with a history, one with an answer that could not be posted.
async fn operated() -> (SlackHarness, Program, String, i64) {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    harness.add(&format!("timezone: {}\n", time_zone_at_noon()));
    let program = harness.start().await;
    harness.will_say(&["the kettle hums", "the kettle sings"]);
    harness.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
    harness.post_mention(&harness.tea, &harness.mio, "is the tea ready?");
    harness.until_kept("SELECT count(*) FROM dead_letters", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    assert_eq!(program.stop(), Some(0));
    let discord = "discord:1180000000000000001";
    let words =
        ["the roses bloom", "who waters them?", "the soup is ready", "see you tomorrow", "ok"];
    let words: Vec<String> = words.map(str::to_owned).into();
    let history = GeneratedHistory {
        places: vec![
            Place::new(discord, LOBBY, "lobby", "public"),
            Place::new(&workspace, RANDOM, "random", "public"),
            Place::new(&workspace, "C0CELLAR", "cellar", "private"),
        ],
        public_words: words.clone(),
        private_words: words,
        messages: 300,
        decisions: 30,
    };
    history.write(&harness).await;
    let now = Timestamp::now().as_second() * 1000;
    add_more(&harness, &workspace, now).await;
    let program = harness.start().await;
    (harness, program, workspace, now)
}

/// Returns a time zone in which it is about noon: what something has cost today changes at midnight.
pub fn time_zone_at_noon() -> String {
    let ahead = 12 - Timestamp::now().to_zoned(TimeZone::UTC).hour();
    // In these names the signs are the other way round.
    let sign = if ahead < 0 { '+' } else { '-' };
    format!("Etc/GMT{sign}{}", ahead.abs())
}

async fn add_more(home: &Home, workspace: &str, now: i64) {
    let mut database = home.lock_database().await;
    let script = MORE
        .replace("{workspace}", workspace)
        .replace("{reason}", REASON)
        .replace("{error}", ERROR)
        .replace("{now}", &now.to_string())
        .replace("{hour}", &HOUR_MS.to_string());
    raw_sql(AssertSqlSafe(script)).execute(&mut database).await.unwrap();
}

/// Returns the most expensive channel and its cost.
const MOST_EXPENSIVE: &str = r"
    const cost = (row) => Number(row.textContent.match(/([\d.]+) USD/)?.[1] ?? 0);
    const rows = [...document.querySelectorAll('[data-testid=channel]')].sort((one, other) => cost(other) - cost(one));
    return rows.length > 0 ? [rows[0].dataset.channel, rows[0].querySelector('th a').textContent, cost(rows[0])] : null";

/// Returns what the page was searched for: before that it shows other decisions.
const SEARCHED: &str = "return new URLSearchParams(location.search).get('q')";

const WHY: &str = "return document.querySelector('[data-testid=why]')?.textContent ?? null";

/// Returns how many sentences on her page mention her birthday, and how many her cello.
const REMEMBERED_OF_MIA: &str = "
    const texts = [...document.querySelectorAll('[data-testid=remembered]')].map((it) => it.textContent);
    return ['birthday', 'cello'].map((word) => texts.filter((text) => text.includes(word)).length)";

/// Follows the sentence to the memory that has it.
const OPEN_BIRTHDAY: &str = "
    [...document.querySelectorAll('[data-testid=remembered]')].find((it) => it.textContent.includes('birthday'))
        .querySelector('a').click()";

/// Returns how many visible entries mention her birthday, and how many her cello.
const KNOWN_OF_MIA: &str = "
    const texts = [...document.querySelectorAll('[data-testid=entry] [data-testid=text]')].map((it) => it.textContent);
    return ['birthday', 'cello'].map((word) => texts.filter((text) => text.includes(word)).length)";

const FORGET_BIRTHDAY: &str = "
    const entry = [...document.querySelectorAll('[data-testid=entry]')].find((it) => it.textContent.includes('birthday'));
    entry.querySelector('[data-testid=change] summary').click();
    entry.querySelector('[data-testid=remove]').click()";

/// Returns since when the model has been failing, and its last error.
const FAILING: &str = "
    const named = (row) => row.querySelector('th code')?.textContent.trim() === 'openai/large-1';
    const row = [...document.querySelectorAll('[data-testid=failure]')].find(named);
    const times = [...(row?.children[3].querySelectorAll('time') ?? [])];
    return row ? [String(Date.parse(times.at(-1).dateTime)), row.querySelector('th a').textContent.trim()] : null";

const HAS_LETTER: &str = "
    return [...document.querySelectorAll('[data-testid=failure]')].some((it) => it.textContent.includes('the kettle hums'))";

const MUTED: &str = "[data-testid=muted] time";

fn in_channel(channel: &str, what: &str) -> String {
    format!("[data-testid=channel][data-channel={channel}] {what}")
}

fn is_there(selector: &str) -> String {
    format!("return document.querySelector({}) !== null", json!(selector))
}

/// Clicks the first element that a CSS selector finds, which has this text.
async fn click_first(tab: &Tab, selector: &str, text: &str) {
    let find = format!(
        "[...document.querySelectorAll({})].find((it) => it.textContent.includes({}))",
        json!(selector),
        json!(text)
    );
    tab.expect_result(&format!("return {find} !== undefined"), json!(true)).await;
    tab.evaluate(&format!("{find}.click()")).await;
}

async fn expect_cost(tab: &Tab, program: &Program, workspace: &str) {
    tab.find("sort-cost").await;
    let found = tab.evaluate(MOST_EXPENSIVE).await;
    assert_eq!((&found[0], &found[1]), (&json!(RANDOM), &json!("random")), "{found}");
    let spending = format!("/api/spending?workspace={workspace}");
    let spending = json_of(get(program, Some(ADMIN), &spending).await).await;
    let channels = spending["channels"].as_array().unwrap();
    let random = channels.iter().find(|channel| channel["id"] == RANDOM).unwrap();
    let (told, spent) = (found[2].as_f64().unwrap(), random["price_in_day"].as_f64().unwrap());
    assert!(told >= 3.0 && (told - spent).abs() < 0.1, "{told} and {spent}");
}

/// Checks for a mute that ends in two hours.
async fn expect_silenced(home: &Home, channel: &str) {
    let end = Timestamp::now().as_millisecond() + 2 * HOUR_MS;
    let muted = format!(
        "SELECT count(*) FROM mutes WHERE channel = '{channel}' AND until_ms BETWEEN {} AND {end}",
        end - HOUR_MS / 10
    );
    home.until_kept(&muted, 1).await;
}

#[tokio::test]
async fn six_tasks_are_done_from_the_console_alone() {
    let (harness, program, workspace, now) = operated().await;
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, ADMIN).await;
    tab.open_page(&format!("{}/console", program.address)).await;

    // What did it cost today, and where?
    tab.click("to-channels").await;
    expect_cost(&tab, &program, &workspace).await;

    // Why was it silent on this message?
    click_first(&tab, &in_channel(RANDOM, "th a"), "random").await;
    tab.find("timeline").await;
    tab.evaluate("document.querySelector('[name=q]').focus()").await;
    tab.type_text("ladder").await;
    tab.click("show").await;
    tab.expect_result(SEARCHED, json!("ladder")).await;
    click_first(&tab, "[data-testid=row] [data-testid=decision] a.outcome", "chose silence").await;
    tab.expect_result(WHY, json!(REASON)).await;
    expect_sound(&tab, "en").await;

    // What does it remember about Mia? Her birthday should be forgotten.
    tab.click("to-memory").await;
    tab.find("person").await;
    tab.type_in("person", "Mia").await;
    tab.click("find-person").await;
    click_first(&tab, "[data-testid=person] a", "Mia").await;
    tab.expect_result(REMEMBERED_OF_MIA, json!([1, 1])).await;
    tab.evaluate(OPEN_BIRTHDAY).await;
    tab.expect_result(KNOWN_OF_MIA, json!([2, 2])).await;
    tab.evaluate(FORGET_BIRTHDAY).await;
    tab.expect_result(KNOWN_OF_MIA, json!([0, 2])).await;
    let remembered = "SELECT count(*) FROM memories AS m, json_each(m.entries) AS e
        WHERE m.is_current = 1 AND e.value ->> 'text' LIKE '%birthday%' AND e.value ->> 'removed' IS NULL";
    harness.until_kept(remembered, 0).await;

    // Silence #random for two hours.
    tab.click("to-channels").await;
    click_first(&tab, &in_channel(RANDOM, "th a"), "random").await;
    tab.click("mute").await;
    tab.expect_result(&is_there(MUTED), json!(true)).await;
    expect_silenced(&harness, RANDOM).await;

    // Which model fails, and since when?
    tab.click("to-overview").await;
    click_first(&tab, "[data-testid=troubles] a", "openai/large-1").await;
    tab.expect_result(FAILING, json!([(now - 3 * HOUR_MS).to_string(), ERROR])).await;

    // An answer that could not be posted is tried again.
    tab.expect_result(HAS_LETTER, json!(true)).await;
    tab.evaluate(
        "[...document.querySelectorAll('[data-testid=failure]')].find((it) => it.textContent.includes('the kettle hums'))
            .querySelector('[data-testid=retry]').click()",
    )
    .await;
    let posts = harness.wait_for_posts(1).await;
    assert_eq!((&*posts[0].text, &posts[0].channel), ("the kettle sings", &harness.tea));
    tab.expect_result(HAS_LETTER, json!(false)).await;
    harness.until_kept("SELECT count(*) FROM dead_letters WHERE text = 'the kettle hums'", 0).await;
    browser.close().await;

    do_by_keyboard_in_japanese(&harness, &program, &workspace).await;
    assert_eq!(program.stop(), Some(0));
}

/// Presses Tab until the focus is on the element that a CSS selector finds.
pub async fn tab_to(tab: &Tab, selector: &str) {
    let is_focused =
        format!("return document.activeElement?.matches({}) ?? false", json!(selector));
    for _ in 0..200 {
        if tab.evaluate(&is_focused).await == json!(true) {
            return;
        }
        tab.press(Key::Tab).await;
    }
    panic!("the tab key does not lead to {selector}");
}

async fn do_by_keyboard_in_japanese(harness: &SlackHarness, program: &Program, workspace: &str) {
    let browser = Browser::start_in("ja").await;
    let tab = browser.blank().await;
    tab.open_page(&format!("{}/login", program.address)).await;
    tab.expect_focus("token").await;
    tab.type_text(ADMIN).await;
    tab.press(Key::Enter).await;
    tab.expect_result("return location.pathname === '/login'", json!(false)).await;
    tab.open_page(&format!("{}/console", program.address)).await;
    tab_to(&tab, "[data-testid=to-channels]").await;
    tab.press(Key::Enter).await;
    expect_cost(&tab, program, workspace).await;

    tab_to(&tab, &in_channel(LOBBY, "th a")).await;
    tab.press(Key::Enter).await;
    tab.find("timeline").await;
    tab_to(&tab, "[data-testid=mute]").await;
    assert_eq!(
        tab.evaluate("return document.activeElement.textContent").await,
        json!("2 時間ミュート")
    );
    tab.press(Key::Enter).await;
    tab.expect_result(&is_there(MUTED), json!(true)).await;
    expect_silenced(harness, LOBBY).await;

    tab_to(&tab, "[data-testid=to-channels]").await;
    tab.press(Key::Enter).await;
    tab.find("sort-cost").await;
    tab_to(&tab, &in_channel(RANDOM, "th a")).await;
    tab.press(Key::Enter).await;
    tab.find("timeline").await;
    tab_to(&tab, "[name=q]").await;
    tab.type_text("ladder").await;
    tab.press(Key::Enter).await;
    tab.expect_result(SEARCHED, json!("ladder")).await;
    tab_to(&tab, "[data-testid=row] [data-testid=decision] a.outcome").await;
    assert_eq!(tab.evaluate("return document.activeElement.textContent").await, json!("見送り"));
    tab.press(Key::Enter).await;
    tab.expect_result(WHY, json!(REASON)).await;
    assert_eq!(tab.evaluate("return window.pwned ?? null").await, Value::Null);
    browser.close().await;
}
