//! Refused requests and their messages.

use aizuchi_harness::net::http;
use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn invalid_requests_are_refused_with_a_sentence() {
    let home = Home::new(1000.0);
    let program = home.start();
    let message = |channel: &str, user: &str, text: &str| json!({ "channel": channel, "user": user, "text": text });
    for (body, status, sentence) in [
        (message("nowhere", "alice", "hi"), 404, "there is no channel \"nowhere\" here"),
        (message("general", "alice", " \n "), 422, "the text is empty"),
        (
            message("general", "al\u{200b}ice", "hi"),
            422,
            "a name must be one line of 1 to 40 characters",
        ),
        (message("general", "alice", "\u{200b}"), 422, "the text is empty"),
        (message("general", "", "hi"), 422, "a name must be one line of 1 to 40 characters"),
        (
            message("general", "aizuchi", "hi"),
            409,
            "the name \"aizuchi\" belongs to the companion; please choose another",
        ),
        (
            message("general", "alice", &"x".repeat(20_000)),
            413,
            "the text has 20000 characters; at most 16000 are allowed",
        ),
        (
            message("general", "alice", &"x".repeat(1 << 20)),
            413,
            "the text has 1048576 characters; at most 16000 are allowed",
        ),
        (
            json!({ "channel": "general", "thread": "nothing", "user": "alice", "text": "hi" }),
            404,
            "there is no message \"nothing\" in this channel to reply to",
        ),
        (
            json!({ "channel": 7 }),
            422,
            r#"send {"channel": "…", "user": "…", "text": "…"} and, for a thread, "thread": "…""#,
        ),
    ] {
        let (found, answer) = program.post(&body).await;
        assert_eq!((found, answer["error"].as_str()), (status, Some(sentence)));
    }
    for (path, status, sentence) in [
        ("/api/messages", 400, "say which channel: /api/messages?channel=…"),
        ("/api/messages?channel=nowhere", 404, "there is no channel \"nowhere\" here"),
        ("/api/messages?channel=general&after=x", 404, "there is no message \"x\" in this channel"),
        (
            "/api/messages?channel=general&before=x",
            404,
            "there is no message \"x\" in this channel",
        ),
        (
            "/api/messages?channel=general&before=x&after=y",
            400,
            "give `after` or `before`, not both",
        ),
        ("/events?after=abc", 400, "after is a revision, a number"),
        ("/static/%ff", 404, "there is no such file"),
        ("/api/decisions", 400, "say of what: /api/decisions?message=… or ?channel=…"),
        ("/static/secret", 404, "there is no such file"),
        ("/nothing", 404, "there is nothing at this address"),
    ] {
        let answer = program.request(path).await;
        assert_eq!(answer.status().as_u16(), status, "{path}");
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["error"], sentence);
    }
    // None of it was stored.
    assert!(program.messages().await.is_empty());
}

/// No request makes the program fail or delays the answers to other clients.
#[tokio::test]
async fn hostile_requests_are_refused() {
    let home = Home::new(1000.0);
    let program = home.start();
    let client = http();
    let deep = |open: &str, close: &str| open.repeat(50_000) + &close.repeat(50_000);
    let url = format!("{}/api/messages", program.address);
    for body in [
        deep("[", "]").into_bytes(),
        deep("{\"text\":", "}").into_bytes(),
        format!(
            "{{\"channel\": \"general\", \"user\": \"mallory\", \"text\": {}}}",
            deep("[", "]")
        )
        .into_bytes(),
        "[".repeat(900_000).into_bytes(),
        "x".repeat(8 << 20).into_bytes(),
        b"{\"channel\": \"general\", \"user\": \"\xff\xfe\", \"text\": \"hi\"}".to_vec(),
        br#"{"channel": "general", "user": "mallory", "text": "\ud800"}"#.to_vec(),
        br#"{"channel": "general", "user": "mallory", "text": 1e99999}"#.to_vec(),
        br#"{"channel": "\u0000", "user": "mallory", "text": "hi"}"#.to_vec(),
        Vec::new(),
    ] {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        let request = client.post(&url).header("content-type", "application/json").body(body);
        // The connection may end before the whole body is read.
        let status = request.send().await.map_or(413, |answer| answer.status().as_u16());
        assert!((400..500).contains(&status), "{status}: {shown}");
    }
    let long = "a".repeat(60_000);
    for path in [
        "/api/messages?channel=general&after=%00",
        "/api/messages?channel=general&limit=99999999999999999999",
        "/api/messages?channel=general&limit=-1",
        "/api/messages?channel=%F0%9F%8D%B5%00&workspace=%27%20OR%201=1",
        "/api/decisions?message=%27%3B%20DROP%20TABLE%20messages%3B--",
        "/api/decisions?channel=..%2F..%2Fetc%2Fpasswd",
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/decisions/99999999999999999999999",
        "/events?after=18446744073709551616",
        &format!("/api/messages?channel={long}"),
        &format!("/{long}"),
    ] {
        let status = program.request(path).await.status().as_u16();
        let shown: String = path.chars().take(80).collect();
        assert!(status < 500, "{status}: {shown}");
    }
    program.says("alice", "hello").await;
    assert_eq!(program.messages().await.len(), 1);
}

#[tokio::test]
async fn requests_with_a_foreign_host_or_origin_are_refused() {
    let home = Home::new(1000.0);
    let program = home.start();
    let url = format!("{}/api/channels", program.address);
    let client = http();
    let rebound = client.get(&url).header("host", "evil.example").send().await.unwrap();
    assert_eq!(rebound.status().as_u16(), 403);
    let foreign = client.get(&url).header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(foreign.status().as_u16(), 403);
    let own = client.get(&url).header("origin", &program.address).send().await.unwrap();
    assert_eq!(own.status().as_u16(), 200);
}

#[tokio::test]
async fn a_japanese_program_refuses_in_japanese() {
    let home = Home::new(1000.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), format!("language: ja\n{config}")).unwrap();
    let program = home.start();
    let (_, answer) =
        program.post(&json!({ "channel": "general", "user": "花子", "text": " " })).await;
    assert_eq!(answer["error"], "発言が空です");
}
