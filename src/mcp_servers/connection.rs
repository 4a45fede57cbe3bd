//! One connection to a server: started or reached, and initialized.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use aizuchi_config::mcp::McpServerConfig;
use aizuchi_config::values::WebUrl;
use aizuchi_llm::provider::http_client;
use jiff::SignedDuration;
use process_wrap::tokio::CommandWrap;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, PaginatedRequestParams, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, Peer, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, RoleClient, serve_client_with_lifecycle};
use tokio::process::Command;
use tokio::sync::Notify;

/// The environment variables that a program inherits besides its configured ones. Others may hold keys.
const PASSED_ON: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
const CONNECT_TIMEOUT: SignedDuration = SignedDuration::from_secs(10);
/// The maximum size of a server's message, in bytes.
const MAX_MESSAGE_BYTES: usize = 8 << 20;
/// The maximum number of pages of a list that are requested.
const MAX_PAGES: usize = 20;

/// A connection that is open.
pub type McpConnection = RunningService<RoleClient, Listener>;

/// Connects to one server.
pub struct McpConnector {
    config: McpServerConfig,
    /// The working directory of a program.
    folder: PathBuf,
    listener: Listener,
}

/// Our side of a connection. Offers the server nothing, and notifies when its tools change.
#[derive(Clone)]
pub struct Listener {
    changed: Arc<Notify>,
}

/// Why there is no connection. Contains nothing that the server has sent.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("neither a command nor a url is set")]
    NothingNamed,
    #[error("the program cannot be started: {0}")]
    NotStarted(std::io::Error),
    #[error("no HTTP client can be made: {0}")]
    NoClient(String),
    #[error("a header cannot be sent")]
    Header,
    #[error("no answer in time")]
    TimedOut,
    #[error("it cannot be reached")]
    Unreachable,
    #[error("it refuses access; see headers")]
    AccessRefused,
    #[error("it does not speak the Model Context Protocol as we do")]
    NotUnderstood,
    #[error("it does not list its tools")]
    NoTools,
    #[error("it has ended, or closed the connection")]
    Gone,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("aizuchi", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

impl McpConnector {
    /// `changed` is notified when the server announces that its tools have changed.
    pub fn new(config: &McpServerConfig, folder: &Path, changed: Arc<Notify>) -> Self {
        let (config, folder) = (config.clone(), folder.to_owned());
        Self { config, folder, listener: Listener { changed } }
    }

    /// Initializes the connection as most servers expect, or else as servers do that know only the newest revision of
    /// the protocol.
    pub async fn connect(&self) -> Result<McpConnection, ConnectError> {
        match self.greet(ClientLifecycleMode::Initialize).await {
            Err(ConnectError::NotUnderstood) => {
                let preferred_versions = vec![ProtocolVersion::LATEST];
                self.greet(ClientLifecycleMode::Discover { preferred_versions }).await
            }
            connected => connected,
        }
    }

    async fn greet(&self, how: ClientLifecycleMode) -> Result<McpConnection, ConnectError> {
        let listener = self.listener.clone();
        let connected = match (&self.config.command, &self.config.url) {
            (Some(command), _) => {
                let program = self.start(command).map_err(ConnectError::NotStarted)?;
                serve_client_with_lifecycle(listener, program, how).await
            }
            (None, Some(url)) => {
                let transport = self.transport(url)?;
                serve_client_with_lifecycle(listener, transport, how).await
            }
            (None, None) => return Err(ConnectError::NothingNamed),
        };
        connected.map_err(ConnectError::from)
    }

    fn start(&self, program: &str) -> std::io::Result<TokioChildProcess> {
        let mut command = Command::new(program);
        command.args(&self.config.args).env_clear();
        let passed_on = PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        command.envs(passed_on);
        command.envs(self.config.env.iter().map(|(name, value)| (name, value.expose())));
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        command.kill_on_drop(true);
        let mut command = CommandWrap::from(command);
        // A Ctrl-C in the terminal must only reach us: we shut the program down properly, with every process that it
        // has started. If we are killed, its input is closed and it ends, too.
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        // The program's stderr may repeat the arguments of calls.
        let (program, _) = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn()?;
        Ok(program)
    }

    fn transport(
        &self,
        url: &WebUrl,
    ) -> Result<StreamableHttpClientTransport<reqwest::Client>, ConnectError> {
        let client = http_client(CONNECT_TIMEOUT)
            .map_err(|error| ConnectError::NoClient(format!("{error:#}")))?;
        let mut headers = HashMap::new();
        for (name, value) in &self.config.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ConnectError::Header)?;
            let mut value =
                HeaderValue::from_str(value.expose()).map_err(|_| ConnectError::Header)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let config = StreamableHttpClientTransportConfig::with_uri(url.0.as_str())
            .custom_headers(headers)
            .max_json_response_size(MAX_MESSAGE_BYTES)
            .max_sse_event_size(MAX_MESSAGE_BYTES);
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }
}

/// All tools of a server.
pub async fn list_tools(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ConnectError> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(params)).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}

impl From<ClientInitializeError> for ConnectError {
    fn from(error: ClientInitializeError) -> Self {
        if error.is_authorization_required() {
            return ConnectError::AccessRefused;
        }
        match error {
            ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
                ConnectError::Gone
            }
            ClientInitializeError::TransportError { .. } => ConnectError::Unreachable,
            // The library may add more reasons.
            _ => ConnectError::NotUnderstood,
        }
    }
}

impl From<ServiceError> for ConnectError {
    fn from(error: ServiceError) -> Self {
        if error.is_authorization_required() {
            return ConnectError::AccessRefused;
        }
        match error {
            ServiceError::McpError(_) | ServiceError::UnexpectedResponse => ConnectError::NoTools,
            // The library may add more reasons.
            _ => ConnectError::Gone,
        }
    }
}
