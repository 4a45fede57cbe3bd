//! A restarted server: it has forgotten all sessions, and reports that in a way that does not respond to any request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aizuchi_agent::external_tools::ExternalToolError;
use aizuchi_config::mcp::McpServerConfig;
use aizuchi_config::values::{BoundedInteger, WebUrl};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::future::join;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::mcp_servers::Running;

const SESSION: &str = "mcp-session-id";

#[derive(Clone, Default)]
struct Forgetful {
    /// The number of starts, which is also the id of its sessions.
    starts: Arc<AtomicUsize>,
    /// Notified when a request has an unknown session.
    strangers: Arc<Notify>,
}

async fn answer(
    State(server): State<Forgetful>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    let session = server.starts.load(Ordering::SeqCst).to_string();
    let asked = headers.get(SESSION).and_then(|value| value.to_str().ok());
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "forgetful", "version": "1" },
        }),
        _ if asked != Some(&*session) => {
            if !request["id"].is_null() {
                server.strangers.notify_one();
            }
            let error =
                json!({ "code": -32000, "message": "Bad Request: No valid session ID provided" });
            let refusal = json!({ "jsonrpc": "2.0", "error": error });
            return (StatusCode::BAD_REQUEST, Json(refusal)).into_response();
        }
        "tools/list" => json!({ "tools": [{
            "name": "look", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true },
        }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": session }] }),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
    ([(SESSION, session)], Json(body)).into_response()
}

#[tokio::test]
async fn a_server_that_has_forgotten_us_is_connected_again() {
    let server = Forgetful::default();
    let router = axum::Router::new().route("/mcp", post(answer)).with_state(server.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let config = McpServerConfig {
        url: Some(WebUrl(address)),
        timeout_seconds: BoundedInteger(20),
        ..McpServerConfig::default()
    };
    let running = Running::new("shelf", config);
    running.until_offered(&["shelf__look"]).await;
    assert_eq!(running.call("shelf__look").await, Ok(("0".to_owned(), false, false)));

    server.starts.store(1, Ordering::SeqCst);
    let (lost, ()) = join(running.call("shelf__look"), async {
        server.strangers.notified().await;
        running.pass(20);
    })
    .await;
    assert_eq!(lost, Err(ExternalToolError::TimedOut));
    // It is asked for its tools, does not respond to that either, and is initialized again.
    server.strangers.notified().await;
    running.pass(20);
    running.until_offered(&[]).await;
    running.pass(2);
    running.until_offered(&["shelf__look"]).await;
    assert_eq!(running.call("shelf__look").await, Ok(("1".to_owned(), false, false)));
}
