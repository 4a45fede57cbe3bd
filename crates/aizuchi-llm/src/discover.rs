//! Discovers model servers on this machine, so that users need not know their addresses. It asks loopback addresses
//! only, and treats the responses as untrusted.

use std::net::{Ipv4Addr, SocketAddr};

use aizuchi_http::body::read_body;
use aizuchi_model::clock::Clock;
use futures_util::future::join_all;
use jiff::SignedDuration;
use reqwest::{Client, Url};
use serde_json::Value;

use crate::model_id::ModelId;
use crate::provider::{http_client, loopback_client};
use crate::provider_list::{Provider, split_ollama_host};

/// A local server answers within this time, even if the machine is busy. Where none listens, this is known at once.
pub const DISCOVERY_TIMEOUT: SignedDuration = SignedDuration::from_secs(2);
/// The time for a list of models from elsewhere.
const LIST_TIMEOUT: SignedDuration = SignedDuration::from_secs(10);
/// The maximum size of a list of models. Real lists are far shorter.
const MAX_LIST_BYTES: usize = 512 * 1024;
/// The maximum length of a model's name, in characters.
const MAX_NAME_LENGTH: usize = 120;
/// The maximum number of models offered per server.
const MAX_MODELS: usize = 50;
/// Parts of the names of models that do not generate text.
const EMBEDDING_NAMES: [&str; 6] = ["embed", "bge-", "minilm", "rerank", "gte-", "e5-"];

/// A program that runs models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalServer {
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
}

/// An address where a server may listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerEndpoint {
    pub server: LocalServer,
    pub address: SocketAddr,
}

/// A server that answered, with its text-generating models in the server's own order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundServer {
    pub endpoint: ServerEndpoint,
    pub models: Vec<ModelId>,
}

impl LocalServer {
    /// The product's name.
    pub fn name(self) -> &'static str {
        match self {
            LocalServer::Ollama => "Ollama",
            LocalServer::LmStudio => "LM Studio",
            LocalServer::LlamaCpp => "llama.cpp",
            LocalServer::Vllm => "vLLM",
        }
    }

    fn provider(self) -> Provider {
        match self {
            LocalServer::Ollama => Provider::Ollama,
            LocalServer::LmStudio | LocalServer::LlamaCpp | LocalServer::Vllm => Provider::OpenAi,
        }
    }

    fn list_path(self) -> &'static str {
        match self {
            // Unlike `/v1/models`, this list tells embedding models apart.
            LocalServer::Ollama => "/api/tags",
            LocalServer::LmStudio | LocalServer::LlamaCpp | LocalServer::Vllm => "/v1/models",
        }
    }
}

impl ServerEndpoint {
    /// The base URL of the API, or `None` if it is the provider's default.
    pub fn api_base(self) -> Option<String> {
        let base = format!("http://{}/v1/", self.address);
        let is_usual = self == DEFAULT_ENDPOINTS[0];
        (!is_usual).then_some(base)
    }
}

const fn at(server: LocalServer, port: u16) -> ServerEndpoint {
    ServerEndpoint {
        server,
        address: SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port),
    }
}

/// The default addresses of these servers. llama.cpp's port is also that of Aizuchi's pages, so llama.cpp is often
/// moved to the next port.
const DEFAULT_ENDPOINTS: [ServerEndpoint; 5] = [
    at(LocalServer::Ollama, 11434),
    at(LocalServer::LmStudio, 1234),
    at(LocalServer::LlamaCpp, 8080),
    at(LocalServer::LlamaCpp, 8081),
    at(LocalServer::Vllm, 8000),
];

/// Returns the default endpoints, moved to `ollama_host` (the value of `OLLAMA_HOST`, which may be on another machine),
/// without this program's own addresses.
pub fn default_endpoints(ollama_host: Option<&str>, own: &[SocketAddr]) -> Vec<ServerEndpoint> {
    let moved = ollama_host.map(loopback_address);
    let endpoint = |usual: ServerEndpoint| match (usual.server, moved) {
        (LocalServer::Ollama, Some(address)) => Some(ServerEndpoint { address: address?, ..usual }),
        _ => Some(usual),
    };
    let is_own =
        |endpoint: &ServerEndpoint| own.iter().any(|own| own.port() == endpoint.address.port());
    DEFAULT_ENDPOINTS
        .into_iter()
        .filter_map(endpoint)
        .filter(|endpoint| !is_own(endpoint))
        .collect()
}

/// Parses a loopback address from a server setting: `127.0.0.1:11500`, `http://localhost:11500`, `:11500`.
fn loopback_address(host: &str) -> Option<SocketAddr> {
    let host = host.trim().trim_start_matches("http://").trim_end_matches('/');
    let (name, port) = split_ollama_host(host);
    let ip = match name.trim_matches(['[', ']']) {
        // A server that listens on all interfaces listens on loopback, too.
        "" | "localhost" | "0.0.0.0" | "::" => Ipv4Addr::LOCALHOST.into(),
        name => name.parse().ok()?,
    };
    let address = SocketAddr::new(ip, port.parse().ok()?);
    address.ip().is_loopback().then_some(address)
}

/// Returns the servers that answer in time, in the order of the endpoints.
pub async fn discover(endpoints: &[ServerEndpoint], clock: &Clock) -> Vec<FoundServer> {
    let Ok(client) = loopback_client() else { return Vec::new() };
    let looks = endpoints.iter().map(|endpoint| {
        let looked = clock.timeout(DISCOVERY_TIMEOUT, look(&client, *endpoint));
        async { looked.await.ok().flatten() }
    });
    join_all(looks).await.into_iter().flatten().collect()
}

async fn look(client: &Client, endpoint: ServerEndpoint) -> Option<FoundServer> {
    let url =
        Url::parse(&format!("http://{}{}", endpoint.address, endpoint.server.list_path())).ok()?;
    let response = client.get(url).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let body = read_body(response, MAX_LIST_BYTES).await.ok()?;
    let models = text_models(endpoint.server, &serde_json::from_slice(&body).ok()?)?;
    Some(FoundServer { endpoint, models })
}

/// Other base URLs that may be meant by one: with `/v1`, or without the path of a call. Each ends with a slash.
pub fn meant_bases(base: &str) -> Vec<String> {
    const CALLS: [&str; 5] =
        ["/chat/completions", "/completions", "/responses", "/models", "/audio/transcriptions"];
    let base = base.trim_end_matches('/');
    let bare = CALLS.iter().find_map(|call| base.strip_suffix(call)).unwrap_or(base);
    let bare = bare.replace("/v1/v1", "/v1");
    let with_version = (!bare.ends_with("/v1")).then(|| format!("{bare}/v1/"));
    let without_call = (bare != base).then(|| format!("{bare}/"));
    with_version.into_iter().chain(without_call).collect()
}

/// Returns the names of the models that any server with OpenAI's API lists at a base URL, or at one that may be meant.
pub async fn listed_models(base: &str, key: Option<&str>) -> Vec<String> {
    let Ok(client) = http_client(LIST_TIMEOUT) else { return Vec::new() };
    let own = format!("{}/", base.trim_end_matches('/'));
    for base in [own].into_iter().chain(meant_bases(base)) {
        let Ok(url) = Url::parse(&base).and_then(|base| base.join("models")) else { continue };
        let request = client.get(url).timeout(LIST_TIMEOUT.unsigned_abs());
        let request = match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        let Ok(response) = request.send().await else { continue };
        let Ok(body) = read_body(response, MAX_LIST_BYTES).await else { continue };
        let list = serde_json::from_slice(&body).unwrap_or_default();
        if let Some(models) = text_models(LocalServer::Vllm, &list) {
            let name = |model| match model {
                ModelId::Hosted { name, .. } => Some(name),
                ModelId::Builtin => None,
            };
            return models.into_iter().filter_map(name).collect();
        }
    }
    Vec::new()
}

/// The models in a list that generate text on this machine. `None` if the response is not a list of models.
fn text_models(server: LocalServer, list: &Value) -> Option<Vec<ModelId>> {
    let (list, key) = match server {
        LocalServer::Ollama => (list.get("models")?, "name"),
        LocalServer::LmStudio | LocalServer::LlamaCpp | LocalServer::Vllm => {
            (list.get("data")?, "id")
        }
    };
    let models = list.as_array()?.iter().filter(|model| !is_elsewhere(model) && !embeds(model));
    let names = models.filter_map(|model| model.get(key)?.as_str());
    let names = names.filter(|name| !has_embedding_name(name) && is_plain(name));
    let ids = names.map(|name| ModelId::Hosted { provider: server.provider(), name: name.into() });
    Some(ids.take(MAX_MODELS).collect())
}

/// Whether Ollama forwards this model's prompts to a hosted service, so that they leave this machine.
fn is_elsewhere(model: &Value) -> bool {
    let name = model.get("name").and_then(Value::as_str).unwrap_or_default();
    model.get("remote_host").is_some() || name.ends_with("-cloud") || name.ends_with(":cloud")
}

fn embeds(model: &Value) -> bool {
    let family = model.pointer("/details/family").and_then(Value::as_str).unwrap_or_default();
    family.contains("bert")
}

fn has_embedding_name(name: &str) -> bool {
    let name = name.to_lowercase();
    EMBEDDING_NAMES.iter().any(|part| name.contains(part))
}

/// Whether a name is safe to show, and to write into a command or a file.
fn is_plain(name: &str) -> bool {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_.:/@+".contains(character);
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(models: Option<Vec<ModelId>>) -> Vec<String> {
        models.unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_models_that_write_text_here_are_offered() {
        let list = json!({ "models": [
            { "name": "qwen3:8b", "details": { "family": "qwen3" } },
            { "name": "nomic-embed-text:latest", "details": { "family": "nomic-bert" } },
            { "name": "all-minilm:latest", "details": { "family": "bert" } },
            { "name": "paraphrase:latest", "details": { "family": "bert" } },
            { "name": "gpt-oss:120b-cloud", "remote_host": "https://cloud.example" },
            { "name": "evil\u{1b}[2J" },
            { "name": "two words" },
            { "name": "" },
            {},
            { "name": "hf.co/team/small-GGUF:Q4_K_M", "details": { "family": "llama" } },
        ]});
        let expected = ["ollama/qwen3:8b", "ollama/hf.co/team/small-GGUF:Q4_K_M"];
        assert_eq!(names(text_models(LocalServer::Ollama, &list)), expected);
        let list = json!({ "object": "list", "data": [
            { "id": "text-embedding-nomic-v1.5" },
            { "id": "qwen/qwen3-8b", "object": "model" },
        ]});
        assert_eq!(names(text_models(LocalServer::LmStudio, &list)), ["openai/qwen/qwen3-8b"]);
    }

    #[test]
    fn what_is_no_list_of_models_is_no_server() {
        for list in [json!({}), json!([]), json!({ "status": "live" }), json!({ "data": "x" })] {
            assert_eq!(text_models(LocalServer::LlamaCpp, &list), None, "{list}");
        }
    }

    #[test]
    fn an_address_may_lack_its_version_or_have_a_path_too_much() {
        for (base, expected) in [
            ("http://llm:8000", &["http://llm:8000/v1/"][..]),
            ("http://llm:8000/v1/", &[]),
            ("http://llm/v1/chat/completions", &["http://llm/v1/"]),
            ("http://llm/chat/completions/", &["http://llm/v1/", "http://llm/"]),
            ("http://llm/v1/v1", &["http://llm/v1/"]),
        ] {
            assert_eq!(meant_bases(base), expected, "{base}");
        }
    }

    #[test]
    fn the_own_ports_are_not_asked() {
        let ports = |endpoints: Vec<ServerEndpoint>| -> Vec<u16> {
            endpoints.iter().map(|endpoint| endpoint.address.port()).collect()
        };
        let own = ["127.0.0.1:8080".parse().unwrap(), "[::1]:8000".parse().unwrap()];
        assert_eq!(ports(default_endpoints(None, &own)), [11434, 1234, 8081]);
        assert_eq!(
            ports(default_endpoints(Some("http://localhost:5000/"), &own)),
            [5000, 1234, 8081]
        );
    }

    #[test]
    fn ollama_is_looked_for_on_this_machine_only() {
        for (host, expected) in [
            ("127.0.0.1:5000", Some("127.0.0.1:5000")),
            ("0.0.0.0:5000", Some("127.0.0.1:5000")),
            (":5000", Some("127.0.0.1:5000")),
            ("192.0.2.7:5000", None),
            ("models.example:5000", None),
            ("127.0.0.1", Some("127.0.0.1:11434")),
            ("[::]", Some("127.0.0.1:11434")),
            ("[::1]", Some("[::1]:11434")),
            ("[::1]:1234", Some("[::1]:1234")),
        ] {
            let expected = expected.map(|address| address.parse::<SocketAddr>().unwrap());
            assert_eq!(loopback_address(host), expected, "{host}");
        }
    }

    #[test]
    fn only_ollama_at_its_usual_place_needs_no_base() {
        let bases = DEFAULT_ENDPOINTS.map(ServerEndpoint::api_base);
        assert_eq!(bases[0], None);
        assert_eq!(bases[1].as_deref(), Some("http://127.0.0.1:1234/v1/"));
        assert!(bases[2..].iter().all(Option::is_some));
    }
}
