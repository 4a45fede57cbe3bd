//! `retention.messages_days` with the real program: expired messages are erased, even after a kill, and the log reports
//! it.

use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::command::aizuchi;
use crate::program::Home;

fn run(home: &Home, arguments: &[&str]) -> String {
    let mut command = aizuchi();
    let output = command.arg("--config").arg(home.config()).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Ages everything in the database by three days.
async fn age(home: &Home) {
    let options = SqliteConnectOptions::new().filename(home.database());
    let mut connection = options.connect().await.unwrap();
    let statements = "
        UPDATE messages SET at_ms = at_ms - 3 * 86400000;
        UPDATE decisions SET opened_ms = opened_ms - 3 * 86400000, closed_ms = closed_ms - 3 * 86400000;
        UPDATE owed SET at_ms = at_ms - 3 * 86400000;
        UPDATE attempts SET at_ms = at_ms - 3 * 86400000;
        UPDATE exchanges SET at_ms = at_ms - 3 * 86400000;";
    connection.execute(statements).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn old_messages_are_erased_and_their_decisions_are_still_told() {
    let home = Home::new(0.1);
    let program = home.start();
    let asked = program.says("bob", "@Aizuchi do turnips float?").await;
    let is_closed = |kind: &str, data: &Value| {
        kind == "decision"
            && !data["ended"].is_null()
            && data["messages"].as_array().unwrap().contains(&json!(asked))
    };
    let decision = program.wait_for(0, is_closed).await["id"].to_string();
    program.stop();
    age(&home).await;
    home.add("retention:\n  messages_days: 1\n");
    let checked = run(&home, &["check"]);
    let expected = "ok    note      retention.messages_days: 2 messages from before ";
    let note = checked.lines().find(|line| line.starts_with(expected)).unwrap_or(&checked);
    assert!(note.ends_with(" are erased for good while Aizuchi runs"), "{note}");
    // Killed during the erasure, it continues at the next start.
    let program = home.start();
    program.signal("KILL");
    drop(program);
    let program = home.start();
    let is_erased = |kind: &str, data: &Value| {
        kind == "message" && data["id"] == json!(asked) && data["deleted"] == json!(true)
    };
    program.wait_for(0, is_erased).await;
    let young = program.says("bob", "turnips sink").await;
    let messages = program.messages().await;
    let text = |id: &str| {
        let found = messages.iter().find(|message| message["id"] == json!(id)).unwrap();
        found["text"].as_str().unwrap().to_owned()
    };
    assert_eq!((text(&asked), text(&young)), (String::new(), "turnips sink".to_owned()));
    let told = run(&home, &["why", &asked]);
    assert!(told.contains("(expired: no longer kept)"), "{told}");
    assert!(told.contains("no longer kept: the messages behind it have expired"), "{told}");
    assert!(!told.contains("float"), "{told}");
    let page = program.request(&format!("/decisions/{decision}")).await.text().await.unwrap();
    assert!(page.contains("no longer kept: the messages behind it have expired"), "{page}");
    assert!(!page.contains("float"), "{page}");
    let found = run(&home, &["search", "turnips"]);
    assert!(found.contains("turnips sink") && !found.contains("float"), "{found}");
    let exported = run(&home, &["export"]);
    assert!(exported.contains("turnips sink") && !exported.contains("float"), "{exported}");
    assert_eq!(program.stop(), Some(0));
}
