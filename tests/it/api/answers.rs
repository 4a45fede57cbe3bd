//! A mention that is answered, and a message that is not.

use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn a_mention_in_a_thread_is_answered_there() {
    let home = Home::new(1000.0);
    let program = home.start();
    let channels = program.get("/api/channels").await;
    assert_eq!(channels["persona"]["name"], "Aizuchi");
    let general = &channels["channels"][0];
    assert_eq!((&general["id"], &general["name"]), (&json!("general"), &json!("general")));
    let parent = program.says("alice", "the roses look ill").await;
    let body = json!({ "channel": "general", "thread": parent, "user": "bob", "text": "@Aizuchi how come?" });
    let (status, said) = program.post(&body).await;
    assert_eq!(status, 201);
    assert!(said["ts"].as_f64().is_some_and(|ts| ts > 1.7e9));
    let answer =
        program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    assert_eq!((&answer["thread"], &answer["user"]), (&json!(parent), &json!("Aizuchi")));
    let thread = program.get(&format!("/api/messages?channel=general&thread={parent}")).await;
    assert_eq!(thread["messages"].as_array().unwrap().len(), 2);
    let after = program.get(&format!("/api/messages?channel=general&after={parent}")).await;
    assert_eq!(after["messages"].as_array().unwrap().len(), 2);
    let id = said["id"].as_str().unwrap();
    let rows = program.get(&format!("/api/decisions?message={id}")).await;
    let row = &rows["decisions"][0];
    assert_eq!((&row["ended"], &row["why"]), (&json!("spoke"), &json!("bob asked me")));
    assert_eq!(row["said"], answer["id"]);
    assert_eq!(program.get("/live").await["status"], "live");
    assert_eq!(program.get("/ready").await["status"], "ready");
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_silence_has_a_reason() {
    let home = Home::new(0.2);
    let program = home.start();
    let message = program.says("alice", "my lunch was good").await;
    let is_closed = |kind: &str, data: &Value| kind == "decision" && !data["ended"].is_null();
    let row = program.wait_for(0, is_closed).await;
    assert_eq!(row["ended"], "chose_silence");
    assert_eq!(row["why"], "nobody asked the room anything");
    assert_eq!(row["messages"], json!([message]));
    assert_eq!(row["verdict"]["should_respond"], false);
}
