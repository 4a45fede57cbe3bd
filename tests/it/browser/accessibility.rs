//! The accessibility of the console: for screen readers, keyboards and slow connections. axe-core checks each page.

use std::collections::BTreeMap;

use aizuchi_harness::net::http_builder;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::console::sign_in;
use crate::browser::forms::submit;
use crate::browser::tab::Tab;
use crate::console::harness::{ADMIN, OPERATOR, VIEWER, set_tokens, slack_workspace};
use crate::console::walk::PageForm;
use crate::console::what_if::judged;
use crate::program::Program;
use crate::slack::harness::SlackHarness;

const GATES: &str = "gate=directed&gate=unchanged&gate=nothing_open&gate=cooldown&gate=share";

/// Returns every page of the console that has content.
fn pages(workspace: &str, tea: &str) -> Vec<String> {
    [
        "/console".to_owned(),
        "/console/channels".to_owned(),
        "/console?result=said".to_owned(),
        "/console/queue".to_owned(),
        "/console/failures".to_owned(),
        "/console/orders".to_owned(),
        format!("/console/figures?workspace={workspace}&days=7"),
        format!("/console/memory?workspace={workspace}"),
        format!("/console/memory?workspace={workspace}&channel={tea}"),
        format!("/console/report?workspace={workspace}&days=1"),
        format!("/console/report?workspace={workspace}&days=1&private=true"),
        "/console/report?workspace=local".to_owned(),
        "/console/api".to_owned(),
        format!("/console/channels/{workspace}/{tea}"),
        format!("/console/channels/{workspace}/{tea}/what-if?days=1&min_confidence=0.95&{GATES}"),
        format!("/console/decisions/{workspace}/1"),
        format!("/console/decisions/{workspace}/1/judge"),
        "/console/persona".to_owned(),
    ]
    .into()
}

/// Returns the source of axe-core, which ./scripts/test has fetched.
pub fn axe_script() -> String {
    let file =
        std::env::var("AIZUCHI_AXE").expect("AIZUCHI_AXE names a file, as in ./scripts/test");
    std::fs::read_to_string(file).unwrap()
}

/// Returns axe's violations, without the items that only need review.
pub const AXE: &str = "
    const done = arguments[arguments.length - 1];
    for (const details of document.querySelectorAll('details')) details.open = true;
    axe.run(document, { resultTypes: ['violations'] }).then(
        ({ violations }) => done(violations.map(({ id, nodes }) =>
            `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join(' | ')}`)),
        (error) => done([String(error)]),
    );";

/// Returns the pages with less content in this setup.
fn other_pages(workspace: &str, harness: &SlackHarness) -> [String; 3] {
    let memory = format!("/console/memory/versions?workspace={workspace}&scope=channel");
    [
        format!("{memory}&channel={}&term=short_term", harness.tea),
        format!("/console/people/{workspace}/{}", harness.mio),
        format!("/console/channels/{workspace}/{}", harness.attic),
    ]
}

#[tokio::test]
async fn axe_finds_nothing_on_any_page_of_a_viewer() {
    expect_no_violations(VIEWER, "en-US", &["light"]).await;
}

#[tokio::test]
async fn axe_finds_nothing_on_any_page_of_an_operator() {
    expect_no_violations(OPERATOR, "en-US", &["light"]).await;
}

#[tokio::test]
async fn axe_finds_nothing_on_any_page_of_an_admin() {
    expect_no_violations(ADMIN, "en-US", &["light", "dark"]).await;
}

#[tokio::test]
async fn axe_finds_nothing_on_any_page_in_japanese() {
    // The colors do not depend on the language.
    expect_no_violations(ADMIN, "ja", &["light"]).await;
}

/// Checks each page as this user sees it, including error pages.
async fn expect_no_violations(token: &str, language: &str, schemes: &[&str]) {
    let axe = axe_script();
    let (harness, program, workspace) = judged().await;
    let browser = Browser::start_undrawn_in(language).await;
    let tab = browser.blank().await;
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    let mut look = async |place: String| {
        tab.evaluate(&axe).await;
        let violations = tab.evaluate_later(AXE, vec![]).await;
        if violations != json!([]) {
            found.insert(place, violations);
        }
    };
    tab.open_page(&format!("{}/login", program.address)).await;
    look("signed out /login".to_owned()).await;
    sign_in(&tab, &program, token).await;
    for scheme in schemes {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        tab.send_devtools("Emulation.setEmulatedMedia", features).await;
        let others = other_pages(&workspace, &harness);
        for page in pages(&workspace, &harness.tea).into_iter().chain(others) {
            tab.open_page(&format!("{}{page}", program.address)).await;
            look(format!("{scheme} {page}")).await;
        }
    }
    if token != VIEWER {
        let trial = PageForm {
            path: format!("/console/channels/{workspace}/{}/order-trial", harness.tea),
            fields: vec![
                ("text", "never about kettles".to_owned()),
                ("channel", harness.tea.clone()),
                ("action", "price".to_owned()),
            ],
        };
        submit(&tab, &program, &trial).await;
        look(trial.path).await;
    }
    assert!(found.is_empty(), "{found:#?}");
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

/// Tabs through a page and returns the controls that it does not reach.
const CONTROLS: &str = "
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
    const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')];
    return all.filter((element) => isShown(element) && !element.disabled && element.tabIndex < 0)
        .map((element) => element.outerHTML.slice(0, 120));";

/// Remembers the focused element, and returns whether no control has the focus. An update of the page would remove a
/// mark on the element itself.
const FOCUSED: &str = "
    const element = document.activeElement;
    window.reached ??= new WeakSet();
    window.reached.add(element);
    return element === document.body || element === document.documentElement;";

const NOT_REACHED: &str = "
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
    const inGroup = (element) => element.matches('input[type=radio]');
    return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
        .filter((element) => isShown(element) && !inGroup(element) && !window.reached.has(element))
        .map((element) => element.outerHTML.slice(0, 120));";

async fn expect_reachable(tab: &Tab, page: &str) {
    assert_eq!(tab.evaluate(CONTROLS).await, json!([]), "{page}");
    for _ in 0..400 {
        tab.press(fantoccini::key::Key::Tab).await;
        if tab.evaluate(FOCUSED).await == json!(true) {
            break;
        }
    }
    assert_eq!(tab.evaluate(NOT_REACHED).await, json!([]), "{page}");
}

#[tokio::test]
async fn the_keyboard_alone_tries_a_threshold() {
    let (harness, program, workspace) = judged().await;
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    sign_in(&tab, &program, ADMIN).await;
    let channel = format!("/console/channels/{workspace}/{}", harness.tea);
    for page in [
        channel.clone(),
        format!("/console/report?workspace={workspace}&days=1"),
        format!("{channel}/what-if?days=1&min_confidence=0.95&{GATES}"),
    ] {
        tab.open_page(&format!("{}{page}", program.address)).await;
        expect_reachable(&tab, &page).await;
    }
    // The page starts with the settings in effect. Moving a slider by key shows the change.
    tab.open_page(&format!("{}{channel}/what-if", program.address)).await;
    tab.expect_result("return document.querySelector('[data-testid=note]') !== null", json!(true))
        .await;
    tab.evaluate("document.querySelector('[name=min_confidence]').focus()").await;
    for _ in 0..25 {
        tab.press(fantoccini::key::Key::Right).await;
    }
    let silent = "return document.querySelectorAll('[data-testid=group-silent] [data-testid=change]').length";
    tab.expect_result(silent, json!(1)).await;
    tab.expect_result(
        "return document.querySelector('[data-testid=patch]').textContent.trim()",
        json!(format!("channels:\n  \"{}\":\n    min_confidence: 0.95", harness.tea)),
    )
    .await;
    tab.expect_result("return document.querySelector('[data-testid=copy]').hidden", json!(false))
        .await;
    assert_eq!(tab.evaluate("return window.pwned ?? null").await, Value::Null);
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

/// Returns the bytes transferred before a page is painted: the page, its styles and its scripts.
pub async fn first_paint(program: &Program, page: &str) -> usize {
    // A client that decompresses would count more.
    let client = http_builder().no_gzip().build().unwrap();
    let mut total = 0;
    let (mut waiting, mut seen) = (vec![page.to_owned()], Vec::new());
    while let Some(path) = waiting.pop() {
        if seen.contains(&path) {
            continue;
        }
        let get = |coding: &'static str| {
            client
                .get(format!("{}{path}", program.address))
                .bearer_auth(ADMIN)
                .header("accept", "text/html")
                .header("accept-encoding", coding)
                .send()
        };
        let compressed = get("gzip").await.unwrap().bytes().await.unwrap();
        total += compressed.len();
        let text = get("identity").await.unwrap().text().await.unwrap();
        for (before, after) in
            [("href=\"", '"'), ("src=\"", '"'), ("from \"", '"'), ("import \"", '"')]
        {
            for rest in text.split(before).skip(1) {
                let name = rest.split(after).next().unwrap();
                let is_needed =
                    name.ends_with(".css") || name.ends_with(".js") || name.ends_with(".svg");
                if is_needed {
                    let name = name.strip_prefix("./").map(|name| format!("/static/{name}"));
                    waiting
                        .push(name.unwrap_or_else(|| rest.split(after).next().unwrap().to_owned()));
                }
            }
        }
        seen.push(path);
    }
    total
}

#[tokio::test]
async fn the_first_paint_takes_few_bytes() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    for number in 0..300 {
        let text = format!(
            "step {number}: the kettle, the cup and the spoon are on shelf {}",
            number * 7919 % 1000
        );
        harness.post_message(&harness.tea, &harness.ren, &text);
    }
    let program = harness.start().await;
    harness.until_kept("SELECT count(*) FROM messages WHERE text LIKE 'step %'", 300).await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    for page in pages(&workspace, &harness.tea) {
        let bytes = first_paint(&program, &page).await;
        assert!(bytes > 2000 && bytes <= 150_000, "{page}: {bytes} bytes");
        println!("{bytes:>7} bytes {page}");
    }
    assert_eq!(program.stop(), Some(0));
}
