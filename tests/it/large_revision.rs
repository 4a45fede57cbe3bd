//! A revision with more changes than pages are told of at a time: an edit or `forget me` erases the reasons of many
//! decisions at once.

use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::program::Home;

/// The number of decisions that change at once.
const DECISIONS: u32 = 60;

#[tokio::test]
async fn a_page_gets_all_of_a_large_revision_and_what_follows() {
    let home = Home::new(1000.0);
    let program = home.start();
    let first = program.says("alice", "the kettle is on").await;
    let messages = program.messages().await;
    let stored = messages.iter().find(|message| message["id"] == json!(first)).unwrap();
    let revision = stored["revision"].as_u64().unwrap();
    assert_eq!(program.stop(), Some(0));
    let statement = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {DECISIONS})
        INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, ended, revision)
        SELECT 1000 + i, 'local', 'general', '', 1, 2, 0, 'chose_silence', {revision} FROM n"
    );
    let options = SqliteConnectOptions::new().filename(home.database());
    let mut connection = options.connect().await.unwrap();
    sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    let program = home.start();
    let last = json!(1000 + DECISIONS);
    let is_last = |kind: &str, data: &serde_json::Value| kind == "decision" && data["id"] == last;
    program.wait_for(revision - 1, is_last).await;
    let next = program.says("bob", "and the tea is ready").await;
    let is_next =
        |kind: &str, data: &serde_json::Value| kind == "message" && data["id"] == json!(next);
    program.wait_for(revision - 1, is_next).await;
    assert_eq!(program.stop(), Some(0));
}
