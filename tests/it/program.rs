//! Runs the real program as a process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use aizuchi_harness::net::http;
use aizuchi_harness::test_store::put_database;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a program's config and database, which survives restarts of the program.
pub struct Home {
    folder: TempDir,
}

/// The timeout of every wait for a state. A lease may expire or a post settle in the meantime, on a machine under many
/// times its load.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// The interval between polls, where there is nothing to subscribe to.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits before polling again where there is nothing to subscribe to. Without a pause, the test and the program would
/// each keep a processor busy.
pub async fn next_poll() {
    tokio::time::sleep(POLL_INTERVAL).await;
}

pub struct Program {
    child: Child,
    pub address: String,
    http: reqwest::Client,
}

impl Home {
    /// Creates a home. `wait` is the wait before a judgment, in seconds.
    pub fn new(wait: f64) -> Self {
        Self::on(0, wait)
    }

    /// Uses a port that stays the same across restarts.
    pub fn on(port: u16, wait: f64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "storage:\n  url: sqlite://{}\nhttp:\n  listen: 127.0.0.1:{port}\nresponse:\n  min_wait_seconds: {wait}\n  announce: false\n",
            folder.path().join("room.db").display(),
        );
        std::fs::write(folder.path().join("config.yaml"), config).unwrap();
        Self { folder }
    }

    /// Makes the bot announce itself in the channels that it joins.
    pub fn announce(&self) {
        let config = std::fs::read_to_string(self.config()).unwrap();
        let config = config.replace("  announce: false\n", "  announce: true\n");
        std::fs::write(self.config(), config).unwrap();
    }

    /// Adds sections to the config.
    pub fn add(&self, sections: &str) {
        let config = std::fs::read_to_string(self.config()).unwrap();
        std::fs::write(self.config(), config + sections).unwrap();
    }

    /// Replaces a part of the config.
    pub fn replace(&self, part: &str, by: &str) {
        let config = std::fs::read_to_string(self.config()).unwrap();
        assert!(config.contains(part), "{config}");
        std::fs::write(self.config(), config.replace(part, by)).unwrap();
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("log")).unwrap()
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }

    /// Returns the address of the health port in the config.
    pub fn health_address(&self) -> String {
        let config = std::fs::read_to_string(self.config()).unwrap();
        let (_, after) = config.split_once("health_check: {port: ").unwrap();
        format!("http://127.0.0.1:{}", after.split_once(',').unwrap().0)
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("room.db")
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn start(&self) -> Program {
        self.start_with(&[], &[])
    }

    pub fn start_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Program {
        let program = Command::new(env!("CARGO_BIN_EXE_aizuchi"));
        self.started(self.spawn(program, arguments, variables))
    }

    /// Starts the program with a limit of open files.
    pub fn start_with_files(&self, files: u64) -> Program {
        self.start_in_shell(&format!("ulimit -n {files}"))
    }

    /// Starts the program after a shell command that sets up its environment.
    pub fn start_in_shell(&self, command: &str) -> Program {
        let mut shell = Command::new("sh");
        let script = format!("{command} && exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_aizuchi")]);
        self.started(self.spawn(shell, &[], &[]))
    }

    fn started(&self, mut child: Child) -> Program {
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().rsplit(' ').next().unwrap().to_owned();
        let log = || std::fs::read_to_string(self.path().join("log")).unwrap_or_default();
        assert!(
            address.starts_with("http://"),
            "the first line names the address: {first:?}\n{}",
            log()
        );
        Program { child, address, http: http() }
    }

    /// Starts a program that may have to stand by for another one, and waits until it responds. The config contains its
    /// port.
    pub async fn start_beside(&self) -> Program {
        let config = std::fs::read_to_string(self.config()).unwrap();
        let listen = config.lines().find_map(|line| line.trim().strip_prefix("listen: ")).unwrap();
        let program = Program {
            child: self.spawn(Command::new(env!("CARGO_BIN_EXE_aizuchi")), &[], &[]),
            address: format!("http://{listen}"),
            http: http(),
        };
        let is_live = async {
            while program.http.get(format!("{}/live", program.address)).send().await.is_err() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(TIMEOUT, is_live).await.unwrap_or_else(|_| panic!("{}", self.log()));
        program
    }

    /// The first start finds a migrated database, unless the config names another file or a server.
    fn spawn(&self, mut program: Command, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
        let config = std::fs::read_to_string(self.config()).unwrap_or_default();
        let url = format!("url: sqlite://{}\n", self.database().display());
        if config.contains(&url) {
            put_database(&self.database());
        }
        program
            .arg("--config")
            .arg(self.config())
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(self.path())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(self.path().join("log")).unwrap())
            .spawn()
            .unwrap()
    }
}

impl Program {
    pub async fn get(&self, path: &str) -> Value {
        let answer = self.http.get(format!("{}{path}", self.address)).send().await.unwrap();
        answer.json().await.unwrap()
    }

    /// Polls a page of the API until it satisfies the condition, and returns it.
    pub async fn until(&self, path: &str, is_reached: impl Fn(&Value) -> bool) -> Value {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        parse(&self.until_text(path, |text| is_reached(&parse(text))).await)
    }

    /// Polls a page until its text satisfies the condition, and returns it.
    pub async fn until_text(&self, path: &str, is_reached: impl Fn(&str) -> bool) -> String {
        let mut page = String::new();
        let waiting = async {
            loop {
                page = self.request(path).await.text().await.unwrap();
                if is_reached(&page) {
                    return;
                }
                next_poll().await;
            }
        };
        let in_time = tokio::time::timeout(TIMEOUT, waiting).await;
        assert!(in_time.is_ok(), "{path} remains {page}");
        page
    }

    pub async fn request(&self, path: &str) -> reqwest::Response {
        self.http.get(format!("{}{path}", self.address)).send().await.unwrap()
    }

    /// From now on, the program cannot make any file longer than this. It must ignore the resulting signal.
    pub fn limit_file_size(&self, bytes: Option<u64>) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let limit = rustix::process::Rlimit { current: bytes, maximum: None };
        rustix::process::prlimit(Some(pid), rustix::process::Resource::Fsize, limit).unwrap();
    }

    /// Sends a request. Returns `None` if the connection ends before the response.
    pub async fn try_request(&self, path: &str) -> Option<reqwest::Response> {
        self.http.get(format!("{}{path}", self.address)).send().await.ok()
    }

    /// Opens a connection without sending a request.
    pub async fn connect(&self) -> tokio::net::TcpStream {
        let address = self.address.strip_prefix("http://").unwrap();
        tokio::net::TcpStream::connect(address).await.unwrap()
    }

    pub async fn post(&self, body: &Value) -> (u16, Value) {
        let request = self.http.post(format!("{}/api/messages", self.address)).json(body);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Sends any request with a JSON body, or none.
    pub async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method, format!("{}{path}", self.address));
        let request = if let Some(body) = body { request.json(body) } else { request };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let body = if status == 204 { Value::Null } else { answer.json().await.unwrap() };
        (status, body)
    }

    /// Posts a message to #general as a user, and returns its id.
    pub async fn says(&self, user: &str, text: &str) -> String {
        let body = json!({ "channel": "general", "user": user, "text": text });
        let (status, answer) = self.post(&body).await;
        assert_eq!(status, 201, "{answer}");
        answer["id"].as_str().unwrap().to_owned()
    }

    pub async fn messages(&self) -> Vec<Value> {
        self.get("/api/messages?channel=general").await["messages"].as_array().unwrap().clone()
    }

    /// Reads the stream of changes until one satisfies the condition.
    pub async fn wait_for(&self, after: u64, matches: impl Fn(&str, &Value) -> bool) -> Value {
        let found = tokio::time::timeout(TIMEOUT, self.read_events(after, matches)).await;
        found.expect("the change arrives in time")
    }

    async fn read_events(&self, after: u64, matches: impl Fn(&str, &Value) -> bool) -> Value {
        let url = format!("{}/events?after={after}", self.address);
        let mut chunks = self.http.get(url).send().await.unwrap().bytes_stream();
        let mut text = String::new();
        while let Some(chunk) = chunks.next().await {
            text.push_str(&String::from_utf8_lossy(&chunk.unwrap()));
            while let Some((event, rest)) = text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(kind), Some(data)) = (field("event: "), field("data: ")) {
                    let data: Value = serde_json::from_str(data).unwrap();
                    if matches(kind, &data) {
                        return data;
                    }
                }
                text = rest.to_owned();
            }
        }
        panic!("the stream ended early");
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-s", name, &id]).status().unwrap();
    }

    /// Stops the program with SIGTERM, as a service manager does, and returns its exit code.
    pub fn stop(mut self) -> Option<i32> {
        self.signal("TERM");
        self.child.wait().unwrap().code()
    }

    /// Waits until the program exits by itself, and returns its exit code.
    pub fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Kills the program.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
