//! One person's tab: what they do there, and what they see.

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

use crate::program::Program;

/// How long the page may take for anything. Nothing waits longer than it must.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often somebody who waits looks.
const PACE: Duration = Duration::from_millis(25);

pub struct Tab {
    client: Client,
    handle: WindowHandle,
}

/// Acting.
impl Tab {
    /// Another tab of this browser.
    pub async fn open(client: &Client) -> Self {
        let handle = client.new_window(true).await.unwrap().handle;
        Self { client: client.clone(), handle }
    }

    /// The browser does everything in the tab it was told of last, so each begins with this.
    async fn to_front(&self) {
        self.client.switch_to_window(self.handle.clone()).await.unwrap();
    }

    pub async fn opens(&self, address: &str) {
        self.to_front().await;
        self.client.goto(address).await.unwrap();
    }

    pub async fn reloads(&self) {
        self.to_front().await;
        self.client.refresh().await.unwrap();
    }

    pub async fn goes_back(&self) {
        self.to_front().await;
        self.client.back().await.unwrap();
    }

    /// Opens the room and gives it a name.
    pub async fn enters(&self, room: &Program, name: &str) {
        self.opens(&room.address).await;
        // The name of another tab stands there, and is replaced by what one types.
        self.focus_is("name-input").await;
        self.types(name).await;
        self.clicks("name-save").await;
        self.connection("live").await;
        self.focus_is("composer").await;
    }

    pub async fn says(&self, text: &str) {
        self.says_in("composer", text).await;
    }

    /// Sends a line, and waits until it has arrived.
    pub async fn says_in(&self, field: &str, text: &str) {
        self.writes_in(field, text).await;
        self.presses(Key::Enter).await;
        let pane = format!("document.querySelector('[data-testid={field}]').closest('.pane')");
        let lines = format!("return {pane}.querySelector('.messages').textContent");
        let has_arrived = |found: &Value| found.as_str().is_some_and(|lines| lines.contains(text));
        self.wait_until(&lines, has_arrived, text).await;
    }

    pub async fn writes_in(&self, field: &str, text: &str) {
        self.find(field).await.send_keys(text).await.unwrap();
    }

    /// Types where the focus is.
    pub async fn types(&self, text: &str) {
        let keys =
            text.chars().flat_map(|value| [KeyAction::Down { value }, KeyAction::Up { value }]);
        self.keys(keys).await;
    }

    pub async fn presses(&self, key: Key) {
        self.types(&key.to_string()).await;
    }

    pub async fn presses_with(&self, modifier: Key, key: impl Into<char>) {
        let (held, value) = (modifier.into(), key.into());
        let keys = [
            KeyAction::Down { value: held },
            KeyAction::Down { value },
            KeyAction::Up { value },
            KeyAction::Up { value: held },
        ];
        self.keys(keys).await;
    }

    /// Goes back with the Tab key, as far as it takes.
    pub async fn tabs_back_to(&self, what: &str) {
        for _ in 0..40 {
            if is_named(&self.evaluate(FOCUS).await, what) {
                return;
            }
            self.presses_with(Key::Shift, Key::Tab).await;
        }
        panic!("the Tab key leads past {what}");
    }

    async fn keys(&self, keys: impl IntoIterator<Item = KeyAction>) {
        self.to_front().await;
        let keyboard = KeyActions::new("keyboard".to_owned());
        let keyboard = keys.into_iter().fold(keyboard, InputSource::then);
        self.client.perform_actions(Actions::from(keyboard)).await.unwrap();
    }

    pub async fn clicks(&self, what: &str) {
        self.clicks_at(Locator::Css(&format!("[data-testid='{what}']:not([hidden])")), None).await;
    }

    /// Clicks one of the things that a line of the channel shows to a pointer.
    pub async fn clicks_on_line(&self, text: &str, what: &str) {
        let line = line_path(text);
        let here = format!("{line}//*[@data-testid='{what}']");
        self.clicks_at(Locator::XPath(&here), Some(Locator::XPath(&line))).await;
    }

    /// What the page draws anew at this moment, under the pointer too, is clicked once it stands.
    async fn clicks_at(&self, here: Locator<'_>, hovered: Option<Locator<'_>>) {
        self.to_front().await;
        let begin = Instant::now();
        let mut pace = tokio::time::interval(PACE);
        while let Err(error) = self.tries_to_click(here, hovered).await {
            assert!(begin.elapsed() < PATIENCE, "{here:?} cannot be clicked: {error}");
            pace.tick().await;
        }
    }

    async fn tries_to_click(
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

    /// Sends the browser a command of its own protocol, for what WebDriver has no words.
    pub async fn commands(&self, command: &str, parameters: Value) {
        self.to_front().await;
        let command = DevTools { command: command.to_owned(), parameters };
        self.client.issue_cmd(command).await.unwrap();
    }
}

/// Seeing.
impl Tab {
    /// Waits for a thing by its test id.
    pub async fn find(&self, what: &str) -> Element {
        self.wait_for(Locator::Css(&format!("[data-testid='{what}']:not([hidden])"))).await
    }

    async fn wait_for(&self, here: Locator<'_>) -> Element {
        self.to_front().await;
        self.client.wait().at_most(PATIENCE).every(PACE).for_element(here).await.unwrap()
    }

    pub async fn connection(&self, state: &str) {
        let here = format!("[data-testid=connection][data-state={state}]");
        self.wait_for(Locator::Css(&here)).await;
    }

    /// Waits until the channel shows these lines, in this order, and no others.
    pub async fn sees(&self, expected: &[&str]) {
        self.sees_in("messages", expected).await;
    }

    pub async fn sees_in(&self, list: &str, expected: &[&str]) {
        let read = format!(
            "return [...document.querySelectorAll('[data-testid={list}] > [data-testid=message]')]
                .map((line) => line.textContent)"
        );
        let is_shown = |lines: &Value| {
            let lines: Vec<&str> =
                lines.as_array().unwrap().iter().flat_map(Value::as_str).collect();
            let fits = |(line, part): (&&str, &&str)| line.contains(part);
            lines.len() == expected.len() && lines.iter().zip(expected).all(fits)
        };
        self.wait_until(&read, is_shown, &format!("{expected:#?}")).await;
    }

    /// Waits until the focus is on the thing with this test id, or on a line with this text.
    pub async fn focus_is(&self, what: &str) {
        self.wait_until(FOCUS, |found| is_named(found, what), what).await;
    }

    /// Waits until a script returns this.
    pub async fn reads(&self, script: &str, expected: Value) {
        self.wait_until(script, |found| *found == expected, &expected.to_string()).await;
    }

    /// What a script returns now.
    pub async fn evaluate(&self, script: &str) -> Value {
        self.to_front().await;
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// What a script hands to its last argument, a function, when it is done.
    pub async fn evaluate_later(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.to_front().await;
        self.client.execute_async(script, arguments).await.unwrap()
    }

    async fn wait_until(&self, read: &str, is_it: impl Fn(&Value) -> bool, expected: &str) {
        self.to_front().await;
        let begin = Instant::now();
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            let found = self.client.execute(read, vec![]).await.unwrap();
            if is_it(&found) {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "there is {found:#} instead of {expected}");
        }
    }
}

const FOCUS: &str = "const { dataset, textContent } = document.activeElement;
    return dataset.testid === 'message' ? textContent : dataset.testid ?? textContent";

/// Lines are named by some of their words, other things by one.
fn is_named(focus: &Value, what: &str) -> bool {
    let focus = focus.as_str().unwrap_or_default();
    focus == what || (what.contains(' ') && focus.contains(what))
}

/// Where the line of the channel that holds this text is.
fn line_path(text: &str) -> String {
    let list = "//ol[@data-testid='messages']";
    format!("{list}/li[@data-testid='message'][contains(., {})]", json!(text))
}

#[derive(Debug)]
struct DevTools {
    command: String,
    parameters: Value,
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
