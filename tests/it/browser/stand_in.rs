//! The pages of the fake Slack and Discord.

use fantoccini::key::Key;
use serde_json::json;

use crate::browser::Browser;
use crate::browser::tab::Tab;
use crate::demo_command::DemoProgram;

const TEXTS: &str = "return [...document.querySelectorAll('[data-testid=message-text]')].map((text) => text.textContent)";
const NEWEST: &str = "[...document.querySelectorAll('[data-testid=message-text]')].at(-1)";

/// The text of the field. It is emptied once its message is sent.
const FIELD: &str = "return document.getElementById('text').value";

/// Waits for the introduction, so that it does not become the newest message later.
async fn expect_introduction(tab: &Tab) {
    let is_introduced = format!("return {NEWEST}?.textContent.includes('Aizuchi help') ?? false");
    tab.expect_result(&is_introduced, json!(true)).await;
}

#[tokio::test]
async fn a_stand_in_is_written_on_like_a_chat() {
    for (platform, written, shown) in [
        (
            "slack",
            "*bold* `code` <b>no tag</b> _it_",
            "<b>bold</b> <code>code</code> &lt;b&gt;no tag&lt;/b&gt; <i>it</i>",
        ),
        (
            "discord",
            "**bold** `code` <b>no tag</b> *it*",
            "<b>bold</b> <code>code</code> &lt;b&gt;no tag&lt;/b&gt; <i>it</i>",
        ),
    ] {
        let demo = DemoProgram::start(&[platform]);
        let browser = Browser::start().await;
        let tab = browser.blank().await;
        tab.open_page(&demo.page).await;
        let banner = "return document.getElementById('banner').textContent.endsWith('Nothing leaves this machine.')";
        tab.expect_result(banner, json!(true)).await;
        expect_introduction(&tab).await;
        // Enter sends, and Shift+Enter starts a new line. The newest message is last, and visible.
        tab.type_in("text", written).await;
        tab.press_with(Key::Shift, Key::Enter).await;
        tab.type_text("second line").await;
        tab.press(Key::Enter).await;
        let markup = format!("return {NEWEST}?.innerHTML");
        tab.expect_result(
            &markup,
            json!(format!("<p data-kind=\"line\">{shown}<br>second line</p>")),
        )
        .await;
        tab.expect_result(FIELD, json!("")).await;
        // A mention is shown as a name, and answered below.
        tab.type_in("text", "@Aizuchi hello").await;
        tab.press(Key::Enter).await;
        tab.expect_result(FIELD, json!("")).await;
        tab.expect_result(
            "return document.querySelector('.mention')?.textContent",
            json!("@Aizuchi"),
        )
        .await;
        let answered = format!(
            "const newest = {NEWEST}; const face = newest?.closest('li').querySelector('.badge');
            return face !== null && face !== undefined"
        );
        tab.expect_result(&answered, json!(true)).await;
        // A command goes to the app, and only its user sees the answer.
        tab.type_in("text", "/aizuchi status").await;
        tab.press(Key::Enter).await;
        tab.expect_result(FIELD, json!("")).await;
        let ephemeral = "return document.querySelectorAll('[data-kind=ephemeral]').length";
        tab.expect_result(ephemeral, json!(1)).await;
        let is_at_end =
            "const { scrollTop, clientHeight, scrollHeight } = document.getElementById('scroll');
            return scrollHeight - clientHeight - scrollTop < 2";
        tab.expect_result(is_at_end, json!(true)).await;
        // The page shows the platform's refusals.
        tab.type_in("text", "/dance").await;
        tab.press(Key::Enter).await;
        let told = "return document.getElementById('error').textContent";
        tab.expect_result(told, json!("There is no command /dance here.")).await;
        let texts = tab.evaluate(TEXTS).await;
        assert!(!texts.to_string().contains("dance"), "{texts}");
        // A reaction is added and removed.
        let react = "document.querySelector('[data-testid=react]').click()";
        let reactions = "return [...document.querySelectorAll('[data-testid=reaction]')].map((chip) => chip.textContent)";
        tab.evaluate(react).await;
        tab.expect_result(reactions, json!(["👍 1"])).await;
        tab.evaluate(react).await;
        tab.expect_result(reactions, json!([])).await;
        browser.close().await;
        demo.stop();
    }
}

#[tokio::test]
async fn an_input_method_confirms_without_sending() {
    let demo = DemoProgram::start(&["slack"]);
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    tab.open_page(&demo.page).await;
    tab.type_in("text", "にほんご").await;
    let confirm = "const enter = new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, cancelable: true });
        document.getElementById('text').dispatchEvent(enter);
        return [enter.defaultPrevented, document.getElementById('text').value]";
    tab.expect_result(confirm, json!([false, "にほんご"])).await;
    tab.press(Key::Enter).await;
    // The persona may introduce itself in the meantime.
    let is_sent = "return [...document.querySelectorAll('[data-testid=message-text]')]
        .some((text) => text.textContent === 'にほんご')";
    tab.expect_result(is_sent, json!(true)).await;
    browser.close().await;
    demo.stop();
}

#[tokio::test]
async fn replies_stand_in_their_thread() {
    let demo = DemoProgram::start(&["slack"]);
    let browser = Browser::start().await;
    let tab = browser.blank().await;
    tab.open_page(&demo.page).await;
    expect_introduction(&tab).await;
    // A message may be shown, and replied to, before the response to it arrives.
    let slow = "const real = window.fetch;
        window.fetch = async (address, options) => {
            const answer = await real(address, options);
            if (address !== '/page/say') return answer;
            window.fetch = real;
            await new Promise((through) => (window.letThrough = through));
            return answer;
        }";
    tab.evaluate(slow).await;
    tab.type_in("text", "who has the ladder").await;
    tab.press(Key::Enter).await;
    let newest = format!("return {NEWEST}?.textContent");
    tab.expect_result(&newest, json!("who has the ladder")).await;
    tab.evaluate(&format!("{NEWEST}.closest('li').querySelector('[data-testid=reply]').click()"))
        .await;
    tab.expect_result("return window.letThrough !== undefined", json!(true)).await;
    tab.evaluate("window.letThrough()").await;
    tab.expect_result(FIELD, json!("")).await;
    tab.expect_focus("text").await;
    tab.type_text("Ken has").await;
    tab.press(Key::Enter).await;
    let replies = "return [...document.querySelectorAll('[data-reply] [data-testid=message-text]')].map((text) => text.textContent)";
    tab.expect_result(replies, json!(["Ken has"])).await;
    tab.press(Key::Escape).await;
    tab.expect_result("return document.getElementById('about').hidden", json!(true)).await;
    browser.close().await;
    demo.stop();
}
