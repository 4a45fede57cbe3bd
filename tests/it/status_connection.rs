//! `aizuchi status` and the running program: state that only the program knows, and why it is unknown.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use aizuchi_fakes::slack::state::TokenStatus;
use aizuchi_harness::net::free_port;
use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::console::harness::{ADMIN, get, json_of, set_tokens};
use crate::program::Home;
use crate::slack::harness::SlackHarness;

fn run(home: &Home, arguments: &[&str]) -> String {
    let mut command = aizuchi();
    command.arg("--config").arg(home.config()).args(arguments);
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn status(home: &Home) -> Value {
    serde_json::from_str(&run(home, &["status", "--json"])).unwrap()
}

/// Returns the reason why the connections are unknown, which the text output contains, too.
fn reason(home: &Home) -> String {
    let status = status(home);
    let unknown = &status["connection_unknown"];
    assert_eq!(status["running_version"], Value::Null, "{status}");
    let workspaces = status["workspaces"].as_array().unwrap();
    assert!(workspaces.iter().all(|it| it["connection"].is_null()), "{status}");
    let told = unknown["told"].as_str().unwrap();
    let line = format!("Whether workspaces are connected is unknown: {told}.\n");
    let shown = run(home, &["status"]);
    assert!(shown.contains(&line), "{shown}");
    unknown["reason"].as_str().unwrap().to_owned()
}

/// Starts a program, which hears something, and stops it.
async fn stopped(home: &Home) {
    let program = home.start();
    program.says("alice", "the pump key hangs behind the green door").await;
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn the_running_program_tells_its_connections() {
    let harness = SlackHarness::new().await;
    let program = harness.start().await;
    let of = |status: &Value| {
        let all = status["workspaces"].as_array().unwrap().clone();
        all.into_iter().find(|it| it["connection"]["platform"] == "Slack").unwrap()
    };
    let mut told = json_of(get(&program, None, "/api/status").await).await;
    while of(&told)["connection"]["behind"] != 0 {
        told = json_of(get(&program, None, "/api/status").await).await;
    }
    let known = status(&harness);
    assert_eq!(known["connection_unknown"], Value::Null, "{known}");
    assert_eq!(known["running_version"], told["version"]);
    assert_eq!(known["installation"], told["installation"]);
    let (known, told) = (of(&known), of(&told));
    assert_eq!(known["connection"], told["connection"]);
    assert_eq!(known["connection"]["outage"], Value::Null);
    // The names of private channels are from the database: the program did not send them.
    let names = |status: &Value| {
        let channels = status["channels"].as_array().unwrap().clone();
        channels.into_iter().map(|it| it["name"].clone()).collect::<Vec<_>>()
    };
    // The command resolves no model, but knows what the one in the config means for the mode.
    for channels in [&known, &told].map(|status| status["channels"].as_array().unwrap()) {
        assert!(channels.iter().all(|it| it["mode"] == "companion"), "{channels:?}");
    }
    assert!(names(&known).contains(&json!("attic")), "{known}");
    assert!(!names(&told).contains(&json!("attic")), "{told}");
    let shown = run(&harness, &["status"]);
    let name = known["connection"]["name"].as_str().unwrap();
    let id = known["workspace"].as_str().unwrap();
    assert!(shown.contains(&format!("\n{name} ({id}): today")), "{shown}");
    assert!(shown.contains("\n  Slack: connected"), "{shown}");
    assert!(!shown.contains("is unknown"), "{shown}");
    harness.slack.set_token_status(TokenStatus::Revoked);
    harness.post_mention(&harness.tea, &harness.mio, "are you there?");
    let said = r#""key":"slack.bot_token","within""#;
    harness.until_log(said).await;
    let shown = run(&harness, &["status"]);
    assert!(shown.contains("\n  Slack: not connected: slack.bot_token is refused"), "{shown}");
    assert_eq!(program.stop(), Some(0));
    assert_eq!(reason(&harness), "not_running");
}

#[tokio::test]
async fn where_people_sign_in_the_config_lets_in() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    for _ in 0..3 {
        let known = status(&harness);
        assert_eq!(known["connection_unknown"], Value::Null, "{known}");
    }
    // The command reads no private channel.
    let reads = json_of(get(&program, Some(ADMIN), "/api/private-reads").await).await;
    assert_eq!(reads["reads"], json!([]));
    // The running program keeps the tokens that it was started with.
    harness.replace(ADMIN, "walnut-compass-3107742958");
    for _ in 0..4 {
        assert_eq!(reason(&harness), "refused");
    }
    // That did not count as guessing a token: the right one is still accepted.
    assert!(get(&program, Some(ADMIN), "/api/status").await.status().is_success());
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn where_only_a_proxy_lets_in_nothing_is_asked() {
    let home = Home::new(1000.0);
    stopped(&home).await;
    let proxy =
        "http:\n  trusted_proxies: [127.0.0.1]\n  proxy_sign_in: {header: X-Who, admins: [mia]}\n";
    home.replace("http:\n", proxy);
    let program = home.start();
    assert_eq!(reason(&home), "only_proxy");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn what_else_answers_there_is_not_believed_and_gets_no_token() {
    let port = free_port();
    let home = Home::on(port, 1000.0);
    stopped(&home).await;
    set_tokens(&home);
    let fake = json!({ "version": "9.9.9", "installation": "0", "revision": 0, "workspaces": [{
        "workspace": "local",
        "connection": { "name": "Evil", "platform": "Evil", "outage": null, "behind": 0, "channels": 0, "failing": 0 },
    }] });
    for (status, body, expected) in [
        ("200 OK", "hello".to_owned(), "other_server"),
        ("404 Not Found", String::new(), "other_server"),
        ("302 Found\r\nlocation: http://127.0.0.1:1/", String::new(), "other_server"),
        ("200 OK", fake.to_string(), "other_installation"),
        ("503 Service Unavailable\r\naizuchi-refusal: standing_by", String::new(), "standing_by"),
    ] {
        // The JSON and the text output each send a request.
        let server = serve(port, format!("HTTP/1.1 {status}"), body);
        assert_eq!(reason(&home), expected);
        let requests = server.join().unwrap();
        assert!(requests.iter().all(|it| it.contains("GET /api/status ")), "{requests:?}");
        assert!(requests.iter().all(|it| !it.contains(ADMIN)), "{requests:?}");
        assert_ne!(requests[0], requests[1], "what lets in works once");
    }
    assert_eq!(reason(&home), "not_running");
}

/// Sends the same response to two requests, and returns the requests.
fn serve(port: u16, head: String, body: String) -> JoinHandle<Vec<String>> {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    std::thread::spawn(move || {
        let mut requests = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            let length = body.len();
            let answer =
                format!("{head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
            requests.push(String::from_utf8(request).unwrap());
        }
        requests
    })
}

#[tokio::test]
async fn another_installation_is_not_taken_for_this_one() {
    let port = free_port();
    let [own, other] = [(); 2].map(|()| Home::on(port, 1000.0));
    stopped(&own).await;
    // A copied database file of an installation.
    let copy = Home::on(port, 1000.0);
    for file in ["room.db", "room.db-wal"] {
        if own.path().join(file).exists() {
            std::fs::copy(own.path().join(file), copy.path().join(file)).unwrap();
        }
    }
    let program = other.start();
    program.says("carol", "the lamp is on").await;
    assert_eq!(reason(&own), "other_installation");
    assert_eq!(status(&other)["connection_unknown"], Value::Null);
    assert_eq!(program.stop(), Some(0));

    let program = own.start();
    program.says("alice", "and it is red").await;
    assert_eq!(status(&own)["connection_unknown"], Value::Null);
    assert_eq!(reason(&copy), "other_installation");
    assert_eq!(program.stop(), Some(0));
}
