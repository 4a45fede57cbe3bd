//! The program's own MCP server, as clients use it.

use aizuchi_harness::net::http;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::program::{Home, Program};

/// Sends a message of the protocol.
async fn send(program: &Program, token: Option<&str>, message: &Value) -> reqwest::Response {
    let request = http().post(format!("{}/mcp", program.address));
    let request = request.header("accept", "application/json, text/event-stream").json(message);
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().await.unwrap()
}

/// Returns the server's response to a request.
async fn ask(program: &Program, token: Option<&str>, method: &str, params: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let answer: Value = send(program, token, &message).await.json().await.unwrap();
    assert_eq!(answer["id"], 7, "{answer}");
    answer
}

/// Returns a tool's structured content, or its error message.
pub async fn call(program: &Program, token: Option<&str>, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let answer = ask(program, token, "tools/call", params).await;
    let result = &answer["result"];
    let text = &result["content"][0]["text"];
    match result["isError"] == true {
        true => text.clone(),
        false => {
            // Clients that ignore structured content get the same as text.
            let said: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
            assert_eq!(said, result["structuredContent"], "{answer}");
            said
        }
    }
}

#[tokio::test]
async fn a_program_looks_up_what_was_said_and_decided() {
    let home = Home::new(0.2);
    let program = home.start();
    let asked = program.says("alice", "@Aizuchi when do the roses bloom?").await;
    let is_closed = |kind: &str, data: &Value| kind == "decision" && !data["ended"].is_null();
    let decision = program.wait_for(0, is_closed).await;

    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "a test", "version": "1" },
    });
    let hello = ask(&program, None, "initialize", hello).await;
    let hello = &hello["result"];
    assert_eq!(hello["protocolVersion"], "2025-06-18", "{hello}");
    assert_eq!(hello["serverInfo"]["name"], "aizuchi");
    assert!(hello["instructions"].as_str().unwrap().starts_with("What Aizuchi heard"), "{hello}");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(send(&program, None, &ready).await.status(), StatusCode::ACCEPTED);

    let tools = ask(&program, None, "tools/list", json!({})).await;
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["search_messages", "recall", "why", "decisions", "status"]);
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{tools:?}");

    let found =
        call(&program, None, "search_messages", json!({ "query": "roses", "limit": 5.0 })).await;
    let found = found["messages"].as_array().unwrap();
    let found = found.iter().find(|message| message["id"] == asked).unwrap();
    assert_eq!((&found["name"], &found["thread"]), (&json!("alice"), &Value::Null));
    assert_eq!((&found["workspace"], &found["channel"]), (&json!("local"), &json!("general")));
    let elsewhere = json!({ "query": "roses", "channel": "#random" });
    let elsewhere = call(&program, None, "search_messages", elsewhere).await;
    assert_eq!(elsewhere, json!({ "messages": [] }));

    let asked_there = json!({ "message": asked, "channel": "general" });
    let why = call(&program, None, "why", asked_there).await;
    assert_eq!(why["messages"][0]["message"]["id"], json!(asked));
    let explained = &why["decisions"][0];
    assert_eq!(explained["decision"]["id"], decision["id"]);
    assert_eq!(explained["considered"][0]["text"], "@Aizuchi when do the roses bloom?");
    let ended = explained["explanation"].as_array().unwrap().iter();
    let ended: Vec<&Value> =
        ended.filter(|line| line.as_str().unwrap().starts_with("How it ended: ")).collect();
    assert_eq!(ended, ["How it ended: spoke — alice asked me"]);
    let again = call(&program, None, "why", json!({ "decision": decision["id"] })).await;
    assert_eq!(&again["decisions"][0], explained);

    let decisions = call(&program, None, "decisions", json!({ "channel": "general" })).await;
    let mut rows = program.get("/api/decisions?channel=general").await;
    rows["decisions"].as_array_mut().unwrap().reverse();
    assert_eq!(decisions["decisions"], rows["decisions"]);
    let status = call(&program, None, "status", json!({ "workspace": "local" })).await;
    assert_eq!(status["workspaces"][0]["channels"][0]["id"], "general");
    let remembered = call(&program, None, "recall", json!({ "about": "roses" })).await;
    let nothing = json!({ "memories": [], "memos": [], "truncated": false });
    assert_eq!(remembered["places"][0]["remembered"], nothing, "{remembered}");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_cannot_be_answered_is_said_in_a_sentence() {
    let home = Home::new(1000.0);
    let program = home.start();
    for (tool, arguments, expected) in [
        ("search_messages", json!({ "query": " " }), "Give words to search for."),
        ("search_messages", json!({}), "The arguments cannot be used: missing field `query`"),
        (
            "search_messages",
            json!({ "query": "tea", "channel": "attic" }),
            "There is no channel \"attic\" that you may look into.",
        ),
        (
            "search_messages",
            json!({ "query": "tea", "workspace": "slack:T1" }),
            "there is no workspace \"slack:T1\"",
        ),
        ("why", json!({}), "Name a message or a decision."),
        ("why", json!({ "message": "m1" }), "Name the channel, too"),
        ("why", json!({ "message": "m1", "channel": "general" }), "There is no message \"m1\"."),
        ("why", json!({ "decision": 9 }), "there is no such decision"),
        (
            "why",
            json!({ "message": "https://example.com/" }),
            "That is no link to a message of Slack, Discord or a page of Aizuchi, and no id.",
        ),
        (
            "decisions",
            json!({ "channel": "attic" }),
            "There is no channel \"attic\" that you may look into.",
        ),
    ] {
        let answer = call(&program, None, tool, arguments.clone()).await;
        let answer = answer.as_str().unwrap();
        assert!(answer.starts_with(expected), "{tool} {arguments}: {answer}");
    }
    let unknown = json!({ "name": "post_message", "arguments": {} });
    let unknown = ask(&program, None, "tools/call", unknown).await;
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("There is no tool \"post_message\". There are: "), "{unknown}");

    let url = format!("{}/mcp", program.address);
    let client = http();
    assert_eq!(client.get(&url).send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    let foreign = client.post(&url).header("origin", "https://evil.example").json(&json!({}));
    assert_eq!(foreign.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    // Payloads of the protocol library are never logged.
    assert!(!home.log().contains("rmcp"), "{}", home.log());
    assert_eq!(program.stop(), Some(0));

    home.replace("http:\n", "http:\n  mcp: false\n");
    let program = home.start();
    assert_eq!(send(&program, None, &unknown).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(program.stop(), Some(0));
}
