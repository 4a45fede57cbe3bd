//! The room in a real browser: two people in two tabs, a reload, a server that restarts.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::key::Key;
use fantoccini::wd::WindowHandle;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::program::{Home, free_port};

/// How long the page may take for anything. Nothing waits longer than it must.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn two_tabs_talk_and_the_persona_answers() {
    let home = Home::on(free_port(), 0.5);
    let mut room = home.start();
    let browser = Browser::open().await;
    let alice = browser.tab(&room.address, "alice").await;
    let bob = browser.tab(&room.address, "bob").await;

    // One tab holds the stream, the other waits for its place.
    assert_eq!(browser.locks().await, json!([1, 1]));

    browser.says(&alice, "good morning everybody").await;
    browser.sees(&bob, &["good morning everybody"]).await;
    // The silence and its reason stand beside the line.
    browser.finds(&bob, "silence").await;
    browser.says(&bob, "@Aizuchi are you there?").await;
    let answer = "nothing that was said here answers that";
    browser.sees(&alice, &["good morning everybody", "@Aizuchi are you there?", answer]).await;

    browser.to(&alice).await;
    browser.client.refresh().await.unwrap();
    browser.sees(&alice, &["good morning everybody", "@Aizuchi are you there?", answer]).await;

    room.kill();
    browser.connection(&alice, "reconnecting").await;
    room = home.start();
    browser.connection(&alice, "live").await;
    room.says("carol", "I am new here").await;
    let all = ["good morning everybody", "@Aizuchi are you there?", answer, "I am new here"];
    browser.sees(&alice, &all).await;
    browser.sees(&bob, &all).await;
    browser.says(&bob, "welcome, carol").await;
    browser.sees(&alice, &[&all[..], &["welcome, carol"]].concat()).await;
    browser.close().await;
}

struct Browser {
    client: Client,
    driver: Child,
}

impl Browser {
    async fn open() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("scripts/test installs chromedriver");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let port = line.split_once("successfully on port ")?.1;
            Some(port.trim_end_matches('.').to_owned())
        });
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
        ];
        let mut capabilities = serde_json::Map::new();
        capabilities.insert("goog:chromeOptions".to_owned(), json!({ "args": args }));
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{}", port.unwrap()))
            .await
            .unwrap();
        Self { client, driver }
    }

    /// Opens the room in a tab of its own and gives it a name.
    async fn tab(&self, address: &str, name: &str) -> WindowHandle {
        let tab = self.client.new_window(true).await.unwrap().handle;
        self.to(&tab).await;
        self.client.goto(address).await.unwrap();
        self.field("name-input").await.send_keys(name).await.unwrap();
        self.field("name-save").await.click().await.unwrap();
        self.connection(&tab, "live").await;
        tab
    }

    async fn to(&self, tab: &WindowHandle) {
        self.client.switch_to_window(tab.clone()).await.unwrap();
    }

    async fn says(&self, tab: &WindowHandle, text: &str) {
        self.to(tab).await;
        let composer = self.field("composer").await;
        composer.send_keys(text).await.unwrap();
        composer.send_keys(&Key::Enter.to_string()).await.unwrap();
    }

    /// Waits until the tab shows these lines, in this order, and no others.
    async fn sees(&self, tab: &WindowHandle, expected: &[&str]) {
        self.to(tab).await;
        let is_shown = |lines: &[String]| {
            lines.len() == expected.len()
                && lines.iter().zip(expected).all(|(line, part)| line.contains(part))
        };
        let read =
            "return [...document.querySelectorAll('[data-testid=messages] [data-testid=message]')]
            .map((line) => line.textContent)";
        let mut lines = Vec::new();
        let begin = std::time::Instant::now();
        while begin.elapsed() < PATIENCE {
            let found: Value = self.client.execute(read, vec![]).await.unwrap();
            lines = serde_json::from_value(found).unwrap();
            if is_shown(&lines) {
                return;
            }
        }
        panic!("the tab shows {lines:#?} instead of {expected:#?}");
    }

    /// How many tabs hold the stream, and how many wait for it.
    async fn locks(&self) -> Value {
        let read = "const done = arguments[0];
            navigator.locks.query().then(({ held, pending }) => done([held.length, pending.length]))";
        self.client.execute_async(read, vec![]).await.unwrap()
    }

    async fn finds(&self, tab: &WindowHandle, what: &str) {
        self.to(tab).await;
        self.field(what).await;
    }

    async fn connection(&self, tab: &WindowHandle, state: &str) {
        self.to(tab).await;
        let here = format!("[data-testid=connection][data-state={state}]");
        let wait = self.client.wait().at_most(PATIENCE);
        wait.for_element(Locator::Css(&here)).await.unwrap();
    }

    async fn field(&self, what: &str) -> fantoccini::elements::Element {
        let here = format!("[data-testid={what}]");
        let wait = self.client.wait().at_most(PATIENCE);
        wait.for_element(Locator::Css(&here)).await.unwrap()
    }

    async fn close(self) {
        self.client.clone().close().await.unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
