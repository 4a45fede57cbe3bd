//! A user's browser tab: actions, and expectations on what it shows.

use std::time::{Duration, Instant};

use fantoccini::actions::{
    Actions, InputSource, KeyAction, KeyActions, MouseActions, PointerAction,
};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::key::Key;
use fantoccini::wd::{WebDriverCompatibleCommand, WindowHandle};
use fantoccini::{Client, Locator};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval_at};

use crate::program::{Program, TIMEOUT};

/// The interval between the first polls of a page.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// The interval between later polls. A poll takes processor time from what it waits for.
const LONG_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The number of polls at the first interval.
const FIRST_POLLS: usize = 8;

pub struct Tab {
    client: Client,
    handle: WindowHandle,
}

/// Actions.
impl Tab {
    /// Opens another tab of this browser.
    pub async fn open(client: &Client) -> Self {
        let handle = client.new_window(true).await.unwrap().handle;
        let tab = Self { client: client.clone(), handle };
        tab.run_on_new_pages(WAIT_FOR_RESPONSES).await;
        tab
    }

    /// Selects the tab: WebDriver acts on the tab selected last, so each action starts with this.
    async fn to_front(&self) {
        self.client.switch_to_window(self.handle.clone()).await.unwrap();
    }

    pub async fn open_page(&self, address: &str) {
        self.to_front().await;
        self.client.goto(address).await.unwrap();
    }

    pub async fn reload(&self) {
        self.to_front().await;
        self.client.refresh().await.unwrap();
    }

    pub async fn go_back(&self) {
        self.to_front().await;
        self.client.back().await.unwrap();
    }

    /// Opens the local room and enters a name.
    pub async fn enter(&self, program: &Program, name: &str) {
        self.open_page(&program.address).await;
        self.enter_name(name).await;
    }

    /// Enters a name in the local room.
    pub async fn enter_name(&self, name: &str) {
        // The field may have the name of another tab, which typing replaces.
        self.expect_focus("name-input").await;
        self.type_text(name).await;
        self.click("name-save").await;
        self.expect_connection("live").await;
        self.expect_focus("composer").await;
    }

    pub async fn post(&self, text: &str) {
        self.post_in("composer", text).await;
    }

    /// Posts a message, and waits until the page shows it.
    pub async fn post_in(&self, field: &str, text: &str) {
        self.type_in(field, text).await;
        self.press(Key::Enter).await;
        let pane = format!("document.querySelector('[data-testid={field}]').closest('.pane')");
        let messages = format!("return {pane}.querySelector('.messages').textContent");
        let has_arrived = |found: &Value| found.as_str().is_some_and(|shown| shown.contains(text));
        self.wait_until(&messages, has_arrived, text).await;
    }

    /// Types into a field, once it accepts keys.
    pub async fn type_in(&self, field: &str, text: &str) {
        let begin = Instant::now();
        let mut pace = tokio::time::interval(POLL_INTERVAL);
        while let Err(error) = self.find(field).await.send_keys(text).await {
            assert!(begin.elapsed() < TIMEOUT, "{field} takes no keys: {error}");
            pace.tick().await;
        }
    }

    /// Types at the focus.
    pub async fn type_text(&self, text: &str) {
        let keys =
            text.chars().flat_map(|value| [KeyAction::Down { value }, KeyAction::Up { value }]);
        self.keys(keys).await;
    }

    pub async fn press(&self, key: Key) {
        self.type_text(&key.to_string()).await;
    }

    pub async fn press_with(&self, modifier: Key, key: impl Into<char>) {
        let (held, value) = (modifier.into(), key.into());
        let keys = [
            KeyAction::Down { value: held },
            KeyAction::Down { value },
            KeyAction::Up { value },
            KeyAction::Up { value: held },
        ];
        self.keys(keys).await;
    }

    /// Presses Shift+Tab until the focus is on this.
    pub async fn tab_back_to(&self, what: &str) {
        for _ in 0..40 {
            if is_named(&self.evaluate(FOCUS).await, what) {
                return;
            }
            self.press_with(Key::Shift, Key::Tab).await;
        }
        panic!("Shift+Tab does not lead to {what}");
    }

    async fn keys(&self, keys: impl IntoIterator<Item = KeyAction>) {
        self.to_front().await;
        let keyboard = KeyActions::new("keyboard".to_owned());
        let keyboard = keys.into_iter().fold(keyboard, InputSource::then);
        self.client.perform_actions(Actions::from(keyboard)).await.unwrap();
    }

    pub async fn click(&self, what: &str) {
        self.click_at(Locator::Css(&format!("[data-testid='{what}']:not([hidden])")), None).await;
    }

    /// Clicks a control that a message shows while the pointer hovers over it.
    pub async fn click_on_message(&self, text: &str, what: &str) {
        let message = message_path(text);
        let here = format!("{message}//*[@data-testid='{what}']");
        self.click_at(Locator::XPath(&here), Some(Locator::XPath(&message))).await;
    }

    /// Clicks. Retries while the page is being redrawn under the pointer.
    async fn click_at(&self, here: Locator<'_>, hovered: Option<Locator<'_>>) {
        self.to_front().await;
        let begin = Instant::now();
        let mut pace = tokio::time::interval(POLL_INTERVAL);
        while let Err(error) = self.try_to_click(here, hovered).await {
            assert!(begin.elapsed() < TIMEOUT, "{here:?} cannot be clicked: {error}");
            pace.tick().await;
        }
    }

    async fn try_to_click(
        &self,
        here: Locator<'_>,
        hovered: Option<Locator<'_>>,
    ) -> Result<(), CmdError> {
        if let Some(hovered) = hovered {
            let element = self.client.find(hovered).await?;
            let over = PointerAction::MoveToElement { element, duration: None, x: 0., y: 0. };
            self.client.perform_actions(MouseActions::new("mouse".to_owned()).then(over)).await?;
        }
        self.client.find(here).await?.click().await
    }

    /// Holds the server's events of this kind back, on each page that is opened afterwards.
    pub async fn hold_events(&self, kind: &str) {
        self.run_on_new_pages(&HOLD_EVENTS.replace("KIND", &json!(kind).to_string())).await;
    }

    /// Delivers the oldest of these events, once there is one.
    pub async fn release_event(&self) {
        self.expect_result("return window.releaseEvent()", json!(true)).await;
    }

    /// Delivers these events, and later ones as they come.
    pub async fn release_events(&self) {
        self.evaluate("window.releaseEvents()").await;
    }

    /// Runs a script in each page that is opened afterwards, before the page's own scripts.
    pub async fn run_on_new_pages(&self, script: &str) {
        let source = json!({ "source": script });
        self.send_devtools("Page.addScriptToEvaluateOnNewDocument", source).await;
    }

    /// Sends a command of the Chrome DevTools Protocol, for what WebDriver does not support.
    pub async fn send_devtools(&self, command: &str, parameters: Value) {
        self.to_front().await;
        self.client.issue_cmd(DevTools::new(command, parameters)).await.unwrap();
    }
}

/// Expectations: each waits until the page shows what is expected.
impl Tab {
    /// Waits for a visible element with a test id.
    pub async fn find(&self, what: &str) -> Element {
        self.wait_for(Locator::Css(&format!("[data-testid='{what}']:not([hidden])"))).await
    }

    async fn wait_for(&self, here: Locator<'_>) -> Element {
        self.to_front().await;
        self.client.wait().at_most(TIMEOUT).every(POLL_INTERVAL).for_element(here).await.unwrap()
    }

    pub async fn expect_connection(&self, state: &str) {
        let here = format!("[data-testid=connection][data-state={state}]");
        self.wait_for(Locator::Css(&here)).await;
    }

    /// Waits until the channel shows exactly these messages in this order. A part of each text is enough.
    pub async fn expect_messages(&self, expected: &[&str]) {
        self.expect_messages_in("messages", expected).await;
    }

    pub async fn expect_messages_in(&self, list: &str, expected: &[&str]) {
        let read = format!(
            "return [...document.querySelectorAll('[data-testid={list}] > [data-testid=message]')]
                .map((message) => message.textContent)"
        );
        let is_shown = |messages: &Value| {
            let messages: Vec<&str> =
                messages.as_array().unwrap().iter().flat_map(Value::as_str).collect();
            let has_part = |(message, part): (&&str, &&str)| message.contains(part);
            messages.len() == expected.len() && messages.iter().zip(expected).all(has_part)
        };
        self.wait_until(&read, is_shown, &format!("{expected:#?}")).await;
    }

    /// Waits until the focus is on the element with this test id, or on a message with this text.
    pub async fn expect_focus(&self, what: &str) {
        self.wait_until(FOCUS, |found| is_named(found, what), what).await;
    }

    /// Waits until a script returns this value.
    pub async fn expect_result(&self, script: &str, expected: Value) {
        self.wait_until(script, |found| *found == expected, &expected.to_string()).await;
    }

    /// Runs a script and returns its value.
    pub async fn evaluate(&self, script: &str) -> Value {
        self.to_front().await;
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// Runs an asynchronous script and returns the value that it passes to its last argument.
    pub async fn evaluate_later(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.to_front().await;
        self.client.execute_async(script, arguments).await.unwrap()
    }

    async fn wait_until(&self, read: &str, matches: impl Fn(&Value) -> bool, expected: &str) {
        self.to_front().await;
        let begin = Instant::now();
        let mut pace = tokio::time::interval(POLL_INTERVAL);
        for poll in 0.. {
            if poll == FIRST_POLLS {
                pace =
                    interval_at((Instant::now() + LONG_POLL_INTERVAL).into(), LONG_POLL_INTERVAL);
                pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            }
            pace.tick().await;
            let found = self.client.execute(read, vec![]).await.unwrap();
            if matches(&found) {
                return;
            }
            assert!(begin.elapsed() < TIMEOUT, "there is {found:#} instead of {expected}");
        }
    }
}

/// On a machine under many times its load, a request may take longer than the 15 seconds for which the page waits.
const WAIT_FOR_RESPONSES: &str = "AbortSignal.timeout = () => new AbortController().signal;";

/// A block of its own: constants of the page itself would hide the browser's functions from other scripts.
const HOLD_EVENTS: &str = "{
    const held = [];
    window.holdsEvents = true;
    window.releaseEvent = () => {
        held[0]?.();
        return held.shift() !== undefined;
    };
    window.releaseEvents = () => {
        window.holdsEvents = false;
        while (window.releaseEvent());
    };
    const { addEventListener } = EventSource.prototype;
    EventSource.prototype.addEventListener = function (kind, listener) {
        addEventListener.call(this, kind, kind !== KIND ? listener : (event) => {
            if (window.holdsEvents) held.push(() => listener(event));
            else listener(event);
        });
    };
}";

const FOCUS: &str = "const { dataset, textContent } = document.activeElement;
    return dataset.testid === 'message' ? textContent : dataset.testid ?? textContent";

/// Whether the focus is on `what`. Messages are named by a part of their text, which contains a space; other elements
/// by their test id.
fn is_named(focus: &Value, what: &str) -> bool {
    let focus = focus.as_str().unwrap_or_default();
    focus == what || (what.contains(' ') && focus.contains(what))
}

/// Returns the XPath of the message in the channel that contains this text.
fn message_path(text: &str) -> String {
    let list = "//ol[@data-testid='messages']";
    format!("{list}/li[@data-testid='message'][contains(., {})]", json!(text))
}

/// A command of the Chrome DevTools Protocol.
#[derive(Debug)]
pub struct DevTools {
    command: String,
    parameters: Value,
}

impl DevTools {
    pub fn new(command: &str, parameters: Value) -> Self {
        Self { command: command.to_owned(), parameters }
    }
}

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(
        &self,
        base: &reqwest::Url,
        session: Option<&str>,
    ) -> Result<reqwest::Url, <reqwest::Url as std::str::FromStr>::Err> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _url: &reqwest::Url) -> (reqwest::Method, Option<String>) {
        let body = json!({ "cmd": self.command, "params": self.parameters });
        (reqwest::Method::POST, Some(body.to_string()))
    }
}
