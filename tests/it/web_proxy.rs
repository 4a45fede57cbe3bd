//! Pages are fetched from their own servers, whatever the proxy variables say: a proxy would resolve names by itself,
//! and reach addresses that no page may be fetched from.

use std::io::ErrorKind;
use std::net::TcpListener as Sentinel;
use std::time::Duration;

use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::program::{Home, Program};

/// The poll interval, where there is nothing to subscribe to.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const TIMEOUT: Duration = Duration::from_secs(60);
/// The page's host, which differs from the model's, because a variable exempts that one.
const PAGE_HOST: &str = "127.0.0.2";

/// Serves one page repeatedly. Returns its port.
async fn serve_page() -> u16 {
    let listener = TcpListener::bind((PAGE_HOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let page = "<title>Roses</title><p>Prune them in March.";
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/html\r\n";
            let response = format!("{head}content-length: {}\r\n\r\n{page}", page.len());
            let _ = stream.write_all(response.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    port
}

async fn until_said(program: &Program, beginning: &str) {
    let said = tokio::time::timeout(TIMEOUT, async {
        loop {
            let messages = program.messages().await;
            let begins = |text: &str| text.starts_with(beginning);
            if messages.iter().any(|message| message["text"].as_str().is_some_and(begins)) {
                return;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    });
    said.await.unwrap_or_else(|_| panic!("{beginning} is not said"));
}

#[tokio::test]
async fn no_variable_sends_the_reader_to_a_proxy() {
    let model = Server::start(ServerLimits::default()).await;
    let port = serve_page().await;
    let sentinel = Sentinel::bind("127.0.0.1:0").unwrap();
    sentinel.set_nonblocking(true).unwrap();
    let proxy = format!("http://{}", sentinel.local_addr().unwrap());
    let home = Home::new(1000.0);
    home.add(&format!(
        "tools:
  web_fetch: {{allow_networks: [\"{PAGE_HOST}/32\"], allow_ports: [{port}]}}
agents:
  response: {{model_id: openai/large-1, client_args: {{api_key: sk-test, api_base: {}/v1}}}}
",
        model.base
    ));
    let names =
        ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let mut variables = names.map(|name| (name, proxy.as_str())).to_vec();
    variables.extend([("NO_PROXY", "127.0.0.1"), ("no_proxy", "127.0.0.1")]);
    let program = home.start_with(&[], &variables);
    let address = format!("http://{PAGE_HOST}:{port}/roses");
    let read = ("call-1".to_owned(), "web_fetch".to_owned(), json!({ "url": address }).to_string());
    model.then([ProviderResponse::Calls("", vec![read])]);
    model.will_say(&["In March."]);
    program.says("alice", &format!("@Aizuchi when are they pruned? {address}")).await;
    until_said(&program, "In March.").await;
    let asked = model.requests().pop().unwrap().body.to_string();
    assert!(asked.contains("Prune them in March."), "{asked}");
    assert_eq!(program.stop(), Some(0));
    let refused = sentinel.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(refused, Err(ErrorKind::WouldBlock), "somebody has asked the proxy");
}
