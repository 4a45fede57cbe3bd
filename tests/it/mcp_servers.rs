//! The operator's MCP servers, on loopback and as processes: which of their tools are offered, and the outcome of calls
//! when they hang, flood and die.

mod busy;
mod restart;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aizuchi::mcp_servers::McpServers;
use aizuchi_agent::external_tools::{ExternalToolError, ExternalTools, ReplyPlace};
use aizuchi_agent::metrics::Metrics;
use aizuchi_config::Config;
use aizuchi_config::mcp::{McpServerConfig, ServerName};
use aizuchi_config::secret::Secret;
use aizuchi_config::values::{BoundedInteger, WebUrl};
use aizuchi_model::chat::{ChannelId, Visibility};
use aizuchi_model::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::command::aizuchi;
use crate::program::Home;

/// The poll interval, where there is nothing to subscribe to.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server that misbehaves.
#[derive(Clone, Default)]
struct Nursery {
    /// Notified when a call hangs.
    hangs: Arc<Notify>,
    has_more: Arc<AtomicBool>,
}

impl ServerHandler for Nursery {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &'static str| {
            Tool::new(name, "does something", Map::new())
                .with_annotations(ToolAnnotations::new().read_only(name != "plant"))
        };
        let more = self.has_more.load(Ordering::SeqCst).then_some("prune");
        let names = ["find", "hang", "flood", "fail", "plant"].into_iter().chain(more);
        Ok(ListToolsResult::with_all_items(names.map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let parts = context.extensions.get::<axum::http::request::Parts>().unwrap();
        let key = parts.headers["x-key"].to_str().unwrap();
        let text = match &*request.name {
            "find" => format!("{key} {}", json!(request.arguments)),
            "flood" => "茶".repeat(1_000_000),
            "hang" => {
                self.hangs.notify_one();
                pending().await
            }
            name => return Err(ErrorData::invalid_params(format!("{name} is not for you"), None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// Starts the server, and returns its address.
async fn serve(nursery: Nursery) -> String {
    let sessions = Arc::new(NeverSessionManager::default());
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let service = StreamableHttpService::new(move || Ok(nursery.clone()), sessions, config);
    let router = axum::Router::new().route("/mcp", axum::routing::post_service(service));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

/// Servers that run until the token is cancelled.
struct Running {
    servers: Arc<McpServers>,
    clock: Clock,
    metrics: Arc<Metrics>,
    shutdown: CancellationToken,
    task: tokio::task::JoinHandle<anyhow::Result<()>>,
}

impl Running {
    fn new(name: &str, server: McpServerConfig) -> Self {
        let mut config = Config::default();
        config.tools.mcp.servers.insert(ServerName(name.to_owned()), server);
        let clock = Clock::manual(Timestamp::from_second(1_800_000_000).unwrap());
        let (metrics, shutdown) = (Arc::new(Metrics::default()), CancellationToken::new());
        let servers = Arc::new(McpServers::new(&config, &clock, &metrics).unwrap());
        let (running, stop) = (servers.clone(), shutdown.clone());
        let task = tokio::spawn(async move { running.run(stop).await });
        Self { servers, clock, metrics, shutdown, task }
    }

    fn offered(&self) -> Vec<String> {
        let channel = ChannelId::new("C1");
        let place = ReplyPlace {
            channel: &channel,
            channel_name: "garden",
            visibility: Visibility::Public,
        };
        self.servers.offered(place).iter().map(|tool| tool.name.to_string()).collect()
    }

    /// Waits until these tools are offered. Meanwhile the servers' clock stands still.
    async fn until_offered(&self, expected: &[&str]) {
        let is_offered = async {
            while self.offered() != expected {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let in_time = tokio::time::timeout(TIMEOUT, is_offered).await;
        assert!(in_time.is_ok(), "offered is {:?}", self.offered());
    }

    fn pass(&self, seconds: i64) {
        self.clock.advance_to(self.clock.now() + SignedDuration::from_secs(seconds));
    }

    async fn call(&self, name: &str) -> Result<(String, bool, bool), ExternalToolError> {
        let arguments = Map::from_iter([("plant".to_owned(), json!("rose"))]);
        let answer = self.servers.call(name, arguments).await?;
        Ok((answer.text, answer.is_cut, answer.is_failure))
    }
}

#[tokio::test]
async fn a_server_over_http_is_used_within_its_limits() {
    let nursery = Nursery::default();
    let server = McpServerConfig {
        url: Some(WebUrl(serve(nursery.clone()).await)),
        headers: [("X-Key".to_owned(), Secret::new("sesame"))].into(),
        timeout_seconds: BoundedInteger(30),
        max_output_chars: BoundedInteger(100),
        ..McpServerConfig::default()
    };
    let running = Running::new("nursery", server);
    let tools = ["nursery__find", "nursery__hang", "nursery__flood", "nursery__fail"];
    running.until_offered(&tools).await;
    let found = (r#"sesame {"plant":"rose"}"#.to_owned(), false, false);
    assert_eq!(running.call("nursery__find").await, Ok(found));
    assert_eq!(running.call("nursery__flood").await, Ok(("茶".repeat(100), true, false)));
    let refused = ("fail is not for you".to_owned(), false, true);
    assert_eq!(running.call("nursery__fail").await, Ok(refused));
    // A writing tool that is not named in the config cannot be called.
    assert_eq!(running.call("nursery__plant").await, Err(ExternalToolError::NotSent));
    // Added tools are discovered after a failed call …
    nursery.has_more.store(true, Ordering::SeqCst);
    let (hung, ()) = futures_util::future::join(running.call("nursery__hang"), async {
        nursery.hangs.notified().await;
        running.pass(30);
    })
    .await;
    assert_eq!(hung, Err(ExternalToolError::TimedOut));
    // The other tools still work.
    assert!(running.call("nursery__find").await.is_ok());
    running.until_offered(&[&tools[..], &["nursery__prune"]].concat()).await;

    // … and removed tools after a while.
    nursery.has_more.store(false, Ordering::SeqCst);
    running.pass(300);
    running.until_offered(&tools).await;
    let figures = running.metrics.to_openmetrics(None);
    for figure in [
        r#"aizuchi_external_tool_calls_total{server="nursery",end="answered"} 3"#,
        r#"aizuchi_external_tool_calls_total{server="nursery",end="failed"} 1"#,
        r#"aizuchi_external_tool_calls_total{server="nursery",end="timed_out"} 1"#,
    ] {
        assert!(figures.contains(figure), "{figure}\n{figures}");
    }
}

/// A server that returns its environment, and exits on demand.
const PROGRAM: &str = r#"
import json, os, sys
def tool(name):
    hints = {"readOnlyHint": True}
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": hints}
for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {})
    if "id" not in request:
        continue
    if method == "initialize":
        info = {"name": "garden", "version": "1"}
        version = params["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [tool("look"), tool("die")]}
    elif method == "tools/call" and params["name"] == "die":
        sys.exit(3)
    else:
        result = {"content": [{"type": "text", "text": " ".join(sorted(os.environ))}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
open(os.environ["END"], "w").close()
"#;

#[tokio::test]
async fn a_program_is_started_again_after_it_has_died_and_ended_with_us() {
    let folder = tempfile::tempdir().unwrap();
    let end = folder.path().join("end");
    let server = McpServerConfig {
        command: Some("python3".to_owned()),
        args: vec!["-c".to_owned(), PROGRAM.to_owned()],
        env: [("END".to_owned(), Secret::new(end.to_str().unwrap()))].into(),
        ..McpServerConfig::default()
    };
    let running = Running::new("garden", server);
    running.until_offered(&["garden__look", "garden__die"]).await;
    let (environment, ..) = running.call("garden__look").await.unwrap();
    let names: Vec<&str> = environment.split(' ').collect();
    // It has the variables that were configured, and none of ours that could contain a key.
    assert!(names.contains(&"END") && names.contains(&"PATH"), "{environment}");
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{environment}");

    assert_eq!(running.call("garden__die").await, Err(ExternalToolError::Unavailable));
    assert!(!end.exists());
    running.until_offered(&[]).await;
    assert_eq!(running.call("garden__look").await, Err(ExternalToolError::NotSent));
    running.pass(2);
    running.until_offered(&["garden__look", "garden__die"]).await;
    assert!(running.call("garden__look").await.is_ok());

    running.shutdown.cancel();
    running.task.await.unwrap().unwrap();
    // Its input was closed, so it exited by itself.
    assert!(end.exists());
}

/// Killing a program also kills the processes that it has started.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_children_of_a_program_end_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let noted = folder.path().join("child");
    let server = McpServerConfig {
        command: Some("sh".to_owned()),
        args: ["-c", "sleep 1000 & echo $! > \"$NOTED\"; wait"].map(str::to_owned).to_vec(),
        env: [("NOTED".to_owned(), Secret::new(noted.to_str().unwrap()))].into(),
        ..McpServerConfig::default()
    };
    let running = Running::new("garden", server);
    let child = async {
        loop {
            match std::fs::read_to_string(&noted).unwrap_or_default().trim().parse::<u32>() {
                Ok(child) => break child,
                Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    };
    let child = tokio::time::timeout(TIMEOUT, child).await.unwrap();
    // Its parent may not have reaped it.
    let is_alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    assert!(is_alive());
    running.shutdown.cancel();
    running.task.await.unwrap().unwrap();
    let has_ended = async {
        while is_alive() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, has_ended).await.is_ok());
}

#[tokio::test]
async fn a_check_tells_of_each_server_and_the_program_connects_to_it() {
    let (served, home) = (Home::new(1000.0), Home::new(1000.0));
    // Another Aizuchi can be used as a server like any other.
    let server = served.start();
    let url = format!("{}/mcp", server.address);
    let sections = format!(
        "tools:\n  mcp:\n    servers:\n      archive: {{url: \"{url}\"}}\n      lost: {{command: ./no-such-program}}\n      \
         narrow: {{url: \"{url}\", tools: [why, ask]}}\n      off: {{enabled: false, url: \"{url}\"}}\n"
    );
    home.add(&sections);
    let run = aizuchi().arg("--config").arg(home.config()).arg("check").assert().code(1);
    let report = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    let lines: Vec<&str> = report.lines().filter(|line| line.contains("  mcp  ")).collect();
    let [archive, lost, narrow] = &lines[..] else { panic!("{report}") };
    let all = "archive: it answers, and has search_messages, recall, why, decisions, status";
    assert_eq!(*archive, format!("ok    mcp       {all}"));
    assert!(lost.starts_with("FAIL  mcp       lost: the program cannot be started: "), "{lost}");
    let some = "narrow: it answers, and has why; not named in tools: search_messages, recall, decisions, status; tools or \
                without_consent names some that it does not have: ask";
    assert_eq!(*narrow, format!("FAIL  mcp       {some}"));

    // None of them delays the start.
    let program = home.start();
    program.says("alice", "the roses bloom").await;
    let is_connected = async {
        while home.log().matches("an MCP server is connected").count() < 2 {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let in_time = tokio::time::timeout(TIMEOUT, is_connected).await;
    assert!(in_time.is_ok(), "{}", home.log());
    home.until_log("an MCP server is not connected; trying again").await;
    assert_eq!(program.stop(), Some(0));
    assert_eq!(server.stop(), Some(0));
}
