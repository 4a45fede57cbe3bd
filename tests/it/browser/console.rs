//! The console in a real browser, for each role, in both languages and on a phone.

use aizuchi_fakes::slack::fault::Fault;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::console::harness::{ADMIN, OPERATOR, VIEWER, set_tokens, slack_workspace};
use crate::console::memory::{KETTLE, remembering};
use crate::program::{Home, Program};
use crate::slack::harness::SlackHarness;

const ROWS: &str = "return document.querySelectorAll('[data-testid=row] .text').length";
const TEXTS: &str = "return [...document.querySelectorAll('[data-testid=row] .text')].map((text) => text.textContent)";

pub async fn sign_in(tab: &Tab, program: &Program, token: &str) {
    tab.open_page(&format!("{}/login", program.address)).await;
    tab.type_in("token", token).await;
    tab.click("enter").await;
    // Opening another page too early would bring the form back.
    tab.expect_result("return location.pathname === '/login'", json!(false)).await;
}

/// Returns the defects of a page for screen readers and on a narrow screen.
const DEFECTS: &str = "
    const named = (element) => (element.getAttribute('aria-label') ?? element.textContent).trim() !== ''
        || element.labels?.length > 0;
    const controls = [...document.querySelectorAll('button, a, select, input:not([type=hidden])')];
    return {
        unnamed: controls.filter((control) => !named(control)).map((control) => control.outerHTML),
        ids: [...document.querySelectorAll('[id]')].map(({ id }) => id)
            .filter((id, index, all) => all.indexOf(id) !== index),
        headings: document.querySelectorAll('h1').length,
        mains: document.querySelectorAll('main').length,
        lang: document.documentElement.lang,
        wide: document.documentElement.scrollWidth > window.innerWidth + 1,
        pwned: window.pwned ?? null,
        outside: performance.getEntriesByType('resource')
            .filter(({ name }) => new URL(name).origin !== location.origin).map(({ name }) => name),
    }";

pub async fn expect_sound(tab: &Tab, language: &str) {
    let sound = json!({
        "unnamed": [], "ids": [], "headings": 1, "mains": 1, "lang": language, "wide": false,
        "pwned": null, "outside": [],
    });
    let found = tab.evaluate(DEFECTS).await;
    if found != sound {
        panic!("{}: {found:#}", tab.evaluate("return location.href").await);
    }
}

#[tokio::test]
async fn an_operator_silences_a_channel_and_sees_it_live() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, OPERATOR).await;
    tab.open_page(&format!("{}/console/channels", program.address)).await;
    expect_sound(&tab, "en").await;
    let row = |what: &str| {
        format!("return document.querySelector('[data-channel={}]')?.{what} ?? null", harness.tea)
    };
    tab.expect_result(&row("querySelector('th a').textContent"), json!("tea")).await;
    let muted = row("querySelector('.mark.warn') !== null");
    // The channel is muted and unmuted on its own page, and a user writes: the list shows it without a reload.
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let other = browser.blank().await;
    other
        .open_page(&format!("{}/console/channels/{workspace}/{}", program.address, harness.tea))
        .await;
    other.click("mute").await;
    tab.expect_result(&muted, json!(true)).await;
    other.click("unmute").await;
    tab.expect_result(&muted, json!(false)).await;
    harness.post_message(&harness.tea, &harness.mio, "the water boils");
    let heard = row("querySelector('td:nth-of-type(3) time') !== null");
    tab.expect_result(&heard, json!(true)).await;
    other.expect_result(TEXTS, json!(["the water boils"])).await;
    expect_sound(&other, "en").await;

    // The whole workspace is muted on the overview, and unmuted on a channel's page.
    tab.open_page(&format!("{}/console?workspace={workspace}", program.address)).await;
    tab.click("mute-all").await;
    tab.find("unmute-all").await;
    let channel = format!("{}/console/channels/{workspace}/{}", program.address, harness.tea);
    tab.open_page(&channel).await;
    tab.click("unmute-all").await;
    let is_unmuted = "return document.querySelector('[data-testid=mute]') !== null
        && document.querySelector('[data-testid=unmute-all]') === null";
    tab.expect_result(is_unmuted, json!(true)).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

/// A field with a former value would undo a change when its form is submitted.
#[tokio::test]
async fn a_field_follows_the_page_until_it_is_filled_in() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start_undrawn_in("en-US").await;
    let tab = browser.blank().await;
    tab.open_page(&format!("{}/console", program.address)).await;
    let script = "const [done] = arguments;
        import('/static/morph.js').then(({ morph }) => {
            const form = (text, mode) => {
                const options = ['off', 'observe', 'companion']
                    .map((name) => `<option ${name === mode ? 'selected' : ''}>${name}</option>`).join('');
                const page = `<form><textarea>${text}</textarea><select>${options}</select></form>`;
                return new DOMParser().parseFromString(page, 'text/html').querySelector('form');
            };
            const shown = document.body.appendChild(document.importNode(form('one', 'off'), true));
            const [text, mode] = shown.elements;
            const seen = [];
            const follow = (...values) => {
                morph(shown, form(...values));
                seen.push([text.value, mode.value]);
            };
            follow('two', 'observe');
            follow('two', 'off');
            text.value = 'mine';
            text.value = 'two';
            follow('four', 'off');
            text.value = 'mine';
            mode.value = 'companion';
            follow('three', 'observe');
            done(seen);
        })";
    let followed =
        json!([["two", "observe"], ["two", "off"], ["four", "off"], ["mine", "companion"]]);
    assert_eq!(tab.evaluate_later(script, vec![]).await, followed);
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn each_role_sees_the_timeline_it_may() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["it is hot"]);
    let hostile = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>";
    harness.post_message(&harness.attic, &harness.mio, hostile);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE '%pwned%'", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let browser = Browser::start_in("ja").await;
    let tab = browser.blank().await;
    let channel = |id: &str| format!("{}/console/channels/{workspace}/{id}", program.address);
    for (token, tea, attic) in [
        (VIEWER, Value::Null, Value::Null),
        (OPERATOR, json!("it is hot"), Value::Null),
        (ADMIN, json!("it is hot"), json!(hostile)),
    ] {
        sign_in(&tab, &program, token).await;
        for (id, expected) in [(&harness.tea, &tea), (&harness.attic, &attic)] {
            tab.open_page(&channel(id)).await;
            tab.find("timeline").await;
            let texts = tab.evaluate(TEXTS).await;
            let texts = texts.as_array().unwrap();
            match expected {
                Value::Null => {
                    assert!(texts.iter().all(|it| it == "（内容は非表示）"), "{texts:?}")
                }
                text => assert!(texts.contains(text), "{texts:?}"),
            }
            expect_sound(&tab, "ja").await;
        }
        let outcome =
            "return document.querySelector('[data-testid=decision] .outcome')?.textContent ?? null";
        tab.open_page(&channel(&harness.tea)).await;
        tab.expect_result(outcome, json!("発言")).await;
        tab.open_page(&format!("{}?outcome=failed", channel(&harness.tea))).await;
        tab.find("empty").await;
        tab.open_page(&format!("{}/console/orders", program.address)).await;
        let reads = "return document.body.textContent.includes(': 発言 ×')";
        assert_eq!(tab.evaluate(reads).await, json!(token == ADMIN));
        tab.open_page(&format!("{}/console/queue", program.address)).await;
        tab.find("size").await;
        expect_sound(&tab, "ja").await;
        tab.click("sign-out").await;
        tab.find("token").await;
    }
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_long_history_is_read_page_by_page_and_filtered() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    // These messages are read as history.
    let mut steps = Vec::new();
    for number in 0..230 {
        let user = if number % 50 == 0 { &harness.ren } else { &harness.mio };
        steps.push(harness.post_message(&harness.tea, user, &format!("step {number}")));
    }
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'step %'", 230).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, OPERATOR).await;
    let channel = format!("{}/console/channels/{workspace}/{}", program.address, harness.tea);
    tab.open_page(&channel).await;
    tab.expect_result(ROWS, json!(60)).await;
    for rows in [120, 180] {
        tab.click("older").await;
        tab.expect_result(ROWS, json!(rows)).await;
    }
    tab.click("older").await;
    let first = "return document.querySelector('[data-testid=row] .text').textContent";
    tab.expect_result(first, json!("step 0")).await;
    // Newer messages do not drop the ones loaded before.
    harness.post_message(&harness.tea, &harness.mio, "the last step");
    let last =
        "return [...document.querySelectorAll('[data-testid=row] .text')].at(-1).textContent";
    tab.expect_result(last, json!("the last step")).await;
    tab.expect_result(first, json!("step 0")).await;
    // What is deleted leaves the rows that were loaded before, too.
    harness.slack.delete_message(&harness.tea, steps[5]).unwrap();
    let left = "const texts = [...document.querySelectorAll('[data-testid=row] .text')].map((it) => it.textContent);
        return ['step 4', 'step 5', 'step 6', 'step 120', 'the last step'].filter((it) => texts.includes(it))";
    tab.expect_result(left, json!(["step 4", "step 6", "step 120", "the last step"])).await;
    tab.open_page(&format!("{channel}?person=Ren")).await;
    let expected = ["step 0", "step 50", "step 100", "step 150", "step 200"];
    tab.expect_result(TEXTS, json!(expected)).await;
    tab.open_page(&format!("{channel}?q=last")).await;
    tab.expect_result(TEXTS, json!(["the last step"])).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_dead_letter_is_tried_again_on_a_phone() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["the kettle hums", "the kettle sings"]);
    harness.slack.inject_fault("chat.postMessage", Fault::error("restricted_action"));
    harness.post_mention(&harness.tea, &harness.mio, "is the tea ready?");
    harness.until_kept("SELECT count(*) FROM dead_letters", 1).await;
    let browser = Browser::start_touched().await;
    let tab = browser.blank().await;
    let screen = json!({ "width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true });
    tab.send_devtools("Emulation.setDeviceMetricsOverride", screen).await;
    sign_in(&tab, &program, ADMIN).await;
    for page in ["/console", "/console/channels", "/console/failures"] {
        tab.open_page(&format!("{}{page}", program.address)).await;
        expect_sound(&tab, "en").await;
    }
    let text = "return document.querySelector('[data-testid=letter-text]')?.textContent ?? null";
    tab.expect_result(text, json!("the kettle hums")).await;
    tab.click("retry").await;
    let posts = harness.wait_for_posts(1).await;
    assert_eq!(posts[0].text, "the kettle sings");
    tab.find("nothing-now").await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_decision_is_opened_from_the_timeline_and_marked_where_it_stands() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let hostile = "it is hot <img src=x onerror='window.pwned = 1'>";
    harness.will_say(&[hostile]);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE closed_ms IS NOT NULL", 1).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let browser = Browser::start_touched().await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, ADMIN).await;
    let channel = format!("{}/console/channels/{workspace}/{}", program.address, harness.tea);
    tab.open_page(&channel).await;
    let marked =
        "return [...document.querySelectorAll('[data-testid=marked]')].map((it) => it.textContent)";
    tab.expect_result(marked, json!([])).await;
    tab.evaluate("document.querySelector('[data-testid=marking] summary').click()").await;
    tab.click("mark-should_have_kept_silent").await;
    tab.expect_result(marked, json!(["should have kept silent"])).await;
    let place = "return location.pathname.startsWith('/console/channels/')";
    assert_eq!(tab.evaluate(place).await, json!(true));
    let is_open = "return document.querySelector('[data-testid=marking]').open";
    assert_eq!(tab.evaluate(is_open).await, json!(true), "what somebody opened stays open");

    tab.evaluate("document.querySelector('[data-testid=decision] a').click()").await;
    tab.find("up").await;
    expect_sound(&tab, "en").await;
    let texts = |what: &str| {
        format!(
            "return [...document.querySelectorAll('[data-testid={what}] .text')].map((it) => it.textContent)"
        )
    };
    tab.expect_result(&texts("said"), json!([hostile])).await;
    tab.expect_result(marked, json!(["should have kept silent"])).await;
    // The prompt is collapsed and divided into sections.
    let is_shown = "return document.querySelector('[data-testid=section] pre').checkVisibility()";
    assert_eq!(tab.evaluate(is_shown).await, json!(false));
    tab.evaluate("document.querySelector('[data-testid=prompt] > summary').click()").await;
    tab.evaluate(
        "document.querySelectorAll('[data-testid=section]').forEach((it) => { it.open = true; })",
    )
    .await;
    let shown = "return [...document.querySelectorAll('[data-testid=section] pre')]
        .some((it) => it.checkVisibility() && it.textContent.includes('is the tea ready?'))";
    tab.expect_result(shown, json!(true)).await;
    // New messages appear without a reload, and opened details stay open.
    harness.post_message(&harness.tea, &harness.mio, "so it is");
    tab.expect_result(&texts("after"), json!(["so it is"])).await;
    assert_eq!(tab.evaluate(shown).await, json!(true));
    tab.click("mark-should_have_kept_silent").await;
    tab.expect_result(marked, json!([])).await;
    let screen = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    tab.send_devtools("Emulation.setDeviceMetricsOverride", screen).await;
    expect_sound(&tab, "en").await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn the_figures_are_charts_with_their_tables() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    harness.will_say(&["it is hot"]);
    harness.post_mention(&harness.tea, &harness.ren, "is the tea ready?");
    harness.wait_for_posts(1).await;
    harness.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let browser = Browser::start_in("ja").await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, VIEWER).await;
    tab.open_page(&format!("{}/console", program.address)).await;
    tab.click("to-figures").await;
    tab.find("days").await;
    expect_sound(&tab, "ja").await;
    let bars = "return document.querySelectorAll('[data-testid=chart] svg.bars path.spoke').length";
    tab.expect_result(bars, json!(1)).await;
    let heard = "return document.querySelector('[data-testid=sum-heard]').textContent";
    assert_eq!(tab.evaluate(heard).await, json!("計 1 件"));
    let is_shown = "return document.querySelector('[data-testid=table] table').checkVisibility()";
    assert_eq!(tab.evaluate(is_shown).await, json!(false));
    tab.evaluate("document.querySelector('[data-testid=table] summary').click()").await;
    assert_eq!(tab.evaluate(is_shown).await, json!(true));
    tab.evaluate("document.querySelector('[data-testid=days]').value = '7'").await;
    tab.click("show").await;
    tab.expect_result("return new URLSearchParams(location.search).get('days')", json!("7")).await;
    tab.expect_result(bars, json!(1)).await;
    let screen = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    tab.send_devtools("Emulation.setDeviceMetricsOverride", screen).await;
    expect_sound(&tab, "ja").await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_memory_is_mended_and_a_change_taken_back() {
    let (harness, program, workspace) = remembering().await;
    let browser = Browser::start_in("ja").await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, OPERATOR).await;
    tab.open_page(&format!("{}/console/channels/{workspace}/{}", program.address, harness.tea))
        .await;
    tab.click("memory").await;
    tab.find("memory").await;
    expect_sound(&tab, "ja").await;
    let texts = "return [...document.querySelectorAll('[data-testid=memory]')].map((memory) =>
        [...memory.querySelectorAll('[data-testid=text]')].map((it) => it.textContent.replace(/^.*: /, '')))";
    tab.expect_result(texts, json!([[KETTLE], [KETTLE]])).await;
    let behind = "return document.querySelector('[data-testid=sources]').checkVisibility()
        && document.querySelector('[data-testid=sources] li').checkVisibility()";
    assert_eq!(tab.evaluate(behind).await, json!(false));
    tab.evaluate("document.querySelector('[data-testid=sources] summary').click()").await;
    assert_eq!(tab.evaluate(behind).await, json!(true));

    // Unsent text is kept while the page updates.
    tab.evaluate("document.querySelector('[data-testid=change] summary').click()").await;
    let hostile = "it broke <img src=x onerror='window.pwned = 1'>";
    tab.evaluate(&format!(
        "document.querySelector('[data-testid=edit-text]').value = {}",
        json!(hostile)
    ))
    .await;
    tab.click("edit").await;
    // The memory is shown in every place where the same was said.
    tab.expect_result(texts, json!([[hostile], [hostile]])).await;
    tab.find("pinned").await;
    expect_sound(&tab, "ja").await;
    tab.click("undo").await;
    tab.expect_result(texts, json!([[KETTLE], [hostile]])).await;
    tab.evaluate("document.querySelectorAll('[data-testid=undo]')[1].click()").await;
    tab.expect_result(texts, json!([[KETTLE], [KETTLE]])).await;
    // After one removal, it is gone from both places.
    tab.evaluate("document.querySelector('[data-testid=change] summary').click()").await;
    tab.click("remove").await;
    tab.expect_result(texts, json!([[], []])).await;
    tab.evaluate("document.querySelector('[data-testid=removed] summary').click()").await;
    tab.click("restore").await;
    tab.expect_result(texts, json!([[KETTLE], []])).await;
    tab.click("history").await;
    tab.find("version").await;
    expect_sound(&tab, "ja").await;
    let versions = "return document.querySelectorAll('[data-testid=version]').length";
    assert_eq!(tab.evaluate(versions).await, json!(5));
    let screen = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    tab.send_devtools("Emulation.setDeviceMetricsOverride", screen).await;
    expect_sound(&tab, "ja").await;
    tab.click("up").await;
    tab.find("memory").await;
    expect_sound(&tab, "ja").await;
    // The search for a person leads to the page of people.
    tab.open_page(&format!(
        "{}/console/memory?workspace={workspace}&person=Nobody",
        program.address
    ))
    .await;
    tab.find("nobody").await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
