//! The model on the page: offering, choosing and losing one.

use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use serde_json::json;

use crate::browser::Browser;
use crate::browser::operator::time_zone_at_noon;
use crate::browser::tab::Tab;
use crate::program::Home;

#[tokio::test(flavor = "multi_thread")]
async fn a_found_model_is_used_with_one_click() {
    let server = Server::start(ServerLimits::default()).await;
    server.has_models(&["qwen3:8b"]);
    server.will_say(&["ok", "I am the model"]);
    let home = Home::new(1000.0);
    let host = server.base.trim_start_matches("http://");
    let program = home.start_with(&[], &[("OLLAMA_HOST", host)]);
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;
    expect_text(&alice, "model-offer-text", "Ollama is running here with qwen3:8b").await;
    alice.click("model-offer-use").await;
    for tab in [&alice, &bob] {
        let fact = "return document.querySelector('[data-minds=fact]').textContent";
        let named =
            format!("The model ollama/qwen3:8b at {}/v1/ decides and answers.", server.base);
        tab.expect_result(fact, json!(named)).await;
        expect_hidden(tab, "model-offer").await;
    }
    alice.post("@Aizuchi who are you?").await;
    bob.expect_messages(&["@Aizuchi who are you?", "I am the model"]).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_can_be_canceled() {
    let server = Server::start(ServerLimits::default()).await;
    server.then([ProviderResponse::Never]);
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.click("model-offer-open").await;
    let unfold = "return document.getElementById('model-own').open = true";
    alice.expect_result(unfold, json!(true)).await;
    alice.type_in("model-address", &format!("{}/v1", server.base)).await;
    alice.type_in("model-own-name", "large-1").await;
    alice.click("model-own-use").await;
    server.came(1).await;
    alice.click("model-cancel").await;
    server.abandoned(1).await;
    expect_hidden(&alice, "model-cancel").await;
    expect_hidden(&alice, "model-error").await;
    browser.close().await;
}

#[tokio::test]
async fn a_key_is_typed_on_the_page() {
    let server = Server::start(ServerLimits::default()).await;
    server.accepts_only("sk-test-0123456789abcdef");
    let home = Home::new(1000.0);
    home.add(&format!("timezone: {}\n", time_zone_at_noon()));
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.click("model-offer-open").await;
    expect_text(&alice, "model-now", "built-in rules").await;
    // The option without a provider is not listed among the providers.
    let providers =
        "return [...document.getElementById('model-provider').options].map((it) => it.value)";
    let known = json!([
        "openai", "anthropic", "gemini", "openrouter", "deepseek", "groq", "mistral", "xai",
        "vertex"
    ]);
    alice.expect_result(providers, known).await;
    let unfold = "return document.getElementById('model-own').open = true";
    alice.expect_result(unfold, json!(true)).await;
    alice.type_in("model-address", &format!("{}/v1", server.base)).await;
    alice.type_in("model-own-name", "large-1").await;
    alice.type_in("model-own-key", "sk-test-wrong").await;
    alice.click("model-own-use").await;
    expect_text(&alice, "model-error", "the model refused the key. Nothing was changed.").await;
    // The error is shown where the model was entered.
    let beside = "return document.querySelector('#model-own [data-testid=model-error]') !== null";
    alice.expect_result(beside, json!(true)).await;
    // The typed key stays, because another field may have been wrong.
    let key = "return document.getElementById('model-own-key').value";
    alice.expect_result(key, json!("sk-test-wrong")).await;
    // A user who closes the dialog in the meantime still learns of the failure, which is visible.
    alice.click("model-close").await;
    alice.click("model-offer-open").await;
    expect_text(&alice, "model-error", "the model refused the key. Nothing was changed.").await;
    alice.expect_result(key, json!("")).await;
    alice.type_in("model-own-key", "sk-test-0123456789abcdef").await;
    alice.click("model-own-use").await;
    // The name alone would suggest that the chat is sent to OpenAI.
    let connected =
        format!("Connected. Aizuchi now answers with openai/large-1 at {}/v1/.", server.base);
    expect_text(&alice, "model-busy", &connected).await;
    alice.expect_result(key, json!("")).await;
    // The two trials count as calls; the one that was refused has used nothing.
    let metrics = program.request("/metrics").await.text().await.unwrap();
    for (end, count) in [("failed", 1), ("kept", 1)] {
        let calls = metrics.lines().find(|line| {
            line.starts_with("aizuchi_model_calls_total{")
                && line.contains(end)
                && line.contains("check")
        });
        assert!(calls.is_some_and(|line| line.ends_with(&format!(" {count}"))), "{metrics}");
    }
    let spending = program.get("/api/spending").await;
    assert!(spending["workspace"]["tokens_in_day"].as_u64() > Some(0), "{spending}");
    alice.click("model-close").await;
    let page = "return document.documentElement.outerHTML.includes('sk-test')";
    alice.expect_result(page, json!(false)).await;
    let fact = "return document.querySelector('[data-minds=fact]').textContent";
    let named = format!("The model openai/large-1 at {}/v1/ decides and answers.", server.base);
    alice.expect_result(fact, json!(named)).await;
    browser.close().await;
}

/// Responses may arrive in another order than that of their requests.
#[tokio::test]
async fn a_late_response_brings_back_no_earlier_model() {
    let server = Server::start(ServerLimits::default()).await;
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    // The next response is answered at once, and does not arrive before the test lets it through.
    let slow = "const real = window.fetch;
        window.fetch = async (address, options) => {
            if (address !== '/api/models' || window.letThrough !== undefined) return real(address, options);
            const through = new Promise((resolve) => (window.letThrough = resolve));
            const answer = await real(address, options);
            const models = await answer.json();
            window.isAnswered = true;
            await through;
            return { status: 200, ok: true, json: async () => models };
        }";
    alice.evaluate(slow).await;
    alice.click("model-open").await;
    alice.expect_result("return window.isAnswered === true", json!(true)).await;
    let base = format!("{}/v1", server.base);
    // Only a page of the program may choose a model.
    let choose = "const [choice, done] = arguments;
        const headers = { 'Content-Type': 'application/json' };
        fetch('/api/models', { method: 'POST', headers, body: choice }).then(({ status }) => done(status));";
    let choice = json!({
        "kind": "compatible", "api_base": base, "model": "large-1", "key": "sk-test-0123456789abcdef",
    });
    let status = alice.evaluate_later(choose, vec![json!(choice.to_string())]).await;
    assert_eq!(status, json!(200));
    let fact = "return document.querySelector('[data-minds=fact]').textContent";
    let named = format!("The model openai/large-1 at {base}/ decides and answers.");
    alice.expect_result(fact, json!(named)).await;
    alice.evaluate("window.letThrough()").await;
    assert_eq!(alice.evaluate(fact).await, json!(named));
    browser.close().await;
}

#[tokio::test]
async fn the_built_in_rules_can_be_kept() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.click("model-offer-close").await;
    expect_hidden(&alice, "model-offer").await;
    alice.reload().await;
    alice.expect_connection("live").await;
    expect_hidden(&alice, "model-offer").await;
    alice.click("model-open").await;
    expect_text(&alice, "model-now", "built-in rules").await;
    browser.close().await;
}

#[tokio::test]
async fn a_banner_stays_while_the_model_does_not_answer() {
    const KEY: &str = "sk-test-0123456789abcdef";
    let server = Server::start(ServerLimits::default()).await;
    server.accepts_only("sk-another-key");
    let home = Home::new(1000.0);
    home.add(&format!(
        "agents:\n  response:\n    model_id: openai/large-1\n    client_args: {{api_key: {KEY}, \
         api_base: '{}/v1'}}\n",
        server.base
    ));
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let told = "openai/large-1 is not answering: the model refused the key.";
    expect_text(&alice, "model-problem", told).await;
    alice.post("@Aizuchi hello").await;
    alice.expect_messages(&["could not answer: the model refused the key", "Sorry"]).await;
    server.accepts_only(KEY);
    alice.post("@Aizuchi and now?").await;
    alice.expect_messages(&["", "", "", "fine"]).await;
    expect_hidden(&alice, "model-banner").await;
    browser.close().await;
}

/// The cards are for new users. They make room for the conversation, and return on request.
#[tokio::test]
async fn the_first_words_fold_the_cards_away() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let shown = "return ['intro', 'model-offer'].map((id) => !document.getElementById(id).hidden)";
    alice.expect_result(shown, json!([true, true])).await;
    alice.post("good morning").await;
    alice.expect_result(shown, json!([false, false])).await;
    // A user who has not posted yet still sees them.
    let bob = browser.tab(&program, "bob").await;
    bob.expect_result(shown, json!([true, true])).await;
    alice.click("about").await;
    alice.expect_result(shown, json!([true, true])).await;
    alice.post("how are you all?").await;
    alice.expect_result(shown, json!([true, true])).await;
    alice.click("about").await;
    alice.expect_result(shown, json!([false, false])).await;
    browser.close().await;
}

async fn expect_text(tab: &Tab, what: &str, part: &str) {
    let has_part = format!(
        "const element = document.querySelector('[data-testid={what}]');
        return element.checkVisibility() && element.textContent.includes({})",
        json!(part)
    );
    tab.expect_result(&has_part, json!(true)).await;
}

async fn expect_hidden(tab: &Tab, what: &str) {
    let is_hidden = format!("return document.querySelector('[data-testid={what}]').hidden");
    tab.expect_result(&is_hidden, json!(true)).await;
}
