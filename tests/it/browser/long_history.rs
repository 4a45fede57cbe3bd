//! The console of two workspaces with a long history: each page opens for each role, entirely in its reader's language,
//! is small, and is sound in a browser, even on a phone. Each role has a test of its own, so that they run in parallel.

use aizuchi_harness::effort::cases;
use reqwest::StatusCode;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::accessibility::{AXE, axe_script, first_paint};
use crate::browser::console::{expect_sound, sign_in};
use crate::browser::narrow::resize;
use crate::browser::tab::Tab;
use crate::console::harness::{ADMIN, OPERATOR, VIEWER, get_in, set_tokens};
use crate::console::language::expect_language;
use crate::console::walk::Walk;
use crate::generated::{GeneratedHistory, Place};
use crate::program::{Home, Program};

/// Returns a history whose texts are in no language, so that all other texts are the console's.
fn history() -> GeneratedHistory {
    let (slack, discord) = ("T0GARDEN", "discord:1180000000000000001");
    let place = |workspace, number: usize, first_private| {
        let visibility = if number < first_private { "public" } else { "private" };
        Place::new(workspace, &format!("C0000{number}"), &format!("c-{number}"), visibility)
    };
    let places = (0..8).map(|number| place(slack, number, 6));
    let words: Vec<String> =
        (0..40).map(|number| format!("№ {number}17 · {}", number * 7919)).collect();
    GeneratedHistory {
        places: places.chain((0..5).map(|number| place(discord, number, 4))).collect(),
        public_words: words.clone(),
        private_words: words,
        messages: cases(20_000, 100_000),
        decisions: cases(800, 4_000),
    }
}

#[tokio::test]
async fn a_viewer_reads_a_long_history_in_both_languages() {
    LongHistory::read_by(VIEWER).await.close().await;
}

#[tokio::test]
async fn an_operator_reads_a_long_history_in_both_languages() {
    LongHistory::read_by(OPERATOR).await.close().await;
}

#[tokio::test]
async fn an_admin_reads_a_long_history_in_both_languages() {
    let read = LongHistory::read_by(ADMIN).await;
    let LongHistory { program, tab, .. } = &read;
    for page in &read.english_pages {
        let bytes = first_paint(program, page).await;
        assert!(bytes <= 150_000, "{page}: {bytes} bytes");
    }
    let axe = axe_script();
    resize(tab, 1280).await;
    let timeline = "/console/channels/T0GARDEN/C00000";
    for page in ["/console", "/console/channels", "/console/queue", "/console/failures", timeline] {
        tab.open_page(&format!("{}{page}", program.address)).await;
        expect_sound(tab, "ja").await;
        tab.evaluate(&axe).await;
        assert_eq!(tab.evaluate_later(AXE, vec![]).await, json!([]), "{page}");
    }
    expect_parts_of_lists(tab, program).await;
    read.close().await;
}

/// A program with a long history, each page of which is visited by one role.
struct LongHistory {
    /// The folder with the database.
    _home: Home,
    program: Program,
    english_pages: Vec<String>,
    browser: Browser,
    /// The role's tab, in Japanese.
    tab: Tab,
}

impl LongHistory {
    async fn read_by(token: &str) -> Self {
        let home = Home::new(1000.0);
        set_tokens(&home);
        home.add("persona:\n  name: P17\n  system_prompt: \"№ 17\"\n");
        assert_eq!(home.start().stop(), Some(0));
        let history = history();
        history.write(&home).await;
        let program = home.start();
        let places = &history.places;
        let mut walk = Walk::new(&home, places, "17", "U1").await;
        // A public channel of one workspace in English, and a private one of the other in Japanese.
        let pages =
            [("en", &places[..1]), ("ja", &places[places.len() - 1..])].map(|(language, some)| {
                walk.places = some;
                let mut pages = walk.pages();
                pages.retain(|page| page.starts_with("/console") && !page.ends_with(".css"));
                (language, pages)
            });
        for (language, pages) in &pages {
            for page in pages {
                let (status, shown) = read(&program, token, page, language).await;
                let is_refused = token != ADMIN && status == StatusCode::FORBIDDEN;
                assert!(status == StatusCode::OK || is_refused, "{page}: {status} {shown}");
                expect_language(&shown, language, page);
            }
        }

        let browser = Browser::start_undrawn_in("en-US").await;
        let tab = browser.blank().await;
        tab.send_devtools("Network.enable", json!({})).await;
        sign_in(&tab, &program, token).await;
        for (language, pages) in &pages {
            let headers = json!({ "headers": { "accept-language": language } });
            tab.send_devtools("Network.setExtraHTTPHeaders", headers).await;
            for page in pages {
                tab.open_page(&format!("{}{page}", program.address)).await;
                tab.evaluate(OPEN_ALL).await;
                // The medium widths are those of a tablet, where an admin sees the most on a page.
                let widths: &[u32] =
                    if token == ADMIN { &[1280, 1000, 800, 360] } else { &[1280, 360] };
                for width in widths.iter().copied() {
                    resize(&tab, width).await;
                    expect_sound(&tab, language).await;
                    assert_eq!(tab.evaluate(OVERHANGING).await, json!([]), "{page} at {width}");
                }
            }
        }
        let [(_, english_pages), _] = pages;
        Self { _home: home, program, english_pages, browser, tab }
    }

    async fn close(self) {
        self.browser.close().await;
        assert_eq!(self.program.stop(), Some(0));
    }
}

/// Collapsed content can be too wide as well.
const OPEN_ALL: &str =
    "for (const details of document.querySelectorAll('details')) details.open = true";

/// Returns elements that are wider than their card or section, and neither clipped nor scrollable.
const OVERHANGING: &str = "
    const isCut = (element, end) => element !== end
        && (getComputedStyle(element).overflowX !== 'visible' || isCut(element.parentElement, end));
    const right = (element) => element.getBoundingClientRect().right;
    return [...document.querySelectorAll('section, fieldset, .filter, .figure, .call, .change')].flatMap((card) =>
        [...card.querySelectorAll('table, th, td, p, pre, svg, select, input, textarea')]
            .filter((part) => right(part) > right(card) + 1 && !isCut(part.parentElement, card))
            .map((part) => `${card.className} ${part.outerHTML.slice(0, 120)}`))";

/// The memos have a second page, and an opted-out user who opts in again leaves the list of users.
async fn expect_parts_of_lists(tab: &Tab, program: &Program) {
    tab.open_page(&format!("{}/console/memory?workspace=T0GARDEN", program.address)).await;
    tab.click("next-memos").await;
    let shown = "return [new URLSearchParams(location.search).get('memos_after'),
        document.querySelectorAll('[data-testid=memo]').length]";
    tab.expect_result(shown, json!(["20", 20])).await;
    tab.open_page(&format!("{}/console/people", program.address)).await;
    let people =
        "return [location.pathname, document.querySelectorAll('[data-testid=opted-out]').length]";
    tab.expect_result(people, json!(["/console/people", 13])).await;
    tab.click("opt-in").await;
    tab.expect_result(people, json!(["/console/people", 12])).await;
}

async fn read(program: &Program, token: &str, page: &str, language: &str) -> (StatusCode, String) {
    let answer = get_in(program, Some(token), page, language).await;
    (answer.status(), answer.text().await.unwrap())
}
