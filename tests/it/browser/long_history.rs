//! The console of two workspaces with 100 000 messages: each page opens for each role, wholly in its reader's language,
//! is small, and is sound in a browser, also on a phone.

use reqwest::StatusCode;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::accessibility::{AXE, axe_script, first_paint};
use crate::browser::console::{expect_sound, sign_in};
use crate::browser::narrow::resize;
use crate::browser::tab::Tab;
use crate::console::harness::{ADMIN, OPERATOR, VIEWER, client, set_tokens};
use crate::console::walk::Walk;
use crate::generated::{GeneratedHistory, Place};
use crate::program::{Home, Program};
use crate::tidy::is_japanese;

/// No text of it is in any language, so that all others are the console's.
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
        messages: 100_000,
        decisions: 4_000,
    }
}

#[tokio::test]
async fn a_long_history_is_read_by_each_role_in_both_languages() {
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
            for token in [ADMIN, OPERATOR, VIEWER] {
                let (status, shown) = read(&program, token, page, language).await;
                let is_refused = token != ADMIN && status == StatusCode::FORBIDDEN;
                assert!(status == StatusCode::OK || is_refused, "{page}: {status} {shown}");
                match *language {
                    "en" => assert!(!shown.contains(is_japanese), "{page}: {shown}"),
                    _ => assert_eq!(english(&shown), [""; 0], "{page}"),
                }
            }
        }
    }
    for page in &pages[0].1 {
        let bytes = first_paint(&program, page).await;
        assert!(bytes <= 150_000, "{page}: {bytes} bytes");
    }

    let axe = axe_script();
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    tab.send_devtools("Network.enable", json!({})).await;
    for token in [VIEWER, OPERATOR, ADMIN] {
        sign_in(&tab, &program, token).await;
        for (language, pages) in &pages {
            let headers = json!({ "headers": { "accept-language": language } });
            tab.send_devtools("Network.setExtraHTTPHeaders", headers).await;
            for page in pages {
                tab.open_page(&format!("{}{page}", program.address)).await;
                tab.evaluate(OPEN_ALL).await;
                for width in [1280, 1000, 800, 360] {
                    resize(&tab, width).await;
                    expect_sound(&tab, language).await;
                    assert_eq!(tab.evaluate(OVERHANGING).await, json!([]), "{page} at {width}");
                }
            }
        }
    }
    resize(&tab, 1280).await;
    let timeline = "/console/channels/T0GARDEN/C00000";
    for page in ["/console", "/console/queue", timeline] {
        tab.open_page(&format!("{}{page}", program.address)).await;
        expect_sound(&tab, "ja").await;
        tab.evaluate(&axe).await;
        assert_eq!(tab.evaluate_later(AXE, vec![]).await, json!([]), "{page}");
    }
    expect_parts_of_lists(&tab, &program).await;
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

/// What is folded up is wide, too.
const OPEN_ALL: &str =
    "for (const details of document.querySelectorAll('details')) details.open = true";

/// What is wider than the card or the section that it belongs to, and neither cut nor scrolled.
const OVERHANGING: &str = "
    const isCut = (element, end) => element !== end
        && (getComputedStyle(element).overflowX !== 'visible' || isCut(element.parentElement, end));
    const right = (element) => element.getBoundingClientRect().right;
    return [...document.querySelectorAll('section, fieldset, .filter, .figure, .call, .change')].flatMap((card) =>
        [...card.querySelectorAll('table, th, td, p, pre, svg, select, input, textarea')]
            .filter((part) => right(part) > right(card) + 1 && !isCut(part.parentElement, card))
            .map((part) => `${card.className} ${part.outerHTML.slice(0, 120)}`))";

/// Of the memos there is another page, and somebody who is listened to again leaves the list of people.
async fn expect_parts_of_lists(tab: &Tab, program: &Program) {
    tab.open_page(&format!("{}/console/memory?workspace=T0GARDEN", program.address)).await;
    tab.click("next-memos").await;
    let shown = "return [new URLSearchParams(location.search).get('memos_after'),
        document.querySelectorAll('[data-testid=memo]').length]";
    tab.expect_result(shown, json!(["50", 50])).await;
    tab.open_page(&format!("{}/console/orders", program.address)).await;
    let people =
        "return [location.pathname, document.querySelectorAll('[data-testid=opted-out]').length]";
    tab.expect_result(people, json!(["/console/orders", 13])).await;
    tab.click("opt-in").await;
    tab.expect_result(people, json!(["/console/orders", 12])).await;
}

async fn read(program: &Program, token: &str, page: &str, language: &str) -> (StatusCode, String) {
    let request = client().get(format!("{}{page}", program.address)).bearer_auth(token);
    let request = request.header("accept", "text/html").header("accept-language", language);
    let answer = request.send().await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

/// The texts of a page with two English words in a row, but for what is in English everywhere: errors of providers, and
/// commands.
fn english(page: &str) -> Vec<&str> {
    let is_word =
        |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let texts = page.split('<').filter_map(|part| {
        let (tag, text) = part.split_once('>')?;
        let is_english =
            ["script", "style", "td lang=\"en\""].iter().any(|it| tag.starts_with(*it));
        (!is_english && !text.starts_with("the provider answers 429")).then_some(text.trim())
    });
    let in_english = |text: &&str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(2).any(|pair| pair.iter().all(|word| is_word(word)))
    };
    // What is typed in a terminal is the same in every language.
    let is_command =
        |text: &str| ["aizuchi why ", "aizuchi report "].iter().any(|it| text.starts_with(it));
    texts.filter(in_english).filter(|text| !is_command(text)).collect()
}

#[test]
fn english_in_a_page_is_found() {
    let page = "<td lang=\"en\">a plain word<p>こんにちは</p><b title=\"two words\">two words</b><i>R2 D2</i>";
    assert_eq!(english(page), ["two words"]);
}
