//! The readiness of the program while its database cannot be written.

use serde_json::{Value, json};

use crate::program::Home;

/// No file can grow, as on a full disk: neither the database nor the log.
#[tokio::test]
async fn a_silent_program_notices_that_nothing_can_be_written() {
    let home = Home::new(1000.0);
    let program = home.start_in_shell("trap '' XFSZ");
    program.says("alice", "hello").await;
    home.until_ready_is(&program, 200).await;
    program.limit_file_size(Some(1));
    // No message is posted.
    let why = home.until_ready_is(&program, 503).await;
    assert!(why.contains("the disk reports an error"), "{why}");
    let body = json!({ "channel": "general", "user": "alice", "text": "again" });
    assert_eq!(program.post(&body).await.0, 503);
    program.limit_file_size(None);
    home.until_ready_is(&program, 200).await;
    assert_eq!(program.post(&body).await.0, 201);
    let texts = program.messages().await;
    let texts: Vec<&str> = texts.iter().filter_map(|message| message["text"].as_str()).collect();
    assert_eq!(texts, ["hello", "again"]);
}

#[tokio::test]
async fn a_program_whose_database_was_moved_away_writes_nothing() {
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "hello").await;
    let (there, elsewhere) = (home.database(), home.path().join("elsewhere.db"));
    std::fs::rename(&there, &elsewhere).unwrap();
    let body = json!({ "channel": "general", "user": "alice", "text": "again" });
    let (status, answer) = program.post(&body).await;
    assert_eq!(status, 503, "{answer}");
    let why = home.until_ready_is(&program, 503).await;
    assert!(why.contains("was removed while it was in use"), "{why}");
    std::fs::copy(&elsewhere, &there).unwrap();
    assert_eq!(program.post(&body).await.0, 503);
    let why = home.until_ready_is(&program, 503).await;
    assert!(why.contains("was replaced while it was in use"), "{why}");
    std::fs::rename(&elsewhere, &there).unwrap();
    home.until_ready_is(&program, 200).await;
    assert_eq!(program.post(&body).await.0, 201);
}

#[tokio::test]
async fn the_program_is_ready_again_once_the_database_is_writable() {
    use sqlx::{ConnectOptions, Connection, Executor};
    let home = Home::new(1000.0);
    let program = home.start();
    program.says("alice", "hello").await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.database());
    let mut other = options.connect().await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let body = json!({ "channel": "general", "user": "alice", "text": "again" });
    let sentence = "the store is busy: another program holds a lock on the database";
    assert_eq!(program.post(&body).await, (503, json!({ "error": sentence })));
    let ready = program.request("/ready").await;
    assert_eq!(ready.status().as_u16(), 503);
    assert_eq!(ready.json::<Value>().await.unwrap(), json!({ "error": sentence }));
    assert_eq!(program.request("/metrics").await.status().as_u16(), 200);
    other.execute("ROLLBACK").await.unwrap();
    other.close().await.unwrap();
    assert_eq!(program.request("/ready").await.status().as_u16(), 200);
    assert_eq!(program.post(&body).await.0, 201);
}
