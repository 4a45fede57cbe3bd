//! The command `aizuchi demo`, from outside.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use aizuchi_harness::net::http;
use serde_json::Value;
use tempfile::TempDir;

/// The timeout of each step.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The interval between two polls of a page.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running demo. Its temporary files are in a folder of its test.
pub struct DemoProgram {
    child: Child,
    /// The base URL of the page, up to the port.
    pub base: String,
    /// The address that it printed.
    pub page: String,
    temporary: TempDir,
    http: reqwest::Client,
}

impl DemoProgram {
    pub fn start(arguments: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_aizuchi"))
            .arg("demo")
            .args(arguments)
            .current_dir(temporary.path())
            .env("TMPDIR", temporary.path())
            .env("LC_ALL", "C.UTF-8")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let page = first.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(page.starts_with("http://127.0.0.1:"), "{first:?}");
        let base = page.split("/?").next().unwrap().to_owned();
        Self { child, base, page, temporary, http: http() }
    }

    async fn view(&self) -> Value {
        let answer = self.http.get(format!("{}/page/view", self.base)).send().await.unwrap();
        answer.json::<Value>().await.unwrap()["view"].take()
    }

    /// Posts a message on the page, as the user whom it shows.
    async fn say(&self, text: &str) {
        let view = self.view().await;
        let place = |key: &str| view[key].as_str().unwrap().to_owned();
        let form = [("user", place("user")), ("channel", place("channel")), ("text", text.into())];
        let url = format!("{}/page/say", self.base);
        let answer = self.http.post(url).form(&form).send().await.unwrap();
        assert_eq!(answer.status(), 204, "{}", answer.text().await.unwrap());
    }

    /// Waits until the page shows messages like these.
    async fn expect(&self, what: &str, matches: impl Fn(&[Value]) -> bool) {
        let found = async {
            loop {
                let view = self.view().await;
                if matches(view["messages"].as_array().unwrap()) {
                    return;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let found = tokio::time::timeout(TIMEOUT, found).await;
        if found.is_err() {
            panic!("no {what}: {:#}", self.view().await);
        }
    }

    /// Stops it with SIGTERM. It leaves no files behind.
    pub fn stop(mut self) {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let left: Vec<_> = std::fs::read_dir(self.temporary.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for DemoProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn the_room_is_shown_without_a_trace() {
    let demo = DemoProgram::start(&["--language", "ja"]);
    assert!(demo.page.ends_with("/?demo"), "{}", demo.page);
    let page = demo.http.get(&demo.page).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("lang=\"ja\""), "{page}");
    // A page starts it, and all pages show it.
    let started = demo.http.post(format!("{}/api/demo", demo.base)).send().await.unwrap();
    let channel: Value = started.json().await.unwrap();
    assert_eq!(channel["name"], "demo");
    let channels = demo.http.get(format!("{}/api/channels", demo.base)).send().await.unwrap();
    let channels: Value = channels.json().await.unwrap();
    let ids = channels["channels"].as_array().unwrap().iter().map(|known| &known["id"]);
    assert!(ids.clone().any(|id| *id == channel["id"]), "{channels}");
    let skipped = demo.http.delete(format!("{}/api/demo", demo.base)).send().await.unwrap();
    assert_eq!(skipped.status(), 204);
    demo.stop();
}

#[tokio::test]
async fn a_stand_in_and_a_companion_run_together() {
    for platform in ["slack", "discord"] {
        let demo = DemoProgram::start(&[platform]);
        let is_by_bot = |message: &Value| message["is_bot"] == true;
        demo.expect("notice on joining", |messages| messages.iter().any(is_by_bot)).await;
        demo.say("@Aizuchi hello, are you here?").await;
        let is_answered = |messages: &[Value]| {
            let is_question =
                |message: &Value| message["source"] == "@Aizuchi hello, are you here?";
            let question = messages.iter().position(is_question);
            question.is_some_and(|question| messages[question..].iter().any(is_by_bot))
        };
        demo.expect("answer", is_answered).await;
        demo.say("/aizuchi help").await;
        let is_help = |message: &Value| {
            let text = message["text"].as_str().unwrap();
            message["kind"] == "ephemeral" && text.contains("why?")
        };
        demo.expect("answer to the command", |messages| messages.iter().any(is_help)).await;
        demo.stop();
    }
}

#[tokio::test]
async fn the_people_of_a_stand_in_have_names_of_its_language() {
    for platform in ["slack", "discord"] {
        for (language, name) in [("en", "Mio"), ("ja", "美緒")] {
            let demo = DemoProgram::start(&[platform, "--language", language]);
            let view = demo.view().await.to_string();
            assert!(view.contains(name), "{view}");
            demo.stop();
        }
    }
}

#[test]
fn a_config_is_refused_rather_than_ignored() {
    let output = Command::new(env!("CARGO_BIN_EXE_aizuchi"))
        .args(["--config", "config.yaml", "demo"])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let expected = "aizuchi: --config cannot be used with demo, which has its own settings\n";
    assert_eq!((output.status.code(), &*error), (Some(1), expected));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for platform in [&[][..], &["slack"], &["discord"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_aizuchi"))
            .args(["demo", "--port", &port])
            .args(platform)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.starts_with("aizuchi: ") && error.contains(&port), "{error}");
    }
}
