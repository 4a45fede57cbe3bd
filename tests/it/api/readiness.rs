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
    assert!(why.contains("was removed or replaced while it was in use"), "{why}");
    std::fs::copy(&elsewhere, &there).unwrap();
    assert_eq!(program.post(&body).await.0, 503);
    let why = home.until_ready_is(&program, 503).await;
    assert!(why.contains("was removed or replaced while it was in use"), "{why}");
    std::fs::rename(&elsewhere, &there).unwrap();
    home.until_ready_is(&program, 200).await;
    assert_eq!(program.post(&body).await.0, 201);
}

/// Whatever the advice says, and however the program ends, what was acknowledged is in the file.
#[tokio::test]
async fn a_kill_after_a_file_was_taken_away_loses_nothing() {
    for (name, is_emptied) in [("room.db", true), ("room.db", false), ("room.db-wal", false)] {
        let home = Home::new(1000.0);
        let program = home.start();
        program.says("alice", "hello").await;
        let (there, elsewhere) = (home.path().join(name), home.path().join("elsewhere"));
        std::fs::rename(&there, &elsewhere).unwrap();
        let body = json!({ "channel": "general", "user": "alice", "text": "again" });
        let (status, why) = program.post(&body).await;
        assert_eq!(status, 503);
        assert!(why.to_string().contains("was removed or replaced"), "{why}");
        program.kill();
        if is_emptied {
            home.start().kill();
        }
        if name == "room.db" {
            std::fs::rename(&elsewhere, &there).unwrap();
        }
        if is_emptied {
            std::fs::remove_file(home.path().join("room.db-wal")).unwrap();
        }
        let texts = home.start().messages().await;
        assert_eq!(texts.len(), 1, "{name} {texts:?}");
    }
}

/// The disk has room for a little, but not for a message.
#[tokio::test]
async fn a_program_that_refuses_messages_is_not_ready() {
    let home = Home::new(1000.0);
    let program = home.start_in_shell("trap '' XFSZ");
    let body = json!({ "channel": "general", "user": "alice", "text": "x".repeat(3000) });
    assert_eq!(program.post(&body).await.0, 201);
    home.until_ready_is(&program, 200).await;
    let log = std::fs::metadata(home.path().join("room.db-wal")).unwrap().len();
    program.limit_file_size(Some(log + 5 * 4120));
    // Until nothing fits any more.
    while program.post(&body).await.0 == 201 {}
    for _ in 0..10 {
        assert_eq!(program.request("/ready").await.status(), 503);
        assert_eq!(program.post(&body).await.0, 503);
    }
    program.limit_file_size(None);
    home.until_ready_is(&program, 200).await;
    assert_eq!(program.post(&body).await.0, 201);
}

/// Whoever asks waits no longer than a probe may.
#[tokio::test]
async fn a_locked_table_makes_the_program_unready() {
    use sqlx::{Connection, Executor, PgConnection};
    let (home, url) = (Home::new(1000.0), aizuchi_harness::postgres::database());
    home.replace(&format!("sqlite://{}", home.database().display()), &url);
    let program = home.start();
    program.says("alice", "hello").await;
    let mut other = PgConnection::connect(&url).await.unwrap();
    for table in ["LOCK TABLE messages", "LOCK TABLE steps", "LOCK TABLE counters"] {
        other.execute("BEGIN").await.unwrap();
        other.execute(table).await.unwrap();
        assert_eq!(program.request("/ready").await.status(), 503, "{table}");
        other.execute("ROLLBACK").await.unwrap();
        home.until_ready_is(&program, 200).await;
    }
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
    // It waits for the lock no longer than a probe waits for it.
    let silent = json!({ "error": "the store is busy: it does not answer" });
    assert_eq!(ready.json::<Value>().await.unwrap(), silent);
    assert_eq!(program.request("/metrics").await.status().as_u16(), 200);
    other.execute("ROLLBACK").await.unwrap();
    other.close().await.unwrap();
    assert_eq!(program.request("/ready").await.status().as_u16(), 200);
    assert_eq!(program.post(&body).await.0, 201);
}
