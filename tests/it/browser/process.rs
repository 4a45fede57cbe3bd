//! Browser processes. Starting one takes longer than most tests, so the next test reuses it, after its tabs and the
//! storage of pages are cleared.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};

use fantoccini::wd::WindowHandle;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::browser::tab::DevTools;
use crate::program::TIMEOUT;

/// Starts chromedriver with its output on this one, and runs until its standard input is closed, which also happens if
/// the tests crash. Then it ends the browsers, too, which are in the driver's process group, and removes the profile
/// $1.
const SUPERVISE: &str = r#"
set -m
chromedriver --port=0 &
driver=$!
exec >/dev/null
read -r _
kill -KILL -- "-$driver"
wait "$driver"
rm -rf "$1"
"#;

/// The browser that chromedriver starts.
const BROWSER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/browser/headless_shell");

/// A later program may get the same port, and so be of the same origin. An empty tab has no storage.
const CLEAR_STORAGE: &str = "try { localStorage.clear(); } catch { }";

/// Test machines have no pointer, so the browser is told which kind to report to the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointer {
    Mouse,
    Touch,
}

/// The options that a browser is started with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BrowserKind {
    pub pointer: Pointer,
    /// The language of its user, as in `en-US`.
    pub language: String,
    /// Whether frames are drawn.
    pub is_drawn: bool,
}

/// The browsers that no test is using.
static IDLE: LazyLock<Mutex<HashMap<BrowserKind, Vec<BrowserProcess>>>> =
    LazyLock::new(Mutex::default);

/// The runtime of the connections to the drivers, because a test's own runtime ends with the test.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime starts")
});

/// A browser that ends when this is dropped.
pub struct BrowserProcess {
    pub client: Client,
    /// The tab that no test uses: a browser without tabs exits.
    first_tab: WindowHandle,
    supervisor: Child,
}

impl BrowserProcess {
    /// Takes an idle browser, or starts a new one.
    pub async fn take(kind: &BrowserKind) -> Self {
        let idle = IDLE.lock().unwrap().get_mut(kind).and_then(Vec::pop);
        match idle {
            Some(process) => process,
            None => Self::start(kind).await,
        }
    }

    /// Releases the browser for the next test.
    pub async fn release(self, kind: BrowserKind) {
        for tab in self.client.windows().await.unwrap() {
            if tab != self.first_tab {
                self.client.switch_to_window(tab).await.unwrap();
                self.client.execute(CLEAR_STORAGE, vec![]).await.unwrap();
                self.client.close_window().await.unwrap();
            }
        }
        self.client.switch_to_window(self.first_tab.clone()).await.unwrap();
        for command in ["Network.clearBrowserCookies", "Network.clearBrowserCache"] {
            self.client.issue_cmd(DevTools::new(command, json!({}))).await.unwrap();
        }
        IDLE.lock().unwrap().entry(kind).or_default().push(self);
    }

    async fn start(kind: &BrowserKind) -> Self {
        let profile = tempfile::tempdir().unwrap().keep();
        // chromedriver picks a free port, and fails if that port is taken in the other address family.
        let started = (0..10).find_map(|_| start_driver(&profile.display().to_string()));
        let (supervisor, port) = started.expect("chromedriver starts");
        let mut capabilities = serde_json::Map::new();
        let args = arguments(kind, &profile.display().to_string());
        let options = json!({ "args": args, "binary": BROWSER });
        capabilities.insert("goog:chromeOptions".to_owned(), options);
        // A script may take as long as any other wait for a state: axe-core looks at the whole of a long page.
        let timeouts = json!({ "script": TIMEOUT.as_secs() * 1000 });
        capabilities.insert("timeouts".to_owned(), timeouts);
        let connecting = RUNTIME.spawn(async move {
            ClientBuilder::new(HttpConnector::new())
                .capabilities(capabilities)
                .connect(&format!("http://127.0.0.1:{port}"))
                .await
        });
        let client = connecting.await.unwrap().unwrap();
        let first_tab = client.window().await.unwrap();
        Self { client, first_tab, supervisor }
    }
}

impl Drop for BrowserProcess {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

fn arguments(kind: &BrowserKind, profile: &str) -> Vec<String> {
    let pointer = match kind.pointer {
        Pointer::Mouse => {
            "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"
        }
        Pointer::Touch => {
            "primaryHoverType=1,availableHoverTypes=1,primaryPointerType=2,availablePointerTypes=2"
        }
    };
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-features=PreloadTopChromeWebUI,Translate,OptimizationHints,MediaRouter",
        "--window-size=1280,900",
    ];
    let own = [
        format!("--lang={}", kind.language),
        format!("--accept-lang={}", kind.language),
        format!("--user-data-dir={profile}"),
        format!("--blink-settings={pointer}"),
    ];
    // Frames are then drawn only when a client requests one, which none does.
    let undrawn = (!kind.is_drawn).then(|| "--enable-begin-frame-control".to_owned());
    fixed.map(str::to_owned).into_iter().chain(own).chain(undrawn).collect()
}

/// Starts chromedriver. Returns its supervisor and its port, or `None` if it exits immediately.
fn start_driver(profile: &str) -> Option<(Child, String)> {
    // In a process group of its own, it still cleans up after Ctrl-C ends the tests.
    let mut supervisor = Command::new("bash")
        .args(["-c", SUPERVISE, "bash", profile])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash starts");
    let mut lines = BufReader::new(supervisor.stdout.take().unwrap()).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let port = line.split_once("successfully on port ")?.1;
        Some(port.trim_end_matches('.').to_owned())
    });
    if port.is_none() {
        drop(supervisor.stdin.take());
        supervisor.wait().unwrap();
    }
    Some((supervisor, port?))
}
