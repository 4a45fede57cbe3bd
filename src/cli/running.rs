//! Asks the running program for what only it knows, or to do what only it may do, at the address that it has left in the
//! database, on loopback only. No token is sent there, because another program may be answering.

use std::net::SocketAddr;
use std::time::Duration;

use aizuchi_actions::access::SignedInUser;
use aizuchi_config::Config;
use aizuchi_config::http::HttpConfig;
use aizuchi_llm::provider::loopback_client;
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::clock::Clock;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_web::REFUSAL_HEADER;
use aizuchi_web::sign_in_link::{LinkKey, Purpose};
use aizuchi_web::status::ConnectionStatus;
use anyhow::{Context as _, anyhow, bail};
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::last_program::LastProgram;

/// A healthy process tells its status at once.
const TIMEOUT: Duration = Duration::from_secs(3);
/// To reload, it asks the platforms to accept new secrets.
const WORK_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum size of the answer, far more than it takes for thousands of channels.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The name under which the request is recorded.
const NAME: &str = "command-line";

/// The answer of the running program.
#[derive(Debug, Deserialize)]
pub struct RunningProgram {
    pub version: String,
    pub workspaces: Vec<RunningWorkspace>,
    installation: String,
    revision: u64,
}

#[derive(Debug, Deserialize)]
pub struct RunningWorkspace {
    pub workspace: WorkspaceId,
    connection: Option<ConnectionStatus>,
}

/// Why the connections are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownConnections {
    pub reason: UnknownReason,
    /// The reason as a sentence.
    pub told: String,
}

/// Why the connections are unknown. The names are part of the JSON output and stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownReason {
    /// No program has served pages on this database.
    NeverStarted,
    /// Nothing listens at the address.
    NotRunning,
    /// The program does not answer in time, or not yet.
    NoAnswer,
    StandingBy,
    /// The program's tokens differ from those of this config.
    Refused,
    /// The program rejects all tokens from this machine for a while.
    TooManyTokens,
    /// Another server answers.
    OtherServer,
    /// The program runs on another database.
    OtherInstallation,
    /// The program's pages are not on loopback.
    NotOnLoopback,
    /// Users can only sign in through a proxy.
    OnlyProxy,
}

impl UnknownReason {
    fn at(self, address: &str) -> UnknownConnections {
        let told = match self {
            Self::NeverStarted => "no Aizuchi has run on this database yet".to_owned(),
            Self::NotRunning => format!("nothing answers at {address}"),
            Self::NoAnswer => format!("the program at {address} does not answer now"),
            Self::StandingBy => {
                format!("the Aizuchi at {address} stands by while another one is active")
            }
            Self::Refused => format!(
                "the Aizuchi at {address} refuses this config; it may have been started with other tokens"
            ),
            Self::TooManyTokens => format!(
                "the Aizuchi at {address} received too many wrong tokens from this machine and rejects all of them for a while"
            ),
            Self::OtherServer => format!("the program at {address} is not an Aizuchi of this version"),
            Self::OtherInstallation => {
                format!("the Aizuchi at {address} does not run on this database")
            }
            Self::NotOnLoopback => {
                format!("the pages are at {address}, and only a loopback address is asked")
            }
            Self::OnlyProxy => {
                "people can only sign in through the proxy of http.proxy_sign_in, so Aizuchi cannot be asked"
                    .to_owned()
            }
        };
        UnknownConnections { reason: self, told }
    }
}

impl RunningProgram {
    pub fn connection(&self, workspace: &WorkspaceId) -> Option<ConnectionStatus> {
        let found = self.workspaces.iter().find(|running| running.workspace == *workspace);
        found.and_then(|running| running.connection.clone())
    }
}

/// Sends requests of the command line to the running program.
pub struct ProgramClient<'a> {
    address: String,
    http: &'a HttpConfig,
    secret: String,
}

impl<'a> ProgramClient<'a> {
    /// Finds the program that runs on this database, and asks for its status. Fails only if the database cannot be read.
    pub async fn find(
        config: &'a Config,
        store: &DatabaseStore,
    ) -> anyhow::Result<Result<(Self, RunningProgram), UnknownConnections>> {
        let left = LastProgram::read(store).await?;
        let Some(address) = left.page else {
            return Ok(Err(UnknownReason::NeverStarted.at("")));
        };
        if !is_on_loopback(&address) {
            return Ok(Err(UnknownReason::NotOnLoopback.at(&address)));
        }
        if !config.http.has_sign_in_links() {
            return Ok(Err(UnknownReason::OnlyProxy.at(&address)));
        }
        let secret = left.link_key.unwrap_or_default();
        let client = Self { address, http: &config.http, secret };
        let response =
            client.send(Method::GET, "/api/status", AccessRole::Viewer, None, TIMEOUT).await?;
        let running = match response {
            Ok(response) => read(response).await,
            Err(reason) => Err(reason),
        };
        let running: RunningProgram = match running {
            Ok(running) => running,
            Err(reason) => return Ok(Err(reason.at(&client.address))),
        };
        // A copy of a database has the same id, but lacks the later revisions of the one in use.
        let stored = store.counters().await?;
        let is_same =
            *running.installation == *stored.installation && running.revision <= stored.revision;
        Ok(match is_same {
            true => Ok((client, running)),
            false => Err(UnknownReason::OtherInstallation.at(&client.address)),
        })
    }

    /// Finds the program that runs with this config. Fails with why it cannot be asked.
    pub async fn of_running(config: &'a Config) -> anyhow::Result<Self> {
        let store = ReadOnlyDatabase::open(&config.database_address()).await?.into_store();
        match Self::find(config, &store).await? {
            Ok((client, _)) => Ok(client),
            Err(unknown) => bail!("{}", unknown.told),
        }
    }

    /// Has the program do something, in the name of this machine's command line. Fails with the program's refusal.
    pub async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        target: &str,
        body: Option<Value>,
    ) -> anyhow::Result<T> {
        let response = self.send(method, target, AccessRole::Admin, body, WORK_TIMEOUT).await?;
        let response = response.map_err(|reason| anyhow!("{}", reason.at(&self.address).told))?;
        let is_refused = response.headers().contains_key(REFUSAL_HEADER);
        let body = read_body(response).await.context("the program's answer is incomplete")?;
        if is_refused {
            let refusal: Value = serde_json::from_slice(&body).unwrap_or_default();
            bail!("{}", refusal["error"].as_str().unwrap_or("the program refuses"));
        }
        // An answer without content is null.
        let body = if body.is_empty() { b"null" } else { &*body };
        serde_json::from_slice(body).context("the program's answer is of another version")
    }

    async fn send(
        &self,
        method: Method,
        target: &str,
        role: AccessRole,
        body: Option<Value>,
        timeout: Duration,
    ) -> anyhow::Result<Result<Response, UnknownReason>> {
        let url = format!("{}{target}", self.address);
        let mut request = loopback_client()?.request(method.clone(), url).timeout(timeout);
        if let Some(code) = self.code(&format!("{method} {target}"), role)? {
            request = request.bearer_auth(code);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        Ok(request.send().await.map_err(|error| match error {
            error if error.is_timeout() => UnknownReason::NoAnswer,
            error if error.is_connect() => UnknownReason::NotRunning,
            _ => UnknownReason::OtherServer,
        }))
    }

    /// A single-use code for a request, if the pages require signing in. Another program that receives it can only use
    /// it for the same request, for a few seconds.
    fn code(&self, request: &str, role: AccessRole) -> anyhow::Result<Option<String>> {
        if !self.http.is_closed() {
            return Ok(None);
        }
        let holder = SignedInUser::new(NAME, role);
        let key = LinkKey::new(&self.secret, self.http);
        let code = key.mint(Purpose::Request(request), &holder, Clock::system().now());
        code.map(Some).context("cannot make the code with which the running program is asked")
    }
}

fn is_on_loopback(address: &str) -> bool {
    let socket = address.strip_prefix("http://").and_then(|rest| rest.parse::<SocketAddr>().ok());
    socket.is_some_and(|socket| socket.ip().is_loopback())
}

async fn read(response: Response) -> Result<RunningProgram, UnknownReason> {
    let refusal = response.headers().get(REFUSAL_HEADER).and_then(|id| id.to_str().ok());
    if let Some(reason) = why_not(response.status().as_u16(), refusal) {
        return Err(reason);
    }
    let body = read_body(response).await.ok_or(UnknownReason::OtherServer)?;
    serde_json::from_slice(&body).map_err(|_| UnknownReason::OtherServer)
}

/// Why an answer has no status, by its HTTP status and the id of the refusal. `None` if it has one.
fn why_not(status: u16, refusal: Option<&str>) -> Option<UnknownReason> {
    match (status, refusal) {
        (200, None) => None,
        (_, Some("standing_by")) => Some(UnknownReason::StandingBy),
        (401 | 403, Some(_)) => Some(UnknownReason::Refused),
        (429, Some(_)) => Some(UnknownReason::TooManyTokens),
        (500.., Some(_)) => Some(UnknownReason::NoAnswer),
        _ => Some(UnknownReason::OtherServer),
    }
}

/// Reads the body. `None` if it is incomplete or too long.
async fn read_body(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if body.len() + chunk.len() > MOST_BYTES {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_asked() {
        for (address, expected) in [
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080", true),
            ("http://192.0.2.1:8080", false),
            ("http://localhost:8080", false),
            ("http://127.0.0.1:8080@192.0.2.1", false),
            ("https://127.0.0.1:8080", false),
            ("", false),
        ] {
            assert_eq!(is_on_loopback(address), expected, "{address}");
        }
    }

    #[test]
    fn an_answer_that_tells_nothing_says_why() {
        for (status, refusal, expected) in [
            (200, None, None),
            (200, Some("wrong_token"), Some(UnknownReason::OtherServer)),
            (401, Some("wrong_token"), Some(UnknownReason::Refused)),
            (403, Some("other_site_or_machine"), Some(UnknownReason::Refused)),
            (429, Some("too_many_tokens"), Some(UnknownReason::TooManyTokens)),
            (503, Some("standing_by"), Some(UnknownReason::StandingBy)),
            (503, Some("store_unusable"), Some(UnknownReason::NoAnswer)),
            (503, None, Some(UnknownReason::OtherServer)),
            (404, Some("nothing_here"), Some(UnknownReason::OtherServer)),
            (302, None, Some(UnknownReason::OtherServer)),
        ] {
            assert_eq!(why_not(status, refusal), expected, "{status} {refusal:?}");
        }
    }
}
