//! Sending files from the page.

use serde_json::json;

use crate::browser::Browser;
use crate::program::Home;

/// Drops a one-pixel picture on the channel.
const DROP: &str = "
    const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const bytes = Uint8Array.from(atob(dot), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], 'dot.png', { type: 'image/png' }));
    const drop = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
    document.getElementById('channel-pane').dispatchEvent(drop);";
/// Returns the content of the attachment area above the field.
const ATTACHED: &str = "
    return [...document.querySelectorAll('[data-testid=attached] li')].map((item) => item.firstChild.textContent)";
const PICTURES: &str = "
    return [...document.querySelectorAll('[data-testid=message] a.file img')].map((image) => [image.alt, image.naturalWidth])";

/// Drops a picture of 200 by 200 pixels on the channel.
const DROP_SQUARE: &str = "
    const [done] = arguments;
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 200;
    canvas.toBlob((blob) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([blob], 'square.png', { type: 'image/png' }));
        const drop = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
        document.getElementById('channel-pane').dispatchEvent(drop);
        done(null);
    })";

/// A picture takes its height only when it is loaded.
#[tokio::test]
async fn a_picture_at_the_end_is_in_sight() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("bob", &"a line\n".repeat(80)).await;
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    alice.evaluate_later(DROP_SQUARE, vec![]).await;
    alice.expect_result(ATTACHED, json!(["Picture: square.png"])).await;
    alice.click("send").await;
    let sight = "const { scrollTop, scrollHeight, clientHeight } = document.querySelector('#channel-pane .scroll');
        const picture = document.querySelector('[data-testid=message] a.file img');
        return [picture?.naturalHeight, scrollHeight > clientHeight, scrollHeight - clientHeight - scrollTop < 2]";
    alice.expect_result(sight, json!([200, true, true])).await;
    browser.close().await;
}

/// Returns whether a paste of these texts, each with its type, and of a file attaches the file.
const ATTACHES: &str = "
    const [texts, done] = arguments;
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(['x'], 'copied.png', { type: 'image/png' }));
    for (const [type, text] of texts) clipboardData.setData(type, text);
    const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
    document.getElementById('composer').dispatchEvent(paste);
    done(paste.defaultPrevented)";

/// A spreadsheet adds a picture to the text of copied cells, and a file manager adds the name to a copied file.
#[tokio::test]
async fn copied_text_is_pasted_as_text() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let (plain, html) = (["text/plain", "copied.png"], ["text/html", "<b>copied.png</b>"]);
    for (texts, expected) in [
        (json!([plain, html]), false),
        (json!([plain]), true),
        (json!([html]), true),
        (json!([]), true),
    ] {
        let attaches = alice.evaluate_later(ATTACHES, vec![texts.clone()]).await;
        assert_eq!(attaches, json!(expected), "{texts}");
    }
    browser.close().await;
}

#[tokio::test]
async fn a_picture_is_dropped_taken_off_and_sent() {
    let home = Home::new(1000.0);
    let program = home.start();
    let browser = Browser::start().await;
    let alice = browser.tab(&program, "alice").await;
    let bob = browser.tab(&program, "bob").await;
    alice.evaluate(DROP).await;
    alice.expect_result(ATTACHED, json!(["Picture: dot.png"])).await;
    alice.click("attached-remove").await;
    alice.expect_result(ATTACHED, json!([])).await;
    alice.expect_focus("composer").await;
    alice.evaluate(DROP).await;
    alice.expect_result(ATTACHED, json!(["Picture: dot.png"])).await;
    alice.click("send").await;
    for tab in [&alice, &bob] {
        tab.expect_result(PICTURES, json!([["Picture: dot.png", 1]])).await;
    }
    alice.expect_result(ATTACHED, json!([])).await;
    browser.close().await;
}
