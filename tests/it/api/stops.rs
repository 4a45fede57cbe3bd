//! State that survives a stop or a kill.

use serde_json::{Value, json};

use crate::program::Home;

#[tokio::test]
async fn kill_9_loses_no_message_and_answers_none_twice() {
    let home = Home::new(1000.0);
    let mut asked = Vec::new();
    for number in 0..12 {
        let program = home.start();
        for _ in 0..=number % 3 {
            asked.push(program.says("alice", &format!("@Aizuchi question {}", asked.len())).await);
        }
        program.kill();
    }
    let program = home.start();
    // All owed answers are posted now, and the ledger has a row for each question.
    for id in &asked {
        let is_answered = |kind: &str, data: &Value| {
            let covers =
                data["messages"].as_array().is_some_and(|messages| messages.contains(&json!(id)));
            kind == "decision" && covers && data["ended"] == "spoke"
        };
        program.wait_for(0, is_answered).await;
    }
    let messages = program.messages().await;
    let heard: Vec<&str> = messages
        .iter()
        .filter(|message| message["persona"] == false)
        .map(|message| message["id"].as_str().unwrap())
        .collect();
    assert_eq!(heard, asked);
    let rows = program.get("/api/decisions?channel=general").await;
    let rows = rows["decisions"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["ended"] == "spoke"), "{rows:#?}");
    // There is exactly one post for each decision.
    let own = messages.iter().filter(|message| message["persona"] == true).count();
    assert_eq!(own, rows.len());
    assert_eq!(program.get("/api/dead-letters").await, json!({ "dead_letters": [] }));
}

#[tokio::test]
async fn a_wait_survives_a_restart() {
    let home = Home::new(1000.0);
    let is_waiting =
        |kind: &str, data: &Value| kind == "status" && data["steps"][0]["doing"] == "considering";
    let program = home.start();
    let is_own = |kind: &str, data: &Value| kind == "message" && data["persona"] == true;
    program.says("bob", "@Aizuchi remember that bob has the key").await;
    program.wait_for(0, is_own).await;
    program.says("alice", "who has the key?").await;
    let before = program.wait_for(0, is_waiting).await;
    program.kill();
    let program = home.start();
    let after = program.wait_for(0, is_waiting).await;
    assert_eq!(after["steps"][0]["due"], before["steps"][0]["due"]);
    program.kill();
    home.end_waits().await;
    let program = home.start();
    let is_answer = |kind: &str, data: &Value| {
        is_own(kind, data)
            && data["text"].as_str().is_some_and(|it| it.starts_with("alice, this might help: "))
    };
    program.wait_for(0, is_answer).await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_client_that_never_ends() {
    use tokio::io::AsyncWriteExt;
    let home = Home::new(1000.0);
    let program = home.start();
    let mut stuck = program.connect().await;
    let half = "POST /api/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{";
    stuck.write_all(half.as_bytes()).await.unwrap();
    program.says("alice", "hello").await;
    let stopped = tokio::task::spawn_blocking(move || program.stop());
    let code = tokio::time::timeout(std::time::Duration::from_secs(30), stopped).await;
    assert_eq!(code.expect("the program stops by itself").unwrap(), Some(0));
}
