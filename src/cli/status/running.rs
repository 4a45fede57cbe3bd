//! Asks the running program for what only it knows about its workspaces, at the address that it has left in the
//! database, on loopback only. No token is sent there, because another program may be answering.

use std::net::SocketAddr;
use std::time::Duration;

use aizuchi_actions::access::SignedInUser;
use aizuchi_config::Config;
use aizuchi_config::http::HttpConfig;
use aizuchi_llm::provider::loopback_client;
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::chat::WorkspaceId;
use aizuchi_store::database::DatabaseStore;
use aizuchi_web::REFUSAL_HEADER;
use aizuchi_web::sign_in_link::{LinkKey, Purpose};
use aizuchi_web::status::ConnectionStatus;
use anyhow::Context as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::app::last_program::LastProgram;

/// A healthy process answers at once.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum size of the answer, far more than it takes for thousands of channels.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The name under which the request is recorded.
const NAME: &str = "aizuchi-status";

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

/// Asks the program that runs on this database. Fails only if the database cannot be read.
pub async fn ask(
    config: &Config,
    store: &DatabaseStore,
    now: Timestamp,
) -> anyhow::Result<Result<RunningProgram, UnknownConnections>> {
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
    let code = code(&config.http, &secret, now)?;
    let running = match request(&address, code.as_deref()).await? {
        Ok(running) => running,
        Err(reason) => return Ok(Err(reason.at(&address))),
    };
    // A copy of a database has the same id, but lacks the later revisions of the one in use.
    let stored = store.counters().await?;
    let is_same =
        *running.installation == *stored.installation && running.revision <= stored.revision;
    Ok(if is_same { Ok(running) } else { Err(UnknownReason::OtherInstallation.at(&address)) })
}

fn is_on_loopback(address: &str) -> bool {
    let socket = address.strip_prefix("http://").and_then(|rest| rest.parse::<SocketAddr>().ok());
    socket.is_some_and(|socket| socket.ip().is_loopback())
}

/// A single-use code that reads the status, if the pages require signing in. Another program that receives it can only
/// use it to read the status, for a few seconds.
fn code(http: &HttpConfig, secret: &str, now: Timestamp) -> anyhow::Result<Option<String>> {
    if !http.is_closed() {
        return Ok(None);
    }
    let holder = SignedInUser { name: NAME.into(), role: AccessRole::Viewer };
    let code = LinkKey::new(secret, http).mint(Purpose::Status, &holder, now);
    code.map(Some).context("cannot make the code with which the running program is asked")
}

async fn request(
    address: &str,
    code: Option<&str>,
) -> anyhow::Result<Result<RunningProgram, UnknownReason>> {
    let request = loopback_client()?.get(format!("{address}/api/status")).timeout(TIMEOUT);
    let request = match code {
        Some(code) => request.bearer_auth(code),
        None => request,
    };
    Ok(match request.send().await {
        Ok(response) => read(response).await,
        Err(error) if error.is_timeout() => Err(UnknownReason::NoAnswer),
        Err(error) if error.is_connect() => Err(UnknownReason::NotRunning),
        Err(_) => Err(UnknownReason::OtherServer),
    })
}

async fn read(response: reqwest::Response) -> Result<RunningProgram, UnknownReason> {
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
async fn read_body(mut response: reqwest::Response) -> Option<Vec<u8>> {
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
