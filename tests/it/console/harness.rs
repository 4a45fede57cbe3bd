//! Requests to the console and the API with each role.

use aizuchi_harness::net::http_builder;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;

use crate::program::{Home, Program};

pub const ADMIN: &str = "open-sesame-0123456789";
pub const OPERATOR: &str = "kite-lantern-5502981743";
pub const VIEWER: &str = "plum-harbor-7719034426";

/// Sets a token for each role.
pub fn set_tokens(home: &Home) {
    let tokens = format!(
        "\nhttp:\n  token: {ADMIN}\n  tokens:\n    - {{name: olga, role: operator, token: {OPERATOR}}}\n    - {{name: vera, role: viewer, token: {VIEWER}}}\n"
    );
    let config = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), config.replacen("\nhttp:\n", &tokens, 1)).unwrap();
}

/// Returns the id of the harness's workspace.
pub async fn slack_workspace(program: &Program, token: Option<&str>) -> String {
    let found = json_of(get(program, token, "/api/workspaces").await).await;
    let workspaces = found["workspaces"].as_array().unwrap();
    let slack = workspaces.iter().find(|it| it["platform"] == "Slack").unwrap();
    slack["id"].as_str().unwrap().to_owned()
}

pub fn client() -> Client {
    http_builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

pub async fn get(program: &Program, token: Option<&str>, path: &str) -> Response {
    page_request(program, token, path).send().await.unwrap()
}

/// Like `get`, with this language.
pub async fn get_in(
    program: &Program,
    token: Option<&str>,
    path: &str,
    language: &str,
) -> Response {
    let request = page_request(program, token, path).header("accept-language", language);
    request.send().await.unwrap()
}

fn page_request(program: &Program, token: Option<&str>, path: &str) -> RequestBuilder {
    let request = client().get(format!("{}{path}", program.address)).header("accept", "text/html");
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

pub async fn post(program: &Program, token: Option<&str>, path: &str, body: Value) -> StatusCode {
    let request = client().post(format!("{}{path}", program.address)).json(&body);
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().await.unwrap().status()
}

/// Percent-encodes a part of an address.
pub fn encode(part: &str) -> String {
    let encoded = part.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}

pub async fn json_of(response: Response) -> Value {
    response.json().await.unwrap()
}
