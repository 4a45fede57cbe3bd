//! The operator's servers of the Model Context Protocol, whose tools replies may use. Each is connected in the
//! background and reconnected when it is gone; a failed call triggers a check of the connection. No reply waits for a
//! server longer than that server's time limit.

pub mod tool_list;
mod answer;
pub mod connection;

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use aizuchi_agent::external_tools::{
    ExternalAnswer, ExternalTool, ExternalToolError, ExternalTools, ReplyPlace,
};
use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::metrics::labels::ExternalCallEnd;
use aizuchi_config::Config;
use aizuchi_config::mcp::McpServerConfig;
use aizuchi_model::clock::Clock;
use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::SignedDuration;
use parking_lot::RwLock;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ErrorData};
use rmcp::service::{Peer, ServiceError};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::mcp_servers::connection::{ConnectError, McpConnector};
use crate::mcp_servers::tool_list::{AllowedTool, ToolList};

/// How often tools are listed again, for servers that do not announce changes.
const RELIST_INTERVAL: SignedDuration = SignedDuration::from_mins(5);
/// The minimum time between two listings, however often a server announces changes.
const SHORTEST_RELIST_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// The first and the longest wait before reconnecting to a server.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(2);
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(5);
/// The minimum time that a server gets to start and to answer for the first time: a program may have to be loaded
/// first.
const START_LIMIT: SignedDuration = SignedDuration::from_mins(1);
/// How long a server may take to shut down: its input is closed first, and in the end it is killed.
const STOP_LIMIT: SignedDuration = SignedDuration::from_secs(8);

/// All enabled servers.
pub struct McpServers {
    servers: Vec<McpServer>,
}

/// A server, connected or not.
struct McpServer {
    name: String,
    config: McpServerConfig,
    connector: McpConnector,
    clock: Clock,
    metrics: Arc<Metrics>,
    /// Notified when the server announces that its tools have changed, and when a call shows that it may have lost our
    /// session.
    changed: Arc<Notify>,
    current: RwLock<Connected>,
}

/// The state of a server while it is connected.
#[derive(Default)]
struct Connected {
    peer: Option<Peer<RoleClient>>,
    tools: Vec<AllowedTool>,
}

impl McpServers {
    /// Returns `None` if no server is enabled.
    pub fn new(config: &Config, clock: &Clock, metrics: &Arc<Metrics>) -> Option<Self> {
        let servers = config.tools.mcp.used().map(|(name, server)| {
            let changed = Arc::new(Notify::new());
            McpServer {
                name: name.to_owned(),
                config: server.clone(),
                connector: McpConnector::new(server, &config.folder, changed.clone()),
                clock: clock.clone(),
                metrics: metrics.clone(),
                changed,
                current: RwLock::default(),
            }
        });
        let servers: Vec<McpServer> = servers.collect();
        (!servers.is_empty()).then_some(Self { servers })
    }

    /// Keeps the servers connected until `shutdown`, then stops the programs that were started here.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let mut running = Vec::new();
        for server in &self.servers {
            running.push(server.run(&shutdown));
        }
        join_all(running).await;
        Ok(())
    }
}

#[async_trait]
impl ExternalTools for McpServers {
    fn offered(&self, place: ReplyPlace<'_>) -> Vec<ExternalTool> {
        let servers = self.servers.iter().filter(|server| server.config.is_for(place));
        servers.flat_map(McpServer::offered).collect()
    }

    fn is_lent(&self, name: &str, place: ReplyPlace<'_>) -> bool {
        let mut servers = self.servers.iter().filter(|server| server.config.is_for(place));
        servers.any(|server| server.may_have(name))
    }

    async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ExternalAnswer, ExternalToolError> {
        let mut servers = self.servers.iter();
        let found = servers.find_map(|server| Some((server, server.find(name)?)));
        // A server that is gone no longer offers its tools.
        let (server, (peer, tool)) = found.ok_or(ExternalToolError::NotSent)?;
        server.call(&peer, tool, arguments).await
    }
}

/// Connects to a server once, and describes which of its tools may be used.
pub async fn check(name: &str, config: &McpServerConfig, folder: &Path) -> Result<String, String> {
    let look = async {
        let mut connection = McpConnector::new(config, folder, Arc::default()).connect().await?;
        let tools = connection::list_tools(connection.peer()).await;
        // Kills a process that does not exit by itself.
        let _ = connection.close_with_timeout(STOP_LIMIT.unsigned_abs()).await;
        Ok::<_, ConnectError>(ToolList::new(name, tools?, config))
    };
    let limit = START_LIMIT.max(config.time_limit());
    let looked = Clock::system().timeout(limit, look).await;
    let list = looked.unwrap_or(Err(ConnectError::TimedOut));
    let list = list.map_err(|error| format!("{name}: {error}"))?;
    let described = format!("{name}: {}", list.describe());
    if list.missing.is_empty() { Ok(described) } else { Err(described) }
}

impl McpServer {
    fn offered(&self) -> Vec<ExternalTool> {
        self.current.read().tools.iter().map(|tool| tool.offered.clone()).collect()
    }

    /// Whether a tool may be one of this server's. While it is not connected, its tools are unknown.
    fn may_have(&self, name: &str) -> bool {
        let current = self.current.read();
        let is_its = name.strip_prefix(&*self.name).is_some_and(|rest| rest.starts_with("__"));
        let is_listed = || current.tools.iter().any(|tool| *tool.offered.name == *name);
        is_its && (current.peer.is_none() || is_listed())
    }

    /// The connection, and the server's own name of the tool that is offered under this name.
    fn find(&self, name: &str) -> Option<(Peer<RoleClient>, String)> {
        let current = self.current.read();
        let tool = current.tools.iter().find(|tool| *tool.offered.name == *name)?;
        Some((current.peer.clone()?, tool.name.clone()))
    }

    async fn call(
        &self,
        peer: &Peer<RoleClient>,
        tool: String,
        arguments: Map<String, Value>,
    ) -> Result<ExternalAnswer, ExternalToolError> {
        let most = usize::try_from(self.config.max_output_chars.0).unwrap_or(usize::MAX);
        let request = CallToolRequestParams::new(tool.clone()).with_arguments(arguments);
        let called = self.clock.timeout(self.config.time_limit(), peer.call_tool(request)).await;
        let is_refused = matches!(called, Ok(Err(_)));
        let answer = match called {
            Ok(Ok(result)) => Ok(answer::read(result, most)),
            Ok(Err(ServiceError::McpError(ErrorData { message, .. }))) => {
                Ok(ExternalAnswer { is_failure: true, ..answer::shorten(&message, most) })
            }
            Ok(Err(_)) => Err(ExternalToolError::Unavailable),
            Err(_timed_out) => Err(ExternalToolError::TimedOut),
        };
        let end = match &answer {
            Ok(answer) if answer.is_failure => ExternalCallEnd::Failed,
            Ok(_) => ExternalCallEnd::Answered,
            Err(ExternalToolError::TimedOut) => ExternalCallEnd::TimedOut,
            Err(ExternalToolError::Unavailable | ExternalToolError::NotSent) => {
                ExternalCallEnd::Unavailable
            }
        };
        self.metrics.record_external_call(&self.name, end);
        if is_refused || (answer.is_err() && self.may_forget()) {
            self.changed.notify_one();
        }
        // A server's error message may repeat the arguments.
        if end != ExternalCallEnd::Answered {
            warn!(server = %self.name, tool, end = end.name(), "a tool of an MCP server did not do its work");
        }
        answer
    }

    /// Whether the server may have restarted unnoticed and lost the session without ever saying so. It then fails to
    /// list its tools, too. A program that was started here cannot: if it were asked for its tools while it is still
    /// busy with a call that has timed out, it might not answer and would be killed in the middle of its work.
    fn may_forget(&self) -> bool {
        self.config.url.is_some()
    }

    /// Stays connected until `shutdown`.
    async fn run(&self, shutdown: &CancellationToken) {
        let mut wait = FIRST_WAIT;
        loop {
            let began = self.clock.now();
            let ended = self.stay_connected(shutdown).await;
            *self.current.write() = Connected::default();
            let Err(error) = ended else { return };
            // Reset the backoff after a connection that has lasted for a while.
            if self.clock.now().duration_since(began) > LONGEST_WAIT {
                wait = FIRST_WAIT;
            }
            warn!(server = %self.name, error = %error, wait = ?wait, "an MCP server is not connected; trying again");
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = self.clock.sleep_until(self.clock.now() + wait) => {}
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Connects, and lists the tools whenever they may have changed. Returns at `shutdown`, or with the reason why the
    /// connection is lost.
    async fn stay_connected(&self, shutdown: &CancellationToken) -> Result<(), ConnectError> {
        let start_limit = START_LIMIT.max(self.config.time_limit());
        let connecting = self.clock.timeout(start_limit, self.connector.connect());
        let connected = tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            connected = connecting => connected,
        };
        let connection = connected.map_err(|_timed_out| ConnectError::TimedOut)??;
        let (peer, stop) = (connection.peer().clone(), connection.cancellation_token());
        let mut end = pin!(connection.waiting());
        let ended = loop {
            let earliest = self.clock.now() + SHORTEST_RELIST_INTERVAL;
            tokio::select! {
                () = shutdown.cancelled() => break Ok(()),
                _ = &mut end => return Err(ConnectError::Gone),
                listed = self.list(&peer) => if let Err(error) = listed {
                    break Err(error);
                },
            }
            tokio::select! {
                () = shutdown.cancelled() => break Ok(()),
                _ = &mut end => return Err(ConnectError::Gone),
                () = self.changed.notified() => {}
                () = self.clock.sleep_until(self.clock.now() + RELIST_INTERVAL) => {}
            }
            tokio::select! {
                () = shutdown.cancelled() => break Ok(()),
                _ = &mut end => return Err(ConnectError::Gone),
                () = self.clock.sleep_until(earliest) => {}
            }
        };
        stop.cancel();
        // Kills a process that does not exit by itself.
        let _ = self.clock.timeout(STOP_LIMIT, end).await;
        ended
    }

    /// Lists the tools again.
    async fn list(&self, peer: &Peer<RoleClient>) -> Result<(), ConnectError> {
        let listing = connection::list_tools(peer);
        let listed = self.clock.timeout(self.config.time_limit(), listing).await;
        let tools = listed.map_err(|_timed_out| ConnectError::TimedOut)??;
        let list = ToolList::new(&self.name, tools, &self.config);
        let mut current = self.current.write();
        let is_new = current.peer.is_none() || current.tools != list.allowed;
        if is_new {
            let (offered, left_out) = (list.allowed.len(), list.left_out.len());
            info!(server = %self.name, offered, left_out, "an MCP server is connected");
        }
        *current = Connected { peer: Some(peer.clone()), tools: list.allowed };
        Ok(())
    }
}
