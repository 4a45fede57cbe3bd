//! A tool of an MCP server that may write, from the question to the follow-up: it is called once, after a user has
//! allowed it through the API.

use std::time::Duration;

use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use serde_json::{Value, json};

use crate::program::{Home, Program};

/// The poll interval, where there is nothing to subscribe to.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server that records what it was asked to plant.
const PROGRAM: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {})
    if "id" not in request:
        continue
    if method == "initialize":
        info = {"name": "shed", "version": "1"}
        version = params["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [{"name": "plant", "inputSchema": {"type": "object"}}]}
    else:
        if method == "tools/call":
            with open("planted", "a") as planted:
                planted.write(json.dumps(params["arguments"]) + "\n")
        result = {"content": [{"type": "text", "text": "planted"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

/// Polls until `look` finds something.
async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let found = tokio::time::timeout(TIMEOUT, async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    });
    found.await.unwrap_or_else(|_| panic!("{what} does not come"))
}

/// Returns the newest call once it is in this state.
async fn until_call(program: &Program, state: &str) -> Value {
    let look = async || {
        let call = program.get("/api/calls").await["calls"][0].clone();
        (call["state"] == state).then_some(call)
    };
    until(state, look).await
}

async fn until_said(program: &Program, text: &str) {
    let look = async || {
        let messages = program.messages().await;
        messages.iter().any(|message| message["text"] == text).then_some(())
    };
    until(text, look).await;
}

/// Adds the server to the config.
pub fn lend(home: &Home) {
    std::fs::write(home.path().join("shed.py"), PROGRAM).unwrap();
    home.add(
        "tools:\n  mcp:\n    servers:\n      shed: {command: python3, args: [shed.py], tools: [plant]}\n",
    );
}

pub async fn until_lent(home: &Home) {
    let is_lent = async || home.log().contains("an MCP server is connected").then_some(());
    until("the server", is_lent).await;
}

/// Scripts the model to want three roses planted, and then to report the result.
pub fn will_plant(model: &Server) {
    let wish = ("call-1".to_owned(), "shed__plant".to_owned(), r#"{"roses": 3}"#.to_owned());
    model.then([ProviderResponse::Calls("", vec![wish])]);
    model.will_say(&["I asked for it.", "It is planted."]);
}

/// Returns what was planted, one item per line.
pub fn planted(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("planted")).unwrap_or_default()
}

#[tokio::test]
async fn a_call_is_allowed_made_once_and_told() {
    let model = Server::start(ServerLimits::default()).await;
    let home = Home::new(1000.0);
    lend(&home);
    home.add(&format!(
        "agents:
  response: {{model_id: openai/large-1, client_args: {{api_key: sk-test, api_base: {}/v1}}}}
",
        model.base
    ));
    let program = home.start();
    until_lent(&home).await;
    will_plant(&model);
    let asked = program.says("alice", "@Aizuchi plant three roses").await;
    until_said(&program, "I asked for it.").await;
    let open = until_call(&program, "open").await;
    assert_eq!((&open["tool"], &open["messages"]), (&json!("shed__plant"), &json!([asked])));
    let shown: Value = serde_json::from_str(open["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(shown, json!({ "roses": 3 }));
    assert_eq!(planted(&home), "");

    let path = format!("/api/calls/{}", open["id"]);
    let choose = async |path: &str, choice: &str| {
        program.send("POST", path, Some(&json!({ "choice": choice }))).await.0
    };
    assert_eq!(choose(&path, "always").await, 422);
    assert_eq!(choose("/api/calls/100007", "refuse").await, 409);
    assert_eq!(choose(&path, "allow_once").await, 204);
    assert_eq!(choose(&path, "refuse").await, 409);
    until_said(&program, "It is planted.").await;
    assert_eq!(planted(&home), "{\"roses\": 3}\n");
    let told = until_call(&program, "answered").await;
    assert_eq!(told["arguments"], Value::Null);
    assert_eq!(program.stop(), Some(0));
    assert_eq!(planted(&home), "{\"roses\": 3}\n");
}
