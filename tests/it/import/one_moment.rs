//! A myao2 that keeps running while its database is read: the imported data is a consistent snapshot.

use aizuchi_import::myao2::database::Myao2Database;
use aizuchi_import::myao2::{self, Myao2MemoTarget, Myao2Options};
use aizuchi_model::chat::WorkspaceId;
use futures_util::StreamExt;
use jiff::tz::TimeZone;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Executor};

use super::TABLES;

#[tokio::test]
async fn what_comes_while_it_is_read_is_left_for_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut running = options.connect().await.unwrap();
    // Otherwise readers block writers.
    running.execute("PRAGMA journal_mode = wal").await.unwrap();
    running.execute(TABLES).await.unwrap();
    let said = "INSERT INTO messages VALUES
        (1, '1767603600.000001', 'C1', 'U1', 'user', 0, 'hello',
         '2026-01-05 09:00:00', NULL, '[]', '2026-01-05 09:00:00')";
    running.execute(said).await.unwrap();
    let options = Myao2Options {
        workspace: WorkspaceId::new("w"),
        persona: None,
        persona_name: "Mio".to_owned(),
        memo_scope: Myao2MemoTarget::OriginChannel,
        zone: TimeZone::UTC,
    };
    let database = Myao2Database::open(&path).await.unwrap().unwrap();
    let (data, mut messages) = myao2::read(database, options.clone(), None).await.unwrap();
    let more = "INSERT INTO messages VALUES
        (2, '1767603700.000001', 'C2', 'U1', 'user', 0, 'new',
         '2026-01-05 09:01:40', NULL, '[]', '2026-01-05 09:01:40')";
    running.execute(more).await.unwrap();
    assert_eq!(data.channels.len(), 1);
    assert_eq!(messages.stream().count().await, 1);
    drop(messages);
    let database = Myao2Database::open(&path).await.unwrap().unwrap();
    let (data, mut messages) = myao2::read(database, options, None).await.unwrap();
    assert_eq!((data.channels.len(), messages.stream().count().await), (2, 2));
}
