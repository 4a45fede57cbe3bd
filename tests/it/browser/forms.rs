//! Console pages that only a form leads to: each role sees the trial in its own language, and the page is sound in a
//! browser, even on a phone.

use reqwest::StatusCode;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::accessibility::{AXE, axe_script};
use crate::browser::console::{expect_sound, sign_in};
use crate::browser::narrow::resize;
use crate::browser::tab::Tab;
use crate::console::harness::{ADMIN, OPERATOR, VIEWER, set_tokens};
use crate::console::language::expect_own_language;
use crate::console::walk::{PageForm, Walk};
use crate::generated::{GeneratedHistory, Place};
use crate::program::{Home, Program};

/// Submits a form from a page of the console, and waits for the resulting page.
pub async fn submit(tab: &Tab, program: &Program, form: &PageForm) {
    tab.open_page(&format!("{}/console/api", program.address)).await;
    let PageForm { path, fields } = form;
    let send = format!(
        "const form = document.createElement('form');
        form.method = 'post';
        form.action = {path};
        for (const [name, value] of {fields}) {{
            const field = document.createElement('textarea');
            field.name = name;
            field.value = value;
            form.append(field);
        }}
        document.body.append(form);
        document.documentElement.dataset.left = 'yes';
        form.submit();",
        path = json!(path),
        fields = json!(fields),
    );
    tab.evaluate(&send).await;
    let is_answered = "return document.documentElement.dataset.left === undefined && document.readyState === 'complete'";
    tab.expect_result(is_answered, json!(true)).await;
}

/// Returns a history whose texts are in no language, so that all other texts are the console's.
fn history() -> GeneratedHistory {
    let words: Vec<String> = (0..5).map(|number| format!("№ {number}17")).collect();
    GeneratedHistory {
        places: vec![
            Place::new("T0GARDEN", "C0TEA", "c-1", "public"),
            Place::new("T0GARDEN", "C0ATTIC", "c-2", "private"),
        ],
        public_words: words.clone(),
        private_words: words,
        messages: 120,
        decisions: 12,
    }
}

#[tokio::test]
async fn what_a_form_leads_to_is_sound_for_each_role() {
    let home = Home::new(1000.0);
    set_tokens(&home);
    home.add("persona:\n  name: P17\n  system_prompt: \"№ 17\"\n");
    assert_eq!(home.start().stop(), Some(0));
    let history = history();
    history.write(&home).await;
    let program = home.start();
    let forms = Walk::new(&home, &history.places, "17", "U1").await.forms();
    for form in &forms {
        for token in [ADMIN, OPERATOR, VIEWER] {
            for language in ["en", "ja"] {
                let answer = form.send(&program, token, language).await;
                let status = answer.status();
                let is_expected = match token {
                    ADMIN => status == StatusCode::OK,
                    // Operators may not see all moments.
                    OPERATOR => status == StatusCode::OK || status.is_client_error(),
                    _ => status == StatusCode::FORBIDDEN,
                };
                assert!(is_expected, "{} as {token}: {status}", form.path);
                expect_own_language(&answer.text().await.unwrap(), language, &form.path);
            }
        }
    }

    let axe = axe_script();
    let browser = Browser::start_undrawn_in("en-US").await;
    let tab = browser.blank().await;
    for token in [OPERATOR, ADMIN] {
        sign_in(&tab, &program, token).await;
        for form in &forms {
            submit(&tab, &program, form).await;
            for width in [1280, 390] {
                resize(&tab, width).await;
                expect_sound(&tab, "en").await;
            }
            tab.evaluate(&axe).await;
            assert_eq!(tab.evaluate_later(AXE, vec![]).await, json!([]), "{}", form.path);
        }
    }
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}
