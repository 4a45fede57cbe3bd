//! What is read from the web, and what never is: with servers, names and redirects that are as hostile as possible.

use std::collections::HashMap;
use std::io::{ErrorKind, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aizuchi_agent::web_access::address_guard::AddressGuard;
use aizuchi_agent::web_access::crawl4ai::Crawl4ai;
use aizuchi_agent::web_access::direct_reader::DirectReader;
use aizuchi_agent::web_access::searxng::{Searxng, SearxngSettings};
use aizuchi_agent::web_access::tavily::{SearchDepth, Tavily, TavilySettings};
use aizuchi_agent::web_access::{
    Page, PageReader, RefusedAddress, SearchAnswer, SearchResult, WebError, WebSearch,
};
use aizuchi_model::ip_network::IpNetwork;
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::{Value, json};

use crate::web_server::{WebServer, page, redirect, response};

const TIMEOUT: Duration = Duration::from_secs(60);
/// The address of the tests' own server. It stands in for a public one.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// An address that must never be reached.
const INTERNAL: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Names that resolve to different addresses with each lookup. The last ones stay.
#[derive(Default)]
struct HostileNames(Mutex<HashMap<String, Vec<Vec<Ipv4Addr>>>>);

impl HostileNames {
    fn set(&self, name: &str, answers: &[&[Ipv4Addr]]) {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        self.0.lock().unwrap().insert(name.to_owned(), answers);
    }

    fn answer(&self, name: &str) -> Vec<SocketAddr> {
        let mut names = self.0.lock().unwrap();
        let Some(answers) = names.get_mut(name) else { return Vec::new() };
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        answer.into_iter().map(|address| SocketAddr::new(IpAddr::V4(address), 0)).collect()
    }
}

impl Resolve for HostileNames {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.answer(name.as_str()).into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// A server that may be read and a sentinel that may not, on the same port of two addresses.
struct World {
    sentinel: TcpListener,
    server: WebServer,
    names: Arc<HostileNames>,
    reader: DirectReader,
}

impl World {
    /// Creates a world with a server whose responses may contain the port.
    async fn new(respond: impl Fn(&str, u16) -> Vec<u8> + Clone + Send + 'static) -> Self {
        loop {
            let sentinel = TcpListener::bind((INTERNAL, 0)).unwrap();
            sentinel.set_nonblocking(true).unwrap();
            let port = sentinel.local_addr().unwrap().port();
            let respond = respond.clone();
            let respond = move |path: &str| respond(path, port);
            // Another program may use the same port there.
            let Ok(server) = WebServer::start_at(PUBLIC.into(), port, respond).await else {
                continue;
            };
            let names = Arc::new(HostileNames::default());
            names.set("public.example", &[&[PUBLIC]]);
            names.set("sentinel.example", &[&[INTERNAL]]);
            names.set("localhost", &[&[INTERNAL]]);
            let reader = DirectReader::with_lookup(guard(port), names.clone(), TIMEOUT).unwrap();
            return Self { sentinel, server, names, reader };
        }
    }

    async fn read(&self, host: &str, path: &str) -> Result<Page, WebError> {
        self.reader.read(&format!("http://{host}:{}{path}", self.server.port)).await
    }

    #[track_caller]
    fn assert_sentinel_is_untouched(&self) {
        let connection = self.sentinel.accept();
        assert_eq!(connection.unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

/// Treats the server's address as public, and allows its port.
fn guard(port: u16) -> AddressGuard {
    let public = IpNetwork::from(IpAddr::V4(PUBLIC));
    AddressGuard::new(vec![public], &[port])
}

const REFUSED: Result<Page, WebError> = Err(WebError::Refused(RefusedAddress::Internal));

#[tokio::test]
async fn no_spelling_and_no_name_leads_to_an_internal_address() {
    let world = World::new(|_, _| page("<p>public")).await;
    assert_eq!(world.read("127.0.0.2", "/").await.unwrap().text, "public");
    assert_eq!(world.read("public.example", "/").await.unwrap().text, "public");
    for host in [
        "127.0.0.1", "127.1", "0x7f000001", "2130706433", "017700000001", "127.0.0.1.", "[::1]",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "0.0.0.0", "０x7f.1",
        "sentinel.example", "SENTINEL.example", "169.254.169.254", "[64:ff9b::7f00:1]",
    ] {
        assert_eq!(world.read(host, "/").await, REFUSED, "{host}");
    }
    for host in ["localhost", "app.localhost", "metadata.google.internal"] {
        world.names.set(host, &[&[INTERNAL]]);
        assert_eq!(world.read(host, "/").await, REFUSED, "{host}");
    }
    // One internal address among others.
    world.names.set("mixed.example", &[&[PUBLIC, INTERNAL]]);
    world.names.set("mixed-too.example", &[&[INTERNAL, PUBLIC]]);
    for host in ["mixed.example", "mixed-too.example"] {
        assert_eq!(world.read(host, "/").await, REFUSED, "{host}");
    }
    world.assert_sentinel_is_untouched();
    assert_eq!(world.server.requests().len(), 2);
}

/// The connection goes to the address that was checked, however soon the name changes.
#[tokio::test]
async fn a_name_that_is_bound_anew_leads_nowhere_else() {
    let world = World::new(|path, _| match path {
        "/away" => redirect("/"),
        _ => page("<p>public"),
    })
    .await;
    world.names.set("flip.example", &[&[PUBLIC], &[INTERNAL], &[PUBLIC], &[INTERNAL]]);
    for expected in [true, false, true, false, false] {
        let read = world.read("flip.example", "/").await;
        assert_eq!(read.is_ok(), expected, "{read:?}");
        assert!(expected || read == REFUSED);
    }
    // Even between a redirect and its target.
    world.names.set("flip.example", &[&[PUBLIC], &[INTERNAL]]);
    assert_eq!(world.read("flip.example", "/away").await, REFUSED);
    world.assert_sentinel_is_untouched();
}

#[tokio::test]
async fn no_redirect_leads_to_an_internal_address() {
    let world = World::new(|path, port| match path {
        "/ip" => redirect(&format!("http://127.0.0.1:{port}/")),
        "/number" => redirect(&format!("http://2130706433:{port}/")),
        "/v6" => redirect(&format!("http://[::ffff:127.0.0.1]:{port}/")),
        "/name" => redirect(&format!("http://sentinel.example:{port}/")),
        "/relative" => redirect("//127.0.0.1/"),
        "/metadata" => redirect("http://169.254.169.254/latest/meta-data/"),
        "/localhost" => redirect(&format!("http://localhost:{port}/")),
        "/user" => redirect(&format!("http://a@public.example:{port}/")),
        "/port" => redirect("http://public.example:22/"),
        "/file" => redirect("file:///etc/passwd"),
        "/nowhere" => redirect("http://"),
        "/loop" => redirect("/loop"),
        "/moved" => redirect("final?x=1"),
        "/final?x=1" => page("<title>Here</title><p>at last"),
        "/304" => response(304, &[], b""),
        _ => response(404, &[], b"nothing"),
    })
    .await;
    for (path, expected) in [
        ("/ip", WebError::Refused(RefusedAddress::Internal)),
        ("/number", WebError::Refused(RefusedAddress::Internal)),
        ("/v6", WebError::Refused(RefusedAddress::Internal)),
        ("/name", WebError::Refused(RefusedAddress::Internal)),
        ("/relative", WebError::Refused(RefusedAddress::Internal)),
        ("/metadata", WebError::Refused(RefusedAddress::Internal)),
        ("/localhost", WebError::Refused(RefusedAddress::Internal)),
        ("/user", WebError::Refused(RefusedAddress::UserInfo)),
        ("/port", WebError::Refused(RefusedAddress::Port)),
        ("/file", WebError::Refused(RefusedAddress::Scheme)),
        ("/nowhere", WebError::Refused(RefusedAddress::NoAddress)),
        ("/loop", WebError::TooManyRedirects),
        ("/304", WebError::Status(304)),
        ("/404", WebError::Status(404)),
    ] {
        assert_eq!(world.read("public.example", path).await, Err(expected), "{path}");
    }
    let page = world.read("public.example", "/moved").await.unwrap();
    let address = format!("http://public.example:{}/final?x=1", world.server.port);
    let expected =
        Page { address, title: Some("Here".to_owned()), text: "at last".to_owned(), is_cut: false };
    assert_eq!(page, expected);
    world.assert_sentinel_is_untouched();
    // Requests do not reveal where they come from, and no cookie is stored.
    for request in world.server.requests() {
        let request = request.to_lowercase();
        for header in ["cookie:", "referer:", "authorization:"] {
            assert!(!request.contains(header), "{request}");
        }
    }
}

#[tokio::test]
async fn pages_text_and_json_are_read_in_any_encoding() {
    let world = World::new(|path, _| {
        let html = ("content-type", "text/html");
        match path {
            "/packed" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(b"<p>packed").unwrap();
                let packed = encoder.finish().unwrap();
                response(200, &[html, ("content-encoding", "gzip")], &packed)
            }
            "/brotli" => response(200, &[html, ("content-encoding", "br")], b"x"),
            "/sjis" => {
                let headers = [("content-type", "text/html; charset=Shift_JIS")];
                response(200, &headers, b"<p>\x91\x8a\x92\xc6")
            }
            "/text" => response(200, &[("content-type", "text/plain")], b"a <b> c\n"),
            "/json" => response(200, &[("content-type", "application/json")], b"{\"a\": 1}"),
            "/pdf" => response(200, &[("content-type", "application/pdf")], b"%PDF-1.7"),
            "/untyped" => response(200, &[], b"<p>x"),
            "/script" => response(200, &[html], b"<script>render()</script>"),
            "/endless" => {
                let length = ("content-length", "1000000000");
                let head = response(200, &[html, length], b"");
                let head = String::from_utf8(head).unwrap().replace("content-length: 0\r\n", "");
                [head.into_bytes(), b"word ".repeat(600_000)].concat()
            }
            "/short" => {
                let mut whole = response(200, &[html], b"<p>a whole page");
                whole.truncate(whole.len() - 5);
                whole
            }
            _ => Vec::new(),
        }
    })
    .await;
    for (path, expected) in [
        ("/packed", Ok("packed")),
        ("/brotli", Err(WebError::Broken)),
        ("/sjis", Ok("相槌")),
        ("/text", Ok("a <b> c")),
        ("/json", Ok("{\"a\": 1}")),
        ("/pdf", Err(WebError::NotText)),
        ("/untyped", Err(WebError::NotText)),
        ("/script", Err(WebError::Empty)),
        ("/short", Err(WebError::Broken)),
    ] {
        let read = world.read("public.example", path).await.map(|page| page.text);
        assert_eq!(read.as_deref(), expected.as_ref().copied(), "{path}");
    }
    // An endless page is read up to the usual limit.
    let endless = world.read("public.example", "/endless").await.unwrap();
    assert!(endless.is_cut && endless.text.len() < 1_000_000, "{}", endless.text.len());
    let port = world.server.port;
    let names = world.names.clone();
    let hasty = DirectReader::with_lookup(guard(port), names, Duration::from_millis(50)).unwrap();
    let silent = format!("http://public.example:{port}/silent");
    assert_eq!(hasty.read(&silent).await, Err(WebError::TimedOut));
    assert_eq!(world.read("unknown.example", "/").await, Err(WebError::Unreachable));
}

#[tokio::test]
async fn a_service_is_asked_for_public_pages_only() {
    let server = WebServer::start(|path| {
        let json = |body: Value| {
            response(200, &[("content-type", "application/json")], body.to_string().as_bytes())
        };
        match path {
            "/good/md" => json(json!({ "success": true, "markdown": "# Roses" })),
            "/bad/md" => json(json!({ "success": false, "markdown": "# Roses" })),
            "/null/md" => json(json!({ "success": true, "markdown": null })),
            _ => response(200, &[], b"<html>"),
        }
    })
    .await;
    let read = async |path: &str, address: &str| {
        let base = format!("http://127.0.0.1:{}/{path}/", server.port);
        let guard = AddressGuard::new(Vec::new(), &[]);
        Crawl4ai::new(&base, guard, TIMEOUT).unwrap().read(address).await
    };
    // An IP address needs no lookup.
    let page = read("good", "http://8.8.8.8/a").await.unwrap();
    assert_eq!((page.text.as_str(), page.address.as_str()), ("# Roses", "http://8.8.8.8/a"));
    let asked = server.requests().pop().unwrap();
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /good/md "), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, json!({ "url": "http://8.8.8.8/a", "f": "llm", "q": null, "c": "0" }));
    for (path, expected) in
        [("bad", WebError::Unreachable), ("null", WebError::Empty), ("html", WebError::Unusable)]
    {
        assert_eq!(read(path, "http://8.8.8.8/a").await, Err(expected), "{path}");
    }
    let count = server.requests().len();
    for address in ["http://127.0.0.1/", "http://localhost/", "http://169.254.169.254/"] {
        assert_eq!(read("good", address).await, REFUSED, "{address}");
    }
    assert_eq!(server.requests().len(), count);
}

fn results() -> Vec<SearchResult> {
    let result = |title: &str, address: &str, text: &str| SearchResult {
        title: title.to_owned(),
        address: address.to_owned(),
        text: text.to_owned(),
    };
    vec![result("Roses", "https://a.example/", "red"), result("", "https://b.example/", "")]
}

#[tokio::test]
async fn tavily_is_asked_as_its_api_wants() {
    let server = WebServer::start(|path| {
        let json = |status: u16, body: Value| {
            let headers = [("content-type", "application/json")];
            response(status, &headers, body.to_string().as_bytes())
        };
        match path {
            "/search" => json(
                200,
                json!({ "query": "roses", "answer": "They are red.", "response_time": 1.5, "results": [
                    { "title": "Roses", "url": "https://a.example/", "content": "red", "score": 0.9 },
                    { "url": "https://b.example/" },
                ] }),
            ),
            "/usage" => json(200, json!({ "key": { "usage": 1, "limit": 1000 } })),
            "/used-up/search" => json(432, json!({ "detail": {} })),
            "/busy/search" => json(429, json!({ "detail": {} })),
            "/odd/search" => json(200, json!({ "results": 1 })),
            _ => json(401, json!({ "detail": { "error": "Unauthorized" } })),
        }
    })
    .await;
    let tavily = |path: &str, depth| {
        let api_base = format!("http://127.0.0.1:{}/{path}", server.port);
        let key = "tvly-invented".into();
        let settings = TavilySettings { key, api_base, depth, max_results: 5, timeout: TIMEOUT };
        Tavily::new(settings).unwrap()
    };
    for (depth, name) in [
        (SearchDepth::Basic, "basic"),
        (SearchDepth::Advanced, "advanced"),
        (SearchDepth::Fast, "fast"),
        (SearchDepth::UltraFast, "ultra-fast"),
    ] {
        let answer = tavily("", depth).search("roses").await.unwrap();
        let summary = Some("They are red.".to_owned());
        assert_eq!(answer, SearchAnswer { summary, results: results() });
        let asked = server.requests().pop().unwrap();
        let (head, body) = asked.split_once("\r\n\r\n").unwrap();
        assert!(head.to_lowercase().contains("authorization: bearer tvly-invented"), "{head}");
        let body: Value = serde_json::from_str(body).unwrap();
        let expected = json!({
            "query": "roses", "search_depth": name, "max_results": 5, "include_answer": true,
        });
        assert_eq!(body, expected);
    }
    assert_eq!(tavily("", SearchDepth::Basic).check().await, Ok(()));
    for (path, expected) in [
        ("used-up/", WebError::UsedUp),
        ("busy/", WebError::UsedUp),
        ("odd/", WebError::Unusable),
        ("other-key/", WebError::KeyRefused),
    ] {
        let answer = tavily(path, SearchDepth::Basic).search("roses").await;
        assert_eq!(answer, Err(expected), "{path}");
    }
    assert_eq!(tavily("other-key/", SearchDepth::Basic).check().await, Err(WebError::KeyRefused));
    // Tavily refuses longer queries.
    let _ = tavily("", SearchDepth::Basic).search(&"い".repeat(1_000)).await;
    assert!(server.requests().pop().unwrap().matches('い').count() == 400);
}

#[tokio::test]
async fn searxng_is_asked_for_json() {
    let server = WebServer::start(|path| match path {
        path if path.starts_with("/searx/search?") => {
            let body = json!({ "query": "roses & more", "results": [
                { "url": "https://a.example/", "title": "Roses", "content": "red", "engine": "x" },
                { "title": "no address" },
                { "url": "https://b.example/", "content": null },
                { "url": "https://c.example/" },
            ] });
            response(200, &[("content-type", "application/json")], body.to_string().as_bytes())
        }
        path if path.starts_with("/html/") => page("<p>results"),
        _ => response(403, &[], b"Forbidden"),
    })
    .await;
    let searxng = |path: &str| {
        let instance = format!("http://127.0.0.1:{}/{path}/", server.port);
        Searxng::new(SearxngSettings { instance, max_results: 2, timeout: TIMEOUT }).unwrap()
    };
    let answer = searxng("searx").search("roses & more").await.unwrap();
    assert_eq!(answer, SearchAnswer { summary: None, results: results() });
    let asked = server.requests().pop().unwrap();
    assert!(asked.starts_with("GET /searx/search?q=roses+%26+more&format=json "), "{asked}");
    assert_eq!(searxng("searx").check().await, Ok(()));
    for path in ["off", "html"] {
        assert_eq!(searxng(path).check().await, Err(WebError::NoJson), "{path}");
        assert_eq!(searxng(path).search("roses").await, Err(WebError::NoJson), "{path}");
    }
}
