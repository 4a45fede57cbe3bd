//! The local room in a real browser: with a mouse, a keyboard, an input method, and on a phone.

mod accessibility;
mod backfill;
mod chat;
mod composition;
mod console;
mod demo;
mod history;
mod keyboard;
mod languages;
mod messages;
mod models;
mod modes;
mod narrow;
mod reactions;
mod stand_in;
mod tab;
mod threads;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use tempfile::TempDir;

use crate::browser::tab::Tab;
use crate::program::Program;

/// Test machines have no pointer, so the browser is told which kind to report to the page.
const MOUSE: &str = "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4";
const TOUCH: &str = "--blink-settings=primaryHoverType=1,availableHoverTypes=1,primaryPointerType=2,availablePointerTypes=2";

/// A browser with its own profile. It ends with the test.
pub struct Browser {
    pub client: Client,
    driver: Child,
    _profile: TempDir,
}

impl Browser {
    /// Starts with a wide window and a mouse, for a reader of English.
    pub async fn start() -> Self {
        Self::start_with(MOUSE, "en-US").await
    }

    /// Starts for a reader of another language.
    async fn start_in(language: &str) -> Self {
        Self::start_with(MOUSE, language).await
    }

    /// Starts with a touch screen.
    pub async fn start_touched() -> Self {
        Self::start_touched_in("en-US").await
    }

    async fn start_touched_in(language: &str) -> Self {
        Self::start_with(TOUCH, language).await
    }

    async fn start_with(pointer: &str, language: &str) -> Self {
        // chromedriver picks a free port, and fails if that port is taken in the other address family.
        let (driver, port) = (0..10).find_map(|_| start_driver()).expect("chromedriver starts");
        let profile = tempfile::tempdir().unwrap();
        let folder = format!("--user-data-dir={}", profile.path().display());
        let lang = format!("--lang={language}");
        let accepted = format!("--accept-lang={language}");
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--window-size=1280,900",
            &lang,
            &accepted,
            &folder,
            pointer,
        ];
        let mut capabilities = serde_json::Map::new();
        capabilities.insert("goog:chromeOptions".to_owned(), json!({ "args": args }));
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Self { client, driver, _profile: profile }
    }

    /// An empty tab.
    async fn blank(&self) -> Tab {
        Tab::open(&self.client).await
    }

    /// A tab with the local room, in which a user has entered this name.
    async fn tab(&self, program: &Program, name: &str) -> Tab {
        let tab = self.blank().await;
        tab.enter(program, name).await;
        tab
    }

    pub async fn close(self) {
        self.client.clone().close().await.unwrap();
    }
}

/// Starts chromedriver. Returns the process and its port, or `None` if it ends at once.
fn start_driver() -> Option<(Child, String)> {
    // In its own process group, so that the browsers that it starts can be killed with it.
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("scripts/test installs chromedriver");
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.map_while(Result::ok).find_map(|line| {
        let port = line.split_once("successfully on port ")?.1;
        Some(port.trim_end_matches('.').to_owned())
    });
    if port.is_none() {
        driver.wait().unwrap();
    }
    Some((driver, port?))
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = format!("-{}", self.driver.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.driver.wait();
    }
}
